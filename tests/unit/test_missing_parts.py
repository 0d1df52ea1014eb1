"""A command whose part is not installed says in one line which extra brings it, whatever the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from wheel_support import COMMANDS

from mqops.cli import main
from mqops.cli.tables import GivenFile

TABLE = "REASON(2085) ACTION(FWD) FWDQ(A) HEADER(YES)\nACTION(RETRY)\n"
FILES = {"messages": '{"DESTQ": "X", "REASON": 2085}\n', "suites": "name: s\nexpectations: []\n"}
"""Name of a parameter → what its file holds; every other file is a rules table."""
MADE = {"estate example": ("folder",), "message export": ("file",), "quality export": (), "snapshot export": ("file",)}
"""Command → parameters that name a file which it makes."""
TOLD = re.compile(
    r"mqops: This needs the part (\w+) \(\w+ is not installed\): pip install 'mqops\[\1\]'"
    r"(; where there is no compiler, 'mqops\[ibmmq\]')?\n"
)
OF_A_RUN = {"ledger outcomes", "stop", "undo"}
"""They reach the queue manager of a run; there is none here."""
WITHOUT_A_QUEUE_MANAGER = {"quality suggest"}
"""It needs numpy all the same."""
ANSWERS = {"doctor", "estate check", "ledger verify"}
"""They say it in their answer, or have another one without the queue manager."""


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Name → command, of all that `mqops --help` leads to."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, *path, name)
        elif found:
            yield " ".join((*path, name)), found


def words(name: str, command: click.Command, folder: Path) -> list[str]:
    """The command with a value for each parameter that it must have, for queue Q of QM1."""
    found = name.split()
    for one in command.params:
        value = {"older_than": "1d", "queue_manager": "QM1", "qmgr": "QM1", "msg_id": "41"}.get(str(one.name), "Q")
        if one.required and isinstance(one.type, click.Path | GivenFile):
            value = str(folder / str(one.name))
            if one.name not in MADE.get(name, ()):
                Path(value).write_text(FILES.get(str(one.name), TABLE))
        if isinstance(one, click.Argument) and (one.required or one.name in ("queue", "queues")):
            found.append(value)
        elif one.required or {"-m", "--qmgr"} & {*one.opts}:
            found += [one.opts[-1], value]
    return found


@pytest.mark.parametrize(("extra", "lacking"), [("", {"mq", "quality"}), ("quality", {"mq"}), ("mq", set[str]())])
def test_every_command(with_part: Any, tmp_path: Path, extra: str, lacking: set[str]) -> None:
    known = dict(commands(main))
    called = {name: words(name, command, tmp_path) for name, command in known.items()}
    home = {"HOME": str(tmp_path), "MQOPS_LAKE": str(tmp_path / "lake"), "MQLITE_HOME": str(tmp_path)}
    ended = dict(zip(called, with_part(extra, COMMANDS, json.dumps([*called.values()]), **home), strict=True))
    assert {code for code, _, _ in ended.values()} == {0, 1, 2}
    lacks = {name: TOLD.fullmatch(errors) for name, (_, _, errors) in ended.items() if "not installed" in errors}
    assert [ended[name] for name, told in lacks.items() if not told] == []
    assert {told[1] for told in lacks.values() if told} == lacking
    if not extra:
        reach = {name for name, one in known.items() if any("-u" in each.opts for each in one.params)}
        assert {*lacks} == (reach - OF_A_RUN - ANSWERS) | WITHOUT_A_QUEUE_MANAGER


def test_a_spark_job_without_spark_says_so(with_part: Any, unpacked: Path, tmp_path: Path) -> None:
    program = """
import contextlib, io, runpy
err = io.StringIO()
path, sys.argv = sys.argv[1], sys.argv[1:]
with contextlib.redirect_stderr(err):
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        print(json.dumps([ended.code, err.getvalue().splitlines()[-1]]))
"""
    job, connection = str(unpacked / "mqops" / "jobs" / "observe.py"), '{"queue_manager": "QM1"}'
    said = with_part("mq", program, job, f"--run={tmp_path}", MQOPS_CONNECTION=connection, HOME=str(tmp_path))
    assert said == [
        1,
        "mqops: SettingsError: This needs the part spark (pyspark is not installed): pip install 'mqops[spark]'",
    ]


@pytest.mark.parametrize(("files_of", "whole"), [("4.3.0", True), ("4.2.0", False)])
def test_a_pyspark_that_another_package_has_overwritten_is_told(tmp_path: Path, files_of: str, whole: bool) -> None:
    for name, version in (("pyspark", "4.3.0"), ("pyspark_client", "4.2.0")):
        (tmp_path / f"{name}-{version}.dist-info").mkdir()
        about = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
        (tmp_path / f"{name}-{version}.dist-info" / "METADATA").write_text(about)
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    (tmp_path / "pyspark" / "version.py").write_text(f'__version__: str = "{files_of}"\n')
    program = "from mqops.parts import pyspark_must_be_whole as look; look()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is whole
    told = (
        "pyspark-client 4.2.0 has overwritten files of pyspark 4.3.0: pip uninstall --yes pyspark-client; pip install"
    )
    assert (told in done.stderr) is not whole
