"""The message structures against IBM's layouts: offsets and initial values as documented, bytes as they come."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD, MQMDE, MQTM, MQTMC2, MQXQH, Structure

STRUCTURES: list[type[Structure]] = [MQMD, MQMDE, MQDLH, MQXQH, MQTM, MQTMC2, MQRFH2]


@pytest.mark.parametrize(
    ("structure", "offsets"),
    [
        (
            MQMD,
            {
                **{"Report": 8, "MsgType": 12, "Expiry": 16, "Feedback": 20, "Encoding": 24, "CodedCharSetId": 28},
                **{"Format": 32, "Priority": 40, "Persistence": 44, "MsgId": 48, "CorrelId": 72, "BackoutCount": 96},
                **{"ReplyToQ": 100, "ReplyToQMgr": 148, "UserIdentifier": 196, "AccountingToken": 208},
                **{"ApplIdentityData": 240, "PutApplType": 272, "PutApplName": 276, "PutDate": 304, "PutTime": 312},
                **{"ApplOriginData": 320, "GroupId": 324, "MsgSeqNumber": 348, "Offset": 352, "MsgFlags": 356},
                **{"OriginalLength": 360},
            },
        ),
        (
            MQDLH,
            {
                **{"Reason": 8, "DestQName": 12, "DestQMgrName": 60, "Encoding": 108, "CodedCharSetId": 112},
                **{"Format": 116, "PutApplType": 124, "PutApplName": 128, "PutDate": 156, "PutTime": 164},
            },
        ),
        (MQXQH, {"RemoteQName": 8, "RemoteQMgrName": 56, "MsgDesc": 104}),
        (
            MQMDE,
            {
                **{"StrucLength": 8, "Encoding": 12, "CodedCharSetId": 16, "Format": 20, "Flags": 28, "GroupId": 32},
                **{"MsgSeqNumber": 56, "Offset": 60, "MsgFlags": 64, "OriginalLength": 68},
            },
        ),
        (
            MQTM,
            {
                **{"QName": 8, "ProcessName": 56, "TriggerData": 104, "ApplType": 168, "ApplId": 172, "EnvData": 428},
                **{"UserData": 556},
            },
        ),
        (MQTMC2, {"ApplType": 168, "ApplId": 172, "UserData": 556, "QMgrName": 684}),
        (
            MQRFH2,
            {"StrucLength": 8, "Encoding": 12, "CodedCharSetId": 16, "Format": 20, "Flags": 28, "NameValueCCSID": 32},
        ),
    ],
)
def test_offsets_are_the_documented_ones(structure: type[Structure], offsets: dict[str, int]) -> None:
    assert {name: structure.LAYOUT.offset(name) for name in offsets} == offsets


@pytest.mark.parametrize("structure", STRUCTURES)
def test_attributes_are_the_fields_of_the_table(structure: type[Structure]) -> None:
    attributes = [f.name for f in fields(structure) if f.name != "folders"]  # type: ignore[arg-type]
    table = [key for key in structure.LAYOUT.keys if key != "struc_id" and (structure, key) != (MQRFH2, "struc_length")]
    assert attributes == table


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(
    ("encoding", "ccsid"), [(546, 819), (273, 819), (785, 500), (273, 1047), (546, 1208), (273, 37)]
)
def test_initial_values_round_trip(structure: type[Structure], encoding: int, ccsid: int) -> None:
    raw = structure().pack(encoding=encoding, ccsid=ccsid)
    found = structure.unpack(raw, encoding=encoding, ccsid=ccsid)
    assert found == structure()
    assert found.pack(encoding=encoding, ccsid=ccsid) == raw


def test_bytes_of_a_dead_letter_header() -> None:
    raw = (
        b"DLH " + bytes.fromhex("00000001 00000825") + b"ORDERS.IN".ljust(48) + b"QM1".ljust(48)
        + bytes.fromhex("00000111 00000333") + b"MQSTR   " + bytes.fromhex("0000000d") + b"amqsput".ljust(28)
        + b"2026010203040506"
    )  # fmt: skip
    found = MQDLH.unpack(raw, encoding=273)
    assert found == MQDLH(
        reason=c.MQRC_UNKNOWN_OBJECT_NAME,
        dest_q_name="ORDERS.IN",
        dest_q_mgr_name="QM1",
        encoding=273,
        coded_char_set_id=819,
        format=c.MQFMT_STRING,
        put_appl_type=13,
        put_appl_name="amqsput",
        put_date="20260102",
        put_time="03040506",
    )
    assert found.pack(encoding=273) == raw


def test_ebcdic_dead_letter_header() -> None:
    raw = MQDLH(dest_q_name="Q[1]", format="MQSTR").pack(encoding=785, ccsid=1047)
    assert raw[:4] == b"\xc4\xd3\xc8\x40"
    assert raw[12:16] == b"\xd8\xad\xf1\xbd"  # brackets are where 1047 has them
    assert MQDLH.unpack(raw, encoding=785, ccsid=1047).dest_q_name == "Q[1]"


def test_nul_is_not_padding() -> None:
    raw = MQDLH().pack()[:12] + b"A".ljust(48, b"\0") + MQDLH().pack()[60:]
    found = MQDLH.unpack(raw)
    assert found.dest_q_name == "A" + "\0" * 47
    assert found.pack() == raw


def test_leading_and_inner_blanks_are_kept() -> None:
    assert MQMD.unpack(MQMD(appl_identity_data=" a b  ").pack()).appl_identity_data == " a b"


def test_version_1_descriptor_is_324_bytes_and_reads_nothing_beyond() -> None:
    raw = MQMD(version=1).pack()
    assert len(raw) == 324
    assert MQMD.unpack(raw + b"\xff" * 40) == MQMD(version=1)


def test_T06_trigger_message_of_a_transmission_queue() -> None:
    raw = MQTM(q_name="QM2", trigger_data="QM1.QM2", appl_type=c.MQAT_UNKNOWN).pack()
    assert len(raw) == 684
    assert raw[56:104] == b" " * 48
    assert MQTM.unpack(raw).appl_type == -1


def test_character_trigger_message_writes_its_version_as_text() -> None:
    raw = MQTMC2(q_name="Q", q_mgr_name="QM1").pack()
    assert raw[:8] == b"TMC    2"
    assert MQTMC2.unpack(raw).version == 2
    assert MQTMC2(q_name="Q").pack(ccsid=500)[:8].decode("cp500") == "TMC    2"


def test_trigger_message_identifiers_are_not_mixed_up() -> None:
    with pytest.raises(WireError, match=r"MQTMC2\.StrucId"):
        MQTMC2.unpack(MQTM().pack() + bytes(48))


def test_transmission_header_holds_a_version_1_descriptor() -> None:
    header = MQXQH(remote_q_name="Q", remote_q_mgr_name="QM2", msg_desc=MQMD(version=1, format="MQSTR", expiry=600))
    raw = header.pack(encoding=273, ccsid=37)
    assert len(raw) == 428
    assert MQXQH.unpack(raw, encoding=273, ccsid=37) == header
    with pytest.raises(WireError, match=r"MQXQH\.MsgDesc at offset 104: the embedded MQMD has version 2"):
        MQXQH.unpack(MQXQH().pack()[:104] + MQMD().pack())
    with pytest.raises(WireError, match=r"MQMD\.StrucId at offset 104"):
        MQXQH.unpack(MQXQH().pack()[:104] + bytes(324))


def test_values_are_changed_by_replace() -> None:
    assert replace(MQDLH(), reason=5).reason == 5
