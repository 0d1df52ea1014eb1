"""Commands of tests that spare Python's start: each is a process of its own, forked from one that has imported them.

1. `run` and `Command` take what `subprocess.run` and `subprocess.Popen` take. `python -m mqops.cli ...` is forked; any
   other program is started as `subprocess` starts it, and so is a command with other settings of Python, locale or C
   library. mqlite knows a process that was forked behind its import: how a program of an application ends is tested
   with programs that are started.
2. The command has its own environment, folder and standard files, and it ends as the interpreter ends.
3. It is a child of the test's process, as a started one is: the test waits for it, and may kill it. Between them stand
   two processes for a moment: `warm_command.py` forks one, which forks the command and ends; then the command's parent
   is the nearest ancestor that takes orphans in (`PR_SET_CHILD_SUBREAPER`).
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

MODULES = frozenset({"mqops.cli", "mqlite.cli"})
AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MQLITE_OFF", "MQLITE_PREFIX")
"""Environment variables that are read when Python starts or when a module is imported."""
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h

_lock = threading.Lock()
_warm: tuple[int, socket.socket, dict[str, str]] | None = None


class Command(subprocess.Popen[Any]):
    """A process of its own."""

    def _execute_child(self, args: Any, *given: Any) -> None:
        # As in Python 3.11 to 3.13.
        executable, preexec_fn, _close_fds, pass_fds, cwd, env, _startupinfo, _creationflags, shell = given[:9]
        pipes, rest = given[9:15], given[15:]
        environment = {os.fsdecode(k): os.fsdecode(v) for k, v in (os.environ if env is None else env).items()}
        plain = not (executable or preexec_fn or pass_fds or shell) and rest[1:6] == (None, None, None, -1, False)
        words = [os.fspath(word) for word in args] if plain and not isinstance(args, str | bytes) else []
        if words[:2] != [sys.executable, "-m"] or words[2] not in MODULES:
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        files = [pipe if pipe != -1 else number for number, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        what = {"words": words[1:], "folder": os.fspath(cwd or Path.cwd()), "env": environment}
        pid = _forked(what, files)
        if pid is None:
            super()._execute_child(args, *given)  # type: ignore[misc]
            return
        self.pid, self._child_created = pid, True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def run(args: Any, *, input: Any = None, capture_output: bool = False, check: bool = False, **options: Any) -> Any:
    """`subprocess.run`."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Command(args, **options) as process:
        try:
            output, errors = process.communicate(input)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def _forked(what: dict[str, Any], files: list[int]) -> int | None:
    """The number of the new process; None where the warm one was started with other settings than `what` has."""
    with _lock:
        control, its = _warm_process()
        if _at_start(its) != _at_start(what["env"]):
            return None
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        try:
            socket.send_fds(control, [json.dumps(what).encode()], files)
            pid = int(control.recv(100))
            assert control.recv(100) == b"its parent has ended"
        finally:
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0)
        return pid


def _warm_process() -> tuple[socket.socket, dict[str, str]]:
    """A connection to this process's own warm one, and the environment that it was started with."""
    global _warm  # noqa: PLW0603
    if not _warm or _warm[0] != os.getpid():
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            program = str(Path(__file__).with_name("warm_command.py"))
            command = [sys.executable, program, str(its.fileno()), *sorted(MODULES)]
            subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()])
        _warm = os.getpid(), mine, dict(os.environ)
    return _warm[1:]


def _at_start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(AT_START)}
