"""The wheel is the product: everything that runs is in it, and each part needs only what it declares.

What is told of a part that is missing: `test_missing_parts.py`. Installations by pip: `tests/e2e/test_installed.py`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wheel_support import COMMANDS, EXTRAS, OURS, PROJECT, ROOT

from mqops.parts import PART_OF

CORE = {
    "backports",
    "cachetools",
    "click",
    "croniter",
    "cryptography",
    "filelock",
    "msgspec",
    "pyarrow",
    "pydantic",
    "pydantic_core",
    "rich",
    "yaml",
}
"""Modules of what the core declares, besides `typing_extensions`."""
TABLE = "REASON(2085) ACTION(FWD) FWDQ(A) HEADER(YES)\nACTION(RETRY)\n"
EACH_MODULE = """
failed = {}
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        failed[name] = error.name
    except Exception as error:
        failed[name] = repr(error)
print(json.dumps(failed))
"""


def test_manual_pages_and_completion_are_in_it(unpacked: Path) -> None:
    (share,) = unpacked.glob("*.data/data/share")
    ours = ROOT / "include" / "setup" / "share"
    names = {path.relative_to(ours) for path in ours.rglob("*") if path.is_file()}
    found = {path.relative_to(share) for path in share.rglob("*") if path.is_file()}
    assert {path for path in found if path.parts[0] != "doc"} == names
    assert Path("man/man1/mqops.1") in names


def test_links_of_the_pages_lead_to_files_in_it(unpacked: Path) -> None:
    (place,) = unpacked.glob("*.data/data/share/doc/mqops")
    assert (place / "README.md").read_text() == (ROOT / "README.md").read_text()
    pages = sorted(place.rglob("*.md"))
    links = [
        (page, link)
        for page in pages
        for link in re.findall(r"\]\(([^)\s#]+)", page.read_text())
        if not re.match(r"\w+:", link)
    ]
    assert {"docs/setting_up.md", "../include/kubernetes"} <= {link for _, link in links}
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def modules(unpacked: Path) -> Iterator[str]:
    """The names of all modules of the wheel but programs."""
    for path in sorted(unpacked.rglob("*.py")):
        parts = path.relative_to(unpacked).with_suffix("").parts
        if parts[-1] != "__main__":
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_everything_that_runs_is_in_it(unpacked: Path) -> None:
    for folder, place in (("dags", "mqops_airflow/dag_files"), ("spark_jobs", "mqops/jobs")):
        names = {path.name for path in (ROOT / folder).glob("*.py")}
        assert names
        assert names <= {path.name for path in (unpacked / place).iterdir()}
    for data in ("estate.yaml", "rules/qm1_dlq.rules", "expectations/messages.yaml", "mqsc/QM1.mqsc"):
        assert (unpacked / "mqops" / "example" / data).read_text() == (ROOT / "include" / data).read_text()
    pages = ROOT / "plugins" / "mqops_airflow" / "pages"
    for path in [*pages.glob("templates/*"), *pages.glob("static/*")]:
        assert (unpacked / "mqops_airflow" / "pages" / path.relative_to(pages)).is_file()
    assert {path.parent.name for path in unpacked.glob("*/py.typed")} == OURS
    (metadata,) = unpacked.glob("mqops-*.dist-info")
    assert (metadata / "licenses" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_nothing_else_is_in_it(unpacked: Path) -> None:
    assert {path.name for path in unpacked.iterdir() if path.suffix not in (".dist-info", ".data")} == OURS


def test_no_module_looks_for_its_files_outside_of_its_package(unpacked: Path) -> None:
    """`mqops.storage` and `mqops.version` look whether they are the sources, and go without where they are not."""
    looks = {
        str(path.relative_to(unpacked))
        for path in unpacked.rglob("*.py")
        if re.search(
            r"__file__\)[^\n]*\.parents\[[1-9]|_FOLDER\.parents\[[1-9]|__file__\)[^\n]*(\.parent){2}", path.read_text()
        )
    }
    assert looks == {"mqops/storage.py", "mqops/version.py"}


def test_each_import_is_of_a_package_that_is_declared(unpacked: Path) -> None:
    """Also those inside of functions."""
    foreign: dict[str, str] = {}
    for path in unpacked.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            foreign |= {name.partition(".")[0]: str(path) for name in names}
    where_there = {"openlineage"}  # with Airflow's provider for it, which calls what imports it
    known = {*where_there, *sys.stdlib_module_names, *OURS, *CORE, "typing_extensions", *PART_OF}
    assert {name: path for name, path in foreign.items() if name not in known} == {}


@pytest.mark.parametrize(
    ("extra", "rooms"),
    [
        ("", ("mqwire", "mqlite", "mqops")),
        ("mq", ("mqops.mq", "mqops.observe", "mqops.look")),
        ("spark", ("mqops.jobs", "mqops.act", "mqops.decide", "mqops.observe", "mqops.spark_client")),
        ("airflow", ("mqops_airflow",)),
    ],
)
def test_a_module_needs_what_its_part_declares(
    unpacked: Path, with_part: Any, extra: str, rooms: tuple[str, ...], tmp_path: Path
) -> None:
    """What cannot be imported lacks another part, by its name. Of the core nothing lacks."""
    names = [
        name for name in modules(unpacked) if name in rooms or name.startswith(tuple(f"{room}." for room in rooms))
    ]
    assert len(names) > 20
    failed = with_part(extra, EACH_MODULE, json.dumps(names), HOME=str(tmp_path), AIRFLOW_HOME=str(tmp_path))
    assert {PART_OF.get(missing.partition(".")[0], missing) for missing in failed.values()} <= {*EXTRAS} - {extra}
    core = ("mqwire", "mqops.rules", "mqops.ledger", "mqops.lake", "mqops.doctor", "mqops.prove", "mqops.estate")
    commands = tuple(f"mqops.cli.{name}" for name in ("rules", "runs", "ledger", "doctor", "init", "lake", "stop"))
    assert [name for name in failed if name.startswith((*core, *commands, "mqops_airflow"))] == []


def test_the_core_does_its_work(with_part: Any, tmp_path: Path) -> None:
    table, other, messages = tmp_path / "t.rules", tmp_path / "u.rules", tmp_path / "m.jsonl"
    table.write_text(TABLE)
    other.write_text("ACTION(RETRY)\n")
    messages.write_text('{"DESTQ": "X", "REASON": 2085}\n')
    commands = [
        ["--help"],
        ["rules", "check", str(table)],
        ["rules", "explain", str(table), "--messages", str(messages), "--json"],
        ["runs"],
        ["ledger", "verify"],
        ["estate", "example", str(tmp_path / "example")],
        ["estate", "check", str(tmp_path / "example" / "estate.yaml")],
        ["--version"],
    ]
    said = with_part("", COMMANDS, json.dumps(commands), HOME=str(tmp_path), MQOPS_LAKE=str(tmp_path / "lake"))
    assert [code for code, _, _ in said] == [0] * len(commands), said
    assert json.loads(said[2][1])["matches"][0] == {"line": 1, "action": "FWD", "tries": 1}
    assert re.fullmatch(rf"mqops, version {re.escape(PROJECT['version'])}( \(commit [0-9a-f]{{12}}\))?\n", said[-1][1])
