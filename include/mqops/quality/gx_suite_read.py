"""A suite of Great Expectations' JSON as mqops' own suites are written (`suite_file`), which then says what is wrong
with it. The other way is `gx_suite`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqops.quality.gx_suite import COMPARED, OURS, TYPE
from mqops.quality.vocabulary import EXPECTATIONS
from mqops.settings_file import Document, FieldPath, found

_OPERATORS = {operator: condition for condition, operator in COMPARED.items()}
_WITHOUT_EFFECT = {"ignore_row_if": ("both_values_are_missing", "all_values_are_missing"), "condition_parser": (None,)}
"""Arguments of GX → the values that say what is always so here."""


def is_of_gx(value: object) -> bool:
    """Whether a JSON document is a suite of GX."""
    return isinstance(value, dict) and "suite" not in value and {"name", "expectations"} <= value.keys()


def from_gx(document: Document) -> None:
    """Put mqops' form in the place of GX's; what has none is a problem of the document."""
    value = document.value
    ours = _ours(value)
    if value.get("suite_parameters"):
        document.problems.append(document.problem(("suite_parameters",), "mqops has no parameters of suites"))
    listed = value["expectations"]
    document.value = {
        "suite": value["name"],
        "description": _text(value.get("notes")),
        "queues": ours.get("queues", []),
        "columns": ours.get("columns", {}),
        "expectations": [_item(document, number, one) for number, one in enumerate(listed)]
        if isinstance(listed, list)
        else listed,
    }


def _text(notes: object) -> object:
    """Notes of GX, which are text or a list of texts."""
    return " ".join(map(str, notes)) if isinstance(notes, list) else notes or ""


def _ours(value: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = value.get("meta")
    ours = meta.get(OURS) if isinstance(meta, dict) else None
    return ours if isinstance(ours, dict) else {}


def _item(document: Document, number: int, one: object) -> object:
    path: FieldPath = ("expectations", str(number))
    kwargs = one.get("kwargs") if isinstance(one, dict) else None
    if not isinstance(one, dict) or not isinstance(one.get("type"), str) or not isinstance(kwargs, dict):
        document.problems.append(document.problem(path, "must have a type and kwargs"))
        return {"id": f"e{number}", "expect": "column_values_to_be_null", "column": "queue"}
    name, ours = one["type"].removeprefix(TYPE), _ours(one)
    item: dict[str, Any] = {"id": ours.get("id") or f"{name[:90]}_{number}", "expect": name}
    for key, given in kwargs.items():
        if key == "row_condition" and given is not None:
            try:
                item["where"] = _where(given)
            except ValueError as error:
                problem = document.problem((*path, "kwargs", key), f"{item['id']} ({name}): {error}")
                document.problems.append(problem)
        elif given is not None and given not in _WITHOUT_EFFECT.get(key, ()):
            item[key] = _exact(given)
    if isinstance(ours.get("expect"), str):
        item = _of_answers(document, path, item, ours)
    item["severity"] = one.get("severity") or "critical"
    if "on_failure" in ours:
        item["on_failure"] = ours["on_failure"]
    why = " ".join(str(_text(said)) for said in (one.get("description"), one.get("notes")) if said)
    return item | ({"why": why} if why else {})


def _of_answers(document: Document, path: FieldPath, item: dict[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """The item for an expectation about a column of answers (rule 2 of `gx_suite`)."""
    said = {key: value for key, value in ours.items() if key not in ("id", "expect", "on_failure")}
    about = " ".join([*(str(value) for key, value in said.items() if key == "column"), str(ours["expect"])])
    known = EXPECTATIONS.get(str(ours["expect"]))
    constant = {key: list(value) for key, value in known.by_arguments.items()} if known else {}
    same = known is not None and known.by == item["expect"] and str(item.get("column")).startswith(about)
    if not same or any(item.get(key) != value for key, value in constant.items()):
        problem = f"{item['id']}: is not as mqops wrote it, and mqops cannot say it so: export the suite anew"
        document.problems.append(document.problem(path, problem))
    kept = {key: value for key, value in item.items() if key in ("id", "where", "mostly")}
    return {**kept, "expect": ours["expect"], **said}


def _where(given: object) -> dict[str, dict[str, Any]]:
    """Conditions as a suite has them. Raises ValueError: there are none so."""
    if not isinstance(given, dict) or given.get("type") == "pass_through":
        raise ValueError("row_condition is text for one engine; mqops needs GX's conditions, such as Column('a') == 1")
    if given.get("type") == "or":
        raise ValueError("row_condition has OR; mqops has only conditions that all hold: make an expectation of each")
    parts = given.get("conditions") if given.get("type") == "and" else [given]
    where: dict[str, dict[str, Any]] = {}
    different = ""
    for one in parts if isinstance(parts, list) and parts else [None]:
        if not isinstance(one, dict) or one.get("type") not in ("comparison", "nullity"):
            raise ValueError(f"row_condition has {found(one)}; mqops has comparisons and null, all of which must hold")
        column, operator = _column_of(one), _OPERATORS.get(str(one.get("operator")))
        before, different = different, column if operator == "not" else ""
        if one["type"] == "nullity":
            if not isinstance(is_null := one.get("is_null"), bool):
                raise ValueError(f"row_condition has is_null {found(is_null)}: write true or false")
            if before == column and not is_null:
                continue  # it belongs to "different", see `gx_suite`
            operator, parameter = "is_set", not is_null
        else:
            parameter = _exact(one.get("parameter"))
        if operator is None:
            raise ValueError(f"row_condition has {one.get('operator')}; mqops has {', '.join(_OPERATORS)}")
        if operator in where.setdefault(column, {}):
            raise ValueError(f"row_condition has two conditions {one.get('operator', 'null')} on {column}")
        where[column][operator] = parameter
    return where


def _column_of(condition: Mapping[str, Any]) -> str:
    column = condition.get("column")
    name = column.get("name") if isinstance(column, dict) else None
    if not isinstance(name, str):
        raise ValueError(f'row_condition has the column {found(column)}: write {{"name": "queue"}}, or another column')
    return name


def _exact(value: Any) -> Any:
    """A value whose whole numbers are whole: GX reads many as doubles."""
    if isinstance(value, list):
        return [_exact(one) for one in value]
    if isinstance(value, dict):
        return {key: _exact(one) for key, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value
