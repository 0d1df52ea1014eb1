"""The rows of a run's plan that would stay where they are, because their destinations did not take them at the look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mqops.actions import Action
from mqops.decide.arrow import read_plan
from mqops.decide.core.staying import Name, staying
from mqops.decide.preflight_record import PREFLIGHT
from mqops.lake.run import RunFolder
from mqops.model import Destination


class Stays(NamedTuple):
    """Messages of a rule that would stay, though the plan moves them. Parameters: `rule_key` "" for none."""

    queue: str
    rule_line: int | None
    action: str
    messages: int
    rule_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StayingRows:
    """Parameters: `at` when the destinations were looked at, ISO 8601 UTC; `refused` destination that takes none → why;
    `short` destination without room for all → the first row that gets none, and why; `by_rule` only rules of which
    messages stay."""

    at: str = ""
    refused: Mapping[Name, str] = field(default_factory=dict)
    short: Mapping[Name, tuple[int, str]] = field(default_factory=dict)
    by_rule: tuple[Stays, ...] = ()

    def why(self, row: int, dest_q: str, dest_q_mgr: str) -> str:
        """Why the message of a row would stay, "" where it would not."""
        name = Destination(dest_q, dest_q_mgr)
        if name in self.refused:
            return self.refused[name]
        first, why = self.short.get(name, (0, ""))
        return why if row >= first else ""


class _Row(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that are needed here."""

    row: int
    queue: str
    rule_line: int | None
    rule_key: str | None
    action: Action
    dest_q: str
    dest_q_mgr: str


def staying_rows(run: RunFolder, digest: str) -> StayingRows:
    """The rows of a run's plan that would stay. Parameters: `digest` of its plan. Raises `LakeError`, `PlanChanged`."""
    found = PREFLIGHT.find(run)
    stay = staying(found, digest)
    if found is None or not stay.messages:
        return StayingRows()
    short = dict[Name, tuple[int, str]]()
    for one in stay.short:
        rows = sorted(row.row for row in _put(run) if (row.dest_q, row.dest_q_mgr) in one.names)
        short.update(dict.fromkeys(one.names, (rows[one.room], one.why)))
    without_rules = StayingRows(at=found.checked_at, refused=stay.refused, short=short)
    by_rule = Counter(
        (row.queue, row.rule_line, row.action.value, row.rule_key or "")
        for row in _put(run)
        if without_rules.why(row.row, row.dest_q, row.dest_q_mgr)
    )
    stays = (Stays(queue, line, word, number, key) for (queue, line, word, key), number in by_rule.items())
    return replace(without_rules, by_rule=tuple(stays))


def _put(run: RunFolder) -> Iterator[_Row]:
    """The rows that put a message."""
    return (row for row in read_plan(run.plan, _Row) if row.action.acts and not row.action.discards)
