"""While messages move: the run's key first, lines that grow to the total, and an error in the middle that says how to
go on. Standard output has the outcome alone."""

from __future__ import annotations

import json
import logging
import re
import shlex
import stat
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from act_support import planned
from ledger_opened import act
from mq_support import DLQ, dead_letter, until
from pymqi import CMQC

from mqops.act.core.progress import Tally, TallyJson, UnitDone
from mqops.act.progress import Progress, ProgressFile, heard_from_tasks
from mqops.errors import MQError, mq_error
from mqops.lake import step
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.lake.run_file import Checked
from mqops.lake.step import Step, StepProgress, read_step, told_by_task

RETRY = "ACTION(RETRY)\n"
LEDGER = "MQOPS.LEDGER"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\nDEFINE QLOCAL(APP.BACKOUT)\n")


def fill(manager, count: int) -> list[bytes]:
    bodies = [b"%d" % number for number in range(count)]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    return bodies


def progress_lines(stderr: str) -> list[str]:
    """What mqops says besides the AMQ lines of the handler."""
    return [line.removeprefix("mqops: ") for line in stderr.splitlines() if line.startswith("mqops: ")]


def done_of(lines: list[str], planned: int) -> list[int]:
    return [int(found[1]) for line in lines if (found := re.search(rf": (\d+) of {planned} messages? done", line))]


def test_lines_come_while_messages_move_and_grow_to_the_total(manager, mqops_here):
    bodies = fill(manager, 8)
    manager.put(DLQ, [dead_letter("NOT.THERE", b"x")])
    done = mqops_here("dlq", "run", "--once", "--json", "--pace", "2", "--unit-size", "1", text=RETRY, expect=1)
    summary = json.loads(done.stdout)
    lines = progress_lines(done.stderr)
    assert lines[0] == f"run {summary['run']} of QM1"
    figures = done_of(lines, 9)
    assert len(figures) >= 3
    assert figures == sorted(set(figures))
    assert figures[-1] == 9
    assert re.fullmatch(
        rf"run {summary['run']}: 9 of 9 messages done, \d a second: 8 moved, 0 discarded, 1 failed, 0 left", lines[-2]
    )
    assert lines[-1].startswith("When the destination is in order: ")  # a message has no try left
    assert manager.bodies("A") == bodies


def test_reading_and_deciding_say_how_far_they_are(manager, lake, caplog, monkeypatch):
    """Every second one line at most, and for other programs the same in a file that is there as long as the step."""
    fill(manager, 4500)
    monkeypatch.setattr(step, "EVERY", 0.0)
    seen: list[StepProgress] = []
    tell = step.replace_report

    def kept(path: Path, value: object) -> None:
        tell(path, value)
        found = read_step(RunFolder(path.parent))
        seen.extend([found] if found else [])

    monkeypatch.setattr(step, "replace_report", kept)
    with caplog.at_level(logging.INFO, "mqops.lake.step"):
        run, _plan = planned(manager, lake)
    of_observe = [(one.done, one.of) for one in seen if one.step == "observe"]
    assert of_observe == [(2000, 4500), (4000, 4500), (4500, 4500)]
    assert [(one.done, one.of) for one in seen if one.step == "decide"][-1] == (4500, 4500)
    lines = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(rf"Run {run.run}: observe: 2,000 of 4,500 messages, [\d,]+ a second, \d+ s to go", lines[0])
    assert re.fullmatch(rf"Run {run.run}: decide: 4,500 messages, [\d,]+ a second", lines[-1])
    assert read_step(run) is None
    caplog.clear()
    monkeypatch.setattr(step, "EVERY", 3600.0)
    planned(manager, lake)
    assert not caplog.records


def test_what_tasks_of_spark_have_read_is_added_up(lake, monkeypatch):
    monkeypatch.setattr(step, "EVERY", 0.01)
    run = RunFolder.at(lake, "QM1", "r1")
    run.path.mkdir(parents=True)
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
    with Step(run, "observe", 9) as told, told.heard_from_tasks():
        for _task in range(2):
            assert sum(one.num_rows for one in told_by_task(run, slowly([batch, batch]))) == 6
        until(lambda: (found := read_step(run)) is not None and found.done == 12)
    assert not run.progress.exists()


def test_a_step_that_has_nothing_new_to_say_says_it_seldom(lake, caplog, monkeypatch):
    run = RunFolder.at(lake, "QM1", "r1")
    run.path.mkdir(parents=True)
    with caplog.at_level(logging.INFO, "mqops.lake.step"), Step(run, "observe", 9) as told:
        told.tell()
        told.tell()
        assert [record.getMessage() for record in caplog.records] == ["Run r1: observe: 9 messages to go"]
        monkeypatch.setattr(step, "SAME_EVERY", 0.0)
        told.tell()
        assert len(caplog.records) == 2


def slowly(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches that come later than the time between two lines."""
    for one in batches:
        began = time.monotonic()
        until(lambda began=began: time.monotonic() - began > 0.02)
        yield one


def test_there_is_one_line_a_second_at_most_however_many_units_of_work_there_are(manager, lake, caplog):
    fill(manager, 60)
    run, _plan = planned(manager, lake)
    began = time.monotonic()
    with caplog.at_level(logging.DEBUG, "mqops.act.progress"):
        act(manager.connection, run, unit_size=1)
    levels = Counter(record.levelno for record in caplog.records)
    assert levels[logging.DEBUG] == 60
    assert 2 <= levels[logging.INFO] <= 2 + (time.monotonic() - began)  # the first and the last, and one a second


def test_every_command_that_acts_names_its_run_first_and_ends_at_the_total(manager, mqops_here):
    def acts(*arguments: str, text: str = "", messages: int) -> str:
        done = mqops_here(*arguments, "--json", text=text)
        lines = progress_lines(done.stderr)
        key = json.loads(done.stdout)["run"]
        assert lines[0] == f"run {key} of QM1"
        assert done_of(lines, messages)[-1] == messages
        return key

    fill(manager, 3)
    first = acts("dlq", "run", "--once", text=RETRY, messages=3)
    acts("undo", first, "--yes", messages=3)
    rehearsed = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", text=RETRY).stdout)["plan"]
    acts("dlq", "act", rehearsed["run"], "--approve", rehearsed["digest"], messages=3)
    old = {"PutDate": "20200101", "PutTime": "00000000", "PutApplName": "p"}
    manager.put("B", [(old, b"old")], options=CMQC.MQOO_SET_ALL_CONTEXT)
    acts("expiry", "age-out", "B", "--older-than", "1d", "--yes", messages=1)
    manager.put("APP.BACKOUT", [({}, b"1"), ({}, b"2")])
    acts("backout", "run", "APP.BACKOUT", "--quarantine", "A", text="ACTION(FWD) FWDQ(B)\n", messages=2)


def test_a_pass_with_nothing_to_act_on_has_no_progress(manager, mqops_here):
    fill(manager, 2)
    lines = progress_lines(mqops_here("dlq", "run", "--once", text="ACTION(IGNORE)\n").stderr)
    assert [line.split()[0] for line in lines] == ["run"]


def test_an_error_in_the_middle_names_the_run_what_moved_and_the_command_that_goes_on(manager, mqops_here):
    bodies = fill(manager, 6)
    manager.mqsc(f"ALTER QLOCAL({LEDGER}) MAXDEPTH(5)")
    failed = mqops_here("dlq", "run", "--once", "--unit-size", "1", "--json", text=RETRY, expect=1)
    message = json.loads(failed.stdout)["error"]["message"]
    assert message in failed.stderr
    found = re.search(r"MQRC_Q_FULL \(2053\).*\. Run (\S+): (\d) of 6 messages had moved\. To go on: `(.+)`$", message)
    assert found, message
    moved = len(manager.bodies("A"))
    assert 0 < moved == int(found[2]) < 6
    assert progress_lines(failed.stderr)[0] == f"run {found[1]} of QM1"
    manager.mqsc(f"ALTER QLOCAL({LEDGER}) MAXDEPTH(5000)")
    program, *words = shlex.split(found[3])
    assert (program, words[:3]) == ("mqops", ["resume", found[1], "--finish"])
    went_on = mqops_here(*words)
    assert manager.bodies("A") == bodies
    assert done_of(progress_lines(went_on.stderr), 6) == [6]
    assert progress_lines(went_on.stderr)[-1].endswith(
        f": {6 - moved} moved, 0 discarded, 0 failed, 0 left, {moved} before"
    )

    manager.mqsc(f"ALTER QLOCAL({LEDGER}) MAXDEPTH(5)")
    failed = mqops_here("undo", found[1], "--yes", "--unit-size", "1", expect=1)
    go_on = re.search(r"messages had moved\. To go on: `(.+)`$", progress_lines(failed.stderr)[-1])
    assert go_on, failed.stderr
    manager.mqsc(f"ALTER QLOCAL({LEDGER}) MAXDEPTH(5000)")
    program, *words = shlex.split(go_on[1])
    assert (program, words[:2]) == ("mqops", ["undo", found[1]])
    mqops_here(*words, "--yes")
    assert sorted(body[-1:] for body in manager.bodies(DLQ)) == bodies


@pytest.mark.parametrize(
    ("verb", "reason", "stands"),
    [
        ("MQPUT", CMQC.MQRC_Q_FULL, "0 of 1 message had moved"),
        # a unit of work may have been committed that nobody told of
        ("MQPUT", CMQC.MQRC_CONNECTION_BROKEN, "at least 0 of 1 message had moved"),
        ("MQCMIT", CMQC.MQRC_CONNECTION_BROKEN, "at least 0 of 1 message had moved"),
    ],
)
def test_an_error_says_what_had_moved_at_least_where_the_connection_was_lost(tmp_path, verb, reason, stands):
    run = RunFolder(tmp_path / "QM1" / "runs" / "r")
    with pytest.raises(MQError, match=rf"\. Run r: {stands}\. To go on: "), Progress(run, [1], {}, {}):
        raise mq_error(2, reason, verb=verb)


def test_each_unit_of_work_is_a_line_at_debug_level(manager, lake, caplog):
    fill(manager, 5)
    run, _plan = planned(manager, lake)
    with caplog.at_level(logging.DEBUG, "mqops.act.progress"):
        act(manager.connection, run, unit_size=2)
    units = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert units == [
        f"Lane 0, rows {first} to {last}: {last - first + 1} moved, 0 discarded, 0 failed, 0 left, 0 gone"
        for first, last in ((0, 1), (2, 3), (4, 4))
    ]


def test_run_show_says_how_far_the_run_had_come_and_nothing_of_a_file_that_it_cannot_read(manager, lake, mqops_here):
    fill(manager, 3)
    run = RunFolder.at(lake, "QM1", json.loads(mqops_here("dlq", "run", "--once", "--json", text=RETRY).stdout)["run"])

    def shown():
        return json.loads(mqops_here("run", "show", run.run, "--json").stdout)["progress"]

    said = read_json(run.path.joinpath("progress.json"))
    assert {"format": 1} | shown() == said
    assert (said["planned"], said["tally"]["moved"]) == (3, 3)
    for other in (
        "",
        "[]",
        json.dumps(said | {"tally": {}}),
        json.dumps(said | {"tally": said["tally"] | {"reached": 1}}),
    ):
        run.path.joinpath("progress.json").write_text(other)
        assert shown() is None


def test_a_run_with_a_hostile_key_ends_no_line(caplog, tmp_path):
    from mqops.act.progress import Progress  # noqa: PLC0415

    with (
        caplog.at_level(logging.INFO, "mqops.act.progress"),
        Progress(RunFolder(tmp_path / "QM1" / "runs" / "a\nb\x1b[31m"), [1], {}, {}),
    ):
        pass
    assert len(caplog.records) == 2
    assert all(record.getMessage().isprintable() for record in caplog.records)


def test_the_tallies_of_processes_add_up_and_a_lane_goes_no_way_back():
    """Two attempts of a Spark task, the first one killed: what each moved counts, and where the further one stands."""
    first, second = Tally(), Tally()
    first.add(UnitDone(lane=1, first=0, next=2, moved=2))
    second.add(UnitDone(lane=1, first=2, next=5, moved=1, failed=1, left=1))
    second.add(UnitDone(lane=0, first=4, next=5, discarded=1))
    assert Tally(**Checked(TallyJson).of(json.loads(json.dumps(second.to_json())), Path())) == second
    whole = second.merge([first])
    assert whole.reached == {1: 5, 0: 5}
    assert whole.line(20, 2.0) == (
        "10 of 20 messages done, 3 a second, 3 s to go: 3 moved, 1 discarded, 1 failed, 1 left, 4 before"
    )
    large = Tally(moved=2270, left=1000, reached={0: 4000})
    assert large.line(5000, 0.5) == (
        "4,000 of 5,000 messages done, 3,270 a second: 2,270 moved, 0 discarded, 0 failed, 1,000 left, 730 before"
    )


def test_what_tasks_write_is_heard_and_nothing_of_it_stays(tmp_path):
    run = RunFolder.at(tmp_path, "QM1", "r1")
    run.path.mkdir(parents=True)
    progress = Progress(run, [5, 4], {}, {})
    with heard_from_tasks(run, progress):
        for lane, moved, failed in ((0, 3, 2), (1, 4, 0)):
            with ProgressFile(run) as task:
                task.add(UnitDone(lane=lane, first=0, next=moved + failed, moved=moved, failed=failed))
        found = sorted(
            (Tally(**Checked(TallyJson).read(path)) for path in run.progress.iterdir()), key=lambda one: one.moved
        )
        assert found == [Tally(moved=3, failed=2, reached={0: 5}), Tally(moved=4, reached={1: 4})]
        assert {path.suffix for path in run.progress.iterdir()} == {".json"}
        assert {stat.S_IMODE(path.stat().st_mode) for path in run.progress.iterdir()} == {0o600}
        for number, odd in enumerate(("", "[]", '{"reached": 1}')):  # a file that cannot be read stops nothing
            (run.progress / f"{number}.json").write_text(odd)
    assert not run.progress.exists()
