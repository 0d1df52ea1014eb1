"""Change the code on purpose, one place at a time, and see whether a test notices (`make mutants`).

    make mutants                                     every mutant of `ROOMS`: takes many hours
    make mutants SAMPLE=60 SEED=1                    60 mutants of each room, the same ones each time
    make mutants ROOM=undo                           one room

A run that was interrupted goes on where it was. Mutants of a changed function are tried again, and where a test has
changed those that no test had noticed. The table at the end has a line for each room, and each mutant that no test
noticed with its place and its change.

A mutant is text only where nothing but a text differs: a string or f-string with a blank and a letter in it (errors,
remarks, remedies), or what a logger is told. The table says how many there are, and the share without them. A name, a
key, an option of MQ and which of two texts is told are no text.

mutmut makes the mutants and finds out which test runs which function. It knows no root but `src`: so it works in
build/mutants/ROOM, on a copy of the packages and of the tests. Each mutant is tried in a process that is forked when
all tests are imported; fast tests run first, and the first that fails ends it. Only what runs in the test's own process
is seen: a command that is started as a process of its own imports the unchanged code. So tests of Airflow that acts and
of Spark's workers notice no mutant, and are in no room.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from libcst import Module

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "mutants"
PACKAGES = ("include/mqops", "include/mqlite", "include/mqwire", "include/mqops_demo", "plugins/mqops_airflow")

READ = ("dags", "docs", "include")
"""Folders with files that tests read."""


@dataclass(frozen=True)
class Room:
    """Files (as packages have them) and the tests that are to notice what is changed in them."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


def _of_operations(*names: str) -> tuple[str, ...]:
    return tuple(f"unit/mqops/test_{name}.py" for name in names)


ROOMS = {
    "act": Room(
        ("mqops/act/*",),
        (
            "property/test_act_exactly_once.py",
            "unit/expiry/test_age_out.py",
            *_of_operations("canary", "cli_care", "dlq_pass", "earlier_runs", "extended_pass", "failures"),
            *_of_operations("forged_ledger", "full_destination", "hidden", "message_groups", "other_queue_manager"),
            *_of_operations("least_authority", "progress", "proof_refuses", "protected", "rate_limiter", "recover"),
            *_of_operations("stop"),
        ),
    ),
    "decide": Room(
        ("mqops/decide/core/*",),
        (
            *(f"unit/rules/test_{name}.py" for name in ("extensions", "rules_cli", "rules_expectations")),
            *_of_operations("approval", "extended_pass", "message_groups", "plan_row", "plan_samples", "preflight"),
            *_of_operations("protected", "snapshot_payload", "rate_limiter"),
        ),
    ),
    "ledger": Room(
        ("mqops/ledger/*",),
        (
            "property/test_ledger_fuzz.py",
            "unit/backout/test_reprocess.py",
            *_of_operations("balance", "cli_ledger", "forged_ledger", "earlier_runs", "ledger", "ledger_access"),
            *_of_operations("ledger_end", "ledger_keys", "ledger_memory", "proof_refuses", "set_aside", "stop"),
        ),
    ),
    "prove": Room(
        ("mqops/prove/*",),
        (
            *_of_operations("balance", "earlier_runs", "forged_ledger", "ledger_keys", "outcomes", "proof_refuses"),
            *_of_operations(
                "hidden", "missing_records", "set_aside", "stop", "transmitted", "undo", "untold", "whereabouts"
            ),
        ),
    ),
    "undo": Room(
        ("mqops/undo/*",),
        _of_operations("cli_care", "cli_undo", "least_authority", "proof_refuses", "undo", "undo_sources"),
    ),
    "permission": Room(
        tuple(f"mqops_airflow/{name}.py" for name in ("answer", "four_eyes", "permission", "policy")),
        ("dags/test_permission.py", "dags/test_policy.py"),
    ),
}
RESULT = "result.json"
NOTICED = {"killed", "timeout"}
TIMES, AND = 20, 100
"""Seconds that a mutant's tests may take: so many times as long as without it, and so many more on a busy machine."""
NO_TESTS, TIME_OUT = 33, 36
"""What mutmut notes of a mutant in place of the exit code of its tests."""
STATS = Path("mutants", "mutmut-stats.json")
ARGUMENTS = ("-p", "no:cacheprovider", "-o", "faulthandler_timeout=0")


def main() -> None:
    options = _options()
    if options.alone:
        _try_room(options)
        return
    # mutmut keeps what it knows of one room in its modules: each has a process of its own.
    for room in options.rooms or ROOMS:
        subprocess.run([sys.executable, __file__, "--alone", *_arguments(options), room], check=True)
    _tell({room: json.loads((PLACE / room / RESULT).read_text()) for room in options.rooms or ROOMS})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="else all")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants of each room; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _arguments(options: argparse.Namespace) -> Iterator[str]:
    for name in ("sample", "seed"):
        yield f"--{name}={getattr(options, name)}"


def _try_room(options: argparse.Namespace) -> None:
    """Try the mutants of one room, and write what became of them to RESULT."""
    (name,) = options.rooms
    place, room = PLACE / name, ROOMS[name]
    place.mkdir(parents=True, exist_ok=True)
    _prepare(place, room)
    os.chdir(place)
    _generate()
    results = _results()
    names = [key for key, (_code, path) in results.items() if _is_of(room, path)]
    chosen = random.Random(options.seed).sample(sorted(names), min(options.sample or len(names), len(names)))
    digest, kept = _digest_of_tests(room), Path("tests.sha256")
    as_before = kept.exists() and kept.read_text() == digest
    again = {"not checked"} if as_before else {"not checked", "survived", "no tests", "timeout"}
    waiting = [key for key in chosen if _status(results[key][0]) in again]
    print(f"{name}: {len(names)} mutants, {len(chosen)} chosen, {len(waiting)} to be tried")
    if waiting:
        if not as_before:
            _find_out_which_test_runs_what()
            kept.write_text(digest)
        _try(room, {key: results[key][1] for key in waiting})
    results = _results()
    Path(RESULT).write_text(json.dumps([_Tried.of(key, *results[key]) for key in sorted(chosen)]))


def _prepare(place: Path, room: Room) -> None:
    """The copy that mutmut works on. Times of files stay as they are: mutmut makes mutants of newer ones only.

    It takes what it has copied for mutants that it has made, and so it starts again where the files of a room change.
    """
    for folder in ("src", "tests"):
        shutil.rmtree(place / folder, ignore_errors=True)
    no_cache = shutil.ignore_patterns("__pycache__")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, place / "src" / Path(package).name, ignore=no_cache)
    shutil.copytree(ROOT / "tests", place / "tests", ignore=no_cache)
    made_of, now = place / "files", "\n".join(room.files)
    if not made_of.exists() or made_of.read_text(encoding="utf-8") != now:
        shutil.rmtree(place / "mutants", ignore_errors=True)
        made_of.write_text(now, encoding="utf-8")
    shutil.copytree(ROOT / "tests", place / "mutants" / "tests", ignore=no_cache, dirs_exist_ok=True)
    for folder in READ:
        link = place / "mutants" / folder
        link.unlink(missing_ok=True)
        link.symlink_to(ROOT / folder)
    (place / "pyproject.toml").write_text(_settings(room), encoding="utf-8")


def _settings(room: Room) -> str:
    def listed(start: str, names: Iterable[str]) -> str:
        return "[" + ", ".join(f'"{start}{name}"' for name in names) + "]"

    return (
        "[tool.mutmut]\n"
        'source_paths = ["src"]\n'
        f"only_mutate = {listed('src/', room.files)}\n"
        'do_not_mutate = ["src/mqops/*/spark/*"]\n'  # runs in Spark's workers
        f"pytest_add_cli_args_test_selection = {listed('tests/', room.tests)}\n"
        f"pytest_add_cli_args = {listed('', ARGUMENTS)}\n"
        "[tool.pytest.ini_options]\n"
        'addopts = "--import-mode=importlib"\n'
        'filterwarnings = ["ignore::DeprecationWarning"]\n'
    )


def _generate() -> None:
    """Make the mutants of the room."""
    from mutmut import __main__ as mutmut  # noqa: PLC0415

    Path("mutants").mkdir(exist_ok=True)
    os.environ["MUTANT_UNDER_TEST"] = "mutant_generation"
    mutmut.copy_src_dir()
    mutmut.create_mutants(1)


def _find_out_which_test_runs_what() -> None:
    """Run all tests of the room, which must pass; mutmut notes it in STATS, with the seconds of each test."""
    if pid := os.fork():
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            raise SystemExit("The tests of the room fail on the copy in build/mutants: see above")
        return
    from mutmut.__main__ import run_stats_collection, setup_source_paths  # noqa: PLC0415
    from mutmut.workers.isolation import get_mutant_runner  # noqa: PLC0415

    STATS.unlink(missing_ok=True)
    setup_source_paths()
    run_stats_collection(get_mutant_runner())
    sys.stdout.flush()
    os._exit(0)


def _try(room: Room, waiting: dict[str, Path]) -> None:
    """Run the tests of each mutant in a process of its own, and note how that ended.

    Parameters: `waiting` mutant → its file.
    """
    from mutmut.__main__ import setup_source_paths  # noqa: PLC0415
    from mutmut.mutation.data import SourceFileMutationData  # noqa: PLC0415
    from mutmut.mutation.trampoline import set_mutant_under_test  # noqa: PLC0415
    from mutmut.utils.format_utils import mangled_name_from_mutant_name  # noqa: PLC0415

    setup_source_paths()
    found = json.loads(STATS.read_text(encoding="utf-8"))
    tests_of, seconds = found["tests_by_mangled_function_name"], found["duration_by_test"]
    set_mutant_under_test("")
    with chdir("mutants"), _silent():
        _pytest("--collect-only", *(f"tests/{name}" for name in room.tests))
    for number, (name, path) in enumerate(waiting.items(), 1):
        tests = sorted(tests_of.get(mangled_name_from_mutant_name(name), ()), key=lambda test: seconds[test])
        code = _forked(name, tests, sum(seconds[test] for test in tests)) if tests else NO_TESTS
        data = SourceFileMutationData(path=path)
        data.load()
        data.exit_code_by_key[name] = code
        data.save()
        print(f"{number} of {len(waiting)}: {_status(code)}: {name}", flush=True)


def _forked(name: str, tests: list[str], seconds: float) -> int:
    """The exit code of a mutant's tests, the one that mutmut has for a time-out where they did not end."""
    from mutmut.mutation.trampoline import set_mutant_under_test  # noqa: PLC0415

    pid = os.fork()
    if not pid:
        os.setsid()
        set_mutant_under_test(name)
        with chdir("mutants"), _silent():
            os._exit(_pytest("-x", *tests))
    late = threading.Timer(TIMES * seconds + AND, os.killpg, (pid, signal.SIGKILL))
    late.start()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    late.cancel()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what its tests have started
    return TIME_OUT if code < 0 else code


def _pytest(*arguments: str) -> int:
    return int(pytest.main(["--rootdir=.", "-q", *ARGUMENTS, *arguments]))


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing is written to standard output and standard error meanwhile, whoever does it."""
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    try:
        yield
    finally:
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)
        os.close(nowhere)


def _digest_of_tests(room: Room) -> str:
    digest = hashlib.sha256()
    for name in room.tests:
        digest.update(f"{name}\n".encode() + Path("tests", name).read_bytes())
    return digest.hexdigest()


def _results() -> dict[str, tuple[int | None, Path]]:
    """Of each mutant, the exit code of its tests (None: not tried) and its file."""
    from mutmut.__main__ import collect_source_file_mutation_data  # noqa: PLC0415

    mutants, _data = collect_source_file_mutation_data(mutant_names=())
    return {name: (code, data.path) for data, name, code in mutants}


def _status(code: int | None) -> str:
    from mutmut.stats import status_by_exit_code  # noqa: PLC0415

    return str(status_by_exit_code[code])


def _is_of(room: Room, path: Path) -> bool:
    return any(fnmatch(str(path), f"src/{file}") for file in room.files)


class _Tried(NamedTuple):
    """What became of a mutant, and how it differs: FILE:LINE and the lines. `text` whether a text only differs."""

    name: str
    status: str
    text: bool
    change: str

    @classmethod
    def of(cls, name: str, code: int | None, path: Path) -> _Tried:
        """What there is to tell of a mutant."""
        from mutmut.mutation.diff_apply import get_diff_for_mutant, read_functions_from_index  # noqa: PLC0415

        both = read_functions_from_index(name, path)
        if both is None:
            raise LookupError(f"{path} does not say where the mutant {name} stands. Remove {PLACE} and start again")
        before, after = (ast.parse(Module(body=[one]).code) for one in both)
        changed = [line for line in get_diff_for_mutant(name, path=path).splitlines()[2:] if line[:1] in "+-"]
        first = next((line[1:] for line in changed if line.startswith("-")), "")
        source = path.read_text(encoding="utf-8").splitlines()
        places = [number for number, line in enumerate(source, 1) if line.strip() == first.strip()]
        place = f"{path.relative_to('src')}:{','.join(map(str, places)) or '?'}"
        return cls(name, _status(code), is_text(before, after), "\n".join([place, *changed]))


def is_text(before: ast.AST, after: ast.AST) -> bool:
    """Whether two functions differ in texts only, or in nothing."""
    if ast.dump(before) == ast.dump(after) or _is_text(before):
        return True
    if type(before) is not type(after):
        return False
    for name in before._fields:
        ours, its = (value if isinstance(value, list) else [value] for value in _values(name, before, after))
        if len(ours) != len(its) or not all(map(_same_or_text, ours, its)):
            return False
    return True


def _values(name: str, *nodes: ast.AST) -> Iterator[Any]:
    return (getattr(node, name) for node in nodes)


def _same_or_text(before: Any, after: Any) -> bool:
    if isinstance(before, ast.AST) and isinstance(after, ast.AST):
        return is_text(before, after)
    return bool(before == after)


def _is_text(node: ast.AST) -> bool:
    """A string or f-string of several words, or a call of a logger."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _has_words(node.value)
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.Constant) and _has_words(part.value) for part in node.values)
    return isinstance(node, ast.Call) and ast.unparse(node.func).startswith("_log.")


def _has_words(text: str) -> bool:
    return " " in text and any(map(str.isalpha, text))


def _tell(rooms: dict[str, list[Any]]) -> None:
    """A line a room, then each mutant that was not noticed."""
    tried = {room: [_Tried(*one) for one in found] for room, found in rooms.items()}
    tried["all"] = [one for found in tried.values() for one in found]
    heads = ("mutants", "killed", "survived", "no test", "time out", "other", "%", "text only", "% without")
    print("\n" + f"{'room':12}" + "".join(f"{head:>10}" for head in heads))
    for room, found in tried.items():
        count = Counter(one.status for one in found)
        shown = [count[name] for name in ("killed", "survived", "no tests", "timeout")]
        told = [one for one in found if not one.text]
        numbers = [len(found), *shown, len(found) - sum(shown), _per_cent(found), len(found) - len(told)]
        print(f"{room:12}" + "".join(f"{number:>10}" for number in [*numbers, _per_cent(told)]))
    for one in tried["all"]:
        if one.status not in NOTICED:
            print(f"\n{one.status}{', text only' if one.text else ''}: {one.name}\n{one.change}")


def _per_cent(found: list[_Tried]) -> str:
    return f"{100 * sum(one.status in NOTICED for one in found) / len(found):.1f}" if found else "-"


if __name__ == "__main__":
    main()
