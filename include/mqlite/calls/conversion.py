"""MQGMO_CONVERT: the data in the encoding and character set that the application asked for, where it is known how."""

from __future__ import annotations

from dataclasses import replace

from mqlite.calls.get import GetRequest, GetResult
from mqlite.messages import descriptor as d
from mqlite.messages.conversion import Converted, NotConverted, Own, converted
from mqlite.messages.transmitted import Transmitted
from mqlite.objects.manager import Manager
from mqlite.platform import Platform
from mqwire import constants as c
from mqwire.fields import before_nul
from mqwire.structures import MQMD


def convert(got: GetResult, request: GetRequest, manager: Manager) -> GetResult:
    """The message converted; unconverted with a warning that says why (IBM MQ, "Conversion processing").

    A truncated message is converted where the application accepts that it is truncated. One that does not fit after
    conversion is truncated then, too, else returned unconverted (MQRC_CONVERTED_MSG_TOO_BIG).
    """
    if got.reason == c.MQRC_TRUNCATED_MSG_FAILED:
        return got
    encoding, ccsid = d.encoding_of(request.md)
    if ccsid in (c.MQCCSI_Q_MGR, c.MQCCSI_APPL):
        ccsid = manager.application_ccsid
    md = MQMD.unpack(bytes(got.md))
    if (md.encoding, md.coded_char_set_id) == (encoding, ccsid) or not got.body or not request.room:
        return got
    if not before_nul(md.format):
        return replace(got, comp=c.MQCC_WARNING, reason=got.reason or c.MQRC_FORMAT_ERROR)
    message = Transmitted(queue="", queue_manager="", md=md, body=got.body)
    own = Own(encoding=manager.encoding, ccsid=manager.ccsid, zos=manager.platform == Platform.ZOS)
    try:
        done = converted(message, encoding, ccsid, own)
    except NotConverted as failed:
        return replace(got, comp=c.MQCC_WARNING, reason=got.reason or failed.reason)
    return _fitted(got, request, done)


def _fitted(got: GetResult, request: GetRequest, done: Converted) -> GetResult:
    """The converted message as it goes into the buffer of the application."""
    new, reason = done.message, got.reason or (c.MQRC_PARTIALLY_CONVERTED if done.partially else 0)
    if len(new.body) > request.room:
        if not request.options & c.MQGMO_ACCEPT_TRUNCATED_MSG:
            return replace(got, comp=c.MQCC_WARNING, reason=c.MQRC_CONVERTED_MSG_TOO_BIG)
        reason = c.MQRC_TRUNCATED_MSG_ACCEPTED
    got = replace(got, md=bytearray(new.md.pack()), body=new.body)
    return replace(got, comp=c.MQCC_WARNING, reason=reason) if reason else got
