"""START, STOP, PING, RESET and RESOLVE CHANNEL, and DISPLAY CHSTATUS.

A command only says what is wanted; the service (`mqlite start`) moves messages. START does not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqlite.attributes import Kind, Value, channel_type
from mqlite.attributes.status import Status
from mqlite.commands.filters import generic_match
from mqlite.commands.nouns import CHANNEL_NAME
from mqlite.commands.request import Request, Response, Row
from mqlite.commands.status import status_row, trimmed
from mqlite.conditions import CommandError, Condition
from mqlite.storage.channel_status import ChannelStatus
from mqwire import constants as c

if TYPE_CHECKING:
    from mqlite.administration.protocol import Administration

CALLERS, RECEIVERS = frozenset({"SDR", "SVR"}), frozenset({"RCVR", "RQSTR"})


def start(admin: Administration, request: Request) -> Response:
    """START CHANNEL: a sender begins to move messages; a receiver that was stopped takes calls again.

    IGNSTATE(YES): a channel that is active is no error.
    """
    kind, there = _channel(admin, request.name)
    if kind in CALLERS and there is not None and there.wanted == "START" and there.active and admin.service_running():
        if request.options.get("IGNSTATE") == "YES":
            return Response(done=Condition.CHANNEL_STARTED)
        raise CommandError(Condition.CHANNEL_IN_USE, name=request.name)
    if kind not in CALLERS or (there is not None and not there.active):
        admin.channels.set_state(request.name, kind, c.MQCHS_INACTIVE, there.figures if there else {})
    admin.channels.want(request.name, kind, "START")  # from here on the state is the service's
    return Response(done=Condition.CHANNEL_STARTED)


def stop(admin: Administration, request: Request) -> Response:
    """STOP CHANNEL: the batch that is under way ends first; the channel stays stopped until it is started.

    STATUS(INACTIVE) leaves it inactive instead, and is refused for a channel that is not active. A batch is one
    transaction that ends by itself, so MODE(FORCE) and MODE(TERMINATE) say no more than MODE(QUIESCE), but for a
    server-connection channel, whose connections they break.
    """
    kind, there = _channel(admin, request.name)
    active = there is not None and there.active and admin.service_running()
    if request.options.get("STATUS") == "INACTIVE":
        if not active and request.options.get("IGNSTATE") != "YES":
            raise CommandError(Condition.CHANNEL_NOT_ACTIVE, name=request.name)
        admin.channels.want(request.name, kind, "")
        return Response(done=Condition.CHANNEL_STOPPED)
    admin.channels.want(request.name, kind, "STOP")
    if kind == "SVRCONN" and request.options.get("MODE", "QUIESCE") != "QUIESCE":
        for identifier, values in admin.connections():
            if values["CHANNEL"] == request.name:
                admin.stop_connection(identifier)
    if not active or kind not in CALLERS:
        admin.channels.set_state(request.name, kind, c.MQCHS_STOPPED, there.figures if there else {})
    return Response(done=Condition.CHANNEL_STOPPED)


def ping(admin: Administration, request: Request) -> Response:
    """PING CHANNEL: the partner is there and has the other end. DATALEN is how many bytes IBM MQ would send."""
    kind, there = _channel(admin, request.name)
    text = request.options.get("DATALEN", "64")
    if not text.isdigit() or not 16 <= int(text) <= 32_768:
        reason = c.MQRCCF_PING_DATA_COUNT_ERROR
        raise CommandError(Condition.RANGE_ERROR, name=request.name, reason=reason, parameter=c.MQIACH_DATA_COUNT)
    if kind not in CALLERS:
        raise CommandError(Condition.CHANNEL_WRONG_TYPE, name=request.name)
    if there is not None and there.active and admin.service_running():
        raise CommandError(Condition.CHANNEL_IN_USE, name=request.name)
    admin.ping_channel(request.name)
    return Response(done=Condition.CHANNEL_PINGED)


def reset(admin: Administration, request: Request) -> Response:
    """RESET CHANNEL SEQNUM(n): the next message has this number; for a sender the receiver takes it over.

    A receiver, whose status does not say so, is in use while its sender is connected.
    """
    kind, there = _channel(admin, request.name)
    if kind in CALLERS:
        active = there is not None and there.active and admin.service_running()
    elif kind in RECEIVERS:
        active = any(values["CHANNEL"] == request.name for _, values in admin.connections())
    else:
        raise CommandError(Condition.CHANNEL_WRONG_TYPE, name=request.name)
    if active:
        raise CommandError(Condition.CHANNEL_IN_USE, name=request.name)
    text = request.options.get("SEQNUM", "1")
    if not text.isdigit() or not 1 <= int(text) <= 999_999_999:
        raise CommandError(Condition.RANGE_ERROR, name=request.name, parameter=c.MQIACH_MSG_SEQUENCE_NUMBER)
    admin.reset_channel(request.name, int(text))
    return Response(done=Condition.CHANNEL_RESET)


def resolve(admin: Administration, request: Request) -> Response:
    """RESOLVE CHANNEL ACTION(COMMIT | BACKOUT): what becomes of a batch in doubt whose partner is gone."""
    kind, there = _channel(admin, request.name)
    if kind not in CALLERS:
        raise CommandError(Condition.CHANNEL_WRONG_TYPE, name=request.name)
    if there is not None and there.active and admin.service_running():
        raise CommandError(Condition.CHANNEL_IN_USE, name=request.name)
    action = request.options.get("ACTION", "")
    if action not in {"COMMIT", "BACKOUT"}:
        raise CommandError(Condition.REQUIRED_MISSING, parameter=c.MQIACH_IN_DOUBT)
    admin.resolve_channel(request.name, commit=action == "COMMIT")
    return Response(done=Condition.CHANNEL_RESOLVED)


def display_status(admin: Administration, request: Request) -> Response:
    """DISPLAY CHSTATUS: channels that are active or stopped; an inactive one has no status.

    A server-connection channel has a row for each program that is connected through it.
    """
    rows = [_row(admin, status, state) for status, state in _current(admin)] + list(_client_rows(admin))
    rows = [row for row in rows if generic_match(request.name, str(row.identity[0][1]))]
    found = tuple(row for row in rows if request.admits(row))
    if not found:
        raise CommandError(Condition.CHANNEL_STATUS_NOT_FOUND, name=request.name)
    return Response(rows=tuple(trimmed(row, request.wanted) for row in found))


def _current(admin: Administration) -> Iterator[tuple[ChannelStatus, int]]:
    """Each channel that is not inactive, with its state (MQCHS_*)."""
    connected = {values["CHANNEL"] for _, values in admin.connections()}
    running = admin.service_running()
    for status in admin.channels.read_all():
        state = status.state
        if status.channel_type in RECEIVERS:
            state = _receiver_state(status, connected=status.name in connected)
        elif status.channel_type in CALLERS and state != c.MQCHS_STOPPED and not running:
            state = c.MQCHS_INACTIVE
        if state != c.MQCHS_INACTIVE:
            yield status, state


def _client_rows(admin: Administration) -> Iterator[Row]:
    """The instances of server-connection channels: one for each connection of a client."""
    serving = {
        name
        for _, name, values in admin.find((Kind.CHANNEL,))
        if channel_type(values["CHLTYPE"]) == "SVRCONN"
    }  # fmt: skip
    for _, values in admin.connections():
        if values["CHANNEL"] in serving:
            figures: dict[str, Value] = {
                "CHLTYPE": c.MQCHT_SVRCONN,
                "CHSTADA": values["STARTDA"],
                "CHSTATI": values["STARTTI"],
                "CONNAME": values["CONNAME"],
                "JOBNAME": str(values["PID"]),
                "MCASTAT": c.MQMCAS_RUNNING,
                "MCAUSER": values["USERID"],
                "RAPPLTAG": values["APPLTAG"],
                "STATUS": c.MQCHS_RUNNING,
                "STOPREQ": 0,
            }
            identity = ((CHANNEL_NAME, values["CHANNEL"]),)
            yield status_row(Status.CHANNEL, Condition.CHANNEL_STATUS_SHOWN, identity, figures)


def _receiver_state(status: ChannelStatus, *, connected: bool) -> int:
    """A receiver is active as long as its sender is connected, also if that ends without a word (kill -9)."""
    if status.wanted == "STOP":
        return c.MQCHS_STOPPED
    return status.state if connected else c.MQCHS_INACTIVE


def _row(admin: Administration, status: ChannelStatus, state: int) -> Row:
    values: dict[str, Value] = dict(status.figures)
    if status.channel_type in CALLERS:  # also of a channel that was stopped before it ever ran
        definition = admin.get(Kind.CHANNEL, status.name) or {}
        values = {keyword: definition[keyword] for keyword in ("CONNAME", "XMITQ") if keyword in definition} | values
    values["STATUS"] = state
    values["CHLTYPE"] = {"SDR": 1, "SVR": 2, "RCVR": 3, "RQSTR": 4, "SVRCONN": 7}[status.channel_type]
    return status_row(Status.CHANNEL, Condition.CHANNEL_STATUS_SHOWN, ((CHANNEL_NAME, status.name),), values)


def _channel(admin: Administration, name: str) -> tuple[str, ChannelStatus | None]:
    """The type of a channel and its status. Raises CommandError if there is no such channel."""
    values = admin.get(Kind.CHANNEL, name)
    if values is None:
        raise CommandError(Condition.CHANNEL_UNKNOWN, name=name)
    return channel_type(values["CHLTYPE"]), admin.channels.read(name)
