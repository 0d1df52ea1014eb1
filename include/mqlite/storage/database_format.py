"""The format version of a queue manager's SQLite files, their `user_version`: what a newer mqlite wrote is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from mqlite.failure import Failure
from mqlite.storage.sql import FORMAT_OF
from mqwire import constants as c


def refuse_newer(database: sqlite3.Connection, path: Path, own: int) -> None:
    """Refuse a file of a higher format, before anything is written to it. It is closed then.

    Parameters: `own` the format that this version writes, and the highest that it reads. Raises Failure:
    MQRC_Q_MGR_NOT_AVAILABLE.
    """
    found = int(database.execute(FORMAT_OF).fetchone()[0])
    if found > own:
        database.close()
        raise Failure(
            c.MQRC_Q_MGR_NOT_AVAILABLE,
            f"{path} was written by a newer mqlite (format {found}; this version reads up to {own}): upgrade mqops, "
            "nothing was changed",
        )
