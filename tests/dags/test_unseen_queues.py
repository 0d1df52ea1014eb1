"""Queues that a workflow should look at, and that its user may not inquire: the first task says so, nothing passes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ledger_opened import observe
from mq_support import Manager

from mqops.decide.backout_setting import read_setting
from mqops.errors import SettingsError
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunFiles, line_of
from mqops.look.words.state import RunState
from mqops.model import ObserveSummary, QueueObserved, RunSummary
from mqops.observe.recorded import OBSERVED
from mqops.quality.files import QualityFiles
from mqops.quality.no_message import summary_of
from mqops.quality.summary import QualityFailed, verdict
from mqops_airflow.notices.outcome_text import Ending, outcome_text
from mqops_airflow.operators.backout import BackoutCheckOperator
from mqops_airflow.operators.quality import QualityCheckOperator, in_words
from mqops_airflow.operators.snapshot import SnapshotCheckOperator
from mqops_airflow.ui.markdown import plain

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    backout_reprocess:
      rules: backout.rules
      quarantine: MQOPS.QUARANTINE
      backoff: [90s, 2h]
      origins: [{when: FORMAT(MQSTR), queue: PAY}]
    snapshot_quality: {queues: ["PAY*"], suites: [suite.yaml]}
"""
SUITE = "suite: some\nexpectations:\n- {id: any, expect: column_values_to_not_be_null, column: msg_id}\n"
QUEUES = """\
DEFINE QLOCAL(PAY) BOTHRESH(2) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(PAY.HIDDEN)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QALIAS(BY.ALIAS) TARGET(PAY)
"""
RIGHTS = """\
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)
SET AUTHREC PROFILE('PAY') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,DSP)
SET AUTHREC PROFILE('BY.ALIAS') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,INQ,DSP)
SET AUTHREC PROFILE('PAY.BOQ') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,DSP)
SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,DSP)
SET AUTHREC PROFILE(SYSTEM.DEAD.LETTER.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP)
SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)
SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,DSP)
"""
HIDDEN = "1 queue not looked at, because the connection's user may not inquire it (+dsp, +inq, +browse): PAY.HIDDEN"
ALIAS = "BY.ALIAS is an alias of PAY, which is looked at"


@pytest.fixture
def estate(queue_manager: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    made: Manager = queue_manager(mqsc=QUEUES)
    made.mqlite("user", "add", "QM1", "app", text="secret\n")
    made.mqsc(RIGHTS)
    for name, text in (("estate.yaml", ESTATE), ("suite.yaml", SUITE), ("backout.rules", "ACTION(RETRY)\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    connection = {"conn_type": "mq", "login": "app", "password": "secret"}
    extra = {"queue_manager": "QM1", "home": str(made.home)}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_QM1", json.dumps({**connection, "extra": extra}))
    return made


def context(**params: Any) -> Any:
    return {
        "params": params,
        "dag_run": SimpleNamespace(
            run_type="manual", run_id="run", dag_id="dag", conf={}, start_date=None, triggering_user_name="alice"
        ),
        "ti": SimpleNamespace(xcom_push=lambda *, key, value: None),
        "task": SimpleNamespace(get_flat_relatives=lambda upstream: []),
    }


def test_a_quality_run_on_half_of_its_queues_does_not_pass(estate: Manager, tmp_path: Path) -> None:
    check = QualityCheckOperator(task_id="check", queue_manager="QM1")
    suites = ["suite.yaml"]
    with pytest.raises(QualityFailed, match=r"may not inquire it .*: PAY\.HIDDEN"):
        check.execute(context(queues=["PAY*"], suites=suites, limit=None))
    check.execute(context(queues=["PAY", "PAY.BOQ"], suites=suites, limit=None))  # they were named: no other is meant
    estate.put("PAY", [({}, b"one")])
    found = check.execute(context(queues=["PAY"], suites=suites, limit=None))
    assert (found["messages"], found["requested_by"]) == (1, "alice")


def test_a_snapshot_looks_again_at_a_queue_that_is_empty_now(estate: Manager, tmp_path: Path) -> None:
    check, asked = SnapshotCheckOperator(task_id="check", queue_manager="QM1"), context(queues=["PAY"], limit=None)
    assert "folder" not in check.execute(asked)  # nothing is there, and nothing was
    estate.put("PAY", [({}, b"one")])
    found = check.execute(asked)
    assert (found["queues"], found["messages"], found["limit"]) == ("PAY", 1, 0)
    observe(estate.connection, RunFolder.at(tmp_path / "lake", "QM1", "before"), ["PAY"])
    estate.bodies("PAY")
    estate.mqsc("CLEAR QLOCAL(PAY)")
    found = check.execute(asked)
    assert (found["queues"], found["messages"]) == ("PAY", 0)


def test_a_snapshot_says_which_queues_it_could_not_look_at(estate: Manager, tmp_path: Path) -> None:
    check, noted = SnapshotCheckOperator(task_id="check", queue_manager="QM1"), dict[str, Any]()
    estate.put("PAY.HIDDEN", [({}, b"one")])
    with pytest.raises(SettingsError, match=r"may not inquire it .*: PAY\.HIDDEN"):
        check.execute(context(queues=["PAY*"], limit=None))
    estate.put("PAY", [({}, b"one")])
    estate.mqsc("DEFINE QLOCAL(PAY.SHUT)")
    estate.mqsc("SET AUTHREC PROFILE('PAY.SHUT') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,INQ,DSP)")
    estate.put("PAY.SHUT", [({}, b"one")])
    estate.mqsc("ALTER QLOCAL(PAY.SHUT) GET(DISABLED)")
    asked = context(queues=["PAY*"], limit=None)
    asked["ti"] = SimpleNamespace(xcom_push=lambda *, key, value: noted.update({key: value}))
    found = check.execute(asked)
    assert (found["queues"], found["inhibited"], found["unseen"]) == ("PAY", ["PAY.SHUT"], ["PAY.HIDDEN"])
    assert plain(noted["mqops_told"]) == f"PAY.SHUT is not looked at: GET(DISABLED). {HIDDEN}."
    (handed_on,) = (tmp_path / "lake").rglob("handed_on.json")
    assert read_json(handed_on)["found"]["unseen"] == ["PAY.HIDDEN"]
    assert read_json(handed_on)["found"]["requested_by"] == "alice"
    asked["params"]["queues"] = ["PAY.SHUT"]
    with pytest.raises(SettingsError, match=r"all have GET\(DISABLED\): PAY\.SHUT\. Let them be read"):
        check.execute(asked)


def test_a_quality_run_says_in_its_note_which_queue_an_alias_stands_for(estate: Manager, tmp_path: Path) -> None:
    check = QualityCheckOperator(task_id="check", queue_manager="QM1")
    form, noted = {"queues": ["BY.ALIAS"], "suites": ["suite.yaml"], "limit": None}, dict[str, Any]()
    asked = context(**form)
    asked["ti"] = SimpleNamespace(xcom_push=lambda *, key, value: noted.update({key: value}))
    check.execute(asked)  # the queue is empty: the run ends here
    assert ALIAS in plain(noted["mqops_told"])
    estate.put("PAY", [({}, b"one")])
    assert check.execute(asked)["aliases"] == {"BY.ALIAS": "PAY"}
    (handed_on,) = (tmp_path / "lake").rglob("handed_on.json")
    assert read_json(handed_on)["found"]["aliases"] == {"BY.ALIAS": "PAY"}


def test_a_suite_may_name_an_alias_of_a_queue_that_is_looked_at(estate: Manager, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(f"queues: [BY.ALIAS]\n{SUITE}")
    noted = dict[str, Any]()
    asked = context(queues=["PAY"], suites=["suite.yaml"], limit=None)
    asked["ti"] = SimpleNamespace(xcom_push=lambda *, key, value: noted.update({key: value}))
    QualityCheckOperator(task_id="check", queue_manager="QM1").execute(asked)
    assert ALIAS in (said := plain(noted["mqops_told"]))
    assert "no queue fits" not in said


def test_what_the_first_task_did_not_see_fails_the_checks_of_the_snapshot(tmp_path: Path) -> None:
    run = RunFolder.at(tmp_path, "QM1", "run")
    run.create()
    (run.path / "snapshot").mkdir()
    (run.path / "snapshot" / "part.parquet").touch()
    pay = QueueObserved(queue="PAY", messages=1, bytes=1)
    observed = {"run": "run", "queue_manager": "QM1", "observed_at": "2026-01-02T03:04:05Z", "messages": 1, "bytes": 1}
    OBSERVED.write(run, ObserveSummary(**observed, queues=(pay,)))
    write_json(
        run.path.joinpath("handed_on.json"), {"found": {"unseen": ["PAY.HIDDEN"], "aliases": {"BY.ALIAS": "PAY"}}}
    )
    summary = summary_of((), (), QualityFiles.of(run.path).seen(["PAY"]))
    assert not summary.ok
    assert summary.told == (HIDDEN, ALIAS)
    assert f"{HIDDEN}. {ALIAS}." in plain(in_words(summary, ""))
    with pytest.raises(QualityFailed, match=r"PAY\.HIDDEN"):
        verdict(summary)
    line = line_of("run", "QM1", RunFiles(quality=summary))
    assert (line.state, line.meaning) == (RunState.FAILED, HIDDEN)


def test_a_backout_run_that_cannot_see_all_queues_does_not_end_as_nothing_to_do(estate: Manager) -> None:
    check = BackoutCheckOperator(task_id="check", queue_manager="QM1", four_eyes=False)
    form = dict.fromkeys(("limit", "unit_of_work", "canary", "canary_wait", "pace", "in_flight", "patience"), 0)
    form |= {"rules_file": "backout.rules", "message_ids": None, "replay_cap": 3}
    with pytest.raises(SettingsError, match=r"may not inquire it .*: PAY\.HIDDEN"):
        check.execute(context(queues=[], **form))
    assert check.execute(context(queues=["PAY.BOQ"], **form))["queue"] == ""


def test_P08_a_backout_run_waits_as_the_estate_says(estate: Manager, tmp_path: Path) -> None:
    estate.put("PAY.BOQ", [({}, b"one")])
    form: dict[str, Any] = {"rules_file": "backout.rules", "replay_cap": 3, "limit": None, "message_ids": None}
    form |= dict.fromkeys(("unit_of_work", "canary", "canary_wait", "pace", "in_flight", "patience"), 1)
    BackoutCheckOperator(task_id="check", queue_manager="QM1", four_eyes=False).execute(
        context(queues=["PAY.BOQ"], **form)
    )
    (run,) = (tmp_path / "lake" / "QM1" / "runs").iterdir()
    where = read_setting(RunFolder(run))
    assert where is not None
    assert where.backoff == (90, 7200)
    assert [row.when for row in where.origins] == ["FORMAT(MQSTR)"]


def test_a_note_over_half_of_the_queues_says_no_balance() -> None:
    answer: Any = SimpleNamespace(approved=True, by="alice", refused="")
    ended = Ending(acted="success", approved="success", answer=answer)
    seen_all = RunSummary(run="run", workflow="backout_reprocess", queue_manager="QM1", queue="PAY.BOQ", plan="p")
    assert plain(outcome_text(ended, seen_all)).endswith("This balances.")
    told = plain(outcome_text(ended, replace(seen_all, unseen=("PAY.HIDDEN",))))
    assert told.endswith(f"{HIDDEN}.")
    assert "balances" not in told
