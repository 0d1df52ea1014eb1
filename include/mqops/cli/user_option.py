"""-c and -u, as IBM's commands have them, on every command that reaches a queue manager; and where the password is.

Of -u only the name stands in the command. The password comes from the first of these that there is: the file that
MQOPS_PASSWORD_FILE names, the program in MQOPS_PASSWORD_COMMAND (by which keyrings and vaults are asked),
MQOPS_PASSWORD, the terminal (not shown), standard input.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mqops.errors import SettingsError
from mqops.given_file import read_errors
from mqops.mq.connection import MqConnection

PASSWORD = "MQOPS_PASSWORD"  # noqa: S105 - the name of a variable
PASSWORD_FILE = "MQOPS_PASSWORD_FILE"  # noqa: S105
PASSWORD_COMMAND = "MQOPS_PASSWORD_COMMAND"  # noqa: S105
_CLIENT, _USER, _ASKED = "mqops.as_client", "mqops.as_user", "mqops.password"


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    ctx.meta[f"mqops.{param.name}"] = value


def connecting_options(command: Any) -> Any:
    """The options -c and -u of a command whose connection comes from `mqops.cli.outcome.connection_to`."""
    client = click.option(
        "-c",
        "as_client",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Connect as a client: MQSERVER or a channel table says where to.",
    )
    user = click.option(
        "-u",
        "as_user",
        metavar="USER",
        default="",
        expose_value=False,
        callback=_keep,
        help=f"Connect as USER. The password: of the file ${PASSWORD_FILE}, of the program ${PASSWORD_COMMAND}, "
        f"${PASSWORD}; else it is asked for, or is the first line of standard input.",
    )
    return client(user(command))


def as_asked(connection: MqConnection) -> MqConnection:
    """The connection, as -c and -u of the command want it. A user of MQOPS_CONNECTION without a password gets that of
    the file, the program or the variable, where there is one.

    Raises:
        SettingsError: as `read_password`.
    """
    meta = context.meta if (context := click.get_current_context(silent=True)) is not None else {}
    if user := meta.get(_USER):
        connection = replace(connection, user=user, password=read_password())
    elif connection.user and not connection.password:
        connection = replace(connection, password=kept_password())
    return replace(connection, client=True) if meta.get(_CLIENT) else connection


def read_password() -> str:
    """The password of -u, asked for once a command; "" where there is no -u.

    Raises:
        SettingsError: there is none, or its file is not private.
    """
    meta = click.get_current_context().meta
    if not (user := meta.get(_USER)):
        return ""
    if _ASKED not in meta:
        meta[_ASKED] = kept_password() or _asked_for(user)
    return str(meta[_ASKED])


def kept_password(environment: Mapping[str, str] = os.environ) -> str:
    """The password of the file, the program or the variable; "" where none of them is named.

    Raises:
        SettingsError: the file cannot be read, others can read it, the program fails, or there is no password in it.
    """
    if named := environment.get(PASSWORD_FILE):
        return _of_file(Path(named))
    if command := environment.get(PASSWORD_COMMAND):
        return _of_program(command)
    return environment.get(PASSWORD, "")


def _of_file(path: Path) -> str:
    """The first line of a file that nobody but its owner can read."""
    with read_errors(f"{PASSWORD_FILE}: {path}"), path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise SettingsError(
                f"{PASSWORD_FILE}: others can read {path} (mode {mode:03o}): chmod 600 it, and change the password"
            )
        password = _line(file.readline())
    if not password:
        raise SettingsError(f"{PASSWORD_FILE}: the first line of {path} is empty; it is to be the password")
    return password


def _of_program(command: str) -> str:
    """The first line that a program prints. No shell reads the command; its own questions go to the terminal."""
    try:
        done = subprocess.run(shlex.split(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{PASSWORD_COMMAND}: the program cannot be started: {error}") from None
    if done.returncode:
        raise SettingsError(f"{PASSWORD_COMMAND}: the program ended with exit code {done.returncode}")
    password = _line(next(iter(done.stdout.splitlines()), b""))
    if not password:
        raise SettingsError(f"{PASSWORD_COMMAND}: the program printed no password in its first line")
    return password


def _asked_for(user: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"Password of {user}", hide_input=True, err=True))
    password = _line(sys.stdin.buffer.readline())
    if not password:
        raise SettingsError(
            f"-u {user} needs a password: in the file ${PASSWORD_FILE}, by the program ${PASSWORD_COMMAND}, in "
            f"${PASSWORD}, or as the first line of standard input"
        )
    return password


def _line(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").rstrip("\r\n")
