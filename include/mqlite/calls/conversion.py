"""MQGMO_CONVERT: the data in the encoding and character set that the application asked for, where it is known how."""

from __future__ import annotations

from dataclasses import replace

from mqlite.calls.get import GetRequest, GetResult
from mqlite.messages import descriptor as d
from mqlite.messages.conversion import NotConverted, converted
from mqlite.messages.transmitted import Transmitted
from mqlite.objects.manager import Manager
from mqwire import constants as c
from mqwire.structures import MQMD


def convert(got: GetResult, request: GetRequest, manager: Manager) -> GetResult:
    """The message converted; unconverted with a warning (2110, 2119) where that cannot be done without loss or it was
    truncated.
    """
    if got.reason in (c.MQRC_TRUNCATED_MSG_ACCEPTED, c.MQRC_TRUNCATED_MSG_FAILED):
        return got
    encoding, ccsid = d.encoding_of(request.md)
    ccsid = ccsid or manager.application_ccsid
    md = MQMD.unpack(bytes(got.md))
    if (md.encoding, md.coded_char_set_id) == (encoding, ccsid) or not got.body:
        return got
    if not md.format:
        return replace(got, comp=c.MQCC_WARNING, reason=c.MQRC_FORMAT_ERROR)
    message = Transmitted(queue="", queue_manager="", md=md, body=got.body)
    try:
        done = converted(message, encoding, ccsid)
    except NotConverted:
        return replace(got, comp=c.MQCC_WARNING, reason=c.MQRC_NOT_CONVERTED)
    raw = bytearray(done.md.pack())
    if len(done.body) > request.room:
        return replace(got, comp=c.MQCC_WARNING, reason=c.MQRC_CONVERTED_MSG_TOO_BIG)
    return replace(got, md=raw, body=done.body)
