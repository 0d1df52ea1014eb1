"""Proofs about two patterns: that one matches whatever the other does, that both match something.

1. A field is a text that does not end in a blank, then blanks up to its width. The text of an extension has neither
   width nor padding: its width is None.
2. A pattern is an automaton that reads the text; its positions are the bits of a number. `?*` stands for `*?`, `**` and
   the like, which match the same. Where the text ends, what is left of the pattern must be asterisks, and blanks that
   the padding has.
3. One covers another where no text leads the other to an end and it to none. The other is followed from one position to
   the next, and it along with all the positions it could be in; of two such sets the smaller decides.
4. Characters that neither pattern names behave alike, so one of them stands for all.
5. Most pairs differ in the letters before their first wildcards or behind their last ones: that is looked at first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

MOST_STEPS = 500_000
_OTHER = "\N{NULL}other"
"""Stands for every character that neither pattern names; never equal to a character of a pattern."""
_WILD = re.compile(r"[?*]+")
_LETTERS = re.compile(r"[^?*]*")


class TooMuch(Exception):
    """There are no more steps left for proofs: leave what is not proved yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Automaton:
    """A pattern for fields of a width, and as bits: where its asterisks are, where a character is taken, where it ends.

    `ends` has one entry for each number of blanks in the padding, the last one for all that are greater; `examples` are
    texts it matches, with nothing or a strange character for its asterisks: most proofs end with them.
    """

    pattern: str
    width: int | None
    start: int
    stars: int
    single: int
    letters: Mapping[str, int]
    ends: tuple[int, ...]
    examples: tuple[tuple[str, ...], ...] = ()

    def after(self, positions: int, character: str) -> int:
        """The positions after one character more of the text."""
        moved = (positions & self.letters.get(character, self.single)) << 1 | positions & self.stars
        return moved | (moved & self.stars) << 1

    def ended(self, positions: int, length: int) -> bool:
        """Whether the pattern matches where the text ends here, after so many characters."""
        padding = 0 if self.width is None else self.width - length
        return bool(positions & self.ends[min(padding, len(self.ends) - 1)])

    def matches(self, text: Sequence[str]) -> bool:
        """Whether it matches a text that does not end in a blank."""
        positions = self.start
        for character in text:
            positions = self.after(positions, character)
            if not positions:
                return False
        return self.ended(positions, len(text))

    def taken(self, position: int) -> str:
        """What is taken at a position, a bit; nothing at the end."""
        at = position.bit_length() - 1
        return self.pattern[at : at + 1]


@lru_cache(maxsize=4096)
def _automaton(pattern: str, width: int | None) -> _Automaton:
    normal = _WILD.sub(lambda wild: "?" * wild[0].count("?") + "*" * ("*" in wild[0]), pattern)
    stars, single = _places(normal, "*"), _places(normal, "?")
    tail = len(normal.rstrip("* "))
    blanks_behind = {at: normal[at:].count(" ") for at in range(tail, len(normal) + 1)}
    built = _Automaton(
        pattern=normal,
        width=width,
        start=1 | (stars & 1) << 1,
        stars=stars,
        single=single,
        letters={letter: single | _places(normal, letter) for letter in set(normal) - {"*", "?"}},
        ends=tuple(
            sum(1 << at for at, blanks in blanks_behind.items() if blanks <= padding)
            for padding in range(blanks_behind[tail] + 1)
        ),
    )
    return replace(built, examples=tuple(_examples(built)))


def _places(pattern: str, character: str) -> int:
    return sum(1 << at for at, one in enumerate(pattern) if one == character)


def _examples(automaton: _Automaton) -> Iterator[tuple[str, ...]]:
    for instead in ([], [_OTHER]):
        pieces = {"*": instead, "?": [_OTHER]}
        text = [one for taken in automaton.pattern for one in pieces.get(taken, [taken])]
        while text[-1:] == [" "]:
            text.pop()
        if len(text) <= (inf if automaton.width is None else automaton.width) and automaton.matches(text):
            yield tuple(text)


def _bits(positions: int) -> Iterator[int]:
    while positions:
        lowest = positions & -positions
        yield lowest
        positions ^= lowest


def start_of(pattern: str) -> str:
    """What every field that a pattern matches begins with, its padding included: one blank at least ends a text."""
    letters = pattern[: _letters(pattern)]
    return letters if letters != pattern else f"{pattern} "


def _apart(one: str, two: str) -> bool:
    """Whether the letters before the first wildcards, or behind the last ones, are such that no field matches both."""
    first, second = start_of(one), start_of(two)
    if not (first.startswith(second) or second.startswith(first)):
        return True
    first, second = (pattern[len(pattern) - _letters(pattern[::-1]) :] for pattern in (one, two))
    return not (first.endswith(second) or second.endswith(first))


def _letters(pattern: str) -> int:
    """How many characters stand before the first wildcard."""
    found = _LETTERS.match(pattern)
    return found.end() if found else 0


_Prove = Callable[[_Automaton, _Automaton], bool]


class Proofs:
    """Proves with so many steps and no more, each pair of patterns once. A question is a step, whatever its answer."""

    def __init__(self, most_steps: float = MOST_STEPS) -> None:
        self._left = most_steps
        self._known: dict[tuple[str, str, str, int | None], bool] = {}

    def covers(self, wider: str, narrower: str, width: int | None) -> bool:
        """Whether every field that `narrower` matches is matched by `wider`. Raises TooMuch."""
        self.step()
        matches_some = width is None or len(narrower.replace("*", "")) <= width
        if matches_some and _apart(wider, narrower):
            return False
        return self._once(wider, narrower, width, self._covers)

    def meet(self, one: str, two: str, width: int | None) -> bool:
        """Whether there is a field that both match. Raises TooMuch."""
        self.step()
        return not _apart(one, two) and self._once(one, two, width, self._meet)

    def step(self) -> None:
        """One step of those there are. Raises TooMuch."""
        self._left -= 1
        if self._left < 0:
            raise TooMuch

    def _once(self, one: str, two: str, width: int | None, prove: _Prove) -> bool:
        key = (prove.__name__, one, two, width)
        if key not in self._known:
            self._known[key] = prove(_automaton(one, width), _automaton(two, width))
        return self._known[key]

    def _covers(self, wider: _Automaton, narrower: _Automaton) -> bool:
        if not all(wider.matches(text) for text in narrower.examples):
            return False
        if narrower.ended(narrower.start, 0) and not wider.ended(wider.start, 0):
            return False
        alphabet = [_OTHER, *sorted({*wider.letters, *narrower.letters, " "})]
        # It matters how much padding is left only where a pattern ends in blanks.
        counts = wider.width is not None and len(wider.ends) + len(narrower.ends) > 2
        seen: dict[tuple[int, int], list[int]] = {}
        texts = {(position, wider.start) for position in _bits(narrower.start)}
        length = 0
        while texts and length != wider.width:
            length += 1
            longer: set[tuple[int, int]] = set()
            for position, positions in texts:
                taken = narrower.taken(position)
                for character in alphabet if taken in ("*", "?") else filter(None, [taken]):
                    self.step()
                    ahead, along = narrower.after(position, character), wider.after(positions, character)
                    if character != " " and narrower.ended(ahead, length) and not wider.ended(along, length):
                        return False
                    for place in _bits(ahead):
                        if _is_news(seen.setdefault((place, length if counts else 0), []), along):
                            longer.add((place, along))
            texts = longer
        return True

    def _meet(self, one: _Automaton, two: _Automaton) -> bool:
        if one.ended(one.start, 0) and two.ended(two.start, 0):
            return True
        texts = {(first, second) for first in _bits(one.start) for second in _bits(two.start)}
        reached = set(texts)
        length = 0
        while texts and length != one.width:
            length += 1
            longer: set[tuple[int, int]] = set()
            for first, second in texts:
                self.step()
                wanted = {one.taken(first), two.taken(second)} - {"*", "?"}
                character = wanted.pop() if wanted else _OTHER
                ahead, along = one.after(first, character), two.after(second, character)
                if character != " " and one.ended(ahead, length) and two.ended(along, length):
                    return True
                longer |= {(place, other) for place in _bits(ahead) for other in _bits(along)}
            texts = longer - reached
            reached |= texts
        return False


def _is_news(seen: list[int], positions: int) -> bool:
    """Whether no part of these positions was seen; then they are, in place of all that they are a part of."""
    if any(one & positions == one for one in seen):
        return False
    seen[:] = [one for one in seen if one & positions != positions]
    seen.append(positions)
    return True
