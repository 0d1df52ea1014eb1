"""What a queue manager lacks of what mqops needs, as MQSC, and defining it: `mqops init`.

1. What is missing is defined, by PCF (Create Queue, Create Process, Set Authority Record), which IBM MQ has on every
   platform; the authority records are not there on z/OS, where the external security manager has them.
2. A queue or process that stands with other attributes is never changed: the difference is shown, with the command
   that would change it. Create is sent without Replace, so that what appeared meanwhile stays as it is, too.
3. Authorities are only added. What a record gives besides stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mqops.doctor.needs import AUTHORITIES, OBJECT_TYPES, Authority, NeededQueue, initiation_queue
from mqops.errors import MQError
from mqops.mq.authority import Grantee, grant, granted
from mqops.mq.inquire import command, opened
from mqops.mq.session import Session
from mqops.trigger.core.definitions import Definitions, ProcessDefinition, QueueTrigger
from mqops.trigger.missing import NOT_THERE, process_wrong, trigger_wrong
from mqwire import constants as c


class StepState(StrEnum):
    """How a queue manager has something that mqops needs."""

    STANDS = "stands"
    MISSING = "missing"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A definition: the MQSC command that makes it, its state on the queue manager, and in words what was found.

    Parameters: `mqsc` of a queue that differs would change it; `to` who gets an authority.
    """

    what: NeededQueue | ProcessDefinition | QueueTrigger | Authority
    mqsc: str
    state: StepState
    found: str = ""
    to: Grantee | None = None

    def to_json(self) -> dict[str, str]:
        """A JSON object."""
        return {"mqsc": self.mqsc, "state": str(self.state), "found": self.found}


def queue_step(session: Session | None, needed: NeededQueue) -> Step:
    """The state of a queue. Parameters: `session` None where the queue manager cannot be asked. Raises `MQError`."""

    def step(state: StepState, found: str = "", mqsc: str = "") -> Step:
        return Step(what=needed, mqsc=mqsc or needed.definition(), state=state, found=found)

    if session is None:
        return step(StepState.UNKNOWN)
    try:
        kind, found = _found(session, needed)
    except MQError as error:
        if error.reason == c.MQRC_UNKNOWN_OBJECT_NAME:
            return step(StepState.MISSING)
        error.raise_if_lost()
        return step(StepState.UNKNOWN, f"{needed.name} cannot be inquired: {error.symbol} ({error.reason})")
    if kind != c.MQQT_LOCAL:
        return step(StepState.DIFFERS, f"{needed.name} is there, and it is not a local queue: delete it, or rename it")
    wrong = needed.differences(found)
    if not wrong:
        return step(StepState.STANDS, f"{needed.name} is there as it should be")
    has = " ".join(one.mqsc(found[one.selector]) for one in wrong)
    needs = " ".join(one.mqsc(one.value) for one in wrong)
    said = f"{needed.name} has {has}, and mqops needs {needs}. It is left as it is; this command changes it"
    return step(StepState.DIFFERS, said, needed.change(wrong))


def _found(session: Session, needed: NeededQueue) -> tuple[int, dict[int, int]]:
    """The kind of the queue, MQQT_*, and of a local one the attributes that are needed. Raises `MQError`."""
    with opened(session, needed.name, c.MQOT_Q) as handle:
        kind = int(session.inquire(handle, c.MQIA_Q_TYPE))
        wanted = needed.attributes if kind == c.MQQT_LOCAL else ()
        return kind, {one.selector: int(session.inquire(handle, one.selector)) for one in wanted}


def trigger_steps(session: Session | None, needed: Definitions) -> Iterator[Step]:
    """The state of what the trigger monitor and the workflows by trigger need. Parameters: as of `queue_step`.

    A queue that does not trigger as the estate says is never changed. Raises `MQError`.
    """
    for queue in needed.initiation_queues:
        yield queue_step(session, initiation_queue(queue))
    for process in needed.processes:
        wrong = process_wrong(session, process) if session else ""
        yield _step(session, process, wrong, f"process {process.name}", StepState.MISSING)
    for trigger in needed.triggers:
        wrong = trigger_wrong(session, trigger) if session else ""
        yield _step(session, trigger, wrong, f"queue {trigger.queue or 'of DEADQ'}", StepState.DIFFERS)


def _step(
    session: Session | None, what: ProcessDefinition | QueueTrigger, wrong: str, name: str, missing: StepState
) -> Step:
    """Parameters: `wrong` with it, or nothing; `missing` the state if it is not there."""
    if session is None:
        return Step(what=what, mqsc=what.mqsc, state=StepState.UNKNOWN)
    if not wrong:
        return Step(what=what, mqsc=what.mqsc, state=StepState.STANDS, found=f"the {name} is there as it should be")
    state = missing if wrong == NOT_THERE else StepState.DIFFERS
    left = "" if state is StepState.MISSING else ". It is left as it is; this command changes it"
    return Step(what=what, mqsc=what.mqsc, state=state, found=f"the {name} {wrong}{left}")


def authority_steps(
    session: Session | None, needed: Iterable[Authority], to: Grantee, *, queue_manager: str
) -> Iterator[Step]:
    """The state of the authority records of a user or group. Parameters: as of `queue_step`. Raises `MQError`."""
    for one in needed:
        state, found = StepState.UNKNOWN, ""
        if session is not None:
            try:
                has = granted(session, one.profile or queue_manager, OBJECT_TYPES[one.kind], to)
                lacking = has is None or any(AUTHORITIES[word] not in has for word in one.words)
                state = StepState.MISSING if lacking else StepState.STANDS
            except MQError as error:
                error.raise_if_lost()
                found = f"the record cannot be asked for: {error.symbol} ({error.reason})"
        yield Step(what=one, mqsc=one.mqsc(to), state=state, found=found, to=to)


def define(session: Session, step: Step, *, queue_manager: str) -> None:
    """Carry out a step whose object is missing, or whose record is not known.

    Raises:
        MQError: the queue manager refused; MQRCCF_OBJECT_ALREADY_EXISTS if the queue appeared meanwhile.
    """
    if isinstance(step.what, Authority):
        assert step.to is not None
        words = [AUTHORITIES[word] for word in step.what.words]
        kind = OBJECT_TYPES[step.what.kind]
        grant(session, step.what.profile or queue_manager, kind, step.to, words)
        return
    if isinstance(step.what, ProcessDefinition):
        process: dict[int, Any] = {
            c.MQCA_PROCESS_NAME: step.what.name.encode(),
            c.MQIA_APPL_TYPE: c.MQAT_UNIX,
            c.MQCA_APPL_ID: step.what.dag_id.encode(),
        }
        command(session, "MQCMD_CREATE_PROCESS", process, object_name=step.what.name)
        return
    assert isinstance(step.what, NeededQueue)
    asked: dict[int, Any] = {
        c.MQCA_Q_NAME: step.what.name.encode(),
        c.MQIA_Q_TYPE: c.MQQT_LOCAL,
        **{one.selector: one.value for one in (*step.what.attributes, *step.what.at_first)},
        c.MQCA_Q_DESC: step.what.description.encode(),
    }
    command(session, "MQCMD_CREATE_Q", asked, object_name=step.what.name)


def is_open(step: Step) -> bool:
    """Whether there is something to define: it is missing, or its state is unknown."""
    known = {StepState.MISSING, StepState.UNKNOWN} if isinstance(step.what, Authority) else {StepState.MISSING}
    return step.state in known
