"""The codec loop: what it refuses, in which words; and the precompiled readers and writers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from mqwire import constants as c
from mqwire.errors import CutShort, UnknownCcsid, UnknownEncoding, WireError
from mqwire.fields import before_nul, int64, long, snake, text
from mqwire.layout import Layout
from mqwire.mqi import MQGMO, MQOD, MQPMO
from mqwire.structures import MQDLH, MQDLH_LAYOUT, MQMD, MQMD_LAYOUT, MQTMC2, MQXQH

MD = MQMD().pack()
DLH = MQDLH(dest_q_name="A.QUEUE").pack()
PADDED = Layout("PADDED", [int64("First"), long("Last")], aligned=True)  # 16 bytes, the last 4 are padding


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("ReplyToQMgr", "reply_to_q_mgr"),
        ("CodedCharSetId", "coded_char_set_id"),
        ("DestQMgrName", "dest_q_mgr_name"),
        ("SSLConfigPtr", "ssl_config_ptr"),
        ("CSPUserIdPtr", "csp_user_id_ptr"),
        ("ObjectStringVSCCSID", "object_string_vs_ccsid"),  # an abbreviation after an abbreviation
        ("VSPtr", "vs_ptr"),
        ("Signal1", "signal1"),
        ("NameValueCCSID", "name_value_ccsid"),
    ],
)
def test_attribute_names(name: str, attribute: str) -> None:
    assert snake(name) == attribute


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MQMD.unpack(MD[:103]), "MQMD.ReplyToQ at offset 100: 103 bytes where 364 are needed"),
        (
            lambda: MQMD.unpack(b"123" + MD[:326], offset=3),
            "MQMD.GroupId at offset 327: 326 bytes where 364 are needed",
        ),
        (lambda: MQMD.unpack(b"MD"), "MQMD.StrucId at offset 0: 2 bytes where 4 are needed"),
        (lambda: MQMD.unpack(MD[:4]), "MQMD.Version at offset 4: 4 bytes where 8 are needed"),
        (lambda: MQMD.unpack(MD, offset=400), "MQMD.StrucId at offset 400: 0 bytes where 4 are needed"),
        (lambda: MQMD.unpack(MD, offset=-4), "MQMD.StrucId at offset -4: before the first byte"),
        (lambda: MQOD.unpack(MQOD.pack({})[:-1]), "MQOD.AlternateUserId at offset 156: 167 bytes where 168 are needed"),
        (lambda: PADDED.unpack(bytes(15)), "PADDED.Last at offset 8: 15 bytes where 16 are needed"),
        (lambda: MQDLH.unpack(MD), "MQDLH.StrucId at offset 0: b'MD  ' is not 'DLH' in CCSID 819"),
        (lambda: MQDLH.unpack(DLH, ccsid=37), "MQDLH.StrucId at offset 0: b'DLH ' is not 'DLH' in CCSID 37"),
        (lambda: MQDLH.unpack(DLH, encoding=273), "MQDLH.Version at offset 4: version 16777216 is not one of 1"),
        (
            lambda: MQDLH.unpack(b"12" + DLH, offset=2, encoding=273),
            "MQDLH.Version at offset 6: version 16777216 is not",
        ),
        (
            lambda: MQDLH.unpack(DLH, encoding=0),
            "MQDLH.Version at offset 4: byte order of integers unknown in encoding 0",
        ),
        (
            lambda: MQDLH.unpack(b"12" + DLH, offset=2, encoding=0),
            "MQDLH.Version at offset 6: byte order of integers unknown in encoding 0",
        ),
        (lambda: MQDLH().pack(encoding=0), "MQDLH.Version at offset 4: byte order of integers unknown in encoding 0"),
        (
            lambda: MQDLH.unpack(DLH, ccsid=1200),
            "MQDLH.StrucId at offset 0: fixed-length fields cannot be in CCSID 1200",
        ),
        (lambda: MQDLH.unpack(DLH, ccsid=31337), "MQDLH.StrucId at offset 0: CCSID 31337 is unknown"),
        (lambda: MQMD_LAYOUT.reader("expiry", encoding=0), "MQMD.Version at offset 4: byte order of integers unknown"),
        (
            lambda: PADDED.unpack(bytes(16), ccsid=31337),  # it has no text: its first field
            "PADDED.First at offset 0: CCSID 31337 is unknown",
        ),
        (lambda: MQDLH.unpack(DLH, ccsid=0), "CCSID 0 means the queue manager's one, which is not known here"),
        (lambda: MQDLH.unpack(DLH, ccsid=-2), "CCSID -2 means the inherited one, which is not known here"),
        (
            lambda: MQDLH.unpack(DLH[:12] + b"\xff" + DLH[13:], ccsid=1208),
            "MQDLH.DestQName at offset 12: not text in CCSID 1208",
        ),
        (
            lambda: MQTMC2.unpack(MQTMC2().pack()[:4] + b"2   " + bytes(724)),
            "MQTMC2.Version at offset 4: '2   ' is not a right-adj",
        ),
        (
            lambda: MQTMC2.unpack(MQTMC2().pack()[:4] + b"   x" + bytes(724)),
            "MQTMC2.Version at offset 4: b'   x' is not a number",
        ),
        (lambda: MQDLH(dest_q_name="Q" * 49).pack(), "MQDLH.DestQName at offset 12: 'QQQQ"),
        (lambda: MQDLH(dest_q_name="€").pack(), "MQDLH.DestQName at offset 12: '€' is not in CCSID 819"),
        (lambda: MQDLH(dest_q_name="é" * 25).pack(ccsid=1208), "has 50 bytes, too long for 48"),
        (lambda: MQDLH(reason=2**31).pack(), "MQDLH.Reason at offset 8: 2147483648: "),
        (lambda: MQDLH(reason="x").pack(), "MQDLH.Reason at offset 8: str where an integer is needed"),  # type: ignore[arg-type]
        (lambda: MQDLH(format=5).pack(), "MQDLH.Format at offset 116: int where text is needed"),  # type: ignore[arg-type]
        (lambda: MQMD(msg_id=bytes(25)).pack(), "MQMD.MsgId at offset 48: 25 bytes are too long for 24"),
        (lambda: MQMD(msg_id="x").pack(), "MQMD.MsgId at offset 48: str where bytes are needed"),  # type: ignore[arg-type]
        (lambda: MQMD(version=3).pack(), "MQMD.Version at offset 4: version 3 is not one of 1, 2"),
        (lambda: MQMD(version=1, msg_flags=8).pack(), "MQMD.MsgFlags at offset 356: 8 needs version 2, not 1"),
        (lambda: MQXQH(msg_desc=MQMD()).pack(), "MQXQH.MsgDesc at offset 104: the embedded MQMD has version 2, not 1"),
        (lambda: MQDLH_LAYOUT.pack({"dest": ""}), "MQDLH.dest at offset 0: no such field"),
        (lambda: MQOD.length(9), "MQOD.Version at offset 4: version 9 is not one of 1, 2, 3, 4"),
        (lambda: MQOD.unpack(MQOD.pack({}), version=9), "MQOD.Version at offset 4: version 9 is not one of 1, 2, 3, 4"),
    ],
)
def test_refusals_name_structure_field_and_offset(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(WireError) as caught:
        call()
    assert said in str(caught.value)


def test_errors_say_where_and_what_kind() -> None:
    with pytest.raises(UnknownCcsid) as ccsid:
        MQDLH.unpack(DLH, ccsid=31337)
    assert (ccsid.value.structure, ccsid.value.field, ccsid.value.offset) == ("MQDLH", "StrucId", 0)
    with pytest.raises(UnknownEncoding) as encoding:
        MQDLH.unpack(DLH, encoding=3)
    assert (encoding.value.structure, encoding.value.field, encoding.value.offset) == ("MQDLH", "Version", 4)
    with pytest.raises(CutShort):
        MQDLH.unpack(DLH[:-1])


def test_errors_survive_pickling_as_spark_does_it() -> None:
    error = WireError("MQDLH", "Version", 4, "no")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (WireError, str(error))


def test_reader_gives_fields_in_the_order_asked_for() -> None:
    raw = MQMD(expiry=30, persistence=1, msg_id=b"M" * 24, reply_to_q="R").pack()
    assert MQMD_LAYOUT.reader("expiry", "Persistence", "msg_id")(raw) == (30, 1, b"M" * 24)
    assert MQMD_LAYOUT.reader("MsgId", "expiry")(raw) == (b"M" * 24, 30)
    assert MQMD_LAYOUT.reader("reply_to_q")(raw) == (b"R".ljust(48),)
    assert MQMD_LAYOUT.reader("expiry")(bytes(7) + raw, 7) == (30,)
    assert MQMD_LAYOUT.reader("expiry")(memoryview(bytearray(raw))) == (30,)


def test_reader_in_the_other_byte_order() -> None:
    raw = MQMD(expiry=30).pack(encoding=273)
    assert MQMD_LAYOUT.reader("expiry", encoding=273)(raw) == (30,)


def test_reader_of_a_short_buffer_raises_wire_error() -> None:
    with pytest.raises(CutShort, match=r"^MQMD\.MsgId at offset 48: 60 bytes where 72 are needed$"):
        MQMD_LAYOUT.reader("expiry", "msg_id")(MD[:60])
    with pytest.raises(CutShort, match=r"^MQMD\.Expiry at offset 21: 14 bytes where 20 are needed$"):
        MQMD_LAYOUT.reader("msg_id", "expiry")(bytes(5) + MD[:14], 5)
    with pytest.raises(WireError, match=r"^MQMD\.Expiry at offset -484: "):
        MQMD_LAYOUT.reader("expiry")(MD, -500)


def test_writer_touches_nothing_else() -> None:
    for names, values in [
        (("expiry", "put_date", "put_time"), (5, "20260102", b"03040506")),
        (("put_time", "expiry", "put_date"), (b"03040506", 5, "20260102")),
    ]:
        raw = bytearray(MD)
        MQMD_LAYOUT.writer(*names)(raw, *values)
        assert MQMD.unpack(raw) == MQMD(expiry=5, put_date="20260102", put_time="03040506")
    every = bytearray(b"\xaa" * len(MD))
    MQMD_LAYOUT.writer("priority", "backout_count")(every, 1, 2)
    assert [i for i, b in enumerate(every) if b != 0xAA] == [40, 41, 42, 43, 96, 97, 98, 99]


def test_writer_pads_text_with_blanks_and_bytes_with_nul() -> None:
    raw = bytearray(400)
    MQMD_LAYOUT.writer("reply_to_q", "msg_id")(raw, "R", b"M", offset=10)
    assert raw[110:158] == b"R".ljust(48)
    assert raw[58:82] == b"M".ljust(24, b"\0")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("Q" * 49, 0), "MQPMO.ResolvedQName at offset 32: 49 bytes are too long for 48"),
        (("€", 0), "MQPMO.ResolvedQName at offset 32: '€' is not Latin-1"),
        (("Q", 2**40), "MQPMO.Options at offset 8: 1099511627776: "),
        (("Q", "x"), "MQPMO.Options at offset 8: 'x': "),
    ],
)
def test_writer_refuses(values: tuple[Any, ...], said: str) -> None:
    with pytest.raises(WireError) as caught:
        MQPMO.writer("resolved_q_name", "options")(bytearray(200), *values)
    assert said in str(caught.value)


def test_writer_refuses_at_the_byte_of_the_buffer() -> None:
    write = MQPMO.writer("resolved_q_name", "options")
    with pytest.raises(WireError, match=r"^MQPMO\.ResolvedQName at offset 52: 49 bytes are too long for 48$"):
        write(bytearray(200), "Q" * 49, 0, offset=20)
    with pytest.raises(WireError, match=r"^MQPMO\.Options at offset 28: "):
        write(bytearray(200), "Q", 2**40, offset=20)
    with pytest.raises(CutShort, match=r"^MQPMO\.ResolvedQName at offset 52: 70 bytes where 80 are needed$"):
        write(bytearray(90), "Q", 0, offset=20)
    with pytest.raises(WireError, match=r"^MQPMO\.Options at offset -192: cannot be written$"):
        MQPMO.writer("options")(bytearray(100), 0, offset=-200)


def test_status_characters_are_character_codes() -> None:
    raw = MQGMO.pack({"version": 2, "group_status": c.MQGS_LAST_MSG_IN_GROUP})
    assert raw[76:80] == b"L   "
    assert MQGMO.unpack(raw)["group_status"] == ord("L")


def test_names_of_callers_end_at_nul_or_blanks() -> None:
    assert text(b"Q1\0garbage ") == "Q1"
    assert text(b"Q1      ") == "Q1"
    assert before_nul("Q1 \0x") == "Q1"


def test_a_layout_says_what_it_is() -> None:
    assert repr(MQDLH_LAYOUT) == "Layout(MQDLH, 172 bytes)"
    assert MQDLH_LAYOUT.field("reason").name == "Reason"
    assert isinstance(MQDLH_LAYOUT, Layout)
