"""An index of rules: it finds the rules that may match a message which another rule matches.

A rule is filed once: under the first letters of one of its values, the letters that are rarest in the table. A number
is filed under its digits. A rule that is not found matches no message of the other rule. Conditions of extensions are
not used.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mqops.rules.model import Rule
from mqops.rules.pattern_proofs import start_of


class _Shelf:
    """Positions of rules by the letters that the values of one keyword begin with."""

    def __init__(self, filed: Iterable[tuple[str, int]]) -> None:
        self._positions: dict[str, list[int]] = {}
        for start, position in filed:
            self._positions.setdefault(start, []).append(position)
        self._starts = sorted(self._positions)

    def near(self, start: str) -> Iterator[int]:
        """Positions filed under these letters, under longer ones that begin with them, or under their beginning."""

        def cut(longer: str) -> str:
            return longer[: len(start)]

        first, end = (bisect(self._starts, start, key=cut) for bisect in (bisect_left, bisect_right))
        shorter = (start[:length] for length in range(1, len(start)))
        for found in (*self._starts[first:end], *shorter):
            yield from self._positions.get(found, ())

    def all(self) -> Iterator[int]:
        """Every position."""
        return self.near("")


class Candidates:
    """Some rules of a table, in its order."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        starts = [[one for one in _starts(rule) if one[1]] for rule in rules]
        often = Counter(one for some in starts for one in some)
        self._anywhere: list[int] = []
        filed: dict[str, list[tuple[str, int]]] = {}
        for position, some in enumerate(starts):
            if some:
                name, start = min(some, key=often.__getitem__)
                filed.setdefault(name, []).append((start, position))
            else:
                self._anywhere.append(position)
        self._shelves = {name: _Shelf(some) for name, some in filed.items()}

    def covering(self, rule: Rule) -> list[Rule]:
        """Rules that may match every message that `rule` matches."""
        return self._in_order(self._near(rule))

    def meeting(self, rule: Rule) -> list[Rule]:
        """Rules that may match a message that `rule` matches."""
        asked = rule.conditions().keys()
        unasked = (position for name, shelf in self._shelves.items() if name not in asked for position in shelf.all())
        return self._in_order((*self._near(rule), *unasked))

    def _near(self, rule: Rule) -> Iterator[int]:
        yield from self._anywhere
        for name, start in _starts(rule):
            if name in self._shelves:
                yield from self._shelves[name].near(start)

    def _in_order(self, positions: Iterable[int]) -> list[Rule]:
        return [self._rules[position] for position in sorted(positions)]


def _starts(rule: Rule) -> list[tuple[str, str]]:
    return [(name, start_of(str(value))) for name, value in rule.conditions().items()]
