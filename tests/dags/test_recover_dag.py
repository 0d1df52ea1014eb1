"""`mq_recover`: its form refuses with sentences. Its runs are in test_approval_run.py."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import ParamValidationError

from mqops.errors import SettingsError
from mqops_airflow.forms.formats import FILTER
from mqops_airflow.forms.given import RecoverForm, given
from mqops_airflow.operators.recover import refuse_contradictions


@pytest.fixture
def dag(dag_file: Any) -> DAG:
    found = dag_file("recover").mq_recover
    assert isinstance(found, DAG)
    return found


def test_law2_a_run_is_dry_unless_the_form_says_otherwise(dag: DAG) -> None:
    assert dag.params["dry_run"] is True
    assert dag.task_dict["act"].upstream_task_ids == {"approve"}


@pytest.mark.parametrize("text", ["BODY('secret')", "PROP('usr.a' = 'x')", "REASON(", "NOSUCH(1)"])
def test_law9_a_filter_that_is_wrong_or_has_payload_is_refused_before_the_run_is_queued(dag: DAG, text: str) -> None:
    where = dag.params.get_param("where")
    with pytest.raises(ParamValidationError) as refused:
        where.resolve(text)
    assert f"is not a '{FILTER}'" in str(refused.value)
    assert where.resolve("REASON(MQRC_Q_FULL) AGE(>15m)")


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"action": "restore", "run": None, "queue": None}, "Run: restore needs the run"),
        ({"action": "move", "run": "x", "queue": "A"}, "Run: move takes no run"),
        ({"action": "move", "run": None, "queue": None}, "Queue: move needs the queue"),
    ],
)
def test_fields_that_do_not_go_together_are_refused_by_name(dag: DAG, form: dict[str, Any], says: str) -> None:
    defaults = {name: dag.params.get_param(name).value for name in dag.params}
    with pytest.raises(SettingsError, match=says):
        refuse_contradictions(given(defaults | form, RecoverForm))


def test_a_value_that_does_not_fit_is_refused_by_the_name_of_its_field(dag: DAG) -> None:
    """Airflow checks the form before it queues a run; the task does not rest on that."""
    form = {name: dag.params.get_param(name).value for name in dag.params} | {"message_ids": "secret"}
    with pytest.raises(SettingsError, match=r"the form's field message_ids: .* Start a new run") as refused:
        given(form, RecoverForm)
    assert "secret" not in str(refused.value)
