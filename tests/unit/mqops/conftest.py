"""The `mqops` command on the queue manager that a test module's `manager` makes, with a lake of the test's own."""

from __future__ import annotations

import subprocess
import sys

import commands
import pytest
from click.testing import CliRunner

from mqops.cli import main


@pytest.fixture
def mqops(manager, tmp_path):
    """Runs `mqops` in a process of its own; environment variables as keywords."""

    def run(*arguments: str, text: str = "", expect: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake"), **more}
        command = [sys.executable, "-m", "mqops.cli", *arguments]
        done = commands.run(command, input=text, env=environment, text=True, capture_output=True)
        assert done.returncode == expect, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def mqops_here(manager, tmp_path, monkeypatch):
    """Runs `mqops` in this process; environment variables as keywords. `expect=None`: any exit code."""
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))

    def run(*arguments: str, text: str = "", expect: int | None = 0, **more: str):
        done = CliRunner().invoke(main, arguments, input=text, env=more)
        assert expect in (done.exit_code, None), done.output
        return done

    return run
