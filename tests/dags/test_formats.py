"""A text that a form refuses is answered with a sentence, and no form has a regular expression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Param
from airflow.sdk.exceptions import ParamValidationError

from mqops_airflow.forms import params
from mqops_airflow.forms.formats import INSIDE_FILE, MESSAGE_ID, MQ_NAME, ONE_LINE, QUEUE_PATTERN, RUN_KEY

FORMS = {
    MQ_NAME: (params.queue(None, what="x"), "a b"),
    QUEUE_PATTERN: (params.queues(["A"]), ["A", "A\n"]),
    MESSAGE_ID: (params.message_ids(), ["12"]),
    RUN_KEY: (params.run(), ".hidden"),
    ONE_LINE: (params.why(), "one\ntwo"),
    INSIDE_FILE: (params.rules_file("a.rules", []), "../a.rules"),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_text_that_is_refused_is_answered_with_a_sentence(name: str) -> None:
    param, wrong = FORMS[name]
    with pytest.raises(ParamValidationError) as refused:
        param.resolve(wrong)
    assert f"is not a '{name}'" in str(refused.value)
    assert "[A-Za" not in str(refused.value)


def schemas(value: Any) -> list[Any]:
    """Every object in a schema."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return ([value] if isinstance(value, dict) else []) + [one for part in inner for one in schemas(part)]


WITH_DAGS = [path.stem for path in (Path(__file__).parents[2] / "dags").glob("*.py") if path.stem != "estate_errors"]


@pytest.mark.parametrize("file", WITH_DAGS)
def test_no_form_has_a_regular_expression(dag_file: Any, all_workflows: Path, file: str) -> None:
    notifier = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
    with (all_workflows / "estate.yaml").open("a") as estate:
        arguments = 'arguments: {to: people@example.com}, daily: {schedule: "0 6 * * *"}'
        estate.write(f"notify: {{notifier: {notifier}, {arguments}}}\n")
    dags = [dag for dag in vars(dag_file(file)).values() if isinstance(dag, DAG)]
    assert dags, "the estate of this test has every workflow"
    for dag in dags:
        for name in dag.params:
            param = dag.params.get_param(name)
            assert isinstance(param, Param)
            assert not any("pattern" in schema for schema in schemas(dict(param.schema))), name
