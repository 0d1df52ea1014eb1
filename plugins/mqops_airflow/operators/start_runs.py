"""Starts the runs that trigger messages ask for: the one task of `<queue manager>_trigger_monitor`.

1. A pass looks at all initiation queues, whatever event or person has started it (`mqops.trigger.work`): a message
   leaves its queue when its run is there, or with its dead letter. What a failed pass leaves, the next one finds.
2. A pass that is repeated starts nothing twice, because a run id is made from its message (law 3).
3. A DAG that is missing, paused or broken, a queue or process that does not name it on the queue manager
   (`mqops.trigger.claim`), and a closed loop (T12b): the trigger message goes to the dead-letter queue with
   MQFB_APPL_CANNOT_BE_STARTED.
4. A message that cannot be dead-lettered, a queue that cannot be read, and a DAG that Airflow cannot start now (HTTP
   500) fail the pass at its end: the other runs start. Such a DAG is asked once in a pass. Then its messages wait.
5. While `queued_runs` runs of a DAG that one queue has started are queued, the queue's other trigger messages wait on
   their initiation queue (law 1). That fails no pass; the monitor tells of them again within a minute.
6. What is known for rules 3 and 5 of the triggered queues stands in Airflow's asset state store. The monitor's opening
   of a queue makes trigger messages (T13c), so runs are counted anew with each connection of the monitor. It is stored
   whatever ends the pass, for its runs are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, BaseOperator

from mqops.counted import counted
from mqops.errors import MQError, MqopsError, PermanentMQError
from mqops.estate_sections import startable
from mqops.printable import printable
from mqops.trigger.core.trigger_message import Start, Unusable, cannot_start, to_start
from mqops.trigger.core.unchanged import Unchanged, loop
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.connections.trigger_monitor import CONNECTION
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.operators.dag_runs import Answer, queued, start_run
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md, number, plain, words

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.mq.session import RawMessage, Session
    from mqops.trigger.work import EnoughQueued, NotStarted
    from mqops_airflow.runs.run_folder import XCom

QUEUES = "queues"
"""Key of the asset's state: the queues that runs were started for."""
STARTED = "started"
"""Key of the asset's state: queue → DAG → the ids of the runs that were started last, `queued_runs` at most."""


@dataclass(slots=True)
class Pass:
    """What a pass has done."""

    started: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    waiting: list[MqopsError] = field(default_factory=list)
    enough: list[EnoughQueued] = field(default_factory=list)

    def in_words(self) -> Markdown:
        """In words, for the run's note."""
        said = [md("{} started{}.", number(len(self.started), "run"), _named(self.started))]
        if self.again:
            said.append(md("{} came again: the run was there already.", number(len(self.again), "trigger message")))
        if self.refused:
            refused = number(len(self.refused), "trigger message")
            said.append(md("{} started nothing: {}.", refused, joined("; ", self.refused)))
        if self.waiting:
            reasons = joined("; ", sorted(set(map(str, self.waiting))))
            said.append(md("What could not be dealt with waits on its initiation queue: {}.", reasons))
        if self.enough:
            waits = number(len(self.enough), "trigger message waits", "trigger messages wait")
            said.append(md("{} on the initiation queue: {}.", waits, joined("; ", sorted(set(map(str, self.enough))))))
        return joined(" ", said)

    def wait(self, errors: Iterable[MqopsError]) -> None:
        """Messages wait, because of these errors, or because enough runs are queued for their queues."""
        from mqops.trigger.work import EnoughQueued  # noqa: PLC0415

        for error in errors:
            self.enough.append(error) if isinstance(error, EnoughQueued) else self.waiting.append(error)

    def first(self) -> MqopsError:
        """The error that fails the pass: one that passes by itself, if there is one, so that it is tried again."""
        from mqops.trigger.work import NotStarted  # noqa: PLC0415

        return next((error for error in self.waiting if isinstance(error, NotStarted)), self.waiting[0])


def _named(dag_ids: list[str]) -> Markdown:
    return md(" ({})", joined(", ", map(words, sorted(set(dag_ids))))) if dag_ids else NOTHING


class StartRunsOperator(BaseOperator):
    """Starts the runs of the trigger messages that have come.

    :param queue_manager: name in the estate.
    :param asset: whose events hold the trigger messages.
    """

    def __init__(self, *, queue_manager: str, asset: Asset, **kwargs: Any) -> None:
        super().__init__(inlets=[asset], **kwargs)
        self.queue_manager = queue_manager
        self.asset_name, self.asset_uri = asset.name, asset.uri

    def execute(self, context: Context) -> XCom:
        asset = Asset(name=self.asset_name, uri=self.asset_uri)
        store: Any = context["asset_state_store"][asset]
        done = Pass()
        with ExitStack() as stack:
            queues = {queue: Unchanged.from_json(value) for queue, value in (store.get(QUEUES) or {}).items()}
            started = store.get(STARTED) or {}
            work = _Work(self, context, stack, queues, started, connection=_connection(context, asset))
            try:
                work.handle(done)
            finally:
                store.set(QUEUES, {queue: seen.to_json() for queue, seen in queues.items()})
                store.set(STARTED, started)
                self.log.info("%s", printable(plain(done.in_words())))
                keep_for_note(context, done.in_words())
        if done.waiting:
            raise done.first()
        return {"started": done.started, "again": done.again, "refused": done.refused}


def _connection(context: Context, asset: Asset) -> str:
    """The connection of the monitor that made the newest event, "" if that is not known."""
    events: Iterable[Any] = context["triggering_asset_events"].get(asset, ())
    payloads = [(event.extra or {}).get("payload") for event in events]
    found = [one[CONNECTION] for one in payloads if isinstance(one, dict) and isinstance(one.get(CONNECTION), str)]
    return found[-1] if found else ""


class _Work:
    """Handles the trigger messages of a pass.

    Parameters: `queues` that runs were started for; `started` queue → DAG → the ids of the runs that were started last;
    both are changed. `connection` of the monitor.
    """

    def __init__(
        self,
        operator: StartRunsOperator,
        context: Context,
        stack: ExitStack,
        queues: dict[str, Unchanged],
        started: dict[str, dict[str, list[str]]],
        *,
        connection: str,
    ) -> None:
        from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library

        self._operator = operator
        self._context = context
        estate, name = estate_file(), operator.queue_manager
        settings = estate.estate.queue_managers[name]
        self._allowed = startable(name, settings)
        self._initiation_queues = settings.trigger_monitor.queues if settings.trigger_monitor else ()
        self._most = settings.trigger_monitor.unchanged_runs if settings.trigger_monitor else 1
        self._most_queued = settings.trigger_monitor.queued_runs if settings.trigger_monitor else 1
        self._started_runs = started
        self._enough: dict[tuple[str, str], EnoughQueued] = {}
        self._connection = connection
        self._queues = queues
        self._loops: dict[str, str] = {}
        self._counted: set[str] = set()
        self._not_now: dict[str, NotStarted] = {}
        self._session: Session = stack.enter_context(connect(connection_for(name, estate)))

    def handle(self, done: Pass) -> None:
        """All messages of all initiation queues."""
        from mqops.mq.inquire import queue_manager_attribute  # noqa: PLC0415
        from mqops.trigger.work import handle_messages  # noqa: PLC0415
        from mqwire import constants as c  # noqa: PLC0415

        ccsid = int(queue_manager_attribute(self._session, c.MQIA_CODED_CHAR_SET_ID))
        for queue in self._initiation_queues:
            try:
                done.wait(handle_messages(self._session, queue, lambda seen: self._start(seen, ccsid, done)))
            except PermanentMQError as error:
                self._operator.log.error("initiation queue %s: %s", printable(queue), printable(error))
                done.waiting.append(error)

    def _start(self, seen: RawMessage, ccsid: int, done: Pass) -> Unusable | None:
        from mqops.trigger.claim import refuted  # noqa: PLC0415

        verdict = to_start(seen.md, seen.body, allowed=self._allowed, q_mgr_ccsid=ccsid)
        if isinstance(verdict, Start):
            why = refuted(self._session, verdict) or self._loop(verdict.message.q_name)
            answer = Answer(refused=why) if why else self._ask(verdict)
            if not answer.refused:
                self._started(verdict, answer, done)
                return None
            verdict = cannot_start(verdict.message, answer.refused)
        done.refused.append(verdict.why)
        return verdict

    def _ask(self, start: Start) -> Answer:
        """Airflow's answer, or what it answered for this DAG before if that was an error of its own."""
        from mqops.trigger.work import EnoughQueued, NotStarted  # noqa: PLC0415

        if start.dag_id in self._not_now:
            raise self._not_now[start.dag_id]
        try:
            self._refuse_too_many(start)
            return start_run(self._context, start)
        except NotStarted as error:
            if not isinstance(error, EnoughQueued):
                self._not_now[start.dag_id] = error
            raise

    def _refuse_too_many(self, start: Start) -> None:
        """Raises `EnoughQueued` while the runs that a queue has started last are all queued. One that came again is
        one of them, and is none too many."""
        from mqops.trigger.work import EnoughQueued  # noqa: PLC0415

        place = start.message.q_name, start.dag_id
        if place in self._enough:
            raise self._enough[place]
        last = self._started_runs.get(place[0], {}).get(place[1], [])[-self._most_queued :]
        if start.run_id in last or len(last) < self._most_queued:
            return
        if queued(self._context, start.dag_id, last) >= self._most_queued:
            self._enough[place] = EnoughQueued(
                f"{counted(self._most_queued, 'run')} of the DAG {start.dag_id} that the queue {place[0]} has started "
                "are queued (queued_runs)"
            )
            raise self._enough[place]

    def _started(self, start: Start, answer: Answer, done: Pass) -> None:
        queue = start.message.q_name
        if answer.again:
            done.again.append(start.dag_id)
            return
        done.started.append(start.dag_id)
        runs = self._started_runs.setdefault(queue, {}).setdefault(start.dag_id, [])
        runs[:] = [*runs, start.run_id][-self._most_queued :]
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
        from mqops.trigger.fingerprint import fingerprint_of  # noqa: PLC0415

        try:
            seen = fingerprint_of(self._session, queue)
        except MQError as error:
            self._operator.log.warning(
                "a closed loop of %s would not be recognised: %s", printable(queue), printable(error)
            )
            self._queues.pop(queue, None)
            return ""
        before = self._queues.get(queue, Unchanged()).before_start(seen, connection=self._connection)
        self._queues[queue] = before
        return loop(queue, before, seen, most=self._most)
