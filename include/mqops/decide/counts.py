"""What a plan adds up to, taken while its rows go by: digests, counts per rule and per group, samples of the groups.

`mqops.decide.spark.counts` is the same for many messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mqops.decide.core import PlanCount, RuleCount, Sample, row_digest
from mqops.decide.core.mask import TEXT_COLUMNS, shape
from mqops.decide.core.summary import MOST_GROUPS, SAMPLES
from mqops.lake.bodies import rows_with
from mqops.observe.core.put_time import put_instant
from mqops.observe.core.reasons import reason_symbol


class _First(NamedTuple):
    """What the plan says of a message that is shown as a sample."""

    row: int
    msg_id: bytes
    body_sha256: bytes
    put_date: str
    put_time: str
    put_appl_name: str
    body_length: int


@dataclass(slots=True)
class _Tally:
    messages: int = 0
    bytes: int = 0
    oldest: str = ""
    first: list[_First] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        if self.messages < SAMPLES:
            self.first.append(_First._make(row[name] for name in _First._fields))
        self.messages += 1
        self.bytes += row["body_length"]
        put = row["put_date"] + row["put_time"]
        if put.isdigit() and (not self.oldest or put < self.oldest):
            self.oldest = put

    def values(self) -> dict[str, Any]:
        oldest = put_instant(self.oldest[:8], self.oldest[8:])
        return {"messages": self.messages, "bytes": self.bytes, "oldest": oldest}


_RULE = ("rule_line", "rule_key", "action")
_GROUP = (*_RULE, "dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "dest_q", "dest_q_mgr")


@dataclass(slots=True)
class Books:
    """Digests and counts, taken while the rows go by.

    Attributes: `used_up` line of a rule → messages ignored since its tries are used up.
    """

    digests: list[str] = field(default_factory=list)
    rules: dict[tuple[Any, ...], _Tally] = field(default_factory=dict)
    groups: dict[tuple[Any, ...], _Tally] = field(default_factory=dict)
    used_up: Counter[int] = field(default_factory=Counter)

    def noting(self, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for given in rows:
            row = {"order_key": "", "together": given["row"], **given}
            self.digests.append(row_digest(row))
            self.rules.setdefault(tuple(row[name] for name in _RULE), _Tally()).add(row)
            self.groups.setdefault(tuple(row[name] for name in _GROUP), _Tally()).add(row)
            if row["action"] == "IGNORE" and "used_up" in row:
                self.used_up[row["used_up"]] += 1
            yield row

    def rule_counts(self) -> tuple[RuleCount, ...]:
        order = sorted(self.rules, key=lambda rule: (rule[0] is None, rule[0] or 0, rule[2]))
        return tuple(RuleCount(**dict(zip(_RULE, rule, strict=True)), **self.rules[rule].values()) for rule in order)

    def counts(self, snapshot: Path) -> tuple[PlanCount, ...]:
        """The largest groups with samples, whose texts are in the snapshot."""
        largest = sorted(self.groups, key=self._size)[:MOST_GROUPS]
        shapes = _shapes(snapshot, [one for group in largest for one in self.groups[group].first])
        return tuple(self._count(group, shapes) for group in largest)

    def _size(self, group: tuple[Any, ...]) -> tuple[Any, ...]:
        """The largest first, equal ones in the order of their names, those without a name before the others."""
        return (-self.groups[group].messages, *((value is not None, value) for value in group))

    def _count(self, group: tuple[Any, ...], shapes: Mapping[tuple[bytes, bytes], str]) -> PlanCount:
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
            **self.groups[group].values(),
            samples=tuple(
                Sample(
                    row=one.row,
                    msg_id=one.msg_id.hex(),
                    put_at=put_instant(one.put_date, one.put_time),
                    put_appl_name=one.put_appl_name,
                    bytes=one.body_length,
                    shape=shapes[one.msg_id, one.body_sha256],
                )
                for one in self.groups[group].first
                if (one.msg_id, one.body_sha256) in shapes
            ),
        )


def _shapes(snapshot: Path, samples: Sequence[_First]) -> dict[tuple[bytes, bytes], str]:
    """(MsgId, digest of the body) → masked text. Of several such messages any one: they say the same."""
    wanted = {"msg_id": {one.msg_id for one in samples}, "body_sha256": {one.body_sha256 for one in samples}}
    return {(row["msg_id"], row["body_sha256"]): shape(row) for row in rows_with(snapshot, wanted, TEXT_COLUMNS)}
