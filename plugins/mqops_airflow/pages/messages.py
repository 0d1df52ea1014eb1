"""The page `messages`: search in recorded snapshots, and one message whole with its payload masked.

1. A search by text or property tells of payload, so it needs the right `reveal` of the estate, as seeing it does.
2. This page reveals nothing: a reveal writes to the ledger, and pages write nothing. It shows the command that does.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from mqops.actions import DISCARDS, Action
from mqops.decide.backout_setting import read_setting
from mqops.deciders.recover import WORKFLOW as CHOSEN
from mqops.errors import RulesError, SettingsError
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import IDENTIFIERS, Criteria, criteria
from mqops.look.core.run_state import RunLine
from mqops.look.core.taken_apart import ORIGIN
from mqops.look.expiry_forecast import COPIES
from mqops.look.figures import Figures
from mqops.look.find import FoundMessage, FoundPage, find_recorded
from mqops.look.message import MessageStory, show_recorded
from mqops.look.placed_since import Placed, placed_since
from mqops.look.plan_view import Planned, planned_actions, planned_rows
from mqops.look.reveal import NotRevealed, refuse_unless_named
from mqops.look.runs import list_runs, run_line
from mqops.model import Account
from mqops.single_flight import single_flight
from mqops_airflow.pages.by_hand import IN_STORAGE, ByHand, placed_by_hand
from mqops_airflow.pages.dead_letters import queue_seen_last
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import below, render_page
from mqops_airflow.pages.run_forms import RECOVER
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.table import Page
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions
from mqops_airflow.workplace import lake

PAGE = 50
"""Messages of a page."""
MOST_RUNS = 50
"""Newest runs that the list offers, besides the one that is shown."""
MOST_OTHERS = 8
"""Other snapshots that are named where no message fits, the newest."""
DAY = timedelta(days=1)
FIELDS = {
    "reason": ("REASON", "Reason", "MQRC_Q_FULL"),
    "dest_q": ("DESTQ", "Destination queue", "contains, or PAY*"),
    "application": ("APPLNAME", "Application", "contains, or billing*"),
    "user": ("USERID", "User", "contains"),
    "format": ("", "Format (MQMD)", "contains"),
}
"""Field of the form → keyword of the rules language, its label, an example. A text without wildcards is looked for
anywhere in the field; a reason is a whole name. The format is that of the MQMD, which is shown, and has no keyword."""
MORE = (*IDENTIFIERS, "since", "until", "property", "value", "where")
"""The fields that are shown on demand."""


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def search(
        request: Request,
        given: Annotated[str, Query(alias="queue_manager")] = "",
        run: str = "",
        after: str = "",
        who: Reader = sees,
    ) -> HTMLResponse:
        name = who.queue_manager(given)
        asked = {key: value.strip() for key, value in request.query_params.items()}
        recorded, newest, default = _recorded(lake(who.estate), name)
        queue = asked.get("queue", "")
        chosen = run or _default([one for one in newest if _named(queue, one.queue)]) or default
        runs = [one for number, one in enumerate(recorded) if number < MOST_RUNS or one.run == chosen]
        query = {key: value for key, value in asked.items() if value and key not in {"run", "after", "action"}}
        found, problem, forbidden, planned = None, "", "", Planned()
        unrecorded = bool(queue) and "*" not in queue and not any(_named(queue, one.queue) for one in newest)
        if chosen:
            try:
                folder = RunFolder.at(lake(who.estate), name, chosen)
                planned = planned_actions(folder)
                found = _search(who, folder, asked, after, planned.digest if asked.get("action") else "")
            except NotRevealed:
                forbidden = _may_not_see(who, name)
            except (RulesError, SettingsError, ValueError) as error:
                problem = str(error)
        return render_page(
            request,
            page,
            who,
            name,
            status=403 if forbidden else 200,
            runs=runs,
            run=chosen,
            line=next((one for one in recorded if one.run == chosen), None),
            others=[
                (one, urlencode({**query, "queue_manager": name, "run": one.run}))
                for one in newest
                if one.run != chosen and (not queue or _named(queue, one.queue))
            ][:MOST_OTHERS],
            unrecorded=queue if unrecorded else "",
            depth=figures_now(who.estate, [name])[name].depth_of(queue) if unrecorded else None,
            total=0 if queue else next((one.messages for one in recorded if one.run == chosen), 0),
            actions=planned.actions,
            asked=asked,
            fields=FIELDS,
            identifiers=IDENTIFIERS,
            opened=any(asked.get(key) for key in MORE),
            put_at=_put_at,
            found=found,
            next=_again(request, found.next) if found and found.next else "",
            problem=problem,
            forbidden=forbidden,
        )

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
                return RedirectResponse(f"{request.scope.get('root_path', '')}{page.path}?{query}", 303)
            raise HTTPException(404, str(error)) from error
        here = Placed(story.found.queue, story.found.msg_key)
        by_hand = _by_hand(who, folder, story)
        may_move = by_hand is not None and who.may_start(RECOVER)
        return render_page(
            request,
            page,
            who,
            name,
            template="message",
            run=run,
            story=story,
            origin_words=ORIGIN[str(story.message.origin["by"])] if story.message.origin else "",
            outcome=outcome,
            put_moment=_put_moment,
            rules_source=below(story.rules_source, who.estate.path.parent),
            unjudged=_unjudged(story),
            by_hand=by_hand,
            placed_by=placed_since(folder, [here]).get(here, "") if by_hand else "",
            refusal=_refusal(who, name),
            may_move=may_move,
            questions=open_questions(who, RECOVER, name, [here.queue]) if may_move else (),
            four_eyes=asks_for_four_eyes(who.estate, RECOVER),
        )

    return routes


class _Recorded(NamedTuple):
    """Parameters: `runs` that have recorded messages, newest first; `newest` of them for each workflow and its queues,
    whose snapshot was not removed; `default` the run whose snapshot is shown, "" for none."""

    runs: list[RunLine]
    newest: list[RunLine]
    default: str


@shared
def _recorded(place: Path, name: str) -> _Recorded:
    found = [one for one in list_runs(place, queue_manager=name) if one.messages]
    newest: dict[tuple[str, str], RunLine] = {}
    for one in found:
        key = (one.workflow, one.queue)
        if key not in newest and RunFolder.at(place, name, one.run).snapshot.is_dir():
            newest[key] = one
    return _Recorded(found, [*newest.values()], _default([*newest.values()]) or (found[0].run if found else ""))


def _default(newest: Sequence[RunLine]) -> str:
    """The run whose snapshot shows most: no copy of earlier ones, as that of an undo is, and not of a part of a queue
    or of what a person chose from; of those that are a day older than the newest at most, that with most messages."""
    best = min(map(_narrow, newest), default=0)
    wide = [one for one in newest if _narrow(one) == best]
    since = max((datetime.fromisoformat(one.at) for one in wide), default=datetime.now(UTC)) - DAY
    fresh = [one for one in wide if datetime.fromisoformat(one.at) >= since]
    return max(fresh, key=lambda one: one.messages).run if fresh else ""


def _named(queue: str, queues: str) -> list[str]:
    """Those of a run's queues that a name, or a pattern such as PAY*, means. Parameters: `queues` with commas."""
    return fnmatch.filter(queues.split(","), queue)


def _narrow(line: RunLine) -> int:
    """How little a snapshot shows of what was on queues: 0 all of its queues."""
    return 2 if line.workflow in COPIES else int(line.partial or line.workflow == CHOSEN)


@shared
def _story(place: Path, run: RunFolder, queue: str, msg_id: str, position: int | None) -> MessageStory:
    """One message, masked. Parameters: `position` None: the only one of this MsgId. Raises `SettingsError`."""
    return show_recorded(place, run.snapshot, criteria(msg_id=msg_id), run=run, queue=queue, position=position)


def _by_hand(who: Reader, run: RunFolder, story: MessageStory) -> ByHand | None:
    """What moves a message that no rule can place: one of ambiguous origin, one on a dead-letter queue that has no
    MQDLH, and one in storage. None for another."""
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
    """The queue of `dlq_rules` in the estate, that of the newest dead-letter run, and the queue manager's DEADQ."""
    section = who.estate.estate.queue_managers[name].dlq_rules
    named = (section.queue if section else "") or ""
    return {named, queue_seen_last(lake(who.estate), name), figures.dead_letter_queue}


def _unjudged(story: MessageStory) -> str:
    """Why no rules table judges a message, "" where one does."""
    if story.rules:
        return ""
    if any(one.name == "MQDLH" for one in story.message.headers):
        name = story.found.queue_manager
        return f"No rules table judges this message: the estate names none for the dead-letter queue of {name}."
    what = "its MQDLH is not valid" if story.found.format == "MQDEAD" else "it has no MQDLH"
    return f"No rules table judges this message: {what}."


def outcome(event: Mapping[str, Any]) -> str:
    """What a line of the ledger says of the message, for people."""
    if event["outcome"] != "acted":
        return _SPOKEN.get(event["outcome"], str(event["outcome"]))
    action = event["action"]
    return "discarded" if action in DISCARDS else _NO_MOVE.get(action, "moved")


_SPOKEN = {"revealed": "its data was shown"}
_NO_MOVE = {Action.COPY: "copied", Action.LOAD: "put from a file"}


def _recorded_in(run: RunFolder) -> RunFolder:
    """The run, which has a snapshot. Raises `SettingsError`."""
    if not run.snapshot.is_dir():
        raise SettingsError(f"Run {run.run} of {run.queue_manager} has no snapshot: it was removed, or never made.")
    return run


def _search(who: Reader, run: RunFolder, asked: dict[str, str], after: str, plan: str) -> FoundPage:
    """A page of what fits. Parameters: as of `_found`. Raises `NotRevealed`, `RulesError`, `SettingsError`,
    `ValueError`."""
    wanted = _criteria(asked)
    if wanted.asks_for_payload:
        refuse_unless_named(run.queue_manager, who.user.get_name(), Account.AIRFLOW)
    return _found(_recorded_in(run), tuple(sorted(asked.items())), after, plan)


@single_flight
@lru_cache(maxsize=256)
def _found(run: RunFolder, asked: tuple[tuple[str, str], ...], after: str, plan: str) -> FoundPage:
    """A snapshot never changes, nor does a plan with the same digest, so a page holds. Who may ask was decided before.

    Parameters: `plan` its digest, where a planned action is asked for. Raises as `_search`.
    """
    given = dict(asked)
    queue, wanted = given.get("queue", ""), _criteria(given)
    queues = (_named(queue, run_line(run).queue) or [queue]) if queue else ()
    marks = planned_rows(run, plan, given["action"]) if given.get("action") else None
    return find_recorded(run.snapshot, wanted, queues=queues, limit=PAGE, after=after, marks=marks)


def _criteria(asked: dict[str, str]) -> Criteria:
    """What the form asks for, in the language of rules tables."""
    parts = [
        f"{keyword}({_quoted_value(key, asked[key])})"
        for key, (keyword, *_) in FIELDS.items()
        if keyword and asked.get(key)
    ]
    if asked.get("property"):
        parts.append(f"PROP({_quoted(asked['property'])} = {_quoted(asked.get('value') or '*')})")
    if asked.get("text"):
        parts.append(f"BODY({_quoted('*' + asked['text'] + '*')})")
    if asked.get("where"):
        parts.append(asked["where"])
    times = {key: datetime.fromisoformat(asked[key]) for key in ("since", "until") if asked.get(key)}
    ids = {key: asked.get(key, "") for key in IDENTIFIERS}
    md_format = _anywhere(asked.get("format", ""))
    return criteria(" ".join(parts), since=times.get("since"), until=times.get("until"), md_format=md_format, **ids)


def _quoted_value(key: str, text: str) -> str:
    return text if key == "reason" else _quoted(_anywhere(text))


def _anywhere(text: str) -> str:
    """A pattern as it is; a text without wildcards as one that finds it anywhere in the field."""
    return f"*{text}*" if text and "*" not in text and "?" not in text else text


def _put_at(one: FoundMessage) -> str:
    """Put date and time of the MQMD as people read them; as they are if they are not a valid time."""
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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _again(request: Request, after: str) -> str:
    """The query of the next page."""
    return request.url.include_query_params(after=after).query


def _refusal(who: Reader, name: str) -> str:
    """Why this person may not see payload, "" if he may."""
    try:
        refuse_unless_named(name, who.user.get_name(), Account.AIRFLOW)
    except NotRevealed:
        return _may_not_see(who, name)
    except SettingsError:
        return "The estate file has errors: nobody sees a payload before they are mended."
    return ""


def _may_not_see(who: Reader, name: str) -> str:
    """Which right a person lacks, and whom to ask. Where the estate lies is not for everybody, and neither is whom it
    names: who is after payload would learn which accounts to take over. Who keeps the estate knows both."""
    ask = "Ask the person who keeps the estate file, or the administrator of Airflow."
    return f"The setting reveal of {name} in the estate does not name you ({who.user.get_name()}). {ask}"
