"""Damaged call structures: every call ends with a documented reason code, and the totals stay right.

MQLITE_FUZZ_CASES raises the number of calls.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pymqi
import pytest
from mqlite_support import Application, application, home
from pymqi import CMQC, pymqe

__all__ = ["application", "home"]

CASES = int(os.environ.get("MQLITE_FUZZ_CASES", "3000"))
ODD = (0, 1, 2, 3, -1, -2, 8, 100, 256, 1 << 30, (1 << 31) - 1, -(1 << 31))
OPTIONS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_SAVE_ALL_CONTEXT
NO_WAIT = 0xFFFFFFFE  # a wait for ever would be a right answer


class Damage:
    """Structures with a few bytes changed, most of them whole numbers."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def of(self, raw: bytes) -> bytes:
        """A damaged copy; the structure's identifier stays in most."""
        changed = bytearray(raw)
        for _ in range(self.chance.randint(0, 4)):
            if self.chance.random() < 0.6:
                at = self.chance.randrange(1, len(changed) // 4) * 4
                number = self.chance.choice(ODD) if self.chance.random() < 0.7 else self.chance.getrandbits(31)
                changed[at : at + 4] = number.to_bytes(4, "little", signed=True)
            else:
                changed[self.chance.randrange(len(changed))] = self.chance.getrandbits(8)
        return bytes(changed)


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_structures_end_with_documented_reasons(application: Application, seed: int) -> None:
    damage = Damage(seed)
    opened = application.open("Q1", OPTIONS)
    connection, handle = application.manager.get_handle(), opened.get_handle()
    answers: Counter[int] = Counter()
    for _ in range(CASES // 2):
        md = damage.of(pymqi.MD(Version=2).pack())
        choice = damage.chance.random()
        if choice < 0.4:
            pmo = damage.of(pymqi.PMO(Version=3).pack()[:128]).ljust(184, b"\0")
            answer = pymqe.MQPUT(connection, handle, md, pmo, damage.chance.randbytes(20))
        elif choice < 0.8:
            gmo = bytearray(damage.of(pymqi.GMO(Version=4).pack()))
            gmo[8:12] = (int.from_bytes(gmo[8:12], "little") & NO_WAIT).to_bytes(4, "little")
            answer = pymqe.MQGET(connection, handle, md, bytes(gmo), damage.chance.choice((0, 10, 4096)))
        elif choice < 0.9:
            od = damage.of(pymqi.OD(ObjectName=b"Q1").pack()[:168]) + pymqi.OD().pack()[168:]
            answer = pymqe.MQPUT1(connection, od, md, pymqi.PMO().pack(), b"x")
        else:
            answer = damage.chance.choice((pymqe.MQCMIT, pymqe.MQBACK))(connection)
        answers[answer[-1]] += 1
    assert answers[CMQC.MQRC_UNEXPECTED_ERROR] == 0
    assert len(answers) > 10  # the damage reached more than one check
    application.manager.commit()
    opened.close()
    assert application.depth("Q1") >= len(application.bodies("Q1"))  # expired ones count until a get meets them
