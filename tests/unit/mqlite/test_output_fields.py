"""Every field that a call returns in a structure, each once, through the C interface.

IBM MQ, "Data types used in the MQI". The MQMD's fields are those of the tests of puts, contexts and gets; here the
whole structure is compared. Structures of calls that mqlite does not have (MQSRO, MQCBD, MQCBC, MQCTLO) are not
in the table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mqi_calls import Mqi, Structure
from mqlite_support import Application, home, make, run_mqsc
from pymqi import CMQC

from mqwire import mqi
from mqwire.layout import Layout

__all__ = ["home"]
MQSC = """DEFINE QLOCAL(Q1) MSGDLVSQ(FIFO)
DEFINE QALIAS(ALIAS) TARGQ(Q1)
DEFINE QMODEL(MODEL) DEFTYPE(TEMPDYN)
DEFINE QLOCAL(OTHER) USAGE(XMITQ)
DEFINE QREMOTE(REMOTE) RNAME(FAR.Q) RQMNAME(OTHER)
DEFINE TOPIC(T) TOPICSTR('prices')"""
TOPIC = "prices/fruit/apples"
COUNTS = ("KnownDestCount", "UnknownDestCount", "InvalidDestCount")
RESOLVED = ("ResolvedQName", "ResolvedQMgrName")


class Bench:
    """A connection, and what a row needs done before it looks."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.calls = Mqi(application.manager.get_handle())

    def opened(self, name: str, options: int, **fields: Any) -> Structure:
        od, handle = Structure(mqi.MQOD, ObjectName=name, **fields), ctypes.c_int()
        self.calls.done("MQOPEN", od, options, ctypes.byref(handle))
        self.calls.done("MQCLOSE", ctypes.byref(handle), 0)
        return od

    def put(self, name: str, **fields: Any) -> tuple[Structure, Structure, Structure]:
        od, md, pmo = Structure(mqi.MQOD, ObjectName=name), Structure(mqi.MQMD, **fields), Structure(mqi.MQPMO)
        self.calls.done("MQPUT1", od, md, pmo, 4, b"data")
        return od, md, pmo

    def got(self, **fields: Any) -> tuple[Structure, Structure, Structure]:
        """What the put of a message and the get of it by an alias return; `fields` of the MQMD."""
        sent = self.put("Q1", **fields)[1]
        handle, length, data = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(9)
        self.calls.done("MQOPEN", Structure(mqi.MQOD, ObjectName="ALIAS"), CMQC.MQOO_INPUT_SHARED, ctypes.byref(handle))
        md, gmo = Structure(mqi.MQMD, MsgId=sent["MsgId"]), Structure(mqi.MQGMO)
        self.calls.done("MQGET", handle, md, gmo, 9, data, ctypes.byref(length))
        self.calls.done("MQCLOSE", ctypes.byref(handle), 0)
        return md, gmo, sent

    def subscribed(self, options: int, room: int = 100, **fields: Any) -> Structure:
        sd = Structure(mqi.MQSD, Options=options, **fields)
        sd.text("SubName", b"S\0rest", CMQC.MQVS_NULL_TERMINATED)
        sd.areas = {name: sd.room(name, room) for name in ("ResObjectString", "SubUserData")}
        if options & CMQC.MQSO_CREATE:
            sd.text("ObjectString", b"fruit/apples\0rest", CMQC.MQVS_NULL_TERMINATED)
            sd["ObjectName"] = "T"
            sd.text("SubUserData", b"mine")
        queue, handle = ctypes.c_int(), ctypes.c_int()
        self.calls.done("MQSUB", sd, ctypes.byref(queue), ctypes.byref(handle))
        self.calls.done("MQCLOSE", ctypes.byref(handle), CMQC.MQCO_KEEP_SUB)
        self.calls.done("MQCLOSE", ctypes.byref(queue), 0)
        return sd

    def topic(self, room: int = 100) -> Structure:
        od, handle = Structure(mqi.MQOD, ObjectType=CMQC.MQOT_TOPIC, ObjectName="T"), ctypes.c_int()
        od.text("ObjectString", b"fruit/apples")
        od.areas = {"ResObjectString": od.room("ResObjectString", room)}
        self.calls.done("MQOPEN", od, CMQC.MQOO_OUTPUT, ctypes.byref(handle))
        self.calls.done("MQCLOSE", ctypes.byref(handle), 0)
        return od


def text_of(structure: Structure, name: str) -> bytes:
    return structure.areas[name].raw[: structure[name + "VSLength"]]


def values(structure: Structure, *names: str) -> tuple[Any, ...]:
    return tuple(structure[name] for name in names)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MQLITE_HOME", str(tmp_path_factory.mktemp("managers")))
        make("QM1", MQSC)
        application = Application()
        yield Bench(application)
        application.manager.disconnect()


CREATE = CMQC.MQSO_CREATE | CMQC.MQSO_DURABLE | CMQC.MQSO_MANAGED
RESUME = CMQC.MQSO_RESUME | CMQC.MQSO_DURABLE
IN, OUT = CMQC.MQOO_INPUT_SHARED, CMQC.MQOO_OUTPUT
LOOKED_AT: dict[tuple[str, str], tuple[Callable[[Bench], Any], Any]] = {
    ("MQOD", "ObjectName"): (lambda b: b.opened("MODEL", IN, DynamicQName="MINE.*")["ObjectName"][:5], "MINE."),
    ("MQOD", "ObjectQMgrName"): (lambda b: b.opened("MODEL", IN)["ObjectQMgrName"], "QM1"),
    ("MQOD", "KnownDestCount"): (lambda b: values(b.opened("Q1", OUT), *COUNTS), (1, 0, 0)),
    ("MQOD", "UnknownDestCount"): (lambda b: values(b.opened("REMOTE", OUT), *COUNTS), (0, 1, 0)),
    ("MQOD", "InvalidDestCount"): (lambda b: values(b.put("Q1")[0], *COUNTS), (1, 0, 0)),
    ("MQOD", "ResolvedQName"): (lambda b: values(b.opened("ALIAS", IN), *RESOLVED), ("Q1", "QM1")),
    ("MQOD", "ResolvedQMgrName"): (lambda b: values(b.opened("REMOTE", OUT), *RESOLVED), ("FAR.Q", "OTHER")),
    ("MQOD", "ResolvedType"): (lambda b: values(b.opened("Q1", IN), "ResolvedType"), (CMQC.MQOT_Q,)),
    ("MQOD", "ResObjectString"): (lambda b: text_of(b.topic(), "ResObjectString").decode(), TOPIC),
    ("MQPMO", "KnownDestCount"): (lambda b: values(b.put("Q1")[2], *COUNTS), (1, 0, 0)),
    ("MQPMO", "UnknownDestCount"): (lambda b: values(b.put("REMOTE")[2], *COUNTS), (0, 1, 0)),
    ("MQPMO", "InvalidDestCount"): (lambda b: values(b.put("ALIAS")[2], *COUNTS), (1, 0, 0)),
    ("MQPMO", "ResolvedQName"): (lambda b: values(b.put("ALIAS")[2], *RESOLVED), ("Q1", "QM1")),
    ("MQPMO", "ResolvedQMgrName"): (lambda b: values(b.put("REMOTE")[2], *RESOLVED), ("FAR.Q", "OTHER")),
    ("MQGMO", "ResolvedQName"): (lambda b: b.got()[1]["ResolvedQName"], "Q1"),
    ("MQGMO", "GroupStatus"): (
        lambda b: b.got(MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP, GroupId=b"g" * 24)[1]["GroupStatus"], ord("L"),
    ),
    ("MQGMO", "SegmentStatus"): (
        lambda b: b.got(MsgFlags=CMQC.MQMF_LAST_SEGMENT, GroupId=b"g" * 24, Offset=4)[1]["SegmentStatus"], ord("L"),
    ),
    ("MQGMO", "Segmentation"): (
        lambda b: [b.got(MsgFlags=flag)[1]["Segmentation"] for flag in (CMQC.MQMF_SEGMENTATION_ALLOWED, 0)],
        [ord("A"), 32],
    ),
    ("MQGMO", "MsgToken"): (lambda b: b.got()[1]["MsgToken"] != bytes(16), True),
    ("MQGMO", "ReturnedLength"): (lambda b: b.got()[1]["ReturnedLength"], 4),
    ("MQSD", "Options"): (lambda b: bool(b.subscribed(CREATE)["Options"] & CMQC.MQSO_FIXED_USERID), True),
    ("MQSD", "SubExpiry"): (lambda b: b.subscribed(RESUME, SubExpiry=-1)["SubExpiry"], -1),
    ("MQSD", "SubUserData"): (lambda b: text_of(b.subscribed(RESUME), "SubUserData"), b"mine"),
    ("MQSD", "SubCorrelId"): (lambda b: b.subscribed(RESUME)["SubCorrelId"] != bytes(24), True),
    ("MQSD", "PubPriority"): (lambda b: b.subscribed(RESUME, PubPriority=9)["PubPriority"], -3),
    ("MQSD", "PubAccountingToken"): (lambda b: len(b.subscribed(RESUME)["PubAccountingToken"]), 32),
    ("MQSD", "PubApplIdentityData"): (
        lambda b: b.subscribed(RESUME, PubApplIdentityData="old")["PubApplIdentityData"], "",
    ),
    ("MQSD", "SubLevel"): (lambda b: b.subscribed(RESUME, SubLevel=0)["SubLevel"], 1),
    ("MQSD", "ResObjectString"): (lambda b: text_of(b.subscribed(RESUME), "ResObjectString").decode(), TOPIC),
    ("MQCNO", "ConnectionId"): (lambda b: connected()[0], True),
}  # fmt: skip


def connected() -> tuple[bool, str]:
    """Whether the identifier is that of DISPLAY CONN, and the name that DISPLAY CONN has of the application."""
    cno, handle, comp, reason = (
        Structure(mqi.MQCNO, 7, ApplName="Payments"),
        ctypes.c_int(),
        ctypes.c_int(),
        ctypes.c_int(),
    )
    cno["Options"] = CMQC.MQCNO_HANDLE_SHARE_BLOCK
    library = Mqi(0)._library
    library.MQCONNX(b"QM1".ljust(48), cno.memory, ctypes.byref(handle), ctypes.byref(comp), ctypes.byref(reason))
    assert (comp.value, reason.value) == (0, 0)

    shown = "\n".join(run_mqsc("DISPLAY CONN(*) TYPE(CONN) APPLTAG CONNOPTS"))
    library.MQDISC(ctypes.byref(handle), ctypes.byref(comp), ctypes.byref(reason))
    identifier = cno["ConnectionId"].hex().upper()
    return identifier[:8] == b"AMQC".hex().upper() and f"{identifier[32:]})" in shown, shown


@pytest.mark.parametrize(("structure", "field"), LOOKED_AT)
def test_field_is_filled_in(bench: Bench, structure: str, field: str) -> None:
    look, right = LOOKED_AT[structure, field]
    if structure == "MQSD" and field != "Options":
        bench.subscribed(CREATE | CMQC.MQSO_ALTER)
    assert look(bench) == right


def test_application_name_of_the_connect_options_is_the_application(bench: Bench) -> None:
    assert "APPLTAG(Payments)" in connected()[1]


def test_whole_descriptor_is_returned_by_put_and_get(bench: Bench) -> None:
    md, _, sent = bench.got(Format="MQSTR", Expiry=-1, Priority=3, MsgType=8, UserIdentifier="nobody")
    assert bytes(md.memory) == bytes(sent.memory)
    assert sent["MsgId"] != bytes(24)
    for name in ("PutApplType", "PutApplName", "PutDate", "PutTime", "UserIdentifier"):
        assert sent[name] not in {"", 0, "nobody"}, name


def test_status_of_asynchronous_puts(bench: Bench) -> None:
    run_mqsc("DEFINE QLOCAL(SMALL) MAXDEPTH(3)\nDEFINE QALIAS(SMALL.A) TARGQ(SMALL)")
    wanted, status = CMQC.MQPMO_ASYNC_RESPONSE | CMQC.MQPMO_NO_SYNCPOINT, Structure(mqi.MQSTS)
    for right in [(0, 0)] * 3 + [(2, CMQC.MQRC_Q_FULL)] * 2:
        pmo = Structure(mqi.MQPMO, Options=wanted)
        od = Structure(mqi.MQOD, ObjectName="SMALL.A")
        assert bench.calls.call("MQPUT1", od, Structure(mqi.MQMD), pmo, 1, b"x") == right
    bench.put("Q1")  # not asynchronous
    bench.calls.done("MQSTAT", CMQC.MQSTAT_TYPE_ASYNC_ERROR, status)
    counts = ("PutSuccessCount", "PutWarningCount", "PutFailureCount")
    assert values(status, "CompCode", "Reason", *counts) == (2, CMQC.MQRC_Q_FULL, 3, 0, 2)
    assert values(status, "ObjectType", "ObjectName", "ObjectQMgrName") == (CMQC.MQOT_Q, "SMALL.A", "")
    assert values(status, "ResolvedObjectName", "ResolvedQMgrName") == ("SMALL", "QM1")
    assert values(status, "ObjectStringVSLength", "SubNameVSLength", "OpenOptions", "SubOptions") == (0, 0, 0, 0)
    bench.calls.done("MQSTAT", CMQC.MQSTAT_TYPE_ASYNC_ERROR, status)
    assert values(status, "CompCode", "Reason", *counts, "ObjectName") == (0, 0, 0, 0, 0, ""), "it begins anew"


@pytest.mark.parametrize(
    ("kind", "reason"), [(7, CMQC.MQRC_STAT_TYPE_ERROR), (CMQC.MQSTAT_TYPE_RECONNECTION, CMQC.MQRC_ENVIRONMENT_ERROR)]
)
def test_status_of_another_kind(bench: Bench, kind: int, reason: int) -> None:
    assert bench.calls.call("MQSTAT", kind, Structure(mqi.MQSTS)) == (CMQC.MQCC_FAILED, reason)


@pytest.mark.parametrize("room", [0, 6, 100])
def test_long_name_that_has_no_room_is_returned_from_its_right_end_with_its_length(bench: Bench, room: int) -> None:
    for structure in (bench.topic(room or 1), bench.subscribed(CREATE | CMQC.MQSO_ALTER, room or 1)):
        assert structure["ResObjectStringVSLength"] == len(TOPIC)
        assert structure.areas["ResObjectString"].raw[: len(TOPIC)].decode() == TOPIC[-(room or 1) :]


def test_every_structure_of_the_calls_is_looked_at() -> None:
    layouts = {each.name for each in vars(mqi).values() if isinstance(each, Layout)}
    input_only = {"MQBO", "MQCMHO", "MQDMHO", "MQDMPO", "MQSMPO", "MQCSP", "MQBNO", "MQCD", "MQSCO", "MQCHARV"}
    of_calls_not_there = {"MQSRO", "MQCBD", "MQCBC", "MQCTLO"}
    elsewhere = {"MQMD", "MQSTS", "MQIMPO", "MQPD"}  # properties in test_property_calls, the others here
    assert layouts == {structure for structure, _ in LOOKED_AT} | input_only | of_calls_not_there | elsewhere
