"""Whether what mqops and mqlite leave behind says its format (`mqops.formats`)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from mqops import formats
from mqops.lake.files import json_of
from mqops.lake.parquet import opened


def says_format(folder: Path) -> dict[str, bool]:
    """The files below a folder, and whether each says its format; those that have none: locks, empty notes, figures for
    another program."""
    without = {".lock", ".prom", ".crc", ".log", ".yaml", ".html", ".txt", "", ".db-wal", ".db-shm"}
    there = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in without]
    return {
        str(path): _says(path) for path in there if path.stat().st_size and path.suffix not in {".db-wal", ".db-shm"}
    }


def _says(path: Path) -> bool:
    if path.suffix == ".parquet":
        with opened(path) as file:
            footer = file.metadata.metadata or {}
        return formats.PARQUET_KEY.encode() in b"".join([*footer, *footer.values()])
    if path.suffix in {".db", ".sqlite"}:
        with closing(sqlite3.connect(path)) as database:
            return database.execute("PRAGMA user_version").fetchone()[0] > 0 or path.name in formats.CACHES
    content = path.read_bytes()
    values = [json_of(line, path) for line in (content.splitlines() if path.suffix == ".jsonl" else [content])]
    if path.name in formats.ENTRIES:
        values = [one for value in values for one in (value.values() if isinstance(value, dict) else value)]
    return all(formats.KEY in one or formats.LEDGER_KEY in one for one in values)
