"""What `mqops dlq run` says on standard error as runmqdlq does: its message numbers, the texts in our own words.

One table, `TEXTS`: number → text. The line has the date and time before it, as in the log of runmqdlq.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mqops.cli.outcome import show_line
from mqops.command import command
from mqops.counted import counted
from mqops.errors import MQError
from mqops.ledger.queue import NAME as LEDGER
from mqops.model import Destination
from mqwire.names import reason_name

if TYPE_CHECKING:
    from mqops.deciders.pass_outcome import Failure

TEXTS: Mapping[int, str] = {
    8708: "the dead-letter queue handler has started to process INPUTQ({queue}) of {queue_manager} ({until})",
    8709: "the dead-letter queue handler ends: {why}",
    8721: "message {msg_id} on {queue} has no valid MQDLH{why}: no rule applies. `{look}` shows it",
    8722: "{messages} could not be put on {destination} by {rule}: {reason}; {remedy}",
    8741: "the queue manager {name} cannot be connected to: {reason}",
    8742: "the queue manager {name} cannot be opened: {reason}",
    8743: "the queue manager {name} cannot be inquired: {reason}",
    8745: "the dead-letter queue {name} cannot be opened: {reason}",
    8746: "the dead-letter queue cannot be closed: {reason}",
    8748: "no message can be got from the dead-letter queue {name}: {reason}",
    8749: "the unit of work cannot be committed or backed out: {reason}",
    8758: "{errors} in the rules table: correct the table and start again. Nothing was done",
}
"""Number → text. Those of errors in the table itself stand before the error (`Problem.number`)."""

OF_VERB: Mapping[str, int] = {
    "MQCONNX": 8741,
    "MQOPEN": 8745,
    "MQINQ": 8743,
    "MQCLOSE": 8746,
    "MQGET": 8748,
    "MQCMIT": 8749,
    "MQBACK": 8749,
}
"""The call that failed → number. An MQOPEN of the queue manager itself is 8742."""
MOST = 5
"""Messages in error that are named a time."""


def say(number: int, **values: object) -> None:
    """Print a message of the table on standard error."""
    at = datetime.now().astimezone().strftime("%m/%d/%y  %H:%M:%S")
    show_line(f"{at}  AMQ{number}: {TEXTS[number].format(**values)}", err=True)


def say_error(error: MQError, queue_manager: str) -> None:
    """Print the AMQ line of a failed call to standard error.

    Nothing is printed for calls that runmqdlq has no number for, or about the ledger queue, which runmqdlq does not
    have.

    Parameters: `queue_manager` the name of the connected queue manager.
    """
    number = OF_VERB.get(error.verb)
    if number is None or error.object_name == LEDGER:
        return
    if number == OF_VERB["MQOPEN"] and error.object_name == queue_manager:
        number = 8742
    say(number, name=error.object_name or "(the default one)", reason=f"{error.symbol} ({error.reason})")


def say_in_error(queue: str, msg_ids: Sequence[str], why: Mapping[str, str], *, queue_manager: str) -> None:
    """Say which messages have no valid MQDLH, a few by name, and how to move them.

    Parameters: `why` MsgId → what is wrong with its MQDLH, where that is known.
    """
    for msg_id in msg_ids[:MOST]:
        look = command("mqops", "message", "show", queue, msg_id, "-m", queue_manager)
        wrong = f" ({why[msg_id]})" if why.get(msg_id) else ""
        say(8721, queue=queue, msg_id=msg_id, why=wrong, look=look)
    if len(msg_ids) > MOST:
        more = len(msg_ids) - MOST
        look = command("mqops", "dlq", "anatomy", queue)
        show_line(f"    and {counted(more, 'more message')} without a valid MQDLH: see `{look}`", err=True)
    if msg_ids:
        move = command("mqops", "message", "move", queue, "-m", queue_manager, "--reason", "0", "--to", "QUEUE")
        show_line(f"    `{move}` moves the messages without a valid MQDLH to a queue of their own", err=True)


def say_failures(failures: Mapping[Failure, int], remedy: Callable[[Failure], str]) -> None:
    """Say which tries failed: a line for each rule, destination and reason, and what is to come by `remedy`."""
    for failure, count in sorted(failures.items(), key=lambda item: (item[0].line or 0, *item[0][1:])):
        line, queue, queue_manager, reason = failure
        why, name = f"{reason_name(reason)} ({reason})", str(Destination(queue, queue_manager))
        rule = f"the rule at line {line}" if line else "the gate"  # which alone acts without a rule here
        say(8722, messages=counted(count, "message"), destination=name, rule=rule, reason=why, remedy=remedy(failure))
