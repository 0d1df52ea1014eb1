"""Names in MQSC commands that mqops shows or carries out. It knows no queue manager."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Z0-9._]+")


MOST_DEPTH = 999_999_999
"""The largest MAXDEPTH."""


def raised_max_depth(queue: str, max_depth: int, needed: int) -> str:
    """The command that gives a local queue more room: twice what it has, or what is needed where that is more.

    Parameters: `max_depth` of the queue and `needed`, in messages.
    """
    return f"ALTER QLOCAL({mqsc_name(queue)}) MAXDEPTH({min(max(2 * max_depth, needed), MOST_DEPTH)})"


def mqsc_name(name: str) -> str:
    """A name as MQSC takes it: in quotation marks where MQSC would fold its letters or misread other signs.

    A quotation mark inside is doubled. IBM MQ, "Rules for using MQSC commands".
    """
    return name if _PLAIN.fullmatch(name) else quoted(name)


def quoted(text: str) -> str:
    """A text in quotation marks, as MQSC and rules tables take it: those inside are doubled."""
    return "'" + text.replace("'", "''") + "'"
