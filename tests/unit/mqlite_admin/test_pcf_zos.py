"""PCF to a z/OS-like queue manager: an ASCII program's texts are read as what they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymqi
import pytest
from mqlite_support import Application, make
from pymqi import CMQC, CMQCFC

from mqops.mq.inquire import inquire_queues, queue_definitions
from mqops.mq.session import Session

NAME = CMQC.MQCA_Q_NAME
LOCAL = {NAME: b"Q", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}


@pytest.fixture
def zos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "home"))
    make("QM1", platform="zos")
    made = Application()
    yield made
    made.manager.disconnect()


def test_create_change_and_inquire_with_texts(zos: Application) -> None:
    pcf = pymqi.PCFExecute(zos.manager, command_queue_name=b"SYSTEM.COMMAND.INPUT")
    pcf.MQCMD_CREATE_Q({**LOCAL, CMQC.MQCA_Q_DESC: b"a queue"})
    pcf.MQCMD_CHANGE_Q({**LOCAL, CMQC.MQCA_Q_DESC: "für Elise"})
    (found,) = pcf.MQCMD_INQUIRE_Q({NAME: b"Q*", CMQCFC.MQIACF_Q_ATTRS: [NAME, CMQC.MQCA_Q_DESC]})
    assert found[NAME] == b"Q".ljust(48)
    assert found[CMQC.MQCA_Q_DESC].rstrip(b" \0") == "für Elise".encode()


def test_command_queue_has_its_name_of_other_platforms_too(zos: Application) -> None:
    assert pymqi.PCFExecute(zos.manager).MQCMD_PING_Q_MGR() == [{}]
    assert zos.manager.inquire(CMQC.MQCA_COMMAND_INPUT_Q_NAME).strip() == b"SYSTEM.COMMAND.INPUT"
    pcf = pymqi.PCFExecute(zos.manager)
    (found,) = pcf.MQCMD_INQUIRE_Q({NAME: b"SYSTEM.ADMIN.COMMAND.QUEUE"})
    assert found[CMQC.MQCA_BASE_Q_NAME].strip() == b"SYSTEM.COMMAND.INPUT"


@pytest.mark.parametrize(
    ("scope", "reason"),
    [(b"", 0), (b"QM1", 0), (b"QM2", CMQCFC.MQRCCF_COMMAND_SCOPE_ERROR), (b"*", CMQCFC.MQRCCF_COMMAND_SCOPE_ERROR)],
)
def test_CommandScope_is_this_queue_manager(zos: Application, scope: bytes, reason: int) -> None:
    wanted = {NAME: b"SYSTEM.DEFAULT.LOCAL.QUEUE", CMQCFC.MQCACF_COMMAND_SCOPE: scope}
    pcf = pymqi.PCFExecute(zos.manager)
    if not reason:
        assert len(pcf.MQCMD_INQUIRE_Q(wanted)) == 1
        return
    with pytest.raises(pymqi.MQMIError) as error:
        pcf.MQCMD_INQUIRE_Q(wanted)
    assert error.value.reason == reason


@pytest.mark.parametrize("platform", ["unix", "zos"])
def test_operations_inquire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "home"))
    make("QM1", "DEFINE QLOCAL(IN) BOTHRESH(3) BOQNAME(IN.BOQ)", platform=platform)
    made = Application()
    session = Session(made.manager, "QM1")
    (row,) = inquire_queues(session, "IN", (CMQC.MQCA_BACKOUT_REQ_Q_NAME,))
    assert (row[NAME], row[CMQC.MQCA_BACKOUT_REQ_Q_NAME]) == ("IN", "IN.BOQ")
    assert [queue.threshold for queue in queue_definitions(session) if queue.name == "IN"] == [3]
    assert inquire_queues(session, "NO.SUCH") == []
    made.manager.disconnect()


def test_program_that_says_queue_manager_means_its_own_character_set(zos: Application) -> None:
    zos.put("SYSTEM.DEFAULT.LOCAL.QUEUE", b"text", Format=CMQC.MQFMT_STRING)
    opened = zos.open("SYSTEM.DEFAULT.LOCAL.QUEUE", CMQC.MQOO_INPUT_SHARED)
    md = pymqi.MD()
    body = opened.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_CONVERT))
    assert (md.CodedCharSetId, body) == (1208, b"text")
