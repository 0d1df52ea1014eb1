"""Export: chosen messages of a live queue, or of a snapshot, to a new private file (rule 1 of `mqops.message_file`)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from mqops.as_json import JsonObject, json_object
from mqops.clock import utc
from mqops.errors import SettingsError
from mqops.lake.parquet import write_parquet_to
from mqops.ledger.core.marker import MarkerRow
from mqops.look.core.criteria import Criteria
from mqops.look.find import live_batches, recorded_batches
from mqops.look.reveal import record_reveals, refuse_unless_named, revealed_row
from mqops.look.search import Search
from mqops.message_file.core.text import text_of
from mqops.message_file.new_file import new_file, new_folder
from mqops.model import Account
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import RawMessage, Session
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed

Form: TypeAlias = Literal["text", "parquet"]
_READ = ("md", "body", "msg_key", "msg_id", "body_sha256")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """Who gets the payload, for the ledger. Parameters: `who` user@host; `run` whose snapshot has the messages."""

    lake: Path
    who: str
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote.

    Parameters: `bytes` of all bodies; `sha256` of the messages, as a load names them; `left_behind` paths that killed
    exports may have left, for a person to remove; `passed_over` messages whose text or properties cannot be read, by
    the reason.
    """

    file: str
    queue_manager: str
    queue: str
    form: Form
    messages: int
    bytes: int
    sha256: str
    left_behind: tuple[str, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """A JSON object."""
        return {name: value for name, value in json_object(self).items() if value or name != "passed_over"}


class Fingerprint:
    """The digest of messages in their order: that of a file, whatever its format (rule 4)."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.messages = 0
        self.bytes = 0

    def over(self, messages: Iterable[tuple[bytes, bytes]]) -> Iterator[RawMessage]:
        """The same messages; each is taken into account as it is given."""
        for md, body in messages:
            self._digest.update(len(body).to_bytes(8) + md + body)
            self.messages += 1
            self.bytes += len(body)
            yield RawMessage(md, body)

    def hex(self) -> str:
        """The digest of the messages so far."""
        return self._digest.hexdigest()


def export_queue(session: Session, queue: str, file: Path, form: Form, wanted: Criteria, *, to: Recipient) -> Exported:
    """Export the messages of a live queue that fit. The queue is browsed.

    Parameters: `to` who gets them.

    Raises:
        MQError: the queue cannot be browsed. No file is left.
        NotRevealed: the estate does not name him.
        SettingsError: the file is there already.
        LakeError: the disk refused.
    """
    browsed = Browsed(queue_manager=queue_manager_name(session), queue=queue, observed_at=utc())
    return _export(browsed, live_batches(session, [queue]), file, form, wanted, to=to)


def export_snapshot(
    folder: Path, queue: str, file: Path, form: Form, wanted: Criteria, *, to: Recipient, run: str = ""
) -> Exported:
    """Export the messages of a queue that a snapshot has and that fit.

    Parameters: `folder` of Parquet files, those of `run` ("": of no run); `to` who gets them.

    Raises:
        SettingsError: the file is there already, or the snapshot has no message of the queue.
        LakeError: the snapshot cannot be read, or the disk refused.
    """
    heads = recorded_batches(folder, ["queue_manager", "observed_at"], [queue])
    head = next((batch.slice(0, 1).to_pylist()[0] for batch in heads if batch.num_rows), None)
    if head is None:
        raise SettingsError(f"The snapshot in {folder} has no message of {queue}")
    browsed = Browsed(queue_manager=head["queue_manager"], queue=queue, observed_at=head["observed_at"])
    search = Search(wanted)
    columns = {*_READ, *search.columns, *search.further}
    return _export(browsed, recorded_batches(folder, columns, [queue]), file, form, wanted, to=replace(to, run=run))


def _export(
    browsed: Browsed, batches: Iterable[pa.RecordBatch], file: Path, form: Form, wanted: Criteria, *, to: Recipient
) -> Exported:
    refuse_unless_named(browsed.queue_manager, to.who, Account.SYSTEM)
    search, fingerprint, passed_over = Search(wanted), Fingerprint(), Counter[str]()
    messages = fingerprint.over(_fitting(batches, search, browsed, to, passed_over))
    left = (_write_text if form == "text" else _write_parquet)(file, browsed, messages)
    return Exported(
        file=str(file),
        queue_manager=browsed.queue_manager,
        queue=browsed.queue,
        form=form,
        messages=fingerprint.messages,
        bytes=fingerprint.bytes,
        sha256=fingerprint.hex(),
        left_behind=left,
        passed_over=dict(passed_over),
    )


def _fitting(
    batches: Iterable[pa.RecordBatch], search: Search, browsed: Browsed, to: Recipient, passed_over: Counter[str]
) -> Iterator[tuple[bytes, bytes]]:
    """MQMD and body of the messages that fit, in their order; at the end, before the file has its name, the ledger says
    that they were revealed. Parameters: `passed_over` takes the reasons why messages could not be searched."""
    revealed: list[MarkerRow] = []
    for batch in batches:
        for row in batch.select(list(_READ)).take(pa.array(search.fitting(batch), pa.int64())).to_pylist():
            ids = {name: row[name] for name in ("msg_key", "msg_id", "body_sha256")}
            revealed.append(revealed_row(len(revealed), **ids))
            yield row["md"], row["body"]
        passed_over.update(one.why for one in search.passed_over)
    record_reveals(to.lake, browsed.queue_manager, browsed.queue, revealed, run=to.run, who=to.who)


def _write_text(file: Path, browsed: Browsed, messages: Iterable[RawMessage]) -> tuple[str, ...]:
    about = (
        f"Qmgr  = {browsed.queue_manager}",
        f"Queue = {browsed.queue}",
        f"Seen  = {browsed.observed_at.isoformat()}",
    )
    with new_file(file) as place:
        for chunk in text_of(((got.md, got.body) for got in messages), about):
            place.stream.write(chunk)
    return place.left_behind


def _write_parquet(file: Path, browsed: Browsed, messages: Iterable[RawMessage]) -> tuple[str, ...]:
    with new_folder(file) as place:
        write_parquet_to(place.stream, SNAPSHOT, record_batches(browsed, messages))
    return place.left_behind
