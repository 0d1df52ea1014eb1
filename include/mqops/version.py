"""Which mqops this is: its version, and the commit that it was made of."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_WRITTEN = _FOLDER / "commit.txt"
"""Written into the wheel when it is made. The sources do not have it: there git knows."""


def version_text() -> str:
    """`mqops, version 1.2.3 (commit 0123456789ab)`; without the commit where nothing says it."""
    found = commit()
    return f"mqops, version {version('mqops')}" + (f" (commit {found})" if found else "")


def commit() -> str:
    """The commit, "" where it is not known."""
    if _WRITTEN.is_file():
        return _WRITTEN.read_text(encoding="ascii").strip()
    if not (_FOLDER.parents[1] / ".git").exists():  # not the sources; a repository around them has other commits
        return ""
    asked = ["git", "-C", str(_FOLDER), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
