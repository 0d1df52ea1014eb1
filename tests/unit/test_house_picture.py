"""The pictures in docs/architecture.md are those of the code."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp
import pytest
from house_picture import MADE, PAGE, implied, imports, layers, page


def test_the_pictures_are_those_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [found[2] for found in MADE.finditer(text)] == ["mqops", "mqlite", "mqops_airflow"]
    assert page(text) == text, "run `make docs`"


def test_an_import_is_drawn_or_implied_and_every_room_is_there() -> None:
    direct = imports("mqops")
    assert {room for rooms in layers("mqops") for room in rooms} == set(direct)
    assert "lake" in direct["act"]
    assert implied("cli", "errors", direct)
    assert not implied("a", "b", {"a": {"b", "c"}, "b": set(), "c": set()})


@pytest.mark.parametrize("package", ["mqops", "mqlite", "mqwire", "mqops_airflow", "mqops_demo"])
def test_no_file_is_in_a_circle_of_imports(package: str) -> None:
    """Those for typing count too."""
    graph = grimp.build_graph(package)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imported).prepare()  # raises CycleError, which names the files
