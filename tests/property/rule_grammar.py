"""Generated rules tables: what is meant, one of many ways to write it down, and messages that nearly match."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import strategies as st

TEXTS = {
    "APPLIDAT": 32,
    "APPLNAME": 28,
    "DESTQ": 48,
    "DESTQM": 48,
    "FORMAT": 8,
    "REPLYQ": 48,
    "REPLYQM": 48,
    "USERID": 12,
}
NUMBERS = {
    "APPLTYPE": {6: "MQAT_UNIX", 2: "MQAT_ZOS", -1: "MQAT_UNKNOWN"},
    "FEEDBACK": {0: "MQFB_NONE", 258: "MQFB_EXPIRATION", 259: "MQFB_COA"},
    "MSGTYPE": {1: "MQMT_REQUEST", 8: "MQMT_DATAGRAM", 4: "MQMT_REPORT"},
    "PERSIST": {0: "MQPER_NOT_PERSISTENT", 1: "MQPER_PERSISTENT"},
    "REASON": {2053: "MQRC_Q_FULL", 2085: "MQRC_UNKNOWN_OBJECT_NAME", 265: "MQFB_APPL_CANNOT_BE_STARTED"},
}
UNQUOTED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_%*?")

# Few characters, so that patterns and fields meet: folding, quotes, blanks, a NUL, two and four bytes of UTF-8.
_letters = st.sampled_from("AAABBa. '\0é\N{MONEY BAG}")
_pattern_letters = st.sampled_from("AAABBa. '??**é\N{MONEY BAG}")


@dataclass
class Meant:
    """A rule as it is meant."""

    patterns: dict[str, str | int] = field(default_factory=dict)
    action: dict[str, str | int] = field(default_factory=dict)


def _fits(pattern: str, width: int) -> bool:
    return len(pattern) > 0 and len(pattern) - pattern.count("*") <= width


@st.composite
def patterns(draw, width):
    """A pattern for a field; mostly short, sometimes of the field's full width."""
    if draw(st.integers(0, 9)) == 0:
        full = draw(st.sampled_from(["A", "?", "AB", "A?"])) * width
        return full[: width - draw(st.integers(0, 1))] + draw(st.sampled_from(["", "*"]))
    return draw(st.text(_pattern_letters, min_size=1, max_size=min(width, 7)).filter(lambda p: _fits(p, width)))


@st.composite
def rules(draw):
    """A rule: some patterns, one action."""
    meant = Meant()
    for name in draw(st.lists(st.sampled_from([*TEXTS, *NUMBERS]), unique=True, max_size=3)):
        if name in TEXTS:
            meant.patterns[name] = draw(patterns(TEXTS[name]))
        else:
            meant.patterns[name] = draw(st.sampled_from(["*", *NUMBERS[name]]))
    action = draw(st.sampled_from(["DISCARD", "IGNORE", "RETRY", "RETRY", "FWD", "FWD"]))
    meant.action["ACTION"] = action
    if action == "FWD":
        meant.action["FWDQ"] = draw(st.sampled_from(["Q.1", "lower.q", "&DESTQ", "&REPLYQ"]))
        meant.action |= draw(
            st.fixed_dictionaries(
                {},
                optional={"FWDQM": st.sampled_from(["QM", " ", "&DESTQM"]), "HEADER": st.sampled_from(["YES", "NO"])},
            )
        )
    if action != "IGNORE":
        meant.action |= draw(st.fixed_dictionaries({}, optional={"RETRY": st.integers(1, 3)}))
    return meant


@st.composite
def _tables(draw):
    """Rules in a row; neighbours often ask the same, as in real tables."""
    table = draw(st.lists(rules(), min_size=1, max_size=8))
    for before, rule in pairwise(table):
        if before.patterns and len(rule.patterns) < 3 and draw(st.booleans()):
            name = draw(st.sampled_from(sorted(before.patterns)))
            rule.patterns[name] = before.patterns[name]
    return table


tables = _tables()


@st.composite
def written(draw, table):
    """One way to write a table: any order, case, quoting, blanks, commas, continuation, comments."""
    lines = []
    for rule in table:
        pairs = draw(st.permutations([*rule.patterns.items(), *rule.action.items()]))
        separator = st.sampled_from([" ", "  ", ",", " , ", " +\n  ", " +\n* between\n", ", -\n"])
        text = draw(_pair(*pairs[0]))
        for name, value in pairs[1:]:
            text += draw(separator) + draw(_pair(name, value))
        lines.append(
            draw(st.sampled_from(["", "  ", "* comment (\n", "\n"])) + text + draw(st.sampled_from(["", "  "]))
        )
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n* end\n"]))


@st.composite
def _pair(draw, name, value):
    word = draw(st.sampled_from([name, name.lower(), name.title()]))
    blank = st.sampled_from(["", "", " ", "  "])
    return f"{word}{draw(blank)}({draw(blank)}{draw(_value(name, value))}{draw(blank)})"


@st.composite
def _value(draw, name, value):
    if isinstance(value, int) and name in NUMBERS:
        symbol = NUMBERS[name][value]
        return draw(
            st.sampled_from([symbol, symbol.lower(), f"'{symbol}'"] + ([str(value), f"0{value}"] * (value >= 0)))
        )
    text = str(value)
    ways = ["'" + text.replace("'", "''") + "'"]
    if set(text) <= UNQUOTED | ({"&"} if text.startswith("&") else set()):
        ways += [text, text, text.lower()]
    way = draw(st.sampled_from(ways))
    at = draw(st.integers(0, len(way)))
    splits = not way[:at].endswith(("+", "-")) and not (way[at:] + "x").startswith((" ", "*"))
    return way[:at] + "+\n" + way[at:] if splits and draw(st.integers(0, 4)) == 0 else way


_numbers = {name: st.sampled_from([*values, 7]) for name, values in NUMBERS.items()}
_texts = {name: st.text(_letters, max_size=min(width, 7)).map(lambda v: v.rstrip(" ")) for name, width in TEXTS.items()}


@st.composite
def messages(draw, table):
    """A message; each field is often made from a pattern of the table, so that rules match."""
    message = {}
    for name in (*TEXTS, *NUMBERS):
        wanted = [rule.patterns[name] for rule in table if name in rule.patterns]
        if wanted and draw(st.integers(0, 3)):
            message[name] = draw(_near(name, draw(st.sampled_from(wanted))))
        else:
            message[name] = draw(_numbers[name] if name in NUMBERS else _texts[name])
    return message


@st.composite
def _near(draw, name, pattern):
    if name in NUMBERS:
        return draw(_numbers[name]) if pattern == "*" else pattern
    filled = "".join(
        draw(st.text(_letters, max_size=2)) if c == "*" else draw(_letters) if c == "?" else c for c in pattern
    )
    return filled[: TEXTS[name]].rstrip(" ")
