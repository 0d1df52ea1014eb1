"""The MQI's calls as C makes them: pointers in, engine calls, pointers out. No exception leaves a callback.

Each function here takes cffi values in the order of `signatures`, without completion and reason code. It returns None
for success, or (completion code, reason code). Output handles are preset as unusable by the library.
"""

# ruff: noqa: PLR0917  # the calls' parameters are the MQI's

from __future__ import annotations

import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable
from functools import cache
from itertools import accumulate, takewhile
from typing import Any

from mqlite.c_interface.property_calls import PropertyCalls, message_handle
from mqlite.c_interface.signatures import CALLS, NEEDED, names
from mqlite.c_interface.status_calls import StatusCalls
from mqlite.c_interface.subscription_calls import SubscriptionCalls
from mqlite.c_interface.variable_texts import VariableTexts
from mqlite.calls import inquire as inquiry
from mqlite.calls.get import GetRequest, GetResult
from mqlite.calls.get import get as engine_get
from mqlite.calls.opening import OpenObject, close, open_object, open_queue, queue_of
from mqlite.calls.put import PutRequest
from mqlite.calls.put import put as engine_put
from mqlite.calls.retrieval import PROPERTIES
from mqlite.connections import unit_of_work
from mqlite.connections.connection import Connection, already_connected, connect, connection_of, known, store_lock
from mqlite.failure import Failure
from mqlite.messages import descriptor as d
from mqlite.objects.engine import Engine
from mqlite.objects.manager import connection_identifier, opened
from mqlite.publish_subscribe.subscriptions import close_handle
from mqlite.publish_subscribe.topics import publish
from mqlite.security import authority
from mqlite.security import connection_authentication as security
from mqwire import constants as c
from mqwire import mqi
from mqwire.fields import text

Outcome = tuple[int, int] | None
ALREADY_CONNECTED = (c.MQCC_WARNING, c.MQRC_ALREADY_CONNECTED)
HANDLE_SHARES = c.MQCNO_HANDLE_SHARE_BLOCK | c.MQCNO_HANDLE_SHARE_NO_BLOCK
ONE_OF = (
    c.MQCNO_HANDLE_SHARE_NONE | HANDLE_SHARES,
    c.MQCNO_FASTPATH_BINDING | c.MQCNO_SHARED_BINDING | c.MQCNO_ISOLATED_BINDING,
    c.MQCNO_LOCAL_BINDING | c.MQCNO_CLIENT_BINDING,
    c.MQCNO_RECONNECT | c.MQCNO_RECONNECT_DISABLED | c.MQCNO_RECONNECT_Q_MGR,
    c.MQCNO_ACCOUNTING_MQI_ENABLED | c.MQCNO_ACCOUNTING_MQI_DISABLED,
    c.MQCNO_ACCOUNTING_Q_ENABLED | c.MQCNO_ACCOUNTING_Q_DISABLED,
    c.MQCNO_ACTIVITY_TRACE_ENABLED | c.MQCNO_ACTIVITY_TRACE_DISABLED,
    c.MQCNO_NO_CONV_SHARING | c.MQCNO_ALL_CONVS_SHARE,
)
"""Options of MQCONNX that exclude each other (IBM MQ, "Options (MQLONG) for MQCNO")."""
CONNECT_OPTIONS = c.MQCNO_CD_FOR_OUTPUT_ONLY | c.MQCNO_USE_CD_SELECTION
for _options in ONE_OF:
    CONNECT_OPTIONS |= _options
GROUP_FLAGS = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP
GROUP_STATUSES = {
    0: c.MQGS_NOT_IN_GROUP,
    c.MQMF_MSG_IN_GROUP: c.MQGS_MSG_IN_GROUP,
    c.MQMF_LAST_MSG_IN_GROUP: c.MQGS_LAST_MSG_IN_GROUP,
    GROUP_FLAGS: c.MQGS_LAST_MSG_IN_GROUP,
}
SEGMENT_FLAGS = c.MQMF_SEGMENT | c.MQMF_LAST_SEGMENT
SEGMENT_STATUSES = {
    0: c.MQSS_NOT_A_SEGMENT,
    c.MQMF_SEGMENT: c.MQSS_SEGMENT,
    c.MQMF_LAST_SEGMENT: c.MQSS_LAST_SEGMENT,
    SEGMENT_FLAGS: c.MQSS_LAST_SEGMENT,
}
LONGEST_MESSAGE = 104_857_600
MOST_SELECTORS = 256
LONGEST_CREDENTIAL = 1024
gmo_asked_1 = mqi.MQGMO.reader("Options", "WaitInterval")
gmo_asked_2 = mqi.MQGMO.reader("Options", "WaitInterval", "MatchOptions")
gmo_asked_3 = mqi.MQGMO.reader("Options", "WaitInterval", "MatchOptions", "MsgToken")
gmo_returned_1 = mqi.MQGMO.writer("ResolvedQName")
gmo_returned_2 = mqi.MQGMO.writer("ResolvedQName", "GroupStatus", "SegmentStatus", "Segmentation")
gmo_returned_3 = mqi.MQGMO.writer(
    "ResolvedQName", "GroupStatus", "SegmentStatus", "Segmentation", "MsgToken", "ReturnedLength"
)
gmo_handle = mqi.MQGMO.reader("MsgHandle")
pmo_handle = mqi.MQPMO.reader("OriginalMsgHandle")
pmo_options = mqi.MQPMO.reader("Options", "Context")
pmo_returned = mqi.MQPMO.writer(
    "KnownDestCount", "UnknownDestCount", "InvalidDestCount", "ResolvedQName", "ResolvedQMgrName"
)
od_names = mqi.MQOD.reader("ObjectType", "ObjectName", "ObjectQMgrName", "DynamicQName", "AlternateUserId")
od_records = mqi.MQOD.reader("RecsPresent")
od_selector = mqi.MQOD.reader("SelectionStringVSLength")
od_set_names = mqi.MQOD.writer("ObjectName", "ObjectQMgrName")
od_counts = mqi.MQOD.writer("KnownDestCount", "UnknownDestCount", "InvalidDestCount")
od_resolved = mqi.MQOD.writer("ResolvedQName", "ResolvedQMgrName")
od_resolved_type = mqi.MQOD.writer("ResolvedType")
cno_options = mqi.MQCNO.reader("Options")
cno_channel = mqi.MQCNO.reader("ClientConnPtr", "ClientConnOffset")
cno_security = mqi.MQCNO.reader("SecurityParmsPtr", "SecurityParmsOffset")
cno_application = mqi.MQCNO.reader("ApplName")
cno_returned = mqi.MQCNO.writer("ConnectionId")
cd_fields = mqi.MQCD.reader("ChannelName", "ConnectionName", "MaxMsgLength")
csp_type = mqi.MQCSP.reader("AuthenticationType")
csp_user = mqi.MQCSP.reader("CSPUserIdPtr", "CSPUserIdOffset", "CSPUserIdLength")
csp_password = mqi.MQCSP.reader("CSPPasswordPtr", "CSPPasswordOffset", "CSPPasswordLength")


class Interface(PropertyCalls, SubscriptionCalls, StatusCalls):
    """The calls, on one cffi instance.

    Parameters: `ffi` of the bridge module.
    """

    def __init__(self, ffi: Any) -> None:
        self._buffer = ffi.buffer
        self._cast = ffi.cast
        self._string = ffi.string
        self.texts = VariableTexts(ffi)

    def structure(self, pointer: Any, layout: Any, reason: int) -> tuple[Any, int]:
        """The buffer of a structure as far as its version goes, and the version.

        Raises Failure with `reason` where the identifier or the version is not one of the structure.
        """
        if not pointer:
            raise Failure(reason)
        start = self._cast("char *", pointer)
        found = heads(layout).get(bytes(self._buffer(start, 8)))
        if found is None:
            raise Failure(reason)
        version, length = found
        return self._buffer(start, length), version

    def mqconn(self, name: Any, hconn: Any) -> Outcome:
        wanted = self._manager_name(name)
        if (number := already_connected(wanted)) is not None:
            hconn[0] = number
            return ALREADY_CONNECTED
        hconn[0] = connected(wanted, "", None)
        return None

    def _manager_name(self, pointer: Any) -> str:
        return text(bytes(self._string(self._cast("char *", pointer), 48)))

    def mqconnx(self, name: Any, options: Any, hconn: Any) -> Outcome:
        raw, version = self.structure(options, mqi.MQCNO, c.MQRC_CNO_ERROR)
        (flags,) = cno_options(raw)
        check_connect_options(flags)
        definition = at(int(self._cast("intptr_t", options)), *cno_channel(raw)) if version >= 2 else 0
        security = at(int(self._cast("intptr_t", options)), *cno_security(raw)) if version >= 5 else 0
        user, password = self._credentials(security) if security else ("", None)
        channel, conn_name, longest = self._channel(definition) if definition else ("", "", 0)
        wanted, shared = self._manager_name(name), bool(flags & HANDLE_SHARES)
        if not shared and (number := already_connected(wanted)) is not None:
            hconn[0] = number
            return ALREADY_CONNECTED
        client = bool(channel) or bool(flags & c.MQCNO_CLIENT_BINDING)
        application = text(cno_application(raw)[0]) if version >= 7 else ""
        number = connected(
            wanted, user, password, client=client, shared=shared, channel=channel, conn_name=conn_name, longest=longest,
            application=application,
        )  # fmt: skip
        if version >= 5:
            made = connection_of(number)
            cno_returned(raw, connection_identifier(made.manager.identity, made.id))
        hconn[0] = number
        return None

    def _credentials(self, pointer: int) -> tuple[str, str | None]:
        """User and password of an MQCSP. Raises Failure (MQRC_CSP_ERROR), also where it says a token."""
        parameters, _ = self.structure(self._cast("void *", pointer), mqi.MQCSP, c.MQRC_CSP_ERROR)
        (kind,) = csp_type(parameters)
        if kind == c.MQCSP_AUTH_NONE:
            return "", None
        if kind != c.MQCSP_AUTH_USER_ID_AND_PWD:
            raise Failure(c.MQRC_CSP_ERROR, f"AuthenticationType {kind}")
        user, password = (
            self._credential(at(pointer, address, offset), length)
            for address, offset, length in (csp_user(parameters), csp_password(parameters))
        )
        return user.rstrip("\0 "), password

    def _credential(self, pointer: int, length: int) -> str:
        if not 0 <= length <= LONGEST_CREDENTIAL:
            raise Failure(c.MQRC_CSP_ERROR, f"length {length}")
        if not pointer:
            return ""
        return bytes(self._buffer(self._cast("char *", pointer), length)).decode("utf-8", "surrogateescape")

    def _channel(self, pointer: int) -> tuple[str, str, int]:
        """Channel, connection name and longest message of an MQCD."""
        raw = self._buffer(self._cast("char *", pointer), mqi.MQCD.length(2))
        channel, conn_name, longest = cd_fields(raw)
        return text(channel), text(conn_name), longest

    def mqdisc(self, hconn: Any) -> Outcome:
        number = hconn[0]
        unit_of_work.disconnect(connection_of(number, ending=True), number)
        hconn[0] = c.MQHC_UNUSABLE_HCONN
        return None

    def mqopen(self, hconn: int, od: Any, options: int, hobj: Any) -> Outcome:
        connection = connection_of(hconn)
        hobj[0] = self._open(connection, od, options).handle
        return None

    def _open(self, connection: Connection, od: Any, options: int) -> OpenObject:
        raw, version = self.structure(od, mqi.MQOD, c.MQRC_OD_ERROR)
        connection.check_quiescing(options & c.MQOO_FAIL_IF_QUIESCING)
        kind, *parts = od_names(raw)
        name, queue_manager, dynamic, alternate = (text(part) for part in parts)
        alternate = d.text_of_program(alternate, connection.manager.application_ccsid)
        user = authority.alternate_user(alternate, asked=bool(options & c.MQOO_ALTERNATE_USER_AUTHORITY))
        if (version >= 2 and od_records(raw)[0]) or (version >= 4 and od_selector(raw)[0]):
            raise Failure(c.MQRC_FUNCTION_NOT_SUPPORTED, "distribution lists and selectors")
        if kind == c.MQOT_TOPIC:
            return self.open_topic(connection, raw, version, options)
        if kind != c.MQOT_Q:
            return open_object(
                connection, kind=kind, name=name, queue_manager=queue_manager, options=options, user=user
            )
        opened = open_queue(
            connection, name=name, queue_manager=queue_manager, dynamic_name=dynamic, options=options, user=user
        )
        resolved = opened.resolved
        if resolved is not None and resolved.model is not None:
            od_set_names(raw, opened.name, connection.manager.name)
        if version >= 2:
            od_counts(raw, *counts(opened))
        if version >= 3:
            local = bool(options & c.MQOO_RESOLVE_LOCAL_Q)
            od_resolved(raw, *resolved_names(connection, opened, local=local))
        if version >= 4:
            od_resolved_type(raw, c.MQOT_Q)
        return opened

    def mqclose(self, hconn: int, hobj: Any, options: int) -> Outcome:
        warning = close_handle(connection_of(hconn), hobj[0], options)
        hobj[0] = c.MQHO_UNUSABLE_HOBJ
        return (c.MQCC_WARNING, warning) if warning else None

    def mqput(self, hconn: int, hobj: int, md: Any, pmo: Any, length: int, buffer: Any) -> Outcome:
        connection = connection_of(hconn)
        return self._put(connection, queue_of(connection, hobj), md, pmo, length, buffer)

    def _put(self, connection: Connection, opened: OpenObject, md: Any, pmo: Any, length: int, buffer: Any) -> Outcome:
        """A put; what becomes of one with MQPMO_ASYNC_RESPONSE is counted for MQSTAT."""
        options_raw, _ = self.structure(pmo, mqi.MQPMO, c.MQRC_PMO_ERROR)
        if not pmo_options(options_raw)[0] & c.MQPMO_ASYNC_RESPONSE:
            return self._put_now(connection, opened, md, pmo, length, buffer)
        comp, reason = c.MQCC_OK, c.MQRC_NONE
        try:
            outcome = self._put_now(connection, opened, md, pmo, length, buffer)
            comp, reason = outcome or (comp, reason)
            return outcome
        except Failure as failure:
            comp, reason = failure.comp, failure.reason
            raise
        finally:
            names = resolved_names(connection, opened, local=False)
            connection.asynchronous.add(comp, reason, (opened.definition_name, "", *names))

    def _put_now(
        self, connection: Connection, opened: OpenObject, md: Any, pmo: Any, length: int, buffer: Any
    ) -> Outcome:
        raw, version = self.structure(md, mqi.MQMD, c.MQRC_MD_ERROR)
        options_raw, pmo_version = self.structure(pmo, mqi.MQPMO, c.MQRC_PMO_ERROR)
        body = self._body(connection, length, buffer)
        options, context = pmo_options(options_raw)
        connection.check_quiescing(options & c.MQPMO_FAIL_IF_QUIESCING)
        original = pmo_handle(options_raw)[0] if pmo_version >= 3 else 0
        properties = message_handle(connection, original).properties if original > 0 else {}
        request = PutRequest(
            md=d.full(raw, version), options=options, context=context, body=body, version=version,
            properties=properties,
        )  # fmt: skip
        filled = (engine_put if opened.queue else publish)(connection, opened, request)
        return_descriptor(raw, filled, version)
        names = resolved_names(connection, opened, local=bool(options & c.MQPMO_RESOLVE_LOCAL_Q))
        pmo_returned(options_raw, *counts(opened), *names)
        return (c.MQCC_WARNING, request.warning) if request.warning else None

    def _body(self, connection: Connection, length: int, buffer: Any) -> bytes:
        connection.check_length(length)
        if length > LONGEST_MESSAGE:
            raise Failure(c.MQRC_MSG_TOO_BIG_FOR_Q_MGR)
        if not length:
            return b""
        if not buffer:
            raise Failure(c.MQRC_BUFFER_ERROR)
        return bytes(self._buffer(self._cast("char *", buffer), length))

    def mqput1(self, hconn: int, od: Any, md: Any, pmo: Any, length: int, buffer: Any) -> Outcome:
        connection = connection_of(hconn)
        options_raw, _ = self.structure(pmo, mqi.MQPMO, c.MQRC_PMO_ERROR)
        opened = self._open(connection, od, open_options(pmo_options(options_raw)[0]))
        try:
            return self._put(connection, opened, md, pmo, length, buffer)
        finally:
            close(connection, opened.handle, c.MQCO_NONE)

    def mqget(self, hconn: int, hobj: int, md: Any, gmo: Any, length: int, buffer: Any, data_length: Any) -> Outcome:
        connection = connection_of(hconn)
        opened = queue_of(connection, hobj)
        raw, version = self.structure(md, mqi.MQMD, c.MQRC_MD_ERROR)
        options_raw, options_version = self.structure(gmo, mqi.MQGMO, c.MQRC_GMO_ERROR)
        connection.check_length(length)
        if length and not buffer:
            raise Failure(c.MQRC_BUFFER_ERROR)
        options, wait, match, token = asked(options_raw, options_version)
        handle = None
        given = gmo_handle(options_raw)[0] if options_version >= 4 else c.MQHM_NONE
        if options & c.MQGMO_PROPERTIES_IN_HANDLE or (given != c.MQHM_NONE and not options & PROPERTIES):
            handle = message_handle(connection, given)
        request = GetRequest(
            md=bytes(raw) if version >= 2 else d.full(raw, version),
            options=options,
            match=match,
            token=token,
            wait=wait,
            room=length,
            version=version,
            in_handle=handle is not None,
        )
        got = engine_get(connection, opened, request)
        if got is None:
            data_length[0] = 0
            return None
        if options & c.MQGMO_CONVERT:
            from mqlite.calls.conversion import convert  # noqa: PLC0415 - few programs ask for it

            got = convert(got, request, connection.manager)
        if handle is not None and got.properties is not None:
            handle.fill(got.properties)
        self._return(got, connection, opened, raw, version, options_raw, options_version)
        data_length[0] = len(got.body)
        room = min(length, len(got.body))
        if room:
            self._buffer(self._cast("char *", buffer), room)[:] = got.body[:room]
        return (got.comp, got.reason) if got.reason else None

    def _return(
        self,
        got: GetResult,
        connection: Connection,
        opened: OpenObject,
        raw: Any,
        version: int,
        gmo: Any,
        gmo_version: int,
    ) -> None:
        return_descriptor(raw, got.md, version)
        if gmo_version >= 3:
            gmo_returned_3(gmo, opened.name, *statuses(got.md), got.token, len(got.body))
        elif gmo_version == 2:
            gmo_returned_2(gmo, opened.name, *statuses(got.md))
        else:
            gmo_returned_1(gmo, opened.name)

    def mqinq(
        self, hconn: int, hobj: int, selectors: int, selector: Any, ints: int, integer: Any, chars: int, out: Any
    ) -> Outcome:
        connection = connection_of(hconn)
        check_counts(selectors, ints, chars)
        check_areas((selectors, selector), (ints, integer), (chars, out))
        wanted = [selector[i] for i in range(selectors)]
        found = inquiry.inquire(connection, queue_of(connection, hobj), wanted)
        for position, value in enumerate(found.integers[:ints]):
            integer[position] = value
        ccsid = connection.manager.application_ccsid
        fields = [d.field_of(value, length, ccsid) for value, length in found.texts]
        whole = list(takewhile(lambda end: end <= chars, accumulate(len(field) for field in fields)))
        if whole:  # only complete attributes are returned, and what is behind them stays (IBM MQ, "2008")
            self._buffer(out, chars)[: whole[-1]] = b"".join(fields[: len(whole)])
        if not found.applicable:  # of several warnings the first of these (IBM MQ, MQINQ, usage notes)
            return c.MQCC_WARNING, c.MQRC_SELECTOR_NOT_FOR_TYPE
        if len(found.integers) > ints:
            return c.MQCC_WARNING, c.MQRC_INT_ATTR_COUNT_TOO_SMALL
        if len(whole) < len(fields):
            return c.MQCC_WARNING, c.MQRC_CHAR_ATTRS_TOO_SHORT
        return None

    def mqset(
        self, hconn: int, hobj: int, selectors: int, selector: Any, ints: int, integer: Any, chars: int, given: Any
    ) -> Outcome:
        connection = connection_of(hconn)
        check_counts(selectors, ints, chars)
        check_areas((selectors, selector), (ints, integer), (chars, given))
        wanted = [selector[i] for i in range(selectors)]
        values = [integer[i] for i in range(ints)]
        texts = bytes(self._buffer(given, chars)) if chars else b""
        inquiry.change(connection, queue_of(connection, hobj), wanted, values, texts)
        return None

    def mqcmit(self, hconn: int) -> Outcome:
        unit_of_work.commit(connection_of(hconn))
        return None

    def mqback(self, hconn: int) -> Outcome:
        unit_of_work.back_out(connection_of(hconn), requested=True)
        return None

    def mqbegin(self, hconn: int, options: Any) -> Outcome:
        connection_of(hconn)
        return c.MQCC_WARNING, c.MQRC_NO_EXTERNAL_PARTICIPANTS


@cache
def heads(layout: Any) -> dict[bytes, tuple[int, int]]:
    """The first eight bytes that a structure may have, identifier and version; which version they say, its length."""
    return {
        layout.struc_id.ljust(4).encode() + version.to_bytes(4, "little"): (version, layout.length(version))
        for version in layout.versions
    }


def check_counts(selectors: int, ints: int, chars: int) -> None:
    """Raises Failure (MQRC_SELECTOR_COUNT_ERROR, MQRC_INT_ATTR_COUNT_ERROR, MQRC_CHAR_ATTR_LENGTH_ERROR)."""
    if not 0 <= selectors <= MOST_SELECTORS:
        raise Failure(c.MQRC_SELECTOR_COUNT_ERROR)
    if not 0 <= ints <= MOST_SELECTORS:
        raise Failure(c.MQRC_INT_ATTR_COUNT_ERROR)
    if chars < 0:
        raise Failure(c.MQRC_CHAR_ATTR_LENGTH_ERROR)


def check_areas(selectors: tuple[int, Any], ints: tuple[int, Any], chars: tuple[int, Any]) -> None:
    """Parameters: each the number of elements and the pointer to them.

    Raises Failure (MQRC_SELECTOR_ERROR, MQRC_INT_ATTRS_ARRAY_ERROR, MQRC_CHAR_ATTRS_ERROR) where there should be some
    and the pointer is NULL.
    """
    reasons = (c.MQRC_SELECTOR_ERROR, c.MQRC_INT_ATTRS_ARRAY_ERROR, c.MQRC_CHAR_ATTRS_ERROR)
    for (count, pointer), reason in zip((selectors, ints, chars), reasons, strict=True):
        if count and not pointer:
            raise Failure(reason)


def check_connect_options(options: int) -> None:
    """Raises Failure (MQRC_OPTIONS_ERROR) for options that mqlite does not have, or that exclude each other."""
    if options & ~CONNECT_OPTIONS or any((options & group).bit_count() > 1 for group in ONE_OF):
        raise Failure(c.MQRC_OPTIONS_ERROR)


def at(structure: int, pointer: int, offset: int) -> int:
    """The address of what a structure leads to by a pointer, or where that is NULL, by an offset; 0 for nothing."""
    return pointer or (structure + offset if offset else 0)


def open_options(put_options: int) -> int:
    """The open options that an MQPUT1 implies."""
    options = c.MQOO_OUTPUT
    for pmo, oo in (
        (c.MQPMO_PASS_IDENTITY_CONTEXT, c.MQOO_PASS_IDENTITY_CONTEXT),
        (c.MQPMO_PASS_ALL_CONTEXT, c.MQOO_PASS_ALL_CONTEXT),
        (c.MQPMO_SET_IDENTITY_CONTEXT, c.MQOO_SET_IDENTITY_CONTEXT),
        (c.MQPMO_SET_ALL_CONTEXT, c.MQOO_SET_ALL_CONTEXT),
        (c.MQPMO_ALTERNATE_USER_AUTHORITY, c.MQOO_ALTERNATE_USER_AUTHORITY),
    ):
        if put_options & pmo:
            options |= oo
    return options


def resolved_names(connection: Connection, opened: OpenObject, *, local: bool) -> tuple[str, str]:
    """ResolvedQName and ResolvedQMgrName.

    Parameters: `local` whether the transmission queue is asked for, not the queue that it leads to (RESOLVE_LOCAL_Q).
    """
    resolved = opened.resolved
    if resolved is None:
        return "", ""  # a topic
    if resolved.remote_queue_manager and not local:
        return resolved.remote_queue, resolved.remote_queue_manager
    return opened.name, connection.manager.name


def counts(opened: OpenObject) -> tuple[int, int, int]:
    """KnownDestCount, UnknownDestCount and InvalidDestCount: how many queues are local, remote, failed."""
    remote = opened.resolved is not None and opened.resolved.remote_queue_manager
    return (0, 1, 0) if remote else (1, 0, 0)


def asked(gmo: Any, version: int) -> tuple[int, int, int, bytes]:
    """Options, WaitInterval, MatchOptions and MsgToken of an MQGMO.

    Raises Failure (MQRC_WRONG_GMO_VERSION) where one without MsgToken asks for a match of it.
    """
    if version >= 3:
        return gmo_asked_3(gmo)
    if version == 2:
        options, wait, match = gmo_asked_2(gmo)
        if match & c.MQMO_MATCH_MSG_TOKEN:
            raise Failure(c.MQRC_WRONG_GMO_VERSION)
        return options, wait, match, b""
    return (*gmo_asked_1(gmo), c.MQMO_MATCH_MSG_ID | c.MQMO_MATCH_CORREL_ID, b"")


def return_descriptor(raw: Any, md: bytearray, version: int) -> None:
    """Give the application a descriptor in the version that it asked with."""
    if version < 2:
        d.set_version(md, version)
        raw[:] = bytes(md[: d.LENGTH_1])
    else:
        raw[:] = bytes(md)


def statuses(md: bytearray) -> tuple[int, int, int]:
    """GroupStatus, SegmentStatus and Segmentation of a message, from its MsgFlags."""
    (flags,) = d.flags(md)
    segmentation = c.MQSEG_ALLOWED if flags & c.MQMF_SEGMENTATION_ALLOWED else c.MQSEG_INHIBITED
    return GROUP_STATUSES[flags & GROUP_FLAGS], SEGMENT_STATUSES[flags & SEGMENT_FLAGS], segmentation


def callbacks(ffi: Any) -> dict[str, Callable[..., None]]:
    """MQI name → the function that the library calls. What is not built answers MQRC_FUNCTION_NOT_SUPPORTED."""
    interface = Interface(ffi)
    return {name: guarded(name, getattr(interface, name.lower(), unsupported)) for name in CALLS}


def unsupported(*arguments: Any) -> Outcome:
    """A call that mqlite does not have."""
    raise Failure(c.MQRC_FUNCTION_NOT_SUPPORTED)


class _Inside(threading.local):
    """Whether this thread is inside a call, and what has to be done after it."""

    now = False

    def __init__(self) -> None:
        self.later: list[Callable[[], None]] = []


_inside = _Inside()


def connected(
    name: str, user: str, password: str | None, *, client: bool = False, channel: str = "", **options: Any
) -> int:
    """The hconn of a new connection for whoever may have one: one store is opened, which it keeps.

    Parameters: `options` as of `connect`. Raises Failure, as `opened`, `authenticate` and `connect`.
    """
    manager, store = opened(name)
    try:
        engine = Engine.of(manager, store)
        runs_as = security.authenticate(engine, user, password, client=client, channel=channel)
        return connect(manager, store, user=runs_as, channel=channel, **options)
    except BaseException:
        store.close()
        raise


def guarded(name: str, call: Callable[..., Outcome]) -> Callable[..., None]:
    """A callback that always ends with a completion and a reason code, one call of a connection at a time.

    The garbage collector may run within a call and make another one, as objects of the application close themselves:
    handles are then closed after the call, anything else answers MQRC_CALL_IN_PROGRESS.
    """
    needed = [(names(CALLS[name]).index(parameter), error) for parameter, error in NEEDED.get(name, {}).items()]

    def answer(*arguments: Any) -> None:
        comp, reason = arguments[-2], arguments[-1]
        for place, error in needed:
            if not arguments[place]:
                comp[0], reason[0] = c.MQCC_FAILED, error
                return
        if _inside.now:
            postponed = postpone(name, arguments)
            comp[0], reason[0] = (0, 0) if postponed else (c.MQCC_FAILED, c.MQRC_CALL_IN_PROGRESS)
            return
        _inside.now = True
        try:
            connection = known(arguments[0][0] if name == "MQDISC" else arguments[0])
            if connection is None:  # MQCONN and MQCONNX open stores: not while the process forks
                with store_lock():
                    outcome = call(*arguments[:-2])
            else:
                connection.check_thread()
                with connection.lock, connection.inside:
                    outcome = call(*arguments[:-2])
            comp[0], reason[0] = outcome or (c.MQCC_OK, c.MQRC_NONE)
        except Failure as failure:
            comp[0], reason[0] = failure.comp, failure.reason
        except KeyboardInterrupt:  # the library raises SIGINT again in the caller's frame
            comp[0], reason[0] = c.MQCC_FAILED, c.MQRC_CALL_INTERRUPTED
        except sqlite3.Error as error:
            comp[0], reason[0] = c.MQCC_FAILED, reason_of(error)
        except BaseException:  # whatever it was, C must not see it
            traceback.print_exc(file=sys.stderr)
            comp[0], reason[0] = c.MQCC_FAILED, c.MQRC_UNEXPECTED_ERROR
        finally:
            _inside.now = False
            while _inside.later:
                _inside.later.pop(0)()

    return answer


def postpone(name: str, arguments: tuple[Any, ...]) -> bool:
    """Have an MQCLOSE or MQDISC done after the call that this thread is in; False for every other call."""
    if name == "MQCLOSE":
        hconn, hobj, options = arguments[0], arguments[1][0], arguments[2]
        _inside.later.append(lambda: do_postponed(hconn, lambda connection: close_handle(connection, hobj, options)))
    elif name == "MQDISC":
        number = arguments[0][0]
        _inside.later.append(
            lambda: do_postponed(number, lambda connection: unit_of_work.disconnect(connection, number))
        )
    return name in ("MQCLOSE", "MQDISC")


def do_postponed(hconn: int, action: Callable[[Connection], object]) -> None:
    """Do what was postponed. A failure is ignored, because no call is waiting for it."""
    _inside.now = True
    try:
        connection = connection_of(hconn, ending=True)
        with connection.lock, connection.inside:
            action(connection)
    except (Failure, sqlite3.Error):
        pass
    finally:
        _inside.now = False


def reason_of(error: sqlite3.Error) -> int:
    """The reason code for a failure of the store."""
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return c.MQRC_STORAGE_MEDIUM_FULL
    if name.startswith(("SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN", "SQLITE_READONLY")):
        return c.MQRC_RESOURCE_PROBLEM
    return c.MQRC_UNEXPECTED_ERROR
