"""The format version of everything that outlives a process: what carries it, and who refuses what.

1. A file or message says its format as a whole number: an object of JSON under `format`, as its first member; a list,
   or an object whose names are names of queues (`ENTRIES`), in each of its entries; a line of JSON in itself; a signed
   body of the ledger and a file of keys under `v`; a Parquet file in the metadata of its schema; a SQLite database as
   `user_version`.
2. What does not say it has format 1: so are the files of version 0.1.0.
3. The number of a kind (`NUMBERS`) is raised when an earlier version would take what is written now for something else,
   or would lose what it says. A member that an earlier version may pass over raises nothing: readers pass over what
   they do not know.
4. A version reads every format up to its own, and never writes a file anew to raise its number: what is signed, hashed
   or chained stays as it was.
5. What has a higher number is refused with one sentence, and nothing is changed. A cache (`CACHES`) is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mqops.errors import NewerFormat
from mqops.type_adapter import adapter_of

KEY = "format"
LEDGER_KEY = "v"
HIGHEST = 999_999_999
"""No format has a higher number: what says so is not of any version."""
FIRST = 1
"""The format of what says none."""
PARQUET_KEY = "mqops.format"

NUMBERS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(
        (
            # RUN/: a run
            *("observe.json", "anatomy.json", "tries.jsonl", "replays.jsonl", "*.parquet"),
            *("plan.json", "preflight.json", "backout.json", "handling.json", "guard.json", "age_out.json"),
            *("gate.json", "gated.json", "gated.jsonl"),
            *("approval.json", "handed_on.json", "issued.json", "act.json", "canary.json", "progress.json"),
            *("compared.json", "step.json"),
            *("summary.json", "outcomes.json", "gone.json", "session.json", "undo.json", "load.json", "expiry.json"),
            *("left.json", "quality.json", "pruned.json", "stop.json", "stops_lifted.json", "bodies.json"),
            # LAKE/<queue manager>/
            *("queues.json", "seen.json", "told.json", "told_before.json", "group.json", "changes.jsonl"),
            # LAKE/<queue manager>/ledger/
            *("ledger.jsonl", "keys.json", "signed_by.json", "head.json", "checkpoint", "archived.json"),
            *("proved.jsonl", "set_aside.jsonl", "stops_taken.jsonl", "taken_off.jsonl"),
            # messages on MQOPS.LEDGER
            *("marker", "lane token", "head", "stop"),
            *("estate.yaml", "body_keys.json", "masking.key"),
        ),
        FIRST,
    )
)
"""Kind, by the name of its file → the format that this version writes. What has another name has format 1."""
ENTRIES = frozenset({"stops_lifted.json", "queues.json"})
"""Files whose entries say it."""
CACHES = frozenset(
    (
        *("runs.sqlite", "index.sqlite", "index.json"),
        *("last_seen.json", "depths.json", "statistics.json", "estate_before.json"),
    )
)
"""Files that can be removed at any time: they are made anew where they are of another version."""


def number_of(kind: str) -> int:
    """The format that this version writes, and the highest that it reads. Parameters: `kind` as in `NUMBERS`."""
    return NUMBERS.get(kind, FIRST)


def numbered(kind: str, value: object) -> object:
    """What is written as JSON, with its format (rule 1)."""
    if kind in ENTRIES:
        if isinstance(value, Mapping):
            return {name: _with_number(kind, one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [_with_number(kind, one) for one in value]
    return _with_number(kind, value)


def json_line(kind: str, value: object) -> bytes:
    """A line of a file that has a JSON object a line, with its format."""
    return json.dumps(numbered(kind, value), separators=(",", ":")).encode() + b"\n"


def _with_number(kind: str, value: object) -> object:
    if not isinstance(value, Mapping) or LEDGER_KEY in value:  # it says it already
        return value
    return {KEY: FIRST} | dict(value) | {KEY: number_of(kind)}


def refuse_newer(kind: str, what: object, value: object) -> None:
    """Refuse the JSON of a newer version.

    Parameters: `kind` as in `NUMBERS`; `what` it is, for the text: the file's path; `value` of the JSON.

    Raises:
        NewerFormat: it has a higher format.
    """
    entries: Iterable[object] = (value,)
    if kind in ENTRIES:
        entries = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in entries:
        if isinstance(one, Mapping):
            refuse_newer_number(kind, what, one.get(KEY))


@dataclass(frozen=True, slots=True)
class _Said:
    """The format that a body says, by one of its two names."""

    v: int = FIRST
    format: int = FIRST


def refuse_newer_body(kind: str, what: object, body: bytes) -> None:
    """As `refuse_newer`, of a body that was not understood; one that is no JSON says nothing. Parameters: `body` whose
    signature was checked; of it nothing else becomes an object of Python, so that one that is long and wrong costs no
    more than its length."""
    try:
        value = adapter_of(_Said).validate_json(body, strict=True)
    except ValueError:  # pydantic's error is one
        return
    refuse_newer_number(kind, what, max(value.v, value.format))


def refuse_newer_number(kind: str, what: object, number: object) -> None:
    """As `refuse_newer`. Parameters: `number` that was found; one that no version will have says nothing."""
    if isinstance(number, int) and number_of(kind) < number <= HIGHEST:
        raise NewerFormat(
            f"{what} was written by a newer mqops (format {number}; this version reads up to {number_of(kind)}): "
            "upgrade mqops, nothing was changed"
        )
