"""Tests of a payload, or of one value in it, each by a library: one entry a test. What they find wrong has no value of
the message in it.

1. IBANs are tested by schwifty: length, characters and check digits differ by country, and the list of countries
   changes, which nobody wants to keep by hand here.
2. A schema is read once, from a file beside the suite, and nothing is fetched.
3. XML is parsed as rules parse it, without DOCTYPE, so without entities, and bounded (`mqops.rules.documents`).
4. What a library raises at one message is a failure of that message: it does not keep the others from being tested.
5. Time and memory of a test grow with the payload, not with its square (`json_schemas`, `xml_schemas`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from mqops.quality.json_schemas import json_validator
from mqops.quality.payload import Asked, Payload, Unreadable, Value
from mqops.quality.xml_schemas import xsd

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
    import xmlschema  # noqa: PLC0415 - seconds to load

    schema = xsd(asked.probe_by)
    try:
        document = xmlschema.XMLResource(payload.xml, allow="none", defuse="always")
    except xmlschema.exceptions.XMLResourceParseError:
        return "not XML with namespaces"
    if document.root.tag not in schema.elements:  # its xsi:type would make any other one valid
        return "does not fit at /*"
    first = next(schema.iter_errors(document), None)
    if first is None:
        return ""
    steps = [int(one) if one.isdecimal() else one for one in re.findall(r"[^/\[\]]+|[/\[\]]", first.path or "/")]
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
    except Exception as error:  # rule 4: whatever a library raises; its words may quote the payload
        return (False if asked.probe else None), f"cannot be tested: {type(error).__name__}"
    return (None, None) if problem is None else (not problem, problem or None)


def _place(parts: Iterable[str | int], schema: str) -> str:
    """A place in a document: of names those that its schema has, and of places their numbers. A name of digits is a
    name."""
    names = "".join(
        str(one) if isinstance(one, int) or one in "/.$[]" or f'"{one}"' in schema else "*" for one in parts
    )
    return names if len(names) <= LONGEST_PLACE else f"{names[:LONGEST_PLACE]}…"


def _steps(path: Iterable[str | int]) -> Iterator[str | int]:
    yield "$"
    for step in path:
        yield from ("[", step, "]") if isinstance(step, int) else (".", step)
