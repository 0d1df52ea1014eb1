"""The arguments that runmqdlq takes, the numbers of its errors, and errors of every command as JSON."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click
import pytest
from mq_support import DLQ, dead_letter

from mqops.cli import main
from mqops.cli.outcome import LakePath

ACCESS = Path(__file__).resolve().parents[3] / "include" / "docker" / "qm1_access.mqsc"
TABLE = "WAIT(NO)\nDESTQ(A) ACTION(RETRY)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.fixture
def mqops(mqops):
    """With a rules table on standard input."""
    return partial(mqops, text=TABLE)


def test_a_user_has_its_password_in_front_of_the_table(manager, mqops, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    manager.mqlite("user", "add", "QM1", "app", text="app's own\n")
    lines = ACCESS.read_text(encoding="utf-8").splitlines()
    manager.mqsc("\n".join(line for line in lines if line.startswith("SET AUTHREC")) + "\n")
    refused = mqops("dlq", "run", "-u", "app", DLQ, "QM1", text=f"wrong\n{TABLE}", expect=1)
    assert "AMQ8741: the queue manager QM1 cannot be connected to: MQRC_NOT_AUTHORIZED (2035)" in refused.stderr
    assert "wrong" not in refused.stderr
    missing = mqops("dlq", "run", "-u", "app", DLQ, "QM1", text="", expect=1)
    assert missing.stderr == (
        "mqops: -u app needs a password: in the file $MQOPS_PASSWORD_FILE, by the program $MQOPS_PASSWORD_COMMAND, in "
        "$MQOPS_PASSWORD, or as the first line of standard input\n"
    )
    rules = tmp_path / "table.rules"
    rules.write_text(TABLE)
    mqops("dlq", "run", "-u", "app", DLQ, "QM1", "--dry-run", "--rules", str(rules), text="app's own")
    assert "1 moved" in mqops("dlq", "run", "-u", "app", DLQ, "QM1", text=f"app's own\n{TABLE}").stdout


def test_a_client_connection_is_asked_for(manager, mqops):
    manager.mqsc(
        "ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(REQUIRED)\n"
        "REFRESH SECURITY TYPE(CONNAUTH)\n"
    )
    assert "nothing to do" in mqops("dlq", "run", DLQ, "QM1").stdout
    refused = mqops("dlq", "run", "-c", DLQ, "QM1", expect=1)
    assert "MQCONNX on QM1 failed: MQRC_NOT_AUTHORIZED (2035)" in refused.stderr


@pytest.mark.parametrize("queue", [f"{DLQ} and more", f" {DLQ}"])
def test_a_queue_is_cut_at_its_first_blank(mqops, queue):
    assert f"nothing to do: {DLQ} of QM1 is empty" in mqops("dlq", "run", queue, "QM1").stdout


NO_NAME = "N" * 49


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["dlq", "run", NO_NAME, "QM1"], f"MQOPEN on {NO_NAME} failed: MQRC_OBJECT_NAME_ERROR (2152)"),
        (["dlq", "run", "\N{SNOWMAN}", "QM1"], "MQOPEN on \N{SNOWMAN} failed: MQRC_OBJECT_NAME_ERROR (2152)"),
        (["snapshot", NO_NAME, "-m", "QM1"], f"MQOPEN on {NO_NAME} failed: MQRC_OBJECT_NAME_ERROR (2152)"),
        (["dlq", "anatomy", NO_NAME, "QM1"], f"MQOPEN on {NO_NAME} failed: MQRC_OBJECT_NAME_ERROR (2152)"),
        (["dlq", "run", DLQ, NO_NAME], f"MQCONNX on {NO_NAME} failed: MQRC_Q_MGR_NAME_ERROR (2058)"),
        (["dlq", "run", DLQ, "\u00c9"], "MQCONNX on \u00c9 failed: MQRC_Q_MGR_NAME_ERROR (2058)"),
        (["dlq", "run", DLQ, "Q\nM1"], "MQCONNX on Q\ufffdM1 failed: MQRC_Q_MGR_NAME_ERROR (2058)"),
        (["dlq", "run", "-u", "\udcff", DLQ, "QM1"], "MQCONNX on QM1 failed: MQRC_NOT_AUTHORIZED (2035)"),
    ],
)
def test_an_argument_that_is_no_name_is_one_line_and_exit_1(mqops, arguments, says):
    done = mqops(*arguments, text=f"a password\n{TABLE}" if "-u" in arguments else TABLE, expect=1)
    *before, line = done.stderr.splitlines()
    assert line.startswith(f"mqops: {says}")
    assert all("AMQ87" in one for one in before)
    assert not done.stdout


def test_json_that_is_nested_too_deeply_is_not_taken(manager, mqops, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x")])
    deep = "[" * 100_000
    refused = mqops("dlq", "run", DLQ, "QM1", MQOPS_CONNECTION=deep, expect=1).stderr
    assert refused.startswith("mqops: MQOPS_CONNECTION is not a connection as JSON: it is no JSON (RecursionError)")
    run = json.loads(mqops("dlq", "run", DLQ, "QM1", "--dry-run", "--json").stdout)["plan"]["run"]
    plan = tmp_path / "lake" / "QM1" / "runs" / run / "plan.json"
    plan.write_text(deep)
    assert f"mqops: {plan} is not JSON" in mqops("dlq", "act", run, "-m", "QM1", "--approve", "x", expect=1).stderr


@pytest.mark.parametrize("arguments", [["?"], ["-?"], ["?anything", "QM1"]])
def test_a_question_mark_prints_the_usage(mqops, arguments):
    said = mqops("dlq", "run", *arguments, text="").stdout
    assert said == mqops("dlq", "run", "--help").stdout
    for promise in (
        "RETRYINT and WAIT of the table have their usual meaning",
        "without a question",
        "--dry-run",
        "Exit codes: 0",
        "--once",
    ):
        assert promise in " ".join(said.split())


ERRORS = """\
RETRYINT(9999999999)
DESTQ(A) DESTQ(B) ACTION(RETRY) HEADER(NO)
APPLIDAT(123456789012345678901234567890123) ACTION(FWD)
ACTION(FWD) FWDQ(ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ)
"""


def test_D07_errors_in_the_table_have_the_numbers_of_runmqdlq(mqops):
    errors = mqops("dlq", "run", DLQ, "QM1", text=ERRORS, expect=1).stderr
    found = [line.split(": ")[:2] for line in errors.splitlines() if line[:1].isdigit() and ": AMQ" in line]
    assert found == [
        ["1:10", "AMQ8757"],  # an integer out of range
        ["2:10", "AMQ8753"],  # a keyword twice
        ["2:33", "AMQ8759"],  # parameters that do not go together
        ["3:10", "AMQ8752"],  # longer than the field
        ["3:45", "AMQ8759"],
        ["4:18", "AMQ8752"],
    ]
    assert "  AMQ8758: 6 errors in the rules table: correct the table and start again" in errors
    assert "AMQ8750: no rule" in mqops("dlq", "run", DLQ, "QM1", text="\n", expect=1).stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["dlq", "run", "NOT.THERE", "QM1"], "MQRC_UNKNOWN_OBJECT_NAME"),
        (["dlq", "run", DLQ, "NOBODY", "--dry-run"], "MQRC_Q_MGR_NAME_ERROR"),
        (["dlq", "anatomy", "NOT.THERE", "QM1"], "MQRC_UNKNOWN_OBJECT_NAME"),
        (["backout", "run", "-m", "NOBODY"], "MQRC_Q_MGR_NAME_ERROR"),
        (["expiry", "scan", "-m", "NOBODY"], "MQRC_Q_MGR_NAME_ERROR"),
        (["snapshot", "-m", "NOBODY"], "MQRC_Q_MGR_NAME_ERROR"),
        (["ledger", "drain", "-m", "NOBODY"], "MQRC_Q_MGR_NAME_ERROR"),
        (["ledger", "outcomes", "no-run", "-m", "QM1"], "SettingsError"),
        (["undo", "no-run", "-m", "QM1", "--yes"], "SettingsError"),
        (["stop", "no-run"], "SettingsError"),
        (["resume", "no-run"], "SettingsError"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_known_error_is_an_object_with_json(mqops, arguments, code):
    done = mqops(*arguments, "--json", expect=1)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == code
    assert done.stderr.splitlines()[-1] == f"mqops: {error['message']}"
    assert error["what_to_do"]


def test_an_invalid_table_is_an_object_with_json(mqops):
    error = json.loads(mqops("dlq", "run", DLQ, "QM1", "--json", text=ERRORS, expect=1).stdout)["error"]
    assert (error["code"], error["message"]) == ("RulesError", "the rules table has 6 errors; nothing was done")
    assert [(one["line"], one["column"]) for one in error["errors"]][:2] == [(1, 10), (2, 10)]
    again = json.loads(mqops("backout", "run", "-m", "QM1", "--json", text=ERRORS, expect=1).stdout)["error"]
    assert again["errors"] == error["errors"]


def test_a_url_is_no_lake(mqops_here, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for place in ("s3://bucket/lake", "file:lake", "file:///lake", "memory:", "abfss://c@a.net/l"):
        for arguments in (["doctor", "QM1"], ["runs"], ["dlq", "run", DLQ, "QM1"], ["ledger", "verify"]):
            refused = mqops_here(*arguments, expect=2, MQOPS_LAKE=place).stderr
            assert f"{place} is no place for a lake" in " ".join(refused.split()), refused
        assert "is not supported" in mqops_here("runs", "--lake", place, expect=2).stderr
    assert list(here.iterdir()) == []  # above all no folder of that name


def test_every_option_of_a_lake_refuses_urls():
    context = click.Context(main)
    options = [one for command in _commands(main, context) for one in command.params if one.name == "lake"]
    assert len(options) > 20
    assert all(isinstance(one.type, LakePath) and one.envvar == "MQOPS_LAKE" for one in options)


def _commands(command, context):
    if not isinstance(command, click.Group):
        return [command]
    found = [command.get_command(context, name) for name in command.list_commands(context)]
    return [each for one in found for each in _commands(one, context)]


def test_without_a_lake_named_it_is_that_of_the_estate_which_the_pages_have(manager, mqops_here, tmp_path):
    """A stop or a proof in another lake than the DAGs' would be of nothing."""
    manager.put(DLQ, [dead_letter("A", b"x")])
    estate = tmp_path / "estate.yaml"
    estate.write_text("lake: its_lake\nqueue_managers: {QM1: {connection: mq_qm1}}\n")
    of_estate = {"MQOPS_LAKE": "", "MQOPS_ESTATE": str(estate)}
    mqops_here("snapshot", "-m", "QM1", **of_estate)
    assert len(list(tmp_path.glob("its_lake/QM1/runs/*"))) == 1
    assert "snapshot" in mqops_here("runs", **of_estate).stdout
    mqops_here("snapshot", "-m", "QM1", "--lake", str(tmp_path / "named"), **of_estate)
    assert len(list(tmp_path.glob("named/QM1/runs/*"))) == 1
    estate.write_text("lake: [\n")
    refused = mqops_here("runs", expect=2, **of_estate).stderr
    assert f"{estate}:" in refused
    assert "Mend it, or name the lake by --lake or MQOPS_LAKE" in refused
