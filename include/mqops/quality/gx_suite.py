"""A suite as Great Expectations' own JSON (`ExpectationSuite` of GX 1), and the columns that it speaks of there.

1. What GX's own expectation says is said by it, with its own arguments; `meta.mqops` has the id, and `on_failure` where
   the severity does not say it.
2. What GX has no expectation for and a library tests (an IBAN, a schema, whether a value can be read) is the answer in
   a column of its own, named `answer_column`, and an expectation of GX about that column.
3. What GX cannot say is an error that names the expectation. Nothing is left out.

GX is not imported. Source: GX 1, `ExpectationSuite.to_json_dict`, `great_expectations.expectations.row_conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import cast

from mqops.as_json import Json, JsonObject
from mqops.errors import SettingsError
from mqops.message_checks import ON_FAILURE
from mqops.quality.columns import is_payload
from mqops.quality.payload import ISO_DATE, Asked
from mqops.quality.suite import Argument, Check, Suite, as_gx
from mqops.quality.where import Condition

OURS = "mqops"
"""Key of `meta` for what GX's JSON has no place for."""
TYPE = "expect_"
COMPARED = {"equals": "==", "not": "!=", "at_least": ">=", "at_most": "<=", "one_of": "IN"}
"""Condition → operator of GX."""
EXACT = 2**53
"""The greatest number up to which a double, in which GX reads bounds, has every whole number."""


def to_gx(suite: Suite) -> JsonObject:
    """The suite as GX's JSON.

    Raises:
        SettingsError: an expectation cannot be said in it; a line for each, with file, line, and why.
    """
    found: list[JsonObject] = []
    problems = []
    for check in suite.checks:
        try:
            found.append(_expectation(suite, check))
        except ValueError as error:
            problems.append(
                f"{suite.source}:{check.line}: {check.id} cannot be said as Great Expectations' JSON: {error}"
            )
    if problems:
        raise SettingsError(*problems)
    ours: JsonObject = {"queues": list(suite.queues), "columns": dict(_declared(suite))}
    return {
        "name": suite.name,
        "expectations": list(found),
        "meta": {OURS: ours},
        "notes": suite.description or None,
    }


def answer_column(suite: Suite, check: Check) -> str:
    """The column of the answers of a check that GX has no expectation for (rule 2); "" for another one."""
    if not check.expectation.by or check.expectation.in_gx:
        return ""
    about = [] if not check.expectation.domain else [suite.named(check.columns[0])]
    given = [str(one) for one in check.arguments.values()]
    return " ".join([*about, check.expectation.name, *given])


def _expectation(suite: Suite, check: Check) -> JsonObject:
    if check.expectation.between:
        raise ValueError(f"{check.expectation.name} looks at other messages, queues, files or runs, and GX has none so")
    ours: JsonObject = {"id": check.id}
    if check.on_failure is not ON_FAILURE[check.severity]:
        ours["on_failure"] = str(check.on_failure)
    answers = answer_column(suite, check)
    computed = check.computed() if answers else check
    if answers:
        given: JsonObject = {name: _json(value) for name, value in check.arguments.items()}
        ours |= {"expect": check.expectation.name, **_domain(suite, check), **given}
        kwargs: JsonObject = {"column": answers}
    else:
        kwargs = _domain(suite, check)
    kwargs |= {name: _json(value) for name, value in computed.arguments.items()}
    if check.expectation.of_rows:
        kwargs["mostly"] = check.mostly
    if check.where:
        kwargs["row_condition"] = _row_condition(check.where)
    return {
        "type": f"{TYPE}{computed.expectation.name}",
        "kwargs": kwargs,
        "meta": {OURS: ours},
        "severity": check.severity,
        "notes": check.why or None,
    }


def _domain(suite: Suite, check: Check) -> JsonObject:
    names = [suite.named(one) for one in check.columns]
    if check.expectation.domain == ("column_list",):
        return {"column_list": list(names)}
    return dict(zip(check.expectation.domain, names, strict=False))


def _json(value: Argument) -> Json:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int) and not -EXACT <= value <= EXACT:
        raise ValueError(f"{value} is more than a double has exactly, and GX reads numbers as doubles")
    return cast(Json, as_gx(value))


def _row_condition(where: tuple[Condition, ...]) -> JsonObject:
    every = [one for condition in where for one in _conditions(condition)]
    return every[0] if len(every) == 1 else {"type": "and", "conditions": list(every)}


def _conditions(condition: Condition) -> Iterator[JsonObject]:
    column: JsonObject = {"name": condition.shown or condition.column}
    if condition.operator == "is_set":
        yield {"type": "nullity", "column": column, "is_null": not condition.value}
        return
    operator = COMPARED.get(condition.operator)
    if operator is None:
        raise ValueError(f"GX's conditions have no {condition.operator!r}: name the queues or values, or use `queues`")
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    if operator == "IN" and any(isinstance(one, bool) for one in values):
        raise ValueError("GX's conditions have no list of true and false: leave the condition out, or name one")
    given = [_json(one) for one in values]
    parameter: Json = given if isinstance(condition.value, tuple) else given[0]
    yield {"type": "comparison", "column": column, "operator": operator, "parameter": parameter}
    if operator == "!=":  # on pandas a missing value is different from every one; here it is not
        yield {"type": "nullity", "column": column, "is_null": False}


def _declared(suite: Suite) -> Iterator[tuple[str, Json]]:
    """The columns as a suite declares them; a path without a type needs none."""
    for one in suite.asked:
        if is_payload(one.column.name) and (block := _block(one)) is not None:
            yield one.name, block


def _block(asked: Asked) -> JsonObject | None:
    block: JsonObject = {} if asked.type == "text" else {"type": asked.type}
    if asked.language == "slice":
        block |= {"offset": asked.offset, "length": asked.length}
        block |= {} if asked.ccsid is None else {"ccsid": asked.ccsid}
        block |= {"decimals": asked.decimals} if asked.decimals else {}
    elif asked.name != asked.path:
        block["at"] = asked.path
    if asked.date_format != ISO_DATE:
        block["format"] = asked.date_format
    return block or None
