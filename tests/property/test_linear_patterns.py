"""The time of every regular expression of the product grows with the length of the text and no faster.

All patterns that stand in the sources are collected, with the methods that they are used with. For each one texts are
made that its repetitions read again and again: a beginning that fits, one character many times, and an end that fits
nowhere. A pattern with two repetitions of the same character side by side takes the square of the length for them.
"""

from __future__ import annotations

import ast
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("include/**/*.py"), *ROOT.glob("plugins/**/*.py"), *ROOT.glob("spark_jobs/**/*.py")])
METHODS = {"match", "fullmatch", "search", "split", "findall", "finditer", "sub", "subn"}
SPARK = {"regexp_extract": "search", "regexp_replace": "search", "rlike": "search"}
WORDS = "|".join([*sorted(METHODS), *SPARK])
AT_WORK = re.compile(rf"\.(?:compile|{WORDS})\b|\b(?:{WORDS})\(")
"""What a source has that makes a pattern or uses one. The others, five of six, are not parsed."""
SHORT, LONG = 300, 2_400
MOST = 3 * LONG / SHORT
"""Times as long for the long text; a quadratic pattern takes the square of LONG / SHORT."""
MEASURABLE = 0.001
"""Seconds: a text that is looked at in less shows nothing, and needs nothing shown."""
ANY = "\0\n aA0_.:-/<>\"'~é"


class Pattern(NamedTuple):
    """A pattern of the sources, and how it is used."""

    where: str
    text: str | bytes
    flags: int
    methods: frozenset[str]


@cache
def patterns() -> list[Pattern]:
    """All patterns of the sources."""
    sources = {path: path.read_text() for path in SOURCES}
    trees = {path: ast.parse(text) for path, text in sources.items() if AT_WORK.search(text)}
    nodes = {path: list(ast.walk(tree)) for path, tree in trees.items()}
    used = _used(node for some in nodes.values() for node in some)
    found = [one for path, tree in trees.items() for one in _of_module(path, tree, nodes[path], used)]
    return sorted(set(found), key=lambda one: (one.where, str(one.text)))


def _used(nodes: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Name of a compiled pattern → the methods that are called, in whatever module."""
    used: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS:
            used[node.value.id].add(node.attr)
        if isinstance(node, ast.Call) and (method := _called(node)) in METHODS | set(SPARK):
            for name in [one.id for one in node.args if isinstance(one, ast.Name)][:2]:
                used[name].add(SPARK.get(method, method))
    return used


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _of_module(path: Path, tree: ast.Module, nodes: Iterable[ast.AST], used: dict[str, set[str]]) -> Iterator[Pattern]:
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = {id(value): name for name, value in constants.items()}
    where = str(path.relative_to(ROOT))
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called, first = _called(node), node.args[0]
        of_re = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "re"
        if called in SPARK:
            first, methods = node.args[-2 if called != "rlike" and len(node.args) > 2 else 0], {SPARK[called]}
        elif of_re and called == "compile":
            methods = used.get(names.get(id(node), ""), set()) or {"search", "fullmatch"}
        elif of_re and called in METHODS:
            methods = {called}
        else:
            continue
        text = _text(first, constants)
        if text is not None:
            text = _of_java(text) if called in SPARK and isinstance(text, str) else text
            yield Pattern(f"{where}:{node.lineno}", text, _flags(node), frozenset(methods))


def _of_java(text: str) -> str:
    """A pattern of Java as `re` has it; letters, marks and digits of Unicode are about those of `re`."""
    return re.sub(r"\\p\{[LM]\}", r"\\w", text.replace(r"\z", r"\Z").replace(r"\p{N}", r"\d"))


def _flags(node: ast.Call) -> int:
    named = {
        one.attr
        for part in (*node.args[1:], *node.keywords)
        for one in ast.walk(part)
        if isinstance(one, ast.Attribute)
    }
    return sum(getattr(re, name).value for name in named if isinstance(getattr(re, name, None), re.RegexFlag))


def _text(node: ast.AST, constants: dict[str, ast.expr]) -> str | bytes | None:
    """A pattern that stands there; what is put into it at run time is the digit 9. None for one that is no text."""
    match node:
        case ast.Constant(value=value):
            return value if isinstance(value, str | bytes) else str(value)
        case ast.JoinedStr(values=values):
            return "".join(str(_text(one, constants) or "9") for one in values)
        case ast.FormattedValue(value=value):
            return _text(value, constants) or "9"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return str(_text(left, constants) or "9") + str(_text(right, constants) or "9")
        case ast.Name(id=name) if name in constants:
            return _text(constants[name], {})
    return None


def texts(pattern: Pattern) -> Iterator[tuple[str, str, str]]:
    """Beginning, what is repeated, and end of texts on which the pattern is tried."""
    source = pattern.text.decode("latin-1") if isinstance(pattern.text, bytes) else pattern.text
    parsed = _parser.parse(source, pattern.flags & ~re.LOCALE)
    alphabet = sorted({*ANY, *_characters(parsed)})
    begins = {"", *_begins(parsed, "")}
    for begin in begins:
        for unit in alphabet:
            for end in ("\0", ""):
                yield begin, unit, end
        for begin_of_unit in begins:
            if 1 < len(begin_of_unit) <= 12:
                yield begin, begin_of_unit, "\0"


def _characters(parsed: Any) -> Iterator[str]:
    """Characters that are named in a pattern."""
    for operator, value in parsed:
        if operator in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(value)
        elif operator is sre.IN:
            for kind, one in value:
                if kind is sre.LITERAL:
                    yield chr(one)
                elif kind is sre.RANGE:
                    yield chr(one[0])
        else:
            for part in _parts(operator, value):
                yield from _characters(part)


def _parts(operator: Any, value: Any) -> list[Any]:
    """The patterns within one of a pattern's parts."""
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None)):
        return [value[2]]
    if operator is sre.SUBPATTERN:
        return [value[-1]]
    if operator is sre.BRANCH:
        return list(value[1])
    if operator in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    return [value] if operator is getattr(sre, "ATOMIC_GROUP", None) else []


def _begins(parsed: Any, before: str) -> Iterator[str]:
    """What fits the pattern up to each of its repetitions, and what fits the whole."""
    for operator, value in parsed:
        parts = _parts(operator, value)
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[1] > 1:
            yield before
        if operator in (sre.ASSERT, sre.ASSERT_NOT):
            continue
        for part in parts:
            yield from _begins(part, before)
        before += _fitting(operator, value)
    yield before


def _fitting(operator: Any, value: Any) -> str:
    """A short text that fits one part of a pattern."""
    if operator is sre.LITERAL:
        return chr(value)
    if operator in (sre.ANY, sre.NOT_LITERAL):
        return "b" if value == ord("a") else "a"
    if operator is sre.IN:
        negated = value[0][0] is sre.NEGATE
        inside = re.compile("[" + "".join(map(_of_class, value)) + "]")
        return next((one for one in [*ANY, *map(chr, range(33, 256))] if inside.match(one)), "a" if negated else "")
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        return "".join(_fitting(*one) for one in value[2]) * min(max(value[0], 1), 300)
    if operator is sre.BRANCH:
        return "".join(_fitting(*one) for one in value[1][0])
    return (
        "".join(_fitting(*one) for part in _parts(operator, value) for one in part)
        if operator is sre.SUBPATTERN
        else ""
    )


_CATEGORIES = {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W"}


def _of_class(part: Any) -> str:
    kind, value = part
    if kind is sre.NEGATE:
        return "^"
    if kind is sre.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    if kind is sre.CATEGORY:
        return _CATEGORIES[str(value).removeprefix("CATEGORY_")]
    return re.escape(chr(value))


def slow(pattern: Pattern) -> str:
    """A text for which the time grows faster than its length, in words; "" where none is found."""
    compiled = re.compile(pattern.text, pattern.flags)
    for begin, unit, end in texts(pattern):
        for method in pattern.methods:
            long = _seconds(compiled, method, begin + unit * (LONG // len(unit)) + end)
            if long < MEASURABLE:
                continue
            text = begin + unit * (SHORT // len(unit)) + end
            for _ in range(3):  # one measurement may have been disturbed, not three
                short = max(_seconds(compiled, method, text), _seconds(compiled, method, text), MEASURABLE / 100)
                if (growth := long / short) <= MOST:
                    break
                long = _seconds(compiled, method, begin + unit * (LONG // len(unit)) + end)
            else:
                return f"{method} of {begin!r} {unit!r}... {end!r}: {growth:.0f} times the time"
    return ""


def _seconds(compiled: re.Pattern[Any], method: str, text: str) -> float:
    subject = text.encode("latin-1", "replace") if isinstance(compiled.pattern, bytes) else text
    call = getattr(compiled, method)
    begin = time.process_time()
    if method == "finditer":
        for _ in call(subject):
            pass
    elif method in ("sub", "subn"):
        call(b"" if isinstance(subject, bytes) else "", subject)
    else:
        call(subject)
    return time.process_time() - begin


def test_the_patterns_of_the_product_take_time_by_the_length_of_the_text() -> None:
    """One test for all: to find them takes more than a second, which collecting would take in each worker."""
    wrong = {f"{one.where}: {one.text!r}": why for one in patterns() if (why := slow(one))}
    assert not wrong


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (rb" *((?:[0-9A-Fa-f]{2})*) *(?:<.*>)?", "fullmatch"),
        (rb' *(?:"((?:[^~"]|~[~"])*)")? *', "fullmatch"),
        (r"[a-z]+@", "search"),
        (r"<a\b[^>]*>", "search"),
        (r"x\s*\w*\s*$", "match"),
        (r"(?:a|b)*(?:b|c)*d", "match"),
    ],
)
def test_a_pattern_that_takes_the_square_is_found(text: str | bytes, method: str) -> None:
    assert slow(Pattern("here", text, 0, frozenset({method})))


def test_no_pattern_is_overlooked() -> None:
    """As many as a search for the calls in the text of the sources finds."""
    calls = re.compile(r"\bre\.(?:compile|match|fullmatch|search|split|findall|finditer|subn?)\(")
    written = sum(len(calls.findall(path.read_text())) for path in SOURCES)
    dynamic = 3  # made of a person's pattern in rules, for which the linear time is tested elsewhere, or of a form's
    assert len(patterns()) >= written - dynamic
