"""What the estate asks of the command line: where it wants four eyes, nobody carries out what he asked for himself.

This keeps people from slips. Whoever may write to the lake and open the queues is bound by their rights only.
"""

from __future__ import annotations

import os
from pathlib import Path

from mqops.errors import MqopsError

REHEARSED = ("dlq_rules", "age_out")
"""What --dry-run plans for `mqops dlq act`."""


class NotApproved(MqopsError):
    """The estate asks for another person's approval; let somebody else carry out the plan."""


def refuse_own(queue_manager: str, requester: str, approver: str, *, workflow: str = "dlq_rules") -> None:
    """Refuse what nobody else has approved, where the estate has the queue manager and asks for four eyes.

    Parameters: `requester` who asked for the plan, and `approver` who is about to carry it out, user@host each, of
    which only the user counts: one person has several machines; `workflow` dlq_rules, backout_reprocess, age_out (which
    is no DAG), or undo: for that it is enough that any queue manager asks, as for the DAG mq_undo.

    Raises:
        NotApproved: they are the same; the message says how it is done.
        SettingsError: the estate file is not valid.
    """
    from mqops.cli.estate import DEFAULT  # noqa: PLC0415
    from mqops.estate import dag_prefix, four_eyes, load  # noqa: PLC0415

    given = os.environ.get("MQOPS_ESTATE")
    path = Path(given or DEFAULT)
    if _user(requester) != _user(approver) or not (given or path.exists()):
        return
    managers = load(path).estate.queue_managers
    if queue_manager in managers and four_eyes(managers.values() if workflow == "undo" else [managers[queue_manager]]):
        dag = f"{'mq' if workflow == 'undo' else dag_prefix(queue_manager)}_{workflow}"
        ways = [] if workflow == "age_out" else [f"Run the DAG {dag} in Airflow, where another person approves"]
        if workflow in REHEARSED:
            ways.append("Rehearse it with --dry-run, and let somebody else run the command that this names")
        raise NotApproved(
            f"{path} asks for four eyes, and {approver} is the one who asked: nothing was moved. {'. Or: '.join(ways)}"
        )


def _user(who: str) -> str:
    """The user of user@host; a user's name may have an @ of its own."""
    return who.rpartition("@")[0] or who
