"""A command that is given while a channel ends: START and STOP CHANNEL are carried out, whichever is first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mqlite_support import Application, run_mqsc, until

from mqlite.channels.partner import Ends, PartnerMissing
from mqlite.channels.runner import Runner
from mqlite.objects.manager import load
from mqlite.service import service
from mqlite.storage.channel_status import StatusFile
from mqlite.storage.service_lock import ServiceLock
from mqwire import constants as c

NAME = "A.TO.B"
SENDER = f"DEFINE QLOCAL(B) USAGE(XMITQ)\nDEFINE CHANNEL({NAME}) CHLTYPE(SDR) CONNAME('localhost(1414)') XMITQ(B)"
NO_RETRY = {
    **{"CHLTYPE": c.MQCHT_SENDER, "CONNAME": "localhost(1414)", "XMITQ": "B", "BATCHSZ": 50, "NPMSPEED": 2},
    **{"SHORTRTY": 0, "SHORTTMR": 0, "LONGRTY": 0, "LONGTMR": 0},
}


@pytest.fixture
def status(application: Application, home: Path) -> Iterator[StatusFile]:
    """The status of the channels of QM1, as all processes see it."""
    run_mqsc(SENDER)
    found = StatusFile(home / "QM1")
    yield found
    found.close()


def nobody() -> Ends:
    raise PartnerMissing


def state(status: StatusFile) -> int:
    found = status.read(NAME)
    return found.state if found else c.MQCHS_INACTIVE


def test_who_sees_the_last_state_finds_the_channel_ended(status: StatusFile, home: Path, monkeypatch: Any) -> None:
    """Else START CHANNEL counts as one of a channel that runs, and is lost. The thread has something to do still."""
    seen, close = threading.Event(), StatusFile.close
    monkeypatch.setattr(StatusFile, "close", lambda file: (seen.wait(60), close(file)))
    runner = Runner(NAME, NO_RETRY, home / "QM1", nobody)
    runner.start()
    until(lambda: state(status) == c.MQCHS_STOPPED)
    assert not runner.alive
    assert not runner.stop(stopped=False)
    seen.set()
    runner.join()


def test_a_channel_that_is_stopped_when_it_had_become_idle_is_stopped(
    status: StatusFile, home: Path, monkeypatch: Any
) -> None:
    runner = Runner(NAME, NO_RETRY, home / "QM1", nobody)

    def idle() -> int:
        runner.stop(stopped=True)
        return c.MQCHS_INACTIVE

    monkeypatch.setattr(runner, "_keep_going", idle)
    runner.start()
    runner.join()
    assert (runner.ended_in, state(status)) == (c.MQCHS_STOPPED, c.MQCHS_STOPPED)


def test_START_CHANNEL_writes_no_state_behind_that_of_the_channel_that_it_started(
    status: StatusFile, monkeypatch: Any
) -> None:
    run_mqsc(f"STOP CHANNEL({NAME})")
    want = StatusFile.want

    def started_at_once(file: StatusFile, name: str, kind: str, wanted: str) -> None:
        want(file, name, kind, wanted)
        status.set_state(name, kind, c.MQCHS_RUNNING, {})

    with monkeypatch.context() as patch:
        patch.setattr(StatusFile, "want", started_at_once)
        run_mqsc(f"START CHANNEL({NAME})")
    assert state(status) == c.MQCHS_RUNNING


@pytest.mark.parametrize(("before", "wanted"), [("", "START"), ("STOP", "STOP"), ("START", "START")])
def test_a_trigger_message_starts_no_channel_that_was_stopped(status: StatusFile, before: str, wanted: str) -> None:
    if before:
        run_mqsc(f"{before} CHANNEL({NAME})")
    assert status.trigger(NAME, "SDR") is (wanted == "START")
    there = status.read(NAME)
    assert there is not None
    assert there.wanted == wanted


@pytest.mark.parametrize(("commands", "starts"), [(["STOP", "START"], 2), (["STOP", "START", "STOP"], 1)])
def test_a_channel_that_is_started_while_it_is_being_stopped_is_started(
    application: Application, home: Path, monkeypatch: Any, commands: list[str], starts: int
) -> None:
    run_mqsc(SENDER + " SHORTTMR(600)")
    binds, goes, stop = [0], threading.Event(), threading.Event()

    def bind(*_names: object) -> Ends:
        binds[0] += 1
        assert goes.wait(60)
        raise PartnerMissing

    monkeypatch.setattr(service, "bind", bind)
    lock = ServiceLock(home / "QM1")
    served = service.Service(load("QM1"), stop)
    thread = threading.Thread(target=served.run)
    thread.start()
    try:
        run_mqsc(f"START CHANNEL({NAME})")
        until(lambda: binds == [1])
        for command in commands:
            before = served._seen[NAME]
            run_mqsc(f"{command} CHANNEL({NAME})")
            until(lambda before=before: served._seen[NAME] > before)
        first = served._runners[NAME]
        goes.set()
        first.join()
        if starts == 2:
            until(lambda: binds == [2])
        else:
            until(lambda: "STATUS(STOPPED)" in "".join(run_mqsc(f"DISPLAY CHSTATUS({NAME})")))
            assert served._runners[NAME] is first
    finally:
        stop.set()
        thread.join()
        lock.release()


def test_STOP_CHANNEL_behind_the_end_of_a_channel_that_was_to_start_again_stops_it(
    status: StatusFile, home: Path, monkeypatch: Any
) -> None:
    """It was triggered while it ran, became idle, and is stopped before the service has looked again."""
    served = service.Service(load("QM1"), threading.Event())
    starts: list[str] = []
    monkeypatch.setattr(served, "_start", starts.append)
    runner = Runner(NAME, NO_RETRY, home / "QM1", nobody)
    monkeypatch.setattr(runner, "_keep_going", lambda: c.MQCHS_INACTIVE)
    runner.start()
    runner.join()
    served._runners[NAME] = runner
    served._again.add(NAME)
    run_mqsc(f"STOP CHANNEL({NAME})")
    served._look()
    served._start_again()
    assert not starts
    assert state(status) == c.MQCHS_STOPPED
