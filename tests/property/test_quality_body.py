"""Whatever the bytes: looking at a body never fails, says the same twice, and never quotes the message."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqops.quality.body import Message, look
from mqops.quality.columns import COLUMNS, ColumnKind, Source
from mqwire import constants as c
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH

BODY = {name: column for name, column in COLUMNS.items() if column.source is Source.BODY}
EVERYTHING = frozenset(BODY)
TYPES: dict[ColumnKind, type] = {ColumnKind.TEXT: str, ColumnKind.NUMBER: int, ColumnKind.FLAG: bool}
PROBLEM = re.compile(
    r"MQ\w+(\.\w+)? at offset \d+"
    r"|not (text|JSON|XML)( in CCSID -?\d+)? at (byte \d+ of the body|line \d+, column \d+)"
    r"|CCSID -?\d+ (is unknown|cannot be converted here)"
    r"|not JSON: (NaN or Infinity|nested too deeply|half of a surrogate pair|a name stands twice in an object)"
    r"|not accepted: it declares (entities|too many attributes)|not XML: half of a surrogate pair"
)
FORMATS = st.sampled_from(["", "MQSTR", "MQHRF2", "MQDEAD", "MQHMDE", "MQXMIT", "MQIMS", "MQHREF", "MQHXYZ", "MQPCF"])
CCSIDS = st.sampled_from([0, -1, -2, 37, 273, 500, 819, 939, 943, 1141, 1200, 1202, 1208, 1377, 1386, 99999])
DLH = MQDLH(format="MQHRF2", coded_char_set_id=1208, encoding=c.MQENC_NATIVE).pack()
RFH2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).pack(ccsid=1208)
BODIES = st.one_of(
    st.binary(max_size=400),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5).map(
        lambda value: json.dumps(value).encode()
    ),
    st.binary(max_size=100).map(lambda rest: RFH2 + rest),
    st.tuples(st.integers(0, 250), st.binary(min_size=1, max_size=4)).map(
        lambda damage: (DLH + RFH2)[: damage[0]] + damage[1] + (DLH + RFH2)[damage[0] + len(damage[1]) :]
    ),
)


@settings(deadline=None)  # the first text in a CCSID loads its table
@given(BODIES, FORMATS, CCSIDS, st.sampled_from([0, 273, 546, 785]))
@example(b"<" * 10_000, "MQSTR", 1208, 546)
@example(b"[" * 100_000, "MQSTR", 1208, 546)
@example(b'{"a": 1, "a": 1}', "MQSTR", 1208, 546)
def test_any_bytes_are_looked_at_without_failing_or_quoting(
    body: bytes, format_name: str, ccsid: int, encoding: int
) -> None:
    message = Message(format=format_name, encoding=encoding, ccsid=ccsid, msg_type=8, body=body)
    seen = look(message, EVERYTHING)
    assert seen == look(message, EVERYTHING)
    for name, value in seen.items():
        assert value is None or type(value) is TYPES[BODY[name].kind], name
        if name.endswith("_problem") and value is not None:
            assert PROBLEM.fullmatch(value), value
    for column in BODY.values():
        if column.problem and column.name in seen:
            assert (seen.get(column.problem) is None) == seen[column.name], column.name
    assert_headers(seen, body)


def assert_headers(seen: Any, body: bytes) -> None:
    assert ("payload_length" in seen) == seen["headers_valid"]
    if seen["headers_valid"]:
        assert 0 <= seen["payload_length"] <= len(body)
