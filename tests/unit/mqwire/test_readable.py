"""Text for people: marks in place of what a CCSID does not have (`mqwire.readable`)."""

from __future__ import annotations

import pytest

from mqwire.errors import UnknownCcsid
from mqwire.readable import readable

NORMAL = 273


@pytest.mark.parametrize(
    ("ccsid", "raw", "text", "bad"),
    [
        (1208, "6162fffe63", "ab\ufffd\ufffdc", (2, 3)),
        (1200, "0061d8000062", "a\ufffdb", (2,)),
        (939, "c10e45620f0f0e45660fc1", "A日本A", ()),  # shifts that change nothing
        (939, "c10e4562", "A日", ()),  # the last shift is missing
        (939, "c10efefe4566fefe0fc1", "A\ufffd本\ufffdA", (2, 6)),  # still double byte behind the mark
        (939, "c10e45620fc10e4566fe", "A日A本\ufffd", (9,)),  # half a character at the end
        (939, "c10e45ff0fc1", "A\ufffdA", (2,)),
        (939, "c10e450fc1", "A\ufffdA", (2,)),  # half a character before a shift-in
        (1047, "c115c225c1", "A\nB\nA", ()),  # NL and LF
        (939, "c1150efefe0f15c1", "A\n\ufffd\nA", (3,)),
        (819, "418542", "A\x85B", ()),
        (942, "414293fa96ff7b43", "AB日\ufffd~{C", (4,)),
        (950, "fa4041ff42", "\ue000A\ufffdB", (3,)),  # what users define is text
        (943, "eee08bb4fbfc8bb4", "髙橋髙橋", ()),  # both codes of a character
    ],
)
def test_what_is_not_in_the_ccsid_is_marked(ccsid: int, raw: str, text: str, bad: tuple[int, ...]) -> None:
    found = readable(bytes.fromhex(raw), ccsid, NORMAL)
    assert found is not None
    assert (found.text, found.bad) == (text, bad)


def test_a_ccsid_without_a_conversion_here_is_no_text_with_marks() -> None:
    assert readable(b"PAY 1", 25546, NORMAL) is not None  # invariant characters need none
    with pytest.raises(UnknownCcsid, match="at offset 2: CCSID 25546 cannot be converted here"):
        readable(b"AB\xb0\xa1", 25546, NORMAL)
