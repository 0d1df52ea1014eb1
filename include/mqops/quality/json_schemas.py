"""JSON Schemas of suites: read once, refused where they could not test, and bounded, whatever a payload is.

1. Nothing is fetched: a reference to another document is an error of the suite, and so is one that leads to nothing.
2. Patterns are RE2's, and elements that must differ are compared by their digests: time grows with the payload.
3. A format of JSON Schema that nothing here tests is refused: each text would pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

from mqops.quality.regex import problem_of


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
    formats = _formats(schema, kind.FORMAT_CHECKER)
    _refuse_missing(schema, kind.ID_OF(schema) or "", kind)
    own = {"pattern": _pattern, "multipleOf": _multiple_of, "uniqueItems": _unique_items}
    return jsonschema.validators.extend(kind, own)(schema, format_checker=formats)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Exception]:
    """The keyword `pattern` by RE2, whose time is linear in the text."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if isinstance(instance, str) and not pc.match_substring_regex(pa.scalar(instance), pattern).as_py():
        yield ValidationError("")


def _multiple_of(_validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[Exception]:
    """The keyword `multipleOf` by the digits of both: 19.99 is one of 0.01, which division of doubles denies."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    infinite = isinstance(instance, float) and not isfinite(instance)  # 1e400
    if infinite or Fraction(repr(instance)) % Fraction(repr(divisor)):
        yield ValidationError("")


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Exception]:
    """The keyword `uniqueItems`, in a time that grows with the number of the elements."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if wanted and validator.is_type(instance, "array") and len(set(map(_digest, instance))) < len(instance):
        yield ValidationError("")


_NOT_TESTED = frozenset(
    {
        *("time", "hostname", "idn-hostname", "uri", "uri-reference", "iri", "iri-reference", "uri-template"),
        *("json-pointer", "relative-json-pointer", "date", "duration", "uuid", "regex"),
    }
)
"""Formats of JSON Schema; which of them are tested says the draft."""
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def _date_time(value: object) -> bool:
    """RFC 3339. Raises ValueError: it has the form, and there is no such moment."""
    if not isinstance(value, str):
        return True
    second = "59" if value[17:19] == "60" else value[17:19]
    return bool(_DATE_TIME.fullmatch(value) and datetime.fromisoformat(f"{value[:10]}T{value[11:17]}{second}"))


def _formats(schema: Any, known: Any) -> Any:
    """What tests the keyword `format`. Raises ValueError: the schema has a format of JSON Schema that nothing here
    tests, and each text would pass."""
    import jsonschema  # noqa: PLC0415

    checker = jsonschema.FormatChecker(())
    checker.checkers = {name: how for name, how in known.checkers.items() if name != "regex"}  # time without a bound
    checker.checkers["date-time"] = (_date_time, ValueError)
    for one in _objects(schema):
        said = one.get("format")
        if isinstance(said, str) and said in _NOT_TESTED - checker.checkers.keys():
            raise ValueError(
                f"has the format {said}, which is not tested here: write a pattern. Tested are "
                + ", ".join(sorted(checker.checkers))
            )
    return checker


def _digest(value: Any) -> Hashable:
    """The same for values that JSON Schema calls equal, and for no others: 1 and 1.0 are, 1 and true are not. Of texts
    only, whose hashes nobody can foresee."""
    if isinstance(value, dict):
        return "object", frozenset((name, _digest(one)) for name, one in value.items())
    if isinstance(value, list):
        return "array", tuple(map(_digest, value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return type(value).__name__, str(value)


def _refuse_missing(schema: Any, base: str, kind: Any) -> None:
    """Raise ValueError if a reference within the schema leads to nothing: else the first message that comes there would
    tell it. Not where a part of the schema has an `$id`, from which its references begin."""
    from referencing import Registry, Resource  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012, specification_with  # noqa: PLC0415

    nodes = list(_objects(schema))
    if sum("$id" in one or "id" in one for one in nodes) > 1:
        return
    dialect = specification_with(str(kind.META_SCHEMA.get("$schema", "")), default=DRAFT202012)
    root = Resource.from_contents(schema, default_specification=dialect)
    resolver = Registry().with_resource(base, root).resolver(base)
    for ref in [ref for one in nodes if isinstance(ref := one.get("$ref"), str)]:
        try:
            resolver.lookup(ref)
        except Unresolvable as error:
            raise ValueError(f"refers to {ref}, which it does not have") from error


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(child)


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
