"""`build/env.sh`: where queue managers and lake are, by what the person has set before; compiled modules are kept."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("MQOPS_VAR", "MQLITE_HOME", "MQOPS_LAKE")


@pytest.fixture
def script(tmp_path, monkeypatch) -> Path:
    spec = importlib.util.spec_from_file_location("install", ROOT / "include" / "setup" / "install.py")
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    monkeypatch.setattr(setup, "BUILD", tmp_path)
    setup.write_environment(Path("/java"))
    return tmp_path / "env.sh"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, (f"{ROOT}/var", f"{ROOT}/var/qmgrs", f"{ROOT}/var/lake")),
        ({"MQOPS_VAR": "/a place/x"}, ("/a place/x", "/a place/x/qmgrs", "/a place/x/lake")),
        ({"MQOPS_VAR": "/x", "MQLITE_HOME": "/q"}, ("/x", "/q", "/x/lake")),
        ({"MQOPS_LAKE": "/l"}, (f"{ROOT}/var", f"{ROOT}/var/qmgrs", "/l")),
    ],
)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_queue_managers_and_lake_follow_the_folder_of_all(script, shell, given, wanted):
    ask = f'. "{script}"; printf "%s\\n" ' + " ".join(f'"${name}"' for name in NAMES)
    done = subprocess.run([shell, "-c", ask], env={"PATH": "/usr/bin:/bin", **given}, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert tuple(done.stdout.splitlines()) == wanted


def test_python_keeps_what_it_compiles(script):
    ask = f'. "{script}"; printf "%s" "${{PYTHONDONTWRITEBYTECODE-unset}}"'
    given = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["sh", "-c", ask], env=given, text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "unset")
