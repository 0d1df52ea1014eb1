"""What is said of the triggering of queues. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqops.look.words.text import Code, Label, Lines, Link, Table

if TYPE_CHECKING:
    from mqops.trigger.audit import Audit
    from mqops.trigger.core import Explanation

KINDS = {"holds": "good", "fails": "bad"}
"""State of a condition → the colour of its word; any other state is a warning."""


def silent(problem: str, age: str, *, shown: bool) -> str:
    """That a queue manager does not answer, "" where it does. Parameters: `problem` why, "" for none; `age` of what is
    `shown` in its place."""
    if not problem:
        return ""
    verb = "has not answered yet" if problem.startswith("it was asked ") else "does not answer"
    return f"The queue manager {verb}: {problem}{f' What it said {age} ago is shown.' if shown else ''}"


def conditions(chosen: Explanation) -> Table:
    """The conditions for a trigger message of a queue."""
    rows = []
    for one in chosen.conditions:
        lines = [line for change in one.changes for line in (Code(change.mqsc), change.warning) if line]
        rows.append((one.id, Label(one.state, KINDS.get(one.state, "warn")), one.found, Lines(lines)))
    return Table("Conditions for a trigger message", ["*Condition", "State", "Found|text", "MQSC that mends it"], rows)


def queues(audit: Audit, queue_manager: str) -> Table:
    """All queues with triggering."""
    rows = []
    for one in audit.queues:
        link = Link(one.queue, "triggers", {"queue_manager": queue_manager, "queue": one.queue}, kind="name")
        rows.append((link, Label("broken", "bad") if one.broken else Label("in order", "good"), one.verdict))
    return Table("All queues with triggering", ["*Queue", "State", "Verdict|text"], rows)


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
