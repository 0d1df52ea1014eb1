"""Every file that outlives a process says its format, and one of a higher format is refused in one sentence by whoever
reads it. Messages, lines and what is signed: test_upgrade.py."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from format_support import says_format
from mq_support import DLQ, dead_letter

import mqops
from mqlite.cli import main as mqlite
from mqops import formats
from mqops.cli import main
from mqops.decide.in_process import _tries
from mqops.errors import NewerFormat
from mqops.estate import load
from mqops.expiry.group import members
from mqops.expiry.record import known
from mqops.lake import stop
from mqops.lake.body_keys import parsed
from mqops.lake.parquet import refuse_newer_folder
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.proofs import noted_proofs
from mqops.observe import anatomy, replays
from mqops.quality.results import verdict_of
from mqops.trigger.record import ChangeRecord

NEWER = 99
SENTENCE = "{} was written by a newer mqops (format 99; this version reads up to 1): upgrade mqops, nothing was changed"


def run_files() -> Iterator[RunFile[Any]]:
    """Those that the rooms of mqops declare. Modules that do not name the class are not imported, which takes long."""
    (root,) = map(Path, mqops.__path__)
    for path in sorted(root.rglob("*.py")):
        if "RunFile" in path.read_text():
            module = importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
            yield from (one for one in vars(module).values() if isinstance(one, RunFile))


RUN_FILES = {one.name: one for one in run_files()}


@pytest.fixture
def run(tmp_path) -> RunFolder:
    return RunFolder.at(tmp_path / "lake", "QM1", "r1").create()


def sentence(path: Path) -> str:
    return re.escape(SENTENCE.format(path))


@pytest.mark.parametrize("name", sorted(RUN_FILES))
def test_a_file_of_a_run_is_in_the_table_and_of_a_newer_version_refused(run, name):
    assert name.rpartition("/")[2] in formats.NUMBERS, "a file of a run is named in NUMBERS of mqops/formats.py"
    path = RUN_FILES[name].path(run)
    path.parent.mkdir(exist_ok=True)
    for content in ({formats.KEY: NEWER}, {"of a later version": [], formats.KEY: NEWER}):
        path.write_text(json.dumps(content, indent=2))
        with pytest.raises(NewerFormat, match=sentence(path)):
            RUN_FILES[name].find(run)


def test_a_task_declares_no_file_of_a_run():
    """What is declared in the plugin, the test above does not see, and the command line cannot read."""
    plugins = Path(__file__).parents[3] / "plugins"
    declare = [path.name for path in sorted(plugins.rglob("*.py")) if "RunFile(" in path.read_text()]
    assert declare == [], "declare it in the room of mqops that has its type"


READERS: dict[str, tuple[str, object, Callable[[RunFolder], object]]] = {
    "tries": ("runs/r1/tries.jsonl", {"tries": {}}, _tries),
    "replays": ("runs/r1/replays.jsonl", {"replays": 1}, replays.read),
    "quality": ("runs/r1/quality/quality.json", {}, verdict_of),
    "expiry": ("expiry/queues.json", {"A": {formats.KEY: NEWER}}, lambda run: known(run.lake_folder)),
    "group": ("expiry/group.json", {}, lambda run: list(members(run.lake_folder.parent, "G"))),
    "anatomy": ("anatomy/A.json", {}, lambda run: anatomy.read_last(run.lake_folder / "anatomy" / "A.json")),
    "triggers": ("trigger/changes.jsonl", {}, lambda run: list(ChangeRecord(run.lake_folder.parent, "QM1").lines())),
    "proofs": ("ledger/proved.jsonl", {}, lambda run: noted_proofs(run.lake_folder / "ledger")),
    "note of the key": ("ledger/signed_by.json", {}, lambda run: KeyRing(run.lake_folder).check()),
    "keys": ("ledger/keys.json", {"v": NEWER}, lambda run: KeyRing(run.lake_folder).newest()),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_file_beside_the_runs_of_a_newer_version_is_refused(run, kind):
    place, content, read = READERS[kind]
    path = run.lake_folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    path.write_text(json.dumps(content if kind in {"expiry", "keys"} else {formats.KEY: NEWER, **content}) + "\n")
    with pytest.raises(NewerFormat) as refused:
        read(run)
    assert f"{path} was written by a newer mqops (format 99;" in str(refused.value)
    assert path.name in formats.NUMBERS or kind == "anatomy"


def test_keys_of_bodies_of_a_newer_version_are_refused():
    with pytest.raises(NewerFormat, match=re.escape(SENTENCE.format("The key file"))):
        parsed('{"v": 99, "keys": [], "of a later version": 1}', "The key file")
    with pytest.raises(NewerFormat, match=re.escape(SENTENCE.format("The key file"))):
        parsed('{"format": 99, "keys": [], "of a later version": 1}', "The key file")


def test_a_stop_of_a_newer_version_stops_and_what_it_kept_is_not_written_over(run):
    for name, content in (("stop.json", {formats.KEY: NEWER}), ("stops_lifted.json", [{formats.KEY: NEWER}])):
        (run.path / name).write_text(json.dumps(content))
    assert stop.is_stopped(run)
    before = (run.path / "stops_lifted.json").read_bytes()
    assert stop.lift(run.path) is not None
    assert not stop.is_stopped(run)
    assert (run.path / "stops_lifted.json").read_bytes() == before


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


def pass_over(mqops_here: Any) -> Any:
    return mqops_here("dlq", "run", "--once", DLQ, "QM1", "--json", text="ACTION(RETRY) RETRY(9)\n", expect=None)


def test_all_that_a_pass_leaves_says_its_format(manager, mqops_here, lake):
    """The second pass finds tries; then the stop of all, and the one that is taken back."""
    for _ in range(2):
        manager.put(DLQ, [dead_letter("A", b"goes"), dead_letter("MISSING", b"fails")])
        pass_over(mqops_here)
    mqops_here("stop", "-m", "QM1")
    mqops_here("resume", "-m", "QM1")
    mqops_here("expiry", "scan", "A", "-m", "QM1", "--all")
    mqops_here("runs")
    assert len(says_format(lake)) > 10
    assert not [path for path, numbered in says_format(lake).items() if not numbered]
    assert not [path for path, numbered in says_format(manager.home).items() if not numbered]


def test_parquet_of_a_newer_version_is_refused(manager, mqops_here, lake):
    manager.put(DLQ, [dead_letter("A", b"goes")])
    pass_over(mqops_here)
    (part,) = lake.glob("QM1/runs/*/snapshot/*.parquet")
    table = pq.read_table(part)
    key = formats.PARQUET_KEY
    of_spark = json.dumps({"fields": [{"name": "queue_manager", "metadata": {key: NEWER}}]}, separators=(",", ":"))
    for newer in ({key: str(NEWER)}, {"org.apache.spark.sql.parquet.row.metadata": of_spark}):
        pq.write_table(table.replace_schema_metadata(newer), part)
        with pytest.raises(NewerFormat, match=sentence(part)):
            refuse_newer_folder(part.parent)
        told = mqops_here("message", "find", "--snapshot", part.parts[-3], expect=None)
        assert SENTENCE.format(part) in told.output


def test_an_estate_of_a_newer_version_is_one_sentence(tmp_path):
    path = tmp_path / "estate.yaml"
    path.write_text("format: 99\nlake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1, of_a_later_version: 1}\n")
    with pytest.raises(mqops.errors.SettingsError) as refused:
        load(path)
    assert str(refused.value) == f"{path}:1: format: {SENTENCE.format(path)}"
    path.write_text("format: 1\nlake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1}\n")
    assert load(path).estate.format == 1


@pytest.mark.parametrize("name", ["qm.db", "channels.db"])
def test_a_queue_manager_of_a_newer_version_is_refused(manager, name):
    manager.mqsc("DEFINE CHANNEL(C) CHLTYPE(SDR) CONNAME('x') XMITQ(A)\nSTOP CHANNEL(C)\n")
    path = manager.home / "QM1" / name
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (1,)
        database.execute(f"PRAGMA user_version = {NEWER}")
    own = {"MQLITE_HOME": str(manager.home)}
    told = CliRunner().invoke(mqlite, ["mqsc", "QM1"], input="DISPLAY CHSTATUS(*)\n", env=own)
    assert "was written by a newer mqlite (format 99; this version reads up to 1)" in told.output + str(told.exception)


def test_the_command_says_it_in_one_line(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"goes")])
    own = {"MQLITE_HOME": str(manager.home), "MQOPS_LAKE": str(lake)}
    CliRunner().invoke(main, ["dlq", "run", "--dry-run", DLQ, "QM1"], input="ACTION(RETRY)\n", env=own)
    (path,) = lake.glob("QM1/runs/*/plan.json")
    path.write_text(path.read_text().replace('"format": 1', f'"format": {NEWER}'))
    before = path.read_bytes()
    digest = json.loads(before)["digest"]
    done = CliRunner().invoke(main, ["dlq", "act", path.parent.name, "-m", "QM1", "--approve", digest], env=own)
    assert (done.exit_code != 0, done.output.strip()) == (True, f"mqops: {SENTENCE.format(path)}")
    assert (path.read_bytes(), manager.depth(DLQ)) == (before, 1)
