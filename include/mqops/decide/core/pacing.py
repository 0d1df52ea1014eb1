"""How a plan is carried out: canaries, pace, depth of destinations. It is part of the plan and is approved with it.

1. The values of the run hold for all its messages. A rule's CANARY replaces that of the run for the messages of the
   rule. A rule's PACE holds in addition to that of the run: neither is ever exceeded.
2. The digest of a plan covers it: SHA-256 over the digest of the rows and the canonical JSON. A plan that is carried
   out without any of it has the digest of its rows alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from mqops.as_json import JsonObject, json_object
from mqops.counted import counted
from mqops.rules import Rule
from mqops.type_adapter import adapter_of

DEFAULT_WAIT = 30
DEFAULT_PATIENCE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRule:
    """What a rule asks for: `canary` messages, `pace` messages a second; 0: as the run."""

    canary: int = 0
    pace: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """How a plan is carried out. In the plan and in the estate its key is `handling`.

    Parameters: `canary` messages of each destination and rule that go first, 0 for none; `canary_wait` seconds to wait
    for canaries that come back; `pace` messages a second, 0 for no limit; `in_flight` the depth of a destination from
    which on nothing more is put there, 0 for no limit; `patience` seconds to wait for room on a destination; `rules`
    rule key → what the rule asks for.
    """

    canary: int = 0
    canary_wait: int = DEFAULT_WAIT
    pace: int = 0
    in_flight: int = 0
    patience: int = DEFAULT_PATIENCE
    rules: Mapping[str, OfRule] = field(default_factory=dict)

    def of_table(self, rules: Iterable[Rule]) -> Pacing:
        """The same with what the rules of a table ask for."""
        asked = {rule.key: OfRule(canary=rule.canary, pace=rule.pace) for rule in rules}
        return replace(self, rules={key: each for key, each in sorted(asked.items()) if each != OfRule()})

    def stricter(self, more: Pacing) -> Pacing:
        """The same with what the person who carries it out asks for besides: more care, never less.

        Parameters: `more` canaries where the plan has none, a lower pace, fewer messages on a destination, longer
        waits.
        """
        return replace(
            self,
            canary=self.canary or more.canary,
            canary_wait=max(self.canary_wait, more.canary_wait) if self.has_canaries else more.canary_wait,
            pace=min(filter(None, (self.pace, more.pace)), default=0),
            in_flight=min(filter(None, (self.in_flight, more.in_flight)), default=0),
            patience=max(self.patience, more.patience) if self.in_flight else more.patience,
        )

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

    def to_json(self) -> JsonObject:
        """A JSON object; empty where nothing is asked for."""
        if not (self.has_canaries or self.has_pace or self.in_flight):
            return {}
        return json_object(self)

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> Pacing:
        """What `to_json` made. Raises `ValueError`."""
        return adapter_of(cls).validate_python(value)

    def remarks(self) -> tuple[str, ...]:
        """The lines that an approver reads."""
        said = []
        if self.has_canaries:
            rules = sorted({rule.canary for rule in self.rules.values() if rule.canary})
            run = counted(self.canary, "message") if self.canary else "messages"
            by_rules = f" (by rules: {', '.join(map(str, rules))})" if rules else ""
            said.append(
                f"canaries: {run}{by_rules} of each destination and rule go first; after {self.canary_wait} s the rest "
                "follows where all were read and none came back"
            )
        if self.has_pace:
            paces = sorted({rule.pace for rule in self.rules.values() if rule.pace})
            run = counted(self.pace, "message a second", "messages a second") if self.pace else "no limit"
            said.append(f"pace: {run}" + (f"; by rules: {', '.join(map(str, paces))} a second" if paces else ""))
        if self.in_flight:
            said.append(
                f"in flight: nothing is put on a destination with {counted(self.in_flight, 'message')}, "
                f"if its depth is known; after {self.patience} s without room the rest for it is left"
            )
        return tuple(said)


OF_RUN = tuple(one.name for one in fields(Pacing) if one.name != "rules")
"""What a run can ask for: each is an option of the commands, a field of the forms and of `PacingSection` of the estate,
and an argument of the job that decides."""
NO_LIMITS = Pacing()
"""No canaries, no rate limit, no limit on the depth of destinations."""


def covered(rows_digest: str, pacing: Mapping[str, object]) -> str:
    """Rule 2: the digest of a plan. Parameters: `pacing` as `Pacing.to_json` gives it."""
    if not pacing:
        return rows_digest
    text = json.dumps(pacing, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{rows_digest} {text}".encode()).hexdigest()
