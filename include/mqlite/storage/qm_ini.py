"""qm.ini, the configuration file in a queue manager's folder that an administrator may write, read when it starts.

Stanzas as IBM MQ has them: a line with a name and a colon, then lines `attribute=value`; what follows a # or ; at the
beginning of a line is a comment. mqlite reads one attribute:

    TuningParameters:
       ExpiryInterval=300
"""

from __future__ import annotations

import logging
from pathlib import Path

NAME = "qm.ini"
EXPIRY_INTERVAL = 300
MOST_SECONDS = 99_999_999
log = logging.getLogger("mqlite.service")


def expiry_interval(folder: Path) -> int:
    """Seconds between two scans for expired messages of a queue manager that is not on z/OS: as ExpiryInterval says,
    300 where it says nothing or no number from 1 to 99999999, which goes to the error log.
    """
    found = stanza(folder, "TuningParameters").get("expiryinterval")
    if found is None:
        return EXPIRY_INTERVAL
    if found.isascii() and found.isdigit() and 1 <= int(found) <= MOST_SECONDS:
        return int(found)
    log.warning(
        "%s: ExpiryInterval=%s is not a number of seconds from 1 to %d; %d is used",
        NAME, found, MOST_SECONDS, EXPIRY_INTERVAL,
    )  # fmt: skip
    return EXPIRY_INTERVAL


def stanza(folder: Path, name: str) -> dict[str, str]:
    """The attributes of a stanza, names in lower case; empty if the file or the stanza is not there."""
    try:
        lines = (folder / NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    found: dict[str, str] = {}
    within = False
    for line in (line.strip() for line in lines):
        if not line or line[0] in "#;":
            continue
        if line.endswith(":") and "=" not in line:
            within = line[:-1].strip().lower() == name.lower()
        elif within and "=" in line:
            attribute, _, value = line.partition("=")
            found[attribute.strip().lower()] = value.strip()
    return found
