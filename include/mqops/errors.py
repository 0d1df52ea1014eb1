"""What can go wrong, by what the caller should do about it.

Every error of the operations is an `MqopsError`. The class says what to do: repeat (`TransientMQError`), look first
(`OutcomeUnknown`), correct something and repeat (all others). One table, `CLASS_OF_REASON`, gives each MQRC its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqops.printable import visible
from mqwire import constants
from mqwire.names import reason_name


class MqopsError(Exception):
    """An error of mqops."""

    def __init__(self, *lines: str) -> None:
        """Parameters: `lines` of the text, none for the class's own. Names in them may come from a message: each is
        shown as one line, whatever it holds."""
        super().__init__(*[visible(line) for line in lines if line] or [self.default_message()])

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))

    @classmethod
    def default_message(cls) -> str:
        """The first paragraph of the docstring as one line."""
        return " ".join((cls.__doc__ or MqopsError.__doc__ or "").split("\n\n")[0].split())


class MQError(MqopsError):
    """A call to the queue manager failed.

    Attributes: `comp` completion code, `reason` reason code, `symbol` its MQRC name, `verb` the MQI call, `object_name`
    the queue or queue manager it was for. Use `mq_error` to get the class that fits the reason code.
    """

    def __init__(self, comp: int, reason: int, *, verb: str, object_name: str = "", advice: str = "") -> None:
        self.comp = comp
        self.reason = reason
        self.symbol = reason_name(reason)
        self.verb = verb
        self.object_name = object_name
        self.advice = advice or ADVICE.get(reason, "")
        place = f" on {object_name}" if object_name else ""
        text = f"{verb}{place} failed: {self.symbol} ({reason})"
        super().__init__(f"{text}. {self.advice}" if self.advice else text)

    def raise_if_lost(self) -> None:
        """Raise this error again if it ended the connection: whatever is asked next would fail, too."""
        if self.reason in LOST_CONNECTION:
            raise self

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), (self.comp, self.reason), (self.verb, self.object_name), self.advice)


class TransientMQError(MQError):
    """The queue manager, or the connection to it, is not available. Nothing was done; repeat the call later."""


class PermanentMQError(MQError):
    """The queue manager refused the call. It fails again until a definition, an authority or an option is changed."""


class OutcomeUnknown(MQError):
    """The connection broke during a commit. Look at the queue: the commit may have been made. Do not just repeat."""


class RulesError(MqopsError):
    """The rules table is not valid; correct the lines that are named and start again.

    Attributes: `problems` each with line, column and message, as far as they are known.
    """

    def __init__(self, *lines: str, problems: Sequence[Mapping[str, object]] = ()) -> None:
        super().__init__(*lines)
        self.problems = tuple(problems)


class SettingsError(MqopsError):
    """A setting, an argument or the installation is wrong. Correct it and start again."""


class GateStopped(MqopsError):
    """A check of the gate fails that stops the run. Nothing was moved; correct the messages or the check and repeat."""


class PlanChanged(MqopsError):
    """The plan is not the one that was approved. Approve the new one; in Airflow start a new run."""


class Unbalanced(MqopsError):
    """Plan, ledger and queue contradict each other. Find the cause before anything else is done."""


class LedgerBroken(MqopsError):
    """The ledger file was changed or damaged. Keep this file as evidence, and restore the ledger from a copy.

    Attributes: `line` number of the first line that is not what was written, 0 where the text names none.
    """

    def __init__(self, *lines: str, line: int = 0) -> None:
        super().__init__(*lines)
        self.line = line


class SparkUnreachable(MqopsError):
    """Spark's master or Connect server does not answer, or ended while a job ran.

    No message was lost: what was committed is in the ledger or on the ledger queue, and the same step goes on there.
    """


class LakeError(MqopsError):
    """The lake cannot be read or written. Repair the disk or the folder and repeat; no message was lost."""


class NewerFormat(LakeError):
    """A newer version of mqops wrote this, and this one does not understand it. Upgrade mqops; nothing was changed."""


class BodiesLocked(LakeError):
    """The bodies of a snapshot are encrypted, and this process does not have the key. Give it the key and repeat."""


class InProgress(MqopsError):
    """Another process is at work on the same run; wait for it to end and repeat."""


class NotLookedAt(MqopsError):
    """Queues were not looked at, because of what the queue manager must discard then; none of their messages was moved.
    To look all the same, agree, or start without First tell (`--first-tell`)."""


class Stopped(MqopsError):
    """The run was stopped. What was done is in the ledger, the rest is where it was. To go on: `mqops resume`."""


def _rebuild(kind: type[MQError], codes: tuple[int, int], names: tuple[str, str], advice: str) -> MQError:
    return kind(*codes, verb=names[0], object_name=names[1], advice=advice)


ADVICE: Mapping[int, str] = {
    constants.MQRC_Q_MGR_NAME_ERROR: "Check the queue manager's name in the connection",
    constants.MQRC_Q_MGR_NOT_AVAILABLE: "Start the queue manager, or correct host, port and channel of the connection",
    constants.MQRC_HOST_NOT_AVAILABLE: "Correct host and port of the connection, or start the listener",
    constants.MQRC_UNKNOWN_CHANNEL_NAME: "Check the channel's name in the connection",
    constants.MQRC_NOT_AUTHORIZED: "Check user and password of the connection and the authority records",
    constants.MQRC_UNKNOWN_OBJECT_NAME: "Define it, or correct the name",
    constants.MQRC_NO_MSG_AVAILABLE: "The command server has not answered in time: start it (`strmqcsv`; on z/OS START "
    "CMDSERV), or see whether commands wait for it: DISPLAY QSTATUS of SYSTEM.ADMIN.COMMAND.QUEUE",
    constants.MQRC_UNKNOWN_REMOTE_Q_MGR: "No transmission queue leads to its queue manager: define one of that name, "
    "or name one (XMITQ of the remote queue, DEFXMITQ of the queue manager)",
    constants.MQRC_OBJECT_IN_USE: "Another program has it open for itself alone: DISPLAY QSTATUS(queue) TYPE(HANDLE)",
    constants.MQRC_GET_INHIBITED: "Allow gets on the queue (GET(ENABLED))",
    constants.MQRC_DATA_LENGTH_ERROR: "Raise MAXMSGL of the server-connection channel to that of the queue",
    constants.MQRC_STORAGE_MEDIUM_FULL: "Make room on the queue manager's disk",
}

TRANSIENT: frozenset[int] = frozenset(
    {
        constants.MQRC_BACKED_OUT,
        constants.MQRC_CALL_IN_PROGRESS,
        constants.MQRC_CHANNEL_NOT_AVAILABLE,
        constants.MQRC_CONNECTION_BROKEN,
        constants.MQRC_CONNECTION_ERROR,
        constants.MQRC_CONNECTION_NOT_AVAILABLE,
        constants.MQRC_CONNECTION_QUIESCING,
        constants.MQRC_CONNECTION_STOPPED,
        constants.MQRC_CONNECTION_STOPPING,
        constants.MQRC_HCONN_ERROR,
        constants.MQRC_HOST_NOT_AVAILABLE,
        constants.MQRC_MAX_CONNS_LIMIT_REACHED,
        constants.MQRC_OBJECT_CHANGED,
        constants.MQRC_OBJECT_IN_USE,
        constants.MQRC_Q_MGR_NOT_AVAILABLE,
        constants.MQRC_Q_MGR_QUIESCING,
        constants.MQRC_Q_MGR_STOPPING,
        constants.MQRC_RECONNECT_FAILED,
        constants.MQRC_RECONNECT_TIMED_OUT,
        constants.MQRC_RECONNECTED,
        constants.MQRC_RECONNECTING,
        constants.MQRC_RESOURCE_PROBLEM,
        constants.MQRC_STORAGE_NOT_AVAILABLE,
        constants.MQRC_SYNCPOINT_LIMIT_REACHED,
        constants.MQRC_UOW_IN_PROGRESS,
        constants.MQRC_UOW_NOT_AVAILABLE,
    }
)
"""Reason codes that pass by themselves."""

UNKNOWN: frozenset[int] = frozenset(
    {constants.MQRC_CALL_INTERRUPTED, constants.MQRC_OUTCOME_MIXED, constants.MQRC_OUTCOME_PENDING}
)
"""Reason codes that leave open what happened, whatever the call."""

LOST_CONNECTION: frozenset[int] = frozenset(
    {
        constants.MQRC_CALL_INTERRUPTED,
        constants.MQRC_CONNECTION_BROKEN,
        constants.MQRC_CONNECTION_STOPPED,
        constants.MQRC_CONNECTION_STOPPING,
        constants.MQRC_HCONN_ERROR,
        constants.MQRC_Q_MGR_NOT_AVAILABLE,
        constants.MQRC_Q_MGR_STOPPING,
    }
)
"""Reason codes that end a connection. An MQCMIT that ends so may or may not have been made."""


def _class_of(reason: int) -> type[MQError]:
    if reason in UNKNOWN:
        return OutcomeUnknown
    return TransientMQError if reason in TRANSIENT else PermanentMQError


CLASS_OF_REASON: Mapping[int, type[MQError]] = {
    value: _class_of(value)
    for name, value in vars(constants).items()
    if name.startswith("MQRC_") and isinstance(value, int)
}
"""The one table: every reason code that has a name, and its class."""


def mq_error(comp: int, reason: int, *, verb: str, object_name: str = "", advice: str = "") -> MQError:
    """The error for a completion and reason code.

    Parameters: `verb` the MQI call ("MQPUT"); `object_name` what it was for. A reason code without a name is
    permanent. An MQCMIT that lost its connection is `OutcomeUnknown`.
    """
    kind = CLASS_OF_REASON.get(reason, PermanentMQError)
    if verb == "MQCMIT" and reason in LOST_CONNECTION:
        kind = OutcomeUnknown
    return kind(comp, reason, verb=verb, object_name=object_name, advice=advice)
