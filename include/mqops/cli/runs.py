"""`mqops runs`: the runs of the lake, newest first, and how each ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mqops.cli.columns import show_folded
from mqops.cli.outcome import json_option, known_errors, lake_option, show_json
from mqops.cli.run_argument import queue_manager_option
from mqops.counted import counted
from mqops.errors import LakeError
from mqops.lake.files import lake_errors, read_json
from mqops.lake.run import RunFolder
from mqops.run_key import is_run_key

_COUNTS = ("planned", "moved", "discarded", "left", "gone")


@click.command(short_help="List the runs of the lake.")
@queue_manager_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="The largest number of runs.")
@lake_option
@json_option
@known_errors
def runs(*, queue_manager: str, limit: int, lake: Path, as_json: bool) -> None:
    """List the runs of the lake, the newest first, and how each ended. Without -m: of all queue managers.

    The key of a run, or the beginning of it, names the run in the other commands.
    """
    found = _newest(lake, queue_manager.strip())
    documents = [_document(run) for run in found[:limit]]
    if as_json:
        show_json({"runs": documents})
        return
    for one in documents:
        show_folded("  ".join(filter(None, (one["run"], one["queue_manager"], one["workflow"]))))
        queue = f"{one['queue'].replace(',', ', ')}: " if one["queue"] else ""
        show_folded(f"    {queue}{_ended(one)}", indent=6)
    more = len(found) - len(documents)
    show_folded(f"and {counted(more, 'older run')}: --limit shows more" if more else counted(len(found), "run"))


def _newest(lake: Path, queue_manager: str) -> list[RunFolder]:
    with lake_errors(lake):
        every = [RunFolder(path) for path in lake.glob("*/runs/*") if is_run_key(path.name) and path.is_dir()]
        mine = [run for run in every if queue_manager in ("", run.queue_manager)]
        return sorted(mine, key=lambda run: run.path.stat().st_mtime_ns, reverse=True)


def _document(run: RunFolder) -> dict[str, Any]:
    """What the files of a run say of it. A file that cannot be read is an end of its own."""
    document: dict[str, Any] = {"run": run.run, "queue_manager": run.queue_manager, "workflow": "", "queue": ""}
    try:
        for state, known in _files(run):
            document |= {"state": state} | {
                name: known[name] for name in ("workflow", "queue", *_COUNTS) if name in known
            }
        if document.get("state") == "proved":
            document["state"] = _proved(known)
        if run.undo_json.exists():
            document["undoes"] = str(read_json(run.undo_json)["run"])
    except (LakeError, KeyError, TypeError) as error:
        document["state"] = f"cannot be read: {error}"
    return {"state": "nothing recorded", **document}


def _files(run: RunFolder) -> Iterator[tuple[str, dict[str, Any]]]:
    """The states that a run has gone through, with what its files say then."""
    if run.observe_json.exists():
        yield "snapshot only", {}
    if run.plan_json.exists():
        plan = read_json(run.plan_json)
        yield ("begun, not proved" if run.issued_json.exists() else "planned"), plan | {"planned": plan["rows"]}
    if run.summary_json.exists():
        yield "proved", read_json(run.summary_json)


def _proved(summary: dict[str, Any]) -> str:
    if not summary["balanced"]:
        return "does not balance"
    return "done" if summary["finished"] else "stopped before its end"


def _ended(document: dict[str, Any]) -> str:
    of = f"undo of {document['undoes']}, " if document.get("undoes") else ""
    moved = [f"{document[name]} {name}" for name in _COUNTS if name in document]
    return f"{of}{document['state']}{': ' if moved else ''}{', '.join(moved)}"
