"""The command server: takes commands from the platform's command queue and puts the answers on the reply queue.

There is no daemon: the process that makes a command available on the queue does the work (`mqlite.pcf.hook`), in a
connection of its own, before its call returns. Answers are in the encoding and CCSID of the command, and find back by
CorrelId as the command's report options say. Whatever goes wrong here is the answer's business, never the putter's.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.calls import get as getting
from mqlite.calls import opening
from mqlite.calls import put as putting
from mqlite.calls.opening import OpenObject
from mqlite.commands import run_as
from mqlite.conditions import CommandError, Condition
from mqlite.connections import unit_of_work
from mqlite.connections.connection import Connection
from mqlite.failure import Failure
from mqlite.objects.caller import Caller
from mqlite.objects.manager import COMMAND_QUEUES
from mqlite.pcf.requests import request_of
from mqlite.pcf.responses import answer, refusal, within
from mqwire import constants as c
from mqwire import pcf
from mqwire.errors import CutShort, NotText, WireError
from mqwire.fields import before_nul
from mqwire.structures import MQMD

TYPES = (c.MQCFT_COMMAND, c.MQCFT_COMMAND_XR)
log = logging.getLogger("mqlite.pcf")
_working = threading.local()


def answer_commands(connection: Caller) -> None:
    """Serve the command queue, unless this thread is doing so already (an answer may be a command's target)."""
    if getattr(_working, "now", False):
        return
    _working.now = True
    try:
        serve(connection)
    except sqlite3.Error as error:
        log.error("AMQ8506E: command server MQGET or MQPUT failed: %s", error)
    except Exception:
        log.exception("AMQ8506E: command server MQGET or MQPUT failed")
    finally:
        _working.now = False


def serve(connection: Caller) -> None:
    """Answer every command that is on the queue."""
    own = Connection(connection.manager, user=connection.user, shared=False, conn_name=f"pid {os.getpid()}")
    own.privileged = True  # whose authority counts is each command's business
    queue = COMMAND_QUEUES[connection.manager.platform]
    try:
        commands = opening.open_queue(own, name=queue, queue_manager="", dynamic_name="", options=c.MQOO_INPUT_SHARED)
        while (message := _next(own, commands)) is not None:
            md, body = message
            _reply(own, md, _answers(own, md, body))
            unit_of_work.commit(own)
    finally:
        unit_of_work.disconnect(own, 0, keep=False)


def _next(connection: Connection, commands: OpenObject) -> tuple[MQMD, bytes] | None:
    request = getting.GetRequest(
        md=bytearray(MQMD().pack()), options=c.MQGMO_SYNCPOINT, match=0, token=bytes(16), wait=0, room=1 << 30
    )
    try:
        got = getting.get(connection, commands, request)
    except Failure as failure:
        if failure.reason in {c.MQRC_NO_MSG_AVAILABLE, c.MQRC_GET_INHIBITED}:
            return None
        raise
    return (MQMD.unpack(got.md), got.body) if got else None


def _answers(connection: Connection, md: MQMD, body: bytes) -> list[pcf.Message]:
    number = 0
    try:
        if md.format != c.MQFMT_ADMIN:
            raise CommandError(Condition.FAILED, reason=c.MQRCCF_MD_FORMAT_ERROR)
        message = _decoded(md, body, connection.manager.application_ccsid)
        number = message.header.command
        _check_header(message.header)
        command, request = request_of(message, connection.manager.platform, connection.manager.name)
        user = before_nul(md.user_identifier)
        admin = EngineAdministration(connection.manager, connection.store, user=user)
        try:
            return answer(number, command, run_as(admin, user, request))
        finally:
            admin.close()
    except CommandError as error:
        return refusal(number, error)
    except Failure as failure:
        return refusal(number, CommandError(Condition.FAILED, reason=failure.reason))
    except Exception:
        log.exception("AMQ8506E: command %d failed", number)
        return refusal(number, CommandError(Condition.FAILED))


def _decoded(md: MQMD, body: bytes, own_ccsid: int) -> pcf.Message:
    try:
        return pcf.decode(body, encoding=md.encoding, ccsid=md.coded_char_set_id or own_ccsid)
    except WireError as wrong:
        raise CommandError(Condition.FAILED, reason=_reason(wrong)) from wrong


def _reason(wrong: WireError) -> int:
    """The MQRCCF_ code for what is wrong with the bytes."""
    if isinstance(wrong, CutShort) and wrong.structure == "MQCFH":
        return c.MQRCCF_MSG_LENGTH_ERROR
    by_place = {
        ("MQCFH", "ParameterCount"): c.MQRCCF_CFH_PARM_COUNT_ERROR,
        ("MQCFH", "StrucLength"): c.MQRCCF_CFH_LENGTH_ERROR,
        ("MQCFH", "Version"): c.MQRCCF_CFH_VERSION_ERROR,
        ("MQCFST", "StringLength"): c.MQRCCF_CFST_STRING_LENGTH_ERR,
        ("MQCFSL", "StringLength"): c.MQRCCF_CFSL_STRING_LENGTH_ERR,
        ("MQCFSL", "Count"): c.MQRCCF_CFSL_COUNT_ERROR,
        ("MQCFIL", "Count"): c.MQRCCF_CFIL_COUNT_ERROR,
    }
    by_structure = {
        "MQCFIN": c.MQRCCF_CFIN_LENGTH_ERROR,
        "MQCFST": c.MQRCCF_CFST_LENGTH_ERROR,
        "MQCFIL": c.MQRCCF_CFIL_LENGTH_ERROR,
        "MQCFSL": c.MQRCCF_CFSL_LENGTH_ERROR,
        "MQCFBS": c.MQRCCF_CFBS_LENGTH_ERROR,
        "MQCFIF": c.MQRCCF_CFIF_LENGTH_ERROR,
        "MQCFSF": c.MQRCCF_CFSF_LENGTH_ERROR,
        "MQCFGR": c.MQRCCF_CFGR_LENGTH_ERROR,
        "MQCFH": c.MQRCCF_MSG_LENGTH_ERROR,
    }
    found = by_place.get((wrong.structure, wrong.field)) or by_structure.get(wrong.structure)
    return found or c.MQRCCF_STRUCTURE_TYPE_ERROR


def _check_header(header: pcf.MQCFH) -> None:
    """Raises CommandError for a header that is not that of a command."""
    if header.type not in TYPES:
        raise CommandError(Condition.FAILED, reason=c.MQRCCF_CFH_TYPE_ERROR)
    if header.msg_seq_number != 1:
        raise CommandError(Condition.FAILED, reason=c.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR)
    if header.control != c.MQCFC_LAST:
        raise CommandError(Condition.FAILED, reason=c.MQRCCF_CFH_CONTROL_ERROR)


def _reply(connection: Connection, md: MQMD, responses: list[pcf.Message]) -> None:
    """Put the answer's messages on the reply queue, by the authority of the command's user. They are in no unit of
    work: MAXUMSGS limits no answer.

    Where no answer is asked for, or the context names no user, they are dropped, and so is each whose put fails.
    """
    reply_to, user = before_nul(md.reply_to_q), before_nul(md.user_identifier)
    if md.msg_type != c.MQMT_REQUEST or not reply_to or not user:
        return
    with _dropping():
        target = opening.open_queue(
            connection,
            name=reply_to,
            queue_manager=before_nul(md.reply_to_q_mgr),
            dynamic_name="",
            options=c.MQOO_OUTPUT,
            user=user,
        )
        try:
            head = _reply_head(md, connection.manager.application_ccsid)
            for response in responses:
                body = _encoded(response, head)
                request = putting.PutRequest(
                    md=bytearray(head.pack()), options=c.MQPMO_NO_SYNCPOINT, context=0, body=body
                )
                with _dropping():
                    putting.put(connection, target, request)
        finally:
            opening.close(connection, target.handle, c.MQCO_NONE)


def _encoded(response: pcf.Message, head: MQMD) -> bytes:
    """The data of an answer. Names of programs may be in any character set: what has no place in that of the answer is
    a question mark there, so that the answer comes."""
    try:
        return pcf.encode(response, encoding=head.encoding, ccsid=head.coded_char_set_id)
    except NotText:
        there = within(response, head.coded_char_set_id)
        return pcf.encode(there, encoding=head.encoding, ccsid=head.coded_char_set_id)


@contextmanager
def _dropping() -> Iterator[None]:
    """What cannot be put is dropped, and the log says so."""
    try:
        yield
    except Failure as failure:
        log.warning("AMQ8507W: answer of the command server not put, reason %d", failure.reason)


def _reply_head(md: MQMD, own_ccsid: int) -> MQMD:
    """The MQMD of an answer to the command that came with `md`."""
    passes = bool(md.report & c.MQRO_PASS_DISCARD_AND_EXPIRY)
    return replace(
        MQMD(),
        msg_type=c.MQMT_REPLY,
        format=c.MQFMT_ADMIN,
        encoding=md.encoding,
        coded_char_set_id=md.coded_char_set_id or own_ccsid,
        persistence=md.persistence,
        priority=md.priority,
        expiry=md.expiry if passes else c.MQEI_UNLIMITED,
        report=md.report & c.MQRO_DISCARD_MSG if passes else 0,
        msg_id=md.msg_id if md.report & c.MQRO_PASS_MSG_ID else c.MQMI_NONE,
        correl_id=md.correl_id if md.report & c.MQRO_PASS_CORREL_ID else md.msg_id,
    )
