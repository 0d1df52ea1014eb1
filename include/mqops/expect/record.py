"""Writes what a table does now as an expectation file: one expectation, with its count, for each combination of reason,
destination in the MQDLH, and decision.

What a pattern cannot name (a header's queue name with a wildcard in it, a reason out of range) is named by MsgId.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import yaml

from mqops.actions import Action
from mqops.expect.check import Seen
from mqops.observe.core.reasons import reason_symbol
from mqops.rules.keyword import MAX_NUMBER

_NAMED = ("REASON", "DESTQ", "DESTQM")


def written(messages: Iterable[Seen], heading: str) -> str:
    """The text of the file. Parameters: `heading` one comment line, without `#`."""
    counted: dict[tuple[tuple[tuple[str, str | int], ...], ...], int] = {}
    for seen in messages:
        entry = (tuple(_selector(seen).items()), tuple(_decision(seen).items()))
        counted[entry] = counted.get(entry, 0) + 1
    lines = [f"# {heading}", "expectations:"]
    for (selector, decision), count in sorted(counted.items(), key=lambda item: repr(item[0])):
        lines += _lines(dict(selector), dict(decision), count)
    return "\n".join(lines) + "\n"


def _selector(seen: Seen) -> Mapping[str, str | int]:
    """Patterns for the message; none for one without an MQDLH, which ERROR tells from the rest; or its MsgId."""
    if seen.decision.action == Action.ERROR:
        return {}
    fields = {name: seen.fields[name] for name in _NAMED}
    reason = int(fields["REASON"])
    if any("*" in str(value) or "?" in str(value) for value in fields.values()) or not 0 <= reason <= MAX_NUMBER:
        return {"message": seen.msg_id}
    symbol = reason_symbol(reason)
    return {**fields, "REASON": symbol if symbol.startswith("MQ") and reason else reason}


def _decision(seen: Seen) -> Mapping[str, str | int | bool]:
    decision: dict[str, str | int | bool] = {"action": str(seen.decision.action)}
    if seen.decision.target:
        decision["to"] = f"{seen.decision.dest_q}@{seen.decision.dest_q_mgr}"
    if seen.decision.action == Action.FWD and not seen.decision.header:
        decision["header"] = False
    if seen.decision.putaut == "CTX":
        decision["putaut"] = "CTX"
    return decision


def _lines(selector: Mapping[str, str | int | bool], decision: Mapping[str, str | int | bool], count: int) -> list[str]:
    about = selector if "message" in selector else {"where": dict(selector)}
    keys = {**about, "count": count, **decision}
    return [f"  {'- ' if number == 0 else '  '}{name}: {_yaml(keys[name])}" for number, name in enumerate(keys)]


def _yaml(value: object) -> str:
    """A value on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.removesuffix("...\n").strip()
