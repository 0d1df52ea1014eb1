"""-c and -u on every command that reaches a queue manager, and where the password of -u is."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Iterator

import click
import pytest
from mq_support import DLQ, dead_letter

from mqops.cli import main

PASSWORD = "correct horse"
# Commands with -m or QMGR that look at the lake only.
WITHOUT_QUEUE_MANAGER = {
    "ledger archive",
    "ledger export",
    "ledger index",
    "ledger rekey",
    "lake prune",
    "lake rekey",
    "run show",
    "runs",
}


@pytest.fixture
def manager(queue_manager):
    made = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    made.mqlite("user", "add", "QM1", "app", text=f"{PASSWORD}\n")
    made.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(ALL)\n"
    )
    made.put(DLQ, [dead_letter("A", b"x")])
    return made


@pytest.fixture
def kept(tmp_path):
    """A file of mode 600 with the password."""
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\nanother line\n")
    path.chmod(0o600)
    return path


def found(mqops_here, *more: str, **rest: str):
    return json.loads(mqops_here("message", "find", "-m", "QM1", "--json", *more, **rest).stdout)["messages"]


def test_the_password_is_in_a_file_a_program_a_variable_or_standard_input(manager, mqops_here, kept):
    program = shlex.join([sys.executable, "-c", f"print({PASSWORD!r})"])
    ways = (
        {"MQOPS_PASSWORD_FILE": str(kept), "MQOPS_PASSWORD": "never asked for"},
        {"MQOPS_PASSWORD_COMMAND": program, "MQOPS_PASSWORD": "never asked for"},
        {"MQOPS_PASSWORD": PASSWORD},
        {"text": f"{PASSWORD}\n"},
    )
    for way in ways:
        assert len(found(mqops_here, "-u", "app", **way)) == 1, way
    wrong = mqops_here("message", "find", "-m", "QM1", "-u", "app", expect=1, MQOPS_PASSWORD="wrong one")
    assert "MQRC_NOT_AUTHORIZED (2035)" in wrong.stderr
    assert "wrong one" not in wrong.output


def test_a_connection_without_its_password_gets_the_one_that_is_kept(manager, mqops_here, kept):
    connection = json.dumps({"queue_manager": "QM1", "user": "app"})
    assert len(found(mqops_here, MQOPS_CONNECTION=connection, MQOPS_PASSWORD_FILE=str(kept))) == 1
    own = json.dumps({"queue_manager": "QM1", "user": "app", "password": PASSWORD})
    assert len(found(mqops_here, MQOPS_CONNECTION=own, MQOPS_PASSWORD="never asked for")) == 1


@pytest.mark.parametrize(
    ("mode", "text", "why"),
    [
        (0o640, PASSWORD, "others can read {path} (mode 640): chmod 600 it, and change the password"),
        (0o604, PASSWORD, "others can read {path} (mode 604): chmod 600 it, and change the password"),
        (0o600, "\nsecond", "the first line of {path} is empty; it is to be the password"),
        (None, "", "{path} cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_others_can_read_or_has_none_is_refused(mqops_here, tmp_path, mode, text, why):
    path = tmp_path / "password"
    if mode is not None:
        path.write_text(text)
        path.chmod(mode)
    refused = mqops_here("message", "find", "-m", "QM1", "-u", "app", expect=1, MQOPS_PASSWORD_FILE=str(path))
    assert refused.stderr == f"mqops: MQOPS_PASSWORD_FILE: {why.format(path=path)}\n"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (f"{sys.executable} -c 'raise SystemExit(3)'", "the program ended with exit code 3"),
        (f"{sys.executable} -c ''", "the program printed no password in its first line"),
        ("/no/such/program", "the program cannot be started: [Errno 2] No such file or directory: '/no/such/program'"),
        ("'", "the program cannot be started: No closing quotation"),
    ],
)
def test_a_program_that_gives_no_password_is_told(mqops_here, program, why):
    refused = mqops_here("message", "find", "-m", "QM1", "-u", "app", expect=1, MQOPS_PASSWORD_COMMAND=program)
    assert refused.stderr == f"mqops: MQOPS_PASSWORD_COMMAND: {why}\n"


def commands(command: click.Command, context: click.Context, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert one is not None
        yield from commands(one, context, f"{path} {name}".strip())


def test_every_command_that_reaches_a_queue_manager_has_both():
    named, both, connecting = set(), set(), set()
    for path, command in commands(main, click.Context(main)):
        options = {text for parameter in command.params for text in parameter.opts}
        if {"-m", "queue_manager", "queue_managers"} & options:
            named.add(path)
        if {"-c", "-u"} <= options:
            both.add(path)
        if "connection_" in inspect.getsource(inspect.unwrap(command.callback)):
            connecting.add(path)
    assert connecting - both == set()
    assert named - both == WITHOUT_QUEUE_MANAGER
