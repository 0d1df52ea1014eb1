"""The process that `commands.py` has commands forked from: it imports what they need, then forks one a request.

Arguments: the file descriptor of the connection, and the modules of the commands. It ends with the connection.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
from typing import Any

NOT_WARM = ("__main__", "spark", "quality", "mqlite.build")
"""Parts of the names of modules that are left out."""
OF_OTHERS = ("pandas", "pyarrow.dataset", "pyarrow.pandas_compat", "pyarrow.parquet", "pymqi")
"""PyArrow imports pandas when it makes its first array."""


def warm(modules: list[str]) -> None:
    """Import what the commands import, and what they import when they run: no part of Spark, no Great Expectations."""
    for package in sorted({name.partition(".")[0] for name in modules} | {"mqwire"}):
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not any(part in found.name for part in NOT_WARM):
                importlib.import_module(found.name)
    for name in OF_OTHERS:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def next_command(control: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each request. Returns in each of them, with what it shall do; None at the connection's end."""
    while True:
        request, files, _flags, _address = socket.recv_fds(control, 1 << 20, 3)
        if not request:
            return None
        between = os.fork()
        if not between:
            pid = os.fork()
            if pid:
                control.send(str(pid).encode())
                os._exit(0)
            control.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            what: dict[str, Any] = json.loads(request)
            return what
        for file in files:
            os.close(file)
        os.waitpid(between, 0)
        control.send(b"its parent has ended")


def become(what: dict[str, Any]) -> None:
    """Take on the environment, the folder, the arguments and the standard files of `python -m`, and heed SIGINT.

    A shell has the tests ignore it that it starts in the background.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(what["env"])
    os.chdir(what["folder"])
    sys.argv = [what["words"][0], *what["words"][2:]]
    sys.path[0] = what["folder"]
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        old = getattr(sys, name)
        file = open(old.fileno(), f"{mode}b", closefd=False)  # noqa: SIM115
        file.raw.name = f"<{name}>"
        lines = name == "stderr" or file.isatty()
        text = io.TextIOWrapper(file, encoding=old.encoding, errors=old.errors, line_buffering=lines)
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file: the commands do not see it
    sys.path.insert(0, "")
    try:
        connection = socket.socket(fileno=int(sys.argv[1]))
        warm(sys.argv[2:])
        command = next_command(connection)
    except KeyboardInterrupt:
        sys.exit(130)
    if command:
        become(command)
        runpy.run_module(command["words"][1], run_name="__main__", alter_sys=True)
