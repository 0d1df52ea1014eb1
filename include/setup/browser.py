"""See to the browser that the tests of the pages drive: Debian's Chromium with its driver. Standard library only.

`make test` runs this beside the linters; nothing else needs a browser. Where there is none and none can be installed,
it says what to install and ends well: those tests are skipped then, and fail where the variable CI is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = {"chromium": "chromium", "chromedriver": "chromium-driver"}
"""Program → the package of Debian that has it."""

OS_RELEASE = Path("/etc/os-release")
APT = ("apt-get", "--quiet", "--quiet", "-o", "DPkg::Lock::Timeout=300")
WITHOUT = "browser: no {programs}; the browser tests need them. On Debian: apt-get install {packages}"


def missing() -> list[str]:
    """The programs that are not on PATH."""
    return [program for program in PACKAGES if not shutil.which(program)]


def can_install() -> bool:
    """Whether this is root on Debian. Ubuntu's package is another one, which a container cannot run."""
    return os.geteuid() == 0 and OS_RELEASE.is_file() and "\nID=debian\n" in f"\n{OS_RELEASE.read_text()}"


def install(packages: list[str]) -> str:
    """Install packages of Debian; returns what went wrong."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run([*APT, *command], env=environment, text=True, capture_output=True)
        if done.returncode:
            return "\n".join((done.stdout + done.stderr).strip().splitlines()[-10:]) or f"ended with {done.returncode}"
    return ""


def main() -> None:
    """Install what is missing, or say what to install."""
    lacks = missing()
    if lacks and can_install():
        print(f"browser: installing {' and '.join(PACKAGES[program] for program in lacks)}", flush=True)
        if problem := install([PACKAGES[program] for program in lacks]):
            print(f"browser: apt-get failed:\n{problem}", file=sys.stderr)
        lacks = missing()
    if lacks:
        packages = " ".join(PACKAGES[program] for program in lacks)
        print(WITHOUT.format(programs=" and no ".join(lacks), packages=packages), file=sys.stderr)


if __name__ == "__main__":
    main()
