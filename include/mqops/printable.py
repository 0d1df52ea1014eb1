"""Text of others (names, fields of messages, file names, values of a form) as logs, tables and errors show it.

It ends no line, steers no terminal, hides nothing; in Airflow's log view it opens or closes no group of lines and is no
link.
"""

from __future__ import annotations

import re

from mqwire import printable as wire

_INSTEAD = "\N{REPLACEMENT CHARACTER}"
_LOG_GROUP = re.compile(r"::(?=(?:end)?group::)", re.IGNORECASE)
"""Airflow's log view takes `::group::` and `::endgroup::` anywhere in a line for the edge of a foldable group."""
_LOG_LINK = re.compile(r"(?<=http):(?=//)|(?<=https):(?=//)", re.IGNORECASE)
"""It makes a link of `http://` and `https://` anywhere in a line, with what follows."""


def printable(value: object) -> str:
    """The value for a line of a log: `visible`, with U+FFFD for the colon that would make a link of it."""
    return _LOG_LINK.sub(_INSTEAD, visible(value))


def visible(value: object) -> str:
    """The value as text for people, in one line.

    Each character that cannot be seen (controls, line breaks, marks of direction) becomes U+FFFD, and so do the first
    colons of a mark for Airflow's log groups.
    """
    return _LOG_GROUP.sub(_INSTEAD * 2, wire.printable(str(value)))
