"""SPEC E16 on a queue manager that is not on z/OS: its service discards expired messages without any get."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from mqlite_support import Application, application, home, run_mqsc, until
from pymqi import CMQC

from mqlite.cli import main
from mqlite.storage import qm_ini

__all__ = ["application", "home"]


@pytest.fixture
def started(application: Application, home: Path) -> Iterator[Application]:
    """QM1 with a service that scans each second."""
    run_mqsc("DEFINE QLOCAL(REPORTS)")
    (home / "QM1" / "qm.ini").write_text("TuningParameters:\n   ExpiryInterval=1\n")
    assert CliRunner().invoke(main, ["start", "QM1"], catch_exceptions=False).exit_code == 0
    yield application
    CliRunner().invoke(main, ["end", "QM1"], catch_exceptions=False)


def test_E16_expired_messages_go_without_a_get_and_leave_their_reports(started: Application) -> None:
    for body in (b"first", b"second"):
        started.put("Q1", body, Expiry=1, Report=CMQC.MQRO_EXPIRATION_WITH_FULL_DATA, ReplyToQ=b"REPORTS")
        started.put("Q1", b"live", Expiry=36_000)
        until(lambda: started.depth("REPORTS") == 1)
        assert started.depth("Q1") == 1, "the queue was not looked at"
        assert (started.get("REPORTS")[1], started.get("Q1")[1]) == (body, b"live")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 300),  # IBM MQ's
        ("", 300),
        ("TuningParameters:\n  ExpiryInterval=60\n", 60),
        ("# ours\ntuningparameters:\n  Other=1\n\n  expiryinterval = 5\nLog:\n  ExpiryInterval=7\n", 5),
        ("Log:\n  ExpiryInterval=7\n", 300),  # of another stanza
        ("TuningParameters:\n  ExpiryInterval=0\n", 300),
        ("TuningParameters:\n  ExpiryInterval=often\n", 300),
    ],
)
def test_the_interval_of_qm_ini(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | None, seconds: int
) -> None:
    if text is not None:
        (tmp_path / "qm.ini").write_text(text)
    assert qm_ini.expiry_interval(tmp_path) == seconds
    refused = [line for line in (text or "").split() if line in ("ExpiryInterval=0", "ExpiryInterval=often")]
    assert len(caplog.messages) == len(refused)
    assert all(f"{line} is not a number of seconds" in caplog.text for line in refused)
