"""All that triggers on a queue manager, each queue with its explanation."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.as_json import JsonObject
from mqops.errors import MQError
from mqops.mq.inquire import unseen_queues
from mqops.mq.session import Session, is_gone
from mqops.trigger.core import Explanation, explain
from mqops.trigger.in_estate import named_in_estate
from mqops.trigger.look import definitions, is_served, manager, triggered_queue
from mqwire.constants import MQRC_NOT_AUTHORIZED


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes: `unserved` initiation queues, of queues and of the estate, that no program has open for input; `unused`
    processes that no queue names; `dags` that the estate allows and that no process names as APPLICID; `not_known` what
    the connection's user may not inquire: nothing is said of it; `unseen` queues that the user may not inquire: whether
    they trigger is not known.
    """

    queue_manager: str
    queues: tuple[Explanation, ...]
    unserved: tuple[str, ...]
    unused: tuple[str, ...]
    dags: tuple[str, ...]
    not_known: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """The queues that have to be mended."""
        return tuple(one.queue for one in self.queues if one.broken)

    @property
    def cannot_trigger(self) -> dict[str, str]:
        """Queue → why it cannot trigger, of those that have to be mended; not of those that are only switched off."""
        return {one.queue: one.verdict for one in self.queues if one.broken and not one.only_switched_off}

    @property
    def switched_off(self) -> tuple[str, ...]:
        """Queues on which triggering is off, perhaps on purpose, and no message waits for a program."""
        return tuple(one.queue for one in self.queues if one.only_switched_off)

    def to_json(self) -> JsonObject:
        """For `--json`."""
        return {
            "queue_manager": self.queue_manager,
            "queues": [one.to_json() | {"broken": one.broken} for one in self.queues],
            "unserved": list(self.unserved),
            "unused": list(self.unused),
            "dags": list(self.dags),
            "not_known": list(self.not_known),
            "unseen": list(self.unseen),
        }


def audit(session: Session) -> Audit:
    """Look at every local queue with TRIGGER or an INITQ. A queue that is deleted meanwhile is left out.

    Raises:
        MQError: the command server refuses.
        SettingsError: the estate file is not valid.
    """
    of, there = manager(session), definitions(session)
    estate = named_in_estate(of.name)
    found, unserved, not_known = [], set(), list[str]()
    for name in there.queues:
        try:
            queue = triggered_queue(session, name, of)
        except MQError as error:
            if is_gone(error):
                continue
            if error.reason == MQRC_NOT_AUTHORIZED:
                not_known.append(f"queue {name}")
                continue
            raise
        found.append(explain(queue))
        of_queue = queue.initiation
        if of_queue is not None and of_queue.local and not of_queue.refused and not of_queue.open_input:
            unserved.add(queue.initiation_name)
    for name in estate.initiation_queues:
        try:
            unserved |= set() if is_served(session, name) else {name}
        except MQError as error:
            if error.reason != MQRC_NOT_AUTHORIZED:
                raise
            not_known.append(f"initiation queue {name}")
    if there.processes is None:
        not_known.append("processes")
    processes = there.processes or {}
    return Audit(
        queue_manager=of.name,
        queues=tuple(found),
        unserved=tuple(sorted(unserved)),
        unused=tuple(name for name in sorted(processes) if name not in there.named),
        dags=tuple(sorted(set(estate.dags) - set(processes.values()))) if there.processes is not None else (),
        not_known=tuple(not_known),
        unseen=unseen_queues(session, ["*"], told=there.all_queues),
    )
