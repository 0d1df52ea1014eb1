"""What `json_read` finds by msgspec is what Python's own parser with our rules finds, whatever the text."""

from __future__ import annotations

import json
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqops.rules import documents
from mqops.rules.documents import JsonRead, json_read

BLANKS = st.sampled_from(["", "", "", " ", "\n", "\t ", "\r", "\f", "\u00a0"])
NAMES = st.sampled_from(["a", "b", "", ":", '\\"', "a:b", "\\u0061", "\\u003a", "\\u003A", '\\":', "\u00e9", "\\ud83d"])
STRINGS = st.one_of(NAMES, st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)[1:-1]))
NUMBERS = st.one_of(
    st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,22})?", fullmatch=True),
    st.sampled_from(["01", "1.", ".5", "+1", "-", "1e", "NaN", "-Infinity", "Infinity", "0x1", "1_0", "\u0661", "-0"]),
    st.integers(499, 502).map(lambda digits: "1" * digits),
    st.integers(63, 65).flatmap(lambda bits: st.sampled_from([str(2**bits), str(-(2**bits)), str(2**bits - 1)])),
)
WORDS = st.sampled_from(["true", "false", "null", "tru", "undefined"])
SIMPLE = st.one_of(STRINGS.map('"{}"'.format), NUMBERS, WORDS)


def arrays(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(BLANKS, st.lists(inner, max_size=4), BLANKS).map(lambda of: f"{of[0]}[{','.join(of[1])}]{of[2]}")


def objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Names may stand twice."""
    pair = st.tuples(BLANKS, NAMES, BLANKS, inner).map(lambda of: f'{of[0]}"{of[1]}"{of[2]}:{of[3]}')
    return st.lists(pair, max_size=4).map(lambda pairs: f"{{{','.join(pairs)}}}")


TEXTS = st.recursive(SIMPLE, lambda inner: st.one_of(arrays(inner), objects(inner)), max_leaves=12)
BROKEN = st.tuples(TEXTS, st.integers(0, 200), st.integers(0, 3), st.text(max_size=2)).map(
    lambda of: of[0][: of[1]] + of[3] + of[0][of[1] + of[2] :]
)


def by_python(text: str) -> JsonRead:
    with patch.object(documents, "_read_quickly", lambda _text: None):
        return json_read(text)


@settings(deadline=None)
@given(st.one_of(TEXTS, BROKEN, st.text(max_size=30)))
@example('{"a": 1, "\\u003a": {"a": 1, "a": 2}}')  # a colon that is escaped in place of the one that is dropped
@example('{"a" :1,"a": ":"}')
@example('["\ud800"]')
@example("[1e99999999999999999999, 1e400, 0.10]")
@example("[" * 500 + "]" * 500)
@example("[" * 501 + "]" * 501)
@example("[" * 100_000)
def test_json_is_the_same_by_both_parsers(text: str) -> None:
    quick, slow = json_read(text), by_python(text)
    assert quick.problem == slow.problem
    assert repr(quick.document) == repr(slow.document)  # with the types of numbers


def test_most_texts_are_parsed_once() -> None:
    for text in ('{"at": "2026-11-21T12:00:00Z", "n": [1.50, {"a": "\\n"}]}', '{"a" : ":"}'):
        assert documents._read_quickly(text) == by_python(text).document is not None
