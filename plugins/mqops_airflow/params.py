"""The forms of manual runs: one function a field, so that the same field looks the same in every workflow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow.sdk import Param

from mqops.estate import Handling

MQ_NAME = r"^[A-Za-z0-9._/%]{1,48}$"
QUEUE_PATTERN = r"^([A-Za-z0-9._/%]{1,48}|[A-Za-z0-9._/%]{0,47}\*)$"
RUN_KEY = r"^[A-Za-z0-9_+=@-][A-Za-z0-9._+=:@-]{0,199}$"
ONE_LINE = r"^(?![\s\S]*[\x00-\x1f\x7f-\x9f])"  # no `$`: it would take a text with a line end behind it
INSIDE_FILE = r"^(?!/)(?!.*\.\.)[^\x00-\x1f]+$"


def queue_manager(names: Iterable[str]) -> Param:
    """One of the estate's queue managers."""
    listed = sorted(names)
    return Param(listed[0], title="Queue manager", type="string", enum=listed)


def run() -> Param:
    """The key of a run in the lake; there is no default."""
    return Param(
        None,
        title="Run",
        type="string",
        pattern=RUN_KEY,
        description="The run to undo: its name in the lake, in the approval, in the ledger and in the XCom of prove.",
    )


def dry_run() -> Param:
    """Plan only; True unless the person says otherwise."""
    return Param(
        True,
        title="Dry run",
        type="boolean",
        description="Plan only: nothing is moved. Scheduled runs ignore this and act under the approval policy.",
    )


def queue(default: str | None, *, what: str) -> Param:
    """A queue's name; empty means `what`."""
    return Param(
        default,
        title="Queue",
        type=["null", "string"],
        pattern=MQ_NAME,
        description=f"Empty: {what}.",
    )


def queues(default: Iterable[str]) -> Param:
    """Queues, by name or by the beginning of it."""
    return Param(
        list(default),
        title="Queues",
        type="array",
        minItems=1,
        items={"type": "string", "pattern": QUEUE_PATTERN},
        description="Names, or beginnings and *, one a line. SYSTEM. and MQOPS. queues are meant only if named so.",
    )


def backout_queues(default: Iterable[str] | None) -> Param:
    """Backout queues; empty means those that are found."""
    return Param(
        list(default or ()),
        title="Backout queues",
        type="array",
        items={"type": "string", "pattern": MQ_NAME},
        description="Names, one a line. Empty: every queue that another one names as its BOQNAME.",
    )


def replay_cap(default: int) -> Param:
    """How often a message is put back."""
    return Param(
        default,
        title="Replay cap",
        type="integer",
        minimum=1,
        description="A message that was put back so often goes to the quarantine queue of the estate.",
    )


def generic_name() -> Param:
    """NAME of REFRESH QMGR TYPE(EXPIRY)."""
    return Param(
        "*",
        title="Queues",
        type="string",
        pattern=QUEUE_PATTERN,
        description="A queue's name, or its beginning and *; * is every queue.",
    )


def all_filled() -> Param:
    """Scan whatever is known."""
    return Param(
        False,
        title="All queues with messages",
        type="boolean",
        description="Also those that, by what earlier scans taught, have nothing expired.",
    )


def suites(default: Iterable[str], choices: Sequence[str]) -> Param:
    """Suites of expectations, relative to the estate file; `choices` those that a form may name."""
    return Param(
        list(default),
        title="Suites",
        type="array",
        minItems=1,
        items={"type": "string", "pattern": INSIDE_FILE},
        examples=list(choices),
        description="Suites that the estate lists, or that stand in expectations/ beside estate.yaml.",
    )


def rules_file(default: str, choices: Sequence[str]) -> Param:
    """A rules table, relative to the estate file; `choices` those that a form may name."""
    return Param(
        default,
        title="Rules file",
        type="string",
        pattern=INSIDE_FILE,
        examples=list(choices),
        description="A table that the estate lists, or that stands in rules/ beside estate.yaml.",
    )


def limit(default: int | None = None) -> Param:
    """At most so many messages."""
    return Param(
        default,
        title="Limit",
        type=["null", "integer"],
        minimum=1,
        description="Look at no more than this many messages of a queue, from its head. Empty: all.",
    )


def message_ids() -> Param:
    """Only these messages."""
    return Param(
        [],
        title="Message ids",
        type="array",
        items={"type": "string", "pattern": "^[0-9A-Fa-f]{48}$"},
        description="Only these messages: MsgIds of 48 hexadecimal digits, one a line. Empty: all.",
    )


def unit_of_work(default: int, maximum: int) -> Param:
    """Messages moved per unit of work."""
    return Param(
        default,
        title="Unit of work",
        type="integer",
        minimum=1,
        maximum=maximum,
        description="Messages moved in one unit of work; a smaller one holds fewer messages locked.",
    )


def handling(default: Handling) -> dict[str, Param]:
    """How the plan is carried out; what a rule asks for comes besides (`mqops.decide.core.pacing`)."""
    return {
        "canary": _count(
            default.canary,
            "Canary size",
            "So many messages of each destination and rule go first; where one comes back the rest is left. 0: none.",
        ),
        "canary_wait": _count(
            int(default.canary_wait.total_seconds()),
            "Canary wait",
            "Seconds until it is decided whether canaries came back.",
        ),
        "pace": _count(default.pace, "Rate", "Most messages a second, over all tasks. 0: no limit."),
        "in_flight": _count(
            default.in_flight,
            "In flight",
            "Nothing is put on a destination on which so many messages stand. 0: no limit.",
        ),
        "patience": _count(
            int(default.patience.total_seconds()),
            "Patience",
            "Seconds to wait for a destination to have room; then the rest for it is left.",
        ),
    }


def _count(default: int, title: str, description: str) -> Param:
    return Param(default, title=title, type="integer", minimum=0, description=description)


def stopped_run() -> Param:
    """The run that is stopped; empty means all of a queue manager."""
    return Param(
        None,
        title="Run",
        type=["null", "string"],
        pattern=RUN_KEY,
        description="Its name in the lake. Empty: every run of the queue manager, and none begins.",
    )


def switch() -> Param:
    """Stop or go on."""
    return Param("stop", title="Do", type="string", enum=["stop", "resume"])


def why() -> Param:
    """For those who find it stopped."""
    return Param(
        "",
        title="Why",
        type="string",
        maxLength=200,
        pattern=ONE_LINE,
        description="For those who find it stopped, in one line.",
    )
