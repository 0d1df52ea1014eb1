"""A message into a row of the snapshot: whatever bytes come, none is lost and none is guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mq_support import dead_letter
from snapshot_support import browsed, observed_row

from mqops.act.core.lanes import lane_of
from mqops.act.core.port import Taken
from mqops.act.mover_port import without_dlh
from mqops.ledger.core.identity import PlanIdentity, message_key
from mqops.mq.session import RawMessage
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.batches import record_batches
from mqops.observe.core.columns import SNAPSHOT_COLUMNS
from mqops.observe.core.decode import has_native_dlh, md_text
from mqwire.constants import MQCCSI_INHERIT
from mqwire.structures import MQDLH_LAYOUT, MQMD, MQMD_LAYOUT

DLH_TEXTS = ("dest_q_name", "dest_q_mgr_name", "format", "put_appl_name", "put_date", "put_time")
DESCRIBED = slice(MQMD_LAYOUT.offset("encoding"), MQMD_LAYOUT.offset("priority"))
BROWSED = browsed("Q", datetime(2026, 1, 1, tzinfo=UTC))


def columns(md: bytes, body: bytes) -> dict:
    row = observed_row(BROWSED, md, body, 7)
    assert set(row) == {name for name, _kind, _null in SNAPSHOT_COLUMNS}
    return row


@settings(deadline=None)
@given(md=st.binary(min_size=364, max_size=364), body=st.binary(max_size=300))
def test_law7_any_bytes_make_a_row_that_keeps_them(md, body):
    row = columns(md, body)
    assert (row["md"], row["body"], row["body_length"]) == (md, body, len(body))
    assert row["body_sha256"] == sha256(body).digest()
    (batch,) = record_batches(BROWSED, [RawMessage(md, body)])
    assert batch.schema == SNAPSHOT
    assert batch.to_pylist()[0]["body"] == body


@settings(deadline=None)
@given(
    dest=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=48),
    body=st.binary(max_size=50),
    encoding=st.sampled_from([273, 546, 785]),
    ccsid=st.sampled_from([37, 500, 819, 1208]),
)
def test_a_header_is_read_in_any_encoding_and_told_from_what_follows(dest, body, encoding, ccsid):
    fields, raw = dead_letter(dest, body, encoding=encoding, ccsid=ccsid)
    md = MQMD(format="MQDEAD", encoding=encoding, coded_char_set_id=ccsid).pack()
    row = columns(md, raw)
    assert (row["dlh_error"], row["dlh_dest_q"], row["dlh_reason"], row["dlh_format"]) == (None, dest, 2053, "MQSTR")
    assert has_native_dlh(encoding, ccsid, raw) == (encoding == 546 and ccsid in {819, 1208})
    assert fields["Encoding"] == encoding


@settings(deadline=None)
@given(
    names=st.lists(st.text(st.sampled_from("AZaz09./_%"), max_size=8), min_size=6, max_size=6),
    ends=st.lists(
        st.sampled_from([b"", b"\0", b"\0" * 48]) | st.binary(max_size=48).map(lambda rubbish: b"\0" + rubbish),
        min_size=6,
        max_size=6,
    ),
    encoding=st.sampled_from([273, 546, 785]),
    ccsid=st.sampled_from([37, 500, 819, 943, 1208]),
)
def test_a_name_ends_at_its_first_nul_whatever_follows_in_ascii_and_ebcdic(names, ends, encoding, ccsid):
    """The bytes of the message stay as they were, and RETRY takes off what was read as an MQDLH."""
    own = "cp500" if ccsid in {37, 500} else "ascii"

    def padded(name: str, end: bytes, width: int, code: str) -> bytes:
        return (name.encode(code) + end).ljust(width, " ".encode(code))[:width]

    texts = [padded(*one, own) for one in zip(names, ends, (48, 48, 8, 28, 8, 8), strict=True)]
    body = bytearray(dead_letter("", b"data", encoding=encoding, ccsid=ccsid)[1])
    MQDLH_LAYOUT.writer(*DLH_TEXTS)(body, *texts)
    md = bytearray(MQMD(format="MQDEAD", encoding=encoding, coded_char_set_id=ccsid).pack())
    of_md = ("reply_to_q", "reply_to_q_mgr", "put_appl_name", "user_identifier")
    fields = zip(names, ends, (48, 48, 28, 12), strict=False)
    MQMD_LAYOUT.writer(*of_md)(md, *(padded(*one, "ascii") for one in fields))
    row = columns(bytes(md), bytes(body))
    assert (row["md"], row["body"], row["dlh_error"]) == (bytes(md), bytes(body), None)
    found = [row[name] for name in ("dlh_dest_q", "dlh_dest_q_mgr", "dlh_format", "dlh_put_appl_name")]
    assert found == names[:4]
    assert [row[name] for name in of_md] == names[:4]
    _md, rest = without_dlh(Taken(md=bytes(md), body=bytes(body), key=""))
    assert rest == b"data"


@settings(deadline=None)
@given(
    inner=st.tuples(
        st.sampled_from(["MQSTR", "MQHRF2", "", "OWN", "MQDEAD", "12345678"]),
        st.sampled_from([0, 273, 546, 785, -1]),
        st.sampled_from([MQCCSI_INHERIT, 0, 37, 819, 1208]),
    ),
    encoding=st.sampled_from([273, 546, 785]),
    ccsid=st.sampled_from([37, 500, 819, 1208]),
    rest=st.binary(max_size=300),
    others=st.binary(min_size=364, max_size=364),
)
def test_D08_the_descriptor_says_what_the_header_said_and_nothing_else_changes(inner, encoding, ccsid, rest, others):
    """In the byte order and code page of this machine (read fast) as in all others."""
    body = dead_letter("Q", rest, encoding=encoding, ccsid=ccsid, inner=inner)[1]
    own = MQMD(format="MQDEAD", encoding=encoding, coded_char_set_id=ccsid).pack()[DESCRIBED]
    md = others[: DESCRIBED.start] + own + others[DESCRIBED.stop :]
    after, left = without_dlh(Taken(md=md, body=body, key=""))
    name, inner_encoding, inner_ccsid = inner
    said = ccsid if inner_ccsid == MQCCSI_INHERIT else inner_ccsid
    expected = MQMD(format=name, encoding=inner_encoding, coded_char_set_id=said).pack()[DESCRIBED]
    assert (after[DESCRIBED], left) == (expected, rest)
    assert after[: DESCRIBED.start] + after[DESCRIBED.stop :] == md[: DESCRIBED.start] + md[DESCRIBED.stop :]


@pytest.mark.parametrize(
    ("ccsid", "format_name", "is_header"),
    [
        (819, b"MQ\xff     ", True),
        (1208, b"MQ\xff     ", False),  # no text of its code page
        (1208, "MQ\u0416".encode().ljust(8), False),  # text, which the Format of an MQMD cannot be
        (943, b"\xb6\xb7      ", False),
    ],
)
def test_a_header_with_a_format_that_no_descriptor_can_have_is_none_and_stays(ccsid, format_name, is_header):
    body = bytearray(dead_letter("Q", b"data", ccsid=ccsid)[1])
    MQDLH_LAYOUT.writer("format")(body, format_name)
    md = MQMD(format="MQDEAD", coded_char_set_id=ccsid).pack()
    row = columns(md, bytes(body))
    assert (row["dlh_error"] is None) == is_header
    (batch,) = record_batches(BROWSED, [RawMessage(md, bytes(body))])
    assert batch.to_pylist()[0]["dlh_error"] == row["dlh_error"]
    _md, rest = without_dlh(Taken(md=md, body=bytes(body), key=""))
    assert (rest == b"data") == is_header


def test_text_of_a_descriptor_is_utf_8_or_latin_1_and_ends_at_its_first_nul():
    assert md_text("Jörg".encode().ljust(12)) == "Jörg"
    assert md_text("Jörg".encode("latin-1").ljust(12)) == "Jörg"
    assert md_text(b"a \0b  ") == "a"


def test_law3_the_identity_is_of_identifiers_time_and_body():
    parts = [b"m" * 24, b"c" * 24, b"20260101", b"01020304", sha256(b"x").digest()]
    key = message_key(*parts)
    assert key == sha256(b"".join(parts)).hexdigest()
    for index in range(5):
        other = [*parts]
        other[index] = bytes(len(parts[index]))
        assert message_key(*other) != key


def test_identifiers_of_markers_and_lane_tokens_are_all_different_and_always_the_same():
    plans = [PlanIdentity(run=run, digest=digest) for run in ("r", "r2") for digest in ("d", "e")]
    found = [
        identifier
        for plan in plans
        for lane in range(3)
        for identifier in (
            *(plan.marker_id(lane, first, kind) for first in range(3) for kind in ("acted", "failed")),
            *(plan.last_id(lane), plan.lane_token_id(lane)),
        )
    ]
    found += [identifier for plan in plans for identifier in (plan.issued_id(), plan.markers())]
    assert len(set(found)) == len(found)
    assert {len(identifier) for identifier in found} == {24}
    assert plans[0].issued_id() == PlanIdentity(run="r", digest="d").issued_id()


def test_batches_end_by_rows_or_by_bytes():
    md = MQMD().pack()
    small = list(record_batches(BROWSED, (RawMessage(md, b"") for _ in range(4500))))
    assert [batch.num_rows for batch in small] == [2000, 2000, 500]
    assert [n for batch in small for n in batch.column("position").to_pylist()] == list(range(4500))
    large = list(record_batches(BROWSED, (RawMessage(md, bytes(9 << 20)) for _ in range(5))))
    assert [batch.num_rows for batch in large] == [2, 2, 1]
    assert list(record_batches(BROWSED, [])) == []


def test_lanes_are_stable():
    assert [lane_of(group, 16) for group in ("A@QM1", "B@QM1", "DISCARD", "Ä@")] == [12, 12, 0, 4]
    assert {lane_of(f"Q.{number}@QM1", 16) for number in range(200)} == set(range(16))
