"""Workflows by trigger in the estate: the MQSC that `mqops estate check` prints, and what `--live` misses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mqlite_support import INPUT, Application, run_mqsc
from pymqi import CMQC

from mqops.cli import main
from mqops.estate import load
from mqops.estate_sections import QueueManager, startable
from mqops.estate_workflows import MovingWorkflow
from mqops.mq.connection import MqConnection, connect
from mqops.trigger.core.definitions import wanted
from mqops.trigger.core.trigger_message import Start, Unusable, to_start
from mqops.trigger.depth import switch_on
from mqops.trigger.monitor import TriggerMonitor
from mqops.trigger.work import handle_messages
from mqwire import constants as c
from mqwire.structures import MQDLH, MQTM

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"
MONITOR = "    trigger_monitor: {queues: [MQOPS.INITQ, OTHER.INITQ], dags: [orders]}\n"
ESTATE = f"""\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
{MONITOR}\
    dlq_rules: {{rules: good.rules, trigger: FIRST}}
    backout_reprocess: {{rules: good.rules, quarantine: QUARANTINE, queues: [A.BOQ, B.BOQ], trigger: DEPTH(10)}}
    expiry_scan: {{queues: [APP, "X*"], trigger: EVERY}}
"""
QUEUES = f"""\
ALTER QMGR DEADQ({DLQ})
DEFINE QLOCAL(MQOPS.LEDGER) DEFPSIST(YES)
DEFINE QLOCAL(A.BOQ)
DEFINE QLOCAL(B.BOQ)
DEFINE QLOCAL(QUARANTINE)
DEFINE QLOCAL(APP)
"""


@pytest.fixture
def estate(tmp_path: Path) -> Path:
    (tmp_path / "good.rules").write_text("ACTION(RETRY)\n")
    path = tmp_path / "estate.yaml"
    path.write_text(ESTATE)
    return path


def check(path: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["estate", "check", str(path), *options])


def live_errors(path: Path) -> list[str]:
    errors: list[str] = json.loads(check(path, "--live", "--json").output)["errors"]
    return errors


def test_check_prints_the_mqsc_and_with_it_the_queue_manager_is_complete(
    estate: Path, application: Application
) -> None:
    run_mqsc(QUEUES)
    shown = check(estate)
    assert shown.exit_code == 0, shown.output
    assert "QM1 needs for triggering (MQSC):" in shown.output
    commands = json.loads(check(estate, "--json").output)["mqsc"]["QM1"]
    assert all(f"  {command}" in shown.output.splitlines() for command in commands)
    missing = live_errors(estate)
    assert len(missing) == 2 + 3 + 4  # initiation queues, processes, triggers
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in missing))
    assert check(estate, "--live").exit_code == 0, check(estate, "--live").output
    run_mqsc("\n".join(command for command in commands if not command.startswith(("*", "DEFINE QLOCAL"))))
    assert live_errors(estate) == []


def test_a_message_on_each_triggered_queue_starts_its_workflow(estate: Path, application: Application) -> None:
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    allowed = startable("QM1", load(estate).estate.queue_managers["QM1"])
    assert allowed == ("orders", "qm1_backout_reprocess", "qm1_dlq_rules", "qm1_expiry_scan")
    connection = MqConnection(queue_manager="QM1")
    monitor = TriggerMonitor(connection, ["MQOPS.INITQ", "OTHER.INITQ"])
    monitor.open()
    for queue in (DLQ, "APP", *["A.BOQ"] * 10):
        application.put(queue)
    starts = []
    with connect(connection) as session:
        for _ in handle_messages(
            session, "MQOPS.INITQ", lambda seen: starts.append(to_start(seen.md, seen.body, allowed=allowed))
        ):
            pass
    monitor.close()
    assert {(one.message.q_name, one.dag_id) for one in starts if isinstance(one, Start)} == {
        (DLQ, "qm1_dlq_rules"),
        ("APP", "qm1_expiry_scan"),
        ("A.BOQ", "qm1_backout_reprocess"),
    }


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        ("DELETE QLOCAL(OTHER.INITQ)", "the initiation queue OTHER.INITQ is not there"),
        (
            "ALTER QLOCAL(OTHER.INITQ) NOSHARE",
            "NOSHARE, so no trigger message could be got: ALTER QLOCAL(OTHER.INITQ)",
        ),
        ("DELETE PROCESS(MQOPS.DLQ_RULES)", "the process MQOPS.DLQ_RULES is not there"),
        ("ALTER PROCESS(MQOPS.DLQ_RULES) APPLICID('x')", "names APPLICID(x)"),
        ("ALTER PROCESS(MQOPS.DLQ_RULES) APPLTYPE(CICS)", "with APPLTYPE 1"),
        ("ALTER QLOCAL(APP) NOTRIGGER", "the queue APP does not trigger as the estate says (NOTRIGGER)"),
        ("ALTER QLOCAL(APP) TRIGTYPE(FIRST)", "(TRIGTYPE)"),
        ("ALTER QLOCAL(A.BOQ) TRIGDPTH(11)", "the queue A.BOQ does not trigger as the estate says (TRIGDPTH)"),
        ("ALTER QLOCAL(APP) INITQ(OTHER.INITQ) PROCESS(X)", "(INITQ, PROCESS)"),
        ("DELETE QLOCAL(B.BOQ)", "the queue B.BOQ is not there"),
        ("ALTER QMGR DEADQ(' ')", "the queue of DEADQ is not known"),
    ],
)
def test_live_names_what_is_missing(estate: Path, application: Application, breaks: str, told: str) -> None:
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    assert live_errors(estate) == []
    run_mqsc(breaks)
    assert any(told in line for line in live_errors(estate)), live_errors(estate)


def test_T17_trigger_messages_of_the_estates_initiation_queue_are_persistent_and_expire_never(
    estate: Path, application: Application
) -> None:
    """The MQSC of `estate check` says so: else IBM MQ would lose them at a restart."""
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    reader = application.open("MQOPS.INITQ", INPUT)
    application.put("APP", Persistence=CMQC.MQPER_NOT_PERSISTENT, Expiry=600)
    md, _body = application.get(reader)
    assert (md.Persistence, md.Expiry) == (CMQC.MQPER_PERSISTENT, CMQC.MQEI_UNLIMITED)


def test_a_dead_letter_queue_that_is_an_alias_triggers_on_its_base(estate: Path, application: Application) -> None:
    run_mqsc(QUEUES)
    run_mqsc(f"DEFINE QALIAS(ALIAS) TARGET({DLQ})\nALTER QMGR DEADQ(ALIAS)")
    missing = live_errors(estate)
    assert f"ALTER QLOCAL('{DLQ}') TRIGGER" in "\n".join(missing)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in missing))
    assert live_errors(estate) == []


def test_a_depth_that_has_triggered_is_in_order(estate: Path, application: Application) -> None:
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    run_mqsc("ALTER QLOCAL(A.BOQ) NOTRIGGER")  # as the queue manager does with each trigger message
    assert live_errors(estate) == []


def triggering_is_on(queue: str) -> bool:
    return any(line.split() == ["TRIGGER"] for line in run_mqsc(f"DISPLAY QLOCAL({queue}) TRIGGER"))


def test_T09_behind_its_run_a_depth_queue_triggers_again(estate: Path, application: Application) -> None:
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    run_mqsc("ALTER QLOCAL(APP) NOTRIGGER")  # EVERY: a person has switched it off
    settings = load(estate).estate.queue_managers["QM1"]
    connection = MqConnection(queue_manager="QM1")
    served = TriggerMonitor(connection, ["MQOPS.INITQ"])
    served.open()
    with connect(connection) as session:

        def on(workflow: str) -> tuple[str, ...]:
            return switch_on(session, "QM1", settings, workflow).queues

        assert on("backout_reprocess") == (), "it is on"
        for _ in range(10):
            application.put("A.BOQ")
        assert (application.depth("MQOPS.INITQ"), triggering_is_on("A.BOQ")) == (1, False)
        application.put("A.BOQ")
        assert application.depth("MQOPS.INITQ") == 1
        assert on("dlq_rules") == (), "that one is FIRST"
        assert on("expiry_scan") == (), "that one is EVERY"
        run_mqsc("CLEAR QLOCAL(A.BOQ)")
        assert on("backout_reprocess") == ("A.BOQ",)
        assert triggering_is_on("A.BOQ")
        for _ in range(10):
            application.put("A.BOQ")
        assert application.depth("MQOPS.INITQ") == 2
        assert on("backout_reprocess") == ("A.BOQ",)
        assert application.depth("MQOPS.INITQ") == 3, "T13: the messages are still there"
        run_mqsc("ALTER QLOCAL(A.BOQ) NOTRIGGER TRIGTYPE(FIRST)")
        assert on("backout_reprocess") == (), "it is another type now"
    served.close()
    assert not triggering_is_on("APP")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((MONITOR, ""), "there is no trigger_monitor"),
        (("trigger: FIRST", "trigger: EVERY"), "dlq_rules.trigger must not be EVERY"),
        (("trigger: FIRST", "trigger: SOMETIMES"), "must be FIRST, EVERY or DEPTH(number)"),
        (("DEPTH(10)", "DEPTH(0)"), "must be FIRST, EVERY or DEPTH(number)"),
        (("queues: [A.BOQ, B.BOQ], ", ""), "backout_reprocess has a trigger, so it must name its queues"),
        (("[APP, ", "["), "expiry_scan has a trigger, so it must name its queues: at least one whole, without *"),
        (("[orders]", "[../orders]"), "must be a DAG id"),
        (("[orders]", "[orders], unchanged_runs: 0"), "unchanged_runs"),
        (("queues: [MQOPS.INITQ, OTHER.INITQ]", "queues: []"), "must not be empty"),
        (("MQOPS.INITQ, OTHER.INITQ]", "A, B, A]"), "estate.yaml:5: queue_managers.QM1.trigger_monitor.queues: names"),
        (("queues: [A.BOQ, B.BOQ]", "queues: [A.BOQ, A.BOQ]"), "names A.BOQ twice"),
    ],
)  # fmt: skip
def test_errors_of_the_estate_are_told(estate: Path, change: tuple[str, str], told: str) -> None:
    text = ESTATE.replace(*change)
    assert text != ESTATE
    estate.write_text(text)
    result = check(estate)
    assert result.exit_code == 1
    assert told in result.output


class ParkLarge(MovingWorkflow):
    """The section of a workflow that somebody adds."""

    queues: tuple[str, ...] = ()


class MoreWorkflows(QueueManager):
    park_large: ParkLarge | None = None


def test_a_trigger_of_a_new_workflow_is_heeded_or_refused() -> None:
    """docs/adding_a_decider.md"""
    section: dict[str, Any] = {"trigger": "EVERY", "queues": ("APP.IN", "APP.*")}
    monitor: dict[str, Any] = {"connection": "mq_qm1", "trigger_monitor": {"queues": ("MQOPS.INITQ",)}}
    settings = MoreWorkflows.model_validate(monitor | {"park_large": section})
    assert startable("QM1", settings) == ("qm1_park_large",)
    (trigger,) = wanted("QM1", settings).triggers
    assert (trigger.queue, trigger.trigger, trigger.process) == ("APP.IN", "EVERY", "MQOPS.PARK_LARGE")
    with pytest.raises(ValueError, match="park_large has a trigger, so it must name its queues"):
        MoreWorkflows.model_validate(monitor | {"park_large": {"trigger": "EVERY"}})
    with pytest.raises(ValueError, match="park_large has a trigger, and there is no trigger_monitor"):
        MoreWorkflows.model_validate({"connection": "mq_qm1", "park_large": section})


def test_status_says_who_serves_and_what_was_dead_lettered(estate: Path, application: Application) -> None:
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    run_mqsc(f"ALTER QLOCAL({DLQ}) NOTRIGGER")
    application.put("MQOPS.INITQ", b"no trigger message")
    application.put(DLQ, b"some other dead letter")

    def status(*options: str) -> Result:
        return CliRunner().invoke(main, ["estate", "status", str(estate), *options])

    before = status()
    assert before.exit_code == 1
    assert "QM1: initiation queue MQOPS.INITQ: NOBODY serves it, 1 trigger message" in before.output
    connection = MqConnection(queue_manager="QM1")
    monitor = TriggerMonitor(connection, ["MQOPS.INITQ", "OTHER.INITQ"])
    monitor.open()
    with connect(connection) as session:
        judged = Unusable(reason=c.MQFB_TM_ERROR, why="no MQTM")
        assert list(handle_messages(session, "MQOPS.INITQ", lambda _seen: judged)) == []
        message = replace(MQTM(), q_name="APP").pack()
        dead_letter = replace(MQDLH(), reason=c.MQFB_TM_ERROR, dest_q_name="INITQ.OF.SOMEBODY")
        application.put(DLQ, dead_letter.pack() + message, Format=c.MQFMT_DEAD_LETTER_HEADER.encode())
    after = status()
    assert after.exit_code == 1
    assert "QM1: initiation queue MQOPS.INITQ: a trigger monitor serves it, 0 trigger messages" in after.output
    assert f"QM1: dead-letter queue {DLQ}: 1 trigger message with MQFB_TM_ERROR" in after.output
    assert json.loads(status("--json").output)["QM1"]["dead_letters"] == {"MQFB_TM_ERROR": 1}
    run_mqsc(f"CLEAR QLOCAL({DLQ})")
    assert (status().exit_code, "no trigger message is on the dead-letter queue" in status().output) == (0, True)
    monitor.close()
    assert status().exit_code == 1


def test_the_audit_knows_the_initiation_queues_and_dags_of_the_estate(
    estate: Path, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_mqsc(QUEUES)
    run_mqsc("\n".join(line.split(": ", 2)[-1] for line in live_errors(estate)))
    monkeypatch.setenv("MQOPS_ESTATE", str(estate))
    found = json.loads(CliRunner().invoke(main, ["trigger", "audit", "QM1", "--json"]).output)
    assert found["unserved"] == ["MQOPS.INITQ", "OTHER.INITQ"]
    assert found["dags"] == ["orders"]  # the estate allows it, and no process names it
