"""Which messages of a recorded snapshot change fate between two versions of a rules table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mqops.decide.on_snapshot import Fate, Recorded, Tally
from mqops.rules import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Messages with the same old and the same new fate.

    Parameters: `old_lines`, `new_lines` of the rules, None for no rule; `bytes` of their bodies; `message_ids` (hex) of
    the first few.
    """

    old: Fate
    new: Fate
    old_lines: tuple[int | None, ...]
    new_lines: tuple[int | None, ...]
    messages: int
    bytes: int
    message_ids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
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
    """`messages` looked at, `changed` of them with another fate, the largest group of `changes` first."""

    messages: int
    changes: tuple[Change, ...]

    @property
    def changed(self) -> int:
        """Messages with another fate."""
        return sum(change.messages for change in self.changes)

    def to_json(self) -> dict[str, Any]:
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

    What a rule does when its tries have failed is another run's fate. Raises `LakeError`.
    """
    groups: dict[tuple[Fate, Fate], _Group] = {}
    seen, judge_old, judge_new = 0, snapshot.judge(old), snapshot.judge(new)
    for message in snapshot.messages(*old.questions, *new.questions):
        seen += 1
        (before, old_line), (after, new_line) = judge_old(message), judge_new(message)
        if before == after:
            continue
        group = groups.setdefault((before, after), _Group(Tally(), set(), set()))
        group.tally.add(message)
        group.old_lines.add(old_line)
        group.new_lines.add(new_line)
    changes = [_change(old_fate, new_fate, group) for (old_fate, new_fate), group in groups.items()]
    return RulesDiff(messages=seen, changes=tuple(sorted(changes, key=lambda c: (-c.messages, c.old, c.new))))


def _change(old: Fate, new: Fate, group: _Group) -> Change:
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
