"""docs/mqlite.md is true: what it says is not there answers what it says."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import pymqi
import pytest
from click.testing import CliRunner
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC, CMQCFC

from mqlite.attributes import Kind
from mqlite.c_interface import calls
from mqlite.c_interface.bridge import prefix
from mqlite.c_interface.calls import Interface
from mqlite.c_interface.signatures import BAGS, CALLS, names
from mqlite.calls import get, opening, put
from mqlite.cli import main
from mqlite.commands import COMMANDS
from mqlite.publish_subscribe import subscriptions, topics
from mqwire import constants as c

PAGE = Path(__file__).resolve().parents[3] / "docs" / "mqlite.md"
NO_OPTION = ("VERSION", "LENGTH", "STRUC_ID", "MASK")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not set(line) <= set("|- ")
]


def row(label: str) -> tuple[list[str], int]:
    """The names of a row, and the reason code."""
    (found,) = [each for each in ROWS if each[0] == label]
    return re.findall(r"`(MQ\w+)`", found[1]), int(found[2].split()[0])


def options_without(prefix_: str, known: int) -> list[str]:
    """Options of that prefix with a bit that is not known."""
    return [
        name
        for name in sorted(vars(c))
        if name.startswith(prefix_) and not any(part in name for part in NO_OPTION) and getattr(c, name) & ~known
    ]


@pytest.mark.parametrize(
    ("label", "missing"),
    [
        ("MQCONNX options", options_without("MQCNO_", calls.CONNECT_OPTIONS)),
        ("MQOPEN options", options_without("MQOO_", opening.KNOWN)),
        ("MQPUT options, queues", options_without("MQPMO_", put.KNOWN)),
        ("MQPUT options, topics", options_without("MQPMO_", ~topics.UNSUPPORTED)),
        ("MQMD.Report", options_without("MQRO_", put.KNOWN_REPORTS)),
        ("MQGET options", options_without("MQGMO_", get.KNOWN)),
        ("MQSUB options", options_without("MQSO_", subscriptions.KNOWN)),
        ("MQCLOSE options", options_without("MQCO_", 0b1111)),
    ],
)
def test_options_of_the_page_are_those_of_the_code(label: str, missing: list[str]) -> None:
    assert sorted(row(label)[0]) == missing


def test_commands_of_the_page_are_those_of_the_code() -> None:
    listed = {(verb, noun) for verb, nouns, *_ in ROWS if verb.isupper() for noun in nouns.split()}
    assert listed == set(COMMANDS)


def test_calls_that_are_not_there(application: Application) -> None:
    listed, answer = row("MQI calls")
    assert sorted(listed) == sorted(call for call in CALLS if not hasattr(Interface, call.lower()))
    library = ctypes.CDLL(str(prefix() / "lib64" / "libmqm_r.so"))
    for call, parameters in [(name, CALLS[name]) for name in listed] + list(BAGS.items()):
        comp, reason = ctypes.c_int(), ctypes.c_int()
        arguments: list[Any] = [None if "*" in part else 0 for part in parameters.split(",")]
        if names(parameters)[0] == "hconn":
            arguments[0] = application.manager.get_handle()
        getattr(library, call)(*arguments, ctypes.byref(comp), ctypes.byref(reason))
        assert (call, comp.value, reason.value) == (call, CMQC.MQCC_FAILED, answer)


def test_options_are_refused(application: Application) -> None:
    for name in row("MQOPEN options")[0]:
        with refused(row("MQOPEN options")[1]):
            application.open("Q1", CMQC.MQOO_INPUT_SHARED | getattr(c, name))
    for name in row("MQPUT options, queues")[0]:
        with refused(row("MQPUT options, queues")[1]):
            application.put("Q1", options=getattr(c, name))
    for name in row("MQMD.Report")[0]:
        with refused(row("MQMD.Report")[1]):
            application.put("Q1", Report=getattr(c, name), ReplyToQ=b"Q1")
    for name in row("MQGET options")[0]:
        with refused(row("MQGET options")[1]):
            application.get("Q1", getattr(c, name))
    opened = application.open("Q1", CMQC.MQOO_INPUT_SHARED)
    for name in row("MQCLOSE options")[0]:
        with refused(row("MQCLOSE options")[1]):
            opened.close(getattr(c, name))


def test_options_of_topics_are_refused(application: Application) -> None:
    topic = pymqi.Topic(application.manager, topic_string="a")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    for name in row("MQPUT options, topics")[0]:
        with refused(row("MQPUT options, topics")[1]):
            topic.pub(b"x", pymqi.MD(), pymqi.PMO(Options=getattr(c, name)))
    for name in row("MQSUB options")[0]:
        descriptor = pymqi.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | getattr(c, name))
        descriptor.set_vs("ObjectString", "a")
        with refused(row("MQSUB options")[1]):
            pymqi.Subscription(application.manager).sub(sub_desc=descriptor)


def test_fields_are_refused(application: Application) -> None:
    answer = row("MQSUB fields")[1]
    for fields, selector in (({"SubExpiry": 1}, b""), ({}, b"Foot = 'bare'"), ({"SubLevel": 2}, b"")):
        descriptor = pymqi.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, **fields)
        descriptor.set_vs("ObjectString", "a")
        if selector:
            descriptor.set_vs("SelectionString", selector)
        with refused(answer):
            pymqi.Subscription(application.manager).sub(sub_desc=descriptor)
    selecting = pymqi.OD(ObjectName=b"Q1", Version=CMQC.MQOD_VERSION_4)
    selecting.set_vs("SelectionString", b"Foot = 'bare'")
    for od in (selecting, pymqi.OD(Version=CMQC.MQOD_VERSION_2, RecsPresent=1)):
        with refused(row("MQOPEN by")[1]):
            pymqi.Queue(application.manager, od, CMQC.MQOO_INPUT_SHARED)


def test_object_types_are_refused(application: Application) -> None:
    there = {CMQC.MQOT_Q, CMQC.MQOT_TOPIC, *opening.OBJECT_KINDS}
    for kind in range(CMQC.MQOT_SERVICE + 1):
        if kind not in there:
            with refused(row("MQOPEN of")[1]):
                application.open("X", CMQC.MQOO_INQUIRE, ObjectType=kind)


def test_commands_are_refused(application: Application) -> None:
    with pytest.raises(AssertionError, match="AMQ8405I"):
        run_mqsc("DEFINE NOTHING(X)")
    for command in ("DEFINE SERVICE(X)", "SET POLICY(X) SIGNALG(NONE)"):
        with pytest.raises(AssertionError, match=r"AMQ8101S.*not supported by the embedded queue manager"):
            run_mqsc(command)
    pcf = pymqi.PCFExecute(application.manager)
    with refused(CMQCFC.MQRCCF_CFH_COMMAND_ERROR):
        pcf.MQCMD_CREATE_SERVICE({CMQC.MQCA_SERVICE_NAME: b"X"})
    pcf.disconnect()


def test_nonpersistent_messages_outlive_a_restart(application: Application) -> None:
    run_mqsc("DEFINE QLOCAL(HIGH) NPMCLASS(HIGH)\nDEFINE QLOCAL(NORMAL) NPMCLASS(NORMAL)\nDEFINE QLOCAL(IQ)")
    run_mqsc("DEFINE PROCESS(P)\nDEFINE QLOCAL(APP) TRIGGER TRIGTYPE(FIRST) INITQ(IQ) PROCESS(P)")
    monitor = application.open("IQ", CMQC.MQOO_INPUT_SHARED)
    for queue in ("HIGH", "NORMAL", "APP"):
        application.put(queue, Persistence=CMQC.MQPER_NOT_PERSISTENT)
    monitor.close()
    application.manager.disconnect()
    for command in ("start", "end", "start", "end"):
        assert not CliRunner().invoke(main, [command, "QM1"]).exit_code
    again = Application()
    assert [again.depth(queue) for queue in ("HIGH", "NORMAL", "APP", "IQ")] == [1, 1, 1, 1]
    monitor = again.open("IQ", CMQC.MQOO_INPUT_SHARED)
    assert [again.get(monitor)[0].Persistence for _ in range(2)] == [CMQC.MQPER_NOT_PERSISTENT] * 2
    again.manager.disconnect()


def test_every_kind_of_object_has_its_commands() -> None:
    for verb in ("ALTER", "DISPLAY"):
        assert {noun for each, noun in COMMANDS if each == verb} >= set(map(str, Kind))
