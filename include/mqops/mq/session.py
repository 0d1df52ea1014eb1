"""One connection and the MQI calls on it, with messages as raw bytes: pymqi's extension module without its classes.

The extension module writes into the very bytes it is given, so every structure passed to it is a new copy.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mqops.errors import MQError, mq_error
from mqops.mq.library import calls
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.fields import text
from mqwire.mqi import MQGMO, MQOD, MQPMO
from mqwire.structures import MQMD_LAYOUT

FIRST_BUFFER = 32 * 1024
"""Bytes of the first buffer for a message of unknown length; it grows when a message does not fit."""

PASS_CONTEXT_OPTIONS = c.MQOO_OUTPUT | c.MQOO_PASS_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
"""How a destination is opened for messages that keep all their context (D08)."""

SET_CONTEXT_OPTIONS = c.MQOO_OUTPUT | c.MQOO_SET_ALL_CONTEXT | c.MQOO_FAIL_IF_QUIESCING
"""The same for messages that were not got, but have a copy: no handle has their context."""

_MD = MQMD_LAYOUT.pack({"version": c.MQMD_VERSION_2})
_resolved = MQOD.reader("resolved_q_name", "resolved_q_mgr_name")
_IDS = MQMD_LAYOUT.offset("msg_id")
_AFTER_IDS = MQMD_LAYOUT.offset("backout_count")
_GROUP_ID = MQMD_LAYOUT.offset("group_id")
_MD_HEAD, _MD_TAIL = _MD[:_IDS], _MD[_AFTER_IDS:]
_NO_IDS = bytes(_AFTER_IDS - _IDS)
MATCH_BOTH = c.MQMO_MATCH_MSG_ID | c.MQMO_MATCH_CORREL_ID
_REFUSED = {
    "ObjectName": c.MQRC_OBJECT_NAME_ERROR,
    "ObjectQMgrName": c.MQRC_OBJECT_Q_MGR_NAME_ERROR,
    "AlternateUserId": c.MQRC_NOT_AUTHORIZED,
}
"""A field of MQOD that a name does not fit into → the reason code that the queue manager has for a wrong one."""


@dataclass(slots=True)  # not frozen, which costs a microsecond for each message
class RawMessage:
    """A message: its MQMD (version 2, 364 bytes) and everything that follows."""

    md: bytes
    body: bytes


@lru_cache(maxsize=64)
def _gmo(options: int, match: int, wait_ms: int) -> bytes:
    values = {"version": c.MQGMO_VERSION_4, "options": options, "match_options": match, "wait_interval": wait_ms}
    return MQGMO.pack(values)


@lru_cache(maxsize=64)
def _pmo(options: int, context: int) -> bytes:
    return MQPMO.pack({"version": c.MQPMO_VERSION_3, "options": options, "context": context})


def _fresh(structure: bytes) -> bytes:
    return bytes(bytearray(structure))


class Session:
    """The calls of one connection. It belongs to the thread that made it.

    Parameters: `queue_manager` a connected `pymqi.QueueManager`; `name` the queue manager's name as it was asked for;
    error texts show it.
    Attributes: `commands_are_answered` whether the command server has answered in this session, and each command since;
    `unanswered_at` when it did not answer last (`time.monotonic`), None where it always did; `own_name` of the queue
    manager that answers, once it was asked (`mqops.mq.inquire.queue_manager_name`).
    """

    def __init__(self, queue_manager: Any, name: str) -> None:
        self.pymqi_manager = queue_manager
        self.name = name
        self.commands_are_answered = False
        self.unanswered_at: float | None = None
        self.own_name = ""
        self._calls = calls()
        self._connection: int = queue_manager.get_handle()
        self._buffers: dict[int, int] = {}
        self._handles: set[int] = set()

    def end_use(self) -> bool:
        """Back out what is not committed, and close what is open, as an MQDISC behind an MQBACK does; whether that was
        done, so that the connection may be used again."""
        comp, _reason = self._calls.MQBACK(self._connection)
        try:
            for handle in tuple(self._handles):
                self.close(handle)
        except MQError:
            return False
        return bool(comp != c.MQCC_FAILED)

    def disconnect(self) -> None:
        """Back out what is not committed (an MQDISC alone would commit it), then MQDISC. Errors are passed over."""
        comp, _reason = self._calls.MQBACK(self._connection)
        if comp != c.MQCC_FAILED:
            with suppress(Exception):
                self.pymqi_manager.disconnect()

    def open(
        self, name: str, options: int, *, queue_manager: str = "", alternate_user: str = "", kind: int = c.MQOT_Q
    ) -> int:
        """MQOPEN; returns the handle. A model queue is refused: a temporary queue is deleted with its messages when
        the handle is closed.

        Raises:
            MQError: with the object's name; MQRC_DYNAMIC_Q_NAME_ERROR for a model queue. What is no name at all, as
                those that messages carry may be, is refused without a call.
        """
        return self._open(name, options, queue_manager, alternate_user, kind)[0]

    def local_queue(self, name: str, queue_manager: str = "") -> str:
        """The local queue that puts to a name go to, a transmission queue where it leads to another queue manager.

        IBM MQ, "MQOPEN option for resolving local queue names". Raises `MQError` as `open` for puts does.
        """
        return self._resolve(name, queue_manager, c.MQOO_RESOLVE_LOCAL_Q)[0]

    def final_queue(self, name: str, queue_manager: str = "") -> tuple[str, str]:
        """The queue, and its queue manager, that the queue manager resolves a name to: what an MQXQH would name.

        A queue here has this queue manager's name. The instance of a cluster queue is chosen when it is opened;
        without that MQOPEN names no queue manager (IBM MQ, "ResolvedQMgrName"). Raises `MQError` as `open` for puts
        does.
        """
        return self._resolve(name, queue_manager, c.MQOO_BIND_ON_OPEN)

    def _resolve(self, name: str, queue_manager: str, option: int) -> tuple[str, str]:
        """ResolvedQName and ResolvedQMgrName of an MQOPEN for puts with one more option."""
        handle, described = self._open(name, c.MQOO_OUTPUT | c.MQOO_FAIL_IF_QUIESCING | option, queue_manager)
        self.close(handle)
        queue, manager = _resolved(described)
        return text(queue), text(manager)

    def _open(
        self, name: str, options: int, queue_manager: str, alternate_user: str = "", kind: int = c.MQOT_Q
    ) -> tuple[int, bytes]:
        """The handle, and the MQOD as the queue manager left it."""
        values = {
            "version": c.MQOD_VERSION_4,
            "object_type": kind,
            "object_name": name,
            "object_q_mgr_name": queue_manager,
            "dynamic_q_name": "",
            "alternate_user_id": alternate_user,
        }
        try:
            od = MQOD.pack(values)
        except WireError as error:
            advice = f"{error.field} {error.message}"
            raise mq_error(
                c.MQCC_FAILED, _REFUSED[error.field], verb="MQOPEN", object_name=name or self.name, advice=advice
            ) from error
        handle, od, comp, reason = self._calls.MQOPEN(self._connection, od, options)
        if comp == c.MQCC_FAILED:
            raise mq_error(comp, reason, verb="MQOPEN", object_name=name or self.name)
        self._handles.add(int(handle))
        return int(handle), od

    def close(self, handle: int, options: int = c.MQCO_NONE) -> None:
        """MQCLOSE. Raises `MQError`."""
        self._buffers.pop(handle, None)
        self._handles.discard(handle)
        comp, reason = self._calls.MQCLOSE(self._connection, handle, options)
        if comp == c.MQCC_FAILED:
            raise mq_error(comp, reason, verb="MQCLOSE")

    def get(
        self,
        handle: int,
        options: int,
        *,
        match: int = c.MQMO_NONE,
        ids: bytes = _NO_IDS,
        wait_ms: int = 0,
        length: int = 0,
        room: int | None = None,
        name: str = "",
        group_id: bytes = b"",
    ) -> RawMessage | None:
        """MQGET; None if there is no message. The message is whole, whatever its length, unless `room` cuts it.

        Parameters: `ids` MsgId and CorrelId, 48 bytes, if `match` (MQMO_*) asks for them; `wait_ms` milliseconds to
        wait (MQGMO_WAIT is set for it); `length` bytes the body is expected to have, 0 if not known; `room` bytes of
        the buffer if MQGMO_ACCEPT_TRUNCATED_MSG shall cut the body to it; `name` of the queue, for error texts;
        `group_id` 24 bytes, if `match` asks for it.

        Raises:
            MQError: any failure but MQRC_NO_MSG_AVAILABLE.
        """
        if wait_ms:
            options |= c.MQGMO_WAIT
        if room is None:
            room = max(length, self._buffers.get(handle, FIRST_BUFFER))
        grown = False
        while True:
            md = _MD_HEAD + ids + _MD_TAIL
            if group_id:
                md = md[:_GROUP_ID] + group_id + md[_GROUP_ID + len(group_id) :]
            gmo = _fresh(_gmo(options, match, wait_ms))
            body, md, _gmo_out, actual, comp, reason = self._calls.MQGET(self._connection, handle, md, gmo, room)
            if comp == c.MQCC_OK:
                if grown:  # not before: a buffer that the channel refuses would fail every further get
                    self._buffers[handle] = room
                return RawMessage(md, body)
            if reason == c.MQRC_NO_MSG_AVAILABLE:
                return None
            if reason == c.MQRC_TRUNCATED_MSG_FAILED and actual > room:
                room, grown = actual, True  # not more: a client's channel may refuse it (2010)
            elif comp == c.MQCC_FAILED:
                raise mq_error(comp, reason, verb="MQGET", object_name=name)
            else:
                return RawMessage(md, body)

    def put(self, handle: int, md: bytes, body: bytes, options: int, *, context: int = 0) -> int:
        """MQPUT; returns 0 or the reason code. `md` is written into: give bytes that nothing else uses."""
        pmo = _fresh(_pmo(options, context))
        _md, _pmo_out, comp, reason = self._calls.MQPUT(self._connection, handle, md, pmo, body)
        return int(reason) if comp == c.MQCC_FAILED else 0

    def commit(self) -> None:
        """MQCMIT.

        Raises:
            OutcomeUnknown: the connection broke: it may have been made or not.
            MQError: it was not made.
        """
        comp, reason = self._calls.MQCMIT(self._connection)
        if comp:
            raise mq_error(comp, reason, verb="MQCMIT", object_name=self.name)

    def backout(self) -> None:
        """MQBACK. Raises `MQError`."""
        comp, reason = self._calls.MQBACK(self._connection)
        if comp == c.MQCC_FAILED:
            raise mq_error(comp, reason, verb="MQBACK", object_name=self.name)

    def inquire(self, handle: int, selector: int) -> int | str:
        """MQINQ of one attribute: a number, or text without trailing blanks. Raises `MQError`."""
        value, comp, reason = self._calls.MQINQ(self._connection, handle, selector)
        if comp == c.MQCC_FAILED:
            raise mq_error(comp, reason, verb="MQINQ")
        return value.rstrip(b" \0").decode("latin-1") if isinstance(value, bytes) else int(value)

    def set(self, handle: int, selector: int, value: int, *, name: str = "") -> None:
        """MQSET of a number. Parameters: `name` of the queue, for error texts. Raises `MQError`."""
        comp, reason = self._calls.MQSET(self._connection, handle, selector, value)
        if comp == c.MQCC_FAILED:
            raise mq_error(comp, reason, verb="MQSET", object_name=name)


def is_gone(error: MQError) -> bool:
    """Whether an error says that the object is not there (any more)."""
    return error.reason in {c.MQRC_UNKNOWN_OBJECT_NAME, c.MQRC_Q_DELETED}


def has_ended(error: MQError, queues: Collection[str]) -> bool:
    """Whether an error says that one of several queues of a run is not there any more: what was on it is gone, and the
    run goes on with the others. A queue that is the only one has to be there."""
    return is_gone(error) and len(queues) > 1
