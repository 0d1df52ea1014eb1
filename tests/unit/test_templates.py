"""The templates of the pages place what Python has put into words: they loop, and decide little."""

from __future__ import annotations

import re
from pathlib import Path

import mqops_airflow

TEMPLATES = sorted(Path(mqops_airflow.__file__).parent.rglob("templates/*.html"))
MOST_TAGS, LONGEST = 40, 160
"""Jinja tags on 100 lines of all templates; characters of a line."""


def test_templates_have_few_tags() -> None:
    """A template with many decides in the middle of a sentence, where no test of words sees it."""
    lines = [line for path in TEMPLATES for line in path.read_text().splitlines()]
    assert len(TEMPLATES) > 20
    assert 100 * sum(len(re.findall(r"\{%", line)) for line in lines) / len(lines) <= MOST_TAGS


def test_no_line_of_a_template_is_long() -> None:
    long = [
        f"{path.name}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST
    ]
    assert long == []
