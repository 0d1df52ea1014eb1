"""`make up` with an estate that has errors: they are told before anything is made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mqops_demo import estate

VALID = "lake: lake\nqueue_managers:\n  QM1: {connection: mq_qm1}\n  HUB: {connection: mq_hub}\n"
WRONG = [
    # what is written in place of what; the error; whether the rest goes on
    ("mq_hub", "mq hub", "4: queue_managers.HUB.connection: is not an Airflow connection id", True),
    ("mq_hub}", "mq_hub, expiry_scan: {interval: soon}}", "4: queue_managers.HUB.expiry_scan.interval: must be", True),
    ("mq_hub}", "mq_hub", "5: not valid YAML", False),
    ("lake: lake", "lake: s3://bucket/lake", "1: lake: s3://bucket/lake is no place for a lake", False),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_of_the_estate_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: Any
) -> None:
    old, new, error, goes_on = wrong
    path = tmp_path / "estate.yaml"
    path.write_text(VALID.replace(old, new, 1))
    monkeypatch.setenv("MQOPS_ESTATE", str(path))
    made: list[bool] = []
    monkeypatch.setattr(estate, "create_and_start", lambda: made.append(True))
    monkeypatch.setattr(sys, "argv", ["estate", "up"])
    assert (estate.main(), made) == (0 if goes_on else 1, [True] if goes_on else [])
    told = capsys.readouterr().err
    assert f"estate.yaml:{error}" in told
    assert ("the rest goes on" in told, "nothing was started" in told) == (goes_on, not goes_on)
    path.write_text(VALID)
    assert (estate.main(), capsys.readouterr().err) == (0, "")


def test_what_an_operator_altered_stays_when_the_demonstration_starts_again(
    queue_manager: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = queue_manager()
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    estate.define_missing("QM1")
    manager.mqsc("ALTER QLOCAL(CARDS.AUTH) MAXDEPTH(77)\nDELETE QLOCAL(FX.RATES)\n")
    estate.define_missing("QM1")
    told = estate.mqlite("mqsc", "QM1", stdin="DISPLAY QLOCAL(CARDS.AUTH) MAXDEPTH\nDISPLAY QLOCAL(FX.RATES) PUT\n")
    assert "MAXDEPTH(77)" in told
    assert "PUT(DISABLED)" in told


def test_a_definition_that_fails_is_told(queue_manager: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = queue_manager()
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setattr(estate, "MQSC", tmp_path)
    (tmp_path / "QM1.mqsc").write_text("DEFINE QLOCAL(A)\nALTER QLOCAL(NOT.THERE) PUT(DISABLED)\n")
    with pytest.raises(RuntimeError, match=r"QM1.mqsc: AMQ8147E: .* not found"):
        estate.define_missing("QM1")


@pytest.mark.parametrize("name", estate.QUEUE_MANAGERS)
def test_no_definition_replaces_what_is_there(name: str) -> None:
    """IBM's image and `make up` run them at each start."""
    text = (estate.MQSC / f"{name}.mqsc").read_text()
    commands = [line.split() for line in text.splitlines() if line and not line.startswith(("*", " "))]
    assert "REPLACE" not in "\n".join(line for line in text.splitlines() if not line.startswith("*"))
    assert [words[1] for words in commands if words[0] != "DEFINE"] == ["QMGR"]
