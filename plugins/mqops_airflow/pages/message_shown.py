"""What the page of one message shows of it beside its data: made once a second for all readers while it is masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from mqops.actions import DISCARDS, Action
from mqops.ledger.core.history import Event
from mqops.ledger.core.marker import MarkerKind
from mqops.look.core.taken_apart import ORIGIN
from mqops.look.message import MessageStory
from mqops.look.reveal import DOWNLOAD
from mqops.look.words import message as words
from mqops.look.words.text import Table, Text
from mqops_airflow.pages.put_times import put_moment
from mqops_airflow.pages.render import made
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.shown import below


class OfMessage(NamedTuple):
    """A message in words. Parameters: `unjudged` why no rules table judges it, "" where a table does; `headers` the
    tables of its headers; the others as of `mqops.look.words.message`."""

    origin: Text
    done: Text
    rules: Table
    unjudged: str
    quarantine: Text
    seen: tuple[Text, ...]
    events: Table
    headers: Markup


def of_message(story: MessageStory, root: str, folder: Path) -> OfMessage:
    """A message in words. Parameters: `root` as of `mqops_airflow.pages.render.root_of`; `folder` of the estate."""
    return OfMessage(
        origin=words.origin(story, ORIGIN[str(story.message.origin["by"])] if story.message.origin else "", put_moment),
        done=words.done(story.past.done, outcome(story.past.done) if story.past.done else ""),
        rules=words.rules(story.rules, below(story.rules_source, folder)),
        unjudged=_unjudged(story),
        quarantine=words.quarantine(story),
        seen=tuple(words.seen(story)),
        events=words.events(story, outcome),
        headers=made(
            root,
            "message_headers",
            msg=story.message,
            fields=words.fields,
            folder_table=words.folder,
            broken_folder=words.broken_folder,
        ),
    )


@shared
def of_masked(story: Same[MessageStory], root: str, folder: Path) -> OfMessage:
    """As `of_message`, for a message without its payload."""
    return of_message(story.value, root, folder)


def outcome(event: Event) -> str:
    """What a line of the ledger says of the message, for people."""
    if event.outcome == MarkerKind.REVEALED:
        done = "downloaded" if event.action == DOWNLOAD else "shown"
        return f"its data was {done}: {event.comment}" if event.comment else f"its data was {done}"
    if event.outcome != MarkerKind.ACTED:
        return event.outcome
    return "discarded" if event.action in DISCARDS else _NO_MOVE.get(event.action, "moved")


_NO_MOVE: Mapping[str, str] = {Action.COPY: "copied", Action.LOAD: "put from a file"}


def _unjudged(story: MessageStory) -> str:
    """Why no rules table judges a message, "" where a table does."""
    if story.rules:
        return ""
    if any(one.name == "MQDLH" for one in story.message.headers):
        name = story.found.queue_manager
        return f"No rules table judges this message: the estate names none for the dead-letter queue of {name}."
    what = "its MQDLH is not valid" if story.found.format == "MQDEAD" else "it has no MQDLH"
    return f"No rules table judges this message: {what}."
