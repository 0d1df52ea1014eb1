"""Expectations of a folder that the estate names: code that nobody else may change."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner
from outside_support import forget

from mqops.cli import main
from mqops.doctor.check import State
from mqops.doctor.this_machine import from_outside
from mqops.errors import SettingsError
from mqops.quality.check_snapshot import needs_spark
from mqops.quality.suite_file import load_suites

ESTATE = "lake: lake\nchecks: checks\nqueue_managers:\n  QM1:\n    connection: qm1\n"
MODULE = (
    "from mqops.quality.vocabulary import TEXTS, Expectation, Takes\n"
    "OURS = Expectation(name='begins_with', kinds=TEXTS, required={'prefix': Takes.VALUE}, of_rows=True,"
    " gx='ours_gx:A')\n"
)
POINTS = "[mqops.checks]\nbegins_with = ours_about:OURS\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an estate, with a check and a suite that uses it."""
    tmp_path.chmod(0o755)
    checks = tmp_path / "checks"
    checks.mkdir(mode=0o755)
    for path, text in (
        (tmp_path / "estate.yaml", ESTATE),
        (checks / "ours_about.py", MODULE),
        (checks / "entry_points.txt", POINTS),
        (tmp_path / "s.yaml", "suite: s\nexpectations:\n- {id: a, expect: begins_with, column: format, prefix: MQ}\n"),
    ):
        path.write_text(text)
        path.chmod(0o644)
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "path_hooks", [*sys.path_hooks])
    forget()
    yield checks
    forget()
    sys.modules.pop("ours_about", None)


def test_a_suite_uses_the_folders_expectation_which_goes_through_great_expectations(folder: Path) -> None:
    suites = load_suites([folder.parent / "s.yaml"])
    assert suites[0].checks[0].arguments == {"prefix": "MQ"}
    assert needs_spark(folder, suites)
    assert sys.path[-1] == str(folder)
    shown = json.loads(CliRunner().invoke(main, ["quality", "vocabulary", "--json"]).stdout)
    assert shown["expectations"][-1]["name"] == "begins_with"
    assert [one.what for one in from_outside()] == [f"mqops.checks begins_with of {folder}"]


def test_python_writes_no_bytecode_into_the_folder_so_it_can_be_used_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    later = folder / "ours_later"  # a package that a module of the folder imports when it is at work
    later.mkdir(mode=0o755)
    (later / "__init__.py").touch(mode=0o644)
    before = os.umask(0o002)
    try:
        for _process in range(2):
            forget()
            assert load_suites([folder.parent / "s.yaml"])[0].checks[0].arguments == {"prefix": "MQ"}
            import_module("ours_later")
            for name in ("ours_about", "ours_later"):
                assert sys.modules.pop(name).__file__
    finally:
        os.umask(before)
    assert not [*folder.rglob("__pycache__")]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("folder", r"others can change .*/checks, which is code: chmod go-w it"),
        ("module", r"others can change .*/checks/ours_about\.py, which is code"),
        ("above", r"others can change [^ ]*, which is code"),
        ("link", r"/checks/b\.py leads out of .*/checks: put the file itself there"),
        ("missing", r"entry_points\.txt cannot be read: .*No such file"),
        ("broken", r"entry_points\.txt is not valid: File contains no section headers"),
        ("keywords", r"has \[mqops\.keywords\]: only \[mqops\.checks\] can stand there"),
        ("taken", r"column_values_to_be_null of .*/checks .* has a name that mqops has: give it another one"),
        (
            "no module",
            r"begins_with of .*/checks \(entry point mqops\.checks, gone:OURS\) cannot be loaded: ModuleNotFound",
        ),
    ],
)
def test_a_folder_that_cannot_be_trusted_or_read_is_refused(folder: Path, changed: str, why: str) -> None:
    points = folder / "entry_points.txt"
    if changed in ("folder", "module", "above"):
        path = {"folder": folder, "module": folder / "ours_about.py", "above": folder.parent}[changed]
        path.chmod(path.stat().st_mode | 0o020)
    elif changed == "link":
        (folder / "b.py").symlink_to(folder.parent / "s.yaml")
    elif changed == "missing":
        points.unlink()
    else:
        points.write_text(
            {
                "broken": "begins_with = a:A\n",
                "keywords": f"{POINTS}[mqops.keywords]\nA = a:A\n",
                "taken": f"{POINTS}column_values_to_be_null = ours_about:OURS\n",
                "no module": POINTS.replace("ours_about", "gone"),
            }[changed]
        )
    with pytest.raises(SettingsError, match=rf"s\.yaml:3: expectations\.0\.expect: .*{why}"):
        load_suites([folder.parent / "s.yaml"])
    assert "ours_about" not in sys.modules
    assert [one.state for one in from_outside()] == [State.FAILS]
    told = CliRunner().invoke(main, ["estate", "check", str(folder.parent / "estate.yaml")])
    assert (told.exit_code, "checks" in told.output) == (1, True) or changed in ("taken", "no module")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    os.chown(folder, 12345, -1)
    with pytest.raises(SettingsError, match=r"checks: .*/checks belongs to user 12345, who can change the code in it"):
        load_suites([folder.parent / "s.yaml"])


def test_suites_without_such_an_expectation_need_no_folder(folder: Path) -> None:
    folder.chmod(0o777)
    (folder.parent / "s.yaml").write_text(
        "suite: s\nexpectations:\n- {id: a, expect: column_values_to_be_null, column: format}\n"
    )
    assert not load_suites([folder.parent / "s.yaml"])[0].checks[0].expectation.gx
