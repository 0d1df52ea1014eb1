"""Where a lake can be: a folder of a file system. A URL is refused where it is named, before anything is made.

A lake needs what POSIX promises: locks that other processes see, a rename in one step, fsync, and modes that keep a
file private. An object store has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mqops.errors import SettingsError

_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
"""How a URL begins (RFC 3986, 3.1); blanks in front make it no folder."""


def why_no_lake(place: str) -> str:
    """Why no lake can be there, in words; "" where one can. Parameters: `place` as a person named it."""
    scheme = _SCHEME.match(place)
    if scheme is None:
        return ""
    return (
        f"{place} is no place for a lake: the scheme {scheme[1]}: is not supported. A lake needs a folder of a file "
        "system with locks, renames in one step, fsync and private files, mounted on every machine that works with "
        "it. Name the folder by its path, such as /var/lib/mqops/lake (a relative name with a colon: ./a:b)"
    )


def lake_named(environment: Mapping[str, str]) -> str:
    """What MQOPS_LAKE says, blank where it says nothing. Raises `SettingsError`: no lake can be there."""
    named = environment.get("MQOPS_LAKE", "")
    if why := why_no_lake(named):
        raise SettingsError(f"MQOPS_LAKE: {why}")
    return named
