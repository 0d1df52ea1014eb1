"""How to reach a queue manager, and the connection itself. Which queue manager answers is decided here alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from threading import Lock
from typing import Any, TypeAlias

from pydantic import ValidationError

from mqops.errors import MQError, SettingsError, mq_error
from mqops.mq.library import library
from mqops.mq.session import Session
from mqops.type_adapter import adapter_of, refused
from mqwire import constants as c

LONGEST_MESSAGE = 104_857_600
"""Bytes, the most that IBM MQ allows."""

VARIABLE = "MQOPS_CONNECTION"
"""The environment variable that carries a connection, as JSON, to a process (never an argument, never a log)."""

_CONNECTING = Lock()
"""Held while a connection has set environment variables for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MqConnection:
    """Where a queue manager is and who asks.

    Parameters: with `channel` and `conn_name` ("host(port)") a client connection, else a local one, or with `client`
    the one that MQSERVER or the client's channel table says; `tls_cipher` and
    `tls_key_repository` as MQ names them (SSLCipherSpec, key repository without suffix); `environment` variables that
    the process needs before it connects (MQLITE_HOME, MQSERVER ...).
    """

    queue_manager: str
    channel: str = ""
    conn_name: str = ""
    client: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    tls_cipher: str = ""
    tls_key_repository: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic takes no other

    def to_json(self) -> str:
        """JSON text, password included: for the environment of a process, nothing else."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MqConnection:
        """The connection that `to_json` wrote.

        Raises:
            SettingsError: not JSON, or a key that is not a connection's, or a value of another type. The key is named;
                no value is shown.
        """
        try:
            return adapter_of(cls).validate_python(json.loads(text))
        except (json.JSONDecodeError, RecursionError) as error:
            raise SettingsError(
                f"{VARIABLE} is not a connection as JSON: it is no JSON ({type(error).__name__})"
            ) from None
        except ValidationError as error:
            place, _kind, says = refused(error)
            has = ", ".join(one.name for one in fields(cls))
            raise SettingsError(
                f"{VARIABLE} is not a connection as JSON: {place or 'the whole'}: {says}. A connection has {has}"
            ) from None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> MqConnection:
        """The connection in MQOPS_CONNECTION.

        Raises:
            SettingsError: it is not set or not valid.
        """
        if not environment.get(VARIABLE):
            raise SettingsError(f'Set {VARIABLE} to the connection as JSON, such as {{"queue_manager": "QM1"}}')
        return cls.from_json(environment[VARIABLE])


class OneSession:
    """The one session of a step: made when it is first needed, and handed on to each part of the step.

    A part gets it with `connect`, as it gets one of its own from an `MqConnection`. When the part leaves it, what is
    not committed is backed out and what is open is closed. So to the queue manager it is as if the part had ended its
    connection, and no part meets a unit of work or a handle of another. A session that is lost is not handed on: the
    next part connects again. A part that asks while another one has it gets a connection of its own.

    Parameters: `connection` by which it is made.
    """

    def __init__(self, connection: MqConnection) -> None:
        self.connection = connection
        self._free: Session | None = None
        self._given: Session | None = None

    def __enter__(self) -> OneSession:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._free is not None:
            self._free.disconnect()
            self._free = None

    def take(self) -> Session:
        """The session. Raises as `connect`."""
        if self._given is not None:
            return open_session(self.connection)
        self._given = self._free or open_session(self.connection)
        self._free = None
        return self._given

    def give_back(self, session: Session) -> None:
        """A part of the step has done with it."""
        if session is not self._given:
            session.disconnect()
            return
        self._given = None
        if session.end_use():
            self._free = session
        else:
            session.disconnect()


Reach: TypeAlias = MqConnection | OneSession
"""How a part of a step reaches the queue manager: by a connection of its own, or by the step's session."""


@contextmanager
def one_session(reach: Reach) -> Iterator[OneSession]:
    """The one session of a step, ended behind it, unless it was made further up. Raises nothing."""
    if isinstance(reach, OneSession):
        yield reach
        return
    with OneSession(reach) as step:
        yield step


@contextmanager
def connect(reach: Reach) -> Iterator[Session]:
    """A session with the queue manager, ended (or given back to its step) on leaving; a unit of work still open then is
    backed out. An error that leaves it because of a queue's name is told with what stands behind the name.

    Raises:
        MQError: the queue manager refused (2058 its name, 2035 user or password, 2059 not running ...).
        SettingsError: no MQ library.
    """
    session = reach.take() if isinstance(reach, OneSession) else open_session(reach)
    try:
        yield session
    except MQError as error:
        from mqops.mq.named_queue import told_with_name  # noqa: PLC0415 - it knows sessions

        if (told := told_with_name(session, error)) is None:
            raise
        raise told from error
    finally:
        if isinstance(reach, OneSession):
            reach.give_back(session)
        else:
            session.disconnect()


def open_session(connection: MqConnection) -> Session:
    """A session that the caller disconnects. Raises as `connect` does."""
    _refuse_no_name(connection.queue_manager)
    mqi = library()
    # An MQDISC commits. Left to pymqi it would come with any end of the process, half a unit of work or not.
    queue_manager = mqi.QueueManager(None, disconnect_on_exit=False)
    try:
        with _variables(connection.environment):
            _connect(mqi, queue_manager, connection)
    except mqi.MQMIError as error:
        raise mq_error(error.comp, error.reason, verb="MQCONNX", object_name=connection.queue_manager) from None
    return Session(queue_manager, connection.queue_manager)


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while a connection is made. Each connection names its own; a process may make several,
    one after the other (a Spark worker that stays warm) or from several threads."""
    if not values:
        yield
        return
    with _CONNECTING:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _refuse_no_name(queue_manager: str) -> None:
    """Raise what the queue manager would: pymqi takes only ASCII, and MQCONNX no more than the field's first bytes."""
    if not queue_manager.isascii() or len(queue_manager) > c.MQ_Q_MGR_NAME_LENGTH:
        raise mq_error(c.MQCC_FAILED, c.MQRC_Q_MGR_NAME_ERROR, verb="MQCONNX", object_name=queue_manager)


def _connect(mqi: Any, queue_manager: Any, connection: MqConnection) -> None:
    # Shared: the application may have a connection of its own in this thread, and a thread has only one that is not.
    options: dict[str, Any] = {"opts": c.MQCNO_HANDLE_SHARE_BLOCK}
    if connection.client:
        options["opts"] |= c.MQCNO_CLIENT_BINDING
    if connection.user:
        said = {"user": connection.user, "password": connection.password}
        options |= {name: text.encode("utf-8", "surrogateescape") for name, text in said.items()}
    if connection.channel and connection.conn_name:
        cd = mqi.CD()
        cd.ChannelName = connection.channel.encode()
        cd.ConnectionName = connection.conn_name.encode()
        cd.ChannelType = c.MQCHT_CLNTCONN
        cd.TransportType = c.MQXPT_TCP
        cd.MaxMsgLength = LONGEST_MESSAGE  # what counts is the server-connection channel's MAXMSGL
        if connection.tls_cipher:
            cd.SSLCipherSpec = connection.tls_cipher.encode()
            sco = mqi.SCO()
            sco.KeyRepository = connection.tls_key_repository.encode()
            options["sco"] = sco
        options["cd"] = cd
    elif connection.channel or connection.conn_name:
        raise SettingsError("A client connection needs both channel and conn_name; a local one has neither")
    queue_manager.connect_with_options(connection.queue_manager, **options)
