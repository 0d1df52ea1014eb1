"""The page `messages`: search in recorded snapshots, and one message whole with its payload masked.

1. A search by text or property tells of payload, so it needs the right `reveal` of the estate, as seeing it does. What
   is looked for is sent in the body of the form (`mqops_airflow.pages.asked`).
2. Another process searches, within bounds (`mqops_airflow.pages.searches`).
3. This page reveals nothing: a reveal writes to the ledger, and pages write nothing. It shows the command that does.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from mqops.actions import DISCARDS, Action
from mqops.decide.backout_setting import read_setting
from mqops.errors import MqopsError, SettingsError
from mqops.lake.pruned import removed
from mqops.lake.run import RunFolder
from mqops.ledger.core.marker import MarkerKind
from mqops.look.core.criteria import IDENTIFIERS, criteria
from mqops.look.core.run_state import RunLine
from mqops.look.core.searched import passed_over_lines
from mqops.look.core.taken_apart import ORIGIN
from mqops.look.expiry_forecast import COPIES
from mqops.look.figures import Figures
from mqops.look.find import FoundMessage, FoundPage
from mqops.look.history import EventOfRule
from mqops.look.message import MessageStory, show_recorded
from mqops.look.placed_since import Placed, placed_since
from mqops.look.plan_view import Planned, planned_actions
from mqops.look.reveal import NotRevealed, refuse_unless_named
from mqops.look.runs import MOST_LOOKED_AT, Runs, run_line
from mqops.look.words import message as words
from mqops.look.words import search as in_words
from mqops.look.words.text import NOTHING, OfRun, Text, said
from mqops.model import Account
from mqops.observe.core.unseen import unseen_queues
from mqops.observe.recorded import OBSERVED
from mqops.workflow import Workflow
from mqops_airflow.pages.asked import FIELDS, MORE, PAYLOAD, Wanted, chooses_in_airflow
from mqops_airflow.pages.by_hand import IN_STORAGE, ByHand, placed_by_hand
from mqops_airflow.pages.chosen import ACTIONS
from mqops_airflow.pages.dead_letters import queue_seen_last
from mqops_airflow.pages.message_choice import choice, there_now
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.queue_named import named_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.run_forms import RECOVER
from mqops_airflow.pages.searches import Searches, TooSlow
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.shown import below, size
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

PAGE = 50
"""Messages of a page."""
MOST_RUNS = 50
"""Newest runs that the list offers, besides the one that is shown."""
MOST_OTHERS = 8
"""Other snapshots that are named where no message fits, the newest."""
IN_AN_ADDRESS = (
    "What is looked for in the data and the properties of messages must not stand in an address, which servers and "
    "browsers write down. Nothing was looked for: use the form of the page Messages."
)
NOW = "now"
"""The word of the field `there` for messages that no run has taken since."""
SEARCHES = Searches()
DAY = timedelta(days=1)


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    async def shown(request: Request, who: Reader, asked: dict[str, str]) -> Response:
        place = await run_in_threadpool(_place, who, asked)
        answer = await _answered(who, place) if place.chosen else _Answer()
        return await run_in_threadpool(_rendered, request, page, who, place, answer)

    @routes.get(page.path)
    async def search(request: Request, who: Reader = sees) -> Response:
        asked = _stripped(request.query_params.items())
        if not PAYLOAD.isdisjoint(asked):
            raise HTTPException(400, IN_AN_ADDRESS)
        return await shown(request, who, asked)

    @routes.post(page.path)
    async def search_for_payload(request: Request, who: Reader = sees) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        asked = {key: value for key, value in _stripped(parse_qsl(body)).items() if value}
        if PAYLOAD.isdisjoint(asked):  # an address that can be sent to others
            return RedirectResponse(f"{_address(request, page)}?{urlencode(asked)}", 303)
        return await shown(request, who, asked)

    @routes.get(f"{page.path}/one")
    def one(
        request: Request,
        *,
        given: Annotated[str, Query(alias="queue_manager")],
        run: str,
        queue: str = "",
        msg_id: str,
        position: int | None = None,
        who: Reader = sees,
    ) -> Response:
        name = who.queue_manager(given)
        try:
            folder = _recorded_in(RunFolder.at(lake(who.estate), name, run))
            story = _story(lake(who.estate), folder, queue, msg_id, position)
        except SettingsError as error:
            if position is None:  # none or several: the list shows which
                query = urlencode({"queue_manager": name, "run": run, "queue": queue, "msg_id": msg_id})
                return RedirectResponse(f"{_address(request, page)}?{query}", 303)
            raise HTTPException(404, str(error)) from error
        here = Placed(story.found.queue, story.found.msg_key)
        by_hand = _by_hand(who, folder, story)
        may_move = by_hand is not None and who.may_start(RECOVER)
        return render_page(
            *(request, page, who, name),
            template="message",
            run=run,
            story=story,
            origin=words.origin(story, _origin_words(story), _put_moment),
            done=words.done(story.past.done, outcome(story.past.done) if story.past.done else ""),
            data=words.data(story, size(story.message.body.length)),
            rules=words.rules(story.rules, below(story.rules_source, who.estate.path.parent)),
            seen=tuple(words.seen(story)),
            quarantine=words.quarantine(story),
            events=words.events(story, outcome),
            fields=words.fields,
            folder_table=words.folder,
            broken_folder=words.broken_folder,
            unjudged=_unjudged(story),
            by_hand=by_hand,
            placed=_placed_by(
                name, placed_since(folder, [here], at=run_line(folder).at).get(here, "") if by_hand else ""
            ),
            refusal=_refusal(who, name),
            may_move=may_move,
            questions=open_questions(who, RECOVER, name, [here.queue]) if may_move else (),
            four_eyes=asks_for_four_eyes(who.estate, RECOVER),
        )

    return routes


def _origin_words(story: MessageStory) -> str:
    """What the header with the origin of a message is about, "" for a message without such a header."""
    return ORIGIN[str(story.message.origin["by"])] if story.message.origin else ""


def _placed_by(queue_manager: str, run: str) -> Text:
    """The sentence that a later run has taken the message. Parameters: `run` that has, "" for none."""
    return said("It was taken from the queue since, by {}.", OfRun(queue_manager, run)) if run else NOTHING


def _address(request: Request, page: Page) -> str:
    return f"{request.scope.get('root_path', '')}{page.path}"


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
    recorded: _Recorded
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
        return self.asked.get("there", NOW if opened else "all")

    @property
    def one_queue(self) -> str:
        """The queue whose messages are listed, "" where there are several."""
        of_run = next((one.queue for one in self.recorded.runs if one.run == self.chosen), "")
        queues = self.queues or of_run.split(",")
        return queues[0] if len(queues) == 1 else ""


def _place(who: Reader, asked: Mapping[str, str]) -> _Place:
    """The place of the search of a form. Raises `HTTPException` 403, `LakeError`."""
    name = who.queue_manager(asked.get("queue_manager", ""))
    recorded = _recorded(lake(who.estate), name)
    queue, said = _behind(who, name, asked.get("queue", ""), recorded)
    chosen = asked.get("run") or _default([one for one in recorded.newest if _named(queue, one.queue)])
    chosen = chosen or recorded.default
    found = _Place(asked, name, recorded, chosen, queue=queue, said=said)
    if not chosen:
        return found
    try:
        run = RunFolder.at(lake(who.estate), name, chosen)
        found = found._replace(run=run, planned=planned_actions(run))
        _recorded_in(run)
        queues = (_named(queue, run_line(run).queue) or [queue]) if queue else ()
        return found._replace(queues=tuple(queues))
    except (MqopsError, ValueError) as error:
        return found._replace(problem=str(error))


def _behind(who: Reader, name: str, queue: str, recorded: _Recorded) -> tuple[str, str]:
    """The queue behind a name that no run has recorded, and a sentence about the name."""
    if not queue or "*" in queue or any(_named(queue, one.queue) for one in recorded.newest):
        return queue, ""
    found = named_now(who.estate, name, queue)
    return (found.queue, found.said) if found else (queue, "")


class _Answer(NamedTuple):
    """The result of a search. Parameters: `fitting` messages in all, None where nobody counted; `problem` why the
    search is not valid; `forbidden` why this person may not make it; `command` that makes it, where it is too slow for
    a page."""

    found: FoundPage | None = None
    fitting: int | None = None
    problem: str = ""
    forbidden: str = ""
    command: str = ""


async def _answered(who: Reader, place: _Place) -> _Answer:
    """The result of the search at a place. Raises `HTTPException` 429."""
    if place.problem:
        return _Answer(problem=place.problem)
    try:
        wanted = Wanted.of(place.asked)
        if wanted.criteria().asks_for_payload:
            refuse_unless_named(place.name, who.user.get_name(), Account.AIRFLOW)
        action = place.asked.get("action", "")
        request = {**wanted.to_json(), "run": str(place.run.path), "queues": place.queues, "limit": PAGE}
        request |= {"after": place.asked.get("after", ""), "action": action}
        request |= {"plan": place.planned.digest if action else ""}
        request |= {"there": place.only_there, "count": chooses_in_airflow(place.asked) is not None}
        found = await SEARCHES.found(str(who.user.get_id()), request)
        return _Answer(found.page, found.fitting)
    except NotRevealed:
        return _Answer(forbidden=_may_not_see(who, place.name))
    except TooSlow:
        return _Answer(command=wanted.command(place.run.path, place.queues, PAGE))
    except (MqopsError, ValueError) as error:
        return _Answer(problem=str(error))


def _rendered(request: Request, page: Page, who: Reader, place: _Place, answer: _Answer) -> HTMLResponse:
    asked, found = place.asked, answer.found
    name, queue, (recorded, newest, _default_run) = place.name, place.queue, place.recorded
    line = next((one for one in recorded if one.run == place.chosen), None)
    unrecorded = bool(queue) and "*" not in queue and not any(_named(queue, one.queue) for one in newest)
    figures = figures_now(who.estate, [name])[name] if unrecorded else Figures()
    unit = next((one.unit for one in figures.queues if one.name == queue), "")
    again = {key: value for key, value in asked.items() if value} | {"queue_manager": name}
    may_choose = who.may_start(RECOVER)
    elsewhere = {key: value for key, value in again.items() if key not in {"run", "after", "action"}}
    return render_page(
        *(request, page, who, name),
        status=403 if answer.forbidden else 200,
        runs=[one for number, one in enumerate(recorded) if number < MOST_RUNS or one.run == place.chosen],
        run=place.chosen,
        searched=in_words.searched(line),
        snapshot_of=in_words.snapshot_of,
        others=[
            (one, {**elsewhere, "run": one.run})
            for one in newest
            if one.run != place.chosen and (not queue or _named(queue, one.queue))
        ][:MOST_OTHERS],
        unrecorded=in_words.unrecorded(queue, figures.depth_of(queue), unit, name) if unrecorded else NOTHING,
        of_name=place.said,
        unseen=_unseen(place.run, queue) if found and not found.messages else (),
        searched_in=in_words.looked_at(found.looked_at, line.messages if line and not queue else 0) if found else "",
        messages=in_words.messages(
            found.messages, name, place.chosen, more=bool(found.next), put_at=_put_at, size=size, ticks=may_choose
        )
        if found
        else None,
        actions=place.planned.actions,
        asked=asked,
        fields=FIELDS,
        only_there=place.only_there,
        all_recorded={**again, "run": place.chosen, "there": "all"} if place.only_there else {},
        there_now=there_now(who, name, place.one_queue, only_there=place.only_there),
        choose=choice(who, place.asked, name, place.one_queue, found, fitting=answer.fitting),
        kinds_of_action=ACTIONS,
        identifiers=IDENTIFIERS,
        opened=any(asked.get(key) for key in MORE),
        found=found,
        passed_over=[*passed_over_lines(found.passed_over)] if found else [],
        next={**again, "run": place.chosen, "after": found.next, "there": place.there} if found and found.next else {},
        secret=not PAYLOAD.isdisjoint(again),
        problem=answer.problem,
        forbidden=answer.forbidden,
        command=answer.command,
    )


def _unseen(run: RunFolder, queue: str) -> tuple[str, ...]:
    """Why the browse of the run got nothing from queues that had a depth then. Parameters: `queue` a name or a pattern,
    "" for all queues."""
    observed = OBSERVED.find(run)
    found = unseen_queues(observed) if observed else {}
    return tuple(why for one, why in found.items() if not queue or _named(queue, one))


class _Recorded(NamedTuple):
    """Parameters: `runs` that have recorded messages, newest first; `newest` of them for each workflow and its queues,
    whose snapshot was not removed; `default` the run whose snapshot is shown, "" for none."""

    runs: list[RunLine]
    newest: list[RunLine]
    default: str


@shared
def _recorded(place: Path, name: str) -> _Recorded:
    known = Runs(place, name).caught_up()
    found = known.with_messages(MOST_RUNS + 1)
    newest = [there for one in known.newest_of_each() if (there := _with_snapshot(known, one))]
    return _Recorded(found, newest, _default(newest) or (found[0].run if found else ""))


def _with_snapshot(known: Runs, newest: RunLine) -> RunLine | None:
    """The newest run of a workflow on the same queues whose snapshot was not removed."""
    runs = known.folder / "runs"
    if RunFolder(runs / newest.run).snapshot.is_dir():
        return newest
    earlier = known.before(newest, MOST_LOOKED_AT, workflow=newest.workflow)
    return next((one for one in earlier if one.messages and RunFolder(runs / one.run).snapshot.is_dir()), None)


def _default(newest: Sequence[RunLine]) -> str:
    """The run whose snapshot shows most: a whole snapshot before a partial one, that before a copy of earlier messages
    (as of an undo). Of snapshots at most a day older than the newest, the one with most messages."""
    best = min(map(_narrow, newest), default=0)
    wide = [one for one in newest if _narrow(one) == best]
    since = max((datetime.fromisoformat(one.at) for one in wide), default=datetime.now(UTC)) - DAY
    fresh = [one for one in wide if datetime.fromisoformat(one.at) >= since]
    return max(fresh, key=lambda one: one.messages).run if fresh else ""


def _named(queue: str, queues: str) -> list[str]:
    """The queues of a run that a name, or a pattern such as PAY*, means. Parameters: `queues` with commas."""
    return fnmatch.filter(queues.split(","), queue)


def _narrow(line: RunLine) -> int:
    """How incomplete a snapshot is: 0 whole queues, 1 a part of them, 2 copies of earlier messages."""
    return 2 if line.workflow in COPIES else int(line.partial or line.workflow == Workflow.RECOVER)


@shared
def _story(place: Path, run: RunFolder, queue: str, msg_id: str, position: int | None) -> MessageStory:
    """One message, masked. Parameters: `position` None where the MsgId is unique. Raises `SettingsError`."""
    return show_recorded(place, run.snapshot, criteria(msg_id=msg_id), run=run, queue=queue, position=position)


def _by_hand(who: Reader, run: RunFolder, story: MessageStory) -> ByHand | None:
    """The group for the form that moves a message which no rule can place: a message of ambiguous origin, a message
    without an MQDLH on a dead-letter queue, a message in storage. None for any other message."""
    queue, msg_ids = story.found.queue, [story.found.msg_id]
    if story.ambiguous:
        return placed_by_hand(queue, Action.AMBIGUOUS, msg_ids, read_setting(run))
    figures = figures_now(who.estate, [run.queue_manager])[run.queue_manager]
    if not story.header_read and (
        Action.ERROR in planned_actions(run).actions or queue in _dead_letter_queues(who, run.queue_manager, figures)
    ):
        return placed_by_hand(queue, Action.ERROR, msg_ids, None)
    stored = any(one.name == queue for one in figures.storage)
    return ByHand(queue, IN_STORAGE, (), tuple(msg_ids)) if stored else None


def _dead_letter_queues(who: Reader, name: str, figures: Figures) -> set[str]:
    """The known dead-letter queues: of `dlq_rules` in the estate, of the newest run, the queue manager's DEADQ."""
    section = who.estate.estate.queue_managers[name].dlq_rules
    named = (section.queue or "", *section.also) if section else ()
    return {*named, queue_seen_last(lake(who.estate), name), figures.dead_letter_queue}


def _unjudged(story: MessageStory) -> str:
    """Why no rules table judges a message, "" where a table does."""
    if story.rules:
        return ""
    if any(one.name == "MQDLH" for one in story.message.headers):
        name = story.found.queue_manager
        return f"No rules table judges this message: the estate names none for the dead-letter queue of {name}."
    what = "its MQDLH is not valid" if story.found.format == "MQDEAD" else "it has no MQDLH"
    return f"No rules table judges this message: {what}."


def outcome(event: EventOfRule) -> str:
    """What a line of the ledger says of the message, for people."""
    if event.outcome != MarkerKind.ACTED:
        return _SPOKEN.get(event.outcome, event.outcome)
    return "discarded" if event.action in DISCARDS else _NO_MOVE.get(event.action, "moved")


_SPOKEN = {"revealed": "its data was shown"}
_NO_MOVE: Mapping[str, str] = {Action.COPY: "copied", Action.LOAD: "put from a file"}


def _recorded_in(run: RunFolder) -> RunFolder:
    """The same run, if it has a snapshot. Raises `SettingsError`."""
    if not run.snapshot.is_dir():
        why = (
            removed(run.snapshot)
            or f"Run {run.run} of {run.queue_manager} has no snapshot: it was removed, or never made"
        )
        raise SettingsError(f"{why}.")
    return run


def _put_at(one: FoundMessage) -> str:
    """Put date and time of the MQMD as people read them; unchanged where they are not a valid time."""
    return _moment(one.put_date, one.put_time)


def _put_moment(digits: str) -> str:
    """As `_put_at`. Parameters: `digits` date and time of an MQDLH, a blank between them."""
    date, _, time = digits.partition(" ")
    return _moment(date, time)


@lru_cache(maxsize=4096)
def _moment(date: str, time: str) -> str:
    try:
        return f"{datetime.strptime((date + time)[:14], '%Y%m%d%H%M%S').replace(tzinfo=UTC):%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return f"{date} {time}"


def _refusal(who: Reader, name: str) -> str:
    """Why this person may not see payload, "" if the person may."""
    try:
        refuse_unless_named(name, who.user.get_name(), Account.AIRFLOW)
    except NotRevealed:
        return _may_not_see(who, name)
    except SettingsError:
        return "The estate file has errors: nobody sees a payload before they are mended."
    return ""


def _may_not_see(who: Reader, name: str) -> str:
    """Which right a person lacks, and whom the person can ask. The text names neither the estate file nor the accounts
    with the right: both would help an attacker who is after payload. The keeper of the estate knows both."""
    ask = "Ask the person who keeps the estate file, or the administrator of Airflow."
    return f"The setting reveal of {name} in the estate does not name you ({who.user.get_name()}). {ask}"
