"""Every statement of the channel status file, `channels.db` beside `qm.db`."""

from __future__ import annotations

FORMAT = 1
"""The format version of the file, its `user_version`; 0, of version 0.1.0, is the same."""
SET_FORMAT = f"PRAGMA user_version = {FORMAT}"
SCHEMA = """
CREATE TABLE IF NOT EXISTS channel (
    name TEXT NOT NULL,
    channel_type TEXT NOT NULL,
    wanted TEXT NOT NULL DEFAULT '',       -- START, STOP or nothing
    generation INTEGER NOT NULL DEFAULT 0, -- counts the commands, so that the service sees each one
    state INTEGER NOT NULL DEFAULT 0,      -- MQCHS_*
    figures TEXT NOT NULL DEFAULT '{}',    -- what DISPLAY CHSTATUS shows, JSON by MQSC keyword
    PRIMARY KEY (name)
) WITHOUT ROWID
"""
READ = "SELECT name, channel_type, wanted, generation, state, figures FROM channel WHERE name = ?"
READ_ALL = "SELECT name, channel_type, wanted, generation, state, figures FROM channel ORDER BY name"
ADD = "INSERT OR IGNORE INTO channel (name, channel_type) VALUES (?, ?)"
WANT = "UPDATE channel SET wanted = ?, generation = generation + 1 WHERE name = ?"
WANT_UNLESS_STOPPED = f"{WANT} AND wanted <> 'STOP' AND state <> ?"
SET_STATE = "UPDATE channel SET state = ?, figures = ? WHERE name = ?"
FORGET = "DELETE FROM channel WHERE name = ?"
CHANGES = "PRAGMA data_version"
