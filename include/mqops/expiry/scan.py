"""A scan for expired messages in one process: candidates, scan, what it taught (`mqops expiry scan`)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.clock import utc, utc_text
from mqops.errors import MQError
from mqops.expiry.core.candidates import Known, QueueNow, Scanner, differing_expryint, worth_scanning
from mqops.expiry.core.first_tell import AtStake, FirstTell, at_stake
from mqops.expiry.core.outcome import DeadLetterQueue, ExpirySummary, QueueScan, summarise
from mqops.expiry.group import Member, known_by_all, left_to_others, members, note_group, scanners
from mqops.expiry.queue_manager import (
    bases_of,
    expiry_interval,
    group_of,
    has_refresh,
    local_queues,
    may_browse,
    named_by,
    refresh_expiry,
    scan_queue,
)
from mqops.expiry.record import SCANNED, forget_others, known, learn
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name, queue_names
from mqops.mq.session import Session, is_gone
from mqops.queue_names import selected

DEFAULT_RECHECK = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Which queues to scan: `why` queue → reason; `queues` all that are meant, and what is `known` of them by earlier
    scans; `inhibited` have GET(DISABLED); `aliases` alias that was named → the local queue that is looked at;
    `group` the queue-sharing group, blank for none, and its `members` that were scanned; `scanners` who scans each
    shared queue; `expryint` a sentence if the members have different ones, else blank; `unseen` queues that are meant
    and that the connection's user may not inquire: nothing is known of them."""

    queue_manager: str
    why: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[QueueNow, ...] = ()
    known: Mapping[str, Known] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    members: tuple[str, ...] = ()
    scanners: tuple[Scanner, ...] = ()
    expryint: str = ""
    unseen: tuple[str, ...] = ()

    @property
    def looked_at(self) -> int:
        """How many queues are meant."""
        return len(self.queues)

    @property
    def inhibited(self) -> tuple[str, ...]:
        """Queues with messages that cannot be browsed: they have GET(DISABLED)."""
        return tuple(queue.name for queue in self.queues if queue.depth and not queue.get_allowed)

    def at_stake(self) -> tuple[AtStake, ...]:
        """What a look at the candidates lets the queue manager discard, as far as a report or a value is at stake."""
        return tuple(at_stake(self.queues, self.why, self.known, now=utc()))

    def refused(self, first_tell: FirstTell | None) -> dict[str, str]:
        """The candidates that are not to be looked at → what a look lets the queue manager discard. Parameters:
        `first_tell` None where nobody wants to be told; it is not called where nothing is at stake."""
        told = self.at_stake() if first_tell else ()
        if first_tell is None or not told or first_tell(told):
            return {}
        return {one.queue: one.sentence() for one in told}

    def without(self, left: Container[str]) -> Candidates:
        """The other candidates. Parameters: `left` names of queues."""
        return replace(self, why={queue: why for queue, why in self.why.items() if queue not in left})

    def about_shared(self) -> Iterator[str]:
        """Sentences about the queue-sharing group (E17)."""
        yield from (one.sentence(self.group) for one in self.scanners)
        if self.expryint:
            yield self.expryint


def candidates(
    session: Session,
    lake: Path,
    patterns: Iterable[str],
    *,
    recheck: timedelta = DEFAULT_RECHECK,
    all_filled: bool = False,
    forecast: bool = False,
    waiting: bool = False,
    interval: timedelta | None = None,
) -> Candidates:
    """The queues worth a scan.

    Parameters: `patterns` names, or beginnings and `*`; `all_filled` every one that has messages, whatever is known;
    `forecast` whether it is to be known what will expire, too; `waiting` also the dead-letter, backout and storage
    queues, whatever their names are (of those that may not be browsed nothing is known); `interval` of the scans, None
    for one by hand.

    Raises:
        MQError: the queue manager cannot be inquired, or a queue is not there.
        LakeError: what earlier scans taught cannot be read.
    """
    name, group, now = queue_manager_name(session), group_of(session), utc()
    wanted = tuple(patterns)
    before = queue_names(session)
    everything = local_queues(session)
    hidden = sorted((before & queue_names(session)) - {queue.name for queue in everything})  # as `unseen_queues`
    aliases = bases_of(session, everything, (one for one in wanted if one not in hidden))
    wanted = tuple(aliases.get(one, one) for one in wanted)
    queues = named_by(everything, (one for one in wanted if one not in hidden))
    also = [queue for queue in everything if waiting and queue.kind.waits and queue not in queues]
    closed = {queue.name for queue in also if queue.depth and not may_browse(session, queue.name)}
    queues += also
    own, of_group = lake_folder(lake, name), list[tuple[Member, Path]]()
    forget_others(own, {queue.name for queue in everything})
    if group:
        at = utc_text(now)
        note_group(own, Member(queue_manager=name, group=group, expryint=expiry_interval(session), checked_at=at))
        of_group = list(members(lake, group))
    taught = known_by_all(known(own), of_group, queues)
    left = left_to_others(taught, name, now=now, interval=interval)
    here = [queue for queue in queues if queue.name not in left and queue.name not in closed]
    known_here = {} if all_filled else taught.known
    why = worth_scanning(here, known_here, now=now, recheck=recheck, forecast=forecast)
    return Candidates(
        queue_manager=name,
        why=why,
        queues=tuple(queues),
        known=taught.known,
        aliases=aliases,
        group=group,
        members=tuple(member.queue_manager for member, _ in of_group),
        scanners=scanners(taught, (queue.name for queue in queues if queue.shared), name, why),
        expryint=differing_expryint(group, {one.queue_manager: one.expryint for one, _ in of_group}),
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
    last_puts = {queue.name: queue.last_put for queue in found.queues}
    for queue in found.why:
        one = scan_if_there(session, queue, last_puts.get(queue, ""))
        done += [one] if one else []
        gone += [] if one else [queue]
    learn(lake_folder(lake, found.queue_manager), done)
    return Scans(tuple(done), tuple(gone))


def scan_if_there(session: Session, queue: str, last_put: str) -> QueueScan | None:
    """As `scan_queue`; None if the queue has ended, as a dynamic queue does with its program. Raises `MQError`."""
    try:
        return scan_queue(session, queue, now=utc, last_put=last_put)
    except MQError as error:
        if is_gone(error):
            return None
        raise


def run_scan(
    connection: MqConnection,
    lake: Path,
    patterns: Iterable[str],
    *,
    recheck: timedelta,
    all_filled: bool = False,
    forecast: bool = False,
    waiting: bool = False,
    first_tell: FirstTell | None = None,
) -> tuple[Candidates, ExpirySummary]:
    """Candidates and scan in one go. Raises as they do.

    Parameters: as of `candidates`; `first_tell` hears what is at stake before anything is browsed, and says whether
    those queues are to be looked at; it is not asked where nothing is.
    """
    with connect(connection) as session:
        found = candidates(
            session, lake, patterns, recheck=recheck, all_filled=all_filled, forecast=forecast, waiting=waiting
        )
        found = found.without(found.refused(first_tell))
        scans = scan(session, lake, found)
    return found, summarise(scans.done, run="", queue_manager=found.queue_manager, gone=scans.gone, unseen=found.unseen)


def refresh(
    connection: MqConnection, lake: Path, generic_name: str, *, first_tell: FirstTell | None = None
) -> ExpirySummary:
    """REFRESH QMGR TYPE(EXPIRY) NAME(generic_name) where the platform has it, the same by scan where not (E18).

    Where the queue manager does it, the queues are looked at afterwards as well, so that the outcome is known.

    Parameters: `first_tell` as of `run_scan`; says it no, nothing is done at all.

    Raises:
        MQError: it cannot be reached, or refuses.
        LakeError: what the scan taught cannot be kept.
    """
    with connect(connection) as session:
        before = candidates(session, lake, named(generic_name), all_filled=True)
        by = "scan"
        depths: dict[str, int] = {}
        name = before.aliases.get(generic_name, generic_name)
        if before.refused(first_tell):
            before, by = replace(before, why={}), ""
        elif has_refresh(session):
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
) -> ExpirySummary:
    """Keep what scans of a run taught and write RUN/expiry.json. Raises `LakeError`."""
    done = tuple(scans)
    learn(run.lake_folder, done)
    summary = summarise(done, run=run.run, queue_manager=queue_manager, dead_letters=dead_letters, gone=gone)
    SCANNED.write(run, summary)
    return summary
