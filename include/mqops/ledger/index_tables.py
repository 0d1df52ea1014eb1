"""The tables of the index of a ledger's closed segments, and how a segment is entered: every SQL statement of it.

| table | a row |
|---|---|
| segment | a segment that the index has: number of its first line, bytes, head after its last line, latest time (UTC)
that a line of it says |
| plan | a plan: the run's key and the plan's digest |
| line | a line: number, segment, where it stands there, its bytes, kind, plan, unit |
| message | a line has rows of the message with this MsgId |
| about | an "issued" line says this of the run, of what `ABOUT` names |

`sqlite3 LAKE/QMGR/ledger/index.sqlite` shows it: it is a cache of the lines and can be removed at any time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from mqops.ledger.core.chain import unit_of
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.history import aware
from mqwire.constants import MQ_MSG_ID_LENGTH

VERSION = 2
ABOUT = ("undoes_plan", "loads")
"""What plans are asked for by, of what their "issued" lines say."""
BATCH = 500
"""Lines that are entered at once."""
AT_ONCE = 1000
"""MsgIds that are entered at once, as many as the table `place` counts."""
_TABLES = """
CREATE TABLE segment (number INTEGER PRIMARY KEY, size INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL,
    latest TEXT NOT NULL);
CREATE TABLE plan (id INTEGER PRIMARY KEY, run TEXT NOT NULL, digest TEXT NOT NULL, UNIQUE (digest, run));
CREATE TABLE line (seq INTEGER PRIMARY KEY, segment INTEGER NOT NULL, place INTEGER NOT NULL, size INTEGER NOT NULL,
    kind TEXT NOT NULL, plan INTEGER NOT NULL, unit BLOB NOT NULL);
CREATE TABLE about (name TEXT NOT NULL, value TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, value, seq))
    WITHOUT ROWID;
CREATE TABLE message (msg_id BLOB NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (msg_id, seq)) WITHOUT ROWID;
"""
_ORDERS = """
CREATE INDEX plan_of_run ON plan (run);
CREATE INDEX line_of_plan ON line (plan);
CREATE INDEX line_of_unit ON line (unit);
CREATE INDEX line_of_kind ON line (kind);
"""
_STAGE = """
CREATE TEMP TABLE staged (msg_id BLOB NOT NULL, seq INTEGER NOT NULL);
CREATE TEMP TABLE place (n INTEGER PRIMARY KEY);
WITH RECURSIVE counted (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < 999)
    INSERT INTO place SELECT n FROM counted;
"""
_MERGE = "INSERT OR IGNORE INTO message SELECT msg_id, seq FROM staged ORDER BY msg_id, seq"
_ADD_LINE = "INSERT INTO line VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_ABOUT = "INSERT OR IGNORE INTO about VALUES (?, ?, ?)"
_ADD_STAGED = "INSERT INTO staged VALUES (?, ?)"
_ADD_WHOLE = "INSERT INTO staged SELECT substr(?1, n * 24 + 1, 24), ?2 FROM place WHERE n < ?3"
"""Of many MsgIds one after another: a call for each of them is what filling an index takes longest for."""
_ADD_PLAN = "INSERT OR IGNORE INTO plan (run, digest) VALUES (?, ?)"
_FIND_PLAN = "SELECT id FROM plan WHERE digest = ? AND run = ?"
_ADD_SEGMENT = "INSERT INTO segment VALUES (?, ?, ?, ?, ?)"
_NEVER = "9999"
"""The latest time of a segment that has a line whose time cannot be parsed: such a segment is read whenever a time is
asked for."""


def _lines(which: str) -> str:
    """The statement that finds the lines of which this is true, in their order."""
    columns = "line.seq, line.segment, line.place, line.size, line.kind"
    return " ".join(("SELECT", columns, "FROM line", which, "ORDER BY line.seq"))


LINES_OF_PLAN = _lines("JOIN plan ON plan.id = line.plan WHERE plan.digest = ? AND plan.run = ?")
LINES_OF_KIND = _lines("WHERE line.kind = ?")
ONE_OF_KIND = "SELECT 1 FROM line WHERE kind = ? LIMIT 1"
LINES_ABOUT = _lines("JOIN about ON about.seq = line.seq WHERE about.name = ? AND about.value = ?")
LINES_OF_UNIT = _lines("WHERE line.unit = ?")
LINES_OF_MESSAGES = _lines(
    "WHERE line.kind = ? AND line.seq IN (SELECT message.seq FROM temp.wanted CROSS JOIN message USING (msg_id))"
)
IDS_OF_PREFIX = "SELECT count(*) FROM (SELECT DISTINCT msg_id FROM message WHERE msg_id >= ? AND msg_id < ? LIMIT ?)"
LINES_OF_PREFIX = _lines("WHERE line.seq IN (SELECT seq FROM message WHERE msg_id >= ? AND msg_id < ?)")
LINES_OF_THEIR_PLANS = _lines(
    "WHERE line.kind IN ('issued', 'resumed') AND line.plan IN (SELECT of_message.plan FROM message JOIN line AS "
    "of_message ON of_message.seq = message.seq WHERE message.msg_id >= ? AND message.msg_id < ?)"
)
WANT = ("CREATE TEMP TABLE wanted (msg_id BLOB PRIMARY KEY) WITHOUT ROWID", "INSERT OR IGNORE INTO wanted VALUES (?)")
SEGMENTS_SINCE = (
    "SELECT number FROM segment WHERE number >= (SELECT min(number) FROM segment WHERE latest >= ?) ORDER BY number"
)
SEGMENTS_OF_RUNS = (
    "SELECT DISTINCT line.segment FROM plan JOIN line ON line.plan = plan.id WHERE plan.run >= ?1 AND plan.run < "
    "?1 || char(1114111)"
)
LAST_SEGMENT = "SELECT number, size, seq, hash FROM segment ORDER BY number DESC LIMIT 1"


class Place(NamedTuple):
    """Where a line stands. Parameters: `seq` its number; `segment` number of its segment; `place` byte there; `size`
    its bytes, line feed included."""

    seq: int
    segment: int
    place: int
    size: int
    kind: str


class Held(NamedTuple):
    """A segment that the index has, as its checkpoint says."""

    number: int
    size: int
    seq: int
    hash: str


def blob(text: str) -> bytes:
    """What a MsgId or a unit in hex is found by: its bytes; of what is not hex in lower case, the text."""
    found = _bytes(text)
    return b"\xff" + text.encode(errors="surrogatepass") if found is None else found


def _bytes(text: str) -> bytes | None:
    """The bytes of hex in lower case, None of another text."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if found.hex() == text else None


def prefix_range(prefix: str) -> tuple[bytes, bytes]:
    """The least MsgId that begins so, and one that is greater than all of them. Parameters: `prefix` hex."""
    low = bytes.fromhex(prefix + "0" * (len(prefix) % 2))
    high = bytes.fromhex(prefix + "f" * (len(prefix) % 2))
    return low, high + b"\xff" * 32


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new index."""
    connection.executescript(_TABLES)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def order(connection: sqlite3.Connection) -> None:
    """Make the orders by which lines are found, when all of a new index is entered."""
    connection.executescript(_ORDERS)


def stage(connection: sqlite3.Connection) -> None:
    """Make the place where the MsgIds wait until they are merged in their order."""
    connection.executescript(_STAGE)


def merge(connection: sqlite3.Connection) -> None:
    """Enter the MsgIds that wait."""
    connection.execute(_MERGE)
    connection.execute("DELETE FROM staged")


def enter_segment(connection: sqlite3.Connection, content: Iterable[bytes], made: Checkpoint) -> None:
    """Enter a closed segment, of these lines and this checkpoint. Raises `LakeError`, `sqlite3.Error`."""
    plans: dict[tuple[str, str], int] = {}
    lines: list[tuple[object, ...]] = []
    place, latest = 0, ""
    for seq, line in enumerate(content, start=made.number):
        entry = _entry(line)
        plan = (_text(entry, "run"), _text(entry, "plan"))
        if plan not in plans:
            plans[plan] = _plan_id(connection, *plan)
        lines.append((seq, made.number, place, len(line), _text(entry, "kind"), plans[plan], blob(unit_of(line))))
        place += len(line)
        latest = max(latest, _time(entry))
        _enter_messages(connection, entry, seq)
        connection.executemany(_ADD_ABOUT, ((*one, seq) for one in _about(entry)))
        if len(lines) == BATCH:
            connection.executemany(_ADD_LINE, lines)
            lines.clear()
    connection.executemany(_ADD_LINE, lines)
    connection.execute(_ADD_SEGMENT, (made.number, made.size, made.head.seq, made.head.hash, latest))


def _enter_messages(connection: sqlite3.Connection, entry: dict[str, object], seq: int) -> None:
    ids = _msg_ids(entry)
    whole = _bytes("".join(ids)) if set(map(len, ids)) == {2 * MQ_MSG_ID_LENGTH} else None
    if whole is None:
        connection.executemany(_ADD_STAGED, ((blob(one), seq) for one in ids))
        return
    for first in range(0, len(whole), AT_ONCE * MQ_MSG_ID_LENGTH):
        some = whole[first : first + AT_ONCE * MQ_MSG_ID_LENGTH]
        connection.execute(_ADD_WHOLE, (some, seq, len(some) // MQ_MSG_ID_LENGTH))


def _entry(line: bytes) -> dict[str, object]:
    """A line as a JSON object; of one that is none, nothing is entered but where it stands."""
    with suppress(ValueError, RecursionError):
        entry = json.loads(line)
        if isinstance(entry, dict):
            return entry
    return {}


def _text(entry: dict[str, object], name: str) -> str:
    return str(entry.get(name, ""))


def _time(entry: dict[str, object]) -> str:
    """The time that a line says, in UTC."""
    try:
        return utc(datetime.fromisoformat(_text(entry, "at")))
    except (ValueError, OverflowError):
        return _NEVER


def utc(time: datetime) -> str:
    """A time as texts of it are compared; without a time zone it is UTC. Raises `OverflowError`."""
    return aware(time).astimezone(UTC).isoformat(timespec="microseconds")


def _msg_ids(entry: dict[str, object]) -> list[str]:
    """The MsgIds of a line's rows, as they stand there."""
    rows = entry.get("rows")
    if not isinstance(rows, list):
        return []
    return [str(row[2]) for row in rows if isinstance(row, list) and len(row) > 2]


def _about(entry: dict[str, object]) -> Iterator[tuple[str, str]]:
    said = entry.get("about")
    if entry.get("kind") == "issued" and isinstance(said, dict):
        yield from ((name, str(said[name])) for name in ABOUT if said.get(name) is not None)


def _plan_id(connection: sqlite3.Connection, run: str, digest: str) -> int:
    connection.execute(_ADD_PLAN, (run, digest))
    return int(connection.execute(_FIND_PLAN, (digest, run)).fetchone()[0])
