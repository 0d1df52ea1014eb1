"""Every kind of object: LIKE in MQSC, and over PCF the commands that make, copy, change, show and delete it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, application, home, refused, run_mqsc
from pymqi import CMQC, CMQCFC

from mqlite.attributes import Kind

__all__ = ["application", "home"]
PREPARED = "DEFINE QLOCAL(DEST)\nDEFINE QLOCAL(X) USAGE(XMITQ)"
# kind, what it needs besides its name, an attribute that LIKE takes over, what the second of them needs
LIKE = [
    ("QLOCAL", "", "MAXDEPTH(7)", ""),
    ("QALIAS", "", "TARGET(DEST)", ""),
    ("QREMOTE", "", "RNAME(THERE)", ""),
    ("QMODEL", "", "DEFTYPE(PERMDYN)", ""),
    ("PROCESS", "", "APPLICID(run)", ""),
    ("NAMELIST", "", "NAMES(A, B)", ""),
    ("CHANNEL", "CHLTYPE(SDR) CONNAME(QM2)", "XMITQ(X)", "CHLTYPE(SDR)"),
    ("AUTHINFO", "AUTHTYPE(IDPWOS)", "CHCKLOCL(REQUIRED)", "AUTHTYPE(IDPWOS)"),
    ("LISTENER", "TRPTYPE(TCP)", "PORT(1414)", "TRPTYPE(TCP)"),
    ("TOPIC", "TOPICSTR('a/b')", "PUB(DISABLED)", "TOPICSTR('a/c')"),  # a topic string has one topic object
    ("SUB", "TOPICSTR('s')", "DEST(DEST)", ""),
]


@pytest.mark.parametrize(("kind", "needed", "attribute", "again"), LIKE, ids=[row[0] for row in LIKE])
def test_LIKE_takes_every_attribute_over(
    application: Application, kind: str, needed: str, attribute: str, again: str
) -> None:
    quoted = attribute.replace("run", "'run'")
    run_mqsc(f"{PREPARED}\nDEFINE {kind}(ONE) {needed} {quoted}\nDEFINE {kind}(TWO) LIKE(ONE) {again}")
    shown = "\n".join(run_mqsc(f"DISPLAY {kind}(TWO)"))
    assert f" {attribute}" in shown


def test_LIKE_is_tried_with_every_kind() -> None:
    assert {row[0] for row in LIKE} == set(map(str, Kind)) - {"QMGR"}


def test_a_copied_subscription_has_an_identifier_and_a_correlation_of_its_own(application: Application) -> None:
    run_mqsc(f"{PREPARED}\nDEFINE SUB(ONE) TOPICSTR('s') DEST(DEST)\nDEFINE SUB(TWO) LIKE(ONE)")
    topic = pymqi.Topic(application.manager, topic_string="s")
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
    topic.pub(b"news", pymqi.MD(), pymqi.PMO())
    first, second = (application.get("DEST")[0].CorrelId for _ in range(2))
    assert first != second


@pytest.fixture
def pcf(application: Application) -> Iterator[Any]:
    run_mqsc(PREPARED)
    execute = pymqi.PCFExecute(application.manager)
    yield execute
    execute.disconnect()


# name of the commands, its parameter, those of a copy, what else to create one, what to change, what a copy needs
VERBS = [
    ("PROCESS", CMQC.MQCA_PROCESS_NAME, CMQCFC.MQCACF_FROM_PROCESS_NAME, CMQCFC.MQCACF_TO_PROCESS_NAME,
     {CMQC.MQCA_APPL_ID: b"run"}, {CMQC.MQCA_USER_DATA: b"new"}, {}),
    ("TOPIC", CMQC.MQCA_TOPIC_NAME, CMQCFC.MQCACF_FROM_TOPIC_NAME, CMQCFC.MQCACF_TO_TOPIC_NAME,
     {CMQC.MQCA_TOPIC_STRING: b"a/b"}, {CMQC.MQCA_TOPIC_DESC: b"new"}, {CMQC.MQCA_TOPIC_STRING: b"a/c"}),
    ("SUBSCRIPTION", CMQCFC.MQCACF_SUB_NAME, CMQCFC.MQCACF_FROM_SUB_NAME, CMQCFC.MQCACF_TO_SUB_NAME,
     {CMQC.MQCA_TOPIC_STRING: b"news", CMQCFC.MQCACF_DESTINATION: b"DEST"}, {CMQCFC.MQCACF_SUB_USER_DATA: b"new"}, {}),
    ("NAMELIST", CMQC.MQCA_NAMELIST_NAME, CMQCFC.MQCACF_FROM_NAMELIST_NAME, CMQCFC.MQCACF_TO_NAMELIST_NAME,
     {}, {CMQC.MQCA_NAMELIST_DESC: b"new"}, {}),
    ("CHANNEL", CMQCFC.MQCACH_CHANNEL_NAME, CMQCFC.MQCACF_FROM_CHANNEL_NAME, CMQCFC.MQCACF_TO_CHANNEL_NAME,
     {CMQCFC.MQIACH_CHANNEL_TYPE: CMQC.MQCHT_SVRCONN}, {CMQCFC.MQCACH_DESC: b"new"},
     {CMQCFC.MQIACH_CHANNEL_TYPE: CMQC.MQCHT_SVRCONN}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("noun", "name", "source", "target", "creating", "change", "copying"), VERBS, ids=[row[0] for row in VERBS]
)
def test_every_verb_over_PCF(  # noqa: PLR0917
    pcf: Any, noun: str, name: int, source: int, target: int, creating: dict[int, Any], change: dict[int, Any],
    copying: dict[int, Any],
) -> None:  # fmt: skip
    def call(verb: str, parameters: dict[int, Any]) -> Any:
        return getattr(pcf, f"MQCMD_{verb}_{noun}")(parameters)

    subtype = {CMQCFC.MQIACH_CHANNEL_TYPE: CMQC.MQCHT_SVRCONN} if noun == "CHANNEL" else {}
    call("CREATE", {name: b"ONE", **creating})
    call("COPY", {source: b"ONE", target: b"TWO", **copying})
    call("CHANGE", {name: b"TWO", **subtype, **change})
    (one,), (two,) = (call("INQUIRE", {name: each}) for each in (b"ONE", b"TWO"))
    assert two[name].strip(b"\0 ") == b"TWO"
    for selector, value in (creating | copying | change).items():
        assert (two[selector].strip(b"\0 ") if isinstance(value, bytes) else two[selector]) == value
    assert not set(change.values()) & {one[selector].strip(b"\0 ") for selector in change}
    call("DELETE", {name: b"TWO"})
    missing = {"CHANNEL": CMQCFC.MQRCCF_CHANNEL_NOT_FOUND, "SUBSCRIPTION": CMQC.MQRC_NO_SUBSCRIPTION}
    for verb in ("INQUIRE", "DELETE"):
        with refused(missing.get(noun, CMQC.MQRC_UNKNOWN_OBJECT_NAME)):
            call(verb, {name: b"TWO"})


def test_RESET_CHANNEL_over_PCF(pcf: Any) -> None:
    run_mqsc("DEFINE CHANNEL(C) CHLTYPE(SDR) CONNAME(QM2) XMITQ(X)")
    channel, number = CMQCFC.MQCACH_CHANNEL_NAME, CMQCFC.MQIACH_MSG_SEQUENCE_NUMBER
    pcf.MQCMD_RESET_CHANNEL({channel: b"C", number: 7})
    with refused(CMQCFC.MQRCCF_ATTR_VALUE_ERROR):
        pcf.MQCMD_RESET_CHANNEL({channel: b"C", number: 0})
    with refused(CMQCFC.MQRCCF_CHANNEL_NOT_FOUND):
        pcf.MQCMD_RESET_CHANNEL({channel: b"NONE", number: 1})


def test_REFRESH_SECURITY_over_PCF(pcf: Any) -> None:
    assert pcf.MQCMD_REFRESH_SECURITY() == [{}]
