"""The forms of manual runs: one function a field, so that the same field looks the same in every workflow.

Airflow shows the fields in their order, first those without a section. So a form begins with the dry run, then comes
what is worked on and where to, and the rest has the section CARRIED_OUT. A field that may be empty has the type null
among its types: Airflow marks every other one as required, and the form sends null for a list without a line. No field
depends on the runs that there are: what a form has is in the serialized DAG, and another form is another DAG version.

Airflow's form changes a number beyond `minimum` or `maximum` to the nearest one that is allowed, without a word. So the
bounds stand in `allOf`, which the form does not read: Airflow's API then refuses such a number, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow.sdk import Param

from mqops.estate_workflows import PacingSection
from mqops_airflow.forms.field import field
from mqops_airflow.forms.formats import (
    FAILED,
    FILTER,
    INSIDE_FILE,
    MESSAGE_ID,
    MQ_NAME,
    ONE_LINE,
    QUEUE_PATTERN,
    RUN_KEY,
    register,
)

register()

A_DAY = 24 * 60 * 60
"""Seconds. A longer wait in a form counts as a typing error: the task would hold its slot all that time."""
MOST = 999_999_999
"""Messages: no queue holds more (IBM MQ, "MaxQDepth")."""
MOST_OFFERED = 50
"""Files that a form offers."""
CARRIED_OUT = "How the plan is carried out"
"""The section of what need not be looked at for most runs."""


def queue_manager(names: Iterable[str]) -> Param:
    """One of the estate's queue managers. Where there are several, a person has to choose: none is filled in."""
    listed = sorted(names)
    return field(
        listed[0] if len(listed) == 1 else None,
        title="Queue manager",
        type="string",
        enum=listed,
        description="Required: there is no default where the estate has several.",
    )


def within(least: int, most: int) -> list[dict[str, int]]:
    """The bounds of a number, as `allOf` of its field."""
    return [{"minimum": least, "maximum": most}]


def _or_nothing(title: str, form: str, description: str, default: str | None = None) -> Param:
    """A text that may be empty. Parameters: `form` its format."""
    return field(default, title=title, type=["null", "string"], format=form, description=description)


def _names(title: str, form: str, description: str, default: Iterable[str] = ()) -> Param:
    """Texts, one a line; none is possible. Parameters: `form` the format of each."""
    items = {"type": "string", "format": form}
    return field(list(default), title=title, type=["null", "array"], items=items, description=description)


def _text(title: str, form: str, description: str, default: str | None = None) -> Param:
    """A text that may not be empty. Parameters: `form` its format; `default` None: the person has to write one."""
    return field(default, title=title, type="string", format=form, description=description)


def run() -> Param:
    """The run to undo; there is no default."""
    return _text(
        *("Run", RUN_KEY),
        "Required: the run to undo, by the run id that Airflow shows or by its name in the lake. The page of a run has "
        "a button for this, and the page Estate lists the runs.",
    )


def dry_run(*, scheduled: bool = True) -> Param:
    """Plan only; True unless the person says otherwise. `scheduled` whether the workflow has a schedule."""
    also = " Scheduled runs ignore this and act under the approval policy." if scheduled else ""
    return field(True, title="Dry run", type="boolean", description=f"Plan only: nothing is moved.{also}")


def queue(default: str | None, *, what: str) -> Param:
    """A queue's name; empty means `what`."""
    return _or_nothing("Queue", MQ_NAME, f"Empty: {what}.", default)


def triggered_queue() -> Param:
    """The queue that is explained; there is no default."""
    described = "Required: a local queue, or an alias of one. For a remote queue name its transmission queue."
    return _text("Queue", MQ_NAME, described)


def queues(default: Iterable[str]) -> Param:
    """Queues, by name or by the beginning of it."""
    return field(
        list(default),
        title="Queues",
        type="array",
        minItems=1,
        items={"type": "string", "format": QUEUE_PATTERN},
        description="Names, or beginnings of names and *, one per line. SYSTEM.* and MQOPS.* only if named so.",
    )


def backout_queues(default: Iterable[str] | None) -> Param:
    """Backout queues; empty means those that are found."""
    described = "Names, one per line. Empty: every queue that another queue names as its BOQNAME."
    return _names("Backout queues", MQ_NAME, described, default or ())


def input_queues(default: Iterable[str] | None) -> Param:
    """Queues that programs read; empty means all of them."""
    return field(
        list(default or ()),
        title="Queues",
        type=["null", "array"],
        items={"type": "string", "format": MQ_NAME},
        description="Queues with messages that loop, one per line. Empty: every queue with BOTHRESH that is no backout "
        "queue.",
    )


def replay_cap(default: int) -> Param:
    """How often a message is put back."""
    return field(
        default,
        title="Replay cap",
        type="integer",
        allOf=within(1, max(default, MOST)),
        description="A message that was put back this number of times goes to the quarantine queue of the estate. "
        "At least 1.",
    )


def generic_name() -> Param:
    """NAME of REFRESH QMGR TYPE(EXPIRY)."""
    described = "The name of a queue, or the beginning of a name and *. Only *: every queue."
    return _text("Queues", QUEUE_PATTERN, described, "*")


def all_filled() -> Param:
    """Whether queues are scanned that should have no expired message."""
    return field(
        False,
        title="All queues with messages",
        type="boolean",
        description="Also scan queues that have no expired message according to earlier scans.",
    )


def first_tell(*, leaves: str = "that queue") -> Param:
    """Whether queues are left on which a look would let something at stake be discarded. Parameters: `leaves` what."""
    return field(
        False,
        title="First tell",
        type="boolean",
        description="Only tell what the queue manager must discard on a queue that is looked at, where expiration "
        "reports, persistent messages or messages that wait for a person are among it, "
        f"and leave {leaves}. A run without this looks at it.",
    )


def _offered(default: Iterable[str], choices: Iterable[str]) -> list[str]:
    """What a form offers of the files that it may name: its own first, and no more than a person looks through. A file
    that is not offered may be written. Airflow copies a form for each task of its DAG, so that a list with the files of
    all queue managers would cost their number squared."""
    return list(dict.fromkeys((*default, *choices)))[:MOST_OFFERED]


def suites(default: Iterable[str], choices: Sequence[str]) -> Param:
    """Suites of expectations, relative to the estate file; `choices` those that a form may name."""
    return field(
        list(default),
        title="Suites",
        type="array",
        minItems=1,
        items={"type": "string", "format": INSIDE_FILE},
        examples=_offered(default, choices),
        description="Suites that the estate lists, or files in expectations/ beside estate.yaml.",
    )


def rules_file(default: str, choices: Sequence[str]) -> Param:
    """A rules table, relative to the estate file; `choices` those that a form may name."""
    return field(
        default,
        title="Rules file",
        type="string",
        format=INSIDE_FILE,
        examples=_offered([default], choices),
        description="A table that the estate lists, or a file in rules/ beside estate.yaml.",
    )


def limit(default: int | None = None) -> Param:
    """At most so many messages."""
    return field(
        default,
        title="Limit",
        type=["null", "integer"],
        allOf=within(1, max(default or 1, MOST)),
        description="The largest number of messages of a queue, from its head. At least 1. Empty: all.",
    )


def message_ids() -> Param:
    """Only these messages."""
    described = "Only these messages: MsgIds of 48 hexadecimal digits, one per line. Empty: all."
    return _names("Message ids", MESSAGE_ID, described)


def unit_of_work(default: int, maximum: int) -> Param:
    """Messages moved per unit of work."""
    return field(
        default,
        title="Unit of work",
        type="integer",
        allOf=within(1, maximum),
        section=CARRIED_OUT,
        description=f"Messages in one unit of work, 1 to {maximum}. A smaller number keeps fewer messages locked.",
    )


def pacing(default: PacingSection) -> dict[str, Param]:
    """How the plan is carried out; a rule may ask for more (`mqops.decide.core.pacing`)."""
    return {
        "canary": _count(
            default.canary,
            "Canary size",
            "Messages of each destination and rule that go first. If one comes back, the rest is left. 0: none.",
        ),
        "canary_wait": _count(
            int(default.canary_wait.total_seconds()),
            "Canary wait",
            "Seconds to wait for canaries that come back.",
            A_DAY,
        ),
        "pace": _count(default.pace, "Rate", "The largest number of messages a second, over all tasks. 0: no limit."),
        "in_flight": _count(
            default.in_flight,
            "In flight",
            "Put nothing on a destination while its depth is this number of messages or more. 0: no limit.",
        ),
        "patience": _count(
            int(default.patience.total_seconds()),
            "Patience",
            "Seconds to wait for room on a destination. Then its other messages are left.",
            A_DAY,
        ),
    }


def _count(default: int, title: str, description: str, maximum: int = MOST) -> Param:
    """A number from 0 to `maximum`, or to the estate's own default where that is higher."""
    bounds = within(0, max(default, maximum))
    return field(default, title=title, type="integer", section=CARRIED_OUT, description=description, allOf=bounds)


def stopped_run() -> Param:
    """The run that is stopped; empty means all of a queue manager."""
    return _or_nothing(
        *("Run", RUN_KEY),
        "Empty: every run of the queue manager, and none begins. Else one run, by the run id that Airflow shows or by "
        "its name in the lake.",
    )


def switch() -> Param:
    """Stop or go on."""
    return field(
        "stop",
        title="Do",
        type="string",
        enum=["stop", "resume"],
        description="stop holds it at once; resume takes the stop back, and nothing acts by that alone.",
    )


def why() -> Param:
    """The reason, for people who find the run stopped. A stop does not wait for words: it may be empty."""
    return field(
        None,
        title="Why",
        type=["null", "string"],
        maxLength=200,
        format=ONE_LINE,
        description="For those who find it stopped, in one line. May be empty: a stop does not wait for words.",
    )


def recovery() -> dict[str, Param]:
    """What is done with which messages (`mqops.deciders.recover`)."""
    return {
        "action": field(
            "replay",
            title="Action",
            type="string",
            enum=["replay", "move", "copy", "park", "discard", "restore"],
            description="replay: where the MQDLH of each message says. move, copy: to Destination. park: to "
            "Destination, or MQOPS.QUARANTINE. discard: an undo can put it back. restore: undoes Run; all other "
            "fields but Queue manager, Dry run and Unit of work are ignored.",
        ),
        "queue": _or_nothing("Queue", MQ_NAME, "Has the messages. Empty for restore only."),
        "first_tell": first_tell(leaves="all queues of the run"),
        "message_ids": message_ids(),
        "where": _or_nothing(
            *("Filter", FILTER),
            "Patterns as in a rules table, all of which must match: DESTQ(APP.*) REASON(MQRC_Q_FULL) APPLNAME(x*) "
            "USERID(alice) AGE(>15m) SIZE(>64K). `mqops message move` also looks into bodies and properties: what is "
            "looked for there must not stand in Airflow.",
        ),
        "failed": _or_nothing(
            *("Failed check", FAILED),
            "SUITE or SUITE:CHECK: the messages that failed it when the suite was checked last.",
        ),
        "since": _or_nothing("Put since", "date-time", "Put date and time of the message, UTC."),
        "until": _or_nothing("Put before", "date-time", "Put date and time of the message, UTC."),
        "all_messages": field(
            False, title="All messages", type="boolean", description="Needed where no other field chooses messages."
        ),
        "destination": _or_nothing("Destination", MQ_NAME, "The queue to put on: for move, copy and park."),
        "destination_queue_manager": _or_nothing(
            "Destination queue manager", MQ_NAME, "Empty: the queue manager that has the messages."
        ),
        "header": field(
            "keep",
            title="Header",
            type="string",
            enum=["keep", "strip"],
            description="For move, copy and park: whether an MQDLH goes along.",
        ),
        "run": _or_nothing(
            *("Run", RUN_KEY),
            "For restore only: the run that is undone, by the run id that Airflow shows or by its name in the lake.",
        ),
    }
