"""A process that searches in snapshots, one search after another, for a server that can end it at any time.

A line of JSON says that it is there. Then a line on standard input asks, and a line on standard output answers: what is
looked for may be payload, which stands on no command line. The lines are UTF-8, whatever the locale is. Where
processors are few it comes after other processes as its server does, and not behind that: a task that keeps all
processors busy would leave it a thirtieth of one. It may use MEMORY bytes and SECONDS of processor for a search; when
its server ends, its input does, and so does it.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from mqops.errors import MqopsError
from mqops.lake.body_keys import ask_for_passwords
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import Criteria, criteria
from mqops.look.find import FoundPage, count_recorded, find_recorded
from mqops.look.plan_view import planned_rows
from mqops.look.taken_since import equal_to_taken, rows_still_there
from mqops.type_adapter import adapter_of, refused

MEMORY = 2 * 2**30
SECONDS = 60


class Wanted(NamedTuple):
    """What messages must have, as a form gives it: texts, each blank for any. Parameters: `where` conditions of the
    rules language; `md_format`, `destination`, `text` and `hex_bytes` as of `criteria`; `since` and `until` ISO 8601;
    `ids` column → the beginning of the identifier in hex."""

    where: str = ""
    md_format: str = ""
    destination: str = ""
    text: str = ""
    hex_bytes: str = ""
    since: str = ""
    until: str = ""
    ids: Mapping[str, str] = {}

    def criteria(self) -> Criteria:
        """The criteria that these texts are.

        Raises:
            RulesError, SettingsError: as `criteria`.
            ValueError: a time is not in ISO 8601.
        """
        since, until = (datetime.fromisoformat(text) if text else None for text in (self.since, self.until))
        others = {name: getattr(self, name) for name in ("md_format", "destination", "text", "hex_bytes")}
        return criteria(self.where, since=since, until=until, **others, **self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search in the snapshot of a run. Parameters: `run` its folder; `queues` none for all; `limit` most messages;
    `after` the cursor to go on with; `action` that the plan of the digest `plan` has for a message, blank for any;
    `there` whether only messages are meant that no run has taken since; `count` whether the answer tells how many fit
    in all, and how many were left out as copies; `passwords` connection → password, which keys of bodies are."""

    run: Path
    wanted: Wanted
    queues: tuple[str, ...] = ()
    limit: int
    after: str = ""
    action: str = ""
    plan: str = ""
    there: bool = False
    count: bool = False
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a search. Parameters: `found` None where the search needs too much time or memory, or has a
    `problem`; `fitting` messages of the snapshot in all, None where nobody counted; `copies` that were left out since
    they are equal to one that was taken."""

    found: FoundPage | None = None
    fitting: int | None = None
    copies: int = 0
    problem: str = ""


def answer(search: Search) -> Answer:
    """The messages that fit, or why nothing can be found."""
    try:
        ask_for_passwords(search.passwords.__getitem__ if search.passwords else None)
        run, queues = RunFolder(search.run), search.queues
        wanted = search.wanted.criteria()
        there = rows_still_there(run) if search.there else None
        marks = _marks(run, search, there)
        found = find_recorded(run.snapshot, wanted, queues=queues, limit=search.limit, after=search.after, marks=marks)
        if not search.count:
            return Answer(found=found)
        fitting = count_recorded(run.snapshot, wanted, queues=queues, marks=marks)
        return Answer(found=found, fitting=fitting, copies=equal_to_taken(run, there, queues))
    except (MemoryError, pa.ArrowMemoryError):
        return Answer()
    except (MqopsError, ValueError, OSError) as error:
        return Answer(problem=str(error))


def _marks(run: RunFolder, search: Search, there: pa.Array | None) -> pa.Array | None:
    """Whether each message of a run's snapshot may fit; None where each may. Parameters: `there` those that no run has
    taken, None for all."""
    if not search.action:
        return there
    planned = planned_rows(run, search.plan, search.action)
    return planned if there is None else pc.and_(planned, there)


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


def _answered(line: bytes) -> Answer:
    """The answer to a line. One that does not fit is told without what it has: that may be payload, or a password."""
    try:
        search = adapter_of(Search).validate_json(line)
    except ValidationError as error:
        place, _kind, text = refused(error)
        why = f"{place or 'the line'}: {text}. Start the API server again: its mqops may be another version"
        return Answer(problem=f"The process that searches does not understand the page: {why}")
    return answer(search)


def main() -> None:
    """Answer until there is nothing more to read."""
    bounded()
    pa.set_memory_pool(pa.system_memory_pool())  # the others keep what they may need again
    answers, found = sys.stdout.buffer, adapter_of(Answer)
    answers.write(b"{}\n")
    answers.flush()
    for line in sys.stdin.buffer:
        _some_seconds()
        answers.write(found.dump_json(_answered(line)) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
