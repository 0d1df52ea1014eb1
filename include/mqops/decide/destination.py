"""What the queue manager says of the names that a plan puts to, by MQINQ, an MQOPEN for puts, and PCF for channels.

Nothing is put and no definition is changed. Names are followed as the queue manager resolves them (IBM MQ, "Name
resolution"); it is its own MQOPEN that says whether they lead anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from mqops.decide.core.preflight import Channel, Demand, Inquired, LocalQueue
from mqops.errors import MQError, mq_error
from mqops.model import Destination
from mqops.mq.channels import INACTIVE, serving, states
from mqops.mq.inquire import (
    QueueState,
    base_queue_if_known,
    inquire_queues,
    queue_manager_attribute,
    queue_manager_name,
    queue_state,
    type_and_state,
)
from mqops.mq.named_queue import told_with_name
from mqops.mq.session import PASS_CONTEXT_OPTIONS, Session
from mqops.mqsc import mqsc_name
from mqops.storage import Storage
from mqwire import constants as c
from mqwire.errors import WireError

MOST_USERS = 20
"""Users of a destination (PUTAUT(CTX)) whose authority is tried."""
MOST_MENDED = 20
"""Names that lead nowhere of which it is said what stands behind them, and what to write instead."""
_NO_LOCAL_QUEUE = {
    *(c.MQRC_UNKNOWN_OBJECT_NAME, c.MQRC_REMOTE_Q_NAME_ERROR, c.MQRC_UNKNOWN_REMOTE_Q_MGR, c.MQRC_UNKNOWN_XMIT_Q),
    *(c.MQRC_UNKNOWN_DEF_XMIT_Q, c.MQRC_XMIT_Q_USAGE_ERROR, c.MQRC_DEF_XMIT_Q_USAGE_ERROR),
    *(c.MQRC_UNKNOWN_ALIAS_BASE_Q, c.MQRC_ALIAS_BASE_Q_TYPE_ERROR, c.MQRC_DYNAMIC_Q_NAME_ERROR),
}
"""Reason codes of MQOPEN for inquiry if the name does not lead to a local queue."""
_REMOTE = (c.MQIA_INHIBIT_PUT, c.MQCA_REMOTE_Q_NAME, c.MQCA_REMOTE_Q_MGR_NAME, c.MQCA_XMIT_Q_NAME)


class DestinationInquiry:
    """Looks at one destination after the other; asks about each local queue and channel once.

    Parameters: `target_options` MQOO_* that the mover opens a destination with; `backed_out_of` queues whose BOQNAMEs
    the destinations are.
    """

    def __init__(
        self,
        session: Session,
        target_options: int = PASS_CONTEXT_OPTIONS,
        *,
        backed_out_of: Collection[str] = (),
    ) -> None:
        self._session = session
        self._target_options = target_options
        self._own = queue_manager_name(session)
        self._backed_out_of = backed_out_of
        self._queues: dict[str, LocalQueue] = {}
        self._stored: dict[str, bool] = {}
        self._serving: dict[str, list[str]] | None = None
        self._states: dict[str, tuple[tuple[Channel, ...], str]] = {}
        self._mended: dict[tuple[str, int], str] = {}

    def look(self, demand: Demand) -> Inquired:
        """The facts of a destination.

        Raises:
            MQError: the connection is lost. Any other error is one of the facts.
        """
        there = self.inquired(demand)
        if there.model:
            return there
        tried = demand.users[:MOST_USERS]
        refused = tuple(filter(None, (self._refusal(demand, user) for user in tried)))
        return replace(there, refused=refused, untried=len(demand.users) - len(tried))

    def inquired(self, demand: Demand) -> Inquired:
        """The facts of a destination, without opening it for puts. Raises as `look`."""
        there = self.followed(demand)
        if there.queue is None or there.queue.open_input:
            return there
        name = there.queue.name
        if name not in self._stored:
            self._stored[name] = self._storage.has(name)
        return replace(there, queue=replace(there.queue, storage=self._stored[name]))

    def followed(self, demand: Demand) -> Inquired:
        """The same without `storage`, for which all queues may be asked about. Raises as `look`."""
        try:
            return self._named(demand.queue, demand.queue_manager)
        except MQError as error:
            error.raise_if_lost()
            if error.reason == c.MQRC_DYNAMIC_Q_NAME_ERROR:
                return Inquired(model=True)
            return Inquired(unknown=str(self._told(error, demand)))

    def taken_from(self, queues: Iterable[str]) -> set[str]:
        """The local queues behind these names; a name that cannot be inquired is taken for its own.

        Raises:
            MQError: the connection is lost.
        """
        return {base_queue_if_known(self._session, queue) for queue in queues}

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self._session, self._own, self._backed_out_of)

    def _refusal(self, demand: Demand, user: str) -> tuple[str, str] | None:
        """Why opening for puts, as the mover does it, is refused, and what to do; None if it is not refused."""
        options = self._target_options | (c.MQOO_ALTERNATE_USER_AUTHORITY if user else 0)
        try:
            self._session.close(
                self._session.open(demand.queue, options, queue_manager=demand.queue_manager, alternate_user=user)
            )
        except MQError as error:
            error.raise_if_lost()
            how = " with all context (SETALL)" if options & c.MQOO_SET_ALL_CONTEXT else ""
            by = f" by the authority of {user.strip() or 'a blank user (PUTAUT(CTX))'}" if user else ""
            what = f"MQOPEN for puts{how}{by} fails: {error.symbol} ({error.reason})"
            if isinstance(error.__cause__, WireError):  # it tells the name, which a message may carry: nothing to do
                return f"{what}: {error.advice}", ""
            return what, self._told(error, demand).advice
        return None

    def _told(self, error: MQError, demand: Demand) -> MQError:
        """The error, with what stands behind the name of the destination if it is one of this queue manager's; of a few
        destinations only, as all names of queues are read for each."""
        if demand.queue_manager not in {"", self._own} or error.reason == c.MQRC_UNKNOWN_REMOTE_Q_MGR:
            return error  # a remote queue is as good a destination as a local one
        known = (demand.queue, error.reason)
        if known not in self._mended and len(self._mended) < MOST_MENDED:
            told = told_with_name(self._session, error)
            self._mended[known] = told.advice if told else ""
        advice = self._mended.get(known, "")
        if not advice:
            return error
        return mq_error(error.comp, error.reason, verb=error.verb, object_name=error.object_name, advice=advice)

    def _named(self, queue: str, queue_manager: str) -> Inquired:
        if queue_manager in {"", self._own}:
            return self._here(queue, ())
        if self._is_transmission_queue(queue_manager):
            return self._sent(queue_manager, str(Destination(queue, queue_manager)), ())
        alias = self._queue_manager_alias(queue_manager)
        if alias is None:
            return self._sent(self._default_transmission_queue(), str(Destination(queue, queue_manager)), ())
        inhibited = () if alias[c.MQIA_INHIBIT_PUT] == c.MQQA_PUT_ALLOWED else (f"QREMOTE({mqsc_name(queue_manager)})",)
        target = alias[c.MQCA_REMOTE_Q_MGR_NAME]
        if target in {"", self._own}:
            return self._here(queue, inhibited)
        return self._through(alias[c.MQCA_XMIT_Q_NAME], target, str(Destination(queue, target)), inhibited)

    def _here(self, name: str, inhibited: tuple[str, ...], *, base: bool = False) -> Inquired:
        """A queue of this queue manager. Parameters: `base` whether an alias led to it, which happens once only."""
        if name in self._queues:
            return Inquired(queue=self._queues[name], inhibited=inhibited)
        kind, state = type_and_state(self._session, name)
        if state is not None:
            return Inquired(queue=self._keep(state), inhibited=inhibited)
        if kind == c.MQQT_ALIAS and not base:
            inhibited += self._inhibited("QALIAS", name)
            return self._here(str(self._value(name, c.MQCA_BASE_Q_NAME)), inhibited, base=True)
        if kind == c.MQQT_REMOTE:
            inhibited += self._inhibited("QREMOTE", name)
            remote, target, xmit = (str(self._value(name, selector)) for selector in _REMOTE[1:])
            return self._through(xmit, target, str(Destination(remote, target)), inhibited)
        what = "a cluster queue" if kind == c.MQQT_CLUSTER else f"a queue of type {kind}"
        return Inquired(unknown=f"{name} is {what}", inhibited=inhibited)

    def _queue_manager_alias(self, name: str) -> dict[int, Any] | None:
        """The definition of a queue manager alias; None if there is no such alias.

        MQOPEN with MQOO_INQUIRE refuses a queue manager alias, so PCF is asked.
        """
        rows = inquire_queues(self._session, name, _REMOTE, kind=c.MQQT_REMOTE)
        return next((row for row in rows if not row[c.MQCA_REMOTE_Q_NAME]), None)

    def _through(self, xmit: str, target: str, remote: str, inhibited: tuple[str, ...]) -> Inquired:
        """By the transmission queue that is named, else that of the target's name, else the default one."""
        if not xmit:
            xmit = target if self._is_transmission_queue(target) else self._default_transmission_queue()
        return self._sent(xmit, remote, inhibited)

    def _sent(self, xmit: str, remote: str, inhibited: tuple[str, ...]) -> Inquired:
        if not xmit:
            return Inquired(unknown=f"no transmission queue leads to {remote}", inhibited=inhibited)
        queue = self._local(xmit)
        channels, unknown = self._channels(xmit)
        return Inquired(queue=queue, remote=remote, inhibited=inhibited, channels=channels, channels_unknown=unknown)

    def _is_transmission_queue(self, name: str) -> bool:
        """Raises `MQError` if the queue cannot be inquired."""
        try:
            return self._number(name, c.MQIA_Q_TYPE) == c.MQQT_LOCAL and self._local(name).transmission
        except MQError as error:
            if error.reason in _NO_LOCAL_QUEUE:
                return False
            raise

    def _default_transmission_queue(self) -> str:
        return str(queue_manager_attribute(self._session, c.MQCA_DEF_XMIT_Q_NAME))

    def _local(self, name: str) -> LocalQueue:
        return self._queues[name] if name in self._queues else self._keep(queue_state(self._session, name))

    def _keep(self, state: QueueState) -> LocalQueue:
        found = LocalQueue(
            name=state.name,
            depth=state.depth,
            max_depth=state.max_depth,
            max_msg_length=state.max_msg_length,
            put_allowed=state.put_allowed,
            open_input=state.open_input,
            transmission=state.transmission,
        )
        self._queues[state.name] = found
        return found

    def _inhibited(self, kind: str, name: str) -> tuple[str, ...]:
        allowed = self._number(name, c.MQIA_INHIBIT_PUT) == c.MQQA_PUT_ALLOWED
        return () if allowed else (f"{kind}({mqsc_name(name)})",)

    def _number(self, queue: str, selector: int) -> int:
        return int(self._value(queue, selector))

    def _value(self, queue: str, selector: int) -> int | str:
        handle = self._session.open(queue, c.MQOO_INQUIRE | c.MQOO_FAIL_IF_QUIESCING)
        try:
            return self._session.inquire(handle, selector)
        finally:
            self._session.close(handle)

    def _channels(self, xmit: str) -> tuple[tuple[Channel, ...], str]:
        """The channels that serve a transmission queue with their states, or why that is not known."""
        if xmit not in self._states:
            try:
                names = self._defined().get(xmit, [])
                self._states[xmit] = tuple(Channel(name=name, state=self._state(name)) for name in names), ""
            except MQError as error:
                error.raise_if_lost()
                self._states[xmit] = (), str(error)
        return self._states[xmit]

    def _defined(self) -> dict[str, list[str]]:
        """Transmission queue → channels with that XMITQ."""
        if self._serving is None:
            self._serving = serving(self._session)
        return self._serving

    def _state(self, channel: str) -> str:
        """The state of a channel; one without status is inactive."""
        return states(self._session, channel).get(channel, INACTIVE)
