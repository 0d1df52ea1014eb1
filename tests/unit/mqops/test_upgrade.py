"""What each released version left behind (tests/data/golden, made by tests/golden_lake.py) is read, verified, proved,
finished and undone by this one, and nothing that it signed, hashed or chained is written anew."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from format_support import says_format
from golden_lake import KILLED
from mq_support import DLQ, LEDGER, Manager, read_lines

from mqops.cli import main
from mqops.errors import LakeError
from mqops.formats import KEY
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerKind, MarkerRow
from mqops.ledger.core.seal import _END_LENGTH, ARCHIVED, CHECKPOINT, HEAD, MESSAGE, sign_message
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.queue import NAME
from mqops.ledger.writer import writer_of
from mqops.workflow import Workflow

GOLDEN = sorted((Path(__file__).parents[2] / "data" / "golden").glob("*.tar.xz"))
assert GOLDEN
GOLDEN += [Path(one) for one in filter(None, [os.environ.get("MQOPS_GOLDEN")])]
"""MQOPS_GOLDEN names one of this version, made just now (`make full`)."""


class Site:
    """A golden lake with its queue manager, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lake = folder, folder / "lake"
        self.manager = Manager("QM1", folder / "queue_managers")
        self.said: dict[str, Any] = read_json(folder / "said.json")

    def run(self, *words: str, code: int = 0, text: str = "") -> str:
        """A command; what it prints."""
        own = {"MQLITE_HOME": str(self.manager.home), "MQOPS_LAKE": str(self.lake)}
        done = CliRunner().invoke(main, [*words], env=own, input=text)
        assert done.exit_code == code, (words, done.output)
        return done.stdout

    def told(self, *words: str) -> str:
        """What a command prints that is refused."""
        own = {"MQLITE_HOME": str(self.manager.home), "MQOPS_LAKE": str(self.lake)}
        done = CliRunner().invoke(main, [*words], env=own)
        assert done.exit_code, (words, done.output)
        return done.output

    def json(self, *words: str, code: int = 0) -> Any:
        """The same with --json; the folder is called as in what the old version said."""
        text = self.run(*words, "--json", code=code)
        return json.loads(text.replace(str(self.folder), "FOLDER").replace(self.said["folder"], "FOLDER"))

    def newest(self, **wanted: Any) -> str:
        """The newest run that the old version has said that of."""
        runs = self.said["runs"]
        return next(one["run"] for one in runs if all(one[name] == value for name, value in wanted.items()))

    def signed(self) -> dict[str, str]:
        """The files that are signed, hashed or chained, with their digests."""
        folder = self.lake / "QM1"
        names = ("ledger/segments/*", "ledger/keys.json", "runs/*/plan/*", "runs/*/plan.json", "runs/*/snapshot/*")
        found = [path for name in names for path in folder.glob(name)]
        assert len(found) > len(names)
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the open segment."""
        return read_lines(self.lake / "QM1" / "ledger" / "ledger.jsonl")


@pytest.fixture(scope="module", params=GOLDEN, ids=lambda path: path.name.removesuffix(".tar.xz"))
def unpacked(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(request.param) as file:
        file.extractall(folder, filter="fully_trusted")
    (folder / request.param.name.removesuffix(".tar.xz")).touch()
    return folder


@pytest.fixture
def finished(unpacked, tmp_path) -> Site:
    """Each test may change it. Its archive is where it is now."""
    site = Site(Path(shutil.copytree(unpacked / "finished", tmp_path / "site")))
    site.run("ledger", "archive", "QM1", "--to", str(site.folder / "archive"))
    return site


@pytest.fixture
def killed(unpacked, tmp_path) -> Site:
    return Site(Path(shutil.copytree(unpacked / "killed", tmp_path / "site")))


def is_in(said: Any, now: Any) -> bool:
    """Whether this version says what the old one said; it may say more."""
    if isinstance(said, dict) and isinstance(now, dict):
        return all(name in now and is_in(value, now[name]) for name, value in said.items())
    if isinstance(said, list) and isinstance(now, list):
        return len(said) == len(now) and all(map(is_in, said, now))
    return bool(said == now)


def test_its_files_say_their_format(unpacked):
    """Those of 0.1.0 do not: they have format 1."""
    said = [says for name in ("lake", "queue_managers") for says in says_format(unpacked / "finished" / name).values()]
    assert len(said) > 50
    assert all(said) is not (unpacked / "0.1.0").exists()


def test_what_it_says_of_its_runs_is_said_still(finished):
    before = finished.signed()
    (ledger,) = finished.json("ledger", "verify", "QM1")["ledgers"]
    assert (ledger["head"], ledger["error"], ledger["unsigned"]) == (finished.said["head"], "", 0)
    assert is_in(finished.said["runs"], finished.json("runs", "--limit", "0")["runs"])
    for run, said in finished.said["shown"].items():
        now = finished.json("run", "show", run, "-m", "QM1")
        assert is_in(said, now), (run, said, now)
    assert finished.signed() == before


def test_its_runs_are_undone_its_plans_carried_out_and_its_exports_loaded(finished):
    before = finished.signed()
    moved = finished.newest(workflow="dlq_rules", state="done")
    done = finished.run("undo", moved, "-m", "QM1", "--yes", "--json")
    assert json.loads(done.splitlines()[-1])["moved"] == 1
    planned = finished.newest(state="planned")
    plan = finished.said["shown"][planned]["plan"]["digest"]
    acted = finished.json("dlq", "act", planned, "-m", "QM1", "--approve", plan, code=1)  # MISSING is missing still
    assert (acted["balanced"], acted["moved"], acted["discarded"]) == (True, 2, 2)
    for file in ("orders.txt", "orders.parquet"):
        loaded = finished.json("message", "load", str(finished.folder / file), "SHORT", "-m", "QM1", "--run", "--yes")
        assert loaded["balanced"]
    (ledger,) = finished.json("ledger", "verify", "QM1")["ledgers"]
    assert ledger["ok"]
    assert before.items() <= finished.signed().items()


def test_a_run_that_was_killed_is_finished_proved_and_undone(killed):
    before, left = killed.signed(), killed.manager.depth(DLQ)
    run = killed.newest(state="begun")
    assert 0 < left < KILLED
    summary = killed.json("resume", run, "--finish")
    assert (summary["planned"], summary["balanced"], summary["left"], summary["gone"]) == (KILLED, True, 0, 0)
    assert summary["moved"] + summary["discarded"] == KILLED
    assert (killed.manager.depth(DLQ), killed.manager.depth(LEDGER)) == (0, 0)
    assert killed.json("run", "show", run)["state"] == "done"
    killed.run("undo", run, "--yes", "--json")
    assert killed.manager.depth(DLQ) == KILLED
    (ledger,) = killed.json("ledger", "verify", "QM1")["ledgers"]
    assert ledger["ok"]
    assert before.items() <= killed.signed().items()
    for path in (killed.lake / "QM1" / "runs" / run).glob("*.json"):  # what this version wrote, and what stood there
        if path.name in {"act.json", "summary.json", "progress.json"}:
            assert read_json(path)[KEY] == 1, path


def unsign(site: Site, run: RunFolder) -> None:
    """Make of a run that was killed one that a version without signatures began: its workflow had another name then."""
    issued, plan = (read_json(path) for path in (run.issued_json, run.plan_json))
    assert plan["workflow"] == Workflow.DLQ_RULES
    run.plan_json.write_text(json.dumps({**plan, "workflow": "dlq"}))
    run.issued_json.write_text(json.dumps({name: issued[name] for name in ("run", "plan", "lanes")}))
    replace_messages(site, [(md, body[:-_END_LENGTH] + b"}") for md, body in site.manager.messages(NAME)])


def replace_messages(site: Site, messages: list[tuple[dict[str, Any], bytes]]) -> None:
    """Other messages than there are on the ledger queue, whose heads stay."""
    there = [*site.manager.heads(), *messages]
    site.manager.mqlite("mqsc", "QM1", text=f"CLEAR QLOCAL({NAME})\n")
    site.manager.put(NAME, [({one: md[one] for one in ("MsgId", "CorrelId")}, body) for md, body in there])


def test_an_unsigned_run_is_finished_by_a_person_who_answers_for_it(killed):
    run = RunFolder(killed.lake / "QM1" / "runs" / killed.newest(state="begun"))
    unsign(killed, run)
    plan = PlanIdentity(run=run.run, digest=read_json(run.plan_json)["digest"])
    row = MarkerRow(row=29, msg_key="of another plan", msg_id="", action="FWD", rule_key="", dest_q="A", dest_q_mgr="")
    forged = Marker(
        unit=plan.marker_id(0, 28, "acted").hex(), run=plan.run, plan=plan.digest, kind=MarkerKind.ACTED,
        at="2026-01-01T00:00:00Z", first=28, next=30, last=True, rows=(row,), absent=(28,),
    )  # fmt: skip
    ids = {"MsgId": bytes.fromhex(forged.unit), "CorrelId": plan.markers()}
    killed.manager.put(NAME, [(ids, forged.pack())])
    there, lines = sorted(killed.manager.bodies(NAME)), killed.lines()
    refused = killed.run("resume", run.run, "--finish", code=1)
    assert not refused
    words = ("run", "adopt", run.run, "-m", "QM1")
    seen = killed.json(*words, "--dry-run")
    assert (seen["problems"], seen["strange"], seen["lane_tokens"]) == ([], 1, 1)
    assert "dry run: nothing was changed" in killed.run(*words, "--dry-run")
    killed.run(*words, "--yes", code=2)  # no reason
    killed.run(*words, "--why", "checked by us", text="n\n", code=1)
    assert (sorted(killed.manager.bodies(NAME)), killed.lines()) == (there, lines)
    summary = killed.json(*words, "--why", "checked by us", "--yes")
    assert (summary["planned"], summary["balanced"], summary["left"], summary["gone"]) == (KILLED, True, 0, 0)
    (resumed,) = (one["about"] for one in killed.lines() if one["kind"] == "resumed")
    assert (resumed["why"], resumed["unsigned"], resumed["lane_tokens"]) == ("checked by us", True, 1)
    assert f"; finished by {resumed['finished_by']} (checked by us)" in killed.run("run", "show", run.run)
    assert [one["kind"] for one in read_lines(killed.lake / "QM1" / "ledger" / "set_aside.jsonl")] == ["forged"]
    assert killed.json("ledger", "verify", "QM1")["ok"]
    assert killed.manager.depth(DLQ) == 0
    killed.run(*words, "--why", "again", "--yes", code=1)  # it is signed now


def test_an_unsigned_run_whose_lane_token_is_gone_is_not_finished(killed):
    run = RunFolder(killed.lake / "QM1" / "runs" / killed.newest(state="begun"))
    unsign(killed, run)
    there = [(md, body) for md, body in killed.manager.messages(NAME) if b'"ticket"' not in body]
    replace_messages(killed, there)
    before = killed.manager.depth(DLQ)
    seen = killed.json("run", "adopt", run.run, "--dry-run", code=1)
    assert ["has no lane token at its position" in one for one in seen["problems"]] == [True]
    killed.run("run", "adopt", run.run, "--why", "so", "--yes", code=1)
    assert (killed.manager.depth(DLQ), len(killed.manager.messages(NAME))) == (before, len(there))


NEWER = "was written by a newer mqops (format 99; this version reads up to 1): upgrade mqops, nothing was changed"


def as_newer(site: Site, body: bytes, purpose: bytes = MESSAGE) -> bytes:
    """What a newer version would have signed: more than this one knows."""
    said = json.loads(body) | {"v": 99, "of a later version": 1}
    said = {name: value for name, value in said.items() if name not in {"key", "hmac"}}
    return sign_message(KeyRing(site.lake / "QM1"), json.dumps(said, separators=(",", ":")).encode(), purpose)


@pytest.mark.parametrize("kind", ["marker", "lane token", "head"])
def test_a_message_of_a_newer_version_stays_where_it_is(killed, kind):
    """Whoever meets it refuses to go on: a pass, the run itself, a drain."""
    found, heads = killed.manager.messages(NAME), killed.manager.heads()
    is_one = {"marker": b'"acted"', "lane token": b'"ticket"', "head": b"nothing"}[kind]
    messages = [(md, as_newer(killed, body) if is_one in body else body) for md, body in found]
    if kind == "head":
        messages += [(md, as_newer(killed, body, HEAD)) for md, body in heads]
        heads.clear()
    killed.manager.mqlite("mqsc", "QM1", text=f"CLEAR QLOCAL({NAME})\n")
    for md, body in [*heads, *messages]:
        killed.manager.put(NAME, [({one: md[one] for one in ("MsgId", "CorrelId")}, body)])
    newer, depth = {body for _md, body in messages if b'"v":99' in body}, killed.manager.depth(DLQ)
    assert newer
    run = killed.newest(state="begun")
    for words in (("resume", run, "--finish"), ("ledger", "drain", "-m", "QM1")):
        assert NEWER in killed.told(*words), words
    assert newer <= {body for _md, body in [*killed.manager.messages(NAME), *killed.manager.heads()]}
    assert killed.manager.depth(DLQ) == depth
    assert not (killed.lake / "QM1" / "ledger" / "set_aside.jsonl").exists()


def test_a_line_of_a_newer_version_is_not_followed_by_one_of_this(killed, monkeypatch):
    file = LedgerFile(killed.lake / "QM1", str)
    line = Marker(unit="ab" * 24, run="r9", plan="", kind=MarkerKind.PRUNED, at="2027-01-01T00:00:00Z", about={})
    with monkeypatch.context() as newer, writer_of(file) as writer:
        newer.setattr("mqops.ledger.core.marker.VERSION", 99)
        writer.add([line])
    before = file.path.read_bytes()
    depth = killed.manager.depth(DLQ)
    for words in (("ledger", "verify", "QM1"), ("resume", killed.newest(state="begun"), "--finish")):
        assert NEWER in killed.told(*words), words
    assert (file.path.read_bytes(), killed.manager.depth(DLQ)) == (before, depth)


@pytest.mark.parametrize("purpose", [CHECKPOINT, ARCHIVED])
def test_a_statement_of_a_newer_version_is_refused(finished, purpose):
    folder = finished.lake / "QM1" / "ledger" / "segments"
    path = folder / "archived.json" if purpose is ARCHIVED else max(folder.glob("0*.json"))
    path.write_bytes(as_newer(finished, path.read_bytes(), purpose) + b"\n")
    run = finished.newest(state="planned")
    digest = finished.said["shown"][run]["plan"]["digest"]
    depth = finished.manager.depth(DLQ)
    for words in (("ledger", "verify", "QM1"), ("dlq", "act", run, "-m", "QM1", "--approve", digest)):
        assert NEWER in finished.told(*words), words
    assert finished.manager.depth(DLQ) == depth


@pytest.mark.parametrize("ends_at", ["drain", "OpenLedger.note_issued"])
def test_taking_over_an_unsigned_run_goes_on_where_it_ended(killed, monkeypatch, ends_at):
    run = RunFolder(killed.lake / "QM1" / "runs" / killed.newest(state="begun"))
    unsign(killed, run)
    words = ("run", "adopt", run.run, "--why", "ours", "--yes")

    def end(*_given: object, **_more: object) -> None:
        raise LakeError("the process ends here")

    with monkeypatch.context() as ending:
        ending.setattr(f"mqops.ledger.adopt.{ends_at}", end)
        assert "the process ends here" in killed.told(*words)
    assert not read_json(run.issued_json).get("signed")
    seen = killed.json("run", "adopt", run.run, "--dry-run")
    assert (seen["lane_tokens"], seen["problems"], len(seen["open_lanes"])) == (0, [], 1)
    with monkeypatch.context() as alone:  # the rest is the ordinary path
        alone.setattr("mqops.deciders.run.finish_run", end)
        assert "the process ends here" in killed.told(*words)
    assert read_json(run.issued_json)["signed"] is True
    assert killed.json("ledger", "verify", "QM1")["ok"]
