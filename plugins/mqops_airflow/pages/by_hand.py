"""Messages for which a person must name the queue that they belong on: what the forms of mq_recover have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from mqops.actions import Action
from mqops.backout.core.origin import Setting
from mqops.counted import counted
from mqops.decide.backout_setting import read_setting
from mqops.lake.run import RunFolder
from mqops.look.put_by import PutBy, put_by
from mqops.look.run_story import RunStory
from mqops.look.unmoved import BY_HAND, MOST_BY_HAND, UnmovedMessage
from mqops.look.words.text import Link, Name, Table, Text, Tick, Time, joined, said
from mqops_airflow.pages.which_run import Fields


class ByHand(NamedTuple):
    """Messages of one queue for which a person must name the destination, all for the same reason.

    Parameters: `why` in words that follow the number of messages; `could` queues that the messages can have come from;
    `msg_ids` in hex; `put_by` MsgId → who put the message, where a person has to choose.
    """

    queue: str
    why: str
    could: tuple[str, ...]
    msg_ids: tuple[str, ...]
    put_by: Mapping[str, PutBy] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The name of the group in the ids of HTML elements."""
        return f"{self.queue}-{'origin' if self.why == AMBIGUOUS else 'header'}"

    @property
    def hint(self) -> Text:
        """What the messages are, and where they can have come from."""
        what = said("{} {}, on {:name}", counted(len(self.msg_ids), "message"), self.why, self.queue)
        origins = joined(", ", map(Name, self.could))
        return what + said(". Possible origins: {}", origins) if self.could else what

    def fixed(self, queue_manager: str) -> Fields:
        """The fields of mq_recover that the form does not show. A group of one message names that message."""
        alone = {"message_ids": list(self.msg_ids)} if len(self.msg_ids) == 1 else {}
        return {"queue_manager": queue_manager, "action": "move", "queue": self.queue, **alone}

    def table(self, queue_manager: str, run: str) -> Table:
        """The messages, each with a box that chooses it."""
        rows = []
        for one in self.msg_ids:
            tick, by = Text((Tick(f"Move {one}", one, self.queue),)), self.put_by[one]
            rows.append((tick, Text((Time(by.at),)), by.application, by.bytes, self.link(queue_manager, run, one)))
        return Table("Messages to choose from", ["Move", "Put", "By|name", "Bytes|number", "MsgId"], rows)

    def link(self, queue_manager: str, run: str, msg_id: str) -> Link:
        """The page of one of the messages."""
        query = {"queue_manager": queue_manager, "run": run, "queue": self.queue, "msg_id": msg_id}
        return Link(f"{msg_id[:8]}…{msg_id[-12:]}", "messages/one", query, title=msg_id, kind="mono")


def for_others(group: ByHand) -> str:
    """The text for a person who may not start mq_recover."""
    number = counted(len(group.msg_ids), "message")
    form = "A person who may start mq_recover in Airflow finds a form here that moves them."
    return f"{number} {group.why} on {group.queue}. {form}"


IN_STORAGE = "in storage, where messages lie until a person looks"
AMBIGUOUS, NO_MQDLH = "of ambiguous origin", "without an MQDLH that can be read: no rule can move them"


def more_by_hand(story: RunStory) -> dict[str, int]:
    """Action → how many messages of the plan a person must place; empty where the story of the run has all."""
    planned = {str(action): number for action, number in story.actions.items() if action in BY_HAND}
    return planned if len(story.by_hand) == MOST_BY_HAND < sum(planned.values()) else {}


def by_hand(run: RunFolder, story: RunStory, messages: Iterable[UnmovedMessage]) -> list[ByHand]:
    """The messages that a person must place, in groups by queue and action. Messages of one backout queue with
    ambiguous origin have the same possible origins. Raises `LakeError`."""
    found: dict[tuple[str, str], list[UnmovedMessage]] = {}
    for one in messages:
        found.setdefault((one.queue, one.action), []).append(one)
    rows = tuple(one.row for group in found.values() for one in group)
    known = put_by(run, story.plan.digest, rows) if story.plan and rows else {}
    where = read_setting(run)
    return [
        placed_by_hand(queue, action, [one.msg_id for one in group], where)._replace(
            put_by={one.msg_id: known[one.row] for one in group}
        )
        for (queue, action), group in found.items()
    ]


def placed_by_hand(queue: str, action: str, msg_ids: Iterable[str], where: Setting | None) -> ByHand:
    """The group of some messages of a queue. Parameters: `action` one of `BY_HAND`; `where` the setting of a backout
    run, None for another run."""
    unclear = action == Action.AMBIGUOUS
    could = where.named_by.get(queue, ()) if where and unclear else ()
    return ByHand(queue, AMBIGUOUS if unclear else NO_MQDLH, could, tuple(msg_ids))
