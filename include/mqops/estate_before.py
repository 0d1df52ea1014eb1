"""What could be used of the estate when its file was read last: for pages and the kill switch while it cannot be read.

1. It is kept in the lake, in a file that only the owner of the lake can read, each time the file is read and has
   changed. What was taken out of the estate is gone from it as soon as any process has read the file since.
2. It has no rights and no secrets: `reveal`, `notify`, `job_environment` and `retention` are not kept. Whoever was
   named under `reveal` sees no payload while the file cannot be read.
3. A queue manager that is left out, as it has an error, stays as it was kept before; where it never was, its name is
   kept. So `mq_stop` and pages have it also when a second error makes the file unreadable.
4. Where the lake is follows from MQOPS_LAKE, else from the line `lake:` of the file, which is read by itself then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mqops.errors import MqopsError, SettingsError
from mqops.estate import EstateFile, parse
from mqops.estate_parts import MANAGERS
from mqops.estate_sections import Estate
from mqops.formats import numbered
from mqops.lake.files import read_json, refuse_foreign, write_bytes
from mqops.settings_file import Document, FieldPath, read

NAME = "estate_before.json"
NOT_KEPT = ("notify", "job_environment", "retention")
NOT_KEPT_OF_EACH = "reveal"
_LAKE_LINE = re.compile(r"^lake:[ \t].*$", re.MULTILINE)


def keep(file: EstateFile, lake: Path) -> None:
    """Keep what can be used now. Nothing is raised: a lake that is missing or full takes no page away."""
    place = lake / NAME
    with suppress(MqopsError, OSError):
        if not lake.is_dir():
            return
        there = place.read_bytes() if place.is_file() else b""
        if there == (content := _content(file, there)):
            return
        refuse_foreign(lake)
        write_bytes(place, content)


@lru_cache(maxsize=8)
def _content(file: EstateFile, there: bytes) -> bytes:
    """What is kept of a file. Parameters: `there` what was kept so far."""
    value = {key: inside for key, inside in file.value.items() if key not in NOT_KEPT}
    value[MANAGERS] = {
        name: {key: inside for key, inside in settings.items() if key != NOT_KEPT_OF_EACH}
        for name, settings in file.value[MANAGERS].items()
    }
    left_out = [name for name in file.named if name not in value[MANAGERS]]
    value[MANAGERS] |= _managers_of(there, file.path, left_out) if left_out else {}
    kept = numbered(NAME, {"path": str(file.path), "estate": value, "left_out": left_out})
    return json.dumps(kept, default=str).encode()


def _managers_of(there: bytes, path: Path, names: Collection[str]) -> dict[str, Any]:
    """The settings of these queue managers that were kept so far, as far as they are there."""
    try:
        found = _of(json.loads(there), path)
        Estate.model_validate(found)
    except ValueError:  # a ValidationError is one
        return {}
    return {name: found[MANAGERS][name] for name in names if name in found[MANAGERS]}


def before(path: Path, environment: Mapping[str, str], problem: SettingsError) -> EstateFile:
    """The estate as it could be used last.

    Parameters: `path` of its file, which cannot be used; `environment` of the process; `problem` what is wrong with the
    file.

    Raises:
        SettingsError: `problem`, where nothing was kept of this file.
    """
    lake = _lake(path, environment)
    try:
        refuse_foreign(*([lake] if lake else []))
        found = read_json(lake / NAME) if lake else {}
        kept = _of(found, path)
        estate = Estate.model_validate(kept) if kept else None
    except (MqopsError, ValidationError):
        estate = None
    if estate is None:
        raise problem
    document = _document(path)
    places, problems = [one.path for one in document.problems], str(problem).splitlines()
    names = (name for name in found.get("left_out", ()) if name not in estate.queue_managers)
    left_out: dict[FieldPath, Any] = {(MANAGERS, name): None for name in names}
    return EstateFile(path, estate, document, left_out=left_out, problems=problems, places=places, outdated=True)


def _document(path: Path) -> Document:
    """What the file has, also where it cannot be read."""
    try:
        return parse(path.read_text(encoding="utf-8"), source=str(path))[1]
    except (OSError, UnicodeDecodeError):
        return Document(source=str(path))


def _of(kept: Any, path: Path) -> Any:
    """What was kept, where it is of this file."""
    return kept.get("estate") if isinstance(kept, dict) and kept.get("path") == str(path) else None


def _lake(path: Path, environment: Mapping[str, str]) -> Path | None:
    """The lake of an estate file that cannot be used; None where it cannot be known."""
    if named := environment.get("MQOPS_LAKE"):
        return Path(named).resolve()
    try:
        line = _LAKE_LINE.search(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    value = read(line[0], source="").value if line else None
    found = value.get("lake") if isinstance(value, dict) else None
    return (path.parent / found).resolve() if isinstance(found, str) and found else None
