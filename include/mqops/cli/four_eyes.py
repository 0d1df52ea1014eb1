"""Four eyes on the command line: if the estate asks for them, a person does not carry out his own request.

This prevents mistakes, not attacks: a user who can write to the lake and open the queues is limited by his rights only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqops.errors import MqopsError

if TYPE_CHECKING:
    from mqops.deciders.decider import Decider
    from mqops.estate import EstateFile


class NotApproved(MqopsError):
    """The estate asks for another person's approval; let somebody else carry out the plan."""


def refuse_own(decider: Decider[Any], queue_manager: str, *, requester: str, approver: str) -> None:
    """Refuse what no other person has approved, if the estate has the queue manager and asks for four eyes.

    Parameters: `requester` who asked for the plan, and `approver` who is about to carry it out, user@host each, of
    which only the user counts: one person has several machines. If one DAG of the decider serves all queue managers
    (undo) it is enough that the estate asks for any of them, as it is for that DAG.

    Raises:
        NotApproved: they are the same; the message says how it is done.
        SettingsError: the estate file is not valid.
    """
    from mqops.estate_sections import dag_prefix  # noqa: PLC0415

    file = _asked_for_four_eyes(queue_manager, requester, approver, all_managers=decider.dag == "all")
    if file is not None:
        ways = []
        if decider.dag:
            dag = f"{'mq' if decider.dag == 'all' else dag_prefix(queue_manager)}_{decider.name}"
            ways.append(f"Run the DAG {dag} in Airflow, where another person approves")
        if decider.dry_run_is_approvable:
            ways.append("Plan it with --dry-run, and let another person run the command that the dry run shows")
        raise NotApproved(
            f"{file.path} asks for four eyes, and {approver} asked for this run: another person must "
            f"approve it. Nothing was moved. {'. Or: '.join(ways)}"
        )


def refuse_own_commands(queue_manager: str, *, requester: str, approver: str) -> None:
    """As `refuse_own`, for commands that change the definitions of a queue manager. Raises as `refuse_own`."""
    file = _asked_for_four_eyes(queue_manager, requester, approver)
    if file is not None:
        raise NotApproved(
            f"{file.path} asks for four eyes, and {approver} asked for these commands: another person must approve "
            "them. Nothing was changed. Ask for them with --dry-run, and let another person run the command that the "
            "dry run shows"
        )


def _asked_for_four_eyes(
    queue_manager: str, requester: str, approver: str, *, all_managers: bool = False
) -> EstateFile | None:
    """The estate file, if requester and approver are one person and the estate has the queue manager and asks for two.

    Parameters: `all_managers` whether it is enough that it asks so for any queue manager. Raises `SettingsError`.
    """
    from mqops.storage import estate_here  # noqa: PLC0415

    file = estate_here() if _user(requester) == _user(approver) else None
    if file is None or queue_manager not in file.named:
        return None
    return file if file.four_eyes("" if all_managers else queue_manager) else None


def _user(who: str) -> str:
    """The user of user@host; a user's name may have an @ of its own."""
    return who.rpartition("@")[0] or who
