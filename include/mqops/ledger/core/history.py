"""The history of messages: one event for each message in each unit of work of the ledger.

The reason is in another line, of kind "issued": rules table, who asked, who approved. It comes before the other lines
of the plan. If another person finished the run, a line of kind "resumed" comes before the lines of what was done then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime

from mqops.ledger.core.chain import head_in
from mqops.ledger.core.marker import About, Marker, MarkerKind
from mqwire.names import reason_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A message and what a unit of work did to it.

    Parameters: `line` of the ledger, from 1, and its `hash`; `at` UTC time, ISO 8601; `outcome` "acted", "failed" for a
    try that failed with `reason` (MQRC name), "revealed" to `requested_by`, or what was seen of it then
    (`mqops.prove.core.outcome`); `unit` MsgId
    (hex) of the unit of work's marker; `row` of the plan; `rule` the key of the rule; `body` the first 32 hex digits of
    the body's SHA-256; `table` SHA-256 of the rules table; who asked and who approved, blank
    if no approval was needed, and the `comment` of that person; who finished the run, blank if that is the person who
    began it.
    """

    at: str
    queue_manager: str
    queue: str
    msg_id: str
    outcome: str
    action: str
    dest_q: str
    dest_q_mgr: str
    reason: str
    rule: str
    table: str
    requested_by: str
    approved_by: str
    comment: str
    finished_by: str
    workflow: str
    run: str
    plan: str
    unit: str
    row: int
    msg_key: str
    body: str
    line: int
    hash: str


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(Event))
"""The columns of an event, in order."""


def events(queue_manager: str, entries: Iterable[Mapping[str, object]]) -> Iterator[Event]:
    """The events of a ledger's lines (as JSON objects, "issued" lines among them), in their order."""
    about: dict[tuple[str, str], About] = {}
    for entry in entries:
        marker, head = Marker.from_json(entry), head_in(entry)
        if marker.kind == MarkerKind.ISSUED:
            about[marker.run, marker.plan] = marker.about
        elif marker.kind == MarkerKind.RESUMED:
            about[marker.run, marker.plan] = {**about.get((marker.run, marker.plan), {}), **marker.about}
        known = marker.about if marker.kind == MarkerKind.REVEALED else about.get((marker.run, marker.plan), {})
        for row in marker.rows:
            yield Event(
                at=marker.at,
                queue_manager=queue_manager,
                queue=_text(known, "queue"),
                msg_id=row.msg_id,
                outcome=marker.outcome or marker.kind,
                action=row.action,
                dest_q=row.dest_q,
                dest_q_mgr=row.dest_q_mgr,
                reason=reason_name(row.reason) if row.reason else "",
                rule=row.rule_key,
                table=_text(known, "table_digest"),
                requested_by=_text(known, "requested_by"),
                approved_by=_text(known, "approved_by"),
                comment=_text(known, "comment"),
                finished_by="" if marker.kind == MarkerKind.OUTCOME else _text(known, "finished_by"),
                workflow=_text(known, "workflow"),
                run=marker.run,
                plan=marker.plan,
                unit=marker.unit,
                row=row.row,
                msg_key=row.msg_key,
                body=row.body,
                line=head.seq,
                hash=head.hash,
            )


def _text(about: About, name: str) -> str:
    return str(about.get(name) or "")


def is_since(at: str, since: datetime) -> bool:
    """Whether a time of a marker is not before `since`; either without a time zone is UTC."""
    return aware(datetime.fromisoformat(at)) >= aware(since)


def aware(time: datetime) -> datetime:
    """A time with its time zone: UTC where it has none."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)
