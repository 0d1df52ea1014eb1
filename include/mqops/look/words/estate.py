"""What is said of a queue manager on the page of the estate: open questions, its queues, its last runs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mqops.counted import counted, length_of_time
from mqops.look.words.fates import Fates
from mqops.look.words.needs import Question
from mqops.look.words.state import RunState
from mqops.look.words.text import (
    NOTHING,
    AirflowLink,
    Cell,
    Label,
    Lines,
    Link,
    Name,
    OfRun,
    Table,
    Text,
    Trend,
    joined,
    said,
    sentences,
)

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.estate.now import ManagerNow, QueueNow
    from mqops.look.figures import Figures, QueueFigures


def answers_in_short(figures: Figures) -> Label:
    """Whether a queue manager answers."""
    if figures.awaited:
        return Label("being asked")
    return Label("does not answer", "bad") if figures.unreachable else Label("answers", "good")


def open_question(
    manager: ManagerNow, run: RunLine, fates: Fates, *, waits: Text, may: bool, holds: bool, by: str
) -> Question:
    """The question of a plan that waits for an answer.

    Parameters: `fates` of its workflow; `waits` who may answer, nothing where Airflow has not put the question yet;
    `may` whether the reader may; `holds` whether a real run on the same queue waits for the answer, and `by` the
    workflows of these runs.
    """
    query = {"queue_manager": manager.name, "run": run.run}
    undone = OfRun(manager.name, of) if (of := manager.undoes.get(run.run)) else "a run"
    what = said("the plan of {} for {:name}", run.workflow, run.queue) if holds else said("the undo of {}", undone)
    number, stay = manager.to_act_on.get(run.run, (None, 0))
    acts = ""
    if number is not None:
        acts = f", which {fates.acts} {number:,} of {counted(run.planned, 'message')},"
    here = "these queues" if "," in run.queue else "this queue"
    stops = "The run is" if run.state is RunState.STOPPED else "All runs are" if manager.stopped else ""
    resumed = f"{'it is' if stops == 'The run is' else 'they are'} resumed"
    would = f"{counted(stay, 'message')} of these would stay, as the destinations were when the plan was made."
    more = (
        said(would) if stay else NOTHING,
        said("Until it is answered, a real run of {} on {} plans nothing.", by, here) if waits and holds else NOTHING,
        said(f"{stops} stopped: nothing that is approved is done before {resumed}.") if stops else NOTHING,
        waits or said("Airflow runs its task approve: the question, or its answer, is told here in a moment."),
    )
    return Question(
        said("{}{} waits for an approval; its snapshot is {:ago} old.", what, acts, run.at),
        Link(f"Look at the plan{' and answer' if may else ''}", "plan", query),
        run.run,
        tuple(filter(None, more)),
    )


def queue_state(queue: QueueFigures, held_by: Sequence[str], queue_manager: str) -> Text:
    """What is remarkable about a queue. Parameters: `held_by` runs whose plans wait for an answer."""
    full = Label("full" if queue.depth >= queue.max_depth else "nearly full", "bad") if queue.nearly_full else NOTHING
    put, get = (
        NOTHING if allowed else Label(f"{verb}(DISABLED)", "warn")
        for verb, allowed in (("PUT", queue.put_allowed), ("GET", queue.get_allowed))
    )
    quiet = [said("storage" if queue.storage else "no reader")] if queue.depth and not queue.readers else []
    for run in held_by:
        link = Link("a plan waits for an answer", "plan", {"queue_manager": queue_manager, "run": run})
        quiet.append(said("{}: until then a real run plans nothing", link))
    return sentences(full, put, get) + said("{}", Lines(quiet, kind="quiet"))


def opened_by(queue: QueueFigures) -> Text:
    """Who has a queue open."""
    if not (queue.readers or queue.writers or queue.open_by):
        return said("–")
    counts = f"{counted(queue.readers, 'reader')}, {counted(queue.writers, 'writer')}"
    lines = Lines([counts] if queue.readers or queue.writers else [])
    return said("{}{}", lines, Lines([said("{:breaks}", one) for one in queue.open_by], kind="quiet"))


def other_queues(figures: Figures) -> Text:
    """The queues without messages, as far as their names are known."""
    names = joined(", ", [Name(name) for name in figures.other_names])
    more = figures.others - len(figures.other_names)
    return names + said(f" and {more:,} more") if more > 0 else names


def figures_of_run(run: RunLine) -> Iterator[int | str | None]:
    """The counts of a run in the table of last runs: planned, moved, discarded, left, gone; None where one is not
    known yet."""
    scanned, acted = run.state is RunState.SCANNED, bool(run.proved_at or run.begun)
    yield None if run.state in {RunState.OBSERVED, RunState.SCANNED, RunState.INCOMPLETE} else run.planned
    moved = run.moved if acted else None
    yield f"{moved:,} copied" if moved and run.copies else moved
    yield run.discarded if acted or scanned else None
    yield run.left if run.proved_at or scanned else None
    yield run.gone if run.proved_at else None


def queues(manager: ManagerNow, state: Callable[[ManagerNow, QueueFigures], Text], morning: datetime) -> Table:
    """The queues of a queue manager that have something to show. Parameters: `state` of a queue in words; `morning` the
    time before which it is told how many messages expire."""
    headings = ["*Queue|name", "!State", "!Messages|number", "Last day", "!Full|number", "!Oldest|number"]
    headings += ["Uncommitted|number", "Opened by", f"!Expires before {morning:%Y-%m-%d %H:%M} UTC"]
    rows = [_queue(manager, one, state(manager, one.now), f"{morning:%H:%M}") for one in manager.queues]
    ids = [f"queue-{manager.name}-{one.now.name}" for one in manager.queues]
    return Table(f"Queues of {manager.name}", headings, rows, ids)


def _queue(manager: ManagerNow, shown: QueueNow, state: Text, limit: str) -> Sequence[Cell]:
    now = shown.now
    return (
        queue_link(manager, now),
        state,
        now.depth,
        Trend(_over_the_day(now.name, shown.earlier), shown.earlier) if len(shown.earlier) > 1 else None,
        f"{100 * now.depth // now.max_depth if now.max_depth else 0} %",
        length_of_time(now.oldest) if now.depth and now.oldest is not None else None,
        now.uncommitted,
        opened_by(now),
        expires_link(manager, shown, limit),
    )


def _over_the_day(queue: str, depths: Sequence[int]) -> str:
    low, high = min(depths), max(depths)
    return f"messages of {queue} over the last day: {f'from {low:,} to {high:,}' if low < high else f'{low:,}'}"


def queue_link(manager: ManagerNow, queue: QueueFigures) -> Link:
    """The page about the messages of a queue."""
    query = {"queue_manager": manager.name}
    if queue.name == manager.figures.dead_letter_queue:
        return Link(queue.name, "dead_letters", query)
    return Link(queue.name, "messages", query | {"queue": queue.name}, title="Its recorded messages")


def expires_link(manager: ManagerNow, shown: QueueNow, limit: str) -> Text | Link:
    """How many messages of a queue expire before a time. Parameters: `limit` the time, such as 08:00."""
    if not shown.now.depth:
        return said("–")
    place = "unrecorded" if shown.expires.unknown else ""
    return Link(shown.expires.words(limit), "expiry", {"queue_manager": manager.name}, place)


def by_schedule(runs: Sequence[tuple[AirflowLink, str]]) -> Text:
    """The DAGs that a schedule starts next, nothing where there are none. Parameters: `runs` DAG and time, ISO 8601
    UTC."""
    shown = joined(", ", (said("{} {:time}", dag, at) for dag, at in runs))
    return said("Next by schedule: {}.", shown) if runs else NOTHING


def old_figures(manager: ManagerNow) -> Text:
    """When the figures were seen, of a queue manager that does not answer, or has not answered since a proof."""
    at = manager.figures.seen_at
    if manager.figures.unreachable and at:
        return said("The figures are of {:time}, {:ago} ago.", at, at)
    if not manager.before_proof:
        return NOTHING
    words = "The depths are as of {:time}: a run was proved since, and the queue manager has not answered again yet."
    return said(words, at)


def no_queues(figures: Figures) -> str:
    """What stands in place of the queues, "" where old figures say that there is none."""
    if not figures.unreachable:
        return "No queue has a message."
    if figures.seen_at:
        return ""
    silent = "it is being asked" if figures.awaited else "the queue manager has not answered so far"
    return f"No figures are known: {silent}."
