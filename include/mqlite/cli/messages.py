"""Commands on messages: put, get, browse. For a look or a try, not for work: one message, one call."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import click

from mqlite.calls import get as getting
from mqlite.calls import opening
from mqlite.calls import put as putting
from mqlite.cli.show import failure_line, show_line
from mqlite.connections import unit_of_work
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.objects import manager
from mqlite.pcf import hook as pcf_server
from mqlite.security.authority import own_user
from mqwire import constants as c
from mqwire.ccsid import decode
from mqwire.errors import WireError
from mqwire.structures import MQMD

NONE_LEFT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A message and where it stood."""

    place: int
    md: MQMD
    body: bytes


@contextmanager
def connected(name: str) -> Iterator[Connection]:
    """A connection for the length of one command; the engine's refusals as one line and exit code 1."""
    pcf_server.install()
    connection: Connection | None = None
    try:
        connection = Connection(manager.load(name), user=own_user(), shared=False)
        yield connection
    except Failure as failure:
        raise click.ClickException(failure_line(failure)) from failure
    finally:
        if connection is not None:
            unit_of_work.disconnect(connection, 0, keep=False)


@click.command("put")
@click.argument("name")
@click.argument("queue")
@click.argument("texts", nargs=-1)
@click.option("--persistent/--not-persistent", default=None, help="Default: DEFPSIST of the queue.")
@click.option("--expiry", type=int, default=c.MQEI_UNLIMITED, help="Expiry: the lifetime in tenths of a second.")
@click.option("--priority", type=click.IntRange(0, 9), default=None)
def put(  # noqa: PLR0917
    name: str, queue: str, texts: tuple[str, ...], persistent: bool | None, expiry: int, priority: int | None
) -> None:
    """Put each TEXT as a message. Without TEXT: each line of standard input."""
    persistence = c.MQPER_PERSISTENCE_AS_Q_DEF if persistent is None else int(persistent)
    md = MQMD(
        format=c.MQFMT_STRING,
        coded_char_set_id=1208,
        persistence=persistence,
        expiry=expiry,
        priority=c.MQPRI_PRIORITY_AS_Q_DEF if priority is None else priority,
    )
    bodies = list(texts) or [line.rstrip("\r\n") for line in sys.stdin]
    with connected(name) as connection:
        opened = opening.open_queue(connection, name=queue, queue_manager="", dynamic_name="", options=c.MQOO_OUTPUT)
        for body in bodies:
            request = putting.PutRequest(
                md=bytearray(md.pack()), options=c.MQPMO_NO_SYNCPOINT, context=0, body=body.encode()
            )
            putting.put(connection, opened, request)
    show_line(f"{len(bodies)} put on {queue}")


@click.command("get")
@click.argument("name")
@click.argument("queue")
@click.option("--limit", type=click.IntRange(1), default=1, show_default=True, help="The largest number of messages.")
@click.option("--all", "everything", is_flag=True, help="All messages of the queue.")
@click.option("--wait", type=float, default=0.0, help="Seconds to wait for a first message.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each message.")
def get(  # noqa: PLR0917
    name: str, queue: str, limit: int, everything: bool, wait: float, as_json: bool
) -> None:
    """Get messages from a queue and print them. Exit code 1: the queue has no message."""
    _show(name, queue, c.MQGMO_NO_SYNCPOINT, None if everything else limit, wait, as_json)


@click.command("browse")
@click.argument("name")
@click.argument("queue")
@click.option("--limit", type=click.IntRange(1), default=None, help="The largest number of messages. Default: all.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each message.")
def browse(name: str, queue: str, limit: int | None, as_json: bool) -> None:
    """Print messages and leave them on the queue. Exit code 1: the queue has no message."""
    _show(name, queue, c.MQGMO_BROWSE_NEXT, limit, 0.0, as_json)


def _show(name: str, queue: str, options: int, limit: int | None, wait: float, as_json: bool) -> None:  # noqa: PLR0917
    mode = c.MQOO_BROWSE if options & c.MQGMO_BROWSE_NEXT else c.MQOO_INPUT_AS_Q_DEF
    shown = 0
    with connected(name) as connection:
        opened = opening.open_queue(connection, name=queue, queue_manager="", dynamic_name="", options=mode)
        while limit is None or shown < limit:
            found = _next(connection, opened, options, wait if not shown else 0.0, shown)
            if found is None:
                break
            shown += 1
            show_line(_json(found) if as_json else _text(found))
    if not shown:
        sys.exit(NONE_LEFT)


def _next(connection: Connection, opened: opening.OpenObject, options: int, wait: float, place: int) -> Found | None:
    request = getting.GetRequest(
        md=bytearray(MQMD().pack()),
        options=options | (c.MQGMO_WAIT if wait else 0),
        match=0,
        token=bytes(16),
        wait=int(wait * 1000),
        room=1 << 30,
    )
    try:
        got = getting.get(connection, opened, request)
    except Failure as failure:
        if failure.reason == c.MQRC_NO_MSG_AVAILABLE:
            return None
        raise
    return Found(place=place, md=MQMD.unpack(got.md), body=got.body) if got else None


def _text(found: Found) -> str:
    """The data as text where it is text of one line that a terminal may get, else in hexadecimal."""
    if found.md.format == c.MQFMT_STRING:
        with suppress(WireError):
            text = decode(found.body, found.md.coded_char_set_id, found.md.encoding)
            if text.isprintable():
                return text
    return found.body.hex()


def _json(found: Found) -> str:
    values = {key: value.hex() if isinstance(value, bytes) else value for key, value in found.md.values().items()}
    return json.dumps({"position": found.place, "md": values, "body_length": len(found.body), "body": found.body.hex()})


def add_message_commands(main: click.Group) -> None:
    """Add put, get and browse to the group."""
    for command in (put, get, browse):
        main.add_command(command)
