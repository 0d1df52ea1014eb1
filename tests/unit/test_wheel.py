"""The wheel is the product: everything that runs is in it, and each part needs only what it declares.

The environments here are the one of the tests with a hook that finds no module of a package that the part does not
declare. Installations by pip: `tests/e2e/test_installed.py`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from mqops.parts import PART_OF

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"mqwire", "mqlite", "mqops", "mqops_airflow"}
CORE = {
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
    "zstandard",
}
"""Modules of what the core declares, besides `typing_extensions`."""
TABLE = "REASON(2085) ACTION(FWD) FWDQ(A) HEADER(YES)\nACTION(RETRY)\n"
HOOK = """
import importlib, json, sys
SPARK_PROVIDER = tuple(f"airflow.providers.apache.spark.{name}" for name in ("hooks", "operators", "decorators"))
class Declared:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        refused = name.partition(".")[0] in REFUSED or name.startswith(SPARK_PROVIDER)
        return None if refused else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Declared, sys.meta_path)
"""
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
COMMANDS = """
import contextlib, io
from mqops.cli import main
said = []
for words in json.loads(sys.argv[1]):
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words, prog_name="mqops")
        except SystemExit as ended:
            code = ended.code
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of the wheel."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(place / "site")
    return place / "site"


def test_manual_pages_and_completion_are_in_it(unpacked: Path) -> None:
    (share,) = unpacked.glob("*.data/data/share")
    ours = ROOT / "include" / "setup" / "share"
    names = {path.relative_to(ours) for path in ours.rglob("*") if path.is_file()}
    found = {path.relative_to(share) for path in share.rglob("*") if path.is_file()}
    assert {path for path in found if path.parts[0] != "doc"} == names
    assert Path("man/man1/mqops.1") in names


def test_links_of_the_readme_lead_to_pages_in_it(unpacked: Path) -> None:
    (readme,) = unpacked.glob("*.data/data/share/doc/mqops/README.md")
    text = readme.read_text()
    assert text == (ROOT / "README.md").read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert "docs/setting_up.md" in links
    assert [link for link in links if not (readme.parent / link).is_file()] == []
    pages = readme.parent / "docs"
    named = {link for page in pages.glob("*.md") for link in re.findall(r"\]\((\w[\w.]*)", page.read_text())}
    assert [link for link in named if not (pages / link).is_file()] == []


@pytest.fixture
def with_part(unpacked: Path) -> Callable[..., Any]:
    """Runs a program in which only an extra, "" for the core alone, is there; what it prints, a line of JSON."""

    def run(extra: str, program: str, *arguments: str, **environment: str) -> Any:
        refused = sorted(undeclared(extra))
        site = next(path for path in sys.path if path.endswith("site-packages"))
        done = subprocess.run(
            [sys.executable, "-S", "-c", f"REFUSED = frozenset({refused!r})\n{HOOK}{program}", *arguments],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{unpacked}{os.pathsep}{site}", **environment},
            cwd=unpacked.parent,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@cache
def top_level(name: str) -> frozenset[str]:
    """The modules that an installed package brings."""
    files = distribution(name).files or []
    return frozenset(path.parts[0].partition(".")[0] for path in files if path.suffix in (".py", ".so"))


def declared(extra: str) -> set[str]:
    """The packages that come with an extra of ours, all that these ask for included."""
    todo = [Requirement(one) for one in [*PROJECT["dependencies"], *EXTRAS.get(extra, ())]]
    found: set[tuple[str, frozenset[str]]] = set()
    while todo:
        one = todo.pop()
        key = (one.name, frozenset(one.extras))
        if key in found:
            continue
        try:
            asked = [Requirement(text) for text in distribution(one.name).requires or ()]
        except PackageNotFoundError:
            continue
        found.add(key)
        for more in asked:
            if more.marker is None or any(more.marker.evaluate({"extra": name}) for name in (*one.extras, "")):
                todo.append(more)
    return {name for name, _ in found}


def undeclared(extra: str) -> set[str]:
    """Modules of this environment that an extra does not bring."""
    wanted = set().union(*map(top_level, declared(extra)))
    everything = set().union(*(top_level(one.metadata["Name"]) for one in distributions()))
    return {name for name in everything - wanted - OURS if name.isidentifier() and name not in sys.stdlib_module_names}


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


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["dlq", "run", "Q", "QM1", "--dry-run"], "mq"),
        (["snapshot", "Q", "-m", "QM1"], "mq"),
        (["message", "find", "Q", "-m", "QM1"], "mq"),
        (["init", "QM1", "--json"], "mq"),
    ],
)
def test_a_part_that_is_missing_is_named_in_one_line(
    with_part: Any, tmp_path: Path, words: list[str], extra: str
) -> None:
    ((code, output, errors),) = with_part(
        "", COMMANDS, json.dumps([words]), HOME=str(tmp_path), MQOPS_LAKE=str(tmp_path / "lake")
    )
    assert code == 1, errors
    assert re.fullmatch(rf"mqops: This needs \w+, which is not installed: pip install 'mqops\[{extra}\]'\n", errors)
    assert not output or json.loads(output)["error"]["code"] == "SettingsError"


def test_a_spark_job_without_spark_says_so(with_part: Any, unpacked: Path, tmp_path: Path) -> None:
    program = """
import contextlib, io, runpy
err = io.StringIO()
path, sys.argv = sys.argv[1], sys.argv[1:]
with contextlib.redirect_stderr(err):
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        print(json.dumps([ended.code, err.getvalue().splitlines()[-1]]))
"""
    job, connection = str(unpacked / "mqops" / "jobs" / "observe.py"), '{"queue_manager": "QM1"}'
    said = with_part("mq", program, job, f"--run={tmp_path}", MQOPS_CONNECTION=connection, HOME=str(tmp_path))
    assert said == [
        1,
        "mqops: SettingsError: This needs pyspark, which is not installed: pip install 'mqops[spark]'",
    ]


@pytest.mark.parametrize(("files_of", "whole"), [("4.3.0", True), ("4.2.0", False)])
def test_a_pyspark_that_another_package_has_overwritten_is_told(tmp_path: Path, files_of: str, whole: bool) -> None:
    for name, version in (("pyspark", "4.3.0"), ("pyspark_client", "4.2.0")):
        (tmp_path / f"{name}-{version}.dist-info").mkdir()
        about = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
        (tmp_path / f"{name}-{version}.dist-info" / "METADATA").write_text(about)
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    (tmp_path / "pyspark" / "version.py").write_text(f'__version__: str = "{files_of}"\n')
    program = "from mqops.parts import pyspark_must_be_whole as look; look()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is whole
    told = (
        "pyspark-client 4.2.0 has overwritten files of pyspark 4.3.0: pip uninstall --yes pyspark-client; pip install"
    )
    assert (told in done.stderr) is not whole
