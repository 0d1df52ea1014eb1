"""The operator that submits Spark jobs: real spark-submit, real task runs; the secret is looked for everywhere."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mqops import errors
from mqops_airflow.spark.spark_submit import shown, submission
from mqops_airflow.spark.submit import SparkJobFailed, job_error, master_must_answer, spread
from mqops_demo.spark_archive import write_properties

HERE = Path(__file__).parent
SECRET = "s3cret-of-the-queue-manager"
# Airflow's and other systems' secrets, in the environment of the task.
FOREIGN = {
    "AIRFLOW__API_AUTH__JWT_SECRET": "x" * 64,
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_SECRET": "x",
    "AIRFLOW_CONN_OTHER": "http://user:word@nowhere",
    "MQOPS_OF_THE_TASK": "1",
    "SPARK_SOME_TOKEN": "1",
    "SOMEBODYS_KEY": "1",
}
TOKEN = "t0ken-of-the-connect-server"
BODY_KEYS = "k3ys-of-the-bodies"


@dataclass(frozen=True)
class Outcome:
    """What the DAG's run left behind."""

    home: Path
    folder: Path
    output: str
    states: dict[str, str]

    def xcom(self, task: str) -> Any:
        with sqlite3.connect(self.home / "airflow.db") as database:
            (value,) = database.execute(
                "select value from xcom where task_id = ? and key = 'return_value'", (task,)
            ).fetchone()
        return json.loads(json.loads(value) if value.startswith('"') else value)

    def log(self, task: str) -> str:
        return "\n".join(path.read_text() for path in self.home.glob(f"logs/**/task_id={task}/*.log"))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, airflow_database: Path) -> Outcome:
    """One run of submitting_dag.py, which has every situation as a task."""
    home, folder, dags = (tmp_path_factory.mktemp(name) for name in ("home", "jobs", "dags"))
    shutil.copy(airflow_database, home / "airflow.db")
    for name in ("submitting_dag.py", "submitted_job.py"):
        shutil.copy(HERE / name, dags / name)
    (dags / ".airflowignore").write_text("submitted_job.py\n")
    write_properties(home / "spark.properties")
    estate = home / "estate.yaml"
    estate.write_text(
        "lake: lake\njob_environment: [ADDED_*]\nqueue_managers:\n"
        "  QM1: {connection: mq_test, bodies: {connection: bodies_test}}\n"
        "  QM2: {connection: mq_other, bodies: {connection: bodies_other}}\n"
    )
    environment = {
        **os.environ,
        **FOREIGN,
        "ADDED_BY_THE_ESTATE": "1",
        "MQOPS_ESTATE": str(estate),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "MQOPS_LEDGER_KEYS": str(home / "keys"),
        "MQOPS_SPARK_PROPERTIES": str(home / "spark.properties"),
        "TEST_FOLDER": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "AIRFLOW_CONN_SPARK_TEST": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "AIRFLOW_CONN_SPARK_CLUSTER_MODE": json.dumps(
            {"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "cluster"}}
        ),
        "AIRFLOW_CONN_CONNECT_PLAIN": json.dumps(
            {"conn_type": "spark_connect", "host": "spark.example.com", "password": TOKEN}
        ),
        "AIRFLOW_CONN_BODIES_TEST": json.dumps({"conn_type": "generic", "password": BODY_KEYS}),
        "TEST_TOKEN": TOKEN,
        "AIRFLOW_CONN_MQ_TEST": json.dumps(
            {"conn_type": "mq", "login": "app", "password": SECRET, "extra": {"queue_manager": "QM1"}}
        ),
    }
    command = [sys.executable, str(dags / "submitting_dag.py")]
    environment.pop("MQOPS_LAKE", None)
    result = subprocess.run(command, env=environment, capture_output=True, text=True, umask=0o022)
    output = result.stdout + result.stderr
    (states,) = [line.removeprefix("STATES ") for line in output.splitlines() if line.startswith("STATES ")]
    return Outcome(home=home, folder=folder, output=output, states=json.loads(states))


def test_states(outcome: Outcome) -> None:
    fine = {"fine", "looked_at", "taken_once", "connect_fine"}
    assert {task for task, state in outcome.states.items() if state == "success"} == fine, outcome.output
    assert set(outcome.states.values()) == {"success", "failed"}


def test_the_job_gets_the_connection_and_the_interpreter(outcome: Outcome) -> None:
    summary = json.loads((outcome.folder / "fine" / "summary.json").read_text())
    assert (summary["user"], summary["secret_length"]) == ("app", len(SECRET))
    assert summary["python"] == os.environ.get("PYSPARK_PYTHON", sys.executable)
    assert summary["arguments"] == ["fine", "--message-id=0a", "--message-id=0b"]


def seen(outcome: Outcome, task: str) -> dict[str, Any]:
    """What the job of a task wrote down."""
    found: dict[str, Any] = json.loads((outcome.folder / task / "summary.json").read_text())
    return found


@pytest.mark.parametrize(("task", "connected"), [("fine", True), ("connect_fine", True), ("looked_at", False)])
def test_a_job_gets_the_variables_on_the_list(outcome: Outcome, task: str, connected: bool) -> None:
    variables = set(seen(outcome, task)["variables"])
    assert not variables & FOREIGN.keys()
    assert {name for name in variables if name.startswith(("AIRFLOW", "_AIRFLOW"))} == set()
    assert {"PATH", "SPARK_LOCAL_IP", "PYSPARK_PYTHON", "ADDED_BY_THE_ESTATE"} <= variables
    assert ({"MQOPS_CONNECTION", "GIVEN_TO_THE_OPERATOR"} <= variables) is connected
    assert ("MQOPS_CONNECTION" in variables) is connected
    assert ("MQOPS_LEDGER_KEYS" in variables) is connected
    assert ("MQOPS_ESTATE" in variables) is connected
    assert "MQOPS_BODY_KEYS" in variables  # those of the queue manager, for whatever reads its snapshots
    assert seen(outcome, task)["body_keys_length"] == len(json.dumps({"QM1": BODY_KEYS}))
    assert seen(outcome, task).get("keys_of_executors", False) is (task == "fine")


def test_nobody_else_can_read_what_spark_leaves_on_the_disk(outcome: Outcome) -> None:
    """With umask 022 in the task's process, while the job runs: it shuffled and spilled."""
    found = seen(outcome, "looked_at")
    assert found["shuffle_files"] > 0
    assert found["open_to_others"] == []
    assert found["with_the_mark"] == []


def test_the_temporary_folder_lies_in_the_lake_locked_and_is_removed_in_the_end(outcome: Outcome) -> None:
    found = seen(outcome, "looked_at")
    parent = outcome.home / "lake" / ".spark"
    assert [Path(place).parents[1] for place in found["places"]] == [parent, parent]
    assert found["locked"]
    assert list(parent.iterdir()) == []


def test_a_driver_of_a_local_master_listens_for_this_machine_only_and_asks_for_a_secret(outcome: Outcome) -> None:
    found = seen(outcome, "looked_at")
    assert {address.removeprefix("::ffff:") for address in found["listens_on"]} == {"127.0.0.1"}
    assert (found["authenticated"], found["ui"]) == ("true", None)


def test_a_client_of_spark_connect_gets_the_server_and_its_token(outcome: Outcome) -> None:
    summary = outcome.xcom("connect_fine")
    assert re.fullmatch(r"sc://localhost:\d+/;user_id=batch", summary["server"])
    assert (summary["token_length"], summary["secret_length"]) == (len(TOKEN), len(SECRET))
    assert summary["arguments"] == ["fine", "--message-id=0a", "--message-id=0b"]
    assert summary["given"] == "for a client"
    assert summary["processes_with_the_secret_in_their_arguments"] == 0
    assert summary["connection_in_proc"] is False
    assert stat.S_IMODE((outcome.folder / "connect_fine" / "summary.json").stat().st_mode) == 0o600
    assert json.loads((outcome.folder / "fine" / "summary.json").read_text())["server"] == ""  # spark-submit has none


def test_a_client_of_spark_connect_is_the_tasks_own_process_and_what_it_prints_is_in_the_log(outcome: Outcome) -> None:
    assert f"PROCESS {outcome.xcom('connect_fine')['process']}" in outcome.output.splitlines()
    assert "a line of the job's fine" in outcome.output


def test_a_client_of_spark_connect_ends_where_airflow_ends_its_task(outcome: Outcome) -> None:
    """Airflow's handler of SIGTERM calls `on_kill` and returns: the job would go on, beside the task's next try."""
    assert outcome.states["connect_killed"] == "failed"
    assert not (outcome.folder / "connect_killed" / "summary.json").exists()


def test_what_is_shown_of_the_summary_goes_to_xcom(outcome: Outcome) -> None:
    xcom = outcome.xcom("fine")
    assert xcom["user"] == "app"
    assert "not_shown" not in xcom


def test_no_secret_in_any_argument(outcome: Outcome) -> None:
    summary = json.loads((outcome.folder / "fine" / "summary.json").read_text())
    assert summary["processes_with_the_secret_in_their_arguments"] == 0


def test_no_secret_in_log_database_or_rendered_fields(outcome: Outcome) -> None:
    assert "Spark-Submit cmd" in outcome.output  # the log was really captured
    assert "Spark Connect client of localhost" in outcome.output
    assert SECRET not in outcome.output
    assert TOKEN not in outcome.output
    assert BODY_KEYS not in outcome.output
    with sqlite3.connect(outcome.home / "airflow.db") as database:
        (rendered,) = database.execute(
            "select rendered_fields from rendered_task_instance_fields where task_id = 'fine'"
        ).fetchone()
    assert "--message-id" in str(rendered)
    files = [path for path in outcome.home.rglob("*") if path.is_file()]
    assert any(path.name.startswith("airflow.db") for path in files)
    secrets = (SECRET.encode(), TOKEN.encode(), BODY_KEYS.encode())
    assert [path for path in files if any(map(path.read_bytes().count, secrets))] == []


def test_a_summary_that_is_there_is_kept_where_it_is_taken_once(outcome: Outcome) -> None:
    assert outcome.xcom("taken_once") == {"kept": 1}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("named_error", "TransientMQError: MQCONNX on QM1 failed: MQRC_Q_MGR_NOT_AVAILABLE (2059)"),
        (
            "unnamed_error",
            "SparkJobFailed: the Spark job ended and named no error: see its output above. If it could not reach "
            "Spark, correct the Airflow connection 'spark_test'. Then clear this task: the run goes on where it was, "
            "and nothing is moved twice.\nCannot execute",
        ),
        ("unknown_spark", "SettingsError: there is no Airflow connection 'spark_nowhere': make one of type 'spark'"),
        ("unreachable_spark", "SparkUnreachable: no Spark master answers at spark://127.0.0.1:"),
        (
            "unreachable_spark",
            "(Connection refused). Start the master, or correct host and port of the Airflow connection 'spark_down', "
            "and clear this task; nothing was moved by it.",
        ),
        ("connect_named_error", "TransientMQError: MQCONNX on QM1 failed: MQRC_Q_MGR_NOT_AVAILABLE (2059)"),
        ("connect_unforeseen_error", "MqopsError: ValueError: nobody foresaw"),
        ("connect_unnamed_error", "MqopsError: the job ended itself: went wrong without a name"),
        ("connect_killed", "TaskKilled: Airflow ended this task while its job ran."),
        ("connect_unreachable", "SparkUnreachable: no Spark Connect server answers at localhost:"),
        (
            "connect_without_tls",
            "SettingsError: Airflow connection 'connect_plain' leads to spark.example.com without TLS; set 'Use SSL'",
        ),
        ("cluster_mode", "SettingsError: Spark connection 'spark_cluster_mode' has deploy mode cluster"),
        ("unknown_mq", "SettingsError: there is no Airflow connection 'mq_nowhere': make one of type 'mq'"),
    ],
)
def test_each_error_says_what_is_wrong(outcome: Outcome, task: str, message: str) -> None:
    assert outcome.states[task] == "failed"
    assert message in outcome.output


def test_the_last_named_error_of_a_job_counts() -> None:
    lines = ["noise", "mqops: RulesError: first", "mqops: PlanChanged: the plan has another digest", "WARN later"]
    error = job_error(lines, "spark-submit ended with 1", "spark_default")
    assert (type(error), str(error)) == (errors.PlanChanged, "the plan has another digest")


def test_errors_of_the_queue_manager_keep_their_class() -> None:
    error = job_error(["mqops: PermanentMQError: MQOPEN on Q failed: MQRC_NOT_AUTHORIZED (2035)"], "", "spark_default")
    assert isinstance(error, errors.PermanentMQError)
    assert "2035" in str(error)


@pytest.mark.parametrize("line", ["mqops: Exception: x", "mqops: os: x", "mqops: MQError", "nothing"])
def test_what_names_no_error_of_ours_is_a_failed_job(line: str) -> None:
    assert type(job_error([line], "otherwise", "spark_default")) is SparkJobFailed


def test_a_failed_job_says_what_to_do() -> None:
    assert str(job_error(["noise"], "Cannot execute: spark-submit. Error code is: 1.", "spark_yarn")) == (
        "the Spark job ended and named no error: see its output above. If it could not reach Spark, correct the "
        "Airflow connection 'spark_yarn'. Then clear this task: the run goes on where it was, and nothing is moved "
        "twice.\nCannot execute: spark-submit. Error code is: 1."
    )


def test_a_master_that_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        master_must_answer(f"spark://127.0.0.1:1,127.0.0.1:{port}", "spark_default")  # one of them is enough


@pytest.mark.parametrize("master", ["local[*]", "yarn", "k8s://https://h:1"])
def test_only_standalone_masters_are_asked(master: str) -> None:
    master_must_answer(master, "spark_default")


@pytest.mark.parametrize(
    ("master", "why"),
    [
        ("spark://127.0.0.1:1", "127.0.0.1:1 (Connection refused)"),
        ("spark://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1 (Connection refused); 127.0.0.1:2 (Connection refused)"),
        ("spark://x", "no host:port in it"),
    ],
)
def test_a_master_that_does_not_answer_says_what_to_do(master: str, why: str) -> None:
    with pytest.raises(errors.SparkUnreachable) as caught:
        master_must_answer(master, "spark_default")
    assert str(caught.value) == (
        f"no Spark master answers at {master}: {why}. Start the master, or correct host and port of the Airflow "
        "connection 'spark_default', and clear this task; nothing was moved by it."
    )


def test_repeated_arguments() -> None:
    assert spread("--id", "a,b") == ["--id=a", "--id=b"]
    assert spread("--id", "") == []


def connection(host: str | None, port: int | None = None, conn_type: str = "spark", **extra: str) -> Any:
    return SimpleNamespace(host=host, port=port, conn_type=conn_type, extra_dejson=extra)


@pytest.mark.parametrize(
    ("made", "master"),
    [
        (connection("local[*]"), "local[*]"),
        (connection("yarn"), "yarn"),
        (connection("spark://a,b", 7077), "spark://a,b:7077"),
        (connection("a", 7077), "spark://a:7077"),  # of a URI
        (connection("k8s://https://h", 443), "k8s://https://h:443"),
        (connection("h", 443, conn_type="k8s"), "k8s://h:443"),
        (connection("local[*]", conn_type="generic"), "local[*]"),  # what Airflow without that provider makes of spark
        (connection("spark://a", 7077, conn_type="generic"), "spark://a:7077"),
    ],
)
def test_the_master_of_a_connection(made: Any, master: str) -> None:
    """As Airflow's Spark provider reads it."""
    assert submission("spark_default", made).master == master


def test_all_that_a_connection_says_is_on_the_command_line(tmp_path: Path) -> None:
    fields = {"queue": "q", "namespace": "mq", "principal": "me@REALM", "keytab": base64.b64encode(b"\x05k").decode()}
    asked = submission("spark_default", connection("yarn", **fields))
    assert asked.keytab == b"\x05k"
    assert b"\x05k".hex() not in repr(asked)
    command = asked.command(
        *("job", {"spark.a": "1"}, "/act.py", ["--run=r"]), properties="/p", keytab=tmp_path / "keytab"
    )
    assert Path(command[0]).name == "spark-submit"
    assert command[1:] == [
        *("--master", "yarn", "--deploy-mode", "client", "--name", "job"),
        *("--conf", "spark.a=1", "--conf", "spark.kubernetes.namespace=mq"),
        *("--properties-file", "/p", "--keytab", str(tmp_path / "keytab"), "--principal", "me@REALM", "--queue", "q"),
        *("/act.py", "--run=r"),
    ]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"deploy-mode": "cluster"}, "has deploy mode cluster; mqops needs client"),
        (
            {"spark-binary": "/bin/rm"},
            "has spark-binary '/bin/rm'; it may be spark-submit, spark2-submit, spark3-submit",
        ),
        ({"keytab": "no base64!"}, "has a keytab that is not in base64"),
    ],
)
def test_what_a_connection_may_not_say(extra: dict[str, str], message: str) -> None:
    with pytest.raises(errors.SettingsError, match=re.escape(message)):
        submission("spark_default", connection("yarn", **extra))


def test_without_spark_the_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = submission("spark_default", connection("yarn", **{"spark-binary": "spark3-submit"}))
    with pytest.raises(errors.SettingsError, match=r"there is no spark3-submit on PATH: .* install `mqops\[spark\]`"):
        asked.command("job", {}, "/act.py", [], properties=None, keytab=None)


def test_a_log_has_no_secret_of_a_setting() -> None:
    assert shown(["spark-submit", "--conf", "spark.ssl.keyPassword=x", "--conf", "spark.a=1", "j.py"]) == (
        "spark-submit --conf spark.ssl.keyPassword=****** --conf spark.a=1 j.py"
    )
