"""The set-up says what a machine lacks, and which package has it, before it fetches or builds anything."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", ROOT / "include" / "setup" / "install.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_that_says(folder: Path, *answer: object) -> Path:
    """A program that answers as the interpreter of another machine would."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    program.chmod(0o755)
    return program


def headers(folder: Path) -> str:
    (folder / "Python.h").touch()
    return str(folder)


def test_this_machine_has_all_that_is_needed(setup: ModuleType) -> None:
    setup.check_machine(Path(sys.executable))


@pytest.mark.parametrize(
    ("lacks", "expected"),
    [
        ({"Python.h"}, "apt-get install python3.12-dev\nOn Fedora and RHEL: dnf install python3-devel"),
        ({"ensurepip"}, "apt-get install python3.12-venv\nOn"),  # stock Debian
        ({"bash"}, "apt-get install bash\nOn"),
        ({"Python.h", "ensurepip", "bash"}, "apt-get install python3.12-dev python3.12-venv bash\nOn"),  # all at once
    ],
)
def test_what_is_missing_is_named_with_its_package(
    setup: ModuleType, tmp_path: Path, monkeypatch: Any, lacks: set[str], expected: str
) -> None:
    include = "/nowhere" if "Python.h" in lacks else headers(tmp_path)
    python = python_that_says(tmp_path, "3.12", include, "ensurepip" not in lacks)
    if "bash" in lacks:
        monkeypatch.setattr(setup.shutil, "which", lambda _name: None)
    with pytest.raises(setup.SetupError) as raised:
        setup.check_machine(python)
    assert expected in str(raised.value)
    assert ("Python's headers (/nowhere/Python.h), to compile pymqi" in str(raised.value)) is ("Python.h" in lacks)


def test_nothing_is_fetched_on_a_machine_that_lacks_something(
    setup: ModuleType, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(setup, "is_complete", lambda _wanted: False)
    monkeypatch.setattr(setup, "find_python", lambda: python_that_says(tmp_path, "3.13", "/nowhere", True))
    monkeypatch.setattr(setup, "run", lambda *_command, **_more: pytest.fail("something was started"))
    monkeypatch.setattr(setup, "BUILD", tmp_path / "build")
    monkeypatch.setattr(setup, "TOOLS", tmp_path / "tools")
    with pytest.raises(setup.SetupError, match=r"python3\.13-dev"):
        setup.install()
    assert not (tmp_path / "build").exists()


def test_a_python_that_is_not_supported_is_told_which_ones_are(setup: ModuleType, monkeypatch: Any) -> None:
    monkeypatch.setattr(setup.sys, "version_info", (3, 14, 0))
    monkeypatch.setattr(setup.shutil, "which", lambda _name: None)
    with pytest.raises(
        setup.SetupError, match=r"needs Python 3\.11, 3\.12 or 3\.13, this is 3\.14; install one of them"
    ):
        setup.find_python()


@pytest.mark.parametrize(("platform", "size"), [("darwin", 2**63 - 1), ("linux", 2**31 - 1)])
def test_another_platform_is_refused(setup: ModuleType, monkeypatch: Any, platform: str, size: int) -> None:
    monkeypatch.setattr(setup.sys, "platform", platform)
    monkeypatch.setattr(setup.sys, "maxsize", size)
    with pytest.raises(
        setup.SetupError, match=rf"needs 64-bit Linux; this is {platform} with a Python of (64|32) bits"
    ):
        setup.check_machine(Path(sys.executable))


def test_the_readme_names_what_set_up_looks_for() -> None:
    first = (ROOT / "README.md").read_text().split("\n| workflow |")[0]
    assert all(word in " ".join(first.split()) for word in ("bash", "python3-dev", "python3-venv", "64-bit Linux"))


def test_a_shell_with_the_environment_in_it_finds_the_set_up_that_is_there() -> None:
    """build/env.sh puts the environment's own interpreter in front: `make` then runs the set-up by another one."""
    ask = "import runpy; print(runpy.run_path('include/setup/install.py')['fingerprint']())"
    interpreters = {sys.executable, getattr(sys, "_base_executable", sys.executable)}
    assert len(interpreters) == 2
    told = {
        subprocess.run([one, "-c", ask], cwd=ROOT, text=True, capture_output=True, check=True).stdout
        for one in interpreters
    }
    assert len(told) == 1


INPUTS = ("requirements.lock", "pyproject.toml", "include/setup/install.py", "include/mqlite/c_interface/build.py")


@pytest.mark.parametrize("name", INPUTS)
def test_what_set_up_depends_on_is_set_up_again_when_it_has_changed(
    setup: ModuleType, monkeypatch: Any, name: str
) -> None:
    before, read = setup.fingerprint(), Path.read_bytes
    path = ROOT / name
    assert path.is_file()

    def changed(one: Path) -> bytes:
        return read(one) + (b"#" if one.resolve() == path else b"")

    monkeypatch.setattr(setup.Path, "read_bytes", changed)
    assert setup.fingerprint() != before


def test_what_ends_the_demonstration_builds_nothing() -> None:
    done = subprocess.run(["make", "--dry-run", "down"], cwd=ROOT, text=True, capture_output=True, check=True)
    assert "mqops_demo.airflow down" in done.stdout
    assert "install.py" not in done.stdout


def test_ending_what_was_never_set_up_is_no_error(tmp_path: Path) -> None:
    makefile = str(ROOT / "Makefile")
    done = subprocess.run(["make", "-f", makefile, "down"], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert "Airflow: was not running" in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_class_archive_says_first_that_it_takes_time():
    """Without Java it takes none."""
    command = [sys.executable, "-m", "mqops_demo.spark_archive"]
    done = subprocess.run(command, env={**os.environ, "JAVA_HOME": "/nowhere"}, text=True, capture_output=True)
    assert "/build/spark.jsa: being made, once, so that Spark jobs start faster; it takes about a minute" in done.stdout
