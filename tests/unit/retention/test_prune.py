"""`mqops lake prune` on a lake of genuine runs: what goes, what stays, what is said afterwards."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from act_support import send_back
from click.testing import CliRunner, Result
from mq_support import DLQ, Manager, dead_letter, until

from mqops.cli import main
from mqops.clock import utc
from mqops.lake.pruned import PRUNED
from mqops.lake.run import RunFolder
from mqops.lake.sealing import DATA_KEY, DataKey
from mqops.ledger.file import LedgerFile
from mqops.look.run_story import run_story
from mqops.look.words.run import pruned as words_of_page
from mqops.retention import prune as module
from mqops.retention.core.due import Ages, Policy
from mqops.retention.prune import prune, survey

TABLE = "DESTQ(A) ACTION(RETRY)\n"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def said(done: Result) -> str:
    return " ".join(done.output.split())


@pytest.fixture
def lake(queue_manager: Any, tmp_path: Path) -> Path:
    """Two runs that moved a message each, and a dry run."""
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    (tmp_path / "t.rules").write_text(TABLE)
    fixed = ("dlq", "run", DLQ, "QM1", "--once", "--rules", str(tmp_path / "t.rules"), "--lake", str(tmp_path / "lake"))
    for number in range(3):
        manager.put(DLQ, [dead_letter("A", b"%d" % number)])
        done = call(*fixed, *(["--dry-run"] if number == 2 else []))
        assert done.exit_code == 0, done.output
    return tmp_path / "lake"


def runs_of(lake: Path) -> list[RunFolder]:
    """The oldest first."""
    return [RunFolder(path) for path in sorted((lake / "QM1" / "runs").iterdir())]


def wait_until_old(lake: Path) -> None:
    policy = Policy(ages=Ages(snapshots=timedelta(seconds=1)), undo=timedelta(seconds=1))
    until(lambda: len(survey(lake, "QM1", policy, now=utc()).due) == 2)


NOW_DUE = ("--snapshots", "1s", "--undo", "1s")


def test_messages_of_old_runs_go_and_the_ledger_and_the_records_stay(lake: Path) -> None:
    wait_until_old(lake)
    first, second, dry = runs_of(lake)
    assert call("lake", "prune", *NOW_DUE, "--dry-run", "--lake", str(lake)).exit_code == 0
    assert first.snapshot.is_dir()
    assert not list(LedgerFile(first.lake_folder).markers(kind="pruned"))
    done = call("lake", "prune", "QM1", *NOW_DUE, "--json", "--lake", str(lake))
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.output)["queue_managers"]
    assert (found["runs"], found["parts"]) == (2, {"snapshot": 2})
    assert found["bytes"] > 0
    assert [one.snapshot.is_dir() for one in (first, second, dry)] == [False, False, True]
    assert all(one.plan.is_dir() for one in (first, second, dry))
    lines = list(LedgerFile(first.lake_folder).markers(kind="pruned"))
    assert [(line.run, line.about["removed"]) for line in lines] == [(second.run, "snapshot"), (first.run, "snapshot")]
    assert call("ledger", "verify", "QM1", "--lake", str(lake)).exit_code == 0
    again = call("lake", "prune", *NOW_DUE, "--lake", str(lake))
    assert "removed: nothing; 0 bytes" in said(again)


def test_with_the_encrypted_bodies_of_a_run_goes_their_key_and_the_ledger_says_so(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until_old(lake)
    first, second, dry = runs_of(lake)
    for run in (first, dry):
        DATA_KEY.write(run, DataKey(key="k", data_key="eA=="))

    def killed(_part: Path) -> None:
        raise KeyboardInterrupt

    policy = Policy(ages=Ages(snapshots=timedelta(seconds=1)), undo=timedelta(seconds=1))
    with monkeypatch.context() as patch:
        patch.setattr(module, "_remove", killed)
        for _run in (second, first):  # a pass begins with the newest run
            with pytest.raises(KeyboardInterrupt):
                prune(lake, "QM1", survey(lake, "QM1", policy, now=utc()), who="alice@host", now=utc())
            patch.setattr(module, "_remove", lambda part: None if part.parent == second.path else killed(part))
    assert (first.snapshot.is_dir(), DATA_KEY.exists(first)) == (True, False)  # no key is left behind
    assert call("lake", "prune", *NOW_DUE, "--lake", str(lake)).exit_code == 0
    assert (first.snapshot.is_dir(), DATA_KEY.exists(dry)) == (False, True)
    told = {line.run: line.about["removed"] for line in LedgerFile(first.lake_folder).markers(kind="pruned")}
    assert told == {second.run: "snapshot", first.run: "snapshot"}  # the pass that finished had no key to remove
    every = [line.about["removed"] for line in LedgerFile(first.lake_folder).markers(kind="pruned")]
    assert "snapshot, key of the bodies" in every


def test_what_needs_the_messages_of_a_pruned_run_says_since_when_they_are_gone(lake: Path) -> None:
    wait_until_old(lake)
    first, *_others = runs_of(lake)
    assert call("lake", "prune", *NOW_DUE, "--lake", str(lake)).exit_code == 0
    record = PRUNED.read(first)
    undone = call("undo", first.run, "--lake", str(lake))
    assert undone.exit_code != 0
    assert f"The snapshot of run {first.run} was removed by `mqops lake prune` at {record.at}" in said(undone)
    assert call("runs", "--lake", str(lake)).output.count("done") == 2
    shown = call("run", "show", first.run, "--lake", str(lake))
    assert shown.exit_code == 0
    of_run = f"run {first.run}"
    assert f"pruned {record.sentence(of_run)}: it cannot be undone" in said(shown)
    story = json.loads(call("run", "show", first.run, "--json", "--lake", str(lake)).output)
    assert (story["pruned"]["parts"], story["pruned"]["at"]) == (["snapshot"], record.at)
    assert f"removed by `mqops lake prune` at {record.at}" in str(words_of_page(run_story(first)))


TOLD = ("plan", "summary", "went", "moved", "left", "gone", "people")


def test_what_a_run_did_is_told_when_its_plan_is_gone_too(lake: Path) -> None:
    """The rows of the plan are gone: no message is listed, and all counts are told."""
    wait_until_old(lake)
    first, *_others = runs_of(lake)
    before = json.loads(call("run", "show", first.run, "--json", "--lake", str(lake)).output)
    assert call("lake", "prune", *NOW_DUE, "--plans", "1s", "--lake", str(lake)).exit_code == 0
    assert PRUNED.read(first).parts == ("snapshot", "plan")
    shown = call("run", "show", first.run, "--lake", str(lake))
    assert (shown.exit_code, "balances" in said(shown)) == (0, True), said(shown)
    after = json.loads(call("run", "show", first.run, "--json", "--lake", str(lake)).output)
    assert before["moved"] > 0
    assert [after[name] for name in TOLD] == [before[name] for name in TOLD]
    assert (after["messages"], after["unmoved"]) == ([], [])


def test_a_run_that_can_be_undone_keeps_its_messages(lake: Path) -> None:
    wait_until_old(lake)
    done = call("lake", "prune", "--snapshots", "1s", "--lake", str(lake))
    assert "QM1: removed: nothing" in said(done)
    assert "2 runs keep all: the run can be undone" in said(done)
    undone = CliRunner().invoke(main, ["undo", runs_of(lake)[1].run, "--lake", str(lake)], input="y\n")
    assert undone.exit_code == 0, undone.output


def test_a_run_that_moved_nothing_goes_whole(lake: Path, tmp_path: Path) -> None:
    *_moved, dry = runs_of(lake)
    fixed = ("--once", "--rules", str(tmp_path / "t.rules"), "--lake", str(lake))
    assert call("dlq", "run", DLQ, "QM1", *fixed, "--dry-run").exit_code == 0
    until(lambda: call("lake", "prune", "--runs", "1s", "--lake", str(lake)) and not dry.path.exists())
    assert len(runs_of(lake)) == 3
    assert dry.run not in call("runs", "--lake", str(lake)).output
    (line,) = LedgerFile(dry.lake_folder).markers(kind="pruned")
    assert (line.run, line.about["removed"]) == (dry.run, "run")


def test_law1_a_pass_that_was_killed_is_finished_by_the_next(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_until_old(lake)
    policy = Policy(ages=Ages(snapshots=timedelta(seconds=1)), undo=timedelta(seconds=1))
    now = utc()
    found = survey(lake, "QM1", policy, now=now)

    def killed(_part: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_remove", killed)
        with pytest.raises(KeyboardInterrupt):
            prune(lake, "QM1", found, who="alice@host", now=now)
    first, second, _dry = runs_of(lake)
    size = PRUNED.read(first).bytes
    assert first.snapshot.is_dir()
    done = prune(lake, "QM1", survey(lake, "QM1", policy, now=utc()), who="bob@host", now=utc())
    assert (done.runs, first.snapshot.exists(), second.snapshot.exists()) == (2, False, False)
    assert PRUNED.read(first).bytes == size > 0
    assert not [*first.path.glob(".removed-*")]


def test_a_run_that_another_process_has_or_has_begun_since_is_passed_over(lake: Path) -> None:
    wait_until_old(lake)
    policy = Policy(ages=Ages(snapshots=timedelta(seconds=1)), undo=timedelta(seconds=1))
    first, second, _dry = runs_of(lake)
    found = survey(lake, "QM1", policy, now=utc())
    with first.lock():
        done = prune(lake, "QM1", found, who="alice@host", now=utc())
    assert (done.runs, done.in_progress) == (1, 1)
    assert first.snapshot.is_dir()
    assert not second.snapshot.exists()


def test_without_anything_that_says_what_is_old_nothing_is_removed(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = tmp_path / "estate.yaml"
    estate.write_text(f"lake: {lake}\nqueue_managers:\n  QM1: {{connection: mq_qm1}}\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(estate))
    done = call("lake", "prune", "--lake", str(lake))
    assert (done.exit_code, "Nothing says what is old" in said(done)) == (1, True)
    estate.write_text(estate.read_text() + "retention: {snapshots: 1s, undo: 1s, newest: 2}\n")
    wait_until_old(lake)
    done = call("lake", "prune", "--lake", str(lake))
    assert "QM1: removed: 1 snapshot" in said(done)
    assert "1 run keeps all: one of the newest" in said(done) or "2 runs keep all" in said(done)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--snapshots", "soon"), "must be a time such as 90s"),
        (("--most-size", "many"), "must be a size such as 500M"),
        (("--snapshots", "1d", "NOT.THERE"), "has no runs of NOT.THERE"),
    ],
)
def test_wrong_options_are_told(lake: Path, options: tuple[str, ...], text: str) -> None:
    done = call("lake", "prune", *options, "--lake", str(lake))
    assert done.exit_code != 0
    assert text in said(done)


def test_what_tries_an_order_and_a_backoff_need_is_in_the_ledger(queue_manager: Any, tmp_path: Path) -> None:
    """What failed, what waits behind it and what came again goes on as before when the files of the run are gone."""
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(SHUT) PUT(DISABLED)\nDEFINE QLOCAL(B)\n")
    rules, lake = tmp_path / "t.rules", tmp_path / "lake"
    rules.write_text(
        "* MQOPS EXTENSIONS\nDESTQ(B) ACTION(RETRY) BACKOFF(1h)\nDESTQ(SHUT) ACTION(RETRY) ORDER(CORRELID)\n"
        "ACTION(FWD) FWDQ(A) HEADER(NO)\n"
    )
    command = ("dlq", "run", DLQ, "QM1", "--once", "--rules", str(rules), "--lake", str(lake))
    ids = {"CorrelId": b"same order".ljust(24)}
    manager.put(DLQ, [dead_letter("SHUT", b"1", **ids), dead_letter("SHUT", b"2", **ids), dead_letter("B", b"3")])
    assert call(*command).exit_code == 1
    assert (manager.depth("A"), manager.depth("B"), manager.depth(DLQ)) == (0, 1, 2)
    assert send_back(manager, "B") == 1
    run = runs_of(lake)[0]
    for part in (run.snapshot, run.plan):
        shutil.rmtree(part)
    assert call(*command).exit_code == 1
    assert manager.bodies("A") == [b"1"]  # its first rule has had its try
    assert (manager.depth("SHUT"), manager.depth("B"), manager.depth(DLQ)) == (0, 0, 2)
