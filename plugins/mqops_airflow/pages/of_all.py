"""All queue managers on the pages Dead letters, Triggers, Expiry and Quality: a table, where none is named.

What a queue manager or the lake says of each is asked side by side, and once for all readers
(`mqops_airflow.pages.answers`): a page of many costs them no more than a page of one, and none that is slow delays it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse

from mqops.clock import utc
from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.estate_workflows import DlqRules
from mqops.look.dead_letters import dead_letter_queues
from mqops.look.estate.expiring import Expiring, expiring_now
from mqops.look.expiry_forecast import MORNING
from mqops.look.words import of_all as words
from mqops.look.words.managers import oldest_figures
from mqops.look.words.of_all import ChecksOf, DeadLettersOf, OfAll
from mqops.look.words.text import Link
from mqops.observe.core.anatomy import QueueAnatomy
from mqops.quality.trend import quality_runs, run_that_counts
from mqops_airflow.pages.answers import Answers
from mqops_airflow.pages.queue_figures import figures_now, silence
from mqops_airflow.pages.queue_named import named_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

EVERY = 10
"""Seconds until the table is asked for again."""
RECORDS: Answers[list[QueueAnatomy]] = Answers(5.0)
EXPIRING: Answers[Expiring] = Answers(5.0)
CHECKS: Answers[ChecksOf] = Answers(10.0)


def means_all(who: Reader, queue_manager: str, *others: str) -> bool:
    """Whether a query is about all queue managers: it names none, and nothing of one, and the person sees several.
    Parameters: `others` fields that are about a single one."""
    return not queue_manager and not any(others) and len(who.queue_managers) > 1


def all_shown(request: Request, page: Page, who: Reader, found: OfAll) -> HTMLResponse:
    """The table of all queue managers, or its live part. Parameters: `found` what it is about."""
    live = request.scope["path"].endswith("/live")
    return render_page(
        *(request, page, who, ""),
        template="of_all_live" if live else "of_all",
        every=EVERY,
        live_part=Link("", f"{page.name}/live"),
        found=found,
    )


@shared
def dead_letters_of_all(estate: EstateFile, names: tuple[str, ...]) -> OfAll:
    """The table of the page. Parameters: `names` of the queue managers that the reader may see."""
    place = lake(estate)
    records = RECORDS.of({name: partial(dead_letter_queues, place, name) for name in names}, scope=str(place))
    figures = figures_now(estate, names)
    sections = {name: estate.estate.queue_managers[name].dlq_rules for name in names}
    found = words.dead_letters(
        _behind(estate, DeadLettersOf(name, figures[name], queues, seen))
        for name in names
        for seen in [records[name].value or []]
        for queues in [_queues(sections[name], figures[name].dead_letter_queue, seen)]
    )
    return found._replace(age=oldest_figures(figures.values(), utc()))


def _behind(estate: EstateFile, one: DeadLettersOf) -> DeadLettersOf:
    """With the local queues behind the names. A name that the figures do not have is an alias, of a remote queue, or of
    none: the queue manager is asked for it."""
    local = {*one.figures.other_names, *(queue.name for queue in one.figures.queues)}
    if one.figures.unreachable or one.figures.awaited:
        return one
    asked = {name: named_now(estate, one.name, name) for name in one.queues if name not in local}
    known = {name: found for name, found in asked.items() if found and found.said}
    bases = {name: found.queue for name, found in known.items() if found.queue != name}
    queues = [bases.get(name, name) for name in one.queues if name not in known or name in bases]
    said = tuple(found.said for found in known.values())
    return one._replace(queues=list(dict.fromkeys(queues)), said=said)


def _queues(section: DlqRules | None, deadq: str, records: Sequence[QueueAnatomy]) -> list[str]:
    """The queues that have dead letters: those that the workflow works on, and the DEADQ. The fullest one of `records`
    stands for the DEADQ where no queue manager says which one that is."""
    deadq = deadq or next((one.queue for one in records), "")
    worked = section.trigger_queues(deadq) if section else ()
    return [queue for queue in dict.fromkeys((*worked, deadq)) if queue]


@shared
def expiry_of_all(estate: EstateFile, names: tuple[str, ...]) -> OfAll:
    """The table of the page. Parameters: `names` of the queue managers that the reader may see."""
    place = lake(estate)
    found = EXPIRING.of({name: partial(expiring_now, place, name) for name in names}, scope=str(place))
    return words.expiry([(name, answer.value) for name, answer in found.items()], f"{MORNING:%H:%M} UTC")


@shared
def quality_of_all(estate: EstateFile, names: tuple[str, ...]) -> OfAll:
    """The table of the page. Parameters: `names` of the queue managers that the reader may see."""
    place = lake(estate)
    found = CHECKS.of({name: partial(_checks, place, name) for name in names}, scope=str(place))
    return words.quality(answer.value or ChecksOf(name, None, silence(answer)) for name, answer in found.items())


def _checks(place: Path, name: str) -> ChecksOf:
    try:
        return ChecksOf(name, run_that_counts(place, quality_runs(place, name)))
    except MqopsError as error:
        return ChecksOf(name, None, str(error))
