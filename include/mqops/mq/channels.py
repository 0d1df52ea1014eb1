"""Message channels by PCF inquiry: which serve a transmission queue, and in what state each is."""

from __future__ import annotations

from typing import Any

from mqops.errors import MQError
from mqops.mq.inquire import command
from mqops.mq.session import Session
from mqwire import constants as c

INACTIVE = "INACTIVE"
"""The state of a channel without status."""
STATES = {value: name.removeprefix("MQCHS_") for name, value in vars(c).items() if name.startswith("MQCHS_")}


def serving(session: Session) -> dict[str, list[str]]:
    """Transmission queue → channels with that XMITQ. Raises `MQError`."""
    found: dict[str, list[str]] = {}
    wanted = [c.MQCACH_CHANNEL_NAME, c.MQIACH_CHANNEL_TYPE, c.MQCACH_XMIT_Q_NAME]
    arguments = {c.MQCACH_CHANNEL_NAME: b"*", c.MQIACF_CHANNEL_ATTRS: wanted}
    for row in _rows(session, "MQCMD_INQUIRE_CHANNEL", arguments, c.MQRCCF_CHANNEL_NOT_FOUND):
        found.setdefault(row.get(c.MQCACH_XMIT_Q_NAME, ""), []).append(row[c.MQCACH_CHANNEL_NAME])
    return found


def states(session: Session, generic_name: str = "*") -> dict[str, str]:
    """Channel → its state, of those that are not inactive. Of several instances the first counts. Raises `MQError`."""
    found: dict[str, str] = {}
    arguments = {c.MQCACH_CHANNEL_NAME: generic_name.encode()}
    for row in _rows(session, "MQCMD_INQUIRE_CHANNEL_STATUS", arguments, c.MQRCCF_CHL_STATUS_NOT_FOUND):
        found.setdefault(row[c.MQCACH_CHANNEL_NAME], STATES.get(row.get(c.MQIACH_CHANNEL_STATUS, 0), INACTIVE))
    return found


def _rows(session: Session, name: str, arguments: dict[int, Any], none: int) -> list[dict[int, Any]]:
    """The answers of a PCF command that name a channel. Parameters: `none` reason code of there being none."""
    try:
        rows = command(session, name, arguments)
    except MQError as error:
        if error.reason == none:
            return []
        raise
    return [row for row in rows if c.MQCACH_CHANNEL_NAME in row]
