"""The parts of mqops that are installed by name (`pip install 'mqops[spark]'`), and how a missing one is told."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from mqops.errors import SettingsError

PART_OF = {
    **dict.fromkeys(("pymqi", "numpy"), "mq"),
    "icu": "codepages",
    "ibmmq": "ibmmq",
    **dict.fromkeys(("cffi", "_cffi_backend"), "embedded"),
    **dict.fromkeys(("pyspark", "py4j", "grpc", "pandas"), "spark"),
    **dict.fromkeys(("great_expectations", "nh3", "referencing", "schwifty", "xmlschema"), "quality"),
    **dict.fromkeys(("airflow", "fastapi", "starlette", "sqlalchemy", "jinja2", "markupsafe"), "airflow"),
    **dict.fromkeys(("anyio", "asgiref", "jsonschema", "markdown_it", "vl_convert"), "airflow"),
}
"""A module that the core does not need → the extra of the package `mqops` that brings it."""
QUALITY = "quality"
"""Where this room lacks a module that other parts have as well, it is told as of its own part."""
INSTEAD = {"mq": "; where there is no compiler, 'mqops[ibmmq]'"}
"""An extra → another one that does."""


def missing_part(error: BaseException) -> SettingsError | None:
    """What to tell people of an import that failed; None where it is not that a part is not installed."""
    module = error.name.partition(".")[0] if isinstance(error, ModuleNotFoundError) and error.name else ""
    extra = PART_OF.get(module)
    if extra is None:
        return None
    if _asking(error).startswith(f"mqops.{QUALITY}."):
        extra = QUALITY
    return SettingsError(
        f"This needs the part {extra} ({module} is not installed): pip install 'mqops[{extra}]'{INSTEAD.get(extra, '')}"
    )


def _asking(error: BaseException) -> str:
    """The module of ours that asked for what is missing."""
    found, trace = "", error.__traceback__
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__"))
        found, trace = name if name.startswith("mqops") else found, trace.tb_next
    return found


def pyspark_must_be_whole() -> None:
    """Look whether pyspark's files are its own: the package `pyspark-client`, which Airflow's Spark provider asks for,
    has files of the same names, and the one that is installed last leaves its own.

    Raises:
        SettingsError: they are of another version.
    """
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `mqops --help` needs it not

    try:
        wanted, client = version("pyspark"), version("pyspark-client")
    except PackageNotFoundError:
        return  # one of them alone
    found = find_spec("pyspark")
    place = Path(found.origin).with_name("version.py") if found and found.origin else None
    if place is not None and place.is_file() and f'"{wanted}"' not in place.read_text(encoding="utf-8"):
        raise SettingsError(
            f"The package pyspark-client {client} has overwritten files of pyspark {wanted}: pip uninstall --yes "
            f"pyspark-client; pip install --force-reinstall --no-deps pyspark=={wanted}"
        )
