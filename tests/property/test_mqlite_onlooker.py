"""A program sees and leaves the same whether or not somebody looks on after each of its calls.

The calls of a unit of work are written together while nobody looks, and one by one where somebody does
(`mqlite.store`, rule 5; `mqlite.deferred`): two ways through the engine, one behaviour.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymqi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mqlite_support import Application, make
from pymqi import CMQC

SCRIPTS = int(os.environ.get("MQLITE_ONLOOKER_SCRIPTS", "60"))
QUEUES = ("Q1", "Q2")
MQSC = "DEFINE QLOCAL(Q1) MAXDEPTH(6)\nDEFINE QLOCAL(Q2) MAXMSGL(20)\nDEFINE QLOCAL(REPORTS)"
FIGURES = (CMQC.MQIA_HIGH_Q_DEPTH, CMQC.MQIA_MSG_ENQ_COUNT, CMQC.MQIA_MSG_DEQ_COUNT)
OPTIONS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE | CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE
WITH_REPORTS = CMQC.MQRO_COD | CMQC.MQRO_COA

Step = tuple[Any, ...]
queues = st.sampled_from(QUEUES)
numbers = st.integers(0, 2)  # of which MsgIds are made, so that they come again
steps = st.one_of(
    st.tuples(st.just("put"), queues, numbers, st.integers(0, 2), st.sampled_from([1, 1, 1, 30])),
    st.tuples(st.just("put"), queues, numbers, st.just(0), st.just(1)),
    st.tuples(st.just("put with reports"), queues, numbers),
    st.tuples(st.just("get"), queues),
    st.tuples(st.just("get by MsgId"), queues, numbers),
    st.tuples(st.just("get by MsgId"), queues, st.just(0)),
    st.tuples(st.just("get outside"), queues),
    st.tuples(st.just("browse"), queues),
    st.tuples(st.just("depth"), queues),
    st.tuples(st.just("commit")),
    st.tuples(st.just("back out")),
)


class Program(Application):
    """A connection with its queues open, which does one step after the other."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.opened = {queue: self.open(queue, OPTIONS) for queue in QUEUES}

    def do(self, step: Step) -> Any:
        """What comes of a step: what it returns, or its reason code."""
        try:
            return self._do(*step)
        except pymqi.MQMIError as error:
            return error.reason

    def _do(self, what: str, queue: str = "", number: int = 0, priority: int = 0, length: int = 1) -> Any:
        if what in ("commit", "back out"):
            return self.manager.commit() if what == "commit" else self.manager.backout()
        opened = self.opened[queue]
        msg_id = b"%d" % number * 24
        if what.startswith("put"):
            md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, MsgId=msg_id, Priority=priority)
            if what == "put with reports":
                md.Report, md.ReplyToQ = WITH_REPORTS, b"REPORTS"
            return opened.put(b"%d" % number * length, md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        if what == "depth":
            return opened.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)
        options = {"get outside": CMQC.MQGMO_NO_SYNCPOINT, "browse": CMQC.MQGMO_BROWSE_FIRST}
        match = {"MsgId": msg_id} if what == "get by MsgId" else {}
        md, body = self.get(opened, options.get(what, CMQC.MQGMO_SYNCPOINT), **match)
        return md.MsgId, md.Priority, md.BackoutCount, body

    def end(self) -> Any:
        """What is there in the end: messages, depths and figures."""
        self.manager.backout()
        left = [(queue, self.bodies(queue), self.depth(queue)) for queue in (*QUEUES, "REPORTS")]
        rows = pymqi.PCFExecute(self.manager).MQCMD_RESET_Q_STATS({CMQC.MQCA_Q_NAME: b"Q*"})
        figures = [[row[selector] for selector in FIGURES] for row in rows]
        self.manager.disconnect()
        return left, figures


def outcome(name: str, script: Sequence[Step], onlooker: Application | None) -> Any:
    """What a program sees at each step and leaves, with an onlooker or without."""
    program = Program(name)
    for number in (0, 1, 0):
        for queue in QUEUES:
            program.put(queue, b"there", MsgId=b"%d" % number * 24)
    seen = []
    for step in script:
        seen.append(program.do(step))
        if onlooker is not None:
            onlooker.depth("REPORTS")
    return seen, program.end()


@settings(max_examples=SCRIPTS, deadline=None)
@given(script=st.lists(steps, max_size=40))
def test_K01_P07_program_with_and_without_an_onlooker(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MQLITE_HOME", str(Path(home)))
        for name in ("ALONE", "SEEN"):
            make(name, MQSC)
        onlooker = Application("SEEN")
        assert outcome("ALONE", script, None) == outcome("SEEN", script, onlooker)
        onlooker.manager.disconnect()
