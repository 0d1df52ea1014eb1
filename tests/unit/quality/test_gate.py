"""The gate as values: what a check may say, what the estate may name, what becomes of a row of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.actions import Action
from mqops.cli import main
from mqops.decide.core.gate import GateCheck, GateFound, Verdict, gated, remarks, strictest
from mqops.ledger.core.replays import CAPPED
from mqops.message_checks import OnFailure
from mqops.plan_row import PlanRow, left
from mqops.quality.suite_file import parse

QUARANTINE = Verdict("gate:s:a", "BAD")
LEAVE = Verdict("gate:s:b", "")


def row(action: Action = Action.RETRY, **fields: object) -> PlanRow:
    """A row that puts a message on OUT."""
    known: dict[str, object] = dict.fromkeys(PlanRow._fields, "")
    known |= {"rule_line": 3, "rule_key": "k", "dest_q": "OUT", "order_key": "o", "unit_group": "OUT@", "header": False}
    return PlanRow(**{**known, "action": action, **fields})  # type: ignore[arg-type]


def test_a_row_that_puts_is_changed_by_the_verdict_and_no_other():
    quarantined = gated(row(), QUARANTINE)
    assert (quarantined.action, quarantined.dest_q, quarantined.unit_group) == (Action.FWD, "BAD", "BAD@")
    assert (quarantined.rule_line, quarantined.rule_key, quarantined.header) == (None, "gate:s:a", True)
    assert quarantined.order_key == ""
    stays = gated(row(), LEAVE)
    assert stays == row()._replace(**left(Action.GATED), rule_line=None, rule_key="gate:s:b")
    assert not stays.action.acts
    untouched = [
        row(Action.DISCARD),
        row(Action.IGNORE),
        row(Action.ERROR),
        row(Action.FWD, dest_q="BAD", rule_key=CAPPED),
        row(Action.FWD, dest_q="BAD"),  # the table sends it there itself
    ]
    assert [gated(one, QUARANTINE) for one in untouched] == untouched
    assert gated(row(Action.FWD, dest_q="BAD", dest_q_mgr="QM2"), QUARANTINE).dest_q_mgr == ""
    assert gated(row(), None) == row()


def test_what_leaves_a_message_wins_over_what_moves_it_else_the_first_check():
    other = Verdict("gate:s:c", "BAD")
    assert strictest([QUARANTINE, other]) == QUARANTINE
    assert strictest([QUARANTINE, LEAVE]) == LEAVE


def test_an_approver_reads_counts_by_check():
    def check(name: str, on_failure: OnFailure, failed: int | None = 2, **more: str) -> GateCheck:
        return GateCheck(suite="s", check=name, severity="x", on_failure=on_failure, failed=failed, **more)

    found = GateFound(
        checks=(
            check("a", OnFailure.QUARANTINE, why="no amount"),
            check("b", OnFailure.LEAVE),
            check("c", OnFailure.WARN),
            check("d", OnFailure.WARN, None, observed="9"),
            check("e", OnFailure.NOTE),
        ),
        without_queue=("other",),
        checks_without_queue=("s:f",),
        quarantine="BAD",
    )
    assert list(remarks(found, {"gate:s:a": 1_200})) == [
        "gate: suite other looks at no queue of this run",
        "gate: check s:f looks at no queue of this run",
        "gate: 1,200 messages to BAD: s:a fails: no amount",
        "gate: warning: s:c is not met (2 messages); the gate does not hold these messages back",
        "gate: warning: s:d is not met (found 9); the gate does not hold these messages back",
    ]


def suite(checks: str) -> str:
    return f"suite: s\nexpectations:\n{checks}"


ROWS = "- {id: a, expect: column_values_to_not_be_null, column: format"
WHOLE = "- {id: a, expect: table_row_count_to_be_between, min_value: 1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("}", OnFailure.STOP),
        (", severity: warning}", OnFailure.WARN),
        (", severity: info}", OnFailure.NOTE),
        (", severity: info, on_failure: quarantine}", OnFailure.QUARANTINE),
    ],
)
def test_what_a_gate_does_follows_from_the_severity_where_a_check_does_not_say_it(given, expected):
    found, problems = parse(suite(ROWS + given), source="s.yaml")
    assert found
    assert not problems
    assert [one.on_failure for one in found.checks] == [expected]


def test_that_a_column_of_the_payload_cannot_be_read_is_as_strict_as_the_strictest_check_of_it():
    checks = (
        "- {id: a, expect: column_values_to_not_be_null, column: $.x, severity: critical, on_failure: warn}\n"
        "- {id: b, expect: column_values_to_be_in_set, column: $.x, value_set: [y], severity: info, "
        "on_failure: quarantine}\n"
    )
    found, _ = parse(suite(checks), source="s.yaml")
    assert found
    assert [(one.id, one.severity, one.on_failure) for one in found.checks][2:] == [
        ("x_readable", "critical", OnFailure.QUARANTINE)
    ]


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        (ROWS + ", on_failure: drop}", "s.yaml:3: expectations.0.on_failure: must be one of stop, leave, quarantine"),
        (
            WHOLE + ", on_failure: leave}",
            "s.yaml:3: expectations.0.on_failure: must be stop or warn or note: table_row_count_to_be_between is about "
            "all messages together",
        ),
    ],
)
def test_what_no_check_can_say_is_told_by_file_line_and_field(checks, expected):
    found, problems = parse(suite(checks), source="s.yaml")
    assert found is None
    assert str(problems[0]).startswith(expected), problems


def examined(tmp_path: Path, gate: str, checks: str = ROWS + "}") -> str:
    """What `mqops estate check` says of an estate with this gate."""
    (tmp_path / "s.yaml").write_text(suite(checks))
    (tmp_path / "r.rules").write_text("ACTION(RETRY)\n")
    path = tmp_path / "estate.yaml"
    text = f"    dlq_rules:\n      rules: r.rules\n      gate: {gate}\n"
    path.write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq\n{text}")
    return CliRunner().invoke(main, ["estate", "check", str(path)]).output


GATE = "queue_managers.QM1.dlq_rules.gate"


@pytest.mark.parametrize(
    ("gate", "checks", "expected"),
    [
        ("{suites: [s.yaml]}", ROWS + "}", "estate.yaml: valid"),
        ("{suites: [s.yaml], quarantine: BAD}", ROWS + ", on_failure: quarantine}", "estate.yaml: valid"),
        (
            "{suites: [s.yaml], quarantine: BAD}\n      also: [BAD]",
            ROWS + ", on_failure: quarantine}",
            "s.yaml:3: a: on_failure is quarantine, and the workflow takes messages from that queue, BAD, so that",
        ),
        ("{suites: [s.yaml], quarantine: BAD}\n      queue: BAD", ROWS + ", on_failure: leave}", "estate.yaml: valid"),
        ("{suites: []}", ROWS + "}", f"estate.yaml:7: {GATE}.suites: must not be empty"),
        ("{suites: [n.yaml]}", ROWS + "}", f"estate.yaml:7: {GATE}.suites.0: there is no file"),
        ("{suites: [s.yaml], queues: [A]}", ROWS + "}", f"estate.yaml:7: {GATE}.queues: is not a known key"),
        ("{suites: [s.yaml]}", ROWS + "x}", "s.yaml:3: expectations.0.column: there is no column 'formatx'"),
        ("{suites: [s.yaml]}", ROWS + ", on_failure: quarantine}", f"estate.yaml:7: {GATE}.suites.0: "),
        ("{suites: [s.yaml]}", ROWS + ", on_failure: quarantine}", "s.yaml:3: a: on_failure is quarantine, and the ga"),
        (
            "{suites: [s.yaml]}",
            "- {id: a, expect: table_row_count_to_be_as_before}",
            "s.yaml:3: a: table_row_count_to_be_as_before learns from runs of snapshot_quality",
        ),
    ],
)
def test_what_is_wrong_with_a_gate_is_told_by_estate_check(tmp_path, gate, checks, expected):
    output = examined(tmp_path, gate, checks)
    assert expected in output, output
