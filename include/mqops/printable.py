"""Text of others (names, fields of messages, file names, values of a form) as logs, tables and errors show it.

It ends no line, steers no terminal, hides nothing, and opens or closes no group of lines in Airflow's log view.
"""

from __future__ import annotations

import re

from mqwire import printable as wire

_LOG_GROUP = re.compile(r"::(?=(?:end)?group::)", re.IGNORECASE)
"""Airflow's log view takes `::group::` and `::endgroup::` anywhere in a line for the edge of a foldable group."""


def printable(value: object) -> str:
    """The value as text for people, in one line.

    Each character that cannot be seen (controls, line breaks, marks of direction) becomes U+FFFD, and so do the first
    colons of a mark for Airflow's log groups.
    """
    return _LOG_GROUP.sub("\N{REPLACEMENT CHARACTER}" * 2, wire.printable(str(value)))
