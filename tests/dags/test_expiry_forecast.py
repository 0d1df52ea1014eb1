"""What will expire, in Airflow: in the note of a scan's run, and told people from the threshold of the estate on."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG, Asset
from airflow.sdk.bases.notifier import BaseNotifier
from click.testing import CliRunner
from ledger_opened import act, prove
from mq_support import DLQ, Manager, dead_letter
from runs_on_pages import of_dag, planned

from mqops.cli import main
from mqops.estate_sections import Notify
from mqops.expiry.before_look import told_before_look
from mqops.expiry.calendar_file import calendar_of
from mqops.expiry.core.calendar import in_words
from mqops.expiry.queue_manager import scan_queue
from mqops.expiry.scan import run_scan, write_summary
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.mq.connection import MqConnection, connect
from mqops_airflow.notices.outcome_text import KEY
from mqops_airflow.operators.expiry import ExpiryCheckOperator, ExpiryReportOperator
from mqops_airflow.operators.prove import ProveOperator
from mqops_airflow.runs.workplace import estate_file

ESTATE = """\
lake: lake
calendar: calendar.yaml
notify: {notifier: recording.Recording, arguments: {text: "{{ mqops.subject }} / {{ mqops.text }}"}}
queue_managers:
  QM1:
    connection: mq_qm1
    expiry_scan: {interval: 15m, queues: ["*"], recheck: 30d, tell_from: 3}
    dlq_rules: {rules: dlq.rules, schedule: "0 0 29 2 *"}
"""
CALENDAR = "time_zone: UTC\nhours: {begins:%H}:00-{begins:%H}:01\ndays: [Mon, Tue, Wed, Thu, Fri, Sat, Sun]\n"
TOLD: list[str] = []
SOON = 36_000
"""An hour, in tenths of a second."""
REFRESH = "mq_refresh_expiry"


class Recording(BaseNotifier):
    """Keeps what it was made to say."""

    template_fields = ("text",)

    def __init__(self, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def notify(self, context: Any) -> None:
        TOLD.append(self.text)


@pytest.fixture
def site(queue_manager: Any, estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    """A queue manager whose dead-letter queue a scan looks at only because of the threshold."""
    module = ModuleType("recording")
    module.Recording = Recording  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "recording", module)
    TOLD.clear()
    manager: Manager = queue_manager(mqsc="DEFINE QLOCAL(PAY)\n")
    (estate_folder / "estate.yaml").write_text(ESTATE)
    twelve_hours_later = datetime.now(UTC) + timedelta(hours=12)
    (estate_folder / "calendar.yaml").write_text(CALENDAR.format(begins=twelve_hours_later))
    extra = {"queue_manager": "QM1", "home": str(manager.home)}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_QM1", json.dumps({"conn_type": "mq", "extra": extra}))
    return manager


ESTATE_OF_ALL = f"""\
{ESTATE.replace("rules: dlq.rules", "rules: dlq.rules, also: [SECOND.DLQ]")}\
    backout_reprocess: {{rules: backout.rules, quarantine: MQOPS.QUARANTINE}}
    snapshot: {{queues: [PAY]}}
    snapshot_quality: {{queues: [PAY], suites: [suite.yaml]}}
"""
SUITE = "suite: some\nexpectations:\n- {id: any, expect: column_values_to_not_be_null, column: msg_id}\n"
MORE_QUEUES = """\
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(EMPTY.BOQ)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QLOCAL(SECOND.DLQ)
ALTER QLOCAL(PAY) BOTHRESH(2) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(OTHER) BOTHRESH(2) BOQNAME(EMPTY.BOQ)
"""
NOTIFY = Notify(notifier="recording.Recording", arguments={"text": "{{ mqops.subject }} / {{ mqops.text }}"})


def context(kept: dict[str, str], **form: object) -> Any:
    named = {"dag_id": "qm1_expiry_scan", "run_id": "scheduled__1", "triggering_user_name": "alice"}
    run = SimpleNamespace(run_type="scheduled", conf={}, **named)
    return {
        "params": {"queues": ["*"], "all_filled": False, **form},
        "dag_run": run,
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: kept.update({key: value})),
        "task": SimpleNamespace(get_flat_relatives=lambda upstream: []),
        "outlet_events": {Asset("a"): SimpleNamespace(extra=None)},
    }


def words_of_work(folder: Path) -> str:
    """When work begins again, in words."""
    calendar, now = calendar_of(folder / "calendar.yaml"), datetime.now(UTC)
    return in_words(calendar, calendar.next_begin(now), now)


def check(**form: object) -> dict[str, str]:
    """What the check has kept: its note among it."""
    kept: dict[str, str] = {}
    task = ExpiryCheckOperator(task_id="check", queue_manager="QM1", recheck=30 * 86_400.0, notify=NOTIFY)
    kept.setdefault("return_value", task.execute(context(kept, **form)))
    return kept


def look(manager: Manager, lake: Path) -> None:
    """What the scans of a run teach, without Spark."""
    run_scan(manager.connection, lake, ("*",), recheck=timedelta(days=30), forecast=True, waiting=True)


def report(folder: Path, look: Sequence[str] = (DLQ, "PAY")) -> dict[str, str]:
    """What the report of a run has kept that scanned these queues."""
    made = [one.parent for one in (folder / "lake" / "QM1" / "runs").glob("*/handed_on.json")]
    run = RunFolder(made[0] if made else folder / "lake" / "QM1" / "runs" / "scan")
    run.path.mkdir(parents=True, exist_ok=True)
    with connect(MqConnection(queue_manager="QM1")) as session:
        write_summary(run, "QM1", [scan_queue(session, one, now=lambda: datetime.now(UTC)) for one in look])
    kept: dict[str, str] = {}
    asset = Asset("a")
    task = ExpiryReportOperator(task_id="report", folder=str(run.path), asset=asset, queue_manager="QM1", notify=NOTIFY)
    task.execute(context(kept))
    return kept


def test_people_are_told_once_from_the_threshold_on_and_again_when_it_has_doubled(
    site: Manager, estate_folder: Path
) -> None:
    lake = estate_folder / "lake"
    until = words_of_work(estate_folder)

    def told(more: int) -> list[str]:
        TOLD.clear()
        site.put(DLQ, [({"Expiry": SOON}, b"x")] * more)
        look(site, lake)
        check()
        return list(TOLD)

    assert told(2) == []  # fewer than tell_from
    (text,) = told(1)
    assert text.startswith(f"QM1: 3 messages that wait for a person vanish before {until} / 3 dead letters vanish")
    assert told(0) == told(2) == []
    (text,) = told(1)
    assert text.startswith("QM1: 6 messages")


def test_the_note_of_a_run_has_what_vanishes_of_what_waits_for_a_person(site: Manager, estate_folder: Path) -> None:
    site.put(DLQ, [({"Expiry": SOON}, b"x")] * 4)
    site.put("PAY", [({"Expiry": SOON}, b"x"), ({}, b"y")])
    look(site, estate_folder / "lake")
    note = check()[KEY]
    assert note.startswith(f"Nothing to do. `4 dead letters vanish before {words_of_work(estate_folder)}: {DLQ}")
    site.put(DLQ, [({"Expiry": SOON}, b"x")])
    kept = report(estate_folder)
    assert kept[KEY].startswith(
        "2 queues: 7 messages found = 0 discarded because expired + 7 left. `5 dead letters van"
    )
    assert "histogram" not in json.dumps(kept["return_value"])
    prom = (estate_folder / "lake" / "QM1" / "expiry" / "forecast.prom").read_text()
    assert f'before_work{{queue_manager="QM1",queue="{DLQ}",kind="dead-letter queue"}} 5' in prom


def test_a_calendar_that_cannot_be_used_is_an_error_of_the_log_and_ends_no_run(
    site: Manager, estate_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (estate_folder / "calendar.yaml").write_text("hours: never\n")
    site.put(DLQ, [({}, b"x")])
    look(site, estate_folder / "lake")
    assert check()[KEY] == "Nothing to do"
    said = capsys.readouterr().out
    assert "The calendar cannot be used, so the forecast is until 08:00 UTC" in said
    assert "calendar.yaml:1: hours: must be two times of day" in said


def note_of_dead_letter_run(
    manager: Manager, folder: Path, schedule: object = "0 0 29 2 *", *, left: Sequence[str] = ()
) -> str:
    """The note of a run that moves nothing, as its task prove keeps it. Parameters: `schedule` of its DAG; `left` what
    its task check has not looked at."""
    run = of_dag(planned(manager, folder / "lake", text="DESTQ(A) ACTION(RETRY)\n"), "first", left=list(left))
    kept: dict[str, str] = {}
    task = ProveOperator(
        task_id="prove",
        mq_conn_id="mq_qm1",
        asset=Asset("a"),
        queue_manager="QM1",
        plan_task="decide",
        act_task="act",
        workflow="dlq_rules",
    )
    states = {"first": {"decide": "success", "act": "skipped"}}
    ti = SimpleNamespace(
        xcom_push=lambda *, key, value: kept.update({key: value}), get_task_states=lambda **_which: states
    )
    dag_run = SimpleNamespace(dag_id="qm1_dlq_rules", run_id="first", conf={}, run_type="manual")
    task.execute(
        {  # type: ignore[typeddict-unknown-key]
            **context(kept),
            "ti": ti,
            "dag_run": dag_run,
            "dag": DAG("qm1_dlq_rules", schedule=schedule),  # type: ignore[arg-type]
            "params": {"dry_run": True},
        }
    )
    shutil.rmtree(run.path)
    return kept[KEY]


def test_the_note_of_a_dead_letter_run_has_what_vanishes_of_what_it_left(site: Manager, estate_folder: Path) -> None:
    site.put(DLQ, [dead_letter("GONE", b"x", Expiry=SOON)] * 3 + [dead_letter("GONE", b"stays")])
    site.put(DLQ, [dead_letter("GONE", b"x", Expiry=20 * SOON)])  # when people are at work again
    until = words_of_work(estate_folder)
    soon = "3 are persistent, 4 before the next run"
    note = note_of_dead_letter_run(site, estate_folder)
    assert note.endswith(f". `3 dead letters vanish before {until}: {DLQ}, {soon}`.")


@pytest.mark.parametrize("schedule", [None, "@once", [Asset("x-bank://end_of_day")]], ids=["none", "once", "asset"])
def test_the_note_tells_of_no_next_run_where_the_dag_file_gave_a_schedule_without_one(
    site: Manager, estate_folder: Path, schedule: object
) -> None:
    site.put(DLQ, [dead_letter("GONE", b"x", Expiry=SOON)] * 3)
    until = words_of_work(estate_folder)
    note = note_of_dead_letter_run(site, estate_folder, schedule)
    assert note.endswith(f". `3 dead letters vanish before {until}: {DLQ}, 3 are persistent`.")


def test_the_form_of_a_scan_can_tell_first_and_leaves_what_is_at_stake(site: Manager, estate_folder: Path) -> None:
    site.put(DLQ, [({"Expiry": 3000}, b"x")])
    look(site, estate_folder / "lake")
    site.put("PAY", [({"Persistence": 0}, b"x")])
    site.put(DLQ, [({}, b"y")])
    kept = check(first_tell=True)
    assert json.dumps(kept["return_value"]).count(f"{DLQ} (dead-letter queue): a look discards") == 1
    assert kept["return_value"]["queue"] == "PAY"  # type: ignore[index]
    assert kept["return_value"]["requested_by"] == "alice"  # type: ignore[index]
    note = report(estate_folder, look=["PAY"])[KEY]
    assert f"Not looked at: `{DLQ} (dead-letter queue): a look discards up to 1 expired message" in note
    assert "To look all the same, start a run without First tell." in note
    assert site.depth(DLQ) == 2


@pytest.fixture
def of_all(site: Manager, estate_folder: Path) -> Manager:
    """Queues of all workflows that browse; on the dead-letter queue and a backout queue something is about to expire,
    on the others nothing is at stake."""
    (estate_folder / "estate.yaml").write_text(ESTATE_OF_ALL)
    (estate_folder / "suite.yaml").write_text(SUITE)
    for table in ("dlq.rules", "backout.rules"):
        (estate_folder / table).write_text("ACTION(RETRY)\n")
    site.mqsc(MORE_QUEUES)
    site.put("PAY", [({"Persistence": 0}, b"x")])
    for queue in (DLQ, "PAY.BOQ"):
        site.put(queue, [({"Expiry": 3000}, b"x")])
    look(site, estate_folder / "lake")
    site.put("SECOND.DLQ", [({}, b"x")])
    look(site, estate_folder / "lake")
    return site


def checked(dag: DAG, **form: object) -> tuple[dict[str, Any], str]:
    """What the task check of a dry run with "First tell" has found, and its note."""
    kept: dict[str, Any] = {}
    asked = {**dag.params.dump(), "dry_run": True, "first_tell": True, **form}
    found: dict[str, Any] = dag.get_task("check").execute(context(kept, **asked))  # type: ignore[attr-defined]
    return found, kept.get(KEY, "")


def test_the_form_of_a_dead_letter_run_can_tell_first(of_all: Manager, estate_folder: Path, dag_file: Any) -> None:
    found, _note = checked(dag_file("dlq_rules").qm1_dlq_rules)
    assert found["queue"] == "SECOND.DLQ"
    assert [line.split(" ")[0] for line in found["left"]] == [DLQ]
    note = note_of_dead_letter_run(of_all, estate_folder, left=found["left"])
    assert f"Not looked at: `{DLQ} (dead-letter queue): a look discards up to 1 expired message" in note
    assert checked(dag_file("dlq_rules").qm1_dlq_rules, first_tell=False)[0]["queue"] == f"{DLQ},SECOND.DLQ"
    of_all.mqsc(f"DEFINE QALIAS(DLQ.ALIAS) TARGET({DLQ})\n")
    found, note = checked(dag_file("dlq_rules").qm1_dlq_rules, queue="DLQ.ALIAS")
    assert (found["queue"], note.count("Not looked at: ")) == ("", 1)


@pytest.mark.parametrize(
    ("workflow", "form", "stays", "browsed"),
    [
        ("backout_reprocess", {}, "PAY.BOQ", ""),  # the other backout queue is empty
        ("snapshot", {"queues": ["PAY", DLQ]}, DLQ, "PAY"),
        ("snapshot_quality", {"queues": ["PAY", DLQ]}, DLQ, ""),  # a suite on half of its queues would tell nothing
    ],
    ids=["backout_reprocess", "snapshot", "snapshot_quality"],
)
@pytest.mark.usefixtures("of_all")
def test_the_forms_of_what_browses_can_tell_first(
    estate_folder: Path, dag_file: Any, workflow: str, form: dict[str, Any], *, stays: str, browsed: str
) -> None:
    found, note = checked(vars(dag_file(workflow))[f"qm1_{workflow}"], **form)
    assert f"Not looked at: `{stays} (" in note
    assert note.count("To look all the same, start a run without First tell.") == 1
    handed_on = list((estate_folder / "lake" / "QM1" / "runs").glob("*/handed_on.json"))
    assert [read_json(one)["found"]["queues"] for one in handed_on] == [browsed] * bool(browsed)
    assert [line.split(" ")[0] for line in found["left"]] == [stays]


def test_what_a_snapshot_must_let_the_queue_manager_discard_is_told_once_before_it(
    site: Manager, estate_folder: Path
) -> None:
    lake, file = estate_folder / "lake", estate_file()
    site.put(DLQ, [({"Expiry": 3000}, b"x")] * 3)  # within the quarter of an hour that a look may take
    check()
    look(site, lake)
    assert told_before_look(lake, "QM1", ["PAY"], file) == ()
    (told,) = told_before_look(lake, "QM1", [DLQ, "PAY"], file)
    assert told.startswith(f"{DLQ} (dead-letter queue): a look discards up to 3 expired messages")
    assert told_before_look(lake, "QM1", [DLQ], file) == ()
    (lake / "QM1" / "expiry" / "told_before.json").write_text("{")
    (told,) = told_before_look(lake, "QM1", [DLQ], file)  # and no pass ends because a hint cannot be given
    assert told.startswith("What expires before it is browsed cannot be told: ")


def moved_and_then_expiring(manager: Manager, lake: Path) -> RunFolder:
    """A run that moved one dead letter; behind it came three that expire soon, as a scan has taught."""
    manager.put(DLQ, [dead_letter("PAY", b"moved")])
    run = planned(manager, lake, text="ACTION(RETRY)\n")
    act(manager.connection, run)
    prove(manager.connection, run)
    manager.put(DLQ, [({"Expiry": 3000}, b"x")] * 3)
    check()
    look(manager, lake)
    return run


def by_hand(dag: DAG, kept: dict[str, Any], **form: object) -> dict[str, Any]:
    """What the task plan of a run by hand has found; its note goes to `kept`."""
    given = {name: dag.params.get_param(name).value for name in dag.params}
    run = SimpleNamespace(
        run_type="manual", conf={}, dag_id=dag.dag_id, run_id="manual__1", triggering_user_name="operator"
    )
    asked = given | {"queue_manager": "QM1", "dry_run": True} | form
    found: dict[str, Any] = dag.get_task("plan").execute({**context(kept), "params": asked, "dag_run": run})  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("action", ["move", "restore"])
def test_a_run_by_hand_and_an_undo_tell_before_they_browse(
    site: Manager, estate_folder: Path, dag_file: Any, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    lake, dag, kept = estate_folder / "lake", dag_file("recover").mq_recover, dict[str, Any]()
    done = moved_and_then_expiring(site, lake)
    form = {"run": done.run} if action == "restore" else {"queue": DLQ, "all_messages": True, "destination": "PAY"}
    runs = sorted((lake / "QM1" / "runs").iterdir())
    found = by_hand(dag, kept, action=action, first_tell=True, **form)
    assert f"Not looked at: `{DLQ} (dead-letter queue): a look discards up to 3 expired messages" in kept[KEY]
    assert (found["queue"], len(found["left"]), sorted((lake / "QM1" / "runs").iterdir())) == ("", 1, runs)
    assert by_hand(dag, {}, action=action, **form)["rows"] > 0
    assert f"{DLQ} (dead-letter queue): a look discards up to 3 expired messages" in capsys.readouterr().out


def test_the_form_of_the_poison_guard_can_tell_first(site: Manager, estate_folder: Path, dag_file: Any) -> None:
    (estate_folder / "estate.yaml").write_text(f"{ESTATE}    poison_guard: {{watch: 1s}}\n")
    site.mqsc("ALTER QLOCAL(PAY) BOTHRESH(3)\nDEFINE QLOCAL(OTHER) BOTHRESH(3)\n")
    site.put("PAY", [({"Expiry": 3000}, b"x")])
    site.put("OTHER", [({"Persistence": 0}, b"x")])
    look(site, estate_folder / "lake")
    dag, kept = dag_file("poison_guard").qm1_poison_guard, dict[str, Any]()
    by_hand(dag, kept, first_tell=True)
    assert "Not looked at: `PAY (queue): a look discards up to 1 expired message, 1 is persistent`" in kept[KEY]
    assert kept[KEY].endswith("Nothing to do: no message is at or over its BOTHRESH.")
    by_hand(dag, kept, first_tell=True, queues=["PAY"])
    assert (kept[KEY].count("Not looked at: `PAY"), "Nothing to do" in kept[KEY]) == (1, False)
    by_hand(dag, kept)
    assert "Not looked at" not in kept[KEY]


def test_an_undo_from_the_command_line_tells_before_it_browses(
    site: Manager, estate_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = estate_folder / "lake"
    done = moved_and_then_expiring(site, lake)
    monkeypatch.setenv("MQOPS_ESTATE", str(estate_folder / "estate.yaml"))
    said = CliRunner().invoke(main, ["undo", done.run, "-m", "QM1", "--dry-run", "--lake", str(lake)])
    assert said.exit_code == 0, said.output
    assert f"{DLQ} (dead-letter queue): a look discards up to 3 expired messages" in said.stderr


def test_both_tasks_that_tell_have_the_notifier_of_the_estate(site: Manager, dag_file: Any) -> None:
    (dag,) = (dag for dag in vars(dag_file("expiry_scan")).values() if isinstance(dag, DAG) and dag.dag_id != REFRESH)
    assert [dag.get_task(task).notify for task in ("check", "report")] == [NOTIFY, NOTIFY]
