"""A queue manager as it is now: each queue by inquiry, never by a browse; what the lake knows besides; what is wrong.

1. The queue manager is asked by PCF (its queues, their status). Nothing is put, got or browsed.
2. Where it does not answer, the figures of the last time stand there, with their time: LAKE/<queue manager>/
   last_seen.json, written at most once a minute. The file may be deleted.
3. A queue is told of if it has messages or something is wrong with it; the others are counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from mqops.clock import utc_now
from mqops.errors import LakeError, MqopsError
from mqops.expiry.record import known
from mqops.lake.files import make_folder, read_json, write_json
from mqops.lake.run import folder_of
from mqops.lake.stop import stop_in
from mqops.ledger.file import LedgerFile
from mqops.look.core.run_state import RunLine, RunState
from mqops.look.runs import list_runs
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import command, dead_letter_queue, inquire_queues
from mqops.mq.session import Session
from mqwire import constants as c

LAST_SEEN = "last_seen.json"
KEEP_EVERY = timedelta(minutes=1)
SHOWN_RUNS = 5
SPARK_DAY = timedelta(days=1)
NEARLY_FULL = 0.9
_ASKED = (
    *(c.MQIA_CURRENT_Q_DEPTH, c.MQIA_MAX_Q_DEPTH, c.MQIA_OPEN_INPUT_COUNT, c.MQIA_OPEN_OUTPUT_COUNT),
    *(c.MQIA_INHIBIT_PUT, c.MQIA_INHIBIT_GET),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueNow:
    """A local queue.

    Parameters: `depth` and `max_depth` in messages; `oldest` age of the oldest message in seconds, None where the
    queue manager does not monitor it; `uncommitted` messages of open units of work, None where it does not say;
    `readers` and `writers` handles; `next_expiry` by the last scan, ISO 8601 UTC; `earlier` messages of the snapshots
    of the last day, oldest first.
    """

    name: str
    depth: int
    max_depth: int
    readers: int = 0
    writers: int = 0
    put_allowed: bool = True
    get_allowed: bool = True
    oldest: int | None = None
    uncommitted: int | None = None
    next_expiry: str = ""
    earlier: tuple[int, ...] = ()

    @property
    def nearly_full(self) -> bool:
        """Whether it has 90 % of the messages that it may have."""
        return self.max_depth > 0 and self.depth >= NEARLY_FULL * self.max_depth


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerNow:
    """A queue manager.

    Parameters: `seen_at` when the queue manager gave the figures, ISO 8601 UTC, blank where it never did; `unreachable`
    why it does not answer now, blank where it does; `dead_letter_queue` blank where it has none; `queues` that are told
    of, `others` how many there are besides; `waiting` runs that wait for an approval; `stopped` who stopped all runs,
    blank where nobody did; `problems` what is wrong, in words.
    """

    name: str
    seen_at: str = ""
    unreachable: str = ""
    dead_letter_queue: str = ""
    queues: tuple[QueueNow, ...] = ()
    others: int = 0
    runs: tuple[RunLine, ...] = ()
    waiting: tuple[RunLine, ...] = ()
    stopped: str = ""
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        lines = {name: [line.to_json() for line in getattr(self, name)] for name in ("runs", "waiting")}
        return {**asdict(self), **lines}


def manager_now(connection: MqConnection | str, lake: Path, name: str) -> ManagerNow:
    """A queue manager as it is now.

    Parameters: `connection` how it is reached, or in words why that is not known; `name` of the queue manager.
    """
    folder, problems = folder_of(lake, name), list[str]()
    seen = _asked(connection, folder, problems)
    runs = _runs(lake, name, problems)
    forecast = _forecast(folder, problems)
    queues = tuple(_queue(row, runs, forecast) for row in seen["queues"])
    problems += [f"{one.name} is {100 * one.depth // one.max_depth} % full" for one in queues if one.nearly_full]
    problems += _damaged(folder)
    problems += [f"Run {run.run} does not balance: find the cause first" for run in runs if _is_wrong(run)]
    stop = stop_in(folder)
    return ManagerNow(
        name=name,
        seen_at=seen["seen_at"],
        unreachable=seen["unreachable"],
        dead_letter_queue=seen["dead_letter_queue"],
        queues=queues,
        others=seen["others"],
        runs=tuple(runs[:SHOWN_RUNS]),
        waiting=tuple(run for run in runs if run.state is RunState.WAITING),
        stopped=str(stop) if stop else "",
        problems=tuple(problems),
    )


def _is_wrong(run: RunLine) -> bool:
    return run.state is RunState.UNBALANCED


def _asked(connection: MqConnection | str, folder: Path, problems: list[str]) -> dict[str, Any]:
    """What the queue manager answers, or what it answered last."""
    unreachable = connection if isinstance(connection, str) else ""
    if isinstance(connection, MqConnection):
        try:
            with connect(connection) as session:
                found = _answers(session)
            _keep(folder, found)
            return {**found, "unreachable": ""}
        except MqopsError as error:
            unreachable = str(error)
    problems.append(f"The queue manager does not answer: {unreachable}")
    return {**(_kept(folder) or _NEVER), "unreachable": unreachable}


_NEVER: dict[str, Any] = {"seen_at": "", "dead_letter_queue": "", "queues": [], "others": 0}


def _answers(session: Session) -> dict[str, Any]:
    """The queues that are told of, as JSON. Raises `MQError`."""
    try:
        dead = dead_letter_queue(session)
    except MqopsError:
        dead = ""
    status = _status(session)
    rows, others = [], 0
    for row in inquire_queues(session, "*", _ASKED):
        name, depth = row[c.MQCA_Q_NAME], row[c.MQIA_CURRENT_Q_DEPTH]
        own = not name.startswith(("SYSTEM.", "MQOPS.", "AMQ.")) or name == dead
        closed = own and (row[c.MQIA_INHIBIT_PUT] or row[c.MQIA_INHIBIT_GET])
        if not own or not (depth or closed or name == dead):
            others += own
            continue
        rows.append(
            {
                "name": name,
                "depth": depth,
                "max_depth": row[c.MQIA_MAX_Q_DEPTH],
                "readers": row[c.MQIA_OPEN_INPUT_COUNT],
                "writers": row[c.MQIA_OPEN_OUTPUT_COUNT],
                "put_allowed": row[c.MQIA_INHIBIT_PUT] == c.MQQA_PUT_ALLOWED,
                "get_allowed": row[c.MQIA_INHIBIT_GET] == c.MQQA_GET_ALLOWED,
                **status.get(name, {}),
            }
        )
    rows.sort(key=lambda row: (row["name"] != dead, -row["depth"], row["name"]))
    return {"seen_at": utc_now(), "dead_letter_queue": dead, "queues": rows, "others": others}


def _status(session: Session) -> dict[str, dict[str, int | None]]:
    """Queue → oldest message and uncommitted ones. Who may not ask for the status sees the rest."""
    asked: dict[int, Any] = {
        c.MQCA_Q_NAME: b"*",
        c.MQIACF_Q_STATUS_ATTRS: [c.MQCA_Q_NAME, c.MQIACF_OLDEST_MSG_AGE, c.MQIACF_UNCOMMITTED_MSGS],
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_Q_STATUS", asked)
    except MqopsError:
        return {}
    return {
        row[c.MQCA_Q_NAME]: {
            "oldest": _monitored(row.get(c.MQIACF_OLDEST_MSG_AGE)),
            "uncommitted": _monitored(row.get(c.MQIACF_UNCOMMITTED_MSGS)),
        }
        for row in rows
        if c.MQCA_Q_NAME in row
    }


def _monitored(value: object) -> int | None:
    """A figure of the status; None where the queue manager does not monitor it (MQMON_NOT_AVAILABLE is -1)."""
    return value if isinstance(value, int) and value >= 0 else None


def _queue(row: dict[str, Any], runs: Sequence[RunLine], forecast: dict[str, str]) -> QueueNow:
    since = (datetime.fromisoformat(utc_now()) - SPARK_DAY).isoformat()
    earlier = [run.messages for run in reversed(runs) if run.queue == row["name"] and run.at >= since]
    return QueueNow(**row, next_expiry=forecast.get(row["name"], ""), earlier=(*earlier, row["depth"]))


def _runs(lake: Path, name: str, problems: list[str]) -> list[RunLine]:
    try:
        return list_runs(lake, queue_manager=name)
    except LakeError as error:
        problems.append(f"The runs cannot be read: {error}")
        return []


def _forecast(folder: Path, problems: list[str]) -> dict[str, str]:
    try:
        return {name: scan.next_expiry for name, scan in known(folder).items()}
    except (LakeError, TypeError, AttributeError) as error:
        problems.append(f"What the expiry scans found cannot be read: {error}")
        return {}


def _damaged(folder: Path) -> Iterator[str]:
    """What is wrong with the ledger, as every act would say it."""
    path = LedgerFile(folder, utc_now).path
    state = path.stat() if path.exists() else None
    found = _broken(folder, state.st_mtime_ns if state else 0, state.st_size if state else 0)
    if found:
        yield f"The ledger is damaged, so nothing may act: {found}"


@lru_cache(maxsize=256)
def _broken(folder: Path, _changed: int, _bytes: int) -> str:
    """The whole ledger is read again only where its file is another one."""
    try:
        LedgerFile(folder, utc_now).refuse_broken()
    except MqopsError as error:
        return str(error)
    return ""


def _kept(folder: Path) -> dict[str, Any] | None:
    """The figures of the last time; None where there are none that can be read."""
    path = folder / LAST_SEEN
    try:
        found = read_json(path) if path.exists() else {}
        rows = [QueueNow(**row) for row in found["queues"]]
        return {**{name: found[name] for name in _NEVER}, "queues": [_row(row) for row in rows]}
    except (LakeError, AttributeError, KeyError, TypeError):
        return None


def _row(queue: QueueNow) -> dict[str, Any]:
    return {name: value for name, value in asdict(queue).items() if name not in {"next_expiry", "earlier"}}


def _keep(folder: Path, found: dict[str, Any]) -> None:
    """Write the figures for the next time, where they are a minute old. Who may only read the lake does without."""
    before, path = _kept(folder), folder / LAST_SEEN
    now = datetime.fromisoformat(found["seen_at"])
    if before and now - datetime.fromisoformat(before["seen_at"]) < KEEP_EVERY:
        return
    try:
        if os.access(folder.parent, os.W_OK):
            make_folder(folder)
            write_json(path, found)
    except LakeError:
        return  # the figures of now are shown all the same
