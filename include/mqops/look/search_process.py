"""A process that searches in snapshots, one search after another, for a server that can end it at any time.

A line of JSON says that it is there. Then a line on standard input asks, and a line on standard output answers: what is
looked for may be payload, which stands on no command line. Where processors are few it comes after other processes as
its server does, and not behind that: a task that keeps all processors busy would leave it a thirtieth of one. It may
use MEMORY bytes and SECONDS of processor for a search; when its server ends, its input does, and so does it.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from mqops.errors import MqopsError
from mqops.lake.body_keys import ask_for_passwords
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import Criteria, criteria
from mqops.look.find import count_recorded, find_recorded
from mqops.look.plan_view import planned_rows
from mqops.look.taken_since import equal_to_taken, rows_still_there

MEMORY = 2 * 2**30
SECONDS = 60
TOO_MUCH = "too much memory"
"""The answer to a search that needs more."""


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What is found, as `FoundPage.to_json`, or why nothing can be.

    Parameters: `asked` as `ask` has it; in it `there` whether only messages are meant that no run has taken since,
    `count` whether it is counted how many fit in all (`fitting`), and how many may be there of those that were left out
    (`copies`), and `passwords` connection → password, which keys of
    bodies are.
    """
    try:
        passwords = asked.get("passwords")
        ask_for_passwords(passwords.__getitem__ if passwords else None)
        run = RunFolder(Path(asked["run"]))
        wanted = criteria_of(asked)
        there = rows_still_there(run) if asked["there"] else None
        marks = _marks(run, asked, there)
        found = find_recorded(
            run.snapshot, wanted, queues=asked["queues"], limit=asked["limit"], after=asked["after"], marks=marks
        )
        fitting = count_recorded(run.snapshot, wanted, queues=asked["queues"], marks=marks) if asked["count"] else None
        copies = equal_to_taken(run, there, asked["queues"]) if asked["count"] else 0
        return {"found": found.to_json(), "fitting": fitting, "copies": copies}
    except (MemoryError, pa.ArrowMemoryError):
        return {"error": TOO_MUCH}
    except (MqopsError, ValueError, OSError) as error:
        return {"problem": str(error)}


def _marks(run: RunFolder, asked: Mapping[str, Any], there: pa.Array | None) -> pa.Array | None:
    """Whether each message of a run's snapshot may fit; None where each may. Parameters: `there` those that no run has
    taken, None for all."""
    if not asked["action"]:
        return there
    planned = planned_rows(run, asked["plan"], asked["action"])
    return planned if there is None else pc.and_(planned, there)


def criteria_of(asked: Mapping[str, Any]) -> Criteria:
    """What is looked for. Parameters: `asked` as the page Messages has it (`mqops_airflow.pages.asked`).

    Raises:
        RulesError, SettingsError: as `criteria`.
        ValueError: a time is not in ISO 8601.
    """
    since, until = (datetime.fromisoformat(asked[name]) if asked[name] else None for name in ("since", "until"))
    others = {name: asked[name] for name in ("md_format", "destination", "text", "hex_bytes")}
    return criteria(asked["where"], since=since, until=until, **others, **asked["ids"])


def bounded() -> None:
    """Bound the memory of this process."""
    with suppress(ValueError, OSError):  # where the system has a lower bound already
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _some_seconds() -> None:
    """Allow this process SECONDS more of processor time; after that the system ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS, hard))


def main(lines: TextIO = sys.stdin, answers: TextIO = sys.stdout) -> None:
    """Answer until there is nothing more to read."""
    bounded()
    pa.set_memory_pool(pa.system_memory_pool())  # the others keep what they may need again
    answers.write("{}\n")
    answers.flush()
    for line in lines:
        _some_seconds()
        answers.write(f"{json.dumps(answer(json.loads(line)))}\n")
        answers.flush()


if __name__ == "__main__":
    main()
