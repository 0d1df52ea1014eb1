"""Change the core on purpose, one place at a time, and see whether a test notices (`make mutants`).

mutmut names a module by its path, and knows no root but `src`: so it runs in a folder of its own, build/mutants, with a
copy of include/ as src and of the tests. Only what runs in the test's own process is seen: a command that is started as
a process of its own imports the unchanged code.

`make mutants FILES="ledger/*.py act/core/mover.py"` changes these files of mqops only; without FILES all of `MUTATED`,
which takes hours. Run it again to go on. `mutmut results` and `mutmut show NAME`, in build/mutants, say what was not
noticed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "mutants"
PACKAGES = ("mqops", "mqlite", "mqwire", "mqops_demo")
MUTATED = ("act/*", "decide/core/*", "ledger/*", "prove/*", "undo/*")
TESTS = (
    *("property/test_act_exactly_once.py", "property/test_rules_language.py"),
    *(f"unit/mqops/test_{name}.py" for name in ("balance", "ledger", "cli_ledger", "ledger_end", "proof_refuses")),
    *(
        f"unit/mqops/test_{name}.py"
        for name in ("undo", "message_groups", "preflight", "plan_samples", "throttle", "hidden")
    ),
)


def main() -> int:
    shutil.rmtree(PLACE / "src", ignore_errors=True)
    shutil.rmtree(PLACE / "tests", ignore_errors=True)
    for package in PACKAGES:
        shutil.copytree(
            ROOT / "include" / package, PLACE / "src" / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copytree(ROOT / "tests", PLACE / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (PLACE / "pyproject.toml").write_text(_settings(tuple(sys.argv[1:]) or MUTATED), encoding="utf-8")
    return subprocess.run([sys.executable, "-m", "mutmut", "run", "--max-children", "1"], cwd=PLACE).returncode


def _settings(mutated: tuple[str, ...]) -> str:
    def listed(names: tuple[str, ...], start: str) -> str:
        return "[" + ", ".join(f'"{start}{name}"' for name in names) + "]"

    return (
        "[tool.mutmut]\n"
        'source_paths = ["src"]\n'
        f"only_mutate = {listed(mutated, 'src/mqops/')}\n"
        f"pytest_add_cli_args_test_selection = {listed(TESTS, 'tests/')}\n"
        'pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:timeout"]\n'
        "[tool.pytest.ini_options]\n"
        'addopts = "--import-mode=importlib"\n'
        'filterwarnings = ["ignore::DeprecationWarning"]\n'
    )


if __name__ == "__main__":
    sys.exit(main())
