"""What a plan adds up to, taken while its rows go by: digests, counts per rule and per group, samples of the groups.

`mqops.decide.spark.counts` is the same for many messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa

from mqops.actions import Action
from mqops.decide.arrow import row_digests
from mqops.decide.core import PlanCount, RuleCount, Sample, plan_digest
from mqops.decide.core.decided import DecidedRow
from mqops.decide.core.summary import MOST_GROUPS, SAMPLES
from mqops.decide.samples import masked
from mqops.observe.core.put_time import put_instant
from mqops.observe.core.reasons import reason_symbol
from mqops.plan_row import PlanRow


class _Totals(TypedDict):
    messages: int
    bytes: int
    oldest: str


@dataclass(slots=True)
class _Tally:
    messages: int = 0
    bytes: int = 0
    oldest: str = ""
    first: list[PlanRow] = field(default_factory=list)

    def add(self, row: PlanRow) -> None:
        if self.messages < SAMPLES:
            self.first.append(row)
        self.messages += 1
        self.bytes += row.body_length
        put = row.put_date + row.put_time
        if put.isdigit() and (not self.oldest or put < self.oldest):
            self.oldest = put

    def values(self) -> _Totals:
        oldest = put_instant(self.oldest[:8], self.oldest[8:])
        return {"messages": self.messages, "bytes": self.bytes, "oldest": oldest}


_RULE = ("rule_line", "rule_key", "action")
_GROUP = (*_RULE, "dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "dest_q", "dest_q_mgr")
_rule_of, _group_of = attrgetter(*_RULE), attrgetter(*_GROUP)


def _by_line(rule: tuple[Any, ...]) -> tuple[bool, int, Action]:
    line, _key, action = rule
    return line is None, line or 0, action


@dataclass(slots=True)
class PlanTotals:
    """Digests and counts, taken while the rows go by.

    Attributes: `used_up` line of a rule → messages ignored since its tries are used up; `due` when each message that
    waits may be put again.
    """

    digests: list[str] = field(default_factory=list)
    rules: dict[tuple[Any, ...], _Tally] = field(default_factory=dict)
    groups: dict[tuple[Any, ...], _Tally] = field(default_factory=dict)
    used_up: Counter[int] = field(default_factory=Counter)
    due: list[datetime] = field(default_factory=list)

    def add(self, row: PlanRow) -> None:
        self.rules.setdefault(_rule_of(row), _Tally()).add(row)
        self.groups.setdefault(_group_of(row), _Tally()).add(row)

    def noting(self, rows: Iterable[DecidedRow]) -> Iterator[PlanRow]:
        for decided in rows:
            row = decided.row
            self.add(row)
            if row.action is Action.IGNORE and decided.used_up is not None:
                self.used_up[decided.used_up] += 1
            if row.action is Action.LATER and decided.due is not None:
                self.due.append(decided.due)
            yield row

    def digested(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches. Their digests are taken."""
        for batch in batches:
            self.digests += row_digests(batch)
            yield batch

    def digest(self) -> str:
        """The digest of the rows."""
        return plan_digest(self.digests)

    def groups_left_off(self) -> int:
        """How many groups `counts` leaves off."""
        return max(0, len(self.groups) - MOST_GROUPS)

    def rule_counts(self) -> tuple[RuleCount, ...]:
        order = sorted(self.rules, key=_by_line)
        return tuple(RuleCount(**dict(zip(_RULE, rule, strict=True)), **self.rules[rule].values()) for rule in order)

    def counts(self, snapshot: Path) -> tuple[PlanCount, ...]:
        """The largest groups with samples, whose texts are in the snapshot; those that are ignored last."""
        largest = sorted(self.groups, key=self._size)[:MOST_GROUPS]
        first = [one for group in largest for one in self.groups[group].first]
        shapes = masked(snapshot, [(one.msg_id, one.body_sha256) for one in first])
        return tuple(self._count(group, shapes) for group in largest)

    def _size(self, group: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is ignored last: a message that a person has chosen is not left off for thousands that nobody chose.
        Then the largest first, equal ones in the order of their names, those without a name before the others."""
        names = ((value is not None, value) for value in group)
        return (group[_GROUP.index("action")] is Action.IGNORE, -self.groups[group].messages, *names)

    def _count(self, group: tuple[Any, ...], shapes: Mapping[tuple[bytes, bytes], str]) -> PlanCount:
        tally = self.groups[group]
        line, key, action, reason, origin_q, origin_q_mgr, dest_q, dest_q_mgr = group
        return PlanCount(
            rule_line=line,
            rule_key=key,
            action=action,
            reason=reason,
            symbol=reason_symbol(reason),
            origin_q=origin_q,
            origin_q_mgr=origin_q_mgr,
            dest_q=dest_q,
            dest_q_mgr=dest_q_mgr,
            **tally.values(),
            samples=tuple(
                Sample(
                    row=one.row,
                    msg_id=one.msg_id.hex(),
                    put_at=put_instant(one.put_date, one.put_time),
                    put_appl_name=one.put_appl_name,
                    bytes=one.body_length,
                    shape=shapes[one.msg_id, one.body_sha256],
                )
                for one in tally.first
                if (one.msg_id, one.body_sha256) in shapes
            ),
        )
