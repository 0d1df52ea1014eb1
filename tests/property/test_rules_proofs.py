"""What the linter takes as proved of two rules holds for every message: generated rules, messages made near to them."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from mqops.rules import matches, parse
from mqops.rules.candidates import Candidates
from mqops.rules.covering import contradictions, covers, overlap
from mqops.rules.keywords import PATTERN_KEYWORDS
from mqops.rules.pattern_proofs import Proofs

sys.path.insert(0, str(Path(__file__).parent))
from extension_grammar import COMPARED

FIELDS = ("FORMAT", "USERID")
TEXTS = ("PROP('usr.a' = {})", "PROP('usr.b' = {})", "BODY({})", "BODY(JSON '$.a' = {})")
QUESTIONS = {"PROP('usr.a' = {})": "PROP usr.a", "PROP('usr.b' = {})": "PROP usr.b", "BODY({})": "BODY"}
QUESTIONS["BODY(JSON '$.a' = {})"] = "BODY JSON $.a"
ANSWERS = {
    "AGE": st.none() | st.integers(-1, 5),
    "SIZE": st.integers(0, 5),
    **COMPARED,
}
MESSAGES = 10

_letters = st.sampled_from("AAB '")
_patterns = st.one_of(
    st.sampled_from(["A", "B", "AB", "A*", "*A", "*B*", "?", "?*", "*", "A?", "* *", "A *", "????????", "AAAAA*"]),
    st.text("AB ?*", min_size=1, max_size=5),
)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


_quoted = _patterns.map(quoted)
_compared = st.builds("{}{}".format, st.sampled_from([">", ">=", "<", "<=", "="]), st.sampled_from([0, 1, 2, 3, 9]))
ONCE = {"FORMAT({})": _quoted, "USERID({})": _quoted, "REASON({})": st.sampled_from(["2053", "2085", "*"])}
OFTEN = {
    "AGE({}s)": _compared,
    **dict.fromkeys(("SIZE({})", *(f"{name}({{}})" for name in COMPARED)), _compared),
    **dict.fromkeys(TEXTS, _quoted),
}


@st.composite
def _rules(draw, forms):
    """A rule that asks mostly what these forms ask."""
    asked = []
    for form in forms:
        values = st.lists((ONCE | OFTEN)[form], min_size=draw(st.sampled_from([0, 1, 1])), max_size=1 + (form in OFTEN))
        asked += [form.format(value) for value in draw(values)]
    return " ".join([*dict.fromkeys(asked), "ACTION(RETRY)"])


@st.composite
def _pairs(draw):
    """Two rules of a table that ask of the same things."""
    forms = draw(st.lists(st.sampled_from([*ONCE, *OFTEN]), min_size=1, max_size=3, unique=True))
    parsed = parse(f"* MQOPS EXTENSIONS\n{draw(_rules(forms))}\n{draw(_rules(forms))}\n")
    assume(parsed.table is not None)  # a condition stood twice
    return parsed.table.rules


@st.composite
def _near(draw, patterns):
    """A text that a pattern matches, or nearly."""
    pattern = draw(st.sampled_from(patterns))
    filled = [
        draw(st.text(_letters, max_size=3)) if one == "*" else draw(_letters) if one == "?" else one for one in pattern
    ]
    return "".join(filled).rstrip(" ")


@st.composite
def _messages(draw, rules):
    message = {"REASON": draw(st.sampled_from([2053, 2085]))}
    for name in FIELDS:
        wanted = [str(rule.patterns[name]) for rule in rules if name in rule.patterns]
        message[name] = draw(_near([*wanted, "*"]))[: PATTERN_KEYWORDS[name].length]
    for key in QUESTIONS.values():
        wanted = [str(one.value) for rule in rules for one in rule.extensions if one.question.key == key]
        message[key] = draw(_near([*wanted, "*"]) | st.none()) if wanted else None
    return message | {name: draw(answer) for name, answer in ANSWERS.items()}


@given(st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_D14_what_is_proved_of_two_rules_holds_for_every_message(data):
    first, second = rules = data.draw(_pairs())
    proofs = Proofs()
    covered, met, empty = covers(first, second, proofs), overlap(first, second, proofs), contradictions(second, proofs)
    event(f"covers: {covered}, overlap: {met}, contradiction: {bool(empty)}")
    for _ in range(MESSAGES):
        message = data.draw(_messages(rules))
        one, two = matches(first, message), matches(second, message)
        assert one or not (two and covered)
        assert met or not (one and two)
        assert not (two and empty)


@st.composite
def _tables(draw):
    """Rules of a table, most of which ask of the same things."""
    forms = draw(st.lists(st.sampled_from([*ONCE, "SIZE({})"]), min_size=1, max_size=3, unique=True))
    rules = draw(st.lists(_rules(forms), min_size=2, max_size=8))
    parsed = parse("* MQOPS EXTENSIONS\n" + "".join(f"{rule}\n" for rule in rules))
    assume(parsed.table is not None)
    return parsed.table.rules


@given(_tables())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_D14_rules_that_are_no_candidates_neither_meet_nor_cover(rules):
    candidates, proofs = Candidates(rules), Proofs()
    for rule in rules:
        met = [other for other in rules if overlap(other, rule, proofs)]
        covering = [other for other in met if covers(other, rule, proofs)]
        event(f"met: {len(met)} of {len(rules)}, candidates: {len(candidates.meeting(rule))}")
        assert met == [one for one in candidates.meeting(rule) if one in met]
        assert covering == [one for one in candidates.covering(rule) if one in covering]
