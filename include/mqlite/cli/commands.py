"""Commands on whole queue managers: create, delete, start, end, list, mqsc, user."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

import click

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.cli import creation
from mqlite.cli.messages import add_message_commands
from mqlite.cli.show import failure_line, show_line
from mqlite.connections.ending import end_connections
from mqlite.failure import Failure
from mqlite.mqsc.runner import run_script
from mqlite.objects import manager
from mqlite.objects.manager import Manager
from mqlite.platform import Platform
from mqlite.security import users
from mqlite.service.service import SERVICE_FAILED, launch, serve
from mqlite.storage import ended, service_lock
from mqwire import constants as c

NO_SUCH_MANAGER = 20


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", type=click.Path(path_type=Path), help="Folder of queue managers, instead of $MQLITE_HOME.")
def main(home: Path | None) -> None:
    """The embedded queue manager."""
    if home is not None:
        os.environ["MQLITE_HOME"] = os.fspath(home)


@contextmanager
def known_errors() -> Iterator[None]:
    """Show known errors as one line on stderr, with exit code 1."""
    try:
        yield
    except Failure as failure:
        raise click.ClickException(failure_line(failure)) from failure
    except creation.InUse as busy:
        raise click.ClickException(str(busy)) from busy


@main.command()
@click.argument("name")
@click.option(
    "--platform", type=click.Choice([one.value for one in Platform]), default=Platform.UNIX.value, show_default=True
)
@click.option("--ccsid", type=click.IntRange(1, 65_535), help="Coded character set, instead of the platform's own.")
@click.option(
    "--group",
    default="",
    metavar="QSG",
    help="Join this queue-sharing group of z/OS-like queue managers: "
    "they share the queues that are defined with QSGDISP(SHARED). The first member creates the group.",
)
def create(name: str, platform: str, ccsid: int | None, group: str) -> None:
    """Create a queue manager with its SYSTEM objects."""
    with known_errors():
        try:
            creation.create(name, platform=platform, ccsid=ccsid, group=group)
        except FileExistsError as there:
            raise click.ClickException(f"AMQ8110S: queue manager {name} already exists") from there
        except ValueError as wrong:
            raise click.ClickException(str(wrong)) from wrong
    sharing = f", queue-sharing group {group}" if group else ""
    show_line(f"IBM MQ queue manager '{name}' created (embedded, {platform}{sharing}).")


@main.command("build")
@click.option("--prefix", type=click.Path(path_type=Path), help="Another folder; $MQLITE_PREFIX must name it then.")
def build_library(prefix: Path | None) -> None:
    """Build the MQI library of this Python environment. It needs a C compiler, and the package cffi.

    Then pymqi, which is built against its headers, reaches embedded queue managers. Not for an environment in which
    programs use IBM's own client: $MQLITE_OFF leaves that alone.
    """
    from mqlite.c_interface import bridge, build  # noqa: PLC0415

    place = (prefix or bridge.prefix()).absolute()
    try:
        build.build_library(place)
        build.build_bridge(place)
        build.preload_at_start()
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error.name} is missing: pip install 'mqops[embedded]'") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise click.ClickException(str(error)) from error
    show_line(f"The MQI library is in {place}.")
    if find_spec("pymqi") is None and find_spec("ibmmq"):
        show_line(f"For ibmmq: export LD_LIBRARY_PATH={shlex.quote(str(place / 'lib64'))}")
    elif find_spec("pymqi") is None:
        show_line(f"pymqi is not installed: MQ_FILE_PATH={shlex.quote(str(place))} pip install 'mqops[mq]'")


@main.command()
@click.argument("name")
def delete(name: str) -> None:
    """Delete a queue manager that has ended, with all its messages."""
    with known_errors():
        creation.delete(name)
    show_line(f"IBM MQ queue manager '{name}' deleted.")


@main.command()
@click.argument("name")
@click.option("--foreground", is_flag=True, help="Run here until interrupted, instead of in the background.")
def start(name: str, foreground: bool) -> None:
    """Start the service of a queue manager: its channels and timers. Messaging itself needs no service."""
    with known_errors():
        found = manager.load(name)
    ended.forget(found.folder)
    if foreground:
        sys.exit(serve(found))
    outcome = launch(found)
    if outcome == SERVICE_FAILED:
        raise click.ClickException(f"the service of {name} did not start; see {found.folder / 'errors.log'}")
    show_line(f"IBM MQ queue manager '{name}' {outcome}.")


@main.command()
@click.argument("name")
@click.option("--quiesce", "how", flag_value="quiesce", help="And wait until all programs have disconnected.")
@click.option("--immediate", "how", flag_value="immediate", help="And break all connections.")
def end(name: str, how: str | None) -> None:
    """End the service of a queue manager. It finishes current batches first.

    Without an option messaging goes on. With --quiesce or --immediate nobody can connect any more until `mqlite start`.
    """
    with known_errors():
        found = manager.load(name)
    pid = service_lock.holder(found.folder)
    if not pid and (how is None or ended.state(found.folder) == ended.ENDED):
        raise click.ClickException(f"AMQ8146E: queue manager {name} is not running")
    if pid:
        os.kill(pid, signal.SIGTERM)
        service_lock.wait_until_ended(found.folder)
    if how is not None:
        with known_errors():
            end_connections(found, immediate=how == "immediate")
    show_line(f"IBM MQ queue manager '{name}' ended.")


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON array.")
def list_managers(as_json: bool) -> None:
    """List the queue managers."""
    with known_errors():
        rows = [_described(manager.load(name)) for name in manager.names()]
    if as_json:
        show_line(json.dumps(rows))
        return
    for row in rows:
        sharing = f" QSGNAME({row['group']})" if row["group"] else ""
        figures = f"STATUS({row['status']}) PLATFORM({row['platform']}) CCSID({row['ccsid']}){sharing}"
        show_line(f"QMNAME({row['name']}) {figures}")


def _described(found: Manager) -> dict[str, str | int]:
    status = "running" if service_lock.holder(found.folder) else "service not running"
    status = ended.state(found.folder).decode() or status
    return {"name": found.name, "status": status, "platform": found.platform, "ccsid": found.ccsid,
            "group": found.group, "folder": os.fspath(found.folder)}  # fmt: skip


@main.command()
@click.argument("name")
@click.option(
    "-f", "--file", "source", type=click.File(encoding="utf-8", errors="surrogateescape"), default="-",
    help="Script, instead of stdin.",
)  # fmt: skip
def mqsc(name: str, source: TextIO) -> None:
    """Run MQSC commands from standard input, as runmqsc does."""
    with known_errors():
        try:
            found = manager.load(name)
        except Failure as failure:
            if failure.reason != c.MQRC_Q_MGR_NAME_ERROR:
                raise
            show_line(f"AMQ8118E: IBM MQ queue manager {name} does not exist. ({failure.reason})", err=True)
            sys.exit(NO_SUCH_MANAGER)
    admin = EngineAdministration(found)
    try:
        tally = run_script(admin, source, show_line)
    finally:
        admin.close()
    sys.exit(tally.exit_code)


@main.group()
def user() -> None:
    """Users who connect with a password."""


@user.command("add")
@click.argument("name")
@click.argument("user_name", metavar="USER")
def add_user(name: str, user_name: str) -> None:
    """Add a user, or change a password: it is read from standard input (from the terminal without echo)."""
    with known_errors():
        found = manager.load(name)
    if sys.stdin.isatty():
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    try:
        users.add(found.folder, user_name, password)
    except ValueError as wrong:
        raise click.ClickException(str(wrong)) from wrong
    show_line(f"User '{user_name}' of queue manager '{name}' has a password.")


@user.command("delete")
@click.argument("name")
@click.argument("user_name", metavar="USER")
def delete_user(name: str, user_name: str) -> None:
    """Delete a user."""
    with known_errors():
        found = manager.load(name)
    if not users.remove(found.folder, user_name):
        raise click.ClickException(f"queue manager {name} has no user {user_name}")


@user.command("list")
@click.argument("name")
def list_users(name: str) -> None:
    """List the users."""
    with known_errors():
        found = manager.load(name)
    for user_name in users.names(found.folder):
        show_line(user_name)


add_message_commands(main)
