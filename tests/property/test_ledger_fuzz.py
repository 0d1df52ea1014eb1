"""Fuzzed markers and lane tokens: none ends in a traceback, none is believed, and no true one is lost.

MQOPS_LEDGER_FUZZ says how many (`make full`: 1,000,000); one of fifty also goes through a real queue.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from ledger_opened import act

sys.path.insert(0, str(Path(__file__).parent))
from act_support import planned, proved
from ledger_messages import Fuzzer
from mq_support import DLQ, Manager, dead_letter

from mqops.errors import NewerFormat
from mqops.lake.files import read_json
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.received import Stranger, receive
from mqops.ledger.core.seal import Key, Keys
from mqops.ledger.file import LedgerFile
from mqops.ledger.set_aside import counts
from mqops.mq.connection import connect
from mqops.prove.recovery import drain_earlier_runs
from mqwire.structures import MQMD_LAYOUT

CASES = int(os.environ.get("MQOPS_LEDGER_FUZZ", "3000"))
THROUGH_A_QUEUE = max(CASES // 50, 150)
KEYS = Keys([Key(id="ab" * 8, secret=b"the ledger's")])
PLAN = PlanIdentity(run="run", digest="cd" * 32)


def test_a_fuzzed_message_is_a_stranger_and_a_true_one_is_itself():
    kinds: Counter[str] = Counter()
    for case in Fuzzer(random.randrange(2**32), KEYS, PLAN).cases(CASES):
        md = MQMD_LAYOUT.pack({"version": 2, "msg_id": case.msg_id, "correl_id": case.correl_id})
        try:
            found = receive(md, case.body, KEYS)
        except Stranger as stranger:
            assert case.good is None, case
            kinds[stranger.kind] += 1
        except NewerFormat:  # signed, and of a version to come: it stays where it is
            assert case.good is None, case
        else:
            assert case.good in (None, found)
            kinds["true" if case.good else "signed"] += 1
    assert kinds["true"] == len(range(0, CASES, 10))
    assert min(kinds[kind] for kind in ("not a marker", "forged", "copied")) > CASES // 20


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nALTER QLOCAL(MQOPS.LEDGER) MAXDEPTH(999999)\n")


def test_a_run_among_fuzzed_messages_balances_and_they_are_set_aside(manager, lake):
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(20)])
    run, _plan = planned(manager, lake)
    plan = PlanIdentity(run=run.run, digest=read_json(run.plan_json)["digest"])
    fuzzer = Fuzzer(random.randrange(2**32), Keys([Key(id="11" * 8, secret=b"guessed")]), plan)
    half = [
        [({"MsgId": case.msg_id, "CorrelId": case.correl_id}, case.body) for case in fuzzer.cases(THROUGH_A_QUEUE // 2)]
        for _ in range(2)
    ]
    manager.put("MQOPS.LEDGER", half[0])
    act(manager.connection, run, unit_size=5)
    manager.put("MQOPS.LEDGER", half[1])
    with connect(manager.connection) as session:
        assert drain_earlier_runs(session, lake, "QM1").lines == 5
        assert drain_earlier_runs(session, lake, "QM1").lines == 0
    assert proved(manager, run) == {"planned": 20, "moved": 20}
    assert len(list(LedgerFile(run.lake_folder, str).entries())) == 5
    found = counts(lake / "QM1")
    # what names a plan that is not in this lake may be another lake's, and stays
    assert found.total() + manager.depth("MQOPS.LEDGER") == 2 * (THROUGH_A_QUEUE // 2)
    assert found.total() > THROUGH_A_QUEUE // 2
