"""What every form has in common: order, sections, what is required, and that no run changes it."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import ParamValidationError

from mqops.cli.dlq import run as dlq_run
from mqops.decide.core.pacing import NO_LIMITS, OF_RUN
from mqops.estate_workflows import PacingSection
from mqops.lake.run import RunFolder
from mqops.prove.records import is_undoable
from mqops_airflow.forms import given, params
from mqops_airflow.forms.field import DIALECT
from mqops_airflow.forms.params import CARRIED_OUT
from mqops_airflow.runs import dags_for_all

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path.stem for path in (ROOT / "dags").glob("*.py"))
TWO = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_test
    dlq_rules: {rules: qm1.rules}
    backout_reprocess: {rules: qm1.rules, quarantine: Q}
    expiry_scan: {interval: 1h}
    snapshot_quality: {suites: [a.yaml]}
  ALPHA:
    connection: mq_alpha
    dlq_rules: {rules: qm1.rules, trigger: FIRST}
    trigger_monitor: {queues: [INITQ]}
"""
FOR_ALL = set(dags_for_all.FOR_ALL)
MAY_BE_EMPTY = {
    "message_ids",
    "limit",
    "why",
    "queue",
    "where",
    "failed",
    "since",
    "until",
    "destination",
    "queues",
    "run",
}


@pytest.fixture
def forms(dag_file: Any, estate_folder: Path) -> Any:
    """The DAGs of all DAG files."""

    def read(estate: str = TWO) -> dict[str, DAG]:
        (estate_folder / "estate.yaml").write_text(estate)
        files: list[ModuleType] = [dag_file(name) for name in FILES]
        return {dag.dag_id: dag for file in files for dag in vars(file).values() if isinstance(dag, DAG)}

    return read


def test_no_form_has_a_queue_manager_filled_in_where_there_are_several(forms: Any) -> None:
    dags = forms()
    assert dags.keys() > FOR_ALL
    for dag_id in FOR_ALL:
        field = dags[dag_id].params.get_param("queue_manager")
        assert (field.value, field.schema["enum"]) == (None, ["ALPHA", "QM1"]), dag_id
        assert field.resolve("QM1") == "QM1"
    for dag_id in FOR_ALL:
        field = forms()[dag_id].params.get_param("queue_manager")
        with pytest.raises(ParamValidationError):
            field.resolve(None)


def test_airflow_refuses_a_run_for_which_nobody_has_chosen_a_queue_manager(forms: Any) -> None:
    """As its API does: the form's defaults with what a person has given (`SerializedDAG.create_dagrun`)."""
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415

    for dag_id in FOR_ALL:
        params = DagSerialization.from_dict(DagSerialization.to_dict(forms()[dag_id])).params
        with pytest.raises(Exception, match="Invalid input for param queue_manager: None is not of type 'string'"):
            params.deep_merge({}).validate()


def test_the_only_queue_manager_is_filled_in(forms: Any) -> None:
    dags = forms(TWO[: TWO.index("  ALPHA")])
    assert {dags[dag_id].params["queue_manager"] for dag_id in FOR_ALL} == {"QM1"}


def test_a_form_begins_with_the_dry_run_then_says_what_and_where_then_has_sections(forms: Any) -> None:
    seen = 0
    for dag_id, dag in forms().items():
        names = list(dag.params)
        sections = [dag.params.get_param(name).schema.get("section") for name in names]
        assert sections == sorted(sections, key=lambda one: one is not None), dag_id  # Airflow shows them in this order
        if "dry_run" in names:
            seen += 1
            assert names[0] == "dry_run", dag_id
            carried_out = {name for name, one in zip(names, sections, strict=True) if one == CARRIED_OUT}
            allowed = {"unit_of_work", *PacingSection.model_fields}
            assert carried_out == allowed & set(names), f"{dag_id}: this section has unit_of_work and the pacing only"
        if dag_id in FOR_ALL:
            assert "queue_manager" in names[:2], dag_id
    assert seen >= 5


def test_commands_forms_and_the_estate_pace_a_run_by_the_same_values() -> None:
    """One more is a field of `Pacing`, of `PacingSection` and of `CarriedOut`, in `params.pacing`, and an option."""
    made = params.pacing(PacingSection())
    assert OF_RUN == tuple(PacingSection.model_fields) == tuple(made)
    assert {*given.CarriedOut.model_fields} == {"unit_of_work", *OF_RUN}
    assert {one.name for one in dlq_run.params} >= {*OF_RUN}
    defaults = {name: one.value for name, one in made.items()}
    assert defaults == {name: getattr(NO_LIMITS, name) for name in OF_RUN}


def test_what_may_be_empty_is_not_marked_as_required_and_takes_nothing(forms: Any) -> None:
    """Airflow's form marks every field whose type has no null. It sends null for a list that was emptied."""
    empty = set()
    for dag_id, dag in forms().items():
        for name in dag.params:
            field = dag.params.get_param(name)
            required = "null" not in field.schema["type"]
            takes_nothing = True
            try:
                field.resolve([] if "array" in field.schema["type"] and required else None)
            except ParamValidationError:
                takes_nothing = False
            assert required != takes_nothing, (dag_id, name)
            empty |= set() if required else {name}
    assert empty >= MAY_BE_EMPTY


def test_no_form_changes_by_the_runs_that_there_are(forms: Any, estate_folder: Path) -> None:
    """A DAG that is serialized in another way is a new version of it in Airflow."""
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415

    def serialized() -> dict[str, str]:
        return {name: json.dumps(DagSerialization.to_dict(dag), sort_keys=True) for name, dag in forms().items()}

    before = serialized()
    for name in ("QM1", "ALPHA"):
        for number in range(3):
            run = RunFolder.at(estate_folder / "lake", name, f"cli-{number}").create()
            run.plan_json.write_text("{}")
            if number:
                run.issued_json.write_text("{}")
                assert is_undoable(run)
                os.utime(run.path, (number, number))
    after = serialized()
    assert len(before) >= 11
    assert after == before


def test_copies_of_a_form_share_what_its_fields_allow_and_not_what_stands_in_them(forms: Any) -> None:
    """Airflow copies a form for each class of each task's operator: with 200 queue managers a third of the parse."""
    for dag_id, dag in forms().items():
        for name, copied in copy.deepcopy(dag.params).items():
            field = dag.params.get_param(name)
            assert copied.schema is field.schema, (dag_id, name)
            assert copied.schema["$schema"] == DIALECT, (dag_id, name)
            if isinstance(field.value, list):
                assert copied.value is not field.value, (dag_id, name)
