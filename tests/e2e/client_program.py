"""A program as shops have them, on either of the clients that PyPI has: `client_program.py pymqi|ibmmq CALL`.

It knows nothing of mqlite: it connects by channel and connection name, requests with properties, serves, backs out.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

CLIENT = sys.argv[1]
mq: Any = importlib.import_module(CLIENT)
C: Any = importlib.import_module(f"{CLIENT}.CMQC") if CLIENT == "pymqi" else mq.CMQC
F: Any = importlib.import_module(f"{CLIENT}.CMQCFC") if CLIENT == "pymqi" else mq.CMQCFC


def connect() -> Any:
    return mq.connect("QM1", "DEV.APP.SVRCONN", "localhost(1414)")


def request(manager: Any) -> None:
    """Two requests with properties, one of which nobody can serve; the reply to the other; a refused name."""
    handle = mq.MessageHandle(manager)
    handle.properties.set(b"colour", "red")
    handle.properties.set(b"count", 7, property_type=C.MQTYPE_INT32, value_length=4)
    try:
        handle.properties.set(b"content-type", "x")
    except mq.MQMIError as error:
        print("refused", error.reason)
    pmo = mq.PMO(Version=C.MQPMO_VERSION_3, Options=C.MQPMO_SYNCPOINT | C.MQPMO_NEW_MSG_ID)
    pmo.OriginalMsgHandle = handle.msg_handle
    queue = mq.Queue(manager, "REQUESTS", C.MQOO_OUTPUT)
    for body in (b"serve me", b"poison"):
        queue.put(body, mq.MD(Format=C.MQFMT_STRING, MsgType=C.MQMT_REQUEST, ReplyToQ=b"REPLIES"), pmo)
    manager.commit()


def serve(manager: Any) -> None:
    """Reply to what can be served. What cannot is backed out, and moved to the backout queue at the threshold."""
    queue = mq.Queue(manager, "REQUESTS", C.MQOO_INPUT_SHARED | C.MQOO_INQUIRE)
    threshold = queue.inquire(C.MQIA_BACKOUT_THRESHOLD)
    while True:
        handle, md = mq.MessageHandle(manager), mq.MD()
        gmo = mq.GMO(Version=C.MQGMO_VERSION_4, Options=C.MQGMO_SYNCPOINT | C.MQGMO_PROPERTIES_IN_HANDLE)
        gmo.MsgHandle = handle.msg_handle
        try:
            body = queue.get(None, md, gmo)
        except mq.MQMIError as error:
            print("no more", error.reason)
            return
        if body != b"poison":
            colour = handle.properties.get(b"colour")
            count = handle.properties.get(b"count", property_type=C.MQTYPE_INT32)
            colour, count = (each[0] if isinstance(each, tuple) else each for each in (colour, count))
            text = colour if isinstance(colour, str) else colour.decode()
            reply = mq.MD(Format=C.MQFMT_STRING, MsgType=C.MQMT_REPLY, CorrelId=md.MsgId)
            mq.Queue(manager, md.ReplyToQ.strip(), C.MQOO_OUTPUT).put(f"{text} {count}".encode(), reply)
            manager.commit()
        elif md.BackoutCount < threshold:
            print("failed", md.BackoutCount)
            manager.backout()
        else:
            name = queue.inquire(C.MQCA_BACKOUT_REQ_Q_NAME).strip()
            mq.Queue(manager, name, C.MQOO_OUTPUT).put(body, mq.MD(), mq.PMO(Options=C.MQPMO_SYNCPOINT))
            manager.commit()


def answer(manager: Any) -> None:
    """The reply to the first request."""
    md = mq.MD()
    body = mq.Queue(manager, "REPLIES", C.MQOO_INPUT_SHARED).get(None, md)
    print("reply", body.decode(), "correlated" if md.CorrelId != bytes(24) else "")


def monitor(manager: Any) -> None:
    """What a monitoring agent asks by PCF."""
    pcf = mq.PCFExecute(manager)
    asked = {C.MQCA_Q_NAME: b"REQUESTS", C.MQIA_Q_TYPE: C.MQQT_ALL, F.MQIACF_Q_STATUS_ATTRS: F.MQIACF_ALL}
    (queue,) = pcf.MQCMD_INQUIRE_Q_STATUS(asked)
    print("age", queue[F.MQIACF_OLDEST_MSG_AGE])
    (channel,) = pcf.MQCMD_INQUIRE_CHANNEL_STATUS({F.MQCACH_CHANNEL_NAME: b"DEV.*"})
    name = channel[F.MQCACH_CONNECTION_NAME]
    name = name if isinstance(name, str) else name.decode()
    print("channel", channel[F.MQIACH_CHANNEL_STATUS] == F.MQCHS_RUNNING, name.strip())
    (described,) = pcf.MQCMD_INQUIRE_Q_MGR()
    print("created", described[C.MQCA_CREATION_DATE] == manager.inquire(C.MQCA_CREATION_DATE))


connection = connect()
{"request": request, "serve": serve, "answer": answer, "monitor": monitor}[sys.argv[2]](connection)
connection.disconnect()
