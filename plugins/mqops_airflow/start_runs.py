"""Starts the runs that trigger messages ask for: the one task of `<queue manager>_trigger_monitor`.

1. A pass handles every event of the asset that no pass has handled yet, not only those that Airflow hands to the run:
   Airflow leaves out an event that is stored while a run of the DAG is already due (`AssetDagRunQueue.created_at`), and
   what a failed pass has left is made up for by the next one. DAG runs of the monitor do not overlap.
2. What was handled stands in Airflow's asset state store. It is written last. A pass that is repeated starts nothing
   twice, because a run id is made from its message (law 3), and puts nothing on the dead-letter queue twice, because it
   looks there first. A message that cannot be dead-lettered fails the pass at its end: the other runs start.
3. A DAG that is missing, paused or broken, and a closed loop (T12b): the trigger message goes to the dead-letter queue
   with MQFB_APPL_CANNOT_BE_STARTED. Only here is that known: the triggerer cannot ask for DAGs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator

from mqops.counted import counted
from mqops.errors import MQError, MqopsError, SettingsError
from mqops.estate import startable
from mqops.printable import printable
from mqops.trigger.core.trigger_message import Start, Unusable, cannot_start, to_start
from mqops.trigger.core.unchanged import Unchanged, loop
from mqops_airflow.dag_runs import Answer, start_run
from mqops_airflow.reach import connection_for
from mqops_airflow.told import tell
from mqops_airflow.trigger_monitor import message_in
from mqops_airflow.workplace import estate_file

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.mq.session import RawMessage, Session

HANDLED, QUEUES = "handled", "queues"
"""Keys of the asset's state: the events that were handled, and the queues that runs were started for."""
OVERLAP = timedelta(minutes=10)
"""Events are looked for so far behind the newest handled one: their times are those of several triggerers' clocks."""
AT_ONCE = 500
"""Events that are asked for at a time."""


@dataclass(slots=True)
class Pass:
    """What a pass has done."""

    started: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def told(self) -> str:
        """In words, for the run's note."""
        words = [f"{counted(len(self.started), 'run')} started{_named(self.started)}."]
        if self.again:
            words.append(f"{counted(len(self.again), 'trigger message')} came again: the run was there already.")
        if self.refused:
            number = counted(len(self.refused), "trigger message")
            words.append(f"{number} started nothing: {'; '.join(self.refused)}.")
        return " ".join(words)


def _named(dag_ids: list[str]) -> str:
    return f" ({', '.join(sorted(set(dag_ids)))})" if dag_ids else ""


class StartRunsOperator(BaseOperator):
    """Starts the runs of the trigger messages that have come.

    :param queue_manager: name in the estate.
    :param asset: whose events hold the trigger messages.
    """

    def __init__(self, *, queue_manager: str, asset: Asset, **kwargs: Any) -> None:
        super().__init__(inlets=[asset], **kwargs)
        self.queue_manager = queue_manager
        self.asset_name, self.asset_uri = asset.name, asset.uri

    def execute(self, context: Context) -> dict[str, Any]:
        asset = Asset(name=self.asset_name, uri=self.asset_uri)
        store: Any = context["asset_state_store"][asset]
        handled = _Handled(store.get(HANDLED) or {})
        done = Pass()
        with ExitStack() as stack:
            work = _Work(self, context, stack, store.get(QUEUES) or {})
            for event in handled.new(context["inlet_events"][asset]):
                work.handle(event.extra, done)
        if work.failed is not None:
            raise work.failed
        store.set(QUEUES, work.queues_to_json())
        store.set(HANDLED, handled.to_json())
        self.log.info("%s", printable(done.told()))
        tell(context, done.told())
        return {"started": done.started, "again": done.again, "refused": done.refused}


class _Handled:
    """The events that passes have handled. Parameters: `state` what `to_json` made."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._newest = datetime.fromisoformat(state["newest"]) if state else None
        self._ids: dict[int, datetime] = {
            int(number): datetime.fromisoformat(at) for number, at in (state.get("ids") or {}).items()
        }

    def new(self, events: Any) -> Iterator[Any]:
        """The events that were not handled, oldest first; each counts as handled when the next one is asked for."""
        while True:
            after = (self._newest - OVERLAP).isoformat() if self._newest else None
            found = list((events.after(after) if after else events).ascending().limit(AT_ONCE + len(self._ids)))
            fresh = [event for event in found if event.id not in self._ids]
            for event in fresh:
                yield event
                self._ids[event.id] = event.timestamp
                self._newest = max(self._newest or event.timestamp, event.timestamp)
            if not fresh:
                return

    def to_json(self) -> dict[str, Any]:
        if self._newest is None:
            return {}
        kept = {str(number): at.isoformat() for number, at in self._ids.items() if at >= self._newest - OVERLAP}
        return {"newest": self._newest.isoformat(), "ids": kept}


class _Work:
    """Handles the trigger messages of a pass, with one connection that is made when it is needed.

    Attributes: `failed` why a message could not be dead-lettered, the first such error.
    """

    def __init__(self, operator: StartRunsOperator, context: Context, stack: ExitStack, queues: Any) -> None:
        self._operator = operator
        self._context = context
        self._stack = stack
        self._session_made: Session | None = None
        self._estate = estate_file()
        self._name = operator.queue_manager
        settings = self._estate.estate.queue_managers[self._name]
        self._allowed = startable(self._name, settings)
        self._most = settings.trigger_monitor.unchanged_runs if settings.trigger_monitor else 1
        self._queues = {queue: Unchanged.from_json(value) for queue, value in queues.items()}
        self._loops: dict[str, str] = {}
        self._counted: set[str] = set()
        self.failed: MqopsError | None = None

    def queues_to_json(self) -> dict[str, Any]:
        return {queue: seen.to_json() for queue, seen in self._queues.items()}

    def handle(self, extra: Mapping[str, Any], done: Pass) -> None:
        """All messages of an event. An event that a person or another program made starts nothing."""
        if not extra.get("from_trigger") or "from_rest_api" in extra:  # Airflow's own marks
            done.refused.append("an event of the asset was not made by the trigger monitor")
            return
        payload = extra["payload"]
        done.refused += [str(one["why"]) for one in payload["refused"]]
        for entry in payload["messages"]:
            self._handle(entry["queue"], message_in(entry), payload["ccsid"], done)

    def _handle(self, initiation_queue: str, got: RawMessage, ccsid: int, done: Pass) -> None:
        verdict = to_start(got.md, got.body, allowed=self._allowed, q_mgr_ccsid=ccsid)
        if isinstance(verdict, Start):
            why = self._loop(verdict.message.q_name)
            answer = Answer(refused=why) if why else start_run(self._context, verdict)
            if not answer.refused:
                self._started(verdict, answer, done)
                return
            verdict = cannot_start(verdict.message, answer.refused)
        try:
            self._dead_letter(initiation_queue, got, verdict)
        except (MQError, SettingsError) as error:
            self._operator.log.error("a trigger message of %s waits: %s", printable(initiation_queue), printable(error))
            self.failed = self.failed or error
        done.refused.append(verdict.why)

    def _started(self, start: Start, answer: Answer, done: Pass) -> None:
        queue = start.message.q_name
        if answer.again:
            done.again.append(start.dag_id)
            return
        done.started.append(start.dag_id)
        self._operator.log.info("started %s of %s", printable(start.run_id), printable(start.dag_id))
        if queue in self._queues and queue not in self._counted:  # several of one pass are one start
            self._counted.add(queue)
            self._queues[queue] = self._queues[queue].started()

    def _loop(self, queue: str) -> str:
        """Why no run is started for a queue, or nothing; looked at once in a pass."""
        if queue not in self._loops:
            self._loops[queue] = self._look(queue)
        return self._loops[queue]

    def _look(self, queue: str) -> str:
        from mqops.trigger.sight import sight  # noqa: PLC0415

        try:
            seen = sight(self._session(), queue)
        except MQError as error:
            self._operator.log.warning(
                "a closed loop of %s would not be recognised: %s", printable(queue), printable(error)
            )
            self._queues.pop(queue, None)
            return ""
        before = self._queues.get(queue, Unchanged()).before_start(seen)
        self._queues[queue] = before
        return loop(queue, before, seen, most=self._most)

    def _dead_letter(self, queue: str, got: RawMessage, verdict: Unusable) -> None:
        from mqops.clock import utc  # noqa: PLC0415
        from mqops.trigger.dead_letter import put_later  # noqa: PLC0415
        from mqops.trigger.monitor import log_dead_letter  # noqa: PLC0415

        log_dead_letter(queue, put_later(self._session(), queue, got, verdict, at=utc()), verdict)

    def _session(self) -> Session:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        if self._session_made is None:
            self._session_made = self._stack.enter_context(connect(connection_for(self._name, self._estate)))
        return self._session_made
