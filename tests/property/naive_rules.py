"""The rules language once more, as slowly and plainly as `ibm_mq_facts` 1.2-1.6 and 2.3 and SPEC D01-D04 tell it.

It knows nothing of the product: another scanner, another matcher, constants from pymqi. It reads valid tables only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from pymqi import CMQC

WIDTHS = {
    **{"APPLIDAT": 32, "APPLNAME": 28, "DESTQ": 48, "DESTQM": 48, "FORMAT": 8},
    **{"REPLYQ": 48, "REPLYQM": 48, "USERID": 12},
}
NUMBERS = {"APPLTYPE", "FEEDBACK", "MSGTYPE", "PERSIST", "REASON"}
CONTROL = {"INPUTQ", "INPUTQM", "RETRYINT", "WAIT"}


@dataclass
class NaiveRule:
    """A rule: the line it begins on, keyword → value as text."""

    line: int
    pairs: dict[str, str]

    @property
    def retry(self) -> int:
        return int(self.pairs.get("RETRY", "1"))

    @property
    def action(self) -> tuple[str, str, str, bool, str]:
        """ACTION, FWDQ, FWDQM, whether the header stays, PUTAUT; trailing blanks of names are padding."""
        forward = self.pairs["ACTION"] == "FWD"
        names = [self.pairs.get(name, "").rstrip(" ") for name in ("FWDQ", "FWDQM")]
        header = forward and self.pairs.get("HEADER", "YES") == "YES"
        return (self.pairs["ACTION"], names[0], names[1], header, self.pairs.get("PUTAUT", "DEF"))


def read(text: str) -> list[NaiveRule]:
    """The rules of a valid table."""
    rules = []
    for line, entry in entries(text):
        pairs = dict(scan(entry))
        if not set(pairs) <= CONTROL:
            rules.append(NaiveRule(line, pairs))
    return rules


def entries(text: str) -> list[tuple[int, str]]:
    """(first line, text) of each entry: comments and blank lines are ignored, `+` and `-` join lines."""
    found: list[tuple[int, str]] = []
    waiting: tuple[int, str, str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("*") or line.strip(" ") == "":
            continue
        start, joined = number, line
        if waiting is not None:
            start, before, mark = waiting
            joined = before + (line.lstrip(" ") if mark == "+" else line)
        end = joined.rstrip(" ")
        if end[-1] in "+-":
            waiting = (start, end[:-1], end[-1])
        else:
            waiting = None
            found.append((start, joined))
    return found


def scan(entry: str) -> list[tuple[str, str]]:
    """(keyword, value) pairs, character by character."""
    pairs = []
    rest = entry
    while rest := rest.lstrip(" ,"):
        keyword, rest = rest.split("(", 1)
        rest = rest.lstrip(" ")
        if rest[0] == "'":
            value, rest = quoted(rest[1:])
        else:
            value = re.match(r"[^ )]+", rest)[0]
            value, rest = value.upper(), rest[len(value) :]
        rest = rest.lstrip(" ")
        assert rest[0] == ")"
        pairs.append((keyword.strip(" ").upper(), value))
        rest = rest[1:]
    return pairs


def quoted(rest: str) -> tuple[str, str]:
    """A value behind its opening quote, and what follows the closing one; `''` is one quote."""
    value = ""
    while True:
        if rest.startswith("''"):
            value, rest = value + "'", rest[2:]
        elif rest[0] == "'":
            return value, rest[1:]
        else:
            value, rest = value + rest[0], rest[1:]


def number(text: str) -> int:
    return int(text) if text.isdigit() else getattr(CMQC, text)


def matches(rule: NaiveRule, message: dict[str, str | int]) -> bool:
    """Whether all patterns of a rule match; a missing one is `*`."""
    for keyword, value in rule.pairs.items():
        if keyword in NUMBERS and value != "*" and number(value) != message[keyword]:
            return False
        if keyword in WIDTHS and not like(value.rstrip(" "), message[keyword].ljust(WIDTHS[keyword])):
            return False
    return True


def like(pattern: str, field: str) -> bool:
    """2.3 on a field of its full width."""

    @cache
    def fits(at: int, here: int) -> bool:
        rest = field[here:]
        if at == len(pattern):
            return rest.strip(" ") == ""
        if pattern[at] == "*":
            return any(fits(at + 1, later) for later in range(here, len(field) + 1))
        if rest == "":
            return False
        if pattern[at] == "?":
            return rest.strip(" ") != "" and fits(at + 1, here + 1)
        return rest[0] == pattern[at] and fits(at + 1, here + 1)

    return fits(0, 0)


def choose(rules: list[NaiveRule], message: dict[str, str | int], failed: dict[int, int]) -> NaiveRule | None:
    """D01-D04: the first rule that matches and has a try left. `failed` index of the rule → tries that failed."""
    for index, rule in enumerate(rules):
        if not matches(rule, message):
            continue
        if rule.pairs["ACTION"] == "IGNORE":
            return rule  # it cannot fail, so nothing behind it is reached
        if failed.get(index, 0) < rule.retry:
            return rule
    return None
