"""The bodies of the messages on the ledger queue: markers and lane tokens, as JSON in UTF-8.

A marker: `{v, unit, run, plan, kind, lane, first, next, last, at, rows, absent}`. `kind` is "acted" (exactly one for
each unit of work), "failed" (at most one beside it) or "issued" (one for each plan, with `lanes` and `about`). A row is
`[row, msg_key, msg_id hex, action, rule_key, dest_q, dest_q_mgr, reason or null, body digest]`, the last one the first
32 hex digits of the body's SHA-256 (missing in old ledgers); `absent` are numbers of rows that were no longer there.
On the queue it is signed (`mqops.ledger.core.seal`) and fits a schema (`mqops.ledger.core.schema`).

Lines of four kinds stand in the ledger only: "outcome", what was later seen of their rows
(`mqops.prove.core.outcome`); "resumed", who (`about`) went on with a plan that was begun: the plan's lines after it are
what was done then; "revealed", who (`about`) was shown the payload of a message, whose `run` is that of the snapshot,
blank for a queue; and "pruned", which files of a run were removed from the lake, by whom and why (`about`).
`unit` is the MsgId of the marker in hex and stands first: the ledger recognises a line by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from pydantic import ValidationError

from mqops.errors import LedgerBroken, SettingsError
from mqops.formats import number_of, refuse_newer_number
from mqops.type_adapter import adapter_of, refused

VERSION = number_of("ledger.jsonl")
About: TypeAlias = Mapping[str, str | int | float | bool | None]
"""Who had a plan carried out, and which plan: its workflow, queues, table, the people who asked and who approved."""
VARIABLE = "MQOPS_ABOUT"
"""Of a job's environment: the people and the comment of `About`, as JSON. Arguments can be read by every user of the
machine."""
BODY_DIGITS = 32


def about_from_json(text: str) -> About:
    """The people and the comment in `VARIABLE`. Raises `SettingsError`: it is no JSON object of words and numbers; the
    text itself is not shown."""
    try:
        return adapter_of(dict[str, str | int | float | bool | None]).validate_json(text)
    except ValidationError:
        raise SettingsError(f'{VARIABLE} is not a JSON object such as {{"approved_by": "carol"}}: correct it') from None


class MarkerKind(StrEnum):
    """What a line of the ledger says. The words stand in the ledger, and in the identifiers of markers."""

    ISSUED = "issued"  # the lane tokens of a plan were put
    ACTED = "acted"  # what a unit of work did
    FAILED = "failed"  # the tries of a unit of work that failed
    RESUMED = "resumed"  # who went on with a plan that was begun
    OUTCOME = "outcome"  # what was seen later of messages that were moved
    REVEALED = "revealed"  # who was shown the payload of a message
    PRUNED = "pruned"  # which files of a run were removed from the lake


class MarkerRow(NamedTuple):
    """A row of a plan as a marker has it: an array in JSON.

    Parameters: `row` its number in the plan; `msg_id` hex; `reason` the reason code of a failed try; `body` the first
    32 hex digits of the body's SHA-256, blank in old ledgers. `action` is the word in the ledger, whichever version
    wrote it.
    """

    row: int
    msg_key: str
    msg_id: str
    action: str
    rule_key: str
    dest_q: str
    dest_q_mgr: str
    reason: int | None = None
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What one unit of work did to the rows at positions [first, next) of a lane.

    Parameters: `unit` MsgId in hex; `plan` digest; `last` whether the lane ends here; `at` UTC time, ISO 8601; `lanes`
    (rows of each lane) only with kind "issued", `about` also with "resumed", "revealed" and "pruned"; `outcome` only
    with that kind; `put` who put the message, as the queue manager says in its MQMD: in the ledger only, never part of
    the message.
    """

    unit: str
    run: str
    plan: str
    kind: MarkerKind
    at: str
    lane: int = 0
    first: int = 0
    next: int = 0
    last: bool = False
    rows: tuple[MarkerRow, ...] = ()
    absent: tuple[int, ...] = ()
    left: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    lanes: tuple[int, ...] = ()
    about: About = field(default_factory=dict)
    outcome: str = ""
    put: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The body as a JSON object, `unit` first; in the ledger with `put`."""
        return self._body() | ({"put": dict(self.put)} if self.put else {})

    def _body(self) -> dict[str, object]:
        body: dict[str, object] = {"unit": self.unit, "v": VERSION, "run": self.run, "plan": self.plan}
        body |= {"kind": self.kind, "at": self.at}
        if self.kind == MarkerKind.ISSUED:
            return body | {"lanes": list(self.lanes), "about": dict(self.about)}
        if self.kind in {MarkerKind.RESUMED, MarkerKind.PRUNED}:
            return body | {"about": dict(self.about)}
        if self.kind == MarkerKind.REVEALED:
            return body | {"about": dict(self.about), "rows": self.rows}
        if self.kind == MarkerKind.OUTCOME:
            return body | {"outcome": self.outcome, "rows": self.rows}
        body |= {"lane": self.lane, "first": self.first, "next": self.next, "last": self.last}
        body |= {"rows": self.rows, "absent": self.absent}
        return body | {"left": {why: list(rows) for why, rows in self.left.items()}} if self.left else body

    def pack(self) -> bytes:
        """The body as it is put."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, body: Mapping[str, object]) -> Marker:
        """A marker from its JSON object; other keys (of a ledger line) are passed over.

        Raises:
            LedgerBroken: not a marker.
            NewerFormat: a newer version wrote it.
        """
        refuse_newer_number("ledger.jsonl", f"A line of the ledger, of run {body.get('run')},", body.get("v"))
        if body.get("v") != VERSION or body.get("kind") not in _KINDS:
            raise LedgerBroken(
                f"A line of version {body.get('v')}, kind '{body.get('kind')}', is not one of the ledger"
            )
        try:
            return adapter_of(Marker).validate_python(body)
        except ValidationError as error:
            raise LedgerBroken(f"This is not a marker: {refused(error).place}") from None

    @classmethod
    def unpack(cls, raw: bytes) -> Marker:
        """A marker from a message body.

        Raises:
            LedgerBroken: the body is not one.
        """
        found = unpack(raw)
        if not isinstance(found, Marker):
            raise LedgerBroken("A message on the ledger queue is a lane token, not a marker")
        return found


_KINDS = tuple(MarkerKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneToken:
    """A lane's durable cursor: `next` is the position of the first row not yet dealt with; `behind` says behind which
    order keys of which destinations nothing more is moved (see `mqops.act`, rule 9)."""

    run: str
    plan: str
    lane: int
    next: int
    behind: tuple[str, ...] = ()

    def pack(self) -> bytes:
        """The body as it is put."""
        body: dict[str, object] = {"v": VERSION, "kind": "ticket", "run": self.run, "plan": self.plan}
        body |= {"lane": self.lane, "next": self.next} | ({"behind": list(self.behind)} if self.behind else {})
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, raw: bytes) -> LaneToken:
        """A lane token from a message body.

        Raises:
            LedgerBroken: the body is not one.
        """
        found = unpack(raw)
        if not isinstance(found, LaneToken):
            raise LedgerBroken("A message on the ledger queue is a marker, not a lane token")
        return found


def unpack(raw: bytes) -> Marker | LaneToken:
    """The marker or the lane token in a message body, without its signature.

    Raises:
        LedgerBroken: the body is neither.
    """
    from mqops.ledger.core import schema  # noqa: PLC0415 - most processes read no message of the ledger queue

    try:
        found = schema.check(raw)
    except LedgerBroken as error:
        raise LedgerBroken(f"A message on the ledger queue is neither marker nor lane token: {error}") from None
    if isinstance(found, schema.LaneTokenBody):
        return adapter_of(LaneToken).validate_python(dict(found))
    return adapter_of(Marker).validate_python(dict(found))
