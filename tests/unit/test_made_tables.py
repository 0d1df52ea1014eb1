"""The tables of the documentation are those of the code."""

from __future__ import annotations

import pytest
from made_tables import MADE, PAGES, ROOT, TABLES, page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_tables_of_the_code(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert page(text) == text, f"{name}: run `make docs`"


def test_each_table_stands_once() -> None:
    found = [one[2] for name in PAGES for one in MADE.finditer((ROOT / name).read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(TABLES)
