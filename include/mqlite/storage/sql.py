"""Every statement of the engine, by name. `qm.db` is SQLite in WAL mode and can be read with `sqlite3`.

State of a message: 0 available, 1 put in a unit of work that has not ended, 2 got in one, 3 locked by a browse, 4 a
trigger message that becomes available with the end of a unit of work, be it backed out. `owner` is the connection whose
unit of work or lock it is. `rank` orders delivery: 9 minus the priority, which is the queue's default for all that
arrive while it is MSGDLVSQ(FIFO); then `seq`, the order of arrival. `expires` is in tenths of a second since 1970, far
away for messages that never expire. `queue.depth` counts as CURDEPTH does: uncommitted puts yes, uncommitted gets no.

The queue managers of a queue-sharing group have one file. Its `member` columns say whose a row is, blank for what they
share (and everywhere outside a group). Statements name the table `main.queue` where they write by number; where they
read by name, a member finds views of these names that show what is its own and what is shared.
"""

from __future__ import annotations

from typing import NamedTuple

from mqlite.storage.rows import (
    ConnectionRow,
    ExpiredMessage,
    FoundMessage,
    HandleRow,
    ManagerRow,
    MemberConnection,
    NewMessage,
    ObjectRow,
    QueueRow,
    UncommittedPut,
)  # fmt: skip


def columns(row: type[NamedTuple]) -> str:
    """The columns of a statement: the fields of its row."""
    return ", ".join(row._fields)


FORMAT = 1
"""The format version of `qm.db`, its `user_version`. A file of version 0.1.0 has 0, which is the same format."""
FORMAT_OF = "PRAGMA user_version"
SCHEMA = f"""
PRAGMA user_version = {FORMAT};
CREATE TABLE manager (
    name TEXT NOT NULL, platform TEXT NOT NULL, ccsid INTEGER NOT NULL, encoding INTEGER NOT NULL,
    identity BLOB NOT NULL,
    version INTEGER NOT NULL DEFAULT 1     -- counts changes of any object
);
CREATE TABLE object (
    kind TEXT NOT NULL, name TEXT NOT NULL, attributes TEXT NOT NULL,  -- JSON by MQSC keyword
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX object_initq ON object (json_extract(attributes, '$.INITQ')) WHERE kind = 'QLOCAL';
CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- units of work may speak of a queue that is gone
    name TEXT NOT NULL, depth INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,    -- counts changes of the definition
    dynamic INTEGER NOT NULL DEFAULT 0,    -- MQQDT_* of a dynamic queue
    creator INTEGER NOT NULL DEFAULT 0,    -- connection that made a temporary dynamic queue
    deleted INTEGER NOT NULL DEFAULT 0,    -- logically deleted, still open somewhere
    monitoring INTEGER NOT NULL DEFAULT 0, -- MONQ as it is in effect: MQMON_OFF, or the level
    last_put TEXT NOT NULL DEFAULT '', last_get TEXT NOT NULL DEFAULT '',  -- while it is monitored
    puts INTEGER NOT NULL DEFAULT 0,       -- these three since the statistics were reset, `since` seconds since 1970
    gets INTEGER NOT NULL DEFAULT 0,
    high INTEGER NOT NULL DEFAULT 0,
    since INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)),
    triggered INTEGER NOT NULL DEFAULT 0,  -- last trigger message for it, milliseconds since 1970; 0 after a restart
    member TEXT NOT NULL DEFAULT '', UNIQUE (name, member)
);
CREATE TABLE message (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, queue INTEGER NOT NULL, state INTEGER NOT NULL, rank INTEGER NOT NULL,
    owner INTEGER NOT NULL, expires INTEGER NOT NULL, persistent INTEGER NOT NULL, backouts INTEGER NOT NULL DEFAULT 0,
    msg_id BLOB NOT NULL, correl_id BLOB, group_id BLOB, msg_seq_number INTEGER NOT NULL, msg_offset INTEGER NOT NULL,
    stored INTEGER NOT NULL,               -- tenths of a second since 1970
    md BLOB NOT NULL, body BLOB NOT NULL
);
CREATE INDEX message_order ON message (queue, state, rank, seq);
CREATE INDEX message_msg_id ON message (queue, msg_id, rank);
CREATE INDEX message_correl_id ON message (queue, correl_id, rank) WHERE correl_id IS NOT NULL;
CREATE INDEX message_group ON message (queue, group_id, msg_seq_number) WHERE group_id IS NOT NULL;
CREATE INDEX message_expires ON message (queue, expires) WHERE expires < 9000000000000000000;
CREATE TABLE connection (
    id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, user TEXT NOT NULL, application TEXT NOT NULL,
    channel TEXT NOT NULL, conn_name TEXT NOT NULL, started TEXT NOT NULL,
    member TEXT NOT NULL DEFAULT ''
);
CREATE TABLE handle (
    connection INTEGER NOT NULL, handle INTEGER NOT NULL, queue INTEGER NOT NULL, options INTEGER NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL, exclusive INTEGER NOT NULL, PRIMARY KEY (connection, handle)
) WITHOUT ROWID;
CREATE INDEX handle_queue ON handle (queue);
CREATE TABLE mark (                        -- messages marked as browsed
    message INTEGER NOT NULL, connection INTEGER NOT NULL, handle INTEGER NOT NULL,  -- 0, 0: the cooperating handles
    queue INTEGER NOT NULL,
    since INTEGER NOT NULL,                -- milliseconds since 1970
    PRIMARY KEY (message, connection, handle)
) WITHOUT ROWID;
CREATE INDEX mark_handle ON mark (queue, connection, handle);
CREATE TRIGGER message_got AFTER UPDATE OF state ON message WHEN NEW.state = 2 BEGIN
    DELETE FROM mark WHERE message = NEW.seq;
END;
CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
    DELETE FROM mark WHERE message = OLD.seq;
END;
CREATE TRIGGER handle_closed AFTER DELETE ON handle BEGIN
    DELETE FROM mark WHERE queue = OLD.queue AND connection = OLD.connection AND handle = OLD.handle;
    DELETE FROM mark WHERE queue = OLD.queue AND connection = 0
        AND NOT EXISTS (SELECT 1 FROM handle WHERE queue = OLD.queue AND options & 131072);  -- MQOO_CO_OP
END;
"""
# The file of a queue-sharing group has `definition` instead of `object`, which is a view here.
GROUP_SCHEMA = f"""{SCHEMA}
DROP TABLE object;
CREATE TABLE definition (
    kind TEXT NOT NULL, name TEXT NOT NULL, member TEXT NOT NULL, attributes TEXT NOT NULL,
    PRIMARY KEY (kind, name, member)
) WITHOUT ROWID;
CREATE INDEX definition_initq ON definition (json_extract(attributes, '$.INITQ')) WHERE kind = 'QLOCAL';
"""
# What a member's connection has of its own: whom it acts for, and the tables as that one sees them.
# QSGDISP(SHARED) is 2.
_ACTING = "(SELECT member FROM temp.acting)"
MEMBER_SCHEMA = f"""
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE acting (member TEXT NOT NULL);
CREATE TEMP VIEW manager AS SELECT * FROM main.manager WHERE name = {_ACTING};
CREATE TEMP VIEW queue AS SELECT * FROM main.queue WHERE member IN ('', {_ACTING});
CREATE TEMP VIEW connection AS SELECT * FROM main.connection WHERE member = {_ACTING};
CREATE TEMP VIEW object AS SELECT * FROM main.definition WHERE member IN ('', {_ACTING});
CREATE TEMP TRIGGER set_object INSTEAD OF INSERT ON temp.object BEGIN
    INSERT OR REPLACE INTO definition (kind, name, attributes, member) VALUES (NEW.kind, NEW.name, NEW.attributes,
        CASE WHEN NEW.kind = 'QLOCAL' AND NEW.attributes ->> '$.QSGDISP' = 2 THEN '' ELSE {_ACTING} END);
END;
CREATE TEMP TRIGGER delete_object INSTEAD OF DELETE ON temp.object BEGIN
    DELETE FROM definition WHERE kind = OLD.kind AND name = OLD.name AND member = OLD.member;
END;
"""
HAS_SCHEMA = "SELECT 1 FROM sqlite_master WHERE name = 'definition'"
START_ACTING = "INSERT INTO temp.acting (member) VALUES (?)"
ACT_FOR = "UPDATE temp.acting SET member = ?"
OWN_QUEUE = "UPDATE main.queue SET member = ? WHERE id = ?"
OWN_CONNECTION = "UPDATE main.connection SET member = ? WHERE id = ?"
CONNECTIONS_OF_GROUP = f"SELECT {columns(MemberConnection)} FROM main.connection"
MEMBERS = f"SELECT {columns(ManagerRow)} FROM main.manager ORDER BY name"
NAMED_ANYWHERE = """SELECT 1 FROM main.definition WHERE kind IN ('QLOCAL', 'QMODEL', 'QALIAS', 'QREMOTE') AND name = ?
    LIMIT 1"""
EXPIRY_INTERVALS = """SELECT member, COALESCE(json_extract(attributes, '$.EXPRYINT'), 0) FROM main.definition
    WHERE kind = 'QMGR' ORDER BY member"""
QUEUES_OF = "SELECT id FROM main.queue WHERE member = ?"
FORGET_MEMBER = (
    "DELETE FROM main.definition WHERE member = ?",
    "DELETE FROM main.queue WHERE member = ?",
    "DELETE FROM main.manager WHERE name = ?",
)
NEVER = 9_000_000_000_000_000_000
AVAILABLE, PUT_IN_UNIT, LOCKED, TRIGGER_MESSAGE = 0, 1, 3, 4  # states

JOURNAL = "PRAGMA journal_mode = WAL"
SYNC_NORMAL = "PRAGMA synchronous = NORMAL"
CHECKPOINT_PAGES = "PRAGMA wal_autocheckpoint = 16000"
CACHE = "PRAGMA cache_size = -16000"
BUSY = "PRAGMA busy_timeout = 60000"
CHANGES = "PRAGMA data_version"
BEGIN = "BEGIN IMMEDIATE"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"

MANAGER = f"SELECT {columns(ManagerRow)} FROM manager"
MANAGER_VERSION = "SELECT version FROM manager"
ADD_MANAGER = "INSERT INTO main.manager (name, platform, ccsid, encoding, identity) VALUES (?, ?, ?, ?, ?)"
TOUCH_MANAGER = "UPDATE main.manager SET version = version + 1"

OBJECT = "SELECT attributes FROM object WHERE kind = ? AND name = ?"
OBJECTS_OF_KIND = f"SELECT {columns(ObjectRow)} FROM object WHERE kind = ? ORDER BY name"
SET_OBJECT = "INSERT OR REPLACE INTO object (kind, name, attributes) VALUES (?, ?, ?)"
DELETE_OBJECT = "DELETE FROM object WHERE kind = ? AND name = ?"
# A subscription's CONNECTION has it open, 0 for nobody. Without a SubName its name is its SUBID.
SUBSCRIPTIONS_OF = f"SELECT {columns(ObjectRow)} FROM object WHERE kind = 'SUB' AND attributes ->> '$.CONNECTION' = ?"
DELETE_AUTHORITY = """DELETE FROM object WHERE kind = 'AUTHREC' AND attributes ->> '$.OBJTYPE' = ?
    AND attributes ->> '$.PROFILE' = ?"""
IS_DESTINATION = "SELECT 1 FROM object WHERE kind = 'SUB' AND attributes ->> '$.DEST' = ? LIMIT 1"

QUEUE = f"SELECT {columns(QueueRow)} FROM queue WHERE name = ?"
QUEUE_BY_ID = f"SELECT {columns(QueueRow)} FROM queue WHERE id = ?"
VERSIONS = "SELECT q.version, q.deleted, m.version AS objects FROM queue q, manager m WHERE q.id = ?"
ADD_QUEUE = "INSERT INTO main.queue (name, dynamic, creator) VALUES (?, ?, ?)"
TOUCH_QUEUE = "UPDATE main.queue SET version = version + 1 WHERE id = ?"
MARK_DELETED = "UPDATE main.queue SET deleted = 1, version = version + 1 WHERE id = ?"
DELETE_QUEUE = "DELETE FROM main.queue WHERE id = ?"
TEMPORARY_OF = "SELECT id, name FROM queue WHERE creator = ? AND dynamic = 3"
_MONITOR = """UPDATE main.queue SET monitoring = COALESCE((
    SELECT MAX(0, CASE WHEN m.level = -1 THEN 0 WHEN q.level = -3 THEN m.level ELSE q.level END)
    FROM (SELECT json_extract(attributes, '$.MONQ') AS level FROM object WHERE kind = 'QMGR') m,
        (SELECT json_extract(attributes, '$.MONQ') AS level FROM object WHERE kind = 'QLOCAL' AND name = queue.name) q
    ), 0)"""
MONITOR_ALL = _MONITOR + " WHERE id IN (SELECT id FROM queue)"
MONITOR = _MONITOR + " WHERE id = (SELECT id FROM queue WHERE name = ?)"
LAST_TIMES = "SELECT monitoring, last_put, last_get FROM queue WHERE id = ?"
_LAST = "IIF(monitoring > 0, strftime('%Y-%m-%dT%H:%M:%S', 'now'), {0})"
_MORE = "depth = depth + ?1, high = MAX(high, depth + ?1)"
_PUT = f"UPDATE main.queue SET {_MORE}, puts = puts + ?1, last_put = {_LAST.format('last_put')} WHERE id = ?2"
RAISE_DEPTH = _PUT + " AND version = ?3 AND depth <= ?4"
RAISE_DEPTH_BELOW = _PUT + " AND depth < ?3"
LOWER_DEPTH = (
    f"UPDATE main.queue SET depth = depth - 1, gets = gets + 1, last_get = {_LAST.format('last_get')} WHERE id = ?"
)
CHANGE_DEPTH = f"UPDATE main.queue SET {_MORE} WHERE id = ?2"
STATISTICS = "SELECT high, puts, gets, CAST(strftime('%s', 'now') AS INTEGER) - since FROM queue WHERE id = ?"
RESET_STATISTICS = """UPDATE main.queue SET high = depth, puts = 0, gets = 0,
    since = CAST(strftime('%s', 'now') AS INTEGER) WHERE id = ?"""

PUT = f"INSERT INTO message ({columns(NewMessage)}) VALUES ({', '.join('?' for _ in NewMessage._fields)})"
# With the versions, which are a statement of their own otherwise: a browse then costs a tenth less.
_OF_QUEUE = {
    "version": "(SELECT version FROM queue WHERE id = message.queue)",
    "deleted": "(SELECT deleted FROM queue WHERE id = message.queue)",
    "objects": "(SELECT version FROM manager)",
}
FOUND = ", ".join(_OF_QUEUE.get(field, field) for field in FoundMessage._fields)
NEXT = f"SELECT {FOUND} FROM message WHERE queue = ? AND state = 0"
# Left to itself SQLite goes through the whole queue in order, looking for an identifier.
NEXT_BY_MSG_ID = NEXT.replace("FROM message", "FROM message INDEXED BY message_msg_id")
NEXT_BY_CORREL_ID = NEXT.replace("FROM message", "FROM message INDEXED BY message_correl_id")
IN_ORDER = " ORDER BY rank, seq LIMIT 1"
# Two searches, because "(rank, seq) > (?, ?)" makes no use of seq in an index: it is the rowid.
AFTER_IN_RANK = " AND rank = ? AND seq > ?"
IN_LATER_RANK = " AND rank > ?"
BY_MSG_ID = " AND msg_id = ?"
BY_CORREL_ID = " AND correl_id = ?"
BY_GROUP_ID = " AND group_id = ?"
BY_SEQUENCE = " AND msg_seq_number = ?"
BY_OFFSET = " AND msg_offset = ?"
STARTS_GROUP = " AND (group_id IS NULL OR (msg_seq_number = 1 AND msg_offset = 0))"
BY_SEQ = " AND seq = ?"
UNDER_CURSOR = f"SELECT {FOUND} FROM message WHERE seq = ? AND queue = ?"
HELD_MESSAGE = f"SELECT {FOUND} FROM message WHERE queue = ? AND seq = ? AND state = 3"
TAKE = "UPDATE message SET state = 2, owner = ? WHERE seq = ?"
LOCK = "UPDATE message SET state = 3, owner = ? WHERE seq = ? AND state = 0"
UNLOCK = "UPDATE message SET state = 0, owner = 0 WHERE seq = ? AND state = 3 AND owner = ?"
# Marks: see `mqlite.calls.marks`. A time that has passed by `since` is the end of a mark.
UNMARKED = """ AND NOT EXISTS (SELECT 1 FROM mark
    WHERE mark.message = message.seq AND mark.connection = ? AND mark.handle = ?)"""
UNMARKED_BY_COOPERATING = """ AND NOT EXISTS (SELECT 1 FROM mark
    WHERE mark.message = message.seq AND mark.connection = 0 AND mark.handle = 0 AND mark.since > ?)"""
IS_BROWSABLE = "SELECT 1 FROM message WHERE seq = ? AND state IN (0, 3)"
MARK = "INSERT OR IGNORE INTO mark (message, connection, handle, queue, since) VALUES (?, ?, ?, ?, ?)"
MARK_FOR_COOPERATING = """INSERT INTO mark (message, connection, handle, queue, since) VALUES (?, 0, 0, ?, ?)
    ON CONFLICT (message, connection, handle) DO UPDATE SET since = excluded.since WHERE since <= ?"""
UNMARK = "DELETE FROM mark WHERE message = ? AND connection = ? AND handle = ?"
DELETE = "DELETE FROM message WHERE seq = ?"
DELETE_ALL = "DELETE FROM message WHERE queue = ?"
STILL_EXPIRED = f"SELECT {columns(ExpiredMessage)} FROM message WHERE seq = ? AND state = 0 AND expires <= ?"
# One look into the index of expiries for each queue, however many messages it has.
EXPIRED = f"FROM message INDEXED BY message_expires WHERE expires < {NEVER} AND expires <= ? AND state = 0"
EXPIRED_ON = f"SELECT seq {EXPIRED} AND queue = ? ORDER BY expires"
WITH_EXPIRED = f"SELECT id FROM queue WHERE EXISTS (SELECT 1 {EXPIRED} AND queue = queue.id)"
WITH_EXPIRED_PRIVATE = f"{WITH_EXPIRED} AND member <> ''"  # of a queue-sharing group
UNCOMMITTED = "SELECT COUNT(*) FROM message WHERE queue = ? AND state IN (1, 2, 4)"
# A get leaves no time behind: a unit of work without puts has no start that is known.
UNITS = """SELECT owner, MIN(CASE WHEN state = 1 THEN stored END) FROM message
    WHERE queue IN (SELECT id FROM queue) AND state IN (1, 2) GROUP BY owner"""
OLDEST = "SELECT MIN(stored) FROM message WHERE queue = ? AND state = 0"

COMMIT_PUTS = "UPDATE message SET state = 0, owner = 0 WHERE queue = ? AND state = 1 AND owner = ?"
PUTS_OF = f"SELECT {columns(UncommittedPut)} FROM message WHERE queue = ? AND state = 1 AND owner = ? ORDER BY seq"
COMMIT_PUT = "UPDATE message SET state = 0, owner = 0 WHERE seq = ?"
COMMIT_GETS = "DELETE FROM message WHERE queue = ? AND state = 2 AND owner = ?"
BACK_OUT_PUTS = "DELETE FROM message WHERE queue = ? AND state = 1 AND owner = ?"
BACK_OUT_GETS = """UPDATE message SET state = 0, owner = 0, backouts = backouts + 1
    WHERE queue = ? AND state = 2 AND owner = ?"""
# Negative owners: rows of a marked get, out of the way of a back-out within one transaction.
SET_ASIDE = "UPDATE message SET owner = -owner WHERE seq = ? AND owner = ?"
RELEASE_TRIGGERS = "UPDATE message SET state = 0, owner = 0 WHERE queue = ? AND state = 4 AND owner = ?"
RELEASE_ALL = "UPDATE message SET state = 0, owner = 0 WHERE queue = ? AND state IN (3, 4) AND owner = ?"
QUEUE_IDS = "SELECT id FROM queue"
HELD_ON = "SELECT 1 FROM message WHERE queue = ? AND state > 0 AND owner = ? LIMIT 1"

ADD_CONNECTION = """INSERT INTO main.connection (pid, user, application, channel, conn_name, started)
    VALUES (?, ?, ?, ?, ?, ?)"""
CONNECTIONS = f"SELECT {columns(ConnectionRow)} FROM connection ORDER BY id"
CONNECTION_IDS = "SELECT id FROM connection"
ANYBODY = "SELECT 1 FROM connection LIMIT 1"
DELETE_CONNECTION = "DELETE FROM main.connection WHERE id = ?"

ADD_HANDLE = """INSERT INTO handle (connection, handle, queue, options, input, output, exclusive)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
DELETE_HANDLE = "DELETE FROM handle WHERE connection = ? AND handle = ?"
HANDLES_OF = "SELECT queue, input FROM handle WHERE connection = ?"
DELETE_HANDLES = "DELETE FROM handle WHERE connection = ?"
OPEN_COUNTS = """SELECT COALESCE(SUM(input), 0), COALESCE(SUM(output), 0), COALESCE(SUM(exclusive), 0) FROM handle
    WHERE queue = ?"""
OPEN_COUNTS_HERE = f"{OPEN_COUNTS} AND connection IN (SELECT id FROM connection)"  # not elsewhere in the group
IS_OPEN = "SELECT 1 FROM handle WHERE queue = ? LIMIT 1"
HANDLES_ON = f"""SELECT {columns(HandleRow)} FROM handle h JOIN connection c ON c.id = h.connection
    WHERE h.queue = ?"""
OPEN_HANDLES = """SELECT h.connection, q.name, h.options FROM handle h JOIN connection c ON c.id = h.connection
    JOIN queue q ON q.id = h.queue ORDER BY h.connection, h.handle"""

QUALIFYING = """SELECT COUNT(*) FROM (SELECT 1 FROM message WHERE queue = ? AND state IN (0, 1, 3, 4) AND rank <= ?
    LIMIT ?)"""
QUALIFYING_COMMITTED = QUALIFYING.replace("(0, 1, 3, 4)", "(0, 3)")
TRIGGERED_BY = "SELECT name FROM object WHERE kind = 'QLOCAL' AND json_extract(attributes, '$.INITQ') = ? ORDER BY name"
TRIGGERED_AT = "SELECT triggered FROM queue WHERE id = ?"
TRIGGERED_NOW = "UPDATE main.queue SET triggered = ? WHERE id = ?"
FORGET_TRIGGERED = "UPDATE main.queue SET triggered = 0 WHERE triggered > 0 AND id IN (SELECT id FROM queue)"
LAST_MESSAGE = "SELECT seq FROM sqlite_sequence WHERE name = 'message'"
