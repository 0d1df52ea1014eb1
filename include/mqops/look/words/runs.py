"""What is said of a run in the list of all runs, a row of the table. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.iso_time import moment
from mqops.look.core.run_state import RunLine
from mqops.look.words.estate import figures_of_run
from mqops.look.words.run_name import name_of
from mqops.look.words.state import AT_WORK, RunState
from mqops.look.words.text import (
    NOTHING,
    Cell,
    Label,
    Lines,
    Link,
    Name,
    ShortName,
    Table,
    Text,
    joined,
    said,
)
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.look.run_story import RunStory
    from mqops.look.runs import Damaged

_COUNTS = ("!Planned|number", "!Moved|number", "!Discarded|number", "!Left|number", "!Gone|number")
_HEADINGS = (
    *("*Run|name", "!State", "Queue|name", "Asked|name", "Approved|name"),
    *_COUNTS,
    "Took|number",
)
MOST_QUEUES = 2
"""Queues of a run that its row names; of more it names the first: a scan has as many as the queue manager."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def title(story: RunStory, today: str, asked: str, *, checks: bool) -> Text:
    """The heading of a run: its name, and the queue. Parameters: `today` and `asked` as of `name_of`; `checks` whether
    the run checks messages."""
    line, queues = story.line, story.line.queue.split(",")
    workflow = Workflow.SNAPSHOT_QUALITY if checks else story.workflow
    name = name_of(replace(line, workflow=workflow), today, asked)
    of = line.queue if len(queues) == 1 else counted(len(queues), "queue")
    return said("{}{}{:breaks}", f"{name[:1].upper()}{name[1:]}", ": " if of else "", of)


def took(run: RunLine) -> str:
    """How long a run took from its snapshot to its proof; "" where it is not proved."""
    begin, end = moment(run.at), moment(run.proved_at)
    if begin is None or end is None or end < begin:
        return ""
    seconds = int((end - begin).total_seconds())
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min {seconds % _MINUTE:02} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE:02} min"
    return counted(seconds // _DAY, "day")


def table(
    runs: Sequence[RunLine],
    today: str,
    asked: Mapping[str, str],
    *,
    part: bool = False,
    working: Collection[tuple[str, str]] = (),
) -> Table:
    """The table of some runs.

    Parameters: `asked` kind of DAG run → the words for who or what asks for such runs; `part` whether there are more;
    `working` the runs (queue manager and key) that Airflow is at work on: by its files a run that has just begun is
    like one that ended too early.
    """
    rows = [tuple(_row(run, today, asked, working)) for run in runs]
    return Table("Runs, newest first", _HEADINGS, rows, part=part)


def last_runs(
    runs: Sequence[RunLine],
    queue_manager: str,
    today: str,
    asked: Mapping[str, str],
    working: Collection[tuple[str, str]] = (),
) -> Table:
    """The newest runs of a queue manager. Parameters: as of `table`."""
    found = table(runs, today, asked, part=True, working=working)
    return found._replace(caption=f"Last runs on {queue_manager}")


def just_begun(runs: Iterable[RunLine]) -> Iterator[tuple[str, str]]:
    """The runs (queue manager and key) of which only Airflow knows whether it is at work on them."""
    return ((one.queue_manager, one.run) for one in runs if one.state is RunState.INCOMPLETE)


def named(run: RunLine, today: str = "", asked: str = "") -> Link:
    """A run by what it is, with the link to its page. Parameters: as of `name_of`."""
    return Link(name_of(run, today, asked), "run", {"queue_manager": run.queue_manager, "run": run.run}, title=run.run)


def shown(number: int, queue_manager: str, *, more: bool, first: bool, fits: bool) -> str:
    """How many runs a page of rows has. Parameters: `queue_manager` "" for all; `more` whether there are older ones;
    `first` whether the page has the newest; `fits` whether only runs are meant that fit a filter."""
    if number:
        newest, older = "The newest " if first and more else "", "" if first else " that are older"
        fit = "" if not fits else " that fits" if number == 1 else " that fit"
        return f"{newest}{counted(number, 'run')}{fit}{older}."
    if fits or not first:
        return "No run fits."
    return f"There is no run on {queue_manager} yet." if queue_manager else "There is no run yet."


def _row(run: RunLine, today: str, asked: Mapping[str, str], working: Collection[tuple[str, str]]) -> Iterator[Cell]:
    by = asked.get(run.requested_by, run.requested_by)
    checked = run.state in {RunState.CHECKED, RunState.FAILED}
    short = run.checks.partition(", in ")[0]
    found = Link(short, "quality", {"queue_manager": run.queue_manager, "run": run.run}, title=run.checks)
    yield Text((Lines((named(run, today, by), Lines((ShortName(run.run),), kind="key"))),))
    at_work = run.state is RunState.INCOMPLETE and (run.queue_manager, run.run) in working
    state = Label(AT_WORK, "note") if at_work else Label(run.word, run.state.kind)
    yield Text((state, *((Lines((found,)),) if checked else ())))
    yield _queues(run.queue.split(",")) if run.queue else None
    yield Name(by) if by else None
    yield Name(run.approved_by) if run.approved_by else None
    if checked:
        yield from (None,) * len(_COUNTS)
    else:
        yield from figures_of_run(run)
    yield took(run) or None


def _queues(names: Sequence[str]) -> Text:
    """The queues of a run, the first one where there are many: the page of the run has all."""
    if len(names) <= MOST_QUEUES:
        return joined(", ", map(Name, names))
    return said("{:name} and {}", names[0], counted(len(names) - 1, "other"))


def pages(query: Mapping[str, str], behind: str, *, first: bool) -> Text:
    """The links to the newest runs and to the next page. Parameters: `query` of this page, without its place; `behind`
    where the next page begins, "" for none; `first` whether this page has the newest."""
    links = [] if first else [Link("Newest runs", "runs", dict(query))]
    if behind:
        links.append(Link("Older runs", "runs", {**query, "behind": behind}))
    return joined(" · ", links) if links else NOTHING


def unreadable(problems: Mapping[str, str], damaged: Iterable[Damaged]) -> Iterator[Text]:
    """The sentences about queue managers whose runs cannot be read, and about single runs that cannot be."""
    for name, why in problems.items():
        yield said("The runs of {:name} cannot be shown: {}", name, why)
    for one in damaged:
        yield said("Run {:key} of {:name} cannot be shown: {}", one.run, one.queue_manager, str(one.error))
