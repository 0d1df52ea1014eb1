"""What the commands that talk to a queue manager share: their options, their connection, and errors as one line."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec

import click

from mqops.as_json import JsonObject, as_json
from mqops.cli.user_option import as_asked
from mqops.errors import MQError, MqopsError, RulesError, SettingsError
from mqops.lake_place import why_no_lake
from mqops.mq.connection import VARIABLE, MqConnection
from mqops.printable import visible

P = ParamSpec("P")


def default_lake() -> Path:
    """The lake where neither --lake nor MQOPS_LAKE names one: that of the estate in MQOPS_ESTATE, as the pages and the
    DAGs have it, else a folder of the user's data.

    Raises:
        click.UsageError: nothing of that estate can be used.
    """
    if named := os.environ.get("MQOPS_ESTATE"):
        from mqops.estate import load_usable  # noqa: PLC0415 - loads pydantic

        try:
            return load_usable(named).lake(os.environ)
        except SettingsError as error:
            raise click.UsageError(f"{error}. Mend it, or name the lake by --lake or MQOPS_LAKE") from error
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "mqops" / "lake"


class LakePath(click.Path):
    """The folder of a lake. A URL is refused: it would be taken for the name of a local folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The folder's path."""
        if why := why_no_lake(os.fspath(value)):
            self.fail(why, param, ctx)
        return super().convert(value, param, ctx)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "openmetrics"]),
    default="table",
    show_default=True,
    help="How it is printed.",
)
lake_option = click.option(
    "--lake",
    type=LakePath(path_type=Path, file_okay=False),
    envvar="MQOPS_LAKE",
    default=default_lake,
    help="Folder of snapshots, plans and ledgers; else $MQOPS_LAKE, else the lake of the estate in $MQOPS_ESTATE, else "
    "mqops/lake in the user's data folder.",
)


def known_errors(command: Callable[P, None], *, code: int = 1) -> Callable[P, None]:
    """Make a known error one line on standard error, with --json an object on standard output, and this exit code."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except MqopsError as error:
            tell_error(error, as_json=bool(kwargs.get("as_json") or kwargs.get("form") == "json"))
            sys.exit(code)

    return wrapped


def tell_error(error: MqopsError, *, as_json: bool) -> None:
    """Print a known error on standard error, with --json as an object on standard output besides."""
    show_text(f"mqops: {error}", err=True)
    if as_json:
        show_json(error_document(error))


def errors_are_usage(command: Callable[P, None]) -> Callable[P, None]:
    """As `known_errors`, with exit code 2: for commands whose 1 is an answer."""
    return known_errors(command, code=2)


def error_document(error: MqopsError) -> JsonObject:
    """A known error for scripts: `code` is the symbol of the reason code, else the error's class.

    `errors` are there where a rules table is not valid.
    """
    code, advice = (error.symbol, error.advice) if isinstance(error, MQError) else (type(error).__name__, "")
    document: JsonObject = {"code": code, "message": str(error), "what_to_do": advice or error.default_message()}
    if isinstance(error, RulesError):
        document["errors"] = as_json(error.problems)
    return {"error": document}


def connection_to(queue_manager: str) -> MqConnection:
    """The connection in MQOPS_CONNECTION, else a local one to the queue manager (blank: the default one); as -c and -u
    of the command want it.

    Raises:
        SettingsError: MQOPS_CONNECTION is for another queue manager, or not valid; or there is no password.
    """
    if not os.environ.get(VARIABLE):
        return as_asked(MqConnection(queue_manager=queue_manager))
    connection = MqConnection.from_environment()
    if queue_manager and connection.queue_manager and connection.queue_manager != queue_manager:
        raise SettingsError(f"{VARIABLE} is for queue manager {connection.queue_manager}, not for {queue_manager}")
    return as_asked(replace(connection, queue_manager=connection.queue_manager or queue_manager))


def show_line(line: str, *, err: bool = False) -> None:
    """Print one line. Every line of the commands is printed here: something of it may have come with a message."""
    click.echo(visible(line), err=err)


def show_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines, whose line ends are our own."""
    for line in text.split("\n"):
        show_line(line, err=err)


def show_json(value: object) -> None:
    """Print one JSON object. Parameters: `value` as `as_json` takes it."""
    click.echo(json.dumps(as_json(value), ensure_ascii=True))
