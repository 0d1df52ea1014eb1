"""Which messages of a recorded snapshot two versions of a rules table handle differently."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.as_json import JsonObject
from mqops.decide.on_snapshot import Recorded, SnapshotDecision, Tally
from mqops.rules import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Messages with the same old and the same new decision.

    Parameters: `old_lines`, `new_lines` of the rules, None for no rule; `bytes` of their bodies; `message_ids` (hex) of
    the first few.
    """

    old: SnapshotDecision
    new: SnapshotDecision
    old_lines: tuple[int | None, ...]
    new_lines: tuple[int | None, ...]
    messages: int
    bytes: int
    message_ids: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return {
            "old": {**self.old._asdict(), "lines": list(self.old_lines)},
            "new": {**self.new._asdict(), "lines": list(self.new_lines)},
            "messages": self.messages,
            "bytes": self.bytes,
            "message_ids": list(self.message_ids),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesDiff:
    """`messages` looked at, `changed` of them with another decision, the largest group of `changes` first."""

    messages: int
    changes: tuple[Change, ...]

    @property
    def changed(self) -> int:
        """Messages with another decision."""
        return sum(change.messages for change in self.changes)

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return {
            "messages": self.messages,
            "changed": self.changed,
            "bytes": sum(change.bytes for change in self.changes),
            "changes": [change.to_json() for change in self.changes],
        }


@dataclass(slots=True)
class _Group:
    tally: Tally
    old_lines: set[int | None]
    new_lines: set[int | None]


def rules_diff(snapshot: Recorded, old: Table, new: Table) -> RulesDiff:
    """Compare what two tables do now with each message, tries of earlier runs counted for both.

    What happens when the tries of a rule have failed is not looked at. Raises `LakeError`.
    """
    groups: dict[tuple[SnapshotDecision, SnapshotDecision], _Group] = {}
    seen, by_old, by_new = 0, snapshot.decision_by(old), snapshot.decision_by(new)
    for message in snapshot.messages(*old.questions, *new.questions):
        seen += 1
        (before, old_line), (after, new_line) = by_old(message), by_new(message)
        if before == after:
            continue
        group = groups.setdefault((before, after), _Group(Tally(), set(), set()))
        group.tally.add(message)
        group.old_lines.add(old_line)
        group.new_lines.add(new_line)
    changes = [_change(old_decision, new_decision, group) for (old_decision, new_decision), group in groups.items()]
    return RulesDiff(messages=seen, changes=tuple(sorted(changes, key=lambda c: (-c.messages, c.old, c.new))))


def _change(old: SnapshotDecision, new: SnapshotDecision, group: _Group) -> Change:
    return Change(
        old=old,
        new=new,
        old_lines=_sorted(group.old_lines),
        new_lines=_sorted(group.new_lines),
        messages=group.tally.messages,
        bytes=group.tally.bytes,
        message_ids=tuple(group.tally.ids),
    )


def _sorted(lines: set[int | None]) -> tuple[int | None, ...]:
    return tuple(sorted(lines, key=lambda line: (line is None, line or 0)))
