"""The kill switch: act ends behind the unit of work it is in, the proof balances, going on does the rest once."""

from __future__ import annotations

import errno
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys

import commands
import pytest
from act_support import after_commits, planned, proved
from ledger_opened import act, look, prove
from mq_support import DLQ, dead_letter

from mqops.act import in_process
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, finish_run, plan_run
from mqops.errors import LakeError, SettingsError, Stopped
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder, find_run
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger import stop_message
from mqops.ledger.core.history import events
from mqops.ledger.core.seal import sign_message
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.stop_message import STOP, StopWatch, resume_all, stop_all
from mqops.mq.session import RawMessage
from mqops.rules import parse

CAROL = Stop(by="carol@desk", at="2026-11-21T12:00:00Z", why="the application is down")


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")


def fill(manager, count: int = 10) -> list[bytes]:
    bodies = [b"%d" % number for number in range(count)]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    return bodies


def stop_after(units: int, folder):
    """Somebody stops it behind so many units of work (the first commit issues nothing: it has a session of its own)."""
    return after_commits(lambda number: stop(folder, CAROL) if number == units else None)


def test_a_stopped_run_ends_behind_its_unit_of_work_and_going_on_does_the_rest_once(manager, lake):
    bodies = fill(manager)
    run, plan = planned(manager, lake)
    with pytest.raises(Stopped) as stopped:
        act(manager.connection, run, unit_size=2, port=stop_after(2, run.path))
    assert str(stopped.value) == (
        f"Run {run.run} was stopped by carol@desk at 2026-11-21T12:00:00Z (the application is down). What was done is "
        f"in the ledger, everything else is where it was. To go on: `mqops resume {run.run}` (in Airflow: "
        f"run mq_stop with Do = resume), then clear the task act, or `mqops resume {run.run} --finish`. "
        "4 of 10 messages had moved."
    )
    assert manager.bodies("A") == bodies[:4]
    assert proved(manager, run) == {"planned": 10, "moved": 4, "left": 6}
    assert prove(manager.connection, run).finished is False
    with pytest.raises(Stopped):
        act(manager.connection, run, approved=plan.digest)
    assert lift(run.path) == CAROL
    summary = finish_run(manager.connection, run)
    assert (summary.moved, summary.left, summary.finished, summary.balanced) == (10, 0, True, True)
    assert manager.bodies("A") == bodies
    assert list(LedgerFile(run.lake_folder, str).entries())
    assert manager.depth("MQOPS.LEDGER") == 0


def test_a_stopped_queue_manager_stops_a_run_under_way_and_refuses_every_other(manager, lake):
    fill(manager)
    run, _plan = planned(manager, lake)
    with pytest.raises(Stopped, match=r"All acting on QM1 was stopped by carol@desk .* `mqops resume -m QM1`"):
        act(manager.connection, run, unit_size=3, port=stop_after(1, run.lake_folder))
    assert proved(manager, run) == {"planned": 10, "moved": 3, "left": 7}
    table = parse("ACTION(DISCARD)").table
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=table, text="ACTION(DISCARD)")
    other, plan = plan_run(DEAD_LETTERS, what)
    with pytest.raises(Stopped):
        carry_out(DEAD_LETTERS, what, other, plan)
    assert read_json(other.path.joinpath("summary.json"))["left"] == 7
    assert not other.issued_json.exists()
    lift(run.lake_folder)
    assert finish_run(manager.connection, run).moved == 10


def test_who_was_first_has_stopped_it(manager, lake):
    fill(manager, 1)
    run, _plan = planned(manager, lake)
    stop(run.path, CAROL)
    assert stop(run.path, Stop(by="dave", at="later")) == CAROL
    assert lift(run.path) == CAROL
    assert lift(run.path) is None


def test_a_stop_that_cannot_be_read_stops(manager, lake):
    fill(manager, 1)
    run, _plan = planned(manager, lake)
    (run.path / "stop.json").write_text("sto")
    with pytest.raises(Stopped, match="by an unreadable file"):
        act(manager.connection, run)
    assert manager.depth(DLQ) == 1


def test_a_process_that_cannot_see_the_runs_folder_ends(manager, lake):
    """It could not be stopped."""
    fill(manager)
    run, _plan = planned(manager, lake)
    away = run.path.with_name("away")
    with pytest.raises(LakeError, match="so `mqops stop` could not stop it"):
        act(
            manager.connection,
            run,
            unit_size=2,
            port=after_commits(lambda number: shutil.move(run.path, away) if number == 2 else None),
        )
    shutil.move(away, run.path)
    assert proved(manager, run) == {"planned": 10, "moved": 4, "left": 6}


def test_only_what_was_begun_is_finished(manager, lake):
    fill(manager, 1)
    run, _plan = planned(manager, lake)
    with pytest.raises(SettingsError, match=f"{run.run} was not begun, so there is nothing to finish: start a new run"):
        finish_run(manager.connection, run)
    with pytest.raises(SettingsError, match="has no run nothing"):
        find_run(lake, key="nothing")
    twin = RunFolder.at(lake, "QM2", run.run).create()
    with pytest.raises(SettingsError, match="of QM1, QM2: name the queue manager"):
        find_run(lake, key=run.run)
    assert find_run(lake, key=run.run, queue_manager="QM2") == twin


def test_who_finishes_is_whoever_really_went_on(manager, lake):
    fill(manager)
    run, _plan = planned(manager, lake)
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=4, port=stop_after(1, run.path))
    with pytest.raises(Stopped):
        finish_run(manager.connection, run, unit_size=2, who="refused@host")
    lift(run.path)
    carol = {"finished_by": "carol@host"}
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=2, about=carol, port=stop_after(2, run.path))
    lift(run.path)
    act(manager.connection, run, unit_size=2)  # as another try of the task
    prove(manager.connection, run)
    acted = [event for event in events("QM1", LedgerFile(run.lake_folder, str).entries()) if event.outcome == "acted"]
    assert [event.finished_by for event in acted] == [""] * 4 + ["carol@host"] * 4 + [""] * 2


def test_who_finished_a_run_is_not_said_of_what_was_seen_of_its_messages_later(manager, lake):
    fill(manager, 2)
    run, _plan = planned(manager, lake)
    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=1, port=stop_after(1, run.path))
    lift(run.path)
    finish_run(manager.connection, run, who="carol@host")
    look(manager.connection, run)
    told = [(event.outcome, event.finished_by) for event in events("QM1", LedgerFile(run.lake_folder, str).entries())]
    assert told == [("acted", ""), ("acted", "carol@host"), ("there", ""), ("there", "")]


def test_stop_and_resume_on_the_command_line(manager, lake):
    fill(manager)
    run, _plan = planned(manager, lake)

    def mqops(*arguments: str, expect: int = 0, text: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **manager.environment, "MQOPS_LAKE": str(lake)}
        command = [sys.executable, "-m", "mqops.cli", *arguments]
        done = commands.run(command, input=text, env=environment, text=True, capture_output=True)
        assert done.returncode == expect, done.stdout + done.stderr
        return done

    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=4, port=stop_after(1, run.path))
    lift(run.path)
    document = json.loads(mqops("stop", run.run, "--why", "night", "--json").stdout)
    assert (document["stopped"], document["why"]) == (f"run {run.run}", "night")
    refused = mqops("resume", "--finish", expect=2)
    assert "--finish needs a run" in refused.stderr
    assert "was stopped by" in mqops("resume", run.run).stdout
    finished = mqops("resume", run.run, "--finish").stdout.splitlines()
    assert "10 planned = 10 moved + 0 discarded + 0 left + 0 gone: balances" in finished
    who = f"{getpass.getuser()}@{socket.gethostname()}"
    exported = [json.loads(line) for line in mqops("ledger", "export").stdout.splitlines()]
    assert [event["finished_by"] for event in exported] == [""] * 4 + [who] * 6
    assert f"; finished by {who}\n" in mqops("ledger", "show", exported[-1]["msg_id"]).stdout
    mqops("ledger", "verify")
    for command in ("stop", "resume"):
        refused = mqops(command, "-m", "QMTYPO", expect=1)
        assert refused.stderr == f"mqops: {lake} has no runs of queue manager QMTYPO. Check --lake and the name\n"
        assert not (lake / "QMTYPO").exists()
    mqops("stop", "--queue-manager", "QM1")
    fill(manager, 2)
    stopped = mqops("dlq", "run", "--once", DLQ, "QM1", text="ACTION(RETRY)\n", expect=1)
    assert stopped.stderr.splitlines()[-1].startswith("mqops: All acting on QM1 was stopped by ")
    assert "it can go on now" in mqops("resume", "-m", "QM1").stdout
    assert "was not stopped" in mqops("resume", "-m", "QM1").stdout
    mqops("stop", expect=2)
    mqops("dlq", "run", "--once", DLQ, "QM1", text="ACTION(RETRY)\n")
    assert manager.depth(DLQ) == 0


def lakes(manager, tmp_path):
    """Runs `mqops` with a lake that is named: each has keys of its own."""

    def mqops(lake: str, *arguments: str, expect: int = 0, text: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **manager.environment, "MQOPS_LAKE": str(tmp_path / lake)}
        command = [sys.executable, "-m", "mqops.cli", *arguments]
        done = commands.run(command, input=text, env=environment, text=True, capture_output=True)
        assert done.returncode == expect, done.stdout + done.stderr
        return done

    return mqops


def test_a_stop_holds_for_the_runs_of_every_lake_and_survives_their_drains(manager, tmp_path):
    mqops = lakes(manager, tmp_path)
    fill(manager, 2)
    handle = ("dlq", "run", "--once", DLQ, "QM1")
    mqops("one", "ledger", "drain", "-m", "QM1")  # both lakes have their keys
    mqops("two", "ledger", "drain", "-m", "QM1")
    stopped = mqops("two", "stop", "-m", "QM1", "--why", "night").stdout
    assert "it holds for the runs of every lake" in stopped
    refused = mqops("one", *handle, text="ACTION(RETRY)\n", expect=1).stderr
    assert "All acting on QM1 was stopped, for every lake, by " in refused
    assert "(night)" in refused
    plan = mqops("one", "dlq", "run", "--dry-run", DLQ, "QM1", text="ACTION(RETRY)\n").stdout
    assert "all acting is stopped, for every lake, by " in plan
    mqops("one", "ledger", "drain", "-m", "QM1")
    assert manager.depth("MQOPS.LEDGER") == 1
    left = mqops("one", "resume", "-m", "QM1", expect=1)
    assert "all acting on QM1 is stopped still, by " in left.stderr
    assert "--why with the reason takes it off" in left.stderr
    assert manager.depth(DLQ) == 2
    assert "it can go on now" in mqops("one", "resume", "-m", "QM1", "--why", "the night is over").stdout
    noted = json.loads((tmp_path / "one" / "QM1" / "ledger" / "taken_off.jsonl").read_text())
    assert (noted["runs"], noted["why"]) == (["stop"], "the night is over")
    assert "2 moved" in mqops("one", *handle, text="ACTION(RETRY)\n").stdout
    mqops("two", "resume", "-m", "QM1")
    assert manager.depth("MQOPS.LEDGER") == 0


@pytest.mark.parametrize("why", ["night", "ü" * 4000])
def test_a_copy_of_a_stop_that_was_taken_back_stops_nothing(manager, tmp_path, why):
    """Who may browse MQOPS.LEDGER keeps the signed message, and puts it there again."""
    mqops = lakes(manager, tmp_path)
    fill(manager, 3)
    handle = ("dlq", "run", "--once", DLQ, "QM1")
    mqops("one", "stop", "-m", "QM1", "--why", why)
    ((md, body),) = manager.messages("MQOPS.LEDGER")
    copy = ({"CorrelId": md["CorrelId"], "Format": md["Format"]}, body)
    manager.put("MQOPS.LEDGER", [copy])
    mqops("one", *handle, text="ACTION(RETRY)\n", expect=1)  # none was taken back yet
    assert "it can go on now" in mqops("one", "resume", "-m", "QM1").stdout
    assert manager.depth("MQOPS.LEDGER") == 0
    manager.put("MQOPS.LEDGER", [copy])
    assert "3 moved" in mqops("one", *handle, text="ACTION(RETRY)\n").stdout
    mqops("one", "ledger", "drain", "-m", "QM1")
    assert manager.depth("MQOPS.LEDGER") == 0
    assert "1 message on MQOPS.LEDGER did not come from mqops (1 copied)" in mqops("one", "ledger", "verify").stdout
    assert " is stopped by " in mqops("one", "stop", "-m", "QM1", "--why", why).stdout  # the next stop is none
    assert "All acting on QM1 was stopped" in mqops("one", *handle, text="ACTION(RETRY)\n", expect=1).stderr
    mqops("one", "resume", "-m", "QM1")
    manager.put("MQOPS.LEDGER", [copy])
    fill(manager, 1)
    assert "was stopped, for every lake, by " in mqops("two", *handle, text="ACTION(RETRY)\n", expect=1).stderr


@pytest.mark.parametrize(
    "content",
    [
        "",  # as on a full disk: it has no time
        '{"by": "carol", "at": "soon"}',
        '{"by": "carol", "at": "2026-11-21T12:00:00"}',  # written by hand, without a time zone
    ],
)
def test_a_stop_without_a_time_that_was_taken_back_stands_in_the_story_of_its_run(manager, lake, mqops_here, content):
    fill(manager, 1)
    run, _plan = planned(manager, lake)
    (run.path / "stop.json").write_text(content)
    mqops_here("resume", run.run)
    shown = " ".join(mqops_here("run", "show", run.run).stdout.split())
    who = "carol" if content else "an unreadable file"
    assert f"this run was stopped by {who} at " in shown
    assert "; taken back by " in shown


def test_of_ten_thousand_stops_a_few_are_shown_and_all_are_taken_off(manager, lake, mqops_here):
    """Who may put on MQOPS.LEDGER puts one after the other (here 30)."""
    mqops_here("ledger", "drain", "-m", "QM1")
    manager.put("MQOPS.LEDGER", [({"CorrelId": STOP}, b"{}")] * 30)
    shown = mqops_here("estate", "status", expect=1).stdout
    assert (shown.count("is stopped, for every lake"), "by more stops" in shown) == (11, True), shown
    left = mqops_here("resume", "-m", "QM1", expect=1)
    assert (left.stderr.count("is stopped still"), "by more stops" in left.stderr) == (11, True), left.stderr
    assert len(json.loads(mqops_here("resume", "-m", "QM1", "--json", expect=1).stdout)["left"]) == 10
    assert "it can go on now" in mqops_here("resume", "-m", "QM1", "--why", "forged").stdout
    assert manager.depth("MQOPS.LEDGER") == 0


def test_one_of_many_stops_is_read_to_stop(manager, lake, monkeypatch):
    fill(manager, 1)
    run, _plan = planned(manager, lake)
    manager.put("MQOPS.LEDGER", [({"CorrelId": STOP}, b"{}")] * 30)
    read: list[RawMessage] = []
    read_it = stop_message._read
    monkeypatch.setattr(stop_message, "_read", lambda got, keys: (read.append(got), read_it(got, keys))[1])
    with pytest.raises(Stopped, match="for every lake"):
        act(manager.connection, run)
    assert len(read) == 1


def test_a_marker_with_the_correlid_of_stops_is_no_signed_stop(manager, tmp_path):
    mqops = lakes(manager, tmp_path)
    mqops("one", "stop", "-m", "QM1")
    ((md, _body),) = manager.messages("MQOPS.LEDGER")
    mqops("one", "resume", "-m", "QM1")
    marker = sign_message(KeyRing(tmp_path / "one" / "QM1"), b'{"v":1,"kind":"issued"}')
    manager.put("MQOPS.LEDGER", [({"CorrelId": md["CorrelId"]}, marker)])
    assert "not signed by this lake" in mqops("one", "resume", "-m", "QM1", expect=1).stderr


def test_a_stop_of_another_lake_ends_a_run_under_way_behind_its_unit_of_work(manager, lake, tmp_path, monkeypatch):
    fill(manager)
    run, _plan = planned(manager, lake)
    other = tmp_path / "other" / "QM1"

    def stop_it(number: int) -> None:
        if number == 2:
            assert stop_all(manager.connection, other, CAROL) == ""

    clock = iter(range(0, 10_000, 2))
    monkeypatch.setattr(in_process, "StopWatch", lambda: StopWatch(now=lambda: next(clock)))
    with pytest.raises(Stopped, match=r"for every lake, by carol@desk"):
        act(manager.connection, run, unit_size=2, port=after_commits(stop_it))
    assert manager.depth("A") == 4
    assert proved(manager, run) == {"planned": 10, "moved": 4, "left": 6}
    found = resume_all(manager.connection, run.lake_folder)
    assert (found.taken, [one.verified for one in found.left]) == ([], [False])
    assert [one.what for one in resume_all(manager.connection, run.lake_folder, unverified=True).taken] == [CAROL]
    assert finish_run(manager.connection, run).moved == 10


def test_a_stop_works_on_a_full_disk_and_without_a_queue_manager(manager, lake, tmp_path, monkeypatch):
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fill(manager, 1)
    run, _plan = planned(manager, lake)
    monkeypatch.setattr("os.fsync", full)
    stop(run.path, CAROL)
    with pytest.raises(Stopped, match=f"Run {run.run} was stopped by"):
        act(manager.connection, run)
    assert lift(run.path) is not None
    monkeypatch.undo()
    mqops = lakes(manager, tmp_path)
    manager.mqsc("ALTER QLOCAL(MQOPS.LEDGER) PUT(DISABLED)")
    told = mqops("lake", "stop", "-m", "QM1").stdout
    assert f"it holds for the runs of {lake} only; those of other lakes go on: MQPUT on MQOPS.LEDGER failed" in told
    with pytest.raises(Stopped, match="All acting on QM1 was stopped by"):
        act(manager.connection, run)
