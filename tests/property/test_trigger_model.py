"""Random puts, gets, opens, closes, commits and back-outs on a triggered queue, beside a small model of its own.

The model knows priorities and connections, nothing of rows. After each step both sides have the same number of trigger
messages to show, and the same TriggerControl.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymqi
import pytest
from examples import TIMES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqlite_support import Application, home, make, refused, run_mqsc
from pymqi import CMQC

__all__ = ["home"]

_names = itertools.count(1)
connections = st.integers(0, 1)
steps = st.one_of(
    st.tuples(st.just("put"), connections, st.booleans(), st.integers(3, 6)),
    st.tuples(st.just("put"), connections, st.booleans(), st.integers(3, 6)),
    st.tuples(st.just("get"), connections, st.booleans()),
    st.tuples(st.sampled_from(["serve", "close", "commit", "back_out"]), connections),
    st.tuples(st.sampled_from(["monitor", "leave", "switch_on", "switch_off"])),
)


@dataclass
class Unit:
    """What a connection has put and got in its unit of work, and the trigger messages that wait for its end."""

    puts: list[tuple[int, int]] = field(default_factory=list)
    gets: list[tuple[int, int]] = field(default_factory=list)
    kept: int = 0
    dropped: int = 0


class Model:
    """One queue: its messages as (priority, number); `shown` trigger messages that a monitor could get."""

    def __init__(self, kind: str, depth: int, threshold: int, interval_over: bool) -> None:
        self.kind, self.depth, self.threshold, self.interval_over = kind, depth, threshold, interval_over
        self.on, self.monitor, self.triggered_once = True, False, False
        self.there: list[tuple[int, int]] = []
        self.units = [Unit(), Unit()]
        self.serving = [False, False]
        self.shown = 0
        self.numbers = itertools.count(1)

    def suitable(self) -> int:
        everything = [*self.there, *self.units[0].puts, *self.units[1].puts]
        return sum(priority >= self.threshold for priority, _ in everything)

    def enough(self) -> bool:
        return self.suitable() >= (self.depth if self.kind == "DEPTH" else 1)

    def write(self, unit: Unit | None = None) -> None:
        if unit is None:
            self.shown += 1
        elif self.kind == "EVERY":
            unit.dropped += 1
        else:
            unit.kept += 1
        self.triggered_once = True
        if self.kind == "DEPTH":
            self.on = False

    def put(self, who: int, syncpoint: bool, priority: int) -> None:
        before = self.suitable()
        unit = self.units[who] if syncpoint else None
        (unit.puts if unit else self.there).append((priority, -next(self.numbers)))
        if not (self.on and self.monitor and priority >= self.threshold):
            return
        if self.kind == "EVERY":
            self.write(unit)
        elif not any(self.serving):
            again = self.interval_over or not self.triggered_once
            if (self.kind == "DEPTH" and before + 1 >= self.depth) or (self.kind == "FIRST" and (not before or again)):
                self.write(unit)

    def get(self, who: int, syncpoint: bool) -> bool:
        if not self.there:
            return False
        best = max(self.there)
        self.there.remove(best)
        if syncpoint:
            self.units[who].gets.append(best)
        return True

    def serve(self, who: int) -> None:
        self.serving[who] = True

    def close(self, who: int) -> None:
        was, self.serving[who] = self.serving[who], False
        left = was and not any(self.serving)
        if left and self.kind != "EVERY" and self.on and self.monitor and self.enough():
            self.write()

    def commit(self, who: int) -> None:
        unit, self.units[who] = self.units[who], Unit()
        self.there += unit.puts
        self.shown += unit.kept + unit.dropped

    def back_out(self, who: int) -> None:
        unit, self.units[who] = self.units[who], Unit()
        self.there += unit.gets
        self.shown += unit.kept

    def changed(self) -> None:
        if self.on and self.enough() and (self.kind == "EVERY" or not any(self.serving)):
            self.write()

    def monitor_opens(self) -> None:
        if not self.monitor:
            self.monitor = True
            self.changed()

    def leave(self) -> None:
        self.monitor = False

    def switch(self, *, on: bool) -> None:
        was, self.on = self.on, on
        if on and not was:
            self.changed()


class Real:
    """The same on the queue manager, by the same names."""

    def __init__(self, kind: str, depth: int, threshold: int) -> None:
        number = next(_names)
        self.queue, self.initiation = f"APP{number}", f"IQ{number}"
        run_mqsc(
            f"DEFINE QLOCAL({self.initiation})\n"
            f"DEFINE QLOCAL({self.queue}) TRIGGER INITQ({self.initiation}) PROCESS(P) TRIGTYPE({kind}) +\n"
            f"  TRIGDPTH({depth}) TRIGMPRI({threshold})"
        )
        self.applications = [Application(), Application()]
        self.own = Application()
        self.browser = self.own.open(self.initiation, CMQC.MQOO_BROWSE)
        self.control = self.own.open(self.queue, CMQC.MQOO_SET | CMQC.MQOO_INQUIRE)
        self.servers: list[Any] = [None, None]
        self.reader: Any = None

    def end(self) -> None:
        for application in (*self.applications, self.own):
            application.manager.disconnect()

    def put(self, who: int, syncpoint: bool, priority: int) -> None:
        options = CMQC.MQPMO_SYNCPOINT if syncpoint else CMQC.MQPMO_NO_SYNCPOINT
        self.applications[who].put(self.queue, options=options, Priority=priority)

    def get(self, who: int, syncpoint: bool) -> bool:
        options = CMQC.MQGMO_SYNCPOINT if syncpoint else CMQC.MQGMO_NO_SYNCPOINT
        try:
            self.applications[who].get(self.servers[who], options)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return False
        return True

    def serve(self, who: int) -> None:
        self.servers[who] = self.servers[who] or self.applications[who].open(self.queue, CMQC.MQOO_INPUT_SHARED)

    def close(self, who: int) -> None:
        if self.servers[who]:
            self.servers[who].close()
            self.servers[who] = None

    def commit(self, who: int) -> None:
        self.applications[who].manager.commit()

    def back_out(self, who: int) -> None:
        self.applications[who].manager.backout()

    def monitor_opens(self) -> None:
        self.reader = self.reader or self.own.open(self.initiation, CMQC.MQOO_INPUT_SHARED)

    def leave(self) -> None:
        if self.reader:
            self.reader.close()
            self.reader = None

    def switch(self, *, on: bool) -> None:
        self.control.set(CMQC.MQIA_TRIGGER_CONTROL, int(on))

    @property
    def on(self) -> bool:
        return bool(self.control.inquire(CMQC.MQIA_TRIGGER_CONTROL))

    @property
    def shown(self) -> int:
        first, found = CMQC.MQGMO_BROWSE_FIRST, 0
        with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
            while True:
                self.own.get(self.browser, CMQC.MQGMO_BROWSE_NEXT if found else first)
                found += 1
        return found


def act(side: Model | Real, step: tuple[Any, ...]) -> object:
    """One step on one of the two sides."""
    name, *arguments = step
    if name == "monitor":
        side.monitor_opens()
        return None
    if name in ("switch_on", "switch_off"):
        side.switch(on=name == "switch_on")
        return None
    return getattr(side, name)(*arguments)


@pytest.fixture
def with_process(home: Path) -> None:
    """A queue manager with process P."""
    make("QM1", "DEFINE PROCESS(P)")


@pytest.mark.usefixtures("with_process")
@pytest.mark.parametrize("kind", ["FIRST", "EVERY", "DEPTH"])
@pytest.mark.parametrize("interval_over", [True, False])
@settings(max_examples=25 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(depth=st.integers(1, 4), threshold=st.sampled_from([0, 5]), sequence=st.lists(steps, min_size=20, max_size=60))
def test_T03_T10a_T11_T12_T13_the_queue_manager_does_as_the_model(
    kind: str, interval_over: bool, depth: int, threshold: int, sequence: list[tuple[Any, ...]]
) -> None:
    run_mqsc(f"ALTER QMGR TRIGINT({0 if interval_over else 999_999_999})")
    model, real = Model(kind, depth, threshold, interval_over), Real(kind, depth, threshold)
    try:
        for step in [("monitor",), *sequence]:
            if step[0] == "get" and not model.serving[step[1]]:
                continue
            assert act(real, step) == act(model, step), step
            assert (real.shown, real.on) == (model.shown, model.on), step
    finally:
        real.end()
