"""How a plan is carried out: canaries, pace, most in flight. It is part of the plan, and what is approved.

1. What the run asks for holds for all its messages. A rule's CANARY takes the place of the run's for its messages; its
   PACE is kept besides the run's, so that neither is ever exceeded.
2. The digest of a plan covers it: SHA-256 over the digest of the rows and the canonical JSON. A plan that is carried
   out without any of it has the digest of its rows alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mqops.rules import Rule

DEFAULT_WAIT = 30
DEFAULT_PATIENCE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRule:
    """What a rule asks for: `canary` messages, `pace` messages a second; 0: what the run does."""

    canary: int = 0
    pace: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """Parameters: `canary` messages of each destination and rule that go first, 0 for none; `canary_wait` seconds until
    it is decided whether they came back; `pace` messages a second, 0 for no limit; `in_flight` most messages that may
    stand on a destination, 0 for no limit; `patience` seconds to wait for a destination to have room; `rules` rule key
    → what the rule asks for.
    """

    canary: int = 0
    canary_wait: int = DEFAULT_WAIT
    pace: int = 0
    in_flight: int = 0
    patience: int = DEFAULT_PATIENCE
    rules: Mapping[str, OfRule] = field(default_factory=dict)

    def of_table(self, rules: Iterable[Rule]) -> Handling:
        """The same with what the rules of a table ask for."""
        asked = {rule.key: OfRule(canary=rule.canary, pace=rule.pace) for rule in rules}
        return replace(self, rules={key: each for key, each in sorted(asked.items()) if each != OfRule()})

    def canaries(self, rule_key: str) -> int:
        """How many messages a rule sends ahead to each destination."""
        of_rule = self.rules.get(rule_key)
        return of_rule.canary if of_rule and of_rule.canary else self.canary

    @property
    def has_canaries(self) -> bool:
        """Whether any messages are sent ahead."""
        return bool(self.canary) or any(rule.canary for rule in self.rules.values())

    @property
    def has_pace(self) -> bool:
        """Whether anything limits the pace."""
        return bool(self.pace) or any(rule.pace for rule in self.rules.values())

    def to_json(self) -> dict[str, Any]:
        """A JSON object; empty where nothing is asked for."""
        if not (self.has_canaries or self.has_pace or self.in_flight):
            return {}
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Handling:
        """What `to_json` made."""
        rules = {key: OfRule(**rule) for key, rule in value.get("rules", {}).items()}
        return cls(**{**value, "rules": rules})

    def remarks(self) -> tuple[str, ...]:
        """What an approver is told of it, a line each."""
        said = []
        if self.has_canaries:
            rules = sorted({rule.canary for rule in self.rules.values() if rule.canary})
            run = f"{self.canary} messages" if self.canary else "messages"
            by_rules = f" (by rules: {', '.join(map(str, rules))})" if rules else ""
            said.append(
                f"canaries: {run}{by_rules} of each destination and rule go first; after {self.canary_wait} s the rest "
                "follows where none came back"
            )
        if self.has_pace:
            paces = sorted({rule.pace for rule in self.rules.values() if rule.pace})
            run = f"{self.pace} messages a second" if self.pace else "no limit"
            said.append(f"pace: {run}" + (f"; by rules: {', '.join(map(str, paces))} a second" if paces else ""))
        if self.in_flight:
            said.append(
                f"in flight: nothing is put on a destination with {self.in_flight} messages, "
                f"where its depth can be told; after {self.patience} s without room the rest for it is left"
            )
        return tuple(said)


AS_EVER = Handling()
"""Nothing is asked for."""


def covered(rows_digest: str, handling: Mapping[str, Any]) -> str:
    """Rule 2: the digest of a plan. Parameters: `handling` as `Handling.to_json` gives it."""
    if not handling:
        return rows_digest
    text = json.dumps(handling, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(f"{rows_digest} {text}".encode()).hexdigest()
