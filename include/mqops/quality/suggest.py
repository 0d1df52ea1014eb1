"""A first suite from a good snapshot, for a person to edit: at most `MOST` checks, each with its reason.

1. Every check is met by the snapshot that it was made from.
2. A value of a header or of the MQMD may stand in it. A value of a payload never does: of payloads there are types,
   forms, what is always there, and what is there once only. A name that fewer than half of the payloads have can be
   somebody's number, and does not stand in it either.
3. Only what all messages have in common is said; a bound leaves room.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.quality.body import Message
from mqops.quality.frame_here import batches_of, frame_here
from mqops.quality.payload import MOST_DIGITS, Payload, Unreadable
from mqops.rules.documents import JSON_PATH
from mqwire import constants as c
from mqwire.errors import WireError

MOST = 30
FEW = 8
"""Different values that count as few."""
SAMPLE = 2000
"""Messages whose payloads are looked into."""
MOST_PATHS = 200
_LONGEST_ID = 90
_HEADER = ("format", "msg_type", "persistence", "payload_ccsid", "put_appl_name", "user_identifier", "dlh_reason")
_MOST_COUNTED = 1000
_FORM = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")


class Suggested(NamedTuple):
    """A check. Parameters: `reason` what was found; `fields` of the suite's file."""

    reason: str
    fields: dict[str, Any]


def suggest(snapshot: Path, queue: str) -> str:
    """The text of a suite for a queue. Raises `SettingsError`: the snapshot has no message of it; `LakeError`."""
    wanted = {*_HEADER, *("body_length", "backout_count", "priority", "age_seconds", "msg_flags", "reply_to_q")}
    wanted |= {"body_sha256", "headers_valid", "body_text_valid", "payload_parses", "dlh_valid", "payload_kind"}
    table = frame_here(snapshot, wanted)
    table = table.filter(pc.equal(table["queue"], queue))
    if not table.num_rows:
        names = ", ".join(sorted(pc.unique(frame_here(snapshot, ())["queue"]).to_pylist())) or "none"
        raise SettingsError(f"The snapshot has no message of {queue}; its queues are: {names}")
    columns, of_payload = _payload(snapshot, queue)
    checks = _with_own_ids([*_of_table(table), *of_payload][:MOST])
    used = {one.fields.get("column") for one in checks}
    return _text(queue, table.num_rows, {name: kind for name, kind in columns.items() if name in used}, checks)


def _with_own_ids(checks: Iterable[Suggested]) -> list[Suggested]:
    """The checks, each with an id that a suite can have: `$.a.b` and `$.a_b` make one word."""
    found: dict[str, Suggested] = {}
    for one in checks:
        name = str(one.fields["id"]).lstrip("_")[-_LONGEST_ID:].lstrip("_")
        own = next(each for each in chain([name], (f"{name}_{number}" for number in count(2))) if each not in found)
        found[own] = Suggested(one.reason, {**one.fields, "id": own})
    return list(found.values())


def _of_table(table: pa.Table) -> Iterator[Suggested]:
    number = counted(table.num_rows, "message")
    yield _check("volume", number, "table_row_count_to_be_as_before", severity="warning")
    for name in ("headers_valid", "body_text_valid", "payload_parses", "dlh_valid"):
        there = table[name].drop_null()
        if len(there) and (name != "dlh_valid" or pc.any(there).as_py()) and pc.all(there).as_py():
            reason = f"so of all {len(there):,} that it is asked of"
            yield _check(name, reason, "column_values_to_be_in_set", column=name, value_set=[True])
    low, high = pc.min(table["body_length"]).as_py(), pc.max(table["body_length"]).as_py()
    least = {"min_value": 1} if low else {}
    reason = f"{low:,} to {counted(high, 'byte')}"
    yield _check(
        "length", reason, "column_values_to_be_between", column="body_length", **least, max_value=max(10 * high, 1000)
    )
    for name in _HEADER:
        yield from _few(table, name)
    yield from _bounds(table)
    for name in ("msg_id", "body_sha256"):
        if len(pc.unique(table[name])) == table.num_rows > 1:
            severity = "critical" if name == "msg_id" else "warning"
            yield _check(
                f"{name}_once", f"all {number} differ", "column_values_to_be_unique", column=name, severity=severity
            )
    if pc.any(
        pc.not_equal(pc.bit_wise_and(table["msg_flags"], c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP), 0)
    ).as_py():
        yield _check("groups", "there are MQ groups", "groups_to_be_complete", severity="warning")


def _few(table: pa.Table, name: str) -> Iterator[Suggested]:
    values = sorted(pc.unique(table[name].drop_null()).to_pylist())
    if not values:
        return
    severity = "warning" if name in ("put_appl_name", "user_identifier", "dlh_reason") else "critical"
    reason = counted(len(values), "different value")
    if len(values) <= FEW:
        yield _check(
            f"{name}_known", reason, "column_values_to_be_in_set", column=name, value_set=values, severity=severity
        )
    elif severity == "warning":
        yield _check(f"{name}_known", reason, "column_values_to_be_as_before", column=name, severity=severity)


def _bounds(table: pa.Table) -> Iterator[Suggested]:
    for name, room in (("priority", 0), ("backout_count", 3), ("age_seconds", 3600)):
        column = table[name].drop_null()
        if not len(column):
            continue
        low, high = pc.min(column).as_py(), pc.max(column).as_py()
        bounds = {"min_value": 0, "max_value": 9} if name == "priority" else {"max_value": int(2 * max(high, 0)) + room}
        if name == "priority" and not 0 <= low <= high <= 9:
            continue
        yield _check(
            f"{name}_bound",
            f"{low:,.0f} to {high:,.0f}",
            "column_values_to_be_between",
            column=name,
            severity="warning",
            **bounds,
        )


def _check(name: str, reason: str, expect: str, **fields: Any) -> Suggested:
    return Suggested(reason, {"id": name, "expect": expect, **fields})


class _Leaf(NamedTuple):
    """What stands at a path of a sample of payloads."""

    path: str
    values: list[Any]


def _payload(snapshot: Path, queue: str) -> tuple[dict[str, str], list[Suggested]]:
    """Types of columns, and checks, of payloads that are all JSON objects; nothing of others."""
    documents = list(_documents(snapshot, queue))
    if not documents or any(not isinstance(one, dict) for one in documents):
        return {}, []
    leaves: dict[str, list[Any]] = {}
    for document in documents:
        for path, value in _leaves(document, "$"):
            if path in leaves or len(leaves) < MOST_PATHS:
                leaves.setdefault(path, []).append(value)
    types: dict[str, str] = {}
    checks = []
    for path, values in leaves.items():
        if 2 * len(values) < len(documents):
            continue
        leaf = _Leaf(path, values)
        found = [*_of_leaf(leaf, len(documents), types)]
        checks += found
    return types, checks


def _documents(snapshot: Path, queue: str) -> Iterator[Any]:
    """The payloads of a sample; None for one that is no JSON."""
    left = SAMPLE
    for batch in batches_of(snapshot, ["queue", *Message._fields]):
        for row in batch.filter(pc.equal(batch["queue"], queue)).slice(0, left).to_pylist():
            left -= 1
            message = Message(**{name: row[name] for name in Message._fields})
            try:
                yield json.loads(Payload(message.body, message.chain, {}).json)
            except (Unreadable, WireError):
                yield None
        if not left:
            return


def _leaves(node: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for name, value in node.items():
        below = f"{path}.{name}"
        if not JSON_PATH.fullmatch(below):
            continue
        if isinstance(value, dict):
            yield from _leaves(value, below)
        elif value is not None and not isinstance(value, list):
            yield below, value


def _of_leaf(leaf: _Leaf, documents: int, types: dict[str, str]) -> Iterator[Suggested]:
    name = re.sub("[^A-Za-z0-9]+", "_", leaf.path).strip("_")
    everywhere = len(leaf.values) == documents
    if all(isinstance(one, bool) for one in leaf.values):
        types[leaf.path] = "flag"
    elif all(isinstance(one, int | float) and not isinstance(one, bool) for one in leaf.values):
        types[leaf.path] = "number"
        if any(len(str(one).strip("-0").replace(".", "")) > MOST_DIGITS or "e" in str(one) for one in leaf.values):
            del types[leaf.path]
            return
        if min(leaf.values) >= 0:
            yield _check(
                f"{name}_not_below_0", "no number is", "column_values_to_be_between", column=leaf.path, min_value=0
            )
    elif not all(isinstance(one, str) for one in leaf.values):
        return
    if everywhere:
        yield _check(
            f"{name}_there", f"in all {documents:,} of the sample", "column_values_to_not_be_null", column=leaf.path
        )
    if all(isinstance(one, str) for one in leaf.values):
        yield from _of_texts(leaf, name)


def _of_texts(leaf: _Leaf, name: str) -> Iterator[Suggested]:
    texts = [str(one) for one in leaf.values]
    if all(map(_is_iban, texts)):
        yield _check(f"{name}_iban", "all are IBANs", "column_values_to_be_valid_iban", column=leaf.path)
        return
    for form in ("%Y-%m-%d", "%Y%m%d", "%Y-%m-%dT%H:%M:%S"):
        if all(map(_of_form(form), texts)):
            yield _check(
                f"{name}_form",
                "all have this form",
                "column_values_to_match_strftime_format",
                column=leaf.path,
                strftime_format=form,
            )
            return
    forms = {_form(one) for one in texts}
    if len(forms) == 1 and "\n" not in texts[0] and len(form := forms.pop() or "") in range(1, 200):
        yield _check(f"{name}_form", "all have this form", "column_values_to_match_regex", column=leaf.path, regex=form)
    else:
        most = max(map(len, texts))
        yield _check(
            f"{name}_length",
            f"at most {most:,}",
            "column_value_lengths_to_be_between",
            column=leaf.path,
            max_value=max(2 * most, 20),
        )
    if len(set(texts)) == len(texts) > 20:
        yield _check(
            f"{name}_once",
            "all of the sample differ",
            "column_values_to_be_unique",
            column=leaf.path,
            severity="warning",
        )


def _is_iban(text: str) -> bool:
    from schwifty import IBAN  # noqa: PLC0415 - a second to load

    return bool(re.fullmatch("[A-Z]{2}[0-9]{2}[A-Z0-9]{8,30}", text)) and bool(IBAN(text, allow_invalid=True).is_valid)


def _of_form(form: str) -> Callable[[str], bool]:
    from datetime import datetime  # noqa: PLC0415

    def fits(text: str) -> bool:
        try:
            return datetime.strptime(text, form).strftime(form) == text
        except ValueError:
            return False

    return fits


def _form(text: str) -> str | None:
    """A text's form as a regular expression, without what it says: kinds of characters and how many. None where it has
    more of one kind than RE2 counts."""
    parts = []
    for found in _FORM.findall(text):
        if len(found) > _MOST_COUNTED:
            return None
        if found.isascii() and found.isdigit():
            parts.append(f"[0-9]{{{len(found)}}}")
        elif found[0].isascii() and found[0].isalpha():
            kind = "A-Z" if found.isupper() else "a-z" if found.islower() else "A-Za-z"
            parts.append(f"[{kind}]{{{len(found)}}}")
        else:
            parts.append(f".{{{len(found)}}}")
    return f"^{''.join(parts)}$"


def _text(queue: str, messages: int, columns: dict[str, str], checks: Iterable[Suggested]) -> str:
    name = re.sub("[^A-Za-z0-9_.-]", "_", queue).strip("_.-") or "queue"
    lines = [
        f"# Suggested by mqops from {counted(messages, 'message')} of {queue}. Edit it: it need not be right.",
        f"suite: {name}",
        f"queues: [{json.dumps(queue)}]",
    ]
    if columns:
        lines += ["columns:", *(f"  {path}: {kind}" for path, kind in columns.items())]
    lines.append("expectations:")
    for one in checks:
        fields = ", ".join(f"{name}: {json.dumps(value)}" for name, value in one.fields.items())
        lines += [f"  # {one.reason}", f"  - {{{fields}}}"]
    return "\n".join(lines) + "\n"
