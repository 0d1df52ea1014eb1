"""The values of the rules language: a table, its rules, and what the parser found.

Everything here is frozen; names are stripped of trailing blanks; no value remembers how it was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mqops.actions import Action
from mqops.rules.conditions import Condition, Question
from mqops.rules.keyword import ANY
from mqops.rules.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Control data. Blank names mean the default queue manager and its dead-letter queue; times are in seconds."""

    inputq: str = ""
    inputqm: str = ""
    retryint: int = 60
    wait: Literal["YES", "NO"] | int = "YES"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Parameters: `index` from 0; `line` where the rule begins; `key` names the rule in retry counts (see `rule_keys`);
    `patterns` the pattern keywords as written (`*` where everything matches); `extensions` the conditions IBM's
    handler does not know, in the order written; `fwdq` and `fwdqm` a name, an &-name, or
    blank; `retry` the number of tries, at least 1. Extensions: `canary` so many messages are put first, alone; `pace`
    at most so many are put a second; `max_replay` a message is put at most so often; 0 of each means no such bound;
    `backoff` seconds that it waits after its first put, its second, and so on, none where it does not wait; `order`
    messages with the same GROUPID, CORRELID or property (`folder.name`) keep their order, empty for none.
    """

    index: int
    line: int
    key: str
    patterns: Mapping[str, str | int]
    extensions: tuple[Condition, ...] = ()
    action: Action
    fwdq: str = ""
    fwdqm: str = ""
    header: bool = True
    putaut: Literal["DEF", "CTX"] = "DEF"
    retry: int = 1
    canary: int = 0
    pace: int = 0
    max_replay: int = 0
    backoff: tuple[int, ...] = ()
    order: str = ""

    def conditions(self) -> dict[str, str | int]:
        """The patterns that can fail: those other than `*`."""
        return {name: value for name, value in self.patterns.items() if value != ANY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A valid rules table. `digest` is the SHA-256 (hex) of its text, so any edit makes another version (D07).

    `questions` are those of the conditions of all rules, each once.
    """

    control: Control
    rules: tuple[Rule, ...]
    digest: str
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What `parse` found: a table, or errors; and warnings about a valid table."""

    source: str
    table: Table | None
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def rule_digest(rule: Rule) -> str:
    """A digest of a rule that does not depend on its place, spelling, RETRY, CANARY, PACE, MAXREPLAY, BACKOFF and
    ORDER.

    RETRY is left out so that a message keeps its failed tries when the number is raised; the others likewise.
    """
    conditions = sorted(rule.conditions().items())
    said = (conditions, rule.action.value, rule.fwdq, rule.fwdqm, rule.header, rule.putaut)
    more = sorted(repr((*one.question, one.comparison, one.value)) for one in rule.extensions)
    return hashlib.sha256((repr(said) + "".join(more)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rule_keys(rules: list[Rule]) -> list[str]:
    """One key a rule: its digest and which occurrence of the same text it is, `0123456789abcdef-1`.

    The key stays when rules above it come, go or move, so retry counts of earlier passes still belong to it.
    """
    seen: dict[str, int] = {}
    keys = []
    for rule in rules:
        digest = rule_digest(rule)
        seen[digest] = seen.get(digest, 0) + 1
        keys.append(f"{digest}-{seen[digest]}")
    return keys
