"""docs/compatibility.md: what is imported of Airflow that is not public, and where; the range of versions."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import airflow.sdk

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
PLUGIN = ROOT / "plugins" / "mqops_airflow"
PRIVATE = PLUGIN / "airflow_private"
PACKAGED = [PLUGIN, *(ROOT / "include" / name for name in ("mqops", "mqwire", "mqlite"))]
PUBLIC = {
    *("airflow.sdk", "airflow.sdk.exceptions", "airflow.configuration", "airflow.plugins_manager"),
    *("airflow.listeners", "airflow.triggers.base"),
}
PROVIDERS = ("airflow.providers.standard.", "airflow.providers.common.messaging.", "airflow.providers.openlineage.")


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Module of Airflow and name in it, for each import, those for types alone as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "airflow":
            yield from ((node.module or "", one.name) for one in node.names)
        if isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names if one.name.partition(".")[0] == "airflow")


def test_what_is_not_public_is_imported_in_one_place() -> None:
    files = [path for folder in PACKAGED for path in folder.rglob("*.py") if path.parent != PRIVATE]
    found = [(path, *one) for path in files for one in imports(path)]
    assert len(found) > 50
    for path, module, name in found:
        assert module in PUBLIC or module.startswith(PROVIDERS), f"{path}: {module}"
        assert module != "airflow.sdk" or name in airflow.sdk.__all__, f"{path}: {name}"


def test_no_module_of_airflow_is_named_in_a_text_to_be_imported() -> None:
    for folder in PACKAGED:
        for path in folder.rglob("*.py"):
            assert not re.search(r"""import_module\(f?["']airflow""", path.read_text()), path


def test_the_page_names_each_import_that_is_not_public() -> None:
    rows = re.findall(r"^\| `(\w+\.py)` \| (.+?) \|", PAGE, re.MULTILINE)
    told = {name: set(re.findall(r"`([\w.]+)`", text)) for name, text in rows}
    there = {path.name: {module for module, _ in imports(path)} for path in PRIVATE.glob("*.py")}
    assert told == {name: found for name, found in there.items() if name != "__init__.py"}
    assert all(not found & PUBLIC for found in there.values())


def test_the_range_is_that_of_the_metadata() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = [one for one in project["optional-dependencies"]["airflow"] if one.startswith("apache-airflow>")]
    assert f"`{wanted.removeprefix('apache-airflow')}` in the metadata" in PAGE
