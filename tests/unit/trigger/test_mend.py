"""`mqops trigger explain --fix`: what is run, who is asked, what is refused, and the record of it."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from explain_support import explained, next_message_triggers, queue_manager
from mqlite_support import INPUT, Application, run_mqsc
from trigger_support import Monitor, define

import mqops.cli.trigger_mend
from mqops.cli import main

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: qm1.rules, approval: {four_eyes: true}}
"""


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A person at a command line, with a lake and without an estate; call it to be another person."""

    def be(name: str) -> None:
        monkeypatch.setattr(mqops.cli.trigger_mend, "this_user", lambda: f"{name}@host")

    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("MQOPS_ESTATE", "")
    monkeypatch.setattr("mqops.storage.ESTATE", tmp_path / "none.yaml")
    be("alice")
    return be


@pytest.fixture
def broken() -> Iterator[Application]:
    """A queue with three conditions broken, and a message that waits."""
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        run_mqsc("ALTER QLOCAL(APP) NOTRIGGER PUT(DISABLED)\nALTER QLOCAL(IQ) GET(DISABLED)")
        yield application


def fix(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(main, ["trigger", "explain", "APP", "QM1", "--fix", *arguments], input=answer)


def record(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "lake" / "QM1" / "trigger" / "changes.jsonl"
    if not path.exists():
        return []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_plan_is_shown_asked_for_run_and_recorded(broken: Application, tmp_path: Path) -> None:
    refused = fix(answer="n\n")
    assert refused.exit_code == 1
    assert (
        "  ALTER QLOCAL(APP) PUT(ENABLED)\n      warning: somebody has inhibited it, perhaps on purpose"
        in refused.stdout
    )
    assert "Run these commands? [y/N]: n" in refused.stdout
    assert not record(tmp_path)
    assert explained().state("T09") == "fails"
    monitor = Monitor()
    done = fix(answer="y\n")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "The next message of sufficient priority makes a trigger message."
    commands = ["ALTER QLOCAL(APP) PUT(ENABLED)", "ALTER QLOCAL(IQ) GET(ENABLED)", "ALTER QLOCAL(APP) TRIGGER"]
    lines = record(tmp_path)
    assert [line["step"] for line in lines] == ["approved", *["run", "done"] * 3]
    assert (lines[0]["commands"], [line["mqsc"] for line in lines[1::2]]) == (commands, commands)
    assert {(line["by"], line["queue"]) for line in lines} == {("alice@host", "APP")}
    assert next_message_triggers(broken)
    monitor.stop()


def test_a_dry_run_changes_nothing_and_another_person_carries_out_this_plan_only(
    broken: Application, tmp_path: Path, user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    alone = fix("--yes")
    assert alone.exit_code == 2
    assert "asks for four eyes, and alice@host asked for these commands" in alone.stderr
    document = json.loads(fix("--dry-run", "--json").stdout)
    digest = document["plan"]["digest"]
    assert f"--fix --approve {digest}" in document["carry_out"]
    assert explained().state("T09") == "fails"
    assert "four eyes" in fix("--approve", digest).stderr
    user("bob")
    run_mqsc("ALTER QLOCAL(APP) TRIGGER")
    changed = fix("--approve", digest)
    assert changed.exit_code == 2
    assert "nothing was changed" in changed.stderr
    assert explained().state("T01") == "fails"
    run_mqsc("ALTER QLOCAL(APP) NOTRIGGER")
    assert fix("--approve", digest).exit_code == 1  # no trigger monitor
    assert [one.id for one in explained().conditions if one.state == "fails"] == ["T08"]
    steps = [(line["step"], line["by"]) for line in record(tmp_path)]
    assert steps[:2] == [("asked", "alice@host"), ("approved", "bob@host")]
    assert record(tmp_path)[1]["requested_by"] == "alice@host"


def test_a_queue_that_changed_while_the_question_was_open_is_left(
    broken: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another_person_is_faster(_question: str) -> bool:
        run_mqsc("ALTER QLOCAL(APP) TRIGGER")
        return True

    monkeypatch.setattr("click.confirm", another_person_is_faster)
    result = fix()
    assert result.exit_code == 2
    assert "APP is not as it was when plan" in result.stderr
    assert (explained().state("T01"), record(tmp_path)) == ("fails", [])


def test_what_is_dangerous_is_refused_and_nothing_is_run(tmp_path: Path) -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)", process="UNKNOWN")
        run_mqsc("ALTER QLOCAL(APP) NOTRIGGER")
        result = fix("--yes")
        assert result.exit_code == 2
        assert "refused: nobody has said what the process starts: name it with --applicid" in result.stdout
        assert explained().state("T09") == "fails"
        run_mqsc("ALTER QLOCAL(SYSTEM.DEFAULT.INITIATION.QUEUE) PUT(DISABLED)")
        run_mqsc("ALTER QLOCAL(APP) INITQ(SYSTEM.DEFAULT.INITIATION.QUEUE)")
        result = fix("--yes", "--applicid", "serve")
        assert "SYSTEM.DEFAULT.INITIATION.QUEUE belongs to the queue manager" in result.stderr
        assert not record(tmp_path)
        run_mqsc("ALTER QLOCAL(APP) INITQ(IQ)")
        monitor = Monitor()
        assert fix("--yes", "--applicid", "it's").exit_code == 0
        assert "APPLICID(it's)" in "".join(run_mqsc("DISPLAY PROCESS(UNKNOWN) APPLICID"))
        monitor.stop()


def test_a_command_that_the_queue_manager_refuses_ends_it_and_is_recorded(tmp_path: Path) -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)", process="UNKNOWN")
        run_mqsc("ALTER QLOCAL(APP) NOTRIGGER")
        result = fix("--yes", "--applicid", "x" * 257)  # MQ_PROCESS_APPL_ID_LENGTH is 256
        assert result.exit_code == 2
        assert "MQCMD_CREATE_PROCESS on UNKNOWN failed" in result.stderr
        assert [line["step"] for line in record(tmp_path)] == ["approved", "run", "failed"]
        assert "MQCMD_CREATE_PROCESS" in record(tmp_path)[-1]["error"]
        assert "0 of 2 commands were run before it: look again" in result.stderr
        assert {explained().state("T06"), explained().state("T09")} == {"fails"}


def test_to_switch_triggering_on_or_to_name_an_initiation_queue_comes_with_a_warning(tmp_path: Path) -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)")
        run_mqsc("ALTER QLOCAL(APP) NOTRIGGER INITQ(' ')")
        assert "warning: somebody has switched triggering off, perhaps on purpose\n" in fix("--dry-run").stdout
        assert "warning: mqops has chosen this initiation queue" in fix("--dry-run").stdout
        application.put("APP")
        assert "switched triggering off, perhaps on purpose; it starts the program now" in fix("--dry-run").stdout
        run_mqsc("ALTER QLOCAL(APP) TRIGTYPE(DEPTH) TRIGDPTH(1)")
        one_more = "has not, ALTER QLOCAL(APP) TRIGGER makes one more (T13)"
        assert one_more in " ".join(fix("--dry-run").stdout.split())
        _program = application.open("APP", INPUT)
        at_work = "The program that has the queue open should switch triggering on itself. Only if it has ended"
        assert at_work in " ".join(fix("--dry-run").stdout.split())
        assert "warning" not in fix("--dry-run").stdout.replace("warning: mqops has chosen", "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--yes"], "need --fix"),
        (["--fix", "--watch"], "one after the other"),
        (["--fix", "--json"], "--json cannot ask for confirmation"),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(main, ["trigger", "explain", "APP", "QM1", *arguments])
    assert result.exit_code == 2
    assert text in result.stderr


def test_a_dry_run_and_an_approval_do_not_go_together() -> None:
    for more in (["--approve", "0" * 64], ["--yes"]):
        result = fix("--dry-run", *more)
        assert (result.exit_code, "leave out --yes and --approve" in result.stderr) == (2, True)
