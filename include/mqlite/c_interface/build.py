"""Build the MQI library and its bridge: `mqlite build`, or `python -m mqlite.c_interface.build --prefix FOLDER
[--library-only]`.

1. `lib64/libmqm_r.so` is plain C without Python: every call goes through one function table. `libmqic_r.so`, which
   client programs ask for, holds nothing and leads to it.
2. `inc/` are the headers that pymqi is built against.
3. `_mqbridge` is a cffi module whose callbacks fill the table; it belongs to one Python version and is built beside.
The compiler is $CC, else one on PATH, else zig, where the package `ziglang` is installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from mqlite.c_interface.headers import headers
from mqlite.c_interface.signatures import BAGS, CALLS, TAIL, TYPES, names

LIBRARY = "libmqm_r.so"
CLIENT_NAME = "libmqic_r.so"
PRELOAD = "zz_mqlite.pth"  # read after the files of editable installs, which may put mqlite on the path
# Handles that a failed call must leave unusable.
PRESETS = {
    "MQCONN": "if (hconn) *hconn = -1;",
    "MQCONNX": "if (hconn) *hconn = -1;",
    "MQOPEN": "if (hobj) *hobj = -1;",
}


def library_source() -> str:
    """The C source of the library.

    Without Python in the process, a call answers MQRC_Q_MGR_NOT_AVAILABLE (2059). An interrupted call (2549) raises
    SIGINT again in the caller's own frame, where Python notices it.
    """
    parts = ["#include <signal.h>", TYPES, "struct table {"]
    parts += [f"  void (*{name})({parameters}, {TAIL});" for name, parameters in CALLS.items()]
    parts += ["};", "static const struct table *volatile current;"]
    parts.append("const struct table *mqlite_install(const struct table *t)")
    parts.append("{ const struct table *old = current; __atomic_store_n(&current, t, __ATOMIC_RELEASE); return old; }")
    parts.append("int mqlite_calls(void) { return sizeof(struct table) / sizeof(void *); }")
    for name, parameters in CALLS.items():
        arguments = ", ".join(names(parameters))
        parts.append(
            f"void {name}({parameters}, {TAIL}) {{ const struct table *t = current; {PRESETS.get(name, '')}"
            f" *compcode = 2; *reason = t ? 2195 : 2059; if (t) t->{name}({arguments}, compcode, reason);"
            " if (*reason == 2549) raise(SIGINT); }"
        )
    refusal = "{ *compcode = 2; *reason = 2298; }"
    parts += [f"void {name}({parameters}, {TAIL}) {refusal}" for name, parameters in BAGS.items()]
    return "\n".join([*parts, ""])


def bridge_definitions() -> str:
    """The cffi declarations of the callbacks."""
    return "\n".join(f'extern "Python" void py_{name}({parameters}, {TAIL});' for name, parameters in CALLS.items())


def build_library(prefix: Path) -> None:
    """Compile the library and write the headers below `prefix`.

    Raises:
        subprocess.CalledProcessError: the compiler failed.
    """
    lib, inc = prefix / "lib64", prefix / "inc"
    for folder in (lib, inc):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in headers().items():
        (inc / name).write_text(text)
    source = prefix / "mqm.c"
    source.write_text(library_source())
    empty = prefix / "mqic.c"
    empty.write_text("int mqlite_client;\n")
    link(source, lib / LIBRARY, [])
    link(empty, lib / CLIENT_NAME, ["-Wl,--no-as-needed", f"-L{lib}", "-lmqm_r", "-Wl,-rpath,$ORIGIN"])


def link(source: Path, library: Path, options: list[str]) -> None:
    """Compile one C file to a shared library that is named like its file."""
    new = library.with_suffix(".new")
    command = [*compiler(), "-shared", "-fPIC", "-O2", "-w", f"-Wl,-soname,{library.name}", "-o", str(new), str(source)]
    subprocess.run([*command, *options], check=True)
    new.replace(library)


def compiler() -> list[str]:
    """The C compiler's command.

    Raises:
        FileNotFoundError: there is none; the message says what to install.
    """
    if given := os.environ.get("CC"):
        return shlex.split(given)
    for name in ("gcc", "cc", "clang"):
        if shutil.which(name):
            return [name]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise FileNotFoundError("there is no C compiler: install gcc, or `pip install ziglang`, and run it again")


def preload_at_start() -> Path:
    """Have this Python environment load the library when a program imports pymqi or ibmmq; returns the file that says
    so."""
    place = Path(sysconfig.get_path("purelib")) / PRELOAD
    place.write_text("import mqlite.preload\n")
    return place


def build_bridge(prefix: Path) -> None:
    """Compile the cffi module for the running Python."""
    import cffi  # noqa: PLC0415

    ffi = cffi.FFI()
    ffi.cdef(f"{TYPES}\n{bridge_definitions()}")
    ffi.set_source("_mqbridge", TYPES)
    ffi.compile(tmpdir=str(prefix / "bridge"))


def main() -> None:
    import argparse  # noqa: PLC0415 - whoever loads the library imports this file

    parser = argparse.ArgumentParser(
        prog="python -m mqlite.c_interface.build", description="Build the MQI library and its bridge."
    )
    parser.add_argument("--prefix", type=Path, required=True, help="folder for inc/, lib64/ and bridge/")
    parser.add_argument("--library-only", action="store_true", help="no bridge (cffi is not there yet)")
    arguments = parser.parse_args()
    try:
        build_library(arguments.prefix)
        if not arguments.library_only:
            build_bridge(arguments.prefix)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"mqlite.c_interface.build: {error}")


if __name__ == "__main__":
    main()
