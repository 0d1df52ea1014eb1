"""Reads suites from YAML or JSON and says everything that is wrong with them, by file, line and field.

The form is described in `include/expectations/README.md`. Reading needs neither Spark nor Great Expectations.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from mqops.errors import SettingsError
from mqops.given_file import text_of, why_unread
from mqops.message_checks import OF_MESSAGES, ON_FAILURE, OnFailure
from mqops.quality.arguments import argument_value, column_value, value_of
from mqops.quality.columns import COLUMNS, Column, ColumnKind, Source
from mqops.quality.gx_core import REFUSED
from mqops.quality.gx_suite_read import from_gx, is_of_gx
from mqops.quality.named import Named, readable
from mqops.quality.suite import Argument, Check, Suite
from mqops.quality.vocabulary import (
    LEAST_RUNS,
    MOST_RUNS,
    PAIR,
    RUNS,
    SEVERITIES,
    Expectation,
    Takes,
    expectation_named,
    names,
)
from mqops.quality.where import OPERATORS, Condition, Value
from mqops.settings_file import Document, FieldPath, Problem, found, read, unknown_key

NULL = Field(default=None, validate_default=True)
"""For a field that is read as null where it is missing."""


def load_suites(paths: Iterable[str | Path]) -> tuple[Suite, ...]:
    """The suites in these files.

    Raises:
        SettingsError: a file cannot be read or is not valid, or two suites have one name; one line for every error.
    """
    suites: list[Suite] = []
    problems: list[str] = []
    for path in paths:
        suite, wrong = read_suite(Path(path))
        problems.extend(wrong)
        if suite is None:
            continue
        same_name = next((other for other in suites if other.name == suite.name), None)
        if same_name:
            problems.append(f"{suite.source}:1: suite: {suite.name!r} is the suite of {same_name.source} too")
        suites.append(suite)
    if problems:
        raise SettingsError(*problems)
    if not suites:
        raise SettingsError("No suite was named; name at least one file of expectations")
    return tuple(suites)


def read_suite(path: Path) -> tuple[Suite | None, list[str]]:
    """The suite in a file, or None and every error as `file:line: field: what`."""
    try:
        text = text_of(path)
    except FileNotFoundError:
        why = "it is not there: write it, or correct its path (`mqops estate check` has the line)"
        return None, [f"{path}: the suite cannot be read: {why}"]
    except (OSError, UnicodeDecodeError) as error:
        return None, [f"{path}: the suite cannot be read: {why_unread(error)}"]
    suite, problems = parse(text, source=str(path))
    return suite, [str(problem) for problem in problems]


def parse(text: str, *, source: str) -> tuple[Suite | None, tuple[Problem, ...]]:
    """The suite in `text`, or None and everything wrong with it.

    Args:
        text: YAML, or JSON where `source` ends in `.json`: in mqops' own form or in Great Expectations'.
        source: the file's name, for error texts.
    """
    document = _document(text, source)
    if document.problems:
        return None, tuple(document.problems)
    if source.endswith(".json") and is_of_gx(document.value):
        from_gx(document)
    head = document.fit(_Suite, document.value)
    listed = document.value.get("expectations") if isinstance(document.value, dict) else None
    named = Named(head)
    named.in_folder(source)
    for name, wrong in named.problems.items():
        document.problems.append(document.problem(("columns", name), wrong))
    first: dict[str, int] = {}
    checks = []
    for number, item in enumerate(listed if isinstance(listed, list) else ()):
        path = ("expectations", str(number))
        if (check := _check(document, item, path, named)) is None:
            continue
        if check.id in first:
            twice = f"{check.id!r} stands for the expectation of line {first[check.id]} already"
            document.problems.append(document.problem((*path, "id"), twice))
        first.setdefault(check.id, check.line)
        checks.append(check)
    document.problems.sort(key=lambda problem: problem.line)
    if head is None or document.problems:
        return None, tuple(document.problems)
    suite = Suite(
        name=head.suite,
        source=source,
        description=head.description,
        queues=tuple(head.queues),
        checks=(*checks, *readable(checks, named)),
        asked=tuple(named.used.values()),
    )
    return suite, ()


def _document(text: str, source: str) -> Document:
    if not source.endswith(".json"):
        return read(text, source=source)
    try:
        value = json.loads(text)
    except RecursionError:
        return read(text, source=source)  # which says so
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        problem = Problem(source=source, line=line, field="", message=f"not valid JSON: {error}")
        return Document(source=source, problems=[problem])
    document = read(text.replace("\t", " "), source=source)  # JSON is YAML but for tabs, and gives the lines
    document.value = value
    return document


def _fitting(pattern: str, what: str) -> PlainValidator:
    def checked(value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(f"must be {what} (found {found(value)})")
        return value

    return PlainValidator(checked)


def _list_of(what: str, least: int = 0) -> BeforeValidator:
    def checked(value: object) -> object:
        if not isinstance(value, list) or len(value) < least:
            raise ValueError(f"must be a list of {what} (found {found(value)})")
        return value

    return BeforeValidator(checked)


def _column(name: object, info: ValidationInfo) -> Column:
    if name is None:
        raise ValueError("is required")
    if isinstance(name, str) and name in COLUMNS:
        return COLUMNS[name]
    named: Named = info.context if isinstance(info.context, Named) else Named(None)
    if isinstance(name, str) and (asked := named.asked(name)):
        return asked.column
    raise ValueError(f"there is no column {found(name)}; {_nearest(str(name))}")


def _conditions(where: dict[Column, object]) -> tuple[Condition, ...]:
    conditions: list[Condition] = []
    wrong: list[InitErrorDetails] = []
    for column, said in where.items():
        pairs = said if isinstance(said, dict) else {"one_of" if isinstance(said, list) else "equals": said}
        for operator, operand in pairs.items():
            try:
                value = _operand(column, operator, operand)
                shown = column.meaning if column.source is Source.PAYLOAD else ""
                conditions.append(Condition(column=column.name, operator=operator, value=value, shown=shown))
            except ValueError as error:
                at = (_shown(column), str(operator)) if isinstance(said, dict) else (_shown(column),)
                kind = PydanticCustomError("value_error", "{error}", {"error": str(error)})
                wrong.append(InitErrorDetails(type=kind, loc=at, input=operand))
    if wrong:
        raise ValidationError.from_exception_data("where", wrong)
    return tuple(conditions)


_Name = Annotated[str, _fitting("[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", "a name of letters, digits, _ . -")]
_Queue = Annotated[str, _fitting("[A-Za-z0-9._/%*?]{1,48}", "a queue's name, with * and ?")]
_Severity = Annotated[str, _fitting("|".join(SEVERITIES), f"one of {', '.join(SEVERITIES)}")]


def _on_failure(value: object, info: ValidationInfo) -> OnFailure:
    if value not in tuple(OnFailure):
        raise ValueError(f"must be one of {', '.join(OnFailure)} (found {found(value)})")
    chosen, name = OnFailure(str(value)), info.data.get("expect")
    if chosen in OF_MESSAGES and isinstance(name, str) and not _expectation(name).of_rows:
        others = " or ".join(one for one in OnFailure if one not in OF_MESSAGES)
        raise ValueError(f"must be {others}: {name} is about all messages together, and names none (found {chosen!s})")
    return chosen


_OnFailure = Annotated[OnFailure, PlainValidator(_on_failure)]
_Share = Annotated[float, PlainValidator(lambda value: value_of(value, Takes.SHARE))]
_Text = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
_BY_COLUMN = TypeAdapter(dict[Annotated[Column, PlainValidator(_column)], object])
_Where = Annotated[
    tuple[Condition, ...],
    PlainValidator(
        lambda value, info: _conditions(_BY_COLUMN.validate_python(value, strict=True, context=info.context))
    ),
]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Suite(_Block):
    suite: _Name
    description: _Text = ""
    queues: Annotated[list[_Queue], _list_of("queue names")] = []
    columns: dict[str, object] = {}
    expectations: Annotated[list[object], _list_of("at least one expectation", 1)] = NULL


class _Check(_Block):
    """What every expectation has; its columns and arguments are fields of the model that is made for it."""

    id: _Name
    expect: str
    severity: _Severity = "critical"
    on_failure: _OnFailure | None = None
    why: _Text = ""
    where: _Where = ()

    @model_validator(mode="after")
    def _can_be_compared(self) -> _Check:
        columns = self.columns()
        other = next((one for one in columns if one.kind is not columns[0].kind), None)
        if _expectation(self.expect).alike and other is not None:
            raise ValueError(f"{_shown(columns[0])} and {_shown(other)} cannot be compared")
        return self

    def columns(self) -> list[Column]:
        """What it is about."""
        given = dict(self)
        return given.get("column_list") or [given[name] for name in _expectation(self.expect).domain]

    def check(self, line: int, named: Named) -> Check:
        """The check. Parameters: `line` where it stands. Raises ValueError: its schema cannot be used."""
        expectation, given = _expectation(self.expect), dict(self)
        arguments = {name: given[name] for name in expectation.arguments if given[name] is not None}
        other = [
            named.other(arguments.get(one), self.columns()[0]) for one in expectation.arguments if one == "in_column"
        ]
        return Check(
            id=self.id,
            expectation=expectation,
            columns=named.computed(expectation, self.columns(), arguments) or expectation.also[:1],
            arguments=arguments,
            mostly=float(given.get("mostly", 1.0)),
            severity=self.severity,
            on_failure=self.on_failure or ON_FAILURE[self.severity],
            where=self.where,
            why=self.why,
            line=line,
            also=(*expectation.also, *other),
        )


def _expectation(name: str) -> Expectation:
    """An expectation that was found before."""
    found = expectation_named(name)
    assert found is not None
    return found


class _RowCheck(_Check):
    mostly: _Share = 1.0


_ABOUT = ("column", *PAIR)


@cache
def _model(name: str) -> type[_Check]:
    """What stands in the file for an expectation; `max_value` is read before `min_value`, which must not be greater."""
    expectation = _expectation(name)

    def of_right_kind(column: Column) -> Column:
        if column.kind not in expectation.kinds:
            kinds = " or ".join(kind.value for kind in ColumnKind if kind in expectation.kinds)
            declare = "; say its type below `columns` of the suite" if column.source is Source.PAYLOAD else ""
            raise ValueError(f"{_shown(column)} is {column.kind.value}, and {name} is about {kinds}{declare}")
        if name.endswith("_as_before") and column.source is Source.PAYLOAD:
            raise ValueError(f"{_shown(column)} is payload, of which nothing is kept from run to run: name another one")
        if name == "column_values_to_be_readable" and column.source is not Source.PAYLOAD:
            raise ValueError(f"{column.name} can always be read: name a path, a property, or a column of the suite")
        return column

    def argument(value: object, info: ValidationInfo) -> Argument | None:
        if value is None and info.field_name in expectation.required:
            raise ValueError(f"is required by {name}")
        if info.field_name == "runs":
            _refuse_learning_for_ever(value, info.data.get("least_runs"))
        if value is None:
            return None
        takes = expectation.arguments[info.field_name or ""]
        given = argument_value(value, takes, *(info.data.get(one) for one in _ABOUT if one in expectation.domain))
        highest = info.data.get("max_value")
        if info.field_name == "min_value" and highest is not None and given > highest:
            raise ValueError(f"must not be greater than max_value (found {given} and {highest})")
        return given

    column = Annotated[Column, PlainValidator(_column), AfterValidator(of_right_kind)]
    columns = Annotated[list[column], _list_of("two or more columns", 2)]
    fields: dict[str, object] = {one: columns if one == "column_list" else column for one in expectation.domain}
    fields |= dict.fromkeys(sorted(expectation.arguments), Annotated[object, PlainValidator(argument)])
    with_null = {one: (kind, NULL) for one, kind in fields.items()}
    base = _RowCheck if expectation.of_rows else _Check
    return create_model(name, __base__=base, **with_null)  # type: ignore[call-overload,no-any-return]


def _refuse_learning_for_ever(runs: object, least_runs: object) -> None:
    """Raise ValueError if there can never be so many good runs that a check stops to learn, and is met for ever."""
    most = min(runs if isinstance(runs, int) else RUNS, MOST_RUNS)
    least = max(least_runs if isinstance(least_runs, int) else LEAST_RUNS, 1)
    if least > most:
        raise ValueError(f"must be at least least_runs, at most {MOST_RUNS} (found {most} and {least})")


def _check(document: Document, item: object, path: FieldPath, named: Named) -> Check | None:
    """A check of the file; None, and what is wrong among the document's problems."""
    if not isinstance(item, dict):
        document.problems.append(document.problem(path, f"must be a block of keys (found {found(item)})"))
        return None
    name = item.get("expect")
    try:
        expectation = expectation_named(name) if isinstance(name, str) else None
    except SettingsError as error:  # of another distribution, or the estate's folder
        document.problems.append(document.problem((*path, "expect"), str(error)))
        return None
    if not isinstance(name, str) or expectation is None:
        nearest = unknown_key(str(name), sorted(names())).replace("is not a known key", "")
        wrong = "is required" if name is None else f"there is no expectation {found(name)}{nearest}"
        if reason := REFUSED.get(str(name)):
            wrong = f"{name} of Great Expectations cannot be used: {reason}"
        document.problems.append(document.problem((*path, "expect"), wrong))
        return None
    one_of = expectation.one_of
    if one_of and all(item.get(one) is None for one in one_of):
        document.problems.append(document.problem(path, f"{name} needs {' or '.join(one_of)}"))
    read_as = document.fit(_model(name), item, path, named)
    try:
        return read_as.check(document.lines.get(path, 0), named) if read_as else None
    except ValueError as error:
        at = next((one for one in ("schema_file", "in_column") if one in expectation.arguments), "")
        document.problems.append(document.problem((*path, at), str(error)))
        return None


def _shown(column: Column) -> str:
    """A column as people write it."""
    return column.meaning if column.source is Source.PAYLOAD else column.name


def _nearest(name: str) -> str:
    """The three columns whose names are most like this one: those first that have it in them, or are in it."""
    wanted = name.lower().replace("-", "_").replace(" ", "_")

    def likeness(column: str) -> tuple[bool, float]:
        within = len(wanted) > 1 and (wanted in column or column in wanted)
        return within, difflib.SequenceMatcher(None, wanted, column).ratio()

    first, *others = sorted(COLUMNS, key=likeness, reverse=True)[:3]
    known = ", ".join(map(repr, others))
    return f"did you mean {first!r}? Near are {known}, too; `mqops quality vocabulary` lists all"


def _operand(column: Column, operator: object, value: object) -> Value | tuple[Value, ...]:
    """The value of one condition. Raises ValueError saying what it must be."""
    if not isinstance(operator, str) or operator not in OPERATORS:
        raise ValueError(f"there is no condition {found(operator)}; known here: {', '.join(sorted(OPERATORS))}")
    if column.kind not in OPERATORS[operator]:
        raise ValueError(f"{_shown(column)} is {column.kind.value}, which cannot be {operator!r}")
    if operator == "is_set":
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false (found {found(value)})")
        return value
    if operator == "one_of":
        if not isinstance(value, list) or not value:
            raise ValueError(f"must be a list of at least one value (found {found(value)})")
        return tuple(column_value(one, column) for one in value)
    return column_value(value, column)
