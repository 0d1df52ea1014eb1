"""Whether a text is JSON or XML, and the value at a path. Strict, and the same as Spark's own functions find.

1. JSON is RFC 8259 (`json_problem`), and stricter: no name twice in an object, no half surrogates, numbers in an object
   or array of at most 500 characters, at most 500 levels. Rules and suites of expectations have this one meaning. Rules
   look into objects and arrays only: any other JSON has no names. A value is a text, true, false, or an integer of 64
   bits (its digits); nothing else is comparable.
2. XML is a well-formed XML 1.0 document without DOCTYPE, so without entities; at most 100 levels, 100 attributes an
   element, names of at most 500 characters. Namespaces mean nothing and prefixes are not looked at. The value of an
   element is all the text in it.
3. A text longer than 4 Mi characters, one that begins with a byte order mark, or one with a NUL is neither.
4. Paths: `JSON_PATH` and `XPATH`. An XPath may select several: the first in the document counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias
from xml.etree import ElementTree
from xml.parsers import expat

import msgspec

DocumentKind: TypeAlias = Literal["text", "json", "xml"]

JSON_PATH = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_-]*|\[(?:0|[1-9][0-9]{0,5})\])+")
XPATH = re.compile(r"(?:/[A-Za-z_][A-Za-z0-9_.-]*(?:\[[1-9][0-9]{0,5}\])?)+(?:/@(?!xmlns$)[A-Za-z_][A-Za-z0-9_.-]*)?")

MOST_CHARACTERS = 4 << 20
JSON_DEPTH = "nested too deeply"
_MOST_LEVELS, _LONGEST_NUMBER = 500, 500
_MOST_XML_LEVELS, _MOST_ATTRIBUTES, _LONGEST_NAME = 100, 100, 500
_BLANKS = " \t\r\n"
_FIRST = re.compile(f"[{_BLANKS}]*")
# Each looks only where a run of such characters begins, so that every character is looked at once.
_LONG_NUMBER = re.compile(rf"(?<![-+.eE0-9])[-+.eE0-9]{{{_LONGEST_NUMBER + 1}}}")
_SAMPLED = 50
_LONG_SAMPLED = re.compile(f"[-+.eE0-9]{{{_LONGEST_NUMBER // _SAMPLED}}}")
"""A number that is too long has so many of each 50th character of a text: most texts are seen so to have none."""
_LONG_WORD = re.compile(rf"(?<![^ <>=/\t\r\n])[^ <>=/\t\r\n]{{{_LONGEST_NAME + 1}}}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DECLARATION = re.compile(
    r"<\?xml[ \t\r\n]+version=(?:'1\.0'|\"1\.0\")"
    r"(?:[ \t\r\n]+encoding=(?:'[A-Za-z][A-Za-z0-9._-]*'|\"[A-Za-z][A-Za-z0-9._-]*\"))?"
    r"(?:[ \t\r\n]+standalone=(?:'(?:yes|no)'|\"(?:yes|no)\"))?[ \t\r\n]*\?>"
)


def kind_of(text: str) -> DocumentKind | None:
    """What a text is; None if it has a NUL."""
    if "\0" in text:
        return None
    begin = text[_FIRST.match(text).end() :][:1] if len(text) <= MOST_CHARACTERS else ""  # type: ignore[union-attr]
    if begin == "<":
        return "xml" if _is_xml(text) else "text"
    if begin and begin in "{[":
        return "json" if json_problem(text) is None else "text"
    return "text"


class JsonRead(NamedTuple):
    """What a text is as JSON.

    Attributes: `problem` where, or why, it is not JSON (rules 1 and 3), without a piece of the text; None if it is.
    `document` the object or array, its numbers exact, for `json_at`; None for any other JSON, which has no names.
    """

    problem: str | None = None
    document: dict[str, Any] | list[Any] | None = None


class _Refused(ValueError):
    """The document is well-formed, but has something that is not allowed here: the text says what."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("a name stands twice in an object")
    return found


def _refuse_constant(_constant: str) -> NoReturn:
    raise _Refused("NaN or Infinity")


def _refuse(*_what: object) -> NoReturn:
    raise _Refused


def _decimal(digits: str) -> Decimal | float:
    """A number, exactly; a float, which is no value here, where its exponent is beyond all that `Decimal` has."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return float(digits)


_EXACT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_decimal)
_LENGTHS = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=len, parse_float=len)
"""Has the length of a number in its place: Python's own numbers may not have so many digits."""
_WITH_NAMES = (dict, list)
_QUICK = msgspec.json.Decoder(float_hook=Decimal)
"""Takes nothing that `_EXACT` refuses, but for a name that stands twice in an object; three times as quick."""
_ESCAPED_COLON = "\\u003"
"""How one begins, and others."""
_READ = json.JSONDecoder(parse_int=int, parse_float=lambda _digits: None)


def json_problem(text: str) -> str | None:
    """Where, or why, a text is not JSON (rules 1 and 3); None if it is. The words have no piece of the text."""
    return json_read(text).problem


def json_read(text: str) -> JsonRead:
    """What a text is as JSON. Most texts are parsed once; `_read_quickly` says which."""
    if (document := _read_quickly(text)) is not None:
        return JsonRead(document=document)
    try:
        return JsonRead(document=_json_document(text))
    except json.JSONDecodeError as error:
        return JsonRead(f"not JSON at line {error.lineno}, column {error.colno}")
    except UnicodeEncodeError:
        return JsonRead("not JSON: half of a surrogate pair")
    except _Refused as refused:
        return JsonRead(f"not JSON: {refused}")
    except RecursionError:
        return JsonRead(f"not JSON: {JSON_DEPTH}")


def _read_quickly(text: str) -> dict[str, Any] | list[Any] | None:
    """The document of a text; None where `_json_document` has to say what the text is, and why: it is not JSON, it is
    near a bound, or names may stand twice."""
    if len(text) > MOST_CHARACTERS or text.count("{") + text.count("[") > _MOST_LEVELS or _has_long_number(text):
        return None
    try:
        document = _QUICK.decode(text)
        if not isinstance(document, _WITH_NAMES) or _may_name_twice(text, document):
            return None
    except (msgspec.DecodeError, UnicodeEncodeError, OverflowError, InvalidOperation, RecursionError):
        return None  # OverflowError: an integer of more than 64 bits is not written again
    return document


def _may_name_twice(text: str, document: dict[str, Any] | list[Any]) -> bool:
    """Whether the text may have a name that the document has not, since it keeps the last of two that are the same: the
    document, written again, has fewer colons then. An escaped colon would hide that."""
    return text.count(":") != msgspec.json.encode(document).count(b":") or ("\\" in text and _ESCAPED_COLON in text)


def _json_document(text: str) -> dict[str, Any] | list[Any] | None:
    """The document of a `JsonRead`. Raises what that calls a problem."""
    if len(text) > MOST_CHARACTERS:
        raise _Refused(f"longer than {MOST_CHARACTERS} characters")
    long = _has_long_number(text)
    document = (_LENGTHS if long else _EXACT).decode(text)
    if _SURROGATE.search(text):
        json.dumps(document, ensure_ascii=False, default=str).encode()
    if not isinstance(document, dict | list):
        return None
    if long or text.count("{") + text.count("[") > _MOST_LEVELS:
        _hold_json_bounds(document, lengths=long)
    return _EXACT.decode(text) if long else document


def _has_long_number(text: str) -> bool:
    """Whether a run of characters of numbers is longer than a number may be; it may stand in a string."""
    return bool(_LONG_SAMPLED.search(text[::_SAMPLED]) and _LONG_NUMBER.search(text))


def _hold_json_bounds(document: Any, *, lengths: bool) -> None:
    """Refuse what exceeds rule 1. Parameters: `lengths` whether `_LENGTHS` read the document."""
    level, depth = [document], 0
    while level:
        depth += 1
        inside = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
        if lengths and any(isinstance(child, int) and child > _LONGEST_NUMBER for child in inside):
            raise _Refused(f"a number of more than {_LONGEST_NUMBER} characters")
        level = [child for child in inside if isinstance(child, dict | list)]
    if depth > _MOST_LEVELS:
        raise _Refused(JSON_DEPTH)


def json_values(text: str, paths: Sequence[str]) -> list[str | None]:
    """The value at each path, in their order: a text, the digits of an integer, `true` or `false`; None for
    anything else and where nothing is.

    Parameters: `text` that `kind_of` calls json.
    """
    document = _READ.decode(text)
    return [_comparable(json_at(document, path)) for path in paths]


def json_at(document: Any, path: str) -> Any:
    """What stands at a path of the document of a `json_read`: a number is an `int`, a `Decimal`, or a float that is no
    value (`_decimal`); None where nothing is."""
    for step in _steps(path):
        if isinstance(step, str):
            document = document.get(step) if isinstance(document, dict) else None
        else:
            document = document[step] if isinstance(document, list) and step < len(document) else None
    return document


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The names and numbers of a `JSON_PATH`."""
    return tuple(name or int(number) for name, number in re.findall(r"\.([^.\[]+)|\[([0-9]+)\]", path))


def _comparable(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(2**63) <= value < 2**63 else None
    return value if isinstance(value, str) else None


def _is_xml(text: str) -> bool:
    start = text.lstrip(_BLANKS)
    if start.startswith("<?xml") and not (start is text and _DECLARATION.match(text)):
        return False
    parser = expat.ParserCreate("utf-8")  # wins over the declaration: the text is decoded already
    parser.StartDoctypeDeclHandler = _refuse
    if text.count("</") >= _MOST_XML_LEVELS or text.count("=") > _MOST_ATTRIBUTES or _LONG_WORD.search(text):
        _hold_bounds(parser)
    try:
        parser.Parse(text.encode(), True)
    except (expat.ExpatError, ValueError):
        return False
    return True


def _hold_bounds(parser: expat.XMLParserType) -> None:
    """Let the parser refuse what is too deep, has too many attributes or too long names."""
    depth = 0

    def begin(name: str, attributes: list[str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_XML_LEVELS or len(attributes) > 2 * _MOST_ATTRIBUTES:
            raise _Refused
        if max(map(len, (name, *attributes[::2]))) > _LONGEST_NAME:
            raise _Refused

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.ordered_attributes = True
    parser.StartElementHandler, parser.EndElementHandler = begin, end


def xml_values(text: str, paths: Sequence[str]) -> list[str | None]:
    """The values at paths of a text that `kind_of` calls xml; None if there is no such value."""
    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(text.encode(), True)
    document = ElementTree.Element("")
    document.append(builder.close())
    return [_selected(document, path) for path in paths]


def _selected(document: ElementTree.Element, path: str) -> str | None:
    elements, _, attribute = path[1:].partition("/@")
    nodes = [document]
    for step in elements.split("/"):
        name, _, number = step.rstrip("]").partition("[")
        nodes = [child for node in nodes for child in _children(node, name, number)]
    if not attribute:
        return "".join(nodes[0].itertext()) if nodes else None
    return next((value for node in nodes if (value := _attribute(node, attribute)) is not None), None)


def _children(node: ElementTree.Element, name: str, number: str) -> list[ElementTree.Element]:
    found = [child for child in node if _local(child.tag) == name]
    return found[int(number) - 1 : int(number)] if number else found


def _attribute(node: ElementTree.Element, name: str) -> str | None:
    """Of several that differ in their prefixes the first by name; declarations of namespaces do not count."""
    found = sorted(key for key in node.attrib if _local(key) == name and not key.startswith("xmlns:"))
    return node.attrib[found[0]] if found else None


def _local(name: str) -> str:
    return name.partition(":")[2] if ":" in name else name
