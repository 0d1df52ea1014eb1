"""Mend what keeps a queue from triggering: the plan, and carrying it out by PCF once a person has approved it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from mqops.as_json import Json, JsonObject
from mqops.counted import counted
from mqops.errors import MQError, PlanChanged, SettingsError, mq_error
from mqops.mq.inquire import command
from mqops.mq.session import Session
from mqops.trigger.core import Change, Explanation, explain
from mqops.trigger.look import manager, triggered_queue
from mqops.trigger.record import ChangeRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class MendingPlan:
    """The commands that mend a queue's triggering, in the order in which they are run."""

    queue: str
    queue_manager: str
    changes: tuple[Change, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of what is to be done: who approves it approves this and nothing else."""
        value = [self.queue_manager, self.queue, *(change.mqsc for change in self.changes)]
        return hashlib.sha256(json.dumps(value).encode()).hexdigest()

    @property
    def refused(self) -> tuple[str, ...]:
        """The commands that mqops does not run, each with the reason."""
        return tuple(f"{change.mqsc}: {why}" for change in self.changes if (why := change.refusal()))

    def to_json(self) -> JsonObject:
        """For `--json`."""
        commands: list[Json] = [
            {"mqsc": change.mqsc, "warning": change.warning or None, "refused": change.refusal() or None}
            for change in self.changes
        ]
        return {"digest": self.digest, "commands": commands}


def plan_mending(found: Explanation, *, program: str = "") -> MendingPlan:
    """The commands that mend what an explanation names.

    Parameters: `program` the APPLICID of a process that has to be defined, "" if nobody said.
    """
    changes = tuple(change.starting(program) for change in found.changes())
    return MendingPlan(queue=found.queue, queue_manager=found.queue_manager, changes=changes)


def run_plan(
    session: Session,
    approved: MendingPlan,
    record: ChangeRecord,
    *,
    requested_by: str,
    approved_by: str,
    program: str = "",
) -> Explanation:
    """Run an approved plan's commands by PCF, one after the other, and look at the queue again.

    The queue is looked at before, too: where other commands would mend it now, none is run. If the queue
    manager refuses a command, the later ones are not run; the record says which are done.

    Raises:
        PlanChanged: the queue, or what it triggers with, is not as it was. Nothing was changed.
        SettingsError: the plan has commands that mqops does not run. Nothing was changed.
        MQError: the queue manager refused a command. The text says how many were run before it.
        LakeError: the record cannot be written. The command that it was for was not run.
    """
    if approved.refused:
        raise SettingsError("mqops does not run this plan. Nothing was changed", *approved.refused)
    found = explain(triggered_queue(session, approved.queue, manager(session)))
    if plan_mending(found, program=program) != approved:
        raise PlanChanged(
            f"{approved.queue} is not as it was when plan {approved.digest} was made: nothing was changed. Look again"
        )
    line = {"by": approved_by, "plan": approved.digest, "queue": approved.queue}
    commands = [change.mqsc for change in approved.changes]
    record.add("approved", **line, requested_by=requested_by, commands=commands)
    for number, change in enumerate(approved.changes):
        record.add("run", **line, mqsc=change.mqsc)
        name, parameters = change.pcf
        try:
            command(session, name, dict(parameters), object_name=change.name)
        except MQError as error:
            record.add("failed", **line, mqsc=change.mqsc, error=str(error))
            done = f"{number} of {counted(len(commands), 'command')} were run before it: look again"
            advice = f"{error.advice}. {done}" if error.advice else done
            raise mq_error(
                error.comp, error.reason, verb=error.verb, object_name=error.object_name, advice=advice
            ) from error
        record.add("done", **line, mqsc=change.mqsc)
    return explain(triggered_queue(session, approved.queue, manager(session)))
