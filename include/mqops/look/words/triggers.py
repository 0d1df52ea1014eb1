"""What is said of the triggering of queues. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqops.look.words.text import Code, Label, Lines, Link, Quiet, Table, said

if TYPE_CHECKING:
    from mqops.trigger.audit import Audit
    from mqops.trigger.core import Explanation

NAMES = {
    "T01": "A message can arrive",
    "T02": "Its priority counts",
    "T03": "Number of messages",
    "T04": "No program reads the queue",
    "T04a": "Not read elsewhere in the group",
    "T04b": "Not held elsewhere in the group",
    "T05": "Messages can be got",
    "T06": "Process",
    "T07": "Initiation queue",
    "T08": "Trigger monitor",
    "T09": "Trigger control",
    "T10": "Trigger type",
    "T10a": "Unit of work",
    "T11": "Trigger interval",
    "T12": "The program closes the queue",
    "T13": "A setting is changed",
    "T14": "Delivery sequence",
}
"""Number of a condition in IBM's order → its name."""
KINDS = {"holds": "good", "fails": "bad"}
"""State of a condition → the colour of its word; any other state is a warning."""


def silent(problem: str, age: str, *, shown: bool, awaited: bool) -> str:
    """That a queue manager does not answer, "" where it does. Parameters: `problem` why, "" for none; `age` of what is
    `shown` in its place; `awaited` whether it has been asked and may answer yet."""
    if not problem:
        return ""
    verb = "has not answered yet" if awaited else "does not answer"
    return f"The queue manager {verb}: {problem}{f' What it said {age} ago is shown.' if shown else ''}"


def conditions(chosen: Explanation) -> Table:
    """The conditions for a trigger message of a queue."""
    rows = []
    for one in chosen.conditions:
        lines = [line for change in one.changes for line in (Code(change.mqsc), change.warning) if line]
        name = said("{} {}", NAMES.get(one.id, ""), Quiet(one.id))
        rows.append((name, Label(one.state, KINDS.get(one.state, "warn")), one.found, Lines(lines)))
    return Table("Conditions for a trigger message", ["*Condition", "!State", "Found|text", "MQSC that mends it"], rows)


def queues(audit: Audit, queue_manager: str) -> Table:
    """All queues with triggering."""
    rows = []
    for one in audit.queues:
        link = Link(one.queue, "triggers", {"queue_manager": queue_manager, "queue": one.queue}, kind="name")
        rows.append((link, Label("broken", "bad") if one.broken else Label("in order", "good"), one.verdict))
    return Table("All queues with triggering", ["*Queue", "!State", "Verdict|text"], rows)


def warnings(audit: Audit) -> Iterator[str]:
    """The initiation queues without a trigger monitor, and the processes that no queue names."""
    for name in audit.unserved:
        yield (
            f"No trigger monitor has the initiation queue {name} open for input: its trigger messages wait there. "
            "Start the monitor, or unpause the DAG that monitors triggers."
        )
    for name in audit.unused:
        yield f"No queue names the process {name}. Name it in PROCESS of a queue, or delete it."
    for name in audit.dags:
        yield (
            f"The estate allows the DAG {name}, and no process names it as APPLICID. Define one, or take the DAG out "
            "of the estate."
        )
