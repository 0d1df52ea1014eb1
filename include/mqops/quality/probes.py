"""Tests of a payload, or of one value in it, each by a library: one entry a test. What they find wrong has no value of
the message in it.

1. IBANs are tested by schwifty: length, characters and check digits differ by country, and the list of countries
   changes, which nobody wants to keep by hand here.
2. A schema is read once, from a file beside the suite, and nothing is fetched: a reference to another document is an
   error of the suite.
3. XML is parsed as rules parse it, without DOCTYPE, so without entities, and bounded (`mqops.rules.documents`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from mqops.quality.payload import Asked, Payload, Unreadable, Value
from mqops.quality.regex import problem_of

LONGEST_PLACE = 200
Probe = Callable[[Payload, Asked], str | None]
"""A payload and what is asked → why it fails, or where; "" for a message that passes; None where nothing is to test."""


def iban(payload: Payload, asked: Asked) -> str | None:
    """Whether a value is an IBAN of its country."""
    import schwifty  # noqa: PLC0415 - a second to load

    value = payload.value(asked)
    if value is None:
        return None
    return "" if schwifty.IBAN(str(value), allow_invalid=True).is_valid else "not an IBAN"


def date_form(payload: Payload, asked: Asked) -> str | None:
    """Whether a value is a date or time of a form of strptime."""
    value = payload.value(asked)
    if value is None:
        return None
    try:
        datetime.strptime(str(value), asked.probe_by)
    except ValueError:
        return f"not of the form {asked.probe_by}"
    return ""


def json_schema(payload: Payload, asked: Asked) -> str | None:
    """Whether a payload is JSON that fits a schema: which keyword of the schema fails, and where in the document."""
    errors = json_validator(asked.probe_by).iter_errors(json.loads(payload.json))
    first = min(errors, key=lambda error: (len(error.absolute_path), str(error.json_path)), default=None)
    return "" if first is None else f"{first.validator} fails at {_place(_steps(first.absolute_path), asked.probe_by)}"


def xml_schema(payload: Payload, asked: Asked) -> str | None:
    """Whether a payload is XML that fits an XSD: where in the document it does not."""
    first = next(xsd(asked.probe_by).iter_errors(payload.xml), None)
    if first is None:
        return ""
    steps = re.findall(r"[^/\[\]]+|[/\[\]]", first.path or "/")
    return f"does not fit at {_place(steps, asked.probe_by)}"


PROBES: Mapping[str, Probe] = MappingProxyType(
    {"iban": iban, "date_form": date_form, "json_schema": json_schema, "xml_schema": xml_schema}
)


def asked_of(payload: Payload, asked: Asked) -> tuple[Value, str | None]:
    """The value of a column of a suite, or what a probe finds; and what is wrong, if anything is.

    A value that cannot be read is null, and so is the test of one: its column's own check fails. A payload that cannot
    be read fails the test of it.
    """
    try:
        if not asked.probe:
            return payload.value(asked), None
        problem = PROBES[asked.probe](payload, asked)
    except Unreadable as unreadable:
        return (False if asked.of_document else None), str(unreadable)
    return (None, None) if problem is None else (not problem, problem or None)


def _place(parts: Iterable[str], schema: str) -> str:
    """A place in a document: of names those that its schema has, and of places their numbers."""
    names = "".join(one if one in "/.$[]" or one.isdigit() or f'"{one}"' in schema else "*" for one in parts)
    return names if len(names) <= LONGEST_PLACE else f"{names[:LONGEST_PLACE]}…"


def _steps(path: Iterable[str | int]) -> Iterator[str]:
    yield "$"
    for step in path:
        yield from ("[", str(step), "]") if isinstance(step, int) else (".", step)


@lru_cache(maxsize=64)
def json_validator(text: str) -> Any:
    """The validator of a JSON Schema. Raises ValueError: the text is no schema, or refers to another document."""
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {error}") from error
    _refuse_references(schema)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"is not a JSON Schema: {error.message}") from error
    bounded = jsonschema.validators.extend(kind, {"pattern": _pattern})
    return bounded(schema, format_checker=kind.FORMAT_CHECKER)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Exception]:
    """The keyword `pattern` by RE2, whose time is linear in the text."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if isinstance(instance, str) and not pc.match_substring_regex(pa.scalar(instance), pattern).as_py():
        yield ValidationError("")


def _refuse_references(node: Any) -> None:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "patternProperties":
                raise ValueError("has patternProperties, whose time has no bound: write properties")
            if name in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
                raise ValueError("refers to another document: write what it says into this one, below $defs")
            if name == "pattern" and isinstance(value, str) and (wrong := problem_of(value)):
                raise ValueError(f"pattern {wrong}")
            _refuse_references(value)
    for child in node if isinstance(node, list) else ():
        _refuse_references(child)


@lru_cache(maxsize=64)
def xsd(text: str) -> Any:
    """An XML Schema. Raises ValueError: the text is none, or imports another document."""
    import xmlschema  # noqa: PLC0415 - seconds to load

    try:
        return xmlschema.XMLSchema11(text, allow="none", defuse="always", base_url=None)
    except Exception as error:
        raise ValueError(f"is not an XML Schema that stands alone: {str(error).splitlines()[0]}") from error
