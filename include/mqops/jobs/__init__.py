"""The entry points that Spark starts: arguments → a step's function → a summary. Each is a program of its own.

The repository's `spark_jobs/` leads here, so that an installed mqops has them, too.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent


def job(name: str) -> str:
    """Path of a Spark entry point (`act`, `decide`, `expiry`, `observe`, `quality`), as spark-submit wants it."""
    return str(_FOLDER / f"{name}.py")
