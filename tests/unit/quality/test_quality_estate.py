"""The estate's section of the data quality workflow, and `mqops estate check` on the suites that it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.estate import parse

SUITE = "suite: s\nexpectations:\n- {id: a, expect: column_values_to_not_be_null, column: format}\n"


def section(text: str) -> str:
    return f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq\n    snapshot_quality: {text}\n"


def test_defaults() -> None:
    estate, document = parse(section("{suites: [s.yaml]}"))
    assert document.problems == []
    assert estate is not None
    quality = estate.queue_managers["QM1"].snapshot_quality
    assert quality is not None
    assert (quality.queues, quality.suites, quality.schedule, quality.limit) == (("*",), ("s.yaml",), None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "e.yaml:5: queue_managers.QM1.snapshot_quality.suites: is required"),
        ("{suites: []}", "e.yaml:5: queue_managers.QM1.snapshot_quality.suites: must not be empty"),
        ("{suites: [/a]}", "snapshot_quality.suites.0: must be a path below the estate file's folder (found '/a')"),
        ("{suites: [a], queues: []}", "snapshot_quality.queues: must not be empty"),
        ("{suites: [a], queues: ['*.IN']}", "queues.0: must be a queue's name, or its beginning and * (found '*.IN')"),
        ("{suites: [a], limit: 0}", "snapshot_quality.limit: must be at least 1 (found 0)"),
        ("{suites: [a], schedule: often}", "snapshot_quality.schedule: must be five cron fields"),
        ("{suites: [a], rules: a}", "snapshot_quality.rules: is not a known key"),
    ],
)
def test_what_is_wrong_is_told(text: str, expected: str) -> None:
    _estate, document = parse(section(text), source="e.yaml")
    assert any(expected in str(problem) for problem in document.problems), document.problems


def checked(tmp_path: Path, text: str = "{suites: [s.yaml]}") -> tuple[int, str]:
    path = tmp_path / "estate.yaml"
    path.write_text(section(text))
    result = CliRunner().invoke(main, ["estate", "check", str(path)])
    return result.exit_code, result.output


def test_estate_check_reads_the_suites(tmp_path: Path) -> None:
    assert "estate.yaml:5: queue_managers.QM1.snapshot_quality.suites.0: there is no file" in checked(tmp_path)[1]
    (tmp_path / "s.yaml").write_text(SUITE.replace("format", "formt"))
    assert "s.yaml:3: expectations.0.column: there is no column 'formt'" in checked(tmp_path)[1]
    (tmp_path / "s.yaml").write_text(SUITE)
    assert checked(tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("workflow", "suite", "fits"),
    [
        ("PAYMENTS.*", "PAYMNTS.*", False),
        ("PAYMENTS.*", "PAYMENTS.IN", True),
        ("PAYMENTS.*", "*.IN", True),
        ("PAYMENTS.*", "PAY?ENTS.*", True),
        ("PAYMENTS.IN", "*.OUT", False),
        ("PAYMENTS.IN", "PAYMENTS.IN", True),
        ("A*", "?", True),
        ("A", "??", False),
        ("*", "SYSTEM.DEAD.*", False),  # a workflow looks at such queues only where it names them so
        ("*", "*DEAD*", True),
        ("SYSTEM.*", "SYSTEM.DEAD.*", True),
        ("*", "MQOPS.QUARANTINE", False),
    ],
)
def test_estate_check_refuses_a_suite_that_can_look_at_no_queue(
    tmp_path: Path, workflow: str, suite: str, fits: bool
) -> None:
    (tmp_path / "s.yaml").write_text(f"{SUITE}queues: ['{suite}']\n")
    code, text = checked(tmp_path, f"{{suites: [s.yaml], queues: ['{workflow}']}}")
    where = "estate.yaml:5: queue_managers.QM1.snapshot_quality.suites.0: suite s"
    if fits:
        assert f"{where}: whether the queue manager has a queue that fits {suite} is not known here; --live" in text
        assert code == 0
    else:
        assert f"{where} looks at {suite} only, and its workflow at {workflow}: no queue fits both" in text
        assert code == 1
