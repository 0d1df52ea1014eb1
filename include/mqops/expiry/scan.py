"""A scan for expired messages in one process: candidates, scan, what it taught (`mqops expiry scan`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.errors import MQError
from mqops.expiry.core.candidates import worth_scanning
from mqops.expiry.core.outcome import DeadLetterQueue, ExpirySummary, QueueScan, summarise
from mqops.expiry.group import known_by_all, members, note_group
from mqops.expiry.queue_manager import (
    bases_of,
    group_of,
    has_refresh,
    local_queues,
    named_by,
    refresh_expiry,
    scan_queue,
)
from mqops.expiry.record import SCANNED, forget_others, known, learn
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name, unseen_queues
from mqops.mq.session import Session, is_gone
from mqops.queue_names import selected

DEFAULT_RECHECK = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Which queues to scan: `why` queue → reason; `last_puts` queue → its last put; `inhibited` have GET(DISABLED);
    `aliases` alias that was named → the local queue that is looked at;
    `group` the queue-sharing group, blank for none, and its `members` that were scanned; `unseen` queues that are meant
    and that the connection's user may not inquire: nothing is known of them."""

    queue_manager: str
    looked_at: int
    why: Mapping[str, str] = field(default_factory=dict)
    last_puts: Mapping[str, str] = field(default_factory=dict)
    inhibited: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    members: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def candidates(
    session: Session,
    lake: Path,
    patterns: Iterable[str],
    *,
    recheck: timedelta = DEFAULT_RECHECK,
    all_filled: bool = False,
) -> Candidates:
    """The queues worth a scan.

    Parameters: `patterns` names, or beginnings and `*`; `all_filled` every one that has messages, whatever is known.

    Raises:
        MQError: the queue manager cannot be inquired, or a queue is not there.
        LakeError: what earlier scans taught cannot be read.
    """
    name, group = queue_manager_name(session), group_of(session)
    wanted = tuple(patterns)
    everything = local_queues(session)
    hidden = unseen_queues(session, named("*"))
    aliases = bases_of(session, everything, (one for one in wanted if one not in hidden))
    wanted = tuple(aliases.get(one, one) for one in wanted)
    queues = named_by(everything, (one for one in wanted if one not in hidden))
    own, of_group = lake_folder(lake, name), dict[str, Path]()
    forget_others(own, {queue.name for queue in everything})
    if group:
        note_group(own, name, group)
        of_group = dict(members(lake, group))
    taught = {} if all_filled else known_by_all(known(own), of_group.values(), queues)
    return Candidates(
        queue_manager=name,
        looked_at=len(queues),
        why=worth_scanning(queues, taught, now=datetime.now(UTC), recheck=recheck),
        last_puts={queue.name: queue.last_put for queue in queues},
        inhibited=tuple(queue.name for queue in queues if queue.depth and not queue.get_allowed),
        aliases=aliases,
        group=group,
        members=tuple(of_group),
        unseen=tuple(queue for queue in hidden if selected(queue, wanted)),
    )


class Scans(NamedTuple):
    """What a scan did. Parameters: `gone` queues that ended between the look and their scan, or during it: they have no
    expired messages any more."""

    done: tuple[QueueScan, ...]
    gone: tuple[str, ...] = ()


def scan(session: Session, lake: Path, found: Candidates) -> Scans:
    """Scan the candidates one after the other and keep what that teaches. Raises `MQError`, `LakeError`."""
    done: list[QueueScan] = []
    gone: list[str] = []
    for queue in found.why:
        one = scan_if_there(session, queue, found.last_puts.get(queue, ""))
        done += [one] if one else []
        gone += [] if one else [queue]
    learn(lake_folder(lake, found.queue_manager), done)
    return Scans(tuple(done), tuple(gone))


def scan_if_there(session: Session, queue: str, last_put: str) -> QueueScan | None:
    """As `scan_queue`; None if the queue has ended, as a dynamic queue does with its program. Raises `MQError`."""
    try:
        return scan_queue(session, queue, now=lambda: datetime.now(UTC), last_put=last_put)
    except MQError as error:
        if is_gone(error):
            return None
        raise


def run_scan(
    connection: MqConnection, lake: Path, patterns: Iterable[str], *, recheck: timedelta, all_filled: bool = False
) -> tuple[Candidates, ExpirySummary]:
    """Candidates and scan in one go. Raises as they do."""
    with connect(connection) as session:
        found = candidates(session, lake, patterns, recheck=recheck, all_filled=all_filled)
        scans = scan(session, lake, found)
    return found, summarise(scans.done, run="", queue_manager=found.queue_manager, gone=scans.gone, unseen=found.unseen)


def refresh(connection: MqConnection, lake: Path, generic_name: str) -> ExpirySummary:
    """REFRESH QMGR TYPE(EXPIRY) NAME(generic_name) where the platform has it, the same by scan where not (E18).

    Where the queue manager does it, the queues are looked at afterwards as well, so that the outcome is known.

    Raises:
        MQError: it cannot be reached, or refuses.
        LakeError: what the scan taught cannot be kept.
    """
    with connect(connection) as session:
        before = candidates(session, lake, named(generic_name), all_filled=True)
        by = "scan"
        depths: dict[str, int] = {}
        name = before.aliases.get(generic_name, generic_name)
        if has_refresh(session):
            depths = {queue.name: queue.depth for queue in named_by(local_queues(session), named(name))}
            if refresh_expiry(session, name):
                by = "REFRESH QMGR TYPE(EXPIRY)"
        scans = scan(session, lake, before)
    done = (_since(one, depths) for one in scans.done)
    return summarise(
        done,
        run="",
        queue_manager=before.queue_manager,
        by=by,
        gone=scans.gone,
        unseen=before.unseen,
        aliases=before.aliases,
    )


def named(generic_name: str) -> tuple[str, ...]:
    """The patterns that a generic name stands for: `*` is every queue, SYSTEM. ones as well."""
    return ("*", "SYSTEM.*", "MQOPS.*") if generic_name == "*" else (generic_name,)


def _since(scan: QueueScan, depths: Mapping[str, int]) -> QueueScan:
    """The outcome counted from before the command."""
    there = depths.get(scan.queue, scan.there)
    values = {name: getattr(scan, name) for name in scan.__dataclass_fields__}
    return QueueScan(**{**values, "there": there, "discarded": scan.discarded + there - scan.there})


def lake_folder(lake: Path, queue_manager: str) -> Path:
    """LAKE/<queue manager>."""
    return RunFolder.at(lake, queue_manager, "any").lake_folder


def write_summary(
    run: RunFolder,
    queue_manager: str,
    scans: Iterable[QueueScan],
    dead_letters: DeadLetterQueue | None = None,
    *,
    gone: Iterable[str] = (),
    unseen: Iterable[str] = (),
) -> ExpirySummary:
    """Keep what scans of a run taught and write RUN/expiry.json. Raises `LakeError`."""
    done = tuple(scans)
    learn(run.lake_folder, done)
    summary = summarise(
        done, run=run.run, queue_manager=queue_manager, dead_letters=dead_letters, gone=gone, unseen=unseen
    )
    SCANNED.write(run, summary)
    return summary
