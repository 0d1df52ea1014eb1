"""A queue manager QM1 of one's own, and MQSC to it as a script would send it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from mqlite_command import mqlite_here

Mqsc = Callable[..., str]
Mqlite = Callable[..., Result]


@pytest.fixture
def mqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mqlite:
    """The `mqlite` command with an empty folder of queue managers."""
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "home"))

    def call(*arguments: str, stdin: str = "", code: int = 0) -> Result:
        result = mqlite_here(*arguments, stdin=stdin)
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def mqsc(mqlite: Mqlite) -> Mqsc:
    """Run MQSC commands on QM1; what was printed between the echo and the summary."""
    mqlite("create", "QM1")

    def call(*commands: str, code: int = 0) -> str:
        return mqlite("mqsc", "QM1", stdin="\n".join(commands) + "\n", code=code).output

    return call
