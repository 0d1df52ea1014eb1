"""Names in MQSC commands that mqops shows or carries out. It knows no queue manager."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Z0-9._]+")


def mqsc_name(name: str) -> str:
    """A name as MQSC takes it: in quotation marks where MQSC would fold its letters or misread other signs.

    A quotation mark inside is doubled. IBM MQ, "Rules for using MQSC commands".
    """
    return name if _PLAIN.fullmatch(name) else "'" + name.replace("'", "''") + "'"
