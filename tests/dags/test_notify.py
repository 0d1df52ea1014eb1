"""Who is told what waits for them: by a notifier that the estate names, and never at the expense of the run."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.bases.notifier import BaseNotifier
from mq_support import DLQ, Manager, dead_letter

from mqops.errors import SettingsError
from mqops.estate_sections import Notify
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.message_checks import LEARNS, CheckResult, QualitySummary
from mqops.quality.no_message import keep_no_message
from mqops_airflow.approval.answer import Answer, Asked, Question, write_question
from mqops_airflow.notices import notify
from mqops_airflow.operators.quality import tell_of_suites
from mqops_airflow.runs.run_folder import HANDED_ON, run_key

RUN = SimpleNamespace(dag_id="qm1_dlq_rules", run_id="manual__1+00:00")
TOLD: list[str] = []


class Recording(BaseNotifier):
    """Keeps what it was made to say; says nothing where it is to fail."""

    template_fields = ("text",)

    def __init__(self, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def notify(self, context: Any) -> None:
        if self.text == "fail":
            raise RuntimeError("no server\nof mail")
        TOLD.append(self.text)

    async def async_notify(self, context: Any) -> None:
        self.notify(context)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    module = ModuleType("recording")
    module.Recording = Recording  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "recording", module)
    TOLD.clear()
    return TOLD


def recording(text: str = "{{ mqops.subject }} / {{ mqops.text }} / {{ mqops.link }}") -> Notify:
    return Notify(notifier="recording.Recording", arguments={"text": text})


def test_it_is_told_with_a_link_to_the_run(said: list[str]) -> None:
    told = {"question": "act?", "digest": "{d}", "within": "8:00:00"}
    notify.tell_people(recording(), {"dag_run": RUN}, notify.Notice.OPENED, **told)
    (text,) = said
    assert text.startswith("act? / Plan {d} waits for an answer within 8:00:00; no answer is a Reject. / ")
    assert text.endswith("/dags/qm1_dlq_rules/runs/manual__1%2B00%3A00")


def test_a_notifier_that_fails_is_a_warning(said: list[str], caplog: pytest.LogCaptureFixture) -> None:
    told = {"queue_manager": "QM1", "why": "t"}
    notify.tell_people(recording("fail"), {"dag_run": RUN}, notify.Notice.UNBALANCED, **told)
    assert "The notifier failed, so nobody was notified: no server" in caplog.text
    assert said == []


@pytest.mark.parametrize("name", ["os.path.join", "no.such.module", "airflow.sdk.NoSuchThing"])
def test_what_is_no_notifier_is_refused_when_the_dags_are_made(name: str) -> None:
    with pytest.raises(SettingsError, match=f"notify: {name} "):
        notify.usable(Notify(notifier=name))


def test_before_the_time_out_it_is_told_while_the_question_is_open(said: list[str], estate_folder: Path) -> None:
    run, named = {"dag_id": RUN.dag_id, "dag_run_id": RUN.run_id}, (recording().notifier, recording().arguments)
    told = lambda: asyncio.run(  # noqa: E731
        notify.before_time_out(*named, queue_manager="QM1", context={"dag_run": run})
    )
    told()
    assert said == []  # it has not begun to plan
    folder = RunFolder.at(estate_folder / "lake", "QM1", run_key(RUN.dag_id, RUN.run_id)).create()
    write_json(folder.path / HANDED_ON.name, {"dag_id": RUN.dag_id, "run_id": RUN.run_id, "found": {}})
    plan = {"run": "r", "workflow": "dlq_rules", "queue_manager": "QM1", "queue": "Q", "digest": "d", "rules": []}
    plan |= {"table_source": "", "table_digest": "", "table_text": "", "observed": 0, "rows": 0, "bytes": 0}
    write_json(folder.path / "plan.json", {**plan, "counts": []})
    asked = Question(dag_id=RUN.dag_id, run_id=RUN.run_id, digest="d", text="t")
    answer = Answer(approved=True, by_id="bob", by="bob", at="t")
    write_question(str(folder.path), Asked(question=asked, task_instance="x"))
    told()
    write_question(str(folder.path), Asked(question=asked, task_instance="x", answer=answer))
    told()
    (text,) = said
    assert text.startswith("Still open: QM1: do nothing (of 0 messages of Q)? / The question is still open")


def test_the_estate_names_it_once_for_all_dags(said: list[str], dag_file: Any, estate_folder: Path) -> None:
    estate = estate_folder / "estate.yaml"
    named = "notify: {notifier: recording.Recording, arguments: {text: x}, before: 30m}\n"
    estate.write_text(estate.read_text() + named)
    (dlq,) = (dag for dag in vars(dag_file("dlq_rules")).values() if isinstance(dag, DAG))
    undo = dag_file("undo").mq_undo
    for dag in (dlq, undo):
        for task in (one.value.task for one in notify.Notice if one.value.task):
            assert dag.get_task(task).notify == recording("x").model_copy(update={"before": timedelta(minutes=30)})
    (alert,) = dlq.deadline
    assert alert.interval == timedelta(hours=7, minutes=30)
    assert alert.callback.path == "mqops_airflow.notices.notify.before_time_out"


def test_a_suite_that_passed_and_does_not_is_told_apart_from_one_that_never_did(
    said: list[str], estate_folder: Path, tmp_path: Path
) -> None:
    def of_run(run: str, *suites: tuple[str, bool]) -> QualitySummary:
        checks = tuple(
            CheckResult(
                **{"suite": suite, "expectation": "iban", "expect": "x", "columns": (), "severity": "critical"},
                **{"met": met, "failed": int(not met), "checked": 2},
            )
            for suite, met in suites
        )
        failed = {"critical": sum(not met for _suite, met in suites), "warning": 0, "info": 0}
        names = tuple(suite for suite, _met in suites)
        more = {"checks": checks, "failed": failed, "suites": names, "checked_at": f"2026-11-2{run[-1]}T12:00:00Z"}
        folder = RunFolder.at(tmp_path, "QM1", run)
        return keep_no_message(folder, QualitySummary(run=run, queue_manager="QM1", queue="A", **more))

    for run in (of_run("run-1", ("a", True), ("b", False)), of_run("run-2", ("a", False), ("b", False))):
        tell_of_suites(recording("{{ mqops.subject }} / {{ mqops.text }}"), {"dag_run": RUN}, tmp_path, run)
    tell_of_suites(None, {"dag_run": RUN}, tmp_path, run)
    assert said == [
        "QM1: b not passed / critical: b.iban: 1 of 2 messages",
        "QM1: a passed before, and not now / critical: a.iban: 1 of 2 messages",
    ]
    for key, number in (("run-3", 0), ("run-4", 0), ("run-5", 1)):  # no run is good yet: it is told once
        learns = replace(run.checks[0], met=True, skipped=f"{LEARNS}{number} of 3 good runs")
        more = {"run": key, "checked_at": f"2026-11-2{key[-1]}T12:00:00Z"}
        folder = RunFolder.at(tmp_path, "QM1", key)
        good = keep_no_message(folder, replace(run, checks=(learns,), failed={**run.failed, "critical": 0}, **more))
        tell_of_suites(recording("{{ mqops.subject }} / {{ mqops.text }}"), {"dag_run": RUN}, tmp_path, good)
    assert said[2:] == ["QM1: a learns / a.iban learns: 0 of 3 good runs"]


def test_the_quality_dag_has_the_notifier(said: list[str], dag_file: Any, estate_folder: Path) -> None:
    estate = estate_folder / "estate.yaml"
    section = "    snapshot_quality: {suites: [expectations/messages.yaml]}\n"
    text = "lake: lake\nnotify: {notifier: recording.Recording, arguments: {text: x}}\nqueue_managers:\n  QM1:\n"
    estate.write_text(f"{text}    connection: mq\n{section}")
    (dag,) = (dag for dag in vars(dag_file("snapshot_quality")).values() if isinstance(dag, DAG))
    assert dag.get_task("check").notify == dag.get_task("report").notify == recording("x")


DAILY = """\
lake: lake
notify:
  notifier: recording.Recording
  arguments: {text: "{{ mqops.subject }} / {{ mqops.text }} / {{ mqops.link }}"}
  daily: {schedule: "0 6 * * 1-5", most: 1}
queue_managers:
  QM1: {connection: mq}
  QM2: {connection: none_such}
"""


def test_once_a_day_one_message_tells_what_needs_a_person_on_all_queue_managers(
    said: list[str], queue_manager: Any, dag_file: Any, estate_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 37 A2: the worst first, bounded; one that does not answer is a line; law 9: no text of a message."""
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter("A", b"secret")])
    monkeypatch.setenv("AIRFLOW_CONN_MQ", json.dumps({"conn_type": "mq", "extra": {"queue_manager": "QM1"}}))
    estate = estate_folder / "estate.yaml"
    before = estate.read_text()
    estate.write_text(DAILY)
    dag = dag_file("daily_notice").mq_daily_notice
    assert (dag.schedule, [task.task_id for task in dag.tasks]) == ("0 6 * * 1-5", ["tell"])
    task, noted = dag.get_task("tell"), dict[str, Any]()

    def run(kind: str) -> Any:
        run = SimpleNamespace(**vars(RUN), run_type=SimpleNamespace(value=kind))
        ti = SimpleNamespace(xcom_push=lambda *, key, value: noted.update({key: value}))
        return task.execute({"params": {"dry_run": True}, "dag_run": run, "ti": ti})

    assert run("manual") == {
        **{"dry_run": True, "sends": True, "lines": 2},
        "subject": "2 queue managers: 1 now, 1 soon need a person",
    }
    assert said == []
    run("scheduled")
    (text,) = said
    subject, lines, link = text.split(" / ")
    assert subject == "2 queue managers: 1 now, 1 soon need a person"
    first, more = lines.splitlines()
    assert first.startswith("now: QM2: The queue manager ")
    assert more == "and 1 more: `mqops estate status`"
    assert link.endswith("/mqops/estate")
    assert "secret" not in text
    estate.write_text(DAILY.replace("  QM2: {connection: none_such}\n", ""))
    manager.mqsc(f"CLEAR QLOCAL({DLQ})")
    assert run("scheduled")["sends"] is False
    assert len(said) == 1
    estate.write_text(estate.read_text().replace("most: 1", "when_nothing: true"))
    run("scheduled")
    assert said[1].startswith("1 queue manager: nothing needs a person / ")
    estate.write_text(estate.read_text().replace('"{{ mqops.subject }} / {{ mqops.text }} / {{ mqops.link }}"', "fail"))
    with pytest.raises(RuntimeError):
        run("scheduled")
    estate.write_text(before)
    assert not any(isinstance(one, DAG) for one in vars(dag_file("daily_notice")).values())


def test_the_docs_have_all_that_people_are_told_of() -> None:
    told = "".join(f"- {one.value.when}\n" for one in notify.Notice)
    page = (Path(__file__).parents[2] / "docs" / "setting_up.md").read_text()
    assert f"that tells people when\n\n{told}\n" in page, f"docs/setting_up.md lists the `when` of each Notice:\n{told}"
