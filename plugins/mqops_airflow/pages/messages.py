"""The page `messages`: search in recorded snapshots. One message is `mqops_airflow.pages.message_one`.

1. A search by text or property tells of payload, so it needs the right `reveal` of the estate, as seeing it does. What
   is looked for is sent in the body of the form (`mqops_airflow.pages.asked`).
2. Another process searches, within bounds (`mqops_airflow.pages.searches`).
3. This page reveals nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from mqops.errors import MqopsError
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import IDENTIFIERS
from mqops.look.core.searched import passed_over_lines
from mqops.look.done_since import done_since
from mqops.look.figures import Figures
from mqops.look.find import FoundPage
from mqops.look.plan_view import Planned, planned_actions
from mqops.look.reveal import MOST_WHY, NotRevealed, refuse_unless_named
from mqops.look.run_row import run_line
from mqops.look.search_process import Answer, Search
from mqops.look.words import message as words
from mqops.look.words import search as in_words
from mqops.look.words.run_name import name_of
from mqops.look.words.text import NOTHING, Table, Text, said
from mqops.model import Account
from mqops.observe.core.unseen import unseen_queues
from mqops.observe.recorded import OBSERVED
from mqops_airflow.pages.asked import FIELDS, MORE, MSG_ID_FIELD, PAYLOAD, chooses_in_airflow, command_of, wanted_of
from mqops_airflow.pages.day_chart import Day, day_of
from mqops_airflow.pages.form_body import sent
from mqops_airflow.pages.message_choice import choice, new_look, there_now
from mqops_airflow.pages.message_one import Which
from mqops_airflow.pages.message_shown import outcome
from mqops_airflow.pages.put_times import put_at
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.queue_named import named_now
from mqops_airflow.pages.recorded_runs import (
    MOST_RUNS,
    Recorded,
    default_run,
    named,
    narrow,
    newest_run,
    recorded_in,
    recorded_runs,
)
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.reveal_right import may_not_see, why_masked
from mqops_airflow.pages.run_forms import RECOVER
from mqops_airflow.pages.searches import Searches, TooSlow
from mqops_airflow.pages.security import Reader, own_dags, reader
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.shown import size
from mqops_airflow.pages.which_run import has_failed
from mqops_airflow.runs.run_folder import folders, run_key
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

PAGE = 50
"""Messages of a page."""
MOST_OTHERS = 8
"""Other snapshots that are named where no message fits, the newest."""
IN_AN_ADDRESS = (
    "What is looked for in the data and the properties of messages must not stand in an address, which servers and "
    "browsers write down. Nothing was looked for: use the form of the page Messages."
)
FAILED_DAG, FAILED_RUN = "failed_dag", "failed_run"
"""The fields that name a run which a form of the page has started and which has failed: no other list of the page is
about it, and no link has them."""
NOW = "now"
"""The word of the field `there` for messages that no run has taken since."""
MSG_ID = "[0-9a-f]{48}"
"""A whole MsgId in hex."""
GONE = "gone, as the proof of a run found"
"""What is said of a message that no run has moved."""
SEARCHES = Searches()


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    async def shown(request: Request, who: Reader, asked: dict[str, str]) -> Response:
        place = await run_in_threadpool(_place, who, asked)
        result = await _answered(who, place) if place.chosen else _Result()
        return await run_in_threadpool(_rendered, request, page, who, place, result)

    @routes.get(page.path)
    async def search(request: Request, who: Reader = sees) -> Response:
        asked = _stripped(request.query_params.items())
        if not PAYLOAD.isdisjoint(asked):
            raise HTTPException(400, IN_AN_ADDRESS)
        if "dag_id" in asked:  # a form of the page has started this run, which has ended
            found = await run_in_threadpool(_of_dag_run, who, asked)
            return RedirectResponse(f"{_address(request, page)}?{urlencode(found)}", 303)
        return await shown(request, who, asked)

    @routes.post(page.path)
    async def search_for_payload(request: Request, who: Reader = sees) -> Response:
        asked = {key: value for key, value in _stripped(await sent(request)).items() if value}
        if PAYLOAD.isdisjoint(asked):  # an address that can be sent to others
            return RedirectResponse(f"{_address(request, page)}?{urlencode(asked)}", 303)
        return await shown(request, who, asked)

    return routes


def _address(request: Request, page: Page) -> str:
    return f"{request.scope.get('root_path', '')}{page.path}"


def _of_dag_run(who: Reader, asked: Mapping[str, str]) -> dict[str, str]:
    """The search in the snapshot of a DAG run, for messages that are still there; in the usual snapshot where this run
    has made none, as of an empty queue. A run that failed is named. Raises `HTTPException` 403."""
    name = who.queue_manager(asked.get("queue_manager", ""))
    dag_id, run_id = asked["dag_id"], asked.get("run_id", "")
    made = folders(lake(who.estate), name, run_key(dag_id, run_id))
    of_run = {"run": made[-1][1].run, "there": NOW} if made and OBSERVED.exists(made[-1][1]) else {}
    if asked.get("state") == "failed":
        of_run |= {FAILED_DAG: dag_id, FAILED_RUN: run_id}
    return {key: value for key, value in asked.items() if key not in {"dag_id", "run_id", "state"}} | of_run


def _stripped(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {key: value.strip() for key, value in pairs}


class _Place(NamedTuple):
    """Where a search looks.

    Parameters: `asked` the form, field → text; `name` of the queue manager; `recorded` its runs; `chosen` the run that
    is searched, "" for none, and `run` its folder; `queues` of the run that are searched, () for all; `planned` what it
    plans; `problem` why it cannot be searched; `queue` of the search; `said` what there is to say of the name in the
    form.
    """

    asked: Mapping[str, str]
    name: str
    recorded: Recorded
    chosen: str = ""
    run: RunFolder = RunFolder(Path())
    queues: tuple[str, ...] = ()
    planned: Planned = Planned()
    problem: str = ""
    queue: str = ""
    said: str = ""

    @property
    def only_there(self) -> bool:
        """Whether messages are passed over that runs have taken since: in the list that is opened by default, and where
        a person asks so. A search looks for a message wherever it is now."""
        return self.there == NOW

    @property
    def there(self) -> str:
        """What the next page of this list asks for, too: `NOW`, or "all"."""
        opened = not any(self.asked.get(name) for name in ("run", "after", "action", "text", *FIELDS, *MORE))
        if re.fullmatch(MSG_ID, self.asked.get("msg_id", "").strip(), re.IGNORECASE):
            return "all"  # who has the whole MsgId of a message looks for it, wherever a run has put it
        return self.asked.get("there", NOW if opened else "all")

    @property
    def one_queue(self) -> str:
        """The queue whose messages are listed, "" where there are several, and for a pattern that none fits."""
        of_run = next((one.queue for one in self.recorded.runs if one.run == self.chosen), "")
        queues = self.queues or of_run.split(",")
        return queues[0] if len(queues) == 1 and "*" not in queues[0] else ""


def _place(who: Reader, asked: Mapping[str, str]) -> _Place:
    """The place of the search of a form. Raises `HTTPException` 403, `LakeError`."""
    name = who.queue_manager(asked.get("queue_manager", ""))
    recorded = recorded_runs(lake(who.estate), name)
    queue, said = _behind(who, name, asked.get("queue", ""), recorded)
    of_queue = [one for one in recorded.newest if named(queue, one.queue)]
    chosen = asked.get("run") or (newest_run if _is_whole(asked) and "*" not in queue else default_run)(of_queue)
    chosen = chosen or recorded.default
    found = _Place(asked, name, recorded, chosen, queue=queue, said=said)
    if not chosen:
        return found
    try:
        run = RunFolder.at(lake(who.estate), name, chosen)
        found = found._replace(run=run, planned=planned_actions(run))
        recorded_in(run)
        queues = (named(queue, run_line(run).queue) or [queue]) if queue else ()
        return found._replace(queues=tuple(queues))
    except (MqopsError, ValueError) as error:
        return found._replace(problem=str(error))


def _is_whole(asked: Mapping[str, str]) -> bool:
    """Whether a list has all messages of its queues, as it begins: nothing is searched for."""
    return not any(asked.get(name) for name in ("after", "action", "text", "msg_id", *FIELDS, *MORE))


def _behind(who: Reader, name: str, queue: str, recorded: Recorded) -> tuple[str, str]:
    """The queue behind a name that no run has recorded, and a sentence about the name."""
    if not queue or "*" in queue or any(named(queue, one.queue) for one in recorded.newest):
        return queue, ""
    found = named_now(who.estate, name, queue)
    return (found.queue, found.said) if found else (queue, "")


class _Result(NamedTuple):
    """The result of a search. Parameters: `forbidden` why this person may not make it; `command` that makes it, where
    it is too slow for a page."""

    answer: Answer = Answer()
    forbidden: str = ""
    command: str = ""


async def _answered(who: Reader, place: _Place) -> _Result:
    """The result of the search at a place. Raises `HTTPException` 429."""
    if place.problem:
        return _Result(Answer(problem=place.problem))
    try:
        wanted = wanted_of(place.asked)
        if wanted.criteria().asks_for_payload:
            refuse_unless_named(place.name, who.user.get_name(), Account.AIRFLOW)
        search = Search(
            run=place.run.path,
            wanted=wanted,
            queues=place.queues,
            limit=PAGE,
            after=place.asked.get("after", ""),
            action=place.asked.get("action", ""),
            plan=place.planned.digest if place.asked.get("action") else "",
            there=place.only_there,
            count=chooses_in_airflow(place.asked) is not None,
        )
        return _Result(await SEARCHES.found(str(who.user.get_id()), search))
    except NotRevealed:
        return _Result(forbidden=may_not_see(who, place.name))
    except TooSlow:
        return _Result(command=command_of(wanted, place.run.path, place.queues, PAGE))
    except (MqopsError, ValueError) as error:
        return _Result(Answer(problem=str(error)))


def _rendered(request: Request, page: Page, who: Reader, place: _Place, result: _Result) -> HTMLResponse:
    asked, answer = place.asked, result.answer
    found = answer.found
    name, queue, (recorded, newest, _default_run) = place.name, place.queue, place.recorded
    line = next((one for one in recorded if one.run == place.chosen), None)
    unrecorded = bool(queue) and "*" not in queue and not any(named(queue, one.queue) for one in newest)
    figures = figures_now(who.estate, [name])[name] if unrecorded else Figures()
    unit = next((one.unit for one in figures.queues if one.name == queue), "")
    again = {key: value for key, value in asked.items() if value and key not in {FAILED_DAG, FAILED_RUN}}
    again |= {"queue_manager": name}
    may_choose = who.may_start(RECOVER)
    since, unknown = _since(place.run, Same(found)) if found and not place.only_there else ({}, ())
    there = found and any((one.queue, one.msg_key) not in since for one in found.messages)
    elsewhere = {key: value for key, value in again.items() if key not in {"run", "after", "action"}}
    return render_page(
        *(request, page, who, name),
        status=403 if result.forbidden else 200,
        name_of=name_of,
        runs=[one for number, one in enumerate(recorded) if number < MOST_RUNS or one.run == place.chosen],
        run=place.chosen,
        searched=in_words.searched(line),
        failed=_failed(who, place),
        snapshot_of=in_words.snapshot_of,
        others=[
            (one, {**elsewhere, "run": one.run})
            for one in newest
            if one.run != place.chosen and (not queue or named(queue, one.queue))
        ][:MOST_OTHERS],
        unrecorded=in_words.unrecorded(queue, figures.depth_of(queue), unit, name) if unrecorded else NOTHING,
        of_name=place.said,
        unseen=_unseen(place.run, queue) if found and not found.messages else (),
        searched_in=in_words.looked_at(found.looked_at, line.messages if line and not queue else 0) if found else "",
        messages=_table(Same(found), name, place.chosen, Same(since), ticks=may_choose) if found else None,
        actions=place.planned.actions,
        asked=asked,
        fields=FIELDS,
        only_there=place.only_there,
        all_recorded={**again, "run": place.chosen, "there": "all"} if place.only_there else {},
        there_now=there_now(
            who, name, place.one_queue, only_there=place.only_there, listed=_listed(place, answer), copies=answer.copies
        ),
        new_look=new_look(who, name, place.one_queue),
        day=day_of(lake(who.estate), name, place.one_queue) if place.one_queue else Day(),
        choose=choice(who, place.asked, name, place.one_queue, found if there else None, fitting=answer.fitting),
        identifiers={key: label for key, label in IDENTIFIERS.items() if key != MSG_ID_FIELD},
        on_queue=_on_queue(who, place),
        longest_why=MOST_WHY,
        opened=any(asked.get(key) for key in MORE if key != MSG_ID_FIELD),
        found=found,
        passed_over=[*passed_over_lines(found.passed_over), *unknown] if found else [],
        next={**again, "run": place.chosen, "after": found.next, "there": place.there} if found and found.next else {},
        secret=not PAYLOAD.isdisjoint(again),
        problem=answer.problem,
        forbidden=result.forbidden,
        command=result.command,
    )


def _failed(who: Reader, place: _Place) -> Text:
    """That the run failed which a form of the page has started; nothing where none did, where it was cleared since, or
    where no DAG of the queue manager is named."""
    dag_id, run_id = (place.asked.get(name, "") for name in (FAILED_DAG, FAILED_RUN))
    if dag_id not in own_dags(who.estate)[place.name]:  # an address that a form has not made names anything
        return NOTHING
    if not has_failed(dag_id, run_id):
        return NOTHING
    made = folders(lake(who.estate), place.name, run_key(dag_id, run_id))
    took = place.chosen in {folder.run for _number, folder in made}
    checks = {"queue_manager": place.name, "run": place.chosen} if took and place.run.quality_json.exists() else {}
    return in_words.failed({"dag_id": dag_id, "run_id": run_id}, checks, took=took)


def _listed(place: _Place, answer: Answer) -> int | None:
    """The messages of a list that has all of its queue; None for a search for some of them, and for a snapshot of
    a part of the queue."""
    if not _is_whole(place.asked) or not place.only_there or answer.fitting is None or narrow(run_line(place.run)):
        return None
    return answer.fitting


@shared
def _since(run: RunFolder, found: Same[FoundPage]) -> tuple[dict[tuple[str, str], Text], tuple[str, ...]]:
    """Queue and identity of the listed messages that are there no longer → what runs have done with them; and why that
    is not known."""
    try:
        done = done_since(run, found.value.messages)
    except MqopsError as error:
        return {}, (f"Whether runs have taken these messages since is not known: {error}",)
    return {(*one,): words.done(act, outcome(act)) if act else said(GONE) for one, act in done.items()}, ()


@shared
def _table(
    found: Same[FoundPage], name: str, run: str, since: Same[dict[tuple[str, str], Text]], *, ticks: bool
) -> Table:
    shown = partial(in_words.messages, put_at=put_at, size=size, ticks=ticks, since=since.value)
    return shown(found.value.messages, name, run, more=bool(found.value.next))


def _on_queue(who: Reader, place: _Place) -> Which | None:
    """The message that a whole MsgId and a queue name, for the form that reveals it on the queue: no run need have
    recorded it. None for any other search, and for a person who may not see the data."""
    queue, msg_id = place.queue or place.one_queue, place.asked.get("msg_id", "").lower()
    if "*" in queue or not queue or not re.fullmatch(MSG_ID, msg_id) or why_masked(who, place.name):
        return None
    return Which(place.name, "", queue, msg_id, live=True)


def _unseen(run: RunFolder, queue: str) -> tuple[str, ...]:
    """Why the browse of the run got nothing from queues that had a depth then. Parameters: `queue` a name or a pattern,
    "" for all queues."""
    observed = OBSERVED.find(run)
    found = unseen_queues(observed) if observed else {}
    return tuple(why for one, why in found.items() if not queue or named(queue, one))
