"""A slow, plain interpreter of dead-letter handler rules tables, for comparison with a real one.

It was written from IBM's page "DLQ rules table patterns and actions" and SPEC D01-D04 alone, without sight
of any other implementation.
Nothing is diagnosed, although a table that makes no sense here raises an error.
Where the facts leave a point open, the stricter reading is taken and a comment beginning "Open:" says so.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from pymqi import CMQC

CONTROL_KEYWORDS = {"INPUTQ", "INPUTQM", "RETRYINT", "WAIT"}

# Facts 1.5: text patterns with the width of the field they are compared with.
TEXT_WIDTHS = {
    "APPLIDAT": 32,
    "APPLNAME": 28,
    "DESTQ": 48,
    "DESTQM": 48,
    "FORMAT": 8,
    "REPLYQ": 48,
    "REPLYQM": 48,
    "USERID": 12,
}

# Facts 1.5: number patterns with the beginnings of the names they accept.
# Open: FEEDBACK of an exception report is an MQRC_ value (facts 4.1), but 1.5 lists MQFB_ names only: only those here.
NUMBER_PREFIXES = {
    "APPLTYPE": ("MQAT_",),
    "FEEDBACK": ("MQFB_",),
    "MSGTYPE": ("MQMT_",),
    "PERSIST": ("MQPER_",),
    "REASON": ("MQRC_", "MQFB_"),
}

# One keyword and its value, already joined to a single line. Group 2 is a quoted value, group 3 an unquoted one.
# Open: whether a tab is a blank. Here only the space is.
PAIR = re.compile(r"([A-Za-z]+) *\( *(?:'((?:[^']|'')*)'|([^'()]*?)) *\)")

# Facts 1.3: what needs no quotes. The names of facts 1.6 that begin with & are written without them, too.
UNQUOTED = re.compile(r"&?[A-Za-z0-9./_%*?]+")


@dataclass(frozen=True)
class NaiveRule:
    """One rule: where it begins, its patterns, and what it does."""

    line: int
    texts: dict[str, str]
    numbers: dict[str, int]
    retry: int
    action: tuple[str, str, str, bool, str]


def fold(text: str) -> str:
    """Upper case for a to z (open: other letters are not folded; they need quotes, which `pairs` looks at)."""
    return "".join(c.upper() if "a" <= c <= "z" else c for c in text)


def entries(text: str) -> list[tuple[int, str]]:
    """The entries of a table, continued lines joined, each with the number of the line it begins on."""
    found: list[tuple[int, str]] = []
    sign = ""  # how the line before ended: "+", "-" or "" (not continued)
    for number, physical in enumerate(text.split("\n"), start=1):
        line = physical.removesuffix("\r")
        # Comments are comments anywhere, blank lines are ignored: so both are also skipped between continued lines,
        # the continuation then goes on with the line after them.
        # Open: "beginning with *" is read as column 1 (the MQSC rule), not as first non-blank; and a "*" in column 1
        # after a "-" is a comment too, not the next character of the value.
        if line.startswith("*") or not line.strip(" "):
            continue
        if sign == "+":
            line = line.lstrip(" ")
        continued = sign != ""
        sign = ""
        if line.rstrip(" ").endswith(("+", "-")):
            line = line.rstrip(" ")
            sign = line[-1]
            line = line[:-1]  # blanks before the sign belong to the text
        if continued:
            begin, before = found[-1]
            found[-1] = (begin, before + line)
        else:
            # Open: a line with nothing but a sign begins the entry, as it is neither blank nor a comment.
            found.append((number, line))
    return [(begin, joined) for begin, joined in found if joined.strip(" ")]


def pairs(entry: str) -> dict[str, str]:
    """The keywords (upper case) and values (unquoted ones folded, quoted ones as they are) of an entry."""
    result: dict[str, str] = {}
    at = 0
    while True:
        # Open: whether a separator is a must, and whether several commas are allowed; this makes no difference to
        # the meaning of a valid table.
        while at < len(entry) and entry[at] in " ,":
            at += 1
        if at == len(entry):
            return result
        pair = PAIR.match(entry, at)
        if pair is None:
            raise ValueError(f"not a keyword with a value: {entry[at:]!r}")
        keyword = fold(pair[1])
        if keyword in result:
            raise ValueError(f"{keyword} is there twice")
        if pair[2] is None and not UNQUOTED.fullmatch(pair[3]):
            raise ValueError(f"{pair[3]!r} needs quotes")
        result[keyword] = fold(pair[3]) if pair[2] is None else pair[2].replace("''", "'")
        at = pair.end()


def number_of(keyword: str, value: str) -> int:
    """The number that a value of a number pattern stands for."""
    if re.fullmatch("[0-9]+", value):
        return int(value)
    # Open: a quoted name in lower case is not folded, so it is no name.
    if not value.startswith(NUMBER_PREFIXES[keyword]):
        raise ValueError(f"{value!r} is no name for {keyword}")
    return int(getattr(CMQC, value))


def action_of(given: dict[str, str]) -> tuple[str, str, str, bool, str]:
    """What a rule does: ACTION, FWDQ, FWDQM, HEADER, PUTAUT with their defaults."""
    action = given["ACTION"]
    if action not in ("DISCARD", "IGNORE", "RETRY", "FWD"):
        raise ValueError(f"{action!r} is no action")
    # PUTAUT is about puts, so it means something for RETRY and FWD alone.
    putaut = given.get("PUTAUT", "DEF") if action in ("RETRY", "FWD") else "DEF"
    if action != "FWD":
        return action, "", "", False, putaut
    header = given.get("HEADER", "YES") == "YES"
    return action, given["FWDQ"].rstrip(" "), given.get("FWDQM", " ").rstrip(" "), header, putaut


def read(text: str) -> list[NaiveRule]:
    """The rules of a valid table, in order; control data as the first entry is left out."""
    rules: list[NaiveRule] = []
    for position, (line, entry) in enumerate(entries(text)):
        given = pairs(entry)
        # Open: control data over several lines without "+" (tables X 08 and 11); only one first entry is taken.
        if position == 0 and set(given) <= CONTROL_KEYWORDS:
            continue
        texts = {k: v for k, v in given.items() if k in TEXT_WIDTHS}
        # A number pattern of "*", quoted or not, is the same as none.
        numbers = {k: number_of(k, v) for k, v in given.items() if k in NUMBER_PREFIXES and v != "*"}
        rules.append(NaiveRule(line, texts, numbers, int(given.get("RETRY", "1")), action_of(given)))
    return rules


@lru_cache(maxsize=100_000)
def text_matches(pattern: str, field: str) -> bool:
    """Facts 2.3, word by word; a NUL is a character like any other."""
    if not pattern:
        return not field.strip(" ")
    if not field:
        return not pattern.strip("*")
    if pattern == "*":
        return True
    if pattern[0] == "*":
        return any(text_matches(pattern[1:], field[start:]) for start in range(len(field)))
    if pattern[0] == "?":
        return bool(field.strip(" ")) and text_matches(pattern[1:], field[1:])
    return pattern[0] == field[0] and text_matches(pattern[1:], field[1:])


def matches(rule: NaiveRule, message: dict[str, str | int]) -> bool:
    """Whether all patterns of a rule fit a message."""
    for keyword, pattern in rule.texts.items():
        # Open: blanks at the end of a pattern are compared like any others, so 'A* ' needs a blank at the end.
        # Widths count characters: the facts' bytes, as long as a character is one byte.
        if not text_matches(pattern, str(message.get(keyword, "")).ljust(TEXT_WIDTHS[keyword])):
            return False
    return all(int(message.get(keyword, 0)) == number for keyword, number in rule.numbers.items())


def choose(rules: list[NaiveRule], message: dict[str, str | int], failed: dict[int, int]) -> NaiveRule | None:
    """The first rule that matches and has tries left (D01-D04); None means the message is left where it is."""
    for index, rule in enumerate(rules):
        # RETRY is meaningless for IGNORE: such a rule is never used up and hides all later ones (facts 1.6, 2.2).
        if matches(rule, message) and (rule.action[0] == "IGNORE" or failed.get(index, 0) < rule.retry):
            return rule
    return None
