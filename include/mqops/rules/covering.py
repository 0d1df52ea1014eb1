"""Proof that one rule matches whatever another one matches.

Two patterns are compared as automata: the second is followed through every field it accepts, the first runs along
with all the positions it could be in. If the first accepts wherever the second does, it covers it. Characters that
neither pattern names behave alike, so one of them stands for all. A proof that grows too large is given up.
"""

from __future__ import annotations

from functools import lru_cache

from mqops.rules.keywords import PATTERN_KEYWORDS, Kind
from mqops.rules.model import Rule
from mqops.rules.pattern import wild_match

_MOST_STATES = 5_000
_OTHER = "\N{NULL}other"
"""Stands for every character that neither pattern names; never equal to a character of a pattern."""


def covers(first: Rule, second: Rule) -> bool:
    """True if it is proved that `first` matches every message `second` matches.

    Extensions are not compared: each of the first's must stand in the second, too.
    """
    if not set(first.extensions) <= set(second.extensions):
        return False
    wider, narrower = first.conditions(), second.conditions()
    for name, value in wider.items():
        if name not in narrower:
            if not (isinstance(value, str) and pattern_covers(value, "*", PATTERN_KEYWORDS[name].length)):
                return False
        elif PATTERN_KEYWORDS[name].kind is Kind.NUMBER:
            if value != narrower[name]:
                return False
        elif not pattern_covers(str(value), str(narrower[name]), PATTERN_KEYWORDS[name].length):
            return False
    return True


def overlap(first: Rule, second: Rule) -> bool:
    """True if some message may match both rules."""
    one, two = first.conditions(), second.conditions()
    for name in one.keys() & two.keys():
        if PATTERN_KEYWORDS[name].kind is Kind.NUMBER:
            if one[name] != two[name]:
                return False
        elif not patterns_meet(str(one[name]), str(two[name])):
            return False
    return True


@lru_cache(maxsize=4096)
def patterns_meet(one: str, two: str) -> bool:
    """True if some text matches both patterns; the width of the field is not looked at, and padding is none.

    Every pair of positions is looked at once: both patterns take a character that the other can take, too.
    """
    reached = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        at, to = waiting.pop()
        if not one[at:].strip("*") and not two[to:].strip("*"):
            return True
        for place in _both_after(one, at, two, to):
            if place not in reached:
                reached.add(place)
                waiting.append(place)
    return False


def _both_after(one: str, at: int, two: str, to: int) -> list[tuple[int, int]]:
    """Where both patterns can be after one character, or after an asterisk that takes nothing."""
    first, second = one[at : at + 1], two[to : to + 1]
    after = []
    if first == "*":
        after.append((at + 1, to))
        if second:
            after.append((at, to + 1))
    if second == "*":
        after.append((at, to + 1))
        if first:
            after.append((at + 1, to))
    if first and second and "*" not in (first, second) and (first == second or "?" in (first, second)):
        after.append((at + 1, to + 1))
    return after


@lru_cache(maxsize=4096)
def pattern_covers(wider: str, narrower: str, width: int) -> bool:
    """True if it is proved that every field of `width` characters that `narrower` matches is matched by `wider`."""
    if any(not wild_match(wider, field, width) for field in _examples(wider, narrower, width)):
        return False
    alphabet = (set(wider) | set(narrower) | {" "}) - {"*", "?"} | {_OTHER}
    start = (_closed(wider, {0}), _closed(narrower, {0}))
    # A field is a text that does not end in a blank, then padding. One round per length of that text.
    texts: dict[tuple[frozenset[int], frozenset[int]], bool] = {start: True}
    seen = 0
    for length in range(width + 1):
        seen += len(texts)
        if seen > _MOST_STATES:
            return False
        for (one, two), complete in texts.items():
            if complete and _accepts(narrower, two, width - length) and not _accepts(wider, one, width - length):
                return False
        texts = _longer(wider, narrower, texts, alphabet)
    return True


def _examples(wider: str, narrower: str, width: int) -> list[str]:
    """A few fields that `narrower` matches, filled with a character neither pattern names: most pairs fail on them."""
    other = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in wider and c not in narrower)
    least = narrower.replace("?", other)
    room = width - len(least.replace("*", ""))
    fields = [least.replace("*", "")]
    if "*" in least and room > 0:
        fields += [least.replace("*", other, 1).replace("*", ""), least.replace("*", other * room, 1).replace("*", "")]
    return fields


def _longer(
    wider: str, narrower: str, texts: dict[tuple[frozenset[int], frozenset[int]], bool], alphabet: set[str]
) -> dict[tuple[frozenset[int], frozenset[int]], bool]:
    """The positions after one character more, and whether that character can be the last (it is not a blank)."""
    after: dict[tuple[frozenset[int], frozenset[int]], bool] = {}
    for one, two in texts:
        for character in alphabet:
            moved = (_moved(wider, one, character), _moved(narrower, two, character))
            if moved[1]:
                after[moved] = after.get(moved, False) or character != " "
    return after


def _closed(pattern: str, positions: set[int]) -> frozenset[int]:
    """Adds the positions behind asterisks, which may take nothing."""
    every = set(positions)
    for position in positions:
        here = position
        while here < len(pattern) and pattern[here] == "*":
            here += 1
            every.add(here)
    return frozenset(every)


def _moved(pattern: str, positions: frozenset[int], character: str, *, padding: bool = False) -> frozenset[int]:
    """The positions after one character; in the padding `?` takes nothing, and the end of the pattern takes blanks."""
    after: set[int] = set()
    for position in positions:
        wanted = pattern[position] if position < len(pattern) else ""
        if wanted == "*" or (padding and wanted == ""):
            after.add(position)
        elif wanted == character or (wanted == "?" and not padding):
            after.add(position + 1)
    return _closed(pattern, after)


def _accepts(pattern: str, positions: frozenset[int], padding: int) -> bool:
    for _ in range(padding):
        if len(pattern) in positions:
            return True
        positions = _moved(pattern, positions, " ", padding=True)
    return len(pattern) in positions
