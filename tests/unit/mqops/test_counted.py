"""Singular and plural in texts for people."""

from __future__ import annotations

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
