"""Several applications on one queue manager, each a process, beside a small independent model: no difference.

MQLITE_MACHINE_STEPS raises the number of steps.
"""

from __future__ import annotations

import itertools
import os
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from mqlite_support import home, make, run_mqsc
from pymqi import CMQC

sys.path.insert(0, str(Path(__file__).parent))
from queue_manager_application import FIRST, NEXT, UNDER_CURSOR, serve
from queue_model import Answer, Model, ModelQueue

__all__ = ["home"]

STEPS = int(os.environ.get("MQLITE_MACHINE_STEPS", "1000"))
STEPS_PER_EXAMPLE = 50
LIMIT = 5
APPLICATIONS = 3
applications = st.integers(0, APPLICATIONS - 1)
queues = st.sampled_from(["PRIORITY", "FIFO"])
UNMARKED = CMQC.MQGMO_UNMARKED_BROWSE_MSG
MARK, MARK_FOR_ALL = CMQC.MQGMO_MARK_BROWSE_HANDLE, CMQC.MQGMO_MARK_BROWSE_CO_OP
UNMARK, UNMARK_FOR_ALL = CMQC.MQGMO_UNMARK_BROWSE_HANDLE, CMQC.MQGMO_UNMARK_BROWSE_CO_OP
marks = st.sampled_from([
    0, UNMARKED, MARK, MARK_FOR_ALL, UNMARKED | MARK, UNMARKED | MARK_FOR_ALL, UNMARKED | MARK | MARK_FOR_ALL,
    UNMARK, UNMARK_FOR_ALL, UNMARK | UNMARK_FOR_ALL, MARK | UNMARK_FOR_ALL,
])  # fmt: skip
mostly = st.sampled_from([True, True, False])
identifiers = st.sampled_from([bytes([letter]) * 24 for letter in b"ABC"])
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["pymqi", "queue_manager_application"])
_runs = itertools.count(1)


class Remote:
    """An application in its own process."""

    def __init__(self) -> None:
        self.pipe, other = PROCESSES.Pipe()
        self.process = PROCESSES.Process(target=serve, args=(other, os.environ["MQLITE_HOME"]), daemon=True)
        self.process.start()
        other.close()
        assert self.pipe.recv() == "ready"

    def call(self, method: str, *arguments: Any) -> Any:
        self.pipe.send((method, arguments))
        return self.pipe.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


remotes: list[Remote] = []


class Machine(RuleBasedStateMachine):
    """Each rule does the same to both and compares the answers; after each the queues are compared."""

    @initialize()
    def new_queues(self) -> None:
        number = next(_runs)
        self.real = {name: f"{name}.{number}" for name in ("PRIORITY", "FIFO")}
        run_mqsc("".join(f"DEFINE QLOCAL({q}) MAXDEPTH({LIMIT}) MSGDLVSQ({n})\n" for n, q in self.real.items()))
        self.model = Model({name: ModelQueue(LIMIT, fifo=name == "FIFO") for name in self.real})
        self.bodies = itertools.count(1)
        for name in self.real:
            for priority in (1, 2, 1):
                self.put(0, name, b"A" * 24, priority, syncpoint=False)

    def same(self, expected: Answer, answer: Any) -> None:
        assert tuple(answer) == expected

    @rule(who=applications, queue=queues, msg_id=identifiers, priority=st.integers(0, 3), syncpoint=st.booleans())
    def put(self, who: int, queue: str, msg_id: bytes, priority: int, syncpoint: bool) -> None:
        body = b"%d" % next(self.bodies)
        expected = self.model.put(who, queue, body, msg_id, priority, syncpoint=syncpoint)
        self.same(expected, remotes[who].call("put", self.real[queue], body, msg_id, priority, syncpoint))

    @rule(who=applications, queue=queues, msg_id=identifiers | st.just(b""), syncpoint=st.booleans())
    def get(self, who: int, queue: str, msg_id: bytes, syncpoint: bool) -> None:
        expected = self.model.get(who, queue, msg_id=msg_id, syncpoint=syncpoint)
        self.same(expected, remotes[who].call("get", self.real[queue], 0, msg_id, syncpoint))

    @rule(who=applications, queue=queues, looks=st.lists(st.tuples(st.booleans(), marks), min_size=1, max_size=5))
    def browse(self, who: int, queue: str, looks: list[tuple[bool, int]]) -> None:
        for first, marking in looks:
            there = self.model.unmarked(who, queue) if marking & UNMARKED else self.model.queues[queue].in_order()
            if first and not there:
                continue  # where the cursor then stands is not documented
            expected = self.model.browse(who, queue, marking, first=first)
            options = (FIRST if first else NEXT) | marking
            self.same(expected, remotes[who].call("get", self.real[queue], options, b"", False))

    @rule(who=applications, queue=queues, syncpoint=st.booleans())
    def get_under_cursor(self, who: int, queue: str, syncpoint: bool) -> None:
        expected = self.model.get_under_cursor(who, queue, syncpoint=syncpoint)
        self.same(expected, remotes[who].call("get", self.real[queue], UNDER_CURSOR, b"", syncpoint))

    @rule(who=applications, queue=queues, what=st.sampled_from(["put", "get"]), allowed=mostly)
    def inhibit(self, who: int, queue: str, what: str, allowed: bool) -> None:
        setattr(self.model.opened(who, queue), f"{what}_inhibited", not allowed)
        attribute = CMQC.MQIA_INHIBIT_PUT if what == "put" else CMQC.MQIA_INHIBIT_GET
        assert remotes[who].call("inhibit", self.real[queue], attribute, int(not allowed)) is None

    @rule(who=applications, how=st.sampled_from(["commit", "backout", "disconnect", "kill"]))
    def end(self, who: int, how: str) -> None:
        (self.model.commit if how in ("commit", "disconnect") else self.model.back_out)(who)
        if how in ("disconnect", "kill"):
            self.model.close(who)
        if how == "kill":
            remotes[who].kill()
            remotes[who] = Remote()  # its MQCONN backs out for the dead
        else:
            assert remotes[who].call("end", how) is None

    @invariant()
    def queues_agree(self) -> None:
        if hasattr(self, "model"):
            for name in self.model.queues:
                assert remotes[0].call("look", self.real[name]) == self.model.look(name)

    def teardown(self) -> None:
        for remote in remotes:
            remote.call("end", "backout")
            remote.call("end", "disconnect")  # no handle is left of this example


def test_P07_K01_processes_and_model_agree(home: Path) -> None:
    make("QM1", "ALTER QMGR MARKINT(NOLIMIT)")
    remotes[:] = [Remote() for _ in range(APPLICATIONS)]
    try:
        chosen = settings(
            max_examples=max(1, STEPS // STEPS_PER_EXAMPLE),
            stateful_step_count=STEPS_PER_EXAMPLE,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(Machine, settings=chosen)
    finally:
        for remote in remotes:
            remote.kill()
