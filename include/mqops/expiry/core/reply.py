"""The expiry of a reply (E19): one argument for the three choices that the page names."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from mqops.report import correl_id_of_answer
from mqwire import constants as c
from mqwire.structures import MQMD


def reply_expiry(request: int, expiry: Literal["remaining", "unlimited"] | int, *, retained: int = 0) -> int:
    """The Expiry of a reply, in tenths of a second.

    Parameters: `request` Expiry of the request as got; `expiry` "remaining" copies what remains of it, "unlimited", or
    a time in tenths of a second; `retained` how long the program has kept the request, in tenths of a second.

    Raises:
        ValueError: an explicit time that is not greater than zero.
    """
    if expiry == "remaining":
        return request if request == c.MQEI_UNLIMITED else max(1, request - retained)
    if expiry == "unlimited":
        return c.MQEI_UNLIMITED
    if expiry <= 0:
        raise ValueError(f"an expiry is greater than zero tenths of a second, not {expiry}")
    return expiry


def reply_descriptor(
    request: MQMD, *, expiry: Literal["remaining", "unlimited"] | int = "remaining", retained: int = 0
) -> MQMD:
    """The descriptor of a reply: type, identifiers by the request's report options, priority, persistence, expiry.

    Raises as `reply_expiry`. Format, CCSID and Encoding are the program's to set.
    """
    msg_id = request.msg_id if request.report & c.MQRO_PASS_MSG_ID else c.MQMI_NONE
    return replace(
        MQMD(),
        msg_type=c.MQMT_REPLY,
        msg_id=msg_id,
        correl_id=correl_id_of_answer(request),
        priority=request.priority,
        persistence=request.persistence,
        report=request.report & c.MQRO_DISCARD_MSG if request.report & c.MQRO_PASS_DISCARD_AND_EXPIRY else c.MQRO_NONE,
        expiry=reply_expiry(request.expiry, expiry, retained=retained),
    )
