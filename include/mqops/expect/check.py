"""Compares the decisions for messages with expectations. Pure: messages and decisions go in, results come out.

1. An expectation selects messages: by MsgId (or its beginning), or by patterns as a rules table has them.
2. A selected message fits if its decision is everything that the expectation says of it.
3. With a count, exactly so many messages must fit. Without, all selected must, and there must be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mqops.as_json import JsonObject
from mqops.counted import counted
from mqops.expect.file import Entry, Expectation
from mqops.rules import matches

MOST_IDS = 3


class DecisionFields(Protocol):
    """What an expectation can ask of a decision (`mqops.decide.on_snapshot.SnapshotDecision`)."""

    @property
    def action(self) -> str: ...
    @property
    def dest_q(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def dest_q_mgr(self) -> str: ...
    @property
    def header(self) -> bool: ...
    @property
    def putaut(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A message and its decision. `msg_id` in hex, `fields` pattern keyword → value, `line` of the rule or None."""

    msg_id: str
    fields: Mapping[str, str | int]
    decision: DecisionFields
    line: int | None


@dataclass(slots=True)
class Other:
    """Selected messages that do not fit, of one decision. `ids` are the first few."""

    decision: str
    messages: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Result:
    """The result of one expectation: how many messages it selects, how many fit, and what is done with the others."""

    expectation: Expectation
    selected: int = 0
    fit: int = 0
    others: dict[str, Other] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Rule 3."""
        count = self.expectation.entry.count
        return self.fit == count if count is not None else self.selected == self.fit > 0

    def add(self, seen: Seen) -> None:
        """Count a message that is selected."""
        self.selected += 1
        if fits(self.expectation.entry, seen):
            self.fit += 1
            return
        words = described(seen)
        other = self.others.setdefault(words, Other(words))
        other.messages += 1
        if len(other.ids) < MOST_IDS:
            other.ids.append(seen.msg_id)

    def to_json(self) -> JsonObject:
        """A JSON object."""
        entry = self.expectation.entry
        return {
            **{"line": self.expectation.line, "ok": self.ok, "expectation": entry.model_dump(exclude_unset=True)},
            **{"selected": self.selected, "fit": self.fit},
            "others": [
                {"fate": o.decision, "messages": o.messages, "message_ids": [*o.ids]} for o in self.others.values()
            ],
        }


def check(expectations: Iterable[Expectation], messages: Iterable[Seen]) -> list[Result]:
    """The results of all expectations, in their order."""
    results = [Result(expectation) for expectation in expectations]
    for seen in messages:
        for result in results:
            if selects(result.expectation, seen):
                result.add(seen)
    return results


def selects(expectation: Expectation, seen: Seen) -> bool:
    """Rule 1."""
    if expectation.pattern is None:
        return seen.msg_id.startswith(expectation.entry.message or "")
    return matches(expectation.pattern, seen.fields)


def fits(entry: Entry, seen: Seen) -> bool:
    """Rule 2. `to` without `@` is a queue on any queue manager; `rule: 0` means that no rule was chosen."""
    decision = seen.decision
    wanted = (
        (entry.action, decision.action),
        (entry.to, f"{decision.dest_q}@{decision.dest_q_mgr}" if "@" in (entry.to or "") else decision.dest_q),
        (entry.header, decision.header),
        (entry.putaut, decision.putaut),
        (entry.rule, seen.line or 0),
    )
    return all(said is None or said == found for said, found in wanted)


def described(seen: Seen) -> str:
    """A decision and its rule in words."""
    return f"{seen.decision} by {f'line {seen.line}' if seen.line else 'no rule'}"


def result_line(result: Result) -> str:
    """What an expectation says and how many messages fit, in words."""
    entry = result.expectation.entry
    about = f"message {entry.message}" if entry.where is None else _patterns(entry.where)
    says = [str(entry.action)] if entry.action else []
    says += [f"to {entry.to}"] if entry.to is not None else []
    says += [f"HEADER({'YES' if entry.header else 'NO'})"] if entry.header is not None else []
    says += [f"PUTAUT({entry.putaut})"] if entry.putaut else []
    says += [f"by {f'line {entry.rule}' if entry.rule else 'no rule'}"] if entry.rule is not None else []
    wanted = f"{entry.count} wanted" if entry.count is not None else "all wanted"
    decision = f" {'is' if result.fit == 1 else 'are'} {' '.join(says)}" if says else ""
    name = f"{entry.name}: " if entry.name else ""
    return f"{name}{about}: {result.fit} of {counted(result.selected, 'message')}{decision}, {wanted}"


def _patterns(where: Mapping[str, object]) -> str:
    return " ".join(f"{name.upper()}({value})" for name, value in where.items()) or "all messages"
