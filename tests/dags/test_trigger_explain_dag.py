"""`mq_trigger_explain`: its form, and its answer as a table in the note of the run."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError
from explain_support import explained, queue_manager
from mqlite_support import INPUT, run_mqsc
from trigger_support import Monitor, define

from mqops.errors import MQError
from mqops_airflow.notices import notes, outcome_text
from mqops_airflow.operators.trigger_explain import answer


@pytest.fixture
def explain(dag_file: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the task with a form, as its operator is run; returns the XComs."""
    dag = dag_file("trigger_explain").mq_trigger_explain
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1"}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(connection))

    def run(**form: Any) -> dict[str, Any]:
        params = {name: dag.params.get_param(name).resolve(form.get(name)) for name in dag.params}
        pushed: dict[str, Any] = {}
        ti = SimpleNamespace(xcom_push=lambda key, value: pushed.update({key: value}))
        return pushed | {"return_value": dag.get_task("explain").execute({"params": params, "ti": ti})}

    return run


def test_the_answer_is_a_table_and_the_json_of_the_command(explain: Any) -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)")
        run_mqsc("ALTER QLOCAL(APP) NOTRIGGER")
        found = explain(queue_manager="QM1", queue="APP")
        assert found["return_value"] == explained().to_json()
        lines = found[outcome_text.KEY].split("\n")
        assert lines[0].startswith(
            "`APP` of `QM1`: `The next message makes no trigger message: no trigger monitor has IQ"
        )
        assert "| condition | state | found | mended by (MQSC) |" in lines
        assert "| T09 | **fails** | `NOTRIGGER` | `ALTER QLOCAL(APP) TRIGGER` |" in lines
        assert lines[-1].startswith("ok: T01, T02, ")


def test_an_alias_is_said_and_another_name_is_told_with_what_to_write(explain: Any) -> None:
    with queue_manager(mqsc="DEFINE QALIAS(BY.ALIAS) TARGET(APP)\n"):
        define("TRIGTYPE(FIRST)")
        found = explain(queue_manager="QM1", queue="BY.ALIAS")
        assert found["return_value"] == explained().to_json() | {"alias": "BY.ALIAS"}
        assert found[outcome_text.KEY].startswith("`BY.ALIAS is an alias of APP, which is looked at`. `APP` of `QM1`: ")
        with pytest.raises(MQError, match="It is not there, APP is: names of queues are case-sensitive"):
            explain(queue_manager="QM1", queue="app")


def test_the_table_of_a_queue_with_everything_wrong_fits_a_note(explain: Any) -> None:
    with queue_manager() as application:
        define("TRIGTYPE(FIRST)", process="UNKNOWN")
        served = application.open("APP", INPUT)
        run_mqsc("ALTER QLOCAL(APP) PUT(DISABLED) NOTRIGGER MSGDLVSQ(FIFO) TRIGMPRI(5)\nALTER QLOCAL(IQ) PUT(DISABLED)")
        text = answer(explained())
        served.close()
        assert len(text) <= notes.LONGEST
        assert "see the log of the task" in text
        assert text.count("**fails**") >= 2


def test_a_queue_that_would_trigger_has_no_table(explain: Any) -> None:
    with queue_manager():
        define("TRIGTYPE(FIRST)")
        monitor = Monitor()
        assert "| T" not in explain(queue_manager="QM1", queue="APP")[outcome_text.KEY]
        monitor.stop()


def test_the_form_needs_a_queue_and_an_unknown_one_fails_the_task(explain: Any) -> None:
    with queue_manager():
        with pytest.raises(ParamValidationError):
            explain(queue_manager="QM1")
        with pytest.raises(ParamValidationError):
            explain(queue_manager="QM1", queue="APP'; x")
        with pytest.raises(MQError, match="MQRC_UNKNOWN_OBJECT_NAME"):
            explain(queue_manager="QM1", queue="NO.SUCH.QUEUE")
