"""One message whole: masked for everybody, revealed to whom the estate names, with a reason that stands in the ledger.

1. A look (GET) reveals nothing and writes nothing, so no link and no prefetching browser reveals.
2. A reveal and a download are forms (POST), which `mqops_airflow.pages.relay` refuses from pages of other sites. The
   server asks for the right again, the line of the ledger is on disk before a byte is sent, and no browser keeps the
   answer (`mqops_airflow.pages.headers`).
3. A snapshot is read, or the queue is browsed for that MsgId: nothing is taken from it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from threading import BoundedSemaphore
from typing import Annotated, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from mqops.actions import Action
from mqops.decide.backout_setting import read_setting
from mqops.errors import SettingsError
from mqops.expiry.before_look import told_before_look
from mqops.lake.run import RunFolder
from mqops.look.core.criteria import criteria
from mqops.look.core.laid_out import LaidOut, laid_out
from mqops.look.core.run_state import RunLine
from mqops.look.figures import Figures
from mqops.look.message import MessageStory, show_live, show_recorded
from mqops.look.plan_view import planned_actions
from mqops.look.reveal import DOWNLOAD, MOST_WHY, REVEAL, Reveal, why_of
from mqops.look.run_row import run_line
from mqops.look.taken_since import Placed, placed_since
from mqops.look.words import message as words
from mqops.look.words.run_name import name_of
from mqops.look.words.text import NOTHING, OfRun, Text, said
from mqops.model import Account
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.by_hand import IN_STORAGE, ByHand, placed_by_hand
from mqops_airflow.pages.dead_letters import queue_seen_last
from mqops_airflow.pages.form_body import sent
from mqops_airflow.pages.message_choice import choice_of_one
from mqops_airflow.pages.message_shown import of_masked, of_message
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.recorded_runs import recorded_in
from mqops_airflow.pages.render import render_page, root_of
from mqops_airflow.pages.reveal_right import why_masked
from mqops_airflow.pages.run_forms import RECOVER
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.shown import size
from mqops_airflow.pages.who_answers import asks_for_four_eyes, open_questions
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

MOST_SHOWN = 64 * 1024
"""Bytes of the data that the page shows; the whole is downloaded."""
PART = 2**20
"""Bytes of a download that are sent at once."""
AT_ONCE = 2
"""Reveals that are made at the same time: each holds a whole message."""
WAIT = 10.0
"""Seconds that a reveal waits for its turn, as where a queue manager does not answer."""
ON_THE_QUEUE = "queue"
_TURNS = BoundedSemaphore(AT_ONCE)


class Which(NamedTuple):
    """A message. Parameters: `name` of the queue manager; `run` that has recorded it, "" where none has; `position`
    None where the MsgId is unique; `msg_key` of the recorded one, "" for none; `live` whether it is meant as it is on
    the queue now."""

    name: str
    run: str
    queue: str
    msg_id: str
    position: int | None = None
    msg_key: str = ""
    live: bool = False

    @classmethod
    def of(cls, who: Reader, form: Mapping[str, str]) -> Which:
        """The message of a form. Raises `HTTPException` 400, 403."""
        position, live = form.get("position", ""), form.get("from") == ON_THE_QUEUE
        named = form.get("msg_id") and form.get("queue" if live else "run")
        if not named or not re.fullmatch("[0-9]{0,18}", position):
            raise HTTPException(400, "The form names no message: a run or a queue, and a MsgId.")
        return cls(
            name=who.queue_manager(form.get("queue_manager", "")),
            run=form.get("run", ""),
            queue=form.get("queue", ""),
            msg_id=form["msg_id"],
            position=int(position) if position else None,
            msg_key=form.get("msg_key", ""),
            live=live,
        )


def router(page: Page) -> APIRouter:
    """The routes of one message. Parameters: `page` messages."""
    routes, sees = APIRouter(), reader(page.right)

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
            folder = recorded_in(RunFolder.at(lake(who.estate), name, run))
            story = _story(lake(who.estate), folder, queue, msg_id, position)
        except SettingsError as error:
            if position is None:  # none or several: the list shows which
                query = urlencode({"queue_manager": name, "run": run, "queue": queue, "msg_id": msg_id})
                return RedirectResponse(f"{request.scope.get('root_path', '')}{page.path}?{query}", 303)
            raise HTTPException(404, str(error)) from error
        return _rendered(request, page, who, folder, story)

    @routes.post(f"{page.path}/one/reveal")
    async def reveal(request: Request, who: Reader = sees) -> Response:
        form = dict(await sent(request))

        def shown() -> Response:
            found = _revealed(who, form, REVEAL)
            revealed = laid_out(found.story.message.body, MOST_SHOWN)
            return _rendered(request, page, who, found.folder, found.story, revealed=revealed, of=found)

        return await run_in_threadpool(shown)

    @routes.post(f"{page.path}/one/download")
    async def download(request: Request, who: Reader = sees) -> Response:
        form = dict(await sent(request))

        def whole() -> Response:
            story = _revealed(who, form, DOWNLOAD).story
            headers = {
                "Content-Disposition": f'attachment; filename="{story.found.msg_id}.bin"',
                "Content-Length": str(len(story.data)),
            }
            return StreamingResponse(parts(story.data), media_type="application/octet-stream", headers=headers)

        return await run_in_threadpool(whole)

    return routes


async def parts(data: bytes) -> AsyncIterator[bytes]:
    """The data of a download in parts: a frame between the processes is shorter than the longest message."""
    for at in range(0, len(data), PART):
        yield data[at : at + PART]


class _Revealed(NamedTuple):
    """A message with its payload. Parameters: `folder` of the run that has recorded it, None where none has; `why` it
    was revealed; `told` what a browse had to discard, told before it."""

    which: Which
    folder: RunFolder | None
    story: MessageStory
    why: str
    told: tuple[str, ...] = ()


def _revealed(who: Reader, form: Mapping[str, str], action: str) -> _Revealed:
    """The message of a form with its payload, after the ledger says who sees it.

    Parameters: `action` REVEAL or DOWNLOAD.

    Raises:
        HTTPException: 400, 403, 404, 429.
        MqopsError: the queue manager, the lake, the keys of bodies or the ledger cannot be read or written.
    """
    which = Which.of(who, form)
    if refused := why_masked(who, which.name):
        raise HTTPException(403, f"You may not see the data. {refused}")
    try:
        why = why_of(form.get("why", ""))
    except SettingsError as error:
        raise HTTPException(400, str(error)) from error
    if not _TURNS.acquire(timeout=WAIT):
        raise HTTPException(429, "Other messages are being revealed. Nothing was shown; try again in a minute.")
    try:
        folder = RunFolder.at(lake(who.estate), which.name, which.run) if which.run else None
        to = Reveal(who=who.user.get_name(), kind=Account.AIRFLOW, why=why, action=action, most=MOST_SHOWN)
        if folder is None or which.live:
            known = _known(folder)
            told = _told_before(who, which) if action == REVEAL else ()  # a download has no place for words
            return _Revealed(which, known, _live(who, which, to), why, told)
        return _Revealed(which, folder, _of_run(who, which, recorded_in(folder), to), why)
    except SettingsError as error:
        raise HTTPException(404, str(error)) from error
    finally:
        _TURNS.release()


def _told_before(who: Reader, which: Which) -> tuple[str, ...]:
    return told_before_look(lake(who.estate), which.name, [which.queue], who.estate)


def _known(folder: RunFolder | None) -> RunFolder | None:
    """The run, if the lake has it. Raises `SettingsError`."""
    if folder is not None and not folder.path.is_dir():
        raise SettingsError(f"The lake has no run {folder.run} of {folder.queue_manager}. Nothing was shown.")
    return folder


def _of_run(who: Reader, which: Which, folder: RunFolder, to: Reveal) -> MessageStory:
    """The message in the snapshot. Raises as `show_recorded`."""
    wanted = criteria(msg_id=which.msg_id)
    return show_recorded(
        lake(who.estate), folder.snapshot, wanted, run=folder, queue=which.queue, position=which.position, reveal=to
    )


def _live(who: Reader, which: Which, to: Reveal) -> MessageStory:
    """The message on its queue: browsed by its MsgId, and by nothing else. Of several with this MsgId it is the one
    that was recorded. Raises as `show_live`."""
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

    wanted = criteria(msg_id=which.msg_id)
    with connect(connection_for(which.name, who.estate)) as session:
        place = lake(who.estate)
        return show_live(session, place, which.queue, wanted, reveal=to, behind_xqh=False, msg_key=which.msg_key)


def _rendered(
    request: Request,
    page: Page,
    who: Reader,
    folder: RunFolder | None,
    story: MessageStory,
    *,
    revealed: LaidOut | None = None,
    of: _Revealed | None = None,
) -> HTMLResponse:
    """The page of a message. Parameters: `folder` of its run, None where none has recorded it; `revealed` its data, and
    what was asked for (`of`), None where it is masked."""
    name, run = story.found.queue_manager, folder.run if folder else ""
    here = Placed(story.found.queue, story.found.msg_key)
    meant = of.which if of else Which(name, run, here.queue, story.found.msg_id, story.found.position, here.msg_key)
    by_hand = _by_hand(who, folder, story) if folder else None
    may_move = by_hand is not None and who.may_start(RECOVER)
    place = root_of(request), who.estate.path.parent
    return render_page(
        *(request, page, who, name),
        template="message",
        run=run,
        run_name=name_of(_line(folder), seconds=True) if folder else "",
        story=story,
        revealed=revealed,
        why=of.why if of else "",
        told_before=of.told if of else (),
        meant=meant,
        another=bool(meant.msg_key) and meant.msg_key != here.msg_key,
        longest_why=MOST_WHY,
        data=words.data(story, size(story.message.body.length), revealed),
        shown=of_message(story, *place) if revealed else of_masked(Same(story), *place),
        by_hand=by_hand,
        placed=_placed_by(
            name, placed_since(folder, [here], at=_line(folder).at).get(here, "") if by_hand and folder else ""
        ),
        refusal=why_masked(who, name),
        may_move=may_move,
        choose=choice_of_one(who, story) if not by_hand else None,
        questions=open_questions(who.estate, RECOVER, name, [here.queue]) if may_move else (),
        four_eyes=asks_for_four_eyes(who.estate, RECOVER),
    )


def _placed_by(queue_manager: str, run: str) -> Text:
    """The sentence that a later run has taken the message. Parameters: `run` that has, "" for none."""
    return said("It was taken from the queue since, by {}.", OfRun(queue_manager, run)) if run else NOTHING


@shared
def _line(run: RunFolder) -> RunLine:
    return run_line(run)


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
