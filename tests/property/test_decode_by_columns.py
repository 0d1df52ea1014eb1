"""A batch decoded by columns has the rows that `snapshot_row` gives for each message: same values, same bytes."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
from fuzzed import DATES, ODD_BYTES, ODD_NUMBERS, Fuzz, md_bytes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from snapshot_support import browsed

from mqops.observe.arrow import SNAPSHOT
from mqops.observe.by_columns import record_batch
from mqops.observe.core.decode import snapshot_row
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.headers import MQH
from mqwire.layout import Layout
from mqwire.structures import MQDLH, MQDLH_LAYOUT, MQMD, MQMD_LAYOUT, MQMDE, MQXQH

sys.path.insert(0, str(Path(__file__).parent))
from extension_grammar import HEADERS, header

Message = tuple[bytes, bytes]
BROWSED = browsed("Q", datetime(2026, 1, 1, 12, 0, 0, 999_999, tzinfo=UTC))
ENCODINGS = (c.MQENC_INTEGER_REVERSED, 273, 546, 785, 0, -1)
CCSIDS = (
    *(819, 1208, 437, 850, 923, 1252, 367),
    *(37, 500, 943, 1200, 0, -1, -2, 9999),
    *(930, 935, 939, 1383, 1399, 924, 1377, 1381, 300),
)
FORMATS = ("MQSTR", "", "MQHRF2", "MQADMIN", "MQDEAD", "MQIMS", "MQHMDE", "MQXMIT", "MQHRF", "MQHXXX", "OWN")
DATA = (
    *(b"", b"abc", b"a\0b", b" {}", b'{"a": [1]}', b"<a>&#228;</a>", b"<a>", "Gr\xfc\xdfe".encode(), b"\xff\xfe"),
    b"\xd9\xd9",  # RR in EBCDIC
    *(b"\xc1\x0eEA\x0f\x0eEA\x0f", b"\xc1\x0eEA", b"\xc1\x0e"),  # double byte in EBCDIC, and cut
)
_MDE = MQMDE(format="MQSTR", encoding=546, coded_char_set_id=819, group_id=b"G" * 24, msg_seq_number=7, msg_flags=10)
_XQH = MQXQH(remote_q_name="A", msg_desc=MQMD(version=1, format="MQHMDE", encoding=546, coded_char_set_id=819))
_SAID = {"format": "MQSTR", "encoding": 546, "coded_char_set_id": 819}
_RFH = MQH(struc_id="RFH", struc_length=36, format="MQSTR", encoding=546, coded_char_set_id=-2)
HEADED: tuple[tuple[str, Callable[[int, int], bytes]], ...] = (
    ("MQHMDE", lambda encoding, ccsid: _MDE.pack(encoding=encoding, ccsid=ccsid)),
    ("MQXMIT", lambda encoding, ccsid: _XQH.pack(encoding=encoding, ccsid=ccsid) + _MDE.pack()),
    ("MQHRF", lambda encoding, ccsid: _RFH.pack(encoding=encoding, ccsid=ccsid) + b"a 1 "),
    *((name, partial(header, name, _SAID)) for name in HEADERS),
)
"""Headers behind the MQDLH, or the MQMD: their format, and their bytes in an Encoding and a CCSID."""
ODD_TEXTS = st.sampled_from([b"", b"\0", b"\0x", b"A B", b"A\0\xff", b"A  \0 ", b" A", b"\0" * 48, *ODD_BYTES, *DATES])


def assert_same_rows(messages: Sequence[Message], first: int = 0) -> None:
    rows = [snapshot_row(BROWSED, first + n, *message) for n, message in enumerate(messages)]
    batch = record_batch(BROWSED, first, [md for md, _ in messages], [body for _, body in messages])
    batch.validate(full=True)
    expected = pa.RecordBatch.from_pylist(rows, schema=SNAPSHOT)
    assert batch.schema == SNAPSHOT
    for name in SNAPSHOT.names:
        assert batch.column(name).equals(expected.column(name)), name


@st.composite
def dead_letters(draw: st.DrawFn) -> Message:
    """An MQMD and a body with an MQDLH in any byte order and character set, whose names end anyhow."""
    encoding, ccsid = draw(st.sampled_from(ENCODINGS)), draw(st.sampled_from(CCSIDS))
    data = (draw(st.sampled_from(FORMATS)), draw(st.sampled_from(ENCODINGS)), draw(st.sampled_from(CCSIDS)))
    said = dict(zip(("format", "encoding", "coded_char_set_id"), data, strict=True))
    times = {"put_date": "20260101", "put_time": "01020304"}
    dlh = MQDLH(reason=draw(st.sampled_from(ODD_NUMBERS)), dest_q_name="Q", dest_q_mgr_name="QM1", **times, **said)
    try:
        header = dlh.pack(encoding=encoding, ccsid=ccsid)
    except WireError:  # an Encoding or CCSID that nothing can be written in
        header = dlh.pack()
    body = draw(with_odd_texts(MQDLH_LAYOUT, header)) + draw(st.sampled_from(DATA))
    if draw(st.integers(0, 4)) == 0:
        body = body[: draw(st.integers(0, len(body)))]
    described = {"version": 2, "format": "MQDEAD", "encoding": encoding, "coded_char_set_id": ccsid}
    return draw(with_odd_texts(MQMD_LAYOUT, MQMD_LAYOUT.pack(described))), body


@st.composite
def headed(draw: st.DrawFn) -> Message:
    """A message with one of `HEADED` behind its MQDLH or its MQMD, which may have group fields of its own."""
    encoding, ccsid = draw(st.sampled_from([546, 273])), draw(st.sampled_from([819, 37, 939, 1399, 1383, 1377]))
    format_name, written = draw(st.sampled_from(HEADED))
    body = written(encoding, ccsid) + draw(st.sampled_from(DATA))
    described = {"version": 2, "format": format_name, "encoding": encoding, "coded_char_set_id": ccsid}
    if draw(st.booleans()):
        said = {"format": format_name, "encoding": encoding, "coded_char_set_id": draw(st.sampled_from([ccsid, -2]))}
        body = MQDLH(dest_q_name="Q", **said).pack(encoding=encoding, ccsid=ccsid) + body
        described["format"] = "MQDEAD"
    if draw(st.booleans()):
        described |= {"group_id": b"M" * 24, "msg_flags": c.MQMF_MSG_IN_GROUP}
    return MQMD_LAYOUT.pack(described), body


@st.composite
def with_odd_texts(draw: st.DrawFn, layout: Layout, sound: bytes) -> bytes:
    """The structure with other bytes in up to three of its texts."""
    raw = bytearray(sound)
    texts = [one for one in layout.fields if one.kind == "char" and one.name != "StrucId"]
    for field in draw(st.lists(st.sampled_from(texts), max_size=3, unique=True)):
        at = layout.offset(field.name)
        raw[at : at + field.length] = draw(ODD_TEXTS)[: field.length].ljust(field.length)
    return bytes(raw)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(messages=st.lists(st.one_of(dead_letters(), headed()), min_size=1, max_size=8), first=st.integers(0, 1 << 40))
def test_law7_rows_of_any_headers_are_the_same(messages, first):
    assert_same_rows(messages, first)


@settings(deadline=None, max_examples=25)
@given(
    messages=st.lists(st.tuples(st.binary(min_size=364, max_size=364), st.binary(max_size=200)), min_size=1, max_size=3)
)
def test_law7_rows_of_any_bytes_are_the_same(messages):
    assert_same_rows(messages)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1 << 32), size=st.sampled_from([1, 2, 50]))
def test_law7_rows_of_fuzzed_messages_are_the_same(seed, size):
    """Chains of headers, MQRFH2, JSON, XML, EBCDIC and damaged bytes, one beside the other."""
    fuzz = Fuzz.of(seed)
    messages = [(md_bytes(number, message), message.body) for number, message in enumerate(fuzz.messages(size))]
    random.Random(seed).shuffle(messages)
    assert_same_rows(messages)
