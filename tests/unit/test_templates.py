"""The templates of the pages place what Python has put into words: they loop, and decide little."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mqops_airflow
from mqops.look.words.text import STYLES, Table, said
from mqops_airflow.pages import tables
from mqops_airflow.pages.told import told
from mqops_airflow.ui.table import PAGES, Page, Right

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_of_the_table_has_its_module_its_template_and_its_place_in_the_documentation(page: Page) -> None:
    """A module that cannot be imported takes all pages away: `make lint` finds it, test_pages.py after minutes."""
    folder = Path(mqops_airflow.__file__).parent / "pages"
    assert (folder / f"{page.name}.py").exists()
    assert (folder / "templates" / f"{page.name}.html").exists()
    text = (Path(__file__).parents[2] / "docs" / "pages.md").read_text()
    assert not page.in_menu or f"\n## {page.title}\n" in text, f"docs/pages.md has no chapter {page.title}"
    rights = dict(re.findall(r"^\| ([\w, ]+) \| to read its (runs|task logs) \|$", text, re.MULTILINE))
    listed = next((right for titles, right in rights.items() if page.title in titles.split(", ")), "")
    named = {Right.RUN: "runs", Right.TASK_LOGS: "task logs"}[page.right]
    assert listed == named, f"docs/pages.md: the table of rights has {page.title} under 'to read its {named}'"


@pytest.mark.parametrize("style", sorted(STYLES.keys() - {"time", "ago"}))
def test_what_a_hole_is_called_is_shown_and_text_of_others_stays_text(style: str) -> None:
    """Rule 1 of `mqops.look.words.text`: a name that is markup, or looks like a hole, is a name."""
    shown = told({}, said(f"of {{:{style}}}.", "<b>{:time}"))
    assert "&lt;b&gt;{:time}" in shown
    assert "<b>" not in shown
    assert style == "breaks" or re.search("<(span|strong|code)", shown)


def test_a_time_is_an_element_and_one_that_is_not_known_a_dash() -> None:
    assert '<time datetime="2026-11-26T12:00:00+00:00">' in told({}, said("{:time}", "2026-11-26T12:00:00Z"))
    assert told({}, said("{:time}, {:ago}", "", "")) == "–, –"


def test_a_table_is_drawn_once_for_all_who_are_shown_it_within_a_second() -> None:
    """It, and not one that is equal; for another place its links are others."""
    where = {"root": "/mqops", "airflow": ""}
    table = Table("Queues", ["*Queue|name", "Messages|number"], [("<b>", 3), ("B", 4)])
    drawn = tables.rows(where, table)
    assert tables.rows(where, table) is drawn
    again = tables.rows(where, Table(*table))
    assert again == drawn
    assert again is not drawn
    assert tables.rows({**where, "root": "/other"}, table) is not drawn
    assert '<th class="name" scope="row">&lt;b&gt;</th>' in drawn
    assert '<td class="number">4</td>' in drawn
    assert tables.rows(where, None) == tables.rows(where, Table("None", ["Queue"], [])) == ""


def test_the_caption_of_a_table_hides_nothing() -> None:
    """It has names out of messages: those of the folders of an MQRFH2."""
    drawn = tables.rows({"root": "", "airflow": ""}, Table("Folder a\u202eb\nc", ["*Field\u202e"], [("x\u202e",)]))
    assert drawn.count("Folder a\ufffdb\ufffdc") == 2
    assert "\u202e" not in drawn
