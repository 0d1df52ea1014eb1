"""What can be chosen from the list of the page `messages` or is done with one message, and what the queue of the list
has now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mqops.command import command
from mqops.estate_sections import dag_prefix
from mqops.look.find import FoundPage
from mqops.look.message import MessageStory
from mqops.look.words import search as words
from mqops.look.words.text import NOTHING, Link, Text, said
from mqops.prove.core.whereabouts import SEEN
from mqops.workflow import Workflow
from mqops_airflow.pages.asked import chooses_in_airflow
from mqops_airflow.pages.chosen import Every, Form
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.run_forms import RECOVER
from mqops_airflow.pages.security import Reader

NAME_IT = "All messages of a search can be chosen at once where it is about one queue: name it above."
NO_FIELD = "All messages of this search cannot be chosen at once: mq_recover has no field for what it looks for."


def choice(
    who: Reader, asked: Mapping[str, str], name: str, queue: str, found: FoundPage | None, *, fitting: int | None
) -> Form | None:
    """The form below the list; None where no message is listed.

    Parameters: `asked` the search, field → text; `name` of the queue manager; `queue` of the list, "" for several;
    `fitting` messages of the search in all, None where nobody counted.
    """
    if found is None or not found.messages:
        return None
    fields = chooses_in_airflow(asked)
    every = _all_of(queue, fields, fitting) if queue and fields is not None else ()
    hint = NAME_IT if not queue else NO_FIELD if fields is None else ""
    with_mqdlh = any(one.reason != "" for one in found.messages)
    return Form("messages", name, every, may=who.may_start(RECOVER), hint=hint, with_mqdlh=with_mqdlh)


def choice_of_one(who: Reader, story: MessageStory) -> Form | None:
    """The form that lists of messages have, for this one; None for a person who may not start mq_recover, and where the
    message is on its queue no longer, by what the lake knows."""
    found = story.found
    there = not story.run or (not story.past.done and any(one.became == SEEN for one in story.past.seen))
    if not there or not who.may_start(RECOVER):
        return None
    with_mqdlh = any(one.name == "MQDLH" for one in story.message.headers)
    alone = {"queue": found.queue, "message_ids": [found.msg_id]}
    return Form("one", found.queue_manager, (), may=True, with_mqdlh=with_mqdlh, alone=alone)


def _all_of(queue: str, fields: Mapping[str, object], fitting: int | None) -> tuple[Every, ...]:
    """The choice of all messages of a list. The dry run reads the queue anew: the list has those of the snapshot."""
    listed = f" ({fitting:,} in the list, by its snapshot)" if fitting is not None else ""
    said = f"all messages of {queue}{'' if 'all_messages' in fields else ' that fit'}{listed}"
    return (Every(said, {"queue": queue, **fields}),)


def there_now(who: Reader, name: str, queue: str, *, only_there: bool, listed: int | None, copies: int) -> Text:
    """How many messages the queue of a list has now; nothing where nobody knows. Parameters: as of `choice`;
    `only_there` whether the list is without messages that runs have taken since; `listed` and `copies` as of
    `mqops.look.words.search.there_now`."""
    if not queue:
        return NOTHING
    figures = figures_now(who.estate, [name])[name]
    depth = None if figures.unreachable else figures.depth_of(queue)
    return (
        words.there_now(queue, depth, only_there=only_there, listed=listed, copies=copies)
        if depth is not None
        else NOTHING
    )


class NewLook(NamedTuple):
    """A form that takes a new snapshot of a queue, and shows its list when the run has ended. Parameters: `dag_id` of
    the run; `fixed` its fields; `then` the address of the list."""

    dag_id: str
    fixed: Mapping[str, object]
    then: Link


def new_look(who: Reader, name: str, queue: str) -> NewLook | Text:
    """The form for a queue; the command where the estate has no workflow that takes snapshots, or the person may not
    start it; nothing without a queue."""
    if not queue:
        return NOTHING
    section = who.estate.estate.queue_managers[name]
    for workflow, has in ((Workflow.SNAPSHOT, section.snapshot), (Workflow.SNAPSHOT_QUALITY, section.snapshot_quality)):
        dag_id = f"{dag_prefix(name)}_{workflow}"
        if has and who.may_start(dag_id):
            then = Link("", "messages", {"queue_manager": name, "queue": queue})
            return NewLook(dag_id, {"queues": [queue]}, then)
    return said("A new look: {:code}", command("mqops", "snapshot", queue, "-m", name))
