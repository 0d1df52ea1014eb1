"""One message of a live queue or a snapshot, with all that is known of it: decoded, judged by the rules, its past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from mqops.as_json import JsonObject, as_json
from mqops.backout.core.decision import with_origin
from mqops.backout.core.origin import Setting
from mqops.counted import counted
from mqops.decide import backout_setting
from mqops.decide.in_process import Past
from mqops.decide.recorded import PLAN
from mqops.errors import BodiesLocked, SettingsError
from mqops.given_file import table_text
from mqops.kept import kept
from mqops.lake.bodies import rows_with
from mqops.lake.row_groups import chunks_with
from mqops.lake.run import RunFolder, folder_of
from mqops.lake.sealing import BODY_COLUMNS
from mqops.ledger.file import LedgerFile
from mqops.look.core.criteria import Criteria, id_range
from mqops.look.core.field_values import Shown
from mqops.look.core.rule_verdicts import RuleVerdict, verdicts
from mqops.look.core.searched import passed_over_lines
from mqops.look.core.taken_apart import MessageShown, taken_apart
from mqops.look.find import (
    Cursor,
    FoundMessage,
    Hit,
    Listed,
    Looked,
    all_of,
    found_message,
    hits,
    live_batches,
    looked_at,
)
from mqops.look.history import History, history
from mqops.look.locked import locked
from mqops.look.quarantined import Quarantined, quarantined
from mqops.look.reveal import DOWNLOAD, Reveal, record_reveals, revealed_row
from mqops.look.search import PassedOver, Search
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import Session
from mqops.observe.core.answers import answers, columns_for
from mqops.observe.core.columns import SnapshotRow, pattern_values
from mqops.observe.core.decode import Browsed, snapshot_row
from mqops.observe.tries import current
from mqops.observe.unseen import unseen
from mqops.rules import Table, parse
from mqops.storage import estate_here

MOST_NAMED = 5
"""Messages that an error names where several fit."""


class TableFrom(NamedTuple):
    """A rules table and where it comes from."""

    table: Table
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStory:
    """A message.

    Parameters: `found` its place and main fields; `run` whose snapshot has it, "" on a live queue; `message` it taken
    apart; `rules_source` the table of `rules`, "" where no table judges it; `past` what the lake knows of it;
    `ambiguous` what it means that its origin is ambiguous, "" where it is not; `header_read` whether it has an MQDLH
    that can be read, or its backout run knows its origin; `data` all bytes behind the headers, for a download only.
    """

    found: FoundMessage
    run: str
    message: MessageShown
    rules_source: str = ""
    rules: tuple[RuleVerdict, ...] = ()
    past: History = field(default_factory=History)
    ambiguous: str = ""
    header_read: bool = True
    data: bytes = field(default=b"", repr=False)

    def to_json(self) -> JsonObject:
        """A JSON object (DESIGN, section 8)."""
        return {
            "queue_manager": self.found.queue_manager,
            "queue": self.found.queue,
            "position": None if self.found.position < 0 else self.found.position,
            "run": self.run,
            "msg_key": self.found.msg_key,
            "md": as_json(self.message.md),
            "headers": [one.to_json() for one in self.message.headers],
            "broken": self.message.broken,
            "body": as_json(self.message.body),
            "origin": as_json(self.message.origin),
            "rules_source": self.rules_source,
            "rules": as_json(self.rules),
            "ledger": as_json(self.past.events),
            "seen": as_json(self.past.seen),
            "errors": as_json(self.past.errors),
            "quarantine": as_json(self.quarantined),
        }

    @property
    def quarantined(self) -> Quarantined | None:
        """Why it is in quarantine; None where it is not, as far as the ledger knows."""
        return quarantined(self.past.events)


def show_live(
    session: Session,
    lake: Path,
    queue: str,
    wanted: Criteria,
    *,
    position: int | None = None,
    table: TableFrom | None = None,
    reveal: Reveal | None = None,
    behind_xqh: bool = True,
    msg_key: str = "",
) -> MessageStory:
    """The one message of a queue that fits. The queue is browsed, and nothing is changed.

    Parameters: `position` on the queue from 0, None for any; `table` that judges it, None for that of the estate;
    `reveal` who sees its payload, None for nobody; `behind_xqh` whether the whole queue is browsed where no message
    has the MsgId in its MQMD: it may stand behind an MQXQH; `msg_key` of the message that is meant where several fit,
    "" where nothing says which.

    Raises:
        SettingsError: no message fits, or several; the text names some.
        NotRevealed: the estate does not let this user see payload.
        MqopsError: the queue manager, the lake or the ledger cannot be read.
    """
    name = queue_manager_name(session)
    if reveal:
        reveal.refuse_unless_named(name)
    match = {} if position is not None else {k: v for k, v in wanted.whole_ids.items() if k in {"msg_id", "correl_id"}}
    if match and behind_xqh and not _some_fit(all_of(live_batches(session, [queue], **match)), wanted):
        match = {}  # it may stand behind an MQXQH
    looked = all_of(live_batches(session, [queue], **match))
    hit = _only(looked, wanted, position, f"{queue} of {name}", lambda: unseen(session, queue), msg_key=msg_key)
    place = -1 if match else hit.row(Listed).position  # among those that match: not the position on the queue
    whole = hit.row(_Whole)
    message = whole.row(name, queue, place)
    judge = table or of_estate(name)
    tries = (
        current(LedgerFile(folder_of(lake, name)), [message["msg_id"].hex()]).get(message["msg_key"], {})
        if judge
        else {}
    )
    return _story(lake, message, "", _Judge(judge, tries), reveal)


def show_recorded(
    lake: Path,
    snapshot: Path,
    wanted: Criteria,
    *,
    run: RunFolder | None = None,
    queue: str = "",
    position: int | None = None,
    table: TableFrom | None = None,
    reveal: Reveal | None = None,
) -> MessageStory:
    """The one message of a snapshot that fits.

    Parameters: `snapshot` the folder of its files; `run` that it belongs to, None for another folder; `queue` "" for
    all; `table` that judges it, None for that of the run's plan, else that of the estate; the others, and what is
    raised, as of `show_live`.
    """
    msg_id = dict(wanted.identifiers).get("msg_id", "")
    chosen = chunks_with(snapshot, "msg_id", *id_range(msg_id)) if msg_id else None
    columns = sorted({*Search(wanted).columns, "queue"})
    queues = [queue] if queue else []
    if chosen is not None and not _some_fit(looked_at(snapshot, columns, queues, chosen), wanted):
        chosen = None  # it may stand behind an MQXQH
    hit = _only(looked_at(snapshot, columns, queues, chosen), wanted, position, str(snapshot))
    row = hit.row(Listed)
    if reveal:
        reveal.refuse_unless_named(row.queue_manager)
    without, why = None, ""
    try:
        rows = rows_with(snapshot, {"msg_key": {row.msg_key}}, _Whole, chosen)
        whole = next(one for one in rows if (one.queue, one.position) == (row.queue, row.position))
        message = whole.row(row.queue_manager, row.queue, row.position)
    except BodiesLocked as error:
        if reveal:
            raise
        without, why = locked(snapshot, row.queue, row.position, row.msg_key), str(error)
        message = without.row
    judge = _judge_of(run, message, table) if run else _Judge(table or of_estate(row.queue_manager), {})
    if without and judge.table and not set(BODY_COLUMNS).isdisjoint(columns_for(judge.table.table.questions)):
        judge = judge._replace(table=None)  # nothing says which of its rules fit
    story = _story(lake, message, run.run if run else "", judge, reveal)
    return replace(story, message=without.shown(story.message, why)) if without else story


class _Whole(NamedTuple):
    """The columns of a snapshot that say all of a message."""

    msg_key: str
    queue: str
    position: int
    md: bytes
    body: bytes
    observed_at: datetime

    def row(self, queue_manager: str, queue: str, position: int) -> SnapshotRow:
        """All columns of a snapshot, read from the message's bytes again."""
        browsed = Browsed(queue_manager=queue_manager, queue=queue, observed_at=self.observed_at)
        return snapshot_row(browsed, position, self.md, self.body)


class _Judge(NamedTuple):
    """The rules table that judges a message. Parameters: `tries` rule key → failed tries; `where` of a backout run."""

    table: TableFrom | None
    tries: Mapping[str, int]
    where: Setting | None = None


def _judge_of(run: RunFolder, message: SnapshotRow, table: TableFrom | None) -> _Judge:
    """The table of a run's plan, else that of the estate, with the tries that the run knew."""
    where = backout_setting.read_setting(run)
    past = Past.of(run, where)
    plan = PLAN.find(run)
    parsed = parse(plan.table_text, origins=where is not None, lint=False).table if plan else None
    planned = TableFrom(parsed, f"{plan.table_source} as its run read it") if plan and parsed else None
    found = table or planned or of_estate(message["queue_manager"])
    return _Judge(found, past.tries.get(message["msg_key"], {}), where)


def of_estate(queue_manager: str) -> TableFrom | None:
    """The table that the estate has for the dead-letter queue; None where it has none.

    Raises:
        SettingsError: the estate file is not valid, or its table cannot be read.
    """
    file = estate_here()
    settings = file.whole(queue_manager) if file else None
    if file is None or settings is None or settings.dlq_rules is None:
        return None
    path = file.rules(settings.dlq_rules.rules)
    return table_from(table_text(path), str(path))


@kept(most=32)
def table_from(text: str, source: str) -> TableFrom:
    """The table of a text. Raises `SettingsError` with its first error."""
    parsed = parse(text, source=source, lint=False)
    if parsed.table is None:
        first = parsed.errors[0]
        raise SettingsError(f"{source}:{first.line}:{first.column}: {first.message}")
    return TableFrom(parsed.table, source)


def _origin(queue: str, queue_manager: str, sent_to: str) -> dict[str, Shown] | None:
    """Where a message came from if no header of the queue manager says it; None if nothing does.

    Parameters: `queue` and `queue_manager` that its backout run found, "" for none; `sent_to` what JMS wrote.
    """
    if queue:
        return {"by": "backout run", "queue": queue, "queue_manager": queue_manager}
    return {"by": "MQRFH2", "destination": sent_to} if sent_to else None


def _fitting(looked: Iterator[Looked], wanted: Criteria) -> Iterator[Hit]:
    return (hit for hit in hits(looked, Search(wanted), Cursor(), live=True) if isinstance(hit, Hit))


def _some_fit(looked: Iterator[Looked], wanted: Criteria) -> bool:
    return any(True for _hit in _fitting(looked, wanted))


def _only(
    looked: Iterator[Looked],
    wanted: Criteria,
    position: int | None,
    where: str,
    why: Callable[[], str] = str,
    *,
    msg_key: str = "",
) -> Hit:
    """The one message that fits. Parameters: `why` a sentence about a queue that shows none of its messages, or "";
    `msg_key` of the one that is meant where several fit, "" where nothing says which."""
    found: list[Hit] = []
    passed_over = Counter[str]()
    for hit in hits(looked, Search(wanted), Cursor(), live=True):
        if isinstance(hit, PassedOver):
            passed_over[hit.why] += 1
            continue
        if isinstance(hit, int) or (len(found) > MOST_NAMED and not msg_key):
            break
        if msg_key and hit.row(Listed).msg_key == msg_key:
            return hit
        if len(found) > MOST_NAMED:
            continue
        if position is None or hit.row(Listed).position == position:
            found.append(hit)
            if position is not None:
                break
    if not found:
        if unseen_because := why():
            raise SettingsError(f"{where} shows no such message: {unseen_because}")
        told = "".join(f"; {line}" for line in passed_over_lines(passed_over))
        raise SettingsError(f"{where} has no such message: `mqops message find` lists those that are there{told}")
    if len(found) > 1 and msg_key:
        raise SettingsError(f"{_several(found)} of {where} fit: {_places(found)}. None is the one that was recorded")
    if len(found) > 1:
        raise SettingsError(f"{_several(found)} of {where} fit: {_places(found)}. Give more digits, or --position")
    return found[0]


def _several(found: Sequence[Hit]) -> str:
    number = len(found)
    return f"More than {counted(MOST_NAMED, 'message')}" if number > MOST_NAMED else counted(number, "message")


def _places(found: Sequence[Hit]) -> str:
    rows = [hit.row(Listed) for hit in found[:MOST_NAMED]]
    return ", ".join(f"{row.msg_id.hex()} (position {row.position} of {row.queue})" for row in rows)


def _story(lake: Path, message: SnapshotRow, run: str, judge: _Judge, reveal: Reveal | None) -> MessageStory:
    if reveal:
        seen = revealed_row(
            0,
            msg_key=message["msg_key"],
            msg_id=message["msg_id"],
            body_sha256=message["body_sha256"],
            action=reveal.action,
        )
        record_reveals(
            lake, message["queue_manager"], message["queue"], [seen], run=run, who=reveal.who, why=reveal.why
        )
    msg_id = message["msg_id"].hex()
    judged = message if judge.where is None else with_origin(message, judge.where)
    found_by_run = judged["dlh_dest_q"] if judged["dlh_error"] is None else ""
    origin = _origin(found_by_run or "", judged["dlh_dest_q_mgr"] or "", judged["jms_destination"] or "")
    rules: tuple[RuleVerdict, ...] = ()
    if judge.table is not None and judged["dlh_error"] is None:
        table = judge.table.table
        known = pattern_values(judged) | answers(table.questions, judged)
        rules = verdicts(table, known, judge.tries, revealed=reveal is not None)
    most = reveal.most if reveal else None
    shown = taken_apart(message["md"], message["body"], revealed=reveal is not None, most=most)
    downloads = reveal is not None and reveal.action == DOWNLOAD
    return MessageStory(
        found=found_message(Listed._make(dict(message)[name] for name in Listed._fields)),
        run=run,
        message=replace(shown, origin=shown.origin or origin),
        rules_source=judge.table.source if judge.table and rules else "",
        rules=rules,
        past=history(lake, msg_id).of(message["queue_manager"], message["msg_key"], msg_id),
        header_read=judged["dlh_error"] is None,
        ambiguous=judge.where.ambiguous(message["queue"]) if judge.where and not judged["dlh_dest_q"] else "",
        data=message["body"][shown.body.offset :] if downloads else b"",
    )
