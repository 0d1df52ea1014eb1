"""Each command does its work when the console script starts it, and nothing has imported anything before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from mq_support import DLQ, dead_letter

from mqops.cli import COMMANDS, main
from mqops.cli.group import LONGEST

TABLE = "ACTION(RETRY)\n"
ROOT = Path(__file__).parents[3]
DRY_RUN = """
import atexit, sys
from mqops.cli import main
atexit.register(lambda: print(*sys.modules))
sys.argv = ["mqops", "dlq", "run", sys.argv[1], "QM1", "--dry-run"]
main()
"""
NOT_USED = {"argparse", "mqlite.messages.conversion", "multiprocessing", "numpy.ma", "pandas", "pyspark"}
"""What a dry run has no use for, and would import in a tenth of its processor time."""


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(MQOPS.QUARANTINE)\n")


@pytest.fixture
def script(manager, tmp_path):
    """Runs the installed `mqops`; what it says."""

    def run(*arguments: str, text: str = "") -> str:
        environment = {**os.environ, **manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
        command = [str(Path(sys.executable).with_name("mqops")), *arguments]
        done = subprocess.run(command, input=text, env=environment, text=True, capture_output=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_each_command_works_as_a_program(manager, script, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    table = tmp_path / "table.rules"
    table.write_text(TABLE)
    said = {
        "rules": script("rules", "check", str(table)),
        "estate": script("estate", "check", str(ROOT / "include/estate.yaml")),
        "quality": script("quality", "suite", str(ROOT / "tests/data/suites/quick.yaml")),
        "snapshot": script("snapshot", DLQ, "-m", "QM1"),
        "expiry": script("expiry", "forecast", DLQ, "-m", "QM1"),
        "backout": script("backout", "run", "A", "-m", "QM1", "--dry-run", text=TABLE),
        "trigger": script("trigger", "audit", "-m", "QM1"),
        "stop": script("stop", "-m", "QM1"),
        "resume": script("resume", "-m", "QM1"),
        "dlq": script("dlq", "run", "--once", DLQ, "QM1", "--json", text=TABLE),
        "ledger": script("ledger", "verify"),
        "runs": script("runs"),
        "lake": script("lake", "prune", "--snapshots", "1d", "--dry-run"),
    }
    run = json.loads(said["dlq"])
    said["run"] = script("run", "show", run["run"])
    said["message"] = script("message", "find", "A", "-m", "QM1")
    said["init"] = script("init", "--help")
    said["doctor"] = script("doctor", "--help")
    said["undo"] = script("undo", run["run"], "-m", "QM1", "--yes")
    assert said.keys() == {*COMMANDS}, "a command is called above; the other deciders have the names of commands above"
    assert (run["moved"], run["balanced"]) == (1, True)
    assert said["ledger"] == "QM1: 2 lines, unbroken\n"
    assert said["undo"].endswith("1 planned = 1 put back + 0 left + 0 gone: balances\n")


def test_a_dry_run_imports_nothing_that_it_does_not_use(manager, tmp_path):
    """Nor does it look for pydantic's plugins, which other distributions may bring."""
    manager.put(DLQ, [dead_letter("A", b"x")])
    plugin = tmp_path / "a_plugin-1.0.dist-info"
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (plugin / "entry_points.txt").write_text("[pydantic]\na_plugin = a_plugin:plugin\n")
    (tmp_path / "a_plugin.py").write_text("plugin = None\n")
    own = {"MQOPS_LAKE": str(tmp_path / "lake"), "PYTHONPATH": str(tmp_path)}
    environment = {**os.environ, **manager.environment, **own}
    done = subprocess.run(
        [sys.executable, "-c", DRY_RUN, DLQ], input=TABLE, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *shown, imported = done.stdout.splitlines()
    assert shown[-1] == "dry run: nothing was moved"
    assert {"numpy", "pydantic", "pyarrow.parquet"} <= {*imported.split()}
    assert not (NOT_USED | {"a_plugin"}) & {*imported.split()}


def test_the_help_says_what_each_command_says() -> None:
    """`mqops --help` takes the sentences from a table and imports no command."""
    context = click.Context(main)
    commands = {name: main.get_command(context, name) for name in main.list_commands(context)}
    assert {name: one.get_short_help_str(LONGEST) for name, one in commands.items()} == {
        name: one.about for name, one in COMMANDS.items()
    }, "a command, and a decider that the help lists, is a row of COMMANDS in mqops/cli/__init__.py"
    ask = "import sys; from mqops.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    *shown, imported = done.stdout.splitlines()
    assert "Process backout queues." in " ".join(shown)
    assert not {"pyarrow", "pydantic", "numpy", "mqops.mq.session"} & {*imported.split()}
