"""Writes present fates as an expectation file: one expectation for each reason, origin and fate, with its count.

What a pattern cannot name (a header's queue name with a wildcard in it, a reason out of range) is named by MsgId.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from mqops.expect.check import Seen
from mqops.observe.core.reasons import reason_symbol
from mqops.rules.keywords import MAX_NUMBER

_NAMED = ("REASON", "DESTQ", "DESTQM")


def written(messages: Iterable[Seen], heading: str) -> str:
    """The text of the file. Parameters: `heading` one comment line, without `#`."""
    counted: dict[tuple[tuple[tuple[str, str | int], ...], ...], int] = {}
    for seen in messages:
        entry = (tuple(_selector(seen).items()), tuple(_fate(seen).items()))
        counted[entry] = counted.get(entry, 0) + 1
    lines = [f"# {heading}", "expectations:"]
    for (selector, fate), count in sorted(counted.items(), key=lambda item: repr(item[0])):
        lines += _lines(dict(selector), dict(fate), count)
    return "\n".join(lines) + "\n"


def _selector(seen: Seen) -> Mapping[str, str | int]:
    """Patterns for the message; none for one without an MQDLH, which ERROR tells from the rest; or its MsgId."""
    if seen.fate.action == "ERROR":
        return {}
    fields = {name: seen.fields[name] for name in _NAMED}
    reason = int(fields["REASON"])
    if any("*" in str(value) or "?" in str(value) for value in fields.values()) or not 0 <= reason <= MAX_NUMBER:
        return {"message": seen.msg_id}
    symbol = reason_symbol(reason)
    return {**fields, "REASON": reason if symbol.isdigit() or reason == 0 else symbol}


def _fate(seen: Seen) -> Mapping[str, Any]:
    fate: dict[str, Any] = {"action": seen.fate.action}
    if seen.fate.target:
        fate["to"] = f"{seen.fate.dest_q}@{seen.fate.dest_q_mgr}"
    if seen.fate.action == "FWD" and not seen.fate.header:
        fate["header"] = False
    if seen.fate.putaut == "CTX":
        fate["putaut"] = "CTX"
    return fate


def _lines(selector: Mapping[str, Any], fate: Mapping[str, Any], count: int) -> list[str]:
    about = selector if "message" in selector else {"where": dict(selector)}
    keys = {**about, "count": count, **fate}
    return [f"  {'- ' if number == 0 else '  '}{name}: {_yaml(keys[name])}" for number, name in enumerate(keys)]


def _yaml(value: Any) -> str:
    """A value on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.removesuffix("...\n").strip()
