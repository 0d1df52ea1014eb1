"""Damaged call structures, PCF commands and MQSC: every one ends with a documented reason code, in any number.

MQLITE_FUZZ_CASES raises the number of calls and commands.
"""

from __future__ import annotations

import logging
import os
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, application, home, make, run_mqsc
from pymqi import CMQC, CMQCFC, pymqe

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.mqsc.runner import run_script
from mqlite.objects.manager import load
from mqwire import constants as c
from mqwire import pcf
from mqwire.pcf import MQCFH, MQCFIF, MQCFIL, MQCFIN, MQCFSF, MQCFSL, MQCFST, Message

__all__ = ["application", "home"]

CASES = int(os.environ.get("MQLITE_FUZZ_CASES", "4000"))
ODD = (0, 1, 2, 3, -1, -2, 8, 100, 256, 1 << 30, (1 << 31) - 1, -(1 << 31))
ODD_TEXT = ("", "", "'", "(", ")", "*", ",", " ", "+", "-", "\0", "é", "9", "A", "/*", "NONE")
OPTIONS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE | CMQC.MQOO_SAVE_ALL_CONTEXT
NO_WAIT = 0xFFFFFFFE  # a wait for ever would be a right answer
DESCRIPTOR = {
    "MD_ERROR", "EXPIRY_ERROR", "FEEDBACK_ERROR", "MISSING_REPLY_TO_Q", "MSG_TYPE_ERROR", "PERSISTENCE_ERROR",
    "PRIORITY_ERROR", "PRIORITY_EXCEEDS_MAXIMUM", "REPORT_OPTIONS_ERROR", "MSG_FLAGS_ERROR", "MSG_SEQ_NUMBER_ERROR",
    "OFFSET_ERROR", "GROUP_ID_ERROR", "ORIGINAL_LENGTH_ERROR", "SEGMENT_LENGTH_ZERO", "INCOMPLETE_GROUP",
    "INCOMPLETE_MSG", "INCONSISTENT_UOW", "INCONSISTENT_PERSISTENCE", "WRONG_MD_VERSION", "Q_FULL", "OPTIONS_ERROR",
    "PMO_ERROR", "HMSG_ERROR", "CONTEXT_HANDLE_ERROR", "CONTEXT_NOT_AVAILABLE", "NOT_OPEN_FOR_PASS_ALL",
    "NOT_OPEN_FOR_PASS_IDENT", "NOT_OPEN_FOR_SET_ALL", "NOT_OPEN_FOR_SET_IDENT",
}  # fmt: skip
DOCUMENTED = {
    "MQPUT": DESCRIPTOR,
    "MQPUT1": DESCRIPTOR | {
        "OBJECT_TYPE_ERROR", "OD_ERROR", "OPTION_NOT_VALID_FOR_TYPE", "UNKNOWN_OBJECT_NAME", "UNKNOWN_REMOTE_Q_MGR",
        "FUNCTION_NOT_SUPPORTED", "DYNAMIC_Q_NAME_ERROR", "REMOTE_Q_NAME_ERROR",
    },
    "MQGET": {
        "TRUNCATED_MSG_ACCEPTED", "TRUNCATED_MSG_FAILED", "MD_ERROR", "NO_MSG_AVAILABLE", "NO_MSG_UNDER_CURSOR",
        "NO_MSG_LOCKED", "OPTIONS_ERROR", "GMO_ERROR", "MATCH_OPTIONS_ERROR", "HMSG_ERROR", "WRONG_MD_VERSION",
        "WAIT_INTERVAL_ERROR", "INCONSISTENT_UOW", "FORMAT_ERROR", "SOURCE_CCSID_ERROR", "TARGET_CCSID_ERROR",
        "NOT_CONVERTED", "PARTIALLY_CONVERTED", "CONVERTED_MSG_TOO_BIG",
        *(f"{side}_{part}_ENC_ERROR" for side in ("SOURCE", "TARGET") for part in ("INTEGER", "DECIMAL", "FLOAT")),
    },
    "MQCMIT": set(),
    "MQBACK": set(),
}  # fmt: skip
"""Call → the reasons that IBM MQ's page of the call has, as far as these structures can cause them."""

REASONS = {value: name.removeprefix("MQRC_") for name, value in vars(CMQC).items() if name.startswith("MQRC_")}
ANSWERS = REASONS.keys() | {value for name, value in vars(CMQCFC).items() if name.startswith("MQRCCF_")}
COMMANDS = [
    Message(header=MQCFH(command=number), parameters=parameters)
    for number, parameters in (
        (c.MQCMD_INQUIRE_Q, (MQCFST(parameter=c.MQCA_Q_NAME, value="Q*"), MQCFIN(parameter=c.MQIA_Q_TYPE, value=1))),
        (c.MQCMD_INQUIRE_Q, (
            MQCFST(parameter=c.MQCA_Q_NAME, value="Q*"),
            MQCFIL(parameter=c.MQIACF_Q_ATTRS, value=(c.MQIA_CURRENT_Q_DEPTH, c.MQCA_Q_DESC)),
            MQCFIF(parameter=c.MQIA_MAX_Q_DEPTH, operator=c.MQCFOP_GREATER, value=1),
        )),
        (c.MQCMD_INQUIRE_Q, (
            MQCFST(parameter=c.MQCA_Q_NAME, value="Q*"),
            MQCFSF(parameter=c.MQCA_Q_DESC, operator=c.MQCFOP_LIKE, value="A*"),
        )),
        (c.MQCMD_CREATE_Q, (
            MQCFST(parameter=c.MQCA_Q_NAME, value="NEW"), MQCFIN(parameter=c.MQIA_Q_TYPE, value=c.MQQT_LOCAL),
            MQCFIN(parameter=c.MQIACF_REPLACE, value=1), MQCFST(parameter=c.MQCA_Q_DESC, value="made"),
        )),
        (c.MQCMD_CHANGE_Q, (
            MQCFST(parameter=c.MQCA_Q_NAME, value="Q2"), MQCFIN(parameter=c.MQIA_Q_TYPE, value=c.MQQT_LOCAL),
            MQCFIN(parameter=c.MQIA_MAX_Q_DEPTH, value=77),
        )),
        (c.MQCMD_CREATE_NAMELIST, (
            MQCFST(parameter=c.MQCA_NAMELIST_NAME, value="NL"), MQCFIN(parameter=c.MQIACF_REPLACE, value=1),
            MQCFSL(parameter=c.MQCA_NAMES, value=("A", "B")),
        )),
        (c.MQCMD_INQUIRE_Q_STATUS, (MQCFST(parameter=c.MQCA_Q_NAME, value="Q*"),)),
        (c.MQCMD_INQUIRE_Q_MGR, ()),
        (c.MQCMD_INQUIRE_CONNECTION, ()),
    )
]  # fmt: skip
LINES = (
    "DEFINE QLOCAL(NEW) DESCR('made') MAXDEPTH(5) REPLACE",
    "ALTER QLOCAL(Q2) PUT(DISABLED) TRIGGER TRIGTYPE(DEPTH) TRIGDPTH(3)",
    "DISPLAY QUEUE(*) WHERE(CURDEPTH GE 0) DESCR MAXDEPTH",
    "DISPLAY QSTATUS(Q*) TYPE(HANDLE) ALL",
    "DEFINE NAMELIST(NL) NAMES(A,B,C) REPLACE",
    "DEFINE CHANNEL(C1) CHLTYPE(SDR) CONNAME('there(1414)') XMITQ(QM2) REPLACE",
    "DELETE QALIAS(A1)",
    "SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(GET,PUT)",
    "DISPLAY QMGR ALL",
    "DEFINE QREMOTE(R) RNAME(X) +",
)


class Damage:
    """Bytes with a few of them changed, most of them whole numbers."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def of(self, raw: bytes) -> bytes:
        """A damaged copy; what it begins with stays in most."""
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
    damage, chance = Damage(seed), random.Random(seed)
    opened = application.open("Q1", OPTIONS)
    connection, handle = application.manager.get_handle(), opened.get_handle()

    def put() -> tuple[int, ...]:
        pmo = damage.of(pymqi.PMO(Version=3).pack()[:128]).ljust(184, b"\0")
        body = chance.randbytes(chance.choice((0, 20)))
        return tuple(pymqe.MQPUT(connection, handle, damage.of(pymqi.MD(Version=2).pack()), pmo, body))

    def get() -> tuple[int, ...]:
        gmo = bytearray(damage.of(pymqi.GMO(Version=4).pack()))
        gmo[8:12] = (int.from_bytes(gmo[8:12], "little") & NO_WAIT).to_bytes(4, "little")
        room = chance.choice((0, 10, 4096, 4096, 4096))
        return tuple(pymqe.MQGET(connection, handle, damage.of(pymqi.MD(Version=2).pack()), bytes(gmo), room))

    def put1() -> tuple[int, ...]:
        od = damage.of(pymqi.OD(ObjectName=b"Q1").pack()[:168]) + pymqi.OD().pack()[168:]
        return tuple(pymqe.MQPUT1(connection, od, damage.of(pymqi.MD(Version=2).pack()), pymqi.PMO().pack(), b"x"))

    calls: dict[str, Callable[[], tuple[int, ...]]] = {
        "MQPUT": put, "MQGET": get, "MQPUT1": put1,
        "MQCMIT": lambda: tuple(pymqe.MQCMIT(connection)), "MQBACK": lambda: tuple(pymqe.MQBACK(connection)),
    }  # fmt: skip
    answers: dict[str, set[int]] = defaultdict(set)
    for _ in range(CASES * 3 // 10):
        (name,) = chance.choices(tuple(calls), (40, 45, 5, 5, 5))
        answers[name].add(calls[name]()[-1])
    for name, reasons in answers.items():
        assert {REASONS[reason] for reason in reasons} <= DOCUMENTED[name] | {"NONE"}, name
    assert len(answers["MQPUT"]) > 10  # the damage reached more than one check
    application.manager.commit()
    assert pymqe.MQCLOSE(connection, handle, CMQC.MQCO_NONE)[0] != CMQC.MQCC_FAILED  # of a group it may warn
    assert application.depth("Q1") >= len(application.bodies("Q1"))  # expired ones count until a get meets them


def test_damaged_PCF_commands_are_answered_with_documented_reasons(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    run_mqsc("DEFINE QLOCAL(REPLIES)\nDEFINE QLOCAL(Q2)")
    damage, found = Damage(3), set()
    replies = application.open("REPLIES", CMQC.MQOO_INPUT_SHARED)
    with caplog.at_level(logging.ERROR, logger="mqlite.pcf"):
        for number in range(CASES // 10):
            md = application.put(
                "SYSTEM.ADMIN.COMMAND.QUEUE", damage.of(pcf.encode(COMMANDS[number % len(COMMANDS)])),
                Format=CMQC.MQFMT_ADMIN, MsgType=CMQC.MQMT_REQUEST, ReplyToQ=b"REPLIES",
            )  # fmt: skip
            found |= answered(application, replies, md.MsgId)
    assert [record.getMessage() for record in caplog.records] == []
    assert found <= ANSWERS
    assert len(found) > 10
    assert application.depth("REPLIES") == 0


def answered(application: Application, replies: Any, msg_id: bytes) -> set[int]:
    """The reasons in the answers to a command, the last of which says that it is."""
    last, reasons = 0, set()
    while not last:
        md, body = application.get(replies, CorrelId=msg_id)
        header = pcf.decode(body, encoding=md.Encoding, ccsid=md.CodedCharSetId).header
        assert (header.comp_code == c.MQCC_OK) is (header.reason == c.MQRC_NONE)
        last = header.control
        reasons.add(header.reason)
    return reasons


def test_damaged_MQSC_is_answered_line_by_line(home: Path) -> None:
    make("QM1", "DEFINE QLOCAL(Q1)\nDEFINE QLOCAL(Q2)")
    chance = random.Random(4)
    admin = EngineAdministration(load("QM1"))
    said = set()
    for _ in range(CASES * 3 // 100):
        output: list[str] = []
        tally = run_script(admin, [damaged_line(chance, chance.choice(LINES)) for _ in range(10)], output.append)
        assert output[-3].endswith(" read.")
        assert tally.exit_code in {0, 10}
        said |= {line.split(":")[0] for line in output if line.startswith("AMQ")}
    admin.close()
    assert len(said) > 10


def damaged_line(chance: random.Random, line: str) -> str:
    """The line with a few characters left out, doubled or replaced."""
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(line) + 1)
        line = line[:at] + chance.choice(ODD_TEXT) + line[at + chance.randint(0, 2) :]
    return line
