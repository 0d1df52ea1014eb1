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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from mqops.errors import LedgerBroken
from mqops.ledger.core import schema

VERSION = 1
About: TypeAlias = Mapping[str, str | int | float | bool | None]
"""Who had a plan carried out, and which plan: its workflow, queues, table, the people who asked and who approved."""
MarkerKind: TypeAlias = Literal["acted", "failed", "issued", "outcome", "resumed", "revealed", "pruned"]
BODY_DIGITS = 32


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

    def to_json(self) -> dict[str, Any]:
        """The body as a JSON object, `unit` first; in the ledger with `put`."""
        return self._body() | ({"put": dict(self.put)} if self.put else {})

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"unit": self.unit, "v": VERSION, "run": self.run, "plan": self.plan, "kind": self.kind}
        body["at"] = self.at
        if self.kind == "issued":
            return body | {"lanes": list(self.lanes), "about": dict(self.about)}
        if self.kind in {"resumed", "pruned"}:
            return body | {"about": dict(self.about)}
        if self.kind == "revealed":
            return body | {"about": dict(self.about), "rows": self.rows}
        if self.kind == "outcome":
            return body | {"outcome": self.outcome, "rows": self.rows}
        body |= {"lane": self.lane, "first": self.first, "next": self.next, "last": self.last}
        body |= {"rows": self.rows, "absent": self.absent}
        return body | {"left": {why: list(rows) for why, rows in self.left.items()}} if self.left else body

    def pack(self) -> bytes:
        """The body as it is put."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Marker:
        """A marker from its JSON object; other keys (of a ledger line) are passed over.

        Raises:
            LedgerBroken: not a marker of a version this program knows.
        """
        try:
            if body["v"] != VERSION or body["kind"] not in get_args(MarkerKind):
                raise LedgerBroken(
                    f"A marker of version {body['v']}, kind {body['kind']!r}, was written by another version of mqops. "
                    f"Use that version to finish run {body['run']}"
                )
            return cls(
                unit=str(body["unit"]),
                run=str(body["run"]),
                plan=str(body["plan"]),
                kind=body["kind"],
                at=str(body["at"]),
                lane=int(body.get("lane", 0)),
                first=int(body.get("first", 0)),
                next=int(body.get("next", 0)),
                last=bool(body.get("last", False)),
                rows=tuple(_row(row) for row in body.get("rows", ())),
                absent=tuple(int(row) for row in body.get("absent", ())),
                left={str(why): tuple(map(int, rows)) for why, rows in body.get("left", {}).items()},
                lanes=tuple(int(rows) for rows in body.get("lanes", ())),
                about=dict(body.get("about", {})),
                outcome=str(body.get("outcome", "")),
                put=dict(body.get("put", {})),
            )
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise LedgerBroken(f"This is not a marker: {type(error).__name__}") from error

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


def _row(row: Sequence[Any]) -> MarkerRow:
    number, key, msg_id, action, rule_key, dest_q, dest_q_mgr, reason, *body = row
    failed = None if reason is None else int(reason)
    digest = str(body[0]) if body else ""
    return MarkerRow(int(number), key, msg_id, action, rule_key, dest_q, dest_q_mgr, failed, digest)


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
        body: dict[str, Any] = {"v": VERSION, "kind": "ticket", "run": self.run, "plan": self.plan, "lane": self.lane}
        body |= {"next": self.next} | ({"behind": list(self.behind)} if self.behind else {})
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
    try:
        body = schema.check(raw)
    except LedgerBroken as error:
        raise LedgerBroken(f"A message on the ledger queue is neither marker nor lane token: {error}") from None
    del body["v"]
    if body["kind"] == "ticket":
        del body["kind"]
        return LaneToken(**body)
    return Marker(**body | {"rows": tuple(map(MarkerRow._make, body.get("rows", ())))})
