"""A whole Airflow of its own for the end-to-end tests, and queue managers that are in trouble in different ways."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from browser_support import Browser, window
from cold_spark_connect import started_cold
from mq_support import DLQ, Manager, create, dead_letter

from mqops_demo import airflow_home
from mqops_demo.airflow import NO_PORT, spark_fields
from mqops_demo.airflow_client import AirflowClient, RunResult
from mqops_demo.airflow_home import AirflowHome
from mqops_demo.airflow_processes import start, stop

ESTATE = """\
lake: lake
spark: spark_warm
queue_managers:
  QM1:       {connection: mq_qm1, dlq_rules: {rules: good.rules, unit_of_work: 50}}
  GONE:      {connection: mq_gone, dlq_rules: {rules: good.rules}}
  PASSWORD:  {connection: mq_password, dlq_rules: {rules: good.rules}}
  RULES:     {connection: mq_qm1_rules, dlq_rules: {rules: bad.rules}}
  SPARK:     {connection: mq_spark, spark: spark_down, dlq_rules: {rules: good.rules}}
  LAKE:      {connection: mq_lake, dlq_rules: {rules: good.rules}}
  FOUREYES:  {connection: mq_foureyes, dlq_rules: {rules: good.rules, approval: {four_eyes: true}}}
  KILLED:    {connection: mq_killed, spark: spark_killed, dlq_rules: {rules: good.rules}}
  SCHEDULED:
    connection: mq_scheduled
    dlq_rules:
      rules: good.rules
      also: [SYSTEM.PROTECTION.ERROR.QUEUE]
      schedule: "* * * * *"
      approval: {auto_approve: {actions: [RETRY, FWD], max_messages: 100}}
  CLUSTER:   {connection: mq_cluster, spark: spark_default, dlq_rules: {rules: good.rules}}
  BROWSER:
    connection: mq_browser
    reveal: {airflow: [admin]}
    dlq_rules: {rules: good.rules}
    snapshot: {queues: [NEW.NAME]}
  EVENING:   {connection: mq_evening, dlq_rules: {rules: good.rules, approval: {timeout: 10s}}}
  QUALITY:
    connection: mq_quality
    snapshot_quality: {queues: ["*", SYSTEM.DEAD.LETTER.QUEUE], suites: [messages.yaml, dead_letters.yaml]}
    snapshot: {queues: [CHOSEN]}
    gate: {suites: [expectations/gate.yaml], quarantine: NEW.NAME}
  BACKOUT:   {connection: mq_backout, backout_reprocess: {rules: back.rules, quarantine: NEW.NAME, replay_cap: 1}}
  EXPIRY:    {connection: mq_expiry, expiry_scan: {}}
  TRIGGERED:
    connection: mq_triggered
    trigger_monitor: {queues: [MQOPS.INITQ], dags: [no_such_dag], unchanged_runs: 2}
    dlq_rules:
      rules: good.rules
      trigger: DEPTH(2)
      approval: {auto_approve: {actions: [RETRY, FWD], max_messages: 100}}
    backout_reprocess:
      rules: back.rules
      quarantine: NEW.NAME
      queues: [IN.BOQ]
      trigger: FIRST
      approval: {auto_approve: {actions: [RETRY], max_messages: 100}}
    expiry_scan: {trigger: EVERY, queues: [APP]}
  BADSUITE:  {connection: mq_badsuite, snapshot_quality: {suites: [bad.yaml]}}
"""
NOTIFY = """\
notify: {notifier: telling.ToFile, arguments: {file: FOLDER/told.txt, text: "{{ mqops.subject }}: {{ mqops.text }}"}}
"""
NOTIFIER = '''\
from airflow.sdk.bases.notifier import BaseNotifier


class ToFile(BaseNotifier):
    """The estate's notifier: writes what it is to tell into a file."""

    template_fields = ("text",)

    def __init__(self, file, text, **kwargs):
        super().__init__(**kwargs)
        self.file, self.text = file, text

    def notify(self, context):
        with open(self.file, "a") as told:
            told.write(self.text + "\\n")

    async def async_notify(self, context):
        self.notify(context)
'''
SUITES = Path(__file__).parents[2] / "include" / "expectations"
EXPECTED_SUITE = """\
suite: expected
expectations:
- {id: some, expect: table_row_count_to_be_between, min_value: 1, why: the feed has stopped}
"""
GATE_SUITE = """\
suite: orders
expectations:
- {id: small, expect: column_values_to_be_between, column: body_length, max_value: 9, on_failure: quarantine}
- {id: text, expect: column_values_to_be_in_set, column: format, value_set: [MQSTR], on_failure: leave}
"""
BAD_SUITE = "suite: bad\nexpectations:\n- {id: a, expect: column_values_to_be_null, column: bdy}\n- {id: b}\n"
GOOD_RULES = """\
DESTQ(BACK.AGAIN) ACTION(RETRY)
DESTQ(OLD.NAME) ACTION(FWD) FWDQ(NEW.NAME) HEADER(NO)
DESTQ(WORTHLESS) ACTION(DISCARD)
DESTQ(LEAVE.IT) ACTION(IGNORE)
DESTQ(SOON.GONE) ACTION(FWD) FWDQ(TEMPORARY)
ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)
"""
BAD_RULES = "DESTQ(A) ACTION(MOVE)\nDESTQ(B ACTION(RETRY)\n"
QUEUES = """\
DEFINE QLOCAL(BACK.AGAIN) MAXDEPTH(9999)
DEFINE QLOCAL(NEW.NAME) MAXDEPTH(9999)
DEFINE QLOCAL(REALLY.DEAD.QUEUE) MAXDEPTH(9999)
DEFINE QLOCAL(TEMPORARY)
"""


@dataclass(frozen=True)
class Site:
    """The Airflow, its estate and the queue managers behind it."""

    client: AirflowClient
    folder: Path
    queue_managers: Path

    def use_warm_spark(self, conn_id: str) -> None:
        """Point an Airflow connection to the Spark Connect server; until then spark-submit starts Java for each job."""
        self.client.set_connection(conn_id, **spark_fields(self.client.home))

    def use_spark_submit(self, conn_id: str) -> None:
        """Point an Airflow connection to Spark in a process that each job starts."""
        self.client.call("DELETE", f"/connections/{conn_id}")
        self.client.set_connection(conn_id, conn_type="spark", host="local[2]")

    def manager(self, name: str) -> Manager:
        """The queue manager of that name: new the first time, with the queues that the rules name."""
        if (self.queue_managers / name).exists():
            return Manager(name, self.queue_managers)
        return create(self.queue_managers, name, QUEUES)

    def in_trouble(self, name: str, count: int = 12) -> Manager:
        """A queue manager with `count` dead letters for each of the rules' destinations in turn."""
        manager = self.manager(name)
        destinations = ("BACK.AGAIN", "OLD.NAME", "WORTHLESS", "LEAVE.IT", "UNHEARD.OF")
        letters = [
            dead_letter(destinations[number % 5], b"message %06d" % number, reason=2085, dest_q_mgr=name)
            for number in range(count)
        ]
        manager.put(DLQ, letters)
        return manager

    def as_user(self, user: str) -> AirflowClient:
        """A session of another person."""
        client = AirflowClient(self.client.home, user)
        client.log_in()
        return client

    def trigger(self, name: str, *, workflow: str = "dlq_rules", **params: Any) -> tuple[str, str]:
        """Start a run of a queue manager's workflow by hand; returns DAG id and run id."""
        dag_id = f"{name.lower()}_{workflow}"
        self.client.wait_for_dag(dag_id)
        self.client.unpause(dag_id)
        return dag_id, self.client.trigger(dag_id, **params)

    def run(self, name: str, *, approve: bool | None = None, **params: Any) -> RunResult:
        """A run by hand, watched to its end; `approve` answers its approval."""
        dag_id, run_id = self.trigger(name, **params)
        answer = None if approve is None else lambda _question: bool(approve)
        return self.client.follow(dag_id, run_id, approve=answer)

    def log(self, result: RunResult, task: str) -> str:
        """The log of the last try of a task."""
        row = self.client.task_instances(result.dag_id, result.run_id)[task]
        return self.client.log(result.dag_id, result.run_id, task, row["try_number"])

    def told(self) -> list[str]:
        """What the estate's notifier has told people, a line each."""
        file = self.folder / "told.txt"
        return file.read_text().splitlines() if file.exists() else []

    def note(self, result: RunResult) -> str:
        """The run's note, which is written when the run ends."""
        return str(self.client.call("GET", f"/dags/{result.dag_id}/dagRuns/{result.run_id}")["note"])

    def summary(self, result: RunResult) -> dict[str, Any]:
        """What prove returned."""
        found: dict[str, Any] = self.client.xcom(result.dag_id, result.run_id, "prove")
        return found


def connections(site: Site) -> None:
    """One connection for each queue manager of the estate, wrong where the name says so."""
    names = {"mq_qm1_rules": "RULES"} | {
        f"mq_{name.lower()}": name
        for name in (
            *("QM1", "GONE", "PASSWORD", "SPARK", "LAKE", "FOUREYES", "SCHEDULED", "BROWSER"),
            *("QUALITY", "BADSUITE", "BACKOUT", "EXPIRY", "CLUSTER", "KILLED", "TRIGGERED", "EVENING"),
        )
    }
    for conn_id, name in names.items():
        secret = {"login": "app", "password": "not-the-password"} if name == "PASSWORD" else {}
        extra = json.dumps({"queue_manager": name, "home": str(site.queue_managers)})
        site.client.set_connection(conn_id, conn_type="mq", port=NO_PORT, extra=extra, **secret)
    site.use_warm_spark("spark_warm")
    site.use_warm_spark("spark_killed")
    site.client.set_connection("spark_down", conn_type="spark", host="spark://127.0.0.1", port=1)


def home_below(folder: Path) -> AirflowHome:
    """Where the Airflow of a folder lives, whether it runs or not."""
    settings = {
        "MQOPS_ESTATE": str(folder / "estate.yaml"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(folder / "modules"), os.environ.get("PYTHONPATH")])),
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "7200",  # nobody edits a DAG file or the estate here
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "10",  # a new triggerer takes over from a killed one
        "AIRFLOW__SCHEDULER__TRIGGER_TIMEOUT_CHECK_INTERVAL": "2",  # a question of 10 s is answered soon after them
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",  # several run side by side, and with Spark
    }
    return replace(airflow_home.home(folder, **settings), queue_managers=folder / "queue_managers")


def write_files(folder: Path) -> None:
    """The estate, its rules, its suites and its notifier."""
    (folder / "estate.yaml").write_text(ESTATE + NOTIFY.replace("FOLDER", str(folder)))
    (folder / "modules").mkdir()
    (folder / "modules" / "telling.py").write_text(NOTIFIER)
    (folder / "good.rules").write_text(GOOD_RULES)
    (folder / "bad.rules").write_text(BAD_RULES)
    (folder / "back.rules").write_text("ACTION(RETRY)\n")
    (folder / "bad.yaml").write_text(BAD_SUITE)
    (folder / "expectations").mkdir()
    (folder / "expectations" / "expected.yaml").write_text(EXPECTED_SUITE)
    (folder / "expectations" / "gate.yaml").write_text(GATE_SUITE)
    for suite in SUITES.glob("*.yaml"):
        shutil.copy(suite, folder)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Airflow with its scheduler and a Spark Connect server, which its first runs warm up."""
    folder = tmp_path_factory.mktemp("site", numbered=False)
    home = home_below(folder)
    write_files(folder)
    try:
        with started_cold():
            start(home)
        client = AirflowClient(home)
        client.wait_until_healthy()
        site = Site(client=client, folder=folder, queue_managers=home.queue_managers)
        connections(site)
        yield site
    finally:
        stop(home)


@pytest.fixture
def browser(site: Site, driver: Any, tmp_path: Path) -> Iterator[Browser]:
    """An administrator's browser, logged in to the site's Airflow; screenshots lie in the test's own folder."""
    with window(driver, site.client, tmp_path) as one:
        yield one
