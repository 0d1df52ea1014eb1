"""The wheel, unpacked, and programs that run with it and what one of its parts declares.

The environments are the one of the tests with a hook that finds no module of a package that the part does not declare.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"mqwire", "mqlite", "mqops", "mqops_airflow"}
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
COMMANDS = """
import contextlib, io
from mqops.cli import main
said = []
for words in json.loads(sys.argv[1]):
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"ACTION(RETRY)"))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words, prog_name="mqops")
        except SystemExit as ended:
            code = ended.code
    said.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""


def unpack(place: Path) -> Path:
    """Build the wheel; a folder with its content."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(place / "site")
    return place / "site"


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


def runs_with_part(unpacked: Path) -> Callable[..., Any]:
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
