"""The page `dead_letters`: what the dead-letter queues are made of, and what the rules table would do with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from mqops.actions import Action
from mqops.counted import counted
from mqops.decide.core.preflight import ANOTHER_QUEUE, COMES_BACK
from mqops.decide.core.staying import Staying, stay_of, staying
from mqops.decide.on_snapshot import SnapshotDecision
from mqops.decide.preflight_record import PREFLIGHT
from mqops.errors import MqopsError
from mqops.estate_sections import dag_prefix
from mqops.lake.run import RunFolder
from mqops.look.dead_letters import (
    MOST_JUDGED,
    DeadLetters,
    comes_back,
    dead_letter_queues,
    dead_letters,
    queue_of_last_run,
)
from mqops.look.figures import Figures
from mqops.look.message import of_estate
from mqops.look.plan_view import planned_actions
from mqops.look.runs import GrewDuringScans, Runs
from mqops.look.words import dead_letters as words
from mqops.look.words.fates import MOVES, Fate, fate_of
from mqops.look.words.text import Link
from mqops.model import Destination
from mqops.observe.core.anatomy import AGES, OLDER, UNKNOWN, Group, QueueAnatomy, aged_by_md
from mqops.observe.core.unseen import unseen_queues
from mqops.observe.recorded import OBSERVED
from mqops.printable import printable
from mqops_airflow.pages import charts
from mqops_airflow.pages.day_chart import day_of
from mqops_airflow.pages.of_all import all_shown, dead_letters_of_all, means_all
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.queue_named import named_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

EVERY = 10
"""Seconds until the page asks again what is known of the queue."""
BARS = 15
"""Groups that the chart shows; the table has all."""

NOT_JUDGED = "not judged by a rules table"


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    @routes.get(f"{page.path}/live")
    def shown(request: Request, queue_manager: str = "", queue: str = "", who: Reader = sees) -> HTMLResponse:
        if means_all(who, queue_manager, queue):
            return all_shown(request, page, who, dead_letters_of_all(who.estate, who.queue_managers))
        name, place = who.queue_manager(queue_manager), lake(who.estate)
        figures = figures_now(who.estate, [name])[name]
        section = who.estate.estate.queue_managers[name].dlq_rules
        own = (section.queue if section else "") or figures.dead_letter_queue or queue_seen_last(place, name)
        records, found = _known(place, name, queue or own)
        dag_id = f"{dag_prefix(name)}_dlq_rules" if section else ""
        named = named_now(who.estate, name, queue) if queue and not found else None
        depth = figures.depth_of(found.anatomy.queue if found else own)
        return render_page(
            *(request, page, who, name),
            every=EVERY,
            live_part=Link("", "dead_letters/live", {"queue_manager": name} | ({"queue": queue} if queue else {})),
            queue=queue,
            records=records,
            found=found,
            preset=found.anatomy.queue if found else queue or own,
            own_depth=words.nothing_seen(own, depth, figures),
            missing=words.not_found(queue, named.said if named else "", may_look=bool(dag_id)),
            day=day_of(place, name, found.anatomy.queue if found else queue or own),
            words=_in_words(place, Same(found), Same(figures), may_look=bool(dag_id)) if found else None,
            dag_id=dag_id,
            may_start=bool(dag_id) and who.may_start(dag_id),
            four_eyes=asks_for_four_eyes(who.estate, dag_id),
            questions=open_questions(who.estate, dag_id, name) if dag_id else (),
        )

    return routes


class _InWords:
    """A queue in words. Parameters: `may_look` whether the page has a form for a dry run."""

    def __init__(self, place: Path, found: DeadLetters, figures: Figures, *, may_look: bool) -> None:
        queue = found.anatomy
        before, by_hand = bool(found.acted) and found.left is None, _has_form(place, queue)
        ages = (*AGES, OLDER, UNKNOWN)
        stays = _stays(found, _staying(place, found))
        table = words.groups(found, _comes_back, stays, ages=ages, before=before, by_hand=by_hand, may_look=may_look)
        grew = _grew_since(place, queue.queue_manager, queue.queue, queue.observed_at)
        looks, shown = may_look and not found.acted, counted(len(table.rows), "group")
        more_bars = f"The chart has the {BARS} largest of {shown}; the table has all of them."
        self.as_seen = words.as_seen(found)
        self.in_short = tuple(words.in_short(found, figures.depth_of(queue.queue), figures))
        self.since_then = (*words.since_then(found), *words.grew(queue.queue_manager, grew, may_look=looks))
        self.not_in_figures = words.not_in_figures(found, may_look=may_look)
        self.notes = tuple(_notes(found))
        self.unseen = _unseen(place, queue)
        self.nothing_left = words.nothing_left(found) if found.left == 0 else ""
        self.made_of = f"What it {'was' if before else 'is'} made of"
        self.chart = _chart(found, stays)
        self.trend_label = _trend_label(found)
        self.more_bars = more_bars if len(table.rows) > BARS else ""
        self.gone_groups = words.gone_groups(found)
        self.groups = table
        self.aged = aged_by_md(queue.aged_by_md)


@shared
def _in_words(place: Path, found: Same[DeadLetters], figures: Same[Figures], *, may_look: bool) -> _InWords:
    return _InWords(place, found.value, figures.value, may_look=may_look)


def _trend_label(found: DeadLetters) -> str:
    """The description of the small chart, for people who do not see the chart."""
    counts = [one.messages for one in found.trend]
    if not counts:
        return ""
    return f"Messages in the last {counted(len(counts), 'run')}: from {counts[0]:,} to {counts[-1]:,}"


def _notes(found: DeadLetters) -> Iterator[str]:
    """The reasons why the table does not judge all messages."""
    if found.problem:
        yield f"{found.problem}."
    if found.judged == MOST_JUDGED < found.anatomy.messages:
        first = counted(found.judged, "message")
        yield (
            f"The table asks for what is in the messages, so this page judged the first {first} only. "
            "A dry run judges all."
        )


queue_seen_last = shared(queue_of_last_run)


def _unseen(place: Path, anatomy: QueueAnatomy) -> str:
    """Why the browse of the run got nothing from a queue that had a depth then; "" where the browse got messages."""
    run = RunFolder.at(place, anatomy.queue_manager, anatomy.run) if anatomy.run and not anatomy.messages else None
    observed = OBSERVED.find(run) if run else None
    return unseen_queues(observed).get(anatomy.queue, "") if observed else ""


@shared
def _grew_since(place: Path, name: str, queue: str, since: str) -> tuple[GrewDuringScans, ...]:
    """The scans for expired messages during which a queue grew. Parameters: `since` a run saw it, ISO 8601."""
    return tuple(one for one in Runs(place, name).grew_during_scans(since) if one.queue == queue)


def _has_form(place: Path, anatomy: QueueAnatomy) -> bool:
    """Whether the run that looked at a queue has a form, on its page, for messages without an MQDLH."""
    run = RunFolder.at(place, anatomy.queue_manager, anatomy.run) if anatomy.run else None
    return run is not None and Action.ERROR in planned_actions(run).actions


def _comes_back(decision: SnapshotDecision, queue: QueueAnatomy) -> str:
    """The warning of the pre-flight about a rule that puts messages back on the same queue, "" for any other rule."""
    return f"{COMES_BACK}. {ANOTHER_QUEUE}" if comes_back(decision, queue) else ""


@shared
def _known(place: Path, name: str, queue: str) -> tuple[list[QueueAnatomy], DeadLetters | None]:
    """The queues that runs have looked at, and one of these queues, judged by the rules table where that can be read.

    Parameters: `place` the lake; `queue` "" for the fullest queue.
    """
    records = dead_letter_queues(place, name)
    chosen = next((one for one in records if queue in {"", one.queue}), None)
    if chosen is None:
        return records, None
    table, problem = None, ""
    try:
        table = of_estate(name)
    except MqopsError as error:
        problem = str(error)
    return records, dead_letters(place, chosen, table, problem=problem)


def _staying(place: Path, found: DeadLetters) -> Staying:
    """What the destinations did not take when the run looked that has seen the queue; nothing where runs have acted
    since."""
    queue = found.anatomy
    if found.acted or not queue.run:
        return Staying()
    looked = PREFLIGHT.find(RunFolder.at(place, queue.queue_manager, queue.run))
    return staying(looked, looked.plan) if looked else Staying()


def _stays(found: DeadLetters, stay: Staying) -> dict[Group, list[int]]:
    """Group → how many messages of each of its decisions would stay. Parameters: `stay` what destinations did not
    take: the largest groups get the room."""
    there = [one for one in found.groups if one.messages]
    puts = [(one.decision.dest_q, one.decision.dest_q_mgr, one.messages) for group in there for one in group.decided]
    stays = iter(stay_of(stay, ((Destination(queue, manager), messages) for queue, manager, messages in puts)))
    return {one.group: list(islice(stays, len(one.decided))) for one in there}


def _chart(found: DeadLetters, stays: Mapping[Group, Sequence[int]]) -> Markup:
    """The largest groups as bars, in the colours of what the rules table would do with their messages; nothing for one
    bar. Two groups may differ in the queue manager alone: they are one bar. Parameters: `stays` as of
    `_stays`."""
    parts: dict[str, Counter[str]] = {}
    would = MOVES.words(would=True)
    for one in [group for group in found.groups if group.messages][:BARS]:
        name = printable(f"{one.group.reason} · {one.group.origin_q or '-'} · {one.group.application or '-'}")
        planned = Counter({NOT_JUDGED: one.messages})
        for decided, stay in zip(one.decided, stays[one.group], strict=True):
            number = min(decided.messages, planned[NOT_JUDGED])
            left = min(number, stay)
            planned += Counter({would[fate_of(decided.decision.action)]: number - left})
            planned += Counter({would[Fate.LEFT]: left})
            planned[NOT_JUDGED] -= number
        parts[name] = parts.get(name, Counter()) + planned
    if len(parts) < 2:
        return Markup("")
    label = "Messages by reason, destination and application, the largest group first. The table below has the figures."
    bars = [charts.Bar(name, numbers) for name, numbers in parts.items()]
    colours = {word: charts.FATES[fate] for fate, word in would.items()} | {NOT_JUDGED: "var(--gone)"}
    used = {word: colour for word, colour in colours.items() if any(one.parts[word] for one in bars)}
    return charts.stacked(bars, of="group", label=label, parts=used)
