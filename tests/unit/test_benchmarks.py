"""Each benchmark begins: what it imports is there, although nobody has put the modules of the tests on its path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1] / "bench"
BEGUN = """
import runpy, sys, traceback
path, before = list(sys.path), set(sys.modules)
for program in sys.argv[1:]:
    sys.path[:] = [program.rpartition("/")[0], *path]
    try:
        runpy.run_path(program, run_name="not run")
    except BaseException:
        sys.exit(program + traceback.format_exc())
    for name in [one for one in sys.modules if "/tests/" in (getattr(sys.modules[one], "__file__", None) or "")]:
        del sys.modules[name]
"""


def test_every_benchmark_finds_what_it_imports():
    """`python FILE` has the file's own folder on its path, and not that of the tests."""
    programs = [*map(str, sorted(BENCH.glob("bench_*.py"))), str(BENCH / "dlq_million.py")]
    assert len(programs) > 20
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", BEGUN, *programs], env=without, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
