"""Which runs were written to since somebody looked: LAKE/<queue manager>/runs_changed/ has an empty file for each.

1. Whoever writes a file of a run marks the run before and after it (`mqops.lake.files.mark`). So the index of the runs
   (`mqops.look.runs_index`) looks at no other run that is older than an hour.
2. A reader claims a mark by renaming it, reads the run, and then removes what it has claimed. What is written meanwhile
   makes another mark; the claim of a reader that died is a mark like any other.
3. Without the folder nothing is marked: `RunFolder.create` makes it, and so does the index.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from mqops.lake.files import CHANGED


def marked(lake_folder: Path) -> frozenset[str]:
    """The runs that are marked. Parameters: `lake_folder` LAKE/<queue manager>."""
    with suppress(OSError):
        return frozenset(name.partition("!")[0] for name in os.listdir(lake_folder / CHANGED))
    return frozenset()


def claim(lake_folder: Path) -> dict[str, list[Path]]:
    """The runs that are marked, with the claims on their marks, which `drop` removes."""
    claims: dict[str, list[Path]] = {}
    folder = lake_folder / CHANGED
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            run, claimed, _token = name.partition("!")  # no key of a run has one
            path = folder / name
            if not claimed:
                path = folder / f"{run}!{token_hex(8)}"
                with suppress(FileNotFoundError):  # another reader was faster
                    os.rename(folder / name, path)
            claims.setdefault(run, []).append(path)
    return claims


def drop(claims: Iterable[Path]) -> None:
    """Remove claims: the runs were read."""
    for path in claims:
        path.unlink(missing_ok=True)
