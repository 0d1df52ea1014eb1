"""Reads suites from YAML or JSON and says everything that is wrong with them, by file, line and field.

The form is described in `include/expectations/README.md`. Reading needs neither Spark nor Great Expectations.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mqops.errors import SettingsError
from mqops.given_file import text_of
from mqops.quality.arguments import argument_value, column_value
from mqops.quality.columns import COLUMNS, Column
from mqops.quality.suite import Argument, Check, Suite
from mqops.quality.vocabulary import EXPECTATIONS, SEVERITIES, Expectation, Takes
from mqops.quality.where import OPERATORS, Condition, Value
from mqops.settings_file import Document, FieldPath, Problem, found, read, unknown_key

SUITE_KEYS = ("suite", "description", "queues", "expectations")
CHECK_KEYS = ("id", "expect", "severity", "why", "where")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
QUEUE_PATTERN = re.compile(r"[A-Za-z0-9._/%*?]{1,48}")
NOT_A_NAME = "must be a name of letters, digits, _ . - (found {found})"


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
    except (OSError, UnicodeDecodeError) as error:
        return None, [f"{path}: the suite cannot be read: {error}"]
    suite, problems = parse(text, source=str(path))
    return suite, [str(problem) for problem in problems]


def parse(text: str, *, source: str) -> tuple[Suite | None, tuple[Problem, ...]]:
    """The suite in `text`, or None and everything wrong with it.

    Args:
        text: YAML, or JSON where `source` ends in `.json`.
        source: the file's name, for error texts.
    """
    document = _document(text, source)
    if document.problems:
        return None, tuple(document.problems)
    suite = _Reader(document).suite()
    return (None if document.problems else suite), tuple(sorted(document.problems, key=lambda problem: problem.line))


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


class _Reader:
    """Goes through one document and notes all problems on the way."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def wrong(self, path: FieldPath, message: str) -> None:
        self.document.problems.append(self.document.problem(path, message))

    def suite(self) -> Suite:
        value = self.block(self.document.value, ())
        self.only(value, SUITE_KEYS, ())
        checks = self.checks(value)
        return Suite(
            name=self.name(value, "suite", ()),
            source=self.document.source,
            description=self.text(value, "description", ()),
            queues=self.queues(value),
            checks=checks,
        )

    def checks(self, value: Mapping[str, Any]) -> tuple[Check, ...]:
        items = value.get("expectations")
        path: FieldPath = ("expectations",)
        if not isinstance(items, list) or not items:
            self.wrong(path, f"must be a list of at least one expectation (found {found(items)})")
            return ()
        first: dict[str, int] = {}
        checks = []
        for index, item in enumerate(items):
            here = (*path, str(index))
            check = self.check(self.block(item, here), here)
            if check is None:
                continue
            if check.id and check.id in first:
                self.wrong((*here, "id"), f"{check.id!r} stands for the expectation of line {first[check.id]} already")
            first.setdefault(check.id, check.line)
            checks.append(check)
        return tuple(checks)

    def check(self, item: Mapping[str, Any], path: FieldPath) -> Check | None:
        expectation = self.expectation(item, path)
        if expectation is None:
            return None
        extra = ("mostly",) if expectation.of_rows else ()
        self.only(item, (*CHECK_KEYS, *extra, *expectation.domain, *expectation.arguments), path)
        columns = self.columns(item, expectation, path)
        return Check(
            id=self.name(item, "id", path),
            expectation=expectation,
            columns=tuple(column.name for column in columns),
            arguments=self.arguments(item, expectation, columns, path),
            mostly=self.mostly(item, path),
            severity=self.severity(item, path),
            where=self.where(item, path),
            why=self.text(item, "why", path),
            line=self.document.lines.get(path, 0),
        )

    def expectation(self, item: Mapping[str, Any], path: FieldPath) -> Expectation | None:
        name = item.get("expect")
        if isinstance(name, str) and name in EXPECTATIONS:
            return EXPECTATIONS[name]
        if name is None:
            self.wrong((*path, "expect"), "is required")
        else:
            message = unknown_key(str(name), sorted(EXPECTATIONS)).replace("is not a known key", "")
            self.wrong((*path, "expect"), f"there is no expectation {found(name)}{message}")
        return None

    def columns(self, item: Mapping[str, Any], expectation: Expectation, path: FieldPath) -> list[Column]:
        named: list[tuple[FieldPath, object]] = []
        for key in expectation.domain:
            value, here = item.get(key), (*path, key)
            if key != "column_list":
                named.append((here, value))
            elif not isinstance(value, list) or len(value) < 2:
                self.wrong(here, f"must be a list of two or more columns (found {found(value)})")
            else:
                named.extend(((*here, str(index)), one) for index, one in enumerate(value))
        columns = [self.column(name, here) for here, name in named]
        for (here, _), column in zip(named, columns, strict=True):
            if column and column.kind not in expectation.kinds:
                kinds = " or ".join(kind.value for kind in expectation.kinds)
                self.wrong(here, f"{column.name} is {column.kind.value}, and {expectation.name} is about {kinds}")
        known = [column for column in columns if column]
        if expectation.domain == ("column_A", "column_B") and len({column.kind for column in known}) == 2:
            self.wrong(path, f"{known[0].name} and {known[1].name} cannot be compared")
        return known

    def column(self, name: object, path: FieldPath) -> Column | None:
        if name is None:
            self.wrong(path, "is required")
        elif not isinstance(name, str) or name not in COLUMNS:
            self.wrong(path, f"there is no column {found(name)}; {_nearest(str(name))}")
        else:
            return COLUMNS[name]
        return None

    def arguments(
        self, item: Mapping[str, Any], expectation: Expectation, columns: list[Column], path: FieldPath
    ) -> dict[str, Argument]:
        column = columns[0] if columns else None
        given: dict[str, Argument] = {}
        for name, takes in expectation.arguments.items():
            if item.get(name) is not None:
                try:
                    given[name] = argument_value(item[name], takes, column)
                except ValueError as error:
                    self.wrong((*path, name), str(error))
            elif name in expectation.required:
                self.wrong((*path, name), f"is required by {expectation.name}")
        if expectation.one_of and not any(item.get(name) is not None for name in expectation.one_of):
            self.wrong(path, f"{expectation.name} needs {' or '.join(expectation.one_of)}")
        low, high = given.get("min_value"), given.get("max_value")
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
            self.wrong((*path, "min_value"), f"must not be greater than max_value (found {low} and {high})")
        return given

    def where(self, item: Mapping[str, Any], path: FieldPath) -> tuple[Condition, ...]:
        here = (*path, "where")
        conditions: list[Condition] = []
        for name, value in self.block(item.get("where", {}), here).items():
            column = self.column(name, (*here, name))
            if column is not None:
                conditions.extend(self.conditions(column, value, (*here, name)))
        return tuple(conditions)

    def conditions(self, column: Column, value: Any, path: FieldPath) -> Iterable[Condition]:
        if isinstance(value, list):
            pairs = {"one_of": value}
        elif isinstance(value, dict):
            pairs = value
        else:
            pairs = {"equals": value}
        for operator, operand in pairs.items():
            try:
                yield Condition(column=column.name, operator=operator, value=_operand(column, operator, operand))
            except ValueError as error:
                self.wrong((*path, operator) if isinstance(value, dict) else path, str(error))

    def queues(self, value: Mapping[str, Any]) -> tuple[str, ...]:
        patterns = value.get("queues", [])
        if isinstance(patterns, list):
            for index, pattern in enumerate(patterns):
                if not isinstance(pattern, str) or not QUEUE_PATTERN.fullmatch(pattern):
                    self.wrong(("queues", str(index)), f"must be a queue's name, with * and ? (found {found(pattern)})")
            return tuple(str(pattern) for pattern in patterns)
        self.wrong(("queues",), f"must be a list of queue names (found {found(patterns)})")
        return ()

    def severity(self, item: Mapping[str, Any], path: FieldPath) -> str:
        severity = item.get("severity", "critical")
        if severity not in SEVERITIES:
            self.wrong((*path, "severity"), f"must be one of {', '.join(SEVERITIES)} (found {found(severity)})")
        return str(severity)

    def mostly(self, item: Mapping[str, Any], path: FieldPath) -> float:
        try:
            share = argument_value(item.get("mostly", 1.0), Takes.SHARE, None)
        except ValueError as error:
            self.wrong((*path, "mostly"), str(error))
            return 1.0
        assert isinstance(share, (int, float))
        return float(share)

    def name(self, value: Mapping[str, Any], key: str, path: FieldPath) -> str:
        name = value.get(key)
        if name is None:
            self.wrong((*path, key), "is required")
        elif not isinstance(name, str) or not NAME.fullmatch(name):
            self.wrong((*path, key), NOT_A_NAME.format(found=found(name)))
        return str(name or "")

    def text(self, value: Mapping[str, Any], key: str, path: FieldPath) -> str:
        text = value.get(key, "")
        if not isinstance(text, str):
            self.wrong((*path, key), f"must be text (found {found(text)}); put it in quotes")
        return " ".join(str(text).split())

    def block(self, value: object, path: FieldPath) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        self.wrong(path, f"must be a block of keys (found {found(value)})")
        return {}

    def only(self, value: Mapping[str, Any], known: tuple[str, ...], path: FieldPath) -> None:
        for key in value:
            if key not in known:
                self.wrong((*path, str(key)), unknown_key(str(key), sorted(known)))


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
        raise ValueError(f"{column.name} is {column.kind.value}, which cannot be {operator!r}")
    if operator == "is_set":
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false (found {found(value)})")
        return value
    if operator == "one_of":
        values = argument_value(value, Takes.VALUES, column)
        assert isinstance(values, tuple)
        return values
    return column_value(value, column)
