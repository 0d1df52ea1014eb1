"""Singular and plural in texts for people."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqops.counted import counted

ROOT = Path(__file__).resolve().parents[3]
NOUNS = "message|error|rule|warning|queue|lane|marker|finding|line|row|byte|run|canarie|trie|problem|time"
BY_HAND = re.compile(rf"(?:\}}|%d)(?: more| smaller| recorded| planned| expired| older)? (?:{NOUNS})s\b")
"""A noun in the plural behind a number that may be 1."""


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("message",), "0 messages"),
        (1, ("message",), "1 message"),
        (2, ("message",), "2 messages"),
        (1, ("canary", "canaries"), "1 canary"),
        (3, ("canary", "canaries"), "3 canaries"),
        (1, ("message is left", "messages are left"), "1 message is left"),
    ],
)
def test_a_number_stands_with_the_form_of_its_noun(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text


def test_a_number_has_the_separators_of_the_pages() -> None:
    assert counted(1200, "message") == "1,200 messages"


def _written_by_hand() -> Iterator[str]:
    for folder in ("include/mqops", "plugins", "dags", "spark_jobs"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
                if BY_HAND.search(line) and not line.lstrip().startswith('"""'):
                    yield f"{file.relative_to(ROOT)}:{number}: {line.strip()}"


def test_no_text_writes_a_number_and_a_plural_by_hand() -> None:
    assert list(_written_by_hand()) == []


COUNTS = frozenset(
    {
        *("depth", "max_depth", "max_msg_length", "messages", "rows", "planned", "moved", "discarded", "left", "gone"),
        *("failed", "in_flight", "looked_at", "units", "length", "records", "backouts", "held"),
    }
)
"""Attributes and keys that are numbers which can have four digits."""
COMMAND = re.compile(r"[A-Z]{3,}\($")
"""What stands before a number in MQSC, which takes no separators."""
TEMPLATE_HOLE = re.compile(r"\{\{(?P<value>[^{}|]*)(?:\|\s*length)?\s*\}\}")


def _is_a_count(value: ast.expr) -> bool:
    """Whether a value is the length of something, a sum, or an attribute or key that counts; or a sum of such."""
    match value:
        case ast.Call(func=ast.Name(id="len" | "sum")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=name), *_]):
            return name in COUNTS
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)):
            return name in COUNTS
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_a_count(left) or _is_a_count(right)
    return False


def _without_separators(text: str) -> Iterator[ast.JoinedStr]:
    for node in ast.walk(ast.parse(text)):
        before = ""
        for part in node.values if isinstance(node, ast.JoinedStr) else ():
            bare = isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1
            if bare and _is_a_count(part.value) and not COMMAND.search(before):
                yield node
            before = str(part.value) if isinstance(part, ast.Constant) else ""


def test_the_look_for_numbers_finds_them() -> None:
    assert len(list(_without_separators("f\"{one.depth} {found['rows']} {len(x) - 1} {a.get('moved', 0)}\""))) == 4
    assert not list(_without_separators('f"MAXDEPTH({one.max_depth}) {one.depth:,} {depth}"'))
    assert TEMPLATE_HOLE.search("{{ one.depth }}")
    assert TEMPLATE_HOLE.search("{{ found|length }}")
    assert not TEMPLATE_HOLE.search("{{ one.depth|thousands }}")


NO_COUNTS = frozenset(
    {
        "include/mqops/quality/docs_text.py",
        "include/mqops/quality/shown.py",
        "include/mqops/quality/suggest.py",
        "plugins/mqops_airflow/pages/frames.py",
    }
)
"""Files whose numbers are for programs."""


def test_no_text_writes_a_number_without_separators() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for folder in ("include/mqops", "plugins", "dags", "spark_jobs")
        for file in sorted((ROOT / folder).rglob("*.py"))
        if str(file.relative_to(ROOT)) not in NO_COUNTS
        for node in _without_separators(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_page_writes_a_number_without_separators() -> None:
    found, seen = [], 0
    for file in sorted((ROOT / "plugins").rglob("templates/*.html")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            for hole in TEMPLATE_HOLE.finditer(line):
                seen += 1
                of_list = hole[0].endswith(("length}}", "length }}"))
                name = re.split(r"[.\s]", hole["value"].strip())[-1]
                for_programs = line[: hole.start()].endswith(('max="', 'value="')) or hole["value"].startswith(
                    " words."
                )
                if (of_list or name in COUNTS) and not for_programs:
                    found.append(f"{file.name}: {hole[0]}")
    assert seen
    assert found == []
