"""Each condition for a trigger event broken, alone and with others: `mqops trigger explain` names exactly the broken
ones, and the queue manager agrees by not triggering. Mended by the commands of the explanation, both agree again.

MQOPS_TRIGGER_EXAMPLES says how many combinations of two and three are tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner
from explain_support import explained, next_message_triggers, queue_manager
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from mqlite_support import INPUT, Application, run_mqsc
from pymqi import CMQC
from trigger_support import Monitor, define

from mqops.cli import main
from mqops.trigger.core import FAILS, Explanation
from mqwire.structures import MQTM

EXAMPLES = int(os.environ.get("MQOPS_TRIGGER_EXAMPLES", "12"))
BY_MQSC = {
    "T01 put": "ALTER QLOCAL(APP) PUT(DISABLED)",
    "T01 full": "ALTER QLOCAL(APP) MAXDEPTH(0)",
    "T05": "ALTER QLOCAL(APP) GET(DISABLED)",
    "T06 missing": "DELETE PROCESS(P)",
    "T06 blank": "ALTER QLOCAL(APP) PROCESS(' ')",
    "T07 missing": "ALTER QLOCAL(APP) INITQ(IQ2)",
    "T07 blank": "ALTER QLOCAL(APP) INITQ(' ')",
    "T07 remote": "ALTER QLOCAL(APP) INITQ(R)",
    "T07 transmission": "ALTER QLOCAL(APP) INITQ(X)",
    "T07 put": "ALTER QLOCAL(IQ) PUT(DISABLED)",
    "T07 get": "ALTER QLOCAL(IQ) GET(DISABLED)",
    "T09": "ALTER QLOCAL(APP) NOTRIGGER",
    "T10": "ALTER QLOCAL(APP) TRIGTYPE(NONE)",
    "T14": "ALTER QLOCAL(APP) MSGDLVSQ(FIFO) DEFPRTY(0) TRIGMPRI(5)",
}
BREAKS = [*BY_MQSC, "T03", "T03a", "T04", "T08"]
FIRED = "a trigger message of type DEPTH was made, and its program has not come yet"
OTHER_QUEUES = """\
DEFINE QLOCAL(OTHER) INITQ(IQ)
DEFINE QLOCAL(X) USAGE(XMITQ)
DEFINE QREMOTE(R) RNAME(THERE) RQMNAME(QM2) XMITQ(X)
"""
BASE = {"FIRST": "TRIGTYPE(FIRST)", "EVERY": "TRIGTYPE(EVERY)", "DEPTH": "TRIGTYPE(DEPTH) TRIGDPTH(2)"}


@dataclass
class Scene:
    """A queue APP that is broken so, a trigger monitor unless T08 is broken, and the program that serves APP."""

    application: Application
    uncommitted: Application
    server: Application
    served: Any
    monitor: Monitor | None
    breaks: frozenset[str]

    def monitored(self, queue: str) -> None:
        """Have a trigger monitor serve this initiation queue, and no other one."""
        if self.monitor:
            self.monitor.stop()
        self.monitor = Monitor(queue)


@contextmanager
def scene(breaks: frozenset[str], kind: str, platform: str) -> Iterator[Scene]:
    """One message less than triggers is on APP; with T03 broken one more for FIRST, none for DEPTH."""
    with queue_manager(platform, OTHER_QUEUES) as application:
        define(f"NOTRIGGER {BASE[kind]}")
        uncommitted, server = Application(), Application()
        committed, not_committed = messages(breaks, kind)
        for _ in range(committed):
            application.put("APP")
        for _ in range(not_committed):
            uncommitted.put("APP", options=CMQC.MQPMO_SYNCPOINT)
        run_mqsc("ALTER QLOCAL(APP) TRIGGER\nCLEAR QLOCAL(IQ)")  # T13 makes a trigger message
        monitor: Monitor | None = Monitor() if FIRED in breaks or "T08" not in breaks else None
        if FIRED in breaks:
            application.put("APP")
        if monitor:
            monitor.messages()  # T13c makes one, too
        if monitor and "T08" in breaks:
            monitor.stop()
            monitor = None
        served = server.open("APP", INPUT) if "T04" in breaks else None
        here = Scene(application, uncommitted, server, served, monitor, breaks)
        for name in sorted(breaks & BY_MQSC.keys(), reverse=True):  # a type only while triggering is on
            run_mqsc(BY_MQSC[name])
        try:
            yield here
        finally:
            for one in (uncommitted, server, *([here.monitor.application] if here.monitor else [])):
                if one.manager.is_connected:
                    one.manager.disconnect()


def messages(breaks: frozenset[str], kind: str) -> tuple[int, int]:
    """How many messages are on APP at first: committed ones, and those of a unit of work."""
    there = int((kind == "DEPTH") != ("T03" in breaks))
    if "T03a" not in breaks:
        return there, 0
    return (0, there) if kind == "DEPTH" else (there, 1)


def possible(breaks: frozenset[str]) -> frozenset[str]:
    """Without those that cannot be beside another: a queue with GET(DISABLED) is not opened by its program, and what
    has triggered had messages enough."""
    breaks = breaks - {"T03", "T03a"} if FIRED in breaks else breaks
    return breaks - {"T04"} if "T05" in breaks else breaks


def expected(breaks: frozenset[str], kind: str, platform: str) -> set[str]:
    """The conditions that fail, by IBM's page."""
    failing = {name.partition(" ")[0] for name in breaks - {"T03", "T03a", "T04", FIRED}}
    failing |= {"T09"} if FIRED in breaks else set()
    if {"T07 missing", "T07 blank", "T07 remote", "T07 transmission"} & breaks:
        failing.add("T08")  # nobody serves the queue that INITQ names, or there is none
    if platform != "zos":
        failing.discard("T05")
    kind = "NONE" if "T10" in breaks else kind
    if "T04" in breaks and kind != "EVERY":
        failing.add("T04")
    there = sum(messages(breaks, kind))
    if (kind == "FIRST" and there) or (kind == "DEPTH" and not there):
        failing.add("T03")
    return failing


def failing(found: Explanation) -> set[str]:
    return {one.id for one in found.conditions if one.state == FAILS}


def broken_and_mended(breaks: frozenset[str], kind: str, platform: str, *, by_pcf: bool) -> None:
    breaks = possible(breaks if kind == "DEPTH" else breaks - {FIRED})
    with scene(breaks, kind, platform) as here:
        wrong = expected(breaks, kind, platform)
        found = explained()
        assert failing(found) == wrong
        assert found.would_trigger == (not wrong)
        assert next_message_triggers(here.application) == found.would_trigger
        if wrong:
            mended(here, "FIRST" if "T10" in breaks else kind, by_pcf=by_pcf)  # which is what explain proposes


def mended(here: Scene, kind: str, *, by_pcf: bool) -> None:
    """What no command does is done by hand, the rest by the very commands that explain has. The message that waits gets
    one trigger message and no second one, and the next one triggers, too."""
    here.uncommitted.manager.commit()
    here.server.manager.disconnect()
    if "T01 full" in here.breaks:
        run_mqsc("ALTER QLOCAL(APP) MAXDEPTH(9)")
    if here.monitor and "T07 get" not in here.breaks:
        triggered(here)  # T12: the server has closed the queue
    before, waiting = explained(), here.application.depth("APP")
    proposed = carry_out(before, by_pcf=by_pcf)
    initiation = initiation_queue(here.application)
    opened = explained().state("T08") != "holds"
    if opened:
        here.monitored(initiation)  # T13c
    made = triggered(here)
    proposed += carry_out(explained(), by_pcf=by_pcf)
    made += triggered(here)
    assert made == wanted(failing(before), waiting, kind, proposed, opened=opened)
    after = explained()
    assert not after.fixes()  # nothing more is proposed
    assert failing(after) <= ({"T03", "T09"} if kind == "DEPTH" and after.waiting else {"T03"})
    if "T09" in failing(after) and FIRED not in here.breaks and not made:
        (words,) = [one.found for one in after.conditions if one.id == "T09"]
        assert "Only if it has not, ALTER QLOCAL(APP) TRIGGER makes one more" in words
        run_mqsc("ALTER QLOCAL(APP) TRIGGER")  # by a person, who knows that no program was started
        assert triggered(here) == 1
    run_mqsc("ALTER QLOCAL(APP) GET(ENABLED)")  # it keeps no trigger message from being made, but on z/OS
    serve(here.application, 1 if kind == "DEPTH" else 0)
    triggered(here)  # T12
    carry_out(explained(), by_pcf=by_pcf)
    assert triggered(here) == 0
    assert explained().would_trigger
    assert next_message_triggers(here.application, initiation)
    assert triggered(here)


def carry_out(found: Explanation, *, by_pcf: bool) -> list[str]:
    """Run the commands that an explanation has, and give them."""
    if by_pcf:
        arguments = ["trigger", "explain", "APP", "QM1", "--fix", "--yes", "--json", "--applicid", "serve"]
        CliRunner().invoke(main, arguments, catch_exceptions=False)
    else:
        for command in found.fixes():
            run_mqsc(command)
    return list(found.fixes())


def wanted(broken: set[str], waiting: int, kind: str, proposed: list[str], *, opened: bool) -> int:
    """How many trigger messages the messages that wait need, and the commands and the monitor's start make.

    None if a trigger message was made for them already, because nothing kept it from that, or if too few wait. A
    message on a queue of type EVERY gets its own, and on one of type DEPTH that is still switched on the next message
    triggers: there, one is made only if a command, or the monitor, is an event (T13, T15).
    """
    if not broken - {"T01", "T03", "T04"} or waiting < (2 if kind == "DEPTH" else 1):
        return 0
    if kind == "DEPTH" and "T09" in broken:
        return 0  # a person has to look whether one was made
    events = ("TRIGGER", "TRIGTYPE", "TRIGMPRI", "GET(ENABLED)")
    event = opened or any(word in command for command in proposed for word in events if "(APP)" in command)
    event |= any("PUT(ENABLED)" in command and "(APP)" not in command for command in proposed)  # T13a: not of APP
    return int(kind == "FIRST" or event)


def initiation_queue(application: Application) -> str:
    """What INITQ of APP names now."""
    opened = application.open("APP", CMQC.MQOO_INQUIRE)
    name = opened.inquire(CMQC.MQCA_INITIATION_Q_NAME).decode().strip()
    opened.close()
    return str(name)


def triggered(here: Scene) -> int:
    """How many trigger messages for APP the monitor gets."""
    assert here.monitor
    found = here.monitor.messages()
    names = [MQTM.unpack(body, encoding=md.Encoding, ccsid=md.CodedCharSetId).q_name for md, body in found]
    return names.count("APP")


def serve(application: Application, left: int) -> None:
    """Work as the queue's program does: get what is there but for `left` messages; it closes the queue between."""
    while application.depth("APP") > left:
        application.get("APP")
    while application.depth("APP") < left:
        application.put("APP")


@pytest.mark.parametrize("name", BREAKS)
def test_T01_T03_T03a_T04_T05_T06_T07_T08_T09_T10_T14_broken_alone_is_named_and_mended(name: str) -> None:
    kind = "DEPTH" if name in {"T03", "T09"} else "FIRST"
    broken_and_mended(frozenset({name}), kind, "zos" if name == "T05" else "unix", by_pcf=name in {"T06 blank", "T10"})


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@example(breaks=frozenset({"T07 blank", "T07 remote"}), kind="EVERY", platform="unix", by_pcf=False)
@example(breaks=frozenset({"T06 blank", "T06 missing"}), kind="DEPTH", platform="unix", by_pcf=False)
@example(breaks=frozenset({"T07 remote", "T01 put", "T03a"}), kind="EVERY", platform="zos", by_pcf=True)
@example(breaks=frozenset({"T07 put"}), kind="EVERY", platform="unix", by_pcf=False)
@given(
    breaks=st.frozensets(st.sampled_from([*BREAKS, FIRED]), min_size=2, max_size=3),
    kind=st.sampled_from(sorted(BASE)),
    platform=st.sampled_from(["unix", "zos"]),
    by_pcf=st.booleans(),
)
def test_T01_T03_T03a_T04_T05_T06_T07_T08_T09_T10_T14_broken_together_are_named_and_mended(
    breaks: frozenset[str], kind: str, platform: str, by_pcf: bool
) -> None:
    broken_and_mended(breaks, kind, platform, by_pcf=by_pcf)


@pytest.mark.parametrize("others", [("T04",), ("T08", "T06 missing"), ("T07 put", "T01 put")])
def test_T09_T13_a_trigger_message_of_type_depth_that_was_made_is_not_made_again(others: tuple[str, ...]) -> None:
    broken_and_mended(frozenset({FIRED, *others}), "DEPTH", "unix", by_pcf="T08" in others)
