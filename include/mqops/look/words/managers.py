"""All queue managers of the estate: figures at the top, a row for each that has something to tell, a line for each that
is in order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from mqops.look.words.estate import answers_in_short
from mqops.look.words.text import NOTHING, Label, Link, OfRun, Table, Text, joined, said

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.estate.now import ManagerNow
    from mqops.look.figures import Figures, QueueFigures

OLD = timedelta(seconds=10)
"""Figures that are older have their age told."""
HEADINGS = (
    "*Queue manager|name",
    "!State",
    "!Dead letters",
    "Backed out|number",
    "Full|number",
    "Wrong|number",
    "Questions|number",
    "Last run",
    "Next run",
)


class Tile(NamedTuple):
    """A figure at the top. Parameters: `words` lead to what it counts; `kind` its colour: good, bad, warn, "" for
    none, as long as it is not known whether all is well."""

    number: int
    words: Link
    kind: str


def tiles(managers: Sequence[ManagerNow], *, one: bool) -> Iterator[Tile]:
    """The figures at the top. Parameters: `one` whether the page is about a single queue manager."""
    silent = any(manager.figures.unreachable and not manager.figures.awaited for manager in managers)
    awaited = sum(manager.figures.awaited for manager in managers)
    named = "queue manager" if len(managers) == 1 else "queue managers"
    place = "managers" if len(managers) > 1 else "main"  # one has no table
    being_asked = f", {awaited if len(managers) > 1 else 'which is'} being asked" if awaited else ""
    where = Link(f"{named} {'shown' if one else 'in the estate'}{being_asked}", place=place)
    yield Tile(len(managers), where, "bad" if silent else "" if awaited else "good")
    wrong = sum(len(manager.problems) for manager in managers)
    unread = any(not manager.looked for manager in managers)
    yield _counted_so_far(wrong, "thing wrong", "things wrong", "bad", whole=not (awaited or unread))
    asked = sum(len(manager.waiting) for manager in managers)
    yield _counted_so_far(asked, "open question", "open questions", "warn", whole=not unread)


def _counted_so_far(number: int, one: str, many: str, kind: str, *, whole: bool) -> Tile:
    """A tile that is green only where nothing can be missing. Parameters: `kind` where there is any; `whole` whether
    all is known that is counted."""
    words = f"{one if number == 1 else many}{'' if whole else ' so far'}"
    return Tile(number, Link(words, place="needs"), kind if number else "good" if whole else "")


def oldest_figures(figures: Iterable[Figures], now: datetime) -> Text:
    """How old the oldest figures are of the queue managers that answer; nothing where none are older than `OLD`."""
    seen = min((one.seen_at for one in figures if one.seen_at and not one.unreachable), default="")
    if not seen or now - datetime.fromisoformat(seen) <= OLD:
        return NOTHING
    return said("The oldest of these figures are {:ago} old: many queue managers are asked in turn.", seen)


def is_in_order(manager: ManagerNow) -> bool:
    """Whether nothing of a queue manager needs a person, as far as that is known."""
    known = manager.looked and not manager.figures.awaited
    return known and not (manager.problems or manager.waiting or manager.stopped)


def table(managers: Iterable[ManagerNow], next_runs: Mapping[str, Sequence[tuple[str, datetime]]]) -> Table:
    """A row for each queue manager that is not in order. A figure of 0 is left out.

    Parameters: `managers` in the order of the rows; `next_runs` queue manager → DAGs that a schedule starts, the
    earliest first, and when.
    """
    rows = [[*_row(one), _next(next_runs, one.name)] for one in managers if not is_in_order(one)]
    return Table("Queue managers that need a person, the worst first", HEADINGS, rows)


def lines_in_order(
    managers: Iterable[ManagerNow], next_runs: Mapping[str, Sequence[tuple[str, datetime]]]
) -> list[Text]:
    """A line for each queue manager that is in order. Parameters: as of `table`."""
    return [
        joined(", ", filter(None, (_named(one), _last(one.runs, "last run "), _next(next_runs, one.name, "next "))))
        for one in managers
        if is_in_order(one)
    ]


def _row(one: ManagerNow) -> Iterator[Text | Link | int | str]:
    """The cells of a queue manager but for the next run."""
    queues = one.figures.queues
    dead = next((queue for queue in queues if queue.name == one.figures.dead_letter_queue and queue.depth), None)
    backed_out = sum(queue.depth for queue in queues if queue.is_backout and queue is not dead)
    full = sum(queue.nearly_full for queue in queues)
    yield _named(one)
    yield _state(one)
    yield _dead_letters(one, dead) if dead else ""
    yield from (number or "" for number in (backed_out, full, len(one.problems), len(one.waiting)))
    yield _last(one.runs)


def _named(one: ManagerNow) -> Link:
    return Link(one.name, "estate", {"queue_manager": one.name}, kind="name")


def _state(one: ManagerNow) -> Text:
    """Whether it answers, since when it does not, and whether its runs are stopped."""
    answers, at = answers_in_short(one.figures), one.figures.seen_at
    state = said("{}", answers)
    if one.figures.unreachable and at:
        state = said("{} since {:time}", answers, at)
    elif one.before_proof:
        state = said("{} as of {:time}", answers, at)
    return state + (said(" {}", Label("stopped", "bad")) if one.stopped else NOTHING)


def _dead_letters(one: ManagerNow, queue: QueueFigures) -> Text:
    """How many there are, with the link to their page, and the age of the oldest where it is known."""
    number = Link(f"{queue.depth:,}", "dead_letters", {"queue_manager": one.name})
    if queue.oldest is None or not one.figures.seen_at:
        return said("{}", number)
    put = datetime.fromisoformat(one.figures.seen_at) - timedelta(seconds=queue.oldest)
    return said("{}, oldest {:ago}", number, put.isoformat())


def _last(runs: Sequence[RunLine], before: str = "") -> Text:
    """The newest run: its state, and when it was, with the link to its page."""
    if not runs:
        return NOTHING
    run = runs[0]
    return said("{}{} {}", before, Label(run.word, run.state.kind), OfRun(run.queue_manager, run.run, said=run.at))


def _next(next_runs: Mapping[str, Sequence[tuple[str, datetime]]], name: str, before: str = "") -> Text:
    """When a schedule starts the next run. Parameters: `next_runs` as of `table`."""
    following = next_runs.get(name, ())
    return said("{}{:time}", before, following[0][1].isoformat()) if following else NOTHING
