"""P12: the queue of a managed subscription takes its attributes from the model queue; and what subscriptions do."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import sys
from typing import Any

import pymqi
import pytest
from mqlite_support import Application, refused, run_mqsc
from pymqi import CMQC, CMQCFC

CREATE, RESUME, ALTER = CMQC.MQSO_CREATE, CMQC.MQSO_RESUME, CMQC.MQSO_ALTER
MANAGED, DURABLE = CMQC.MQSO_MANAGED, CMQC.MQSO_DURABLE
NO_WAIT = CMQC.MQGMO_NO_SYNCPOINT


def subscribe(
    application: Application, topic: str, options: int = CREATE | MANAGED, *, name: str = "", queue: Any = None,
    topic_object: str = "", **fields: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """MQSUB; the subscription and its descriptor as it came back."""
    descriptor = pymqi.SD(Options=options, ObjectName=topic_object.encode(), **fields)
    if topic:
        descriptor.set_vs("ObjectString", topic)
    if name:
        descriptor.set_vs("SubName", name)
    subscription = pymqi.Subscription(application.manager)
    subscription.sub(sub_desc=descriptor, sub_queue=queue)
    return subscription, descriptor


def publish(application: Application, topic: str, body: bytes = b"x", *, options: int = 0, **fields: Any) -> None:
    """Open the topic, MQPUT, close."""
    opened = pymqi.Topic(application.manager, topic_string=topic)
    opened.open(open_opts=CMQC.MQOO_OUTPUT)
    opened.pub(body, pymqi.MD(**fields), pymqi.PMO(Options=options))
    opened.close()


def received(subscription: Any) -> list[bytes]:
    """All that a subscription has got so far."""
    found = []
    with refused(CMQC.MQRC_NO_MSG_AVAILABLE):
        while True:
            found.append(subscription.get(None, pymqi.MD(), pymqi.GMO(Options=NO_WAIT)))
    return found


def close(subscription: Any, options: int = CMQC.MQCO_NONE) -> None:
    """Close the subscription and its queue."""
    subscription.close(sub_close_options=options, close_sub_queue=True)


def backout(queue: Any) -> tuple[int, str]:
    """BOTHRESH and BOQNAME of an open queue, by MQINQ."""
    return queue.inquire(CMQC.MQIA_BACKOUT_THRESHOLD), queue.inquire(CMQC.MQCA_BACKOUT_REQ_Q_NAME).decode().strip()


def managed_queues() -> list[str]:
    """The queues of managed subscriptions that there are."""
    output = run_mqsc("DISPLAY QLOCAL(*)")
    return [line.split("(")[1].split(")")[0] for line in output if "SYSTEM.MANAGED." in line]


@pytest.mark.parametrize(
    ("model", "options"),
    [("SYSTEM.NDURABLE.MODEL.QUEUE", CREATE | MANAGED), ("SYSTEM.DURABLE.MODEL.QUEUE", CREATE | MANAGED | DURABLE)],
)
def test_P12_the_dynamic_queue_takes_the_models_attributes(application: Application, model: str, options: int) -> None:
    before, _ = subscribe(application, "a/b", options, name="before")
    run_mqsc(f"ALTER QMODEL({model}) BOTHRESH(3) BOQNAME(Q1)")
    after, _ = subscribe(application, "a/b", options, name="after")
    assert backout(before.get_sub_queue()) == (0, "")
    assert backout(after.get_sub_queue()) == (3, "Q1")


def test_P12_the_topics_own_model_queues(application: Application) -> None:
    run_mqsc(
        "DEFINE QMODEL(ND) DEFTYPE(TEMPDYN) BOTHRESH(2) BOQNAME(Q1)\n"
        "DEFINE QMODEL(D) DEFTYPE(PERMDYN) BOTHRESH(7) BOQNAME(Q1)\n"
        "DEFINE TOPIC(T) TOPICSTR('prices') MNDURMDL(ND) MDURMDL(D)\n"
        "DEFINE TOPIC(TOP.OF.IT) TOPICSTR('prices/fruit')"
    )
    assert backout(subscribe(application, "prices/fruit/apple")[0].get_sub_queue()) == (2, "Q1")
    durable, _ = subscribe(application, "apple", CREATE | MANAGED | DURABLE, name="d", topic_object="TOP.OF.IT")
    assert backout(durable.get_sub_queue()) == (7, "Q1")
    assert backout(subscribe(application, "other")[0].get_sub_queue()) == (0, "")


def test_P12_a_poisoned_publication_counts_its_backouts(application: Application) -> None:
    subscription, _ = subscribe(application, "a")
    publish(application, "a", b"poison")
    for count in range(3):
        md = pymqi.MD()
        subscription.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        assert md.BackoutCount == count
        application.manager.backout()


@pytest.mark.parametrize(
    ("pattern", "topic", "fits"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/b/c", False),
        ("a/+", "a/b", True),
        ("a/+", "a", False),  # one level, not none
        ("a/+", "a/b/c", False),
        ("+/b", "/b", True),  # an empty level is a level
        ("a/#", "a", True),  # any number of levels, none too
        ("a/#", "a/b/c", True),
        ("#", "/x/y", True),
        ("a/#/d", "a/d", True),
        ("a/#/d", "a/b/c/d", True),
        ("a/#/d", "a/b/c", False),
        ("#/b/#", "a/b/c", True),
        ("a+", "ab", False),  # a wildcard is a whole level
        ("a+", "a+", True),
    ],
)
def test_topic_wildcards(application: Application, pattern: str, topic: str, fits: bool) -> None:
    subscription, _ = subscribe(application, pattern)
    publish(application, topic)
    assert received(subscription) == ([b"x"] if fits else [])


def test_a_publication_reaches_every_subscription_once(application: Application) -> None:
    subscriptions = [subscribe(application, "a")[0] for _ in range(3)]
    publish(application, "a", b"news", MsgType=CMQC.MQMT_DATAGRAM, Priority=4)
    identifiers = set()
    for each in subscriptions:
        md = pymqi.MD()
        assert each.get(None, md, pymqi.GMO(Options=NO_WAIT)) == b"news"
        identifiers.add(md.MsgId)
    assert len(identifiers) == len(subscriptions)


def test_nobody_subscribes(application: Application) -> None:
    publish(application, "nobody/cares")


def test_a_publication_belongs_to_its_unit_of_work(application: Application) -> None:
    subscription, _ = subscribe(application, "a")
    publish(application, "a", b"backed out", options=CMQC.MQPMO_SYNCPOINT)
    assert received(subscription) == []
    application.manager.backout()
    publish(application, "a", b"committed", options=CMQC.MQPMO_SYNCPOINT)
    application.manager.commit()
    assert received(subscription) == [b"committed"]


def test_CAPEXPRY_of_a_topic_caps_its_publications(application: Application) -> None:
    run_mqsc("DEFINE TOPIC(T) TOPICSTR('brief') CAPEXPRY(600)")
    subscription, _ = subscribe(application, "#")
    for topic in ("brief/news", "lasting"):
        publish(application, topic)
    found = []
    for _ in range(2):
        md = pymqi.MD()
        subscription.get(None, md, pymqi.GMO(Options=NO_WAIT))
        found.append(md.Expiry)
    assert 0 < found[0] <= 600
    assert found[1] == CMQC.MQEI_UNLIMITED


def test_put1_to_a_topic_object(application: Application) -> None:
    run_mqsc("DEFINE TOPIC(T) TOPICSTR('a')")
    subscription, _ = subscribe(application, "a/b")
    od = pymqi.OD(ObjectType=CMQC.MQOT_TOPIC, ObjectName=b"T", Version=CMQC.MQOD_VERSION_4)
    od.set_vs("ObjectString", b"b")
    application.manager.put1(od, b"by name and string", pymqi.MD(), pymqi.PMO())
    assert received(subscription) == [b"by name and string"]


def test_correlation_priority_and_identity_are_the_subscriptions(application: Application) -> None:
    own, given = b"C" * 24, b"P" * 24
    sets = CREATE | MANAGED | CMQC.MQSO_SET_CORREL_ID | CMQC.MQSO_SET_IDENTITY_CONTEXT
    first, _ = subscribe(application, "a", sets, SubCorrelId=own, PubPriority=7, PubApplIdentityData=b"mine")
    second, generated = subscribe(application, "a", PubPriority=CMQC.MQPRI_PRIORITY_AS_PUBLISHED)
    third, _ = subscribe(application, "a", CREATE | MANAGED | CMQC.MQSO_SET_CORREL_ID)
    publish(application, "a", CorrelId=given, Priority=2)
    found = []
    for each in (first, second, third):
        md = pymqi.MD()
        each.get(None, md, pymqi.GMO(Options=NO_WAIT))
        found.append((md.CorrelId, md.Priority, md.ApplIdentityData.strip()))
    assert found == [(own, 7, b"mine"), (generated.SubCorrelId, 2, b""), (given, 0, b"")]
    assert generated.SubCorrelId not in (given, CMQC.MQCI_NONE)


def test_the_queue_of_a_non_durable_subscription_goes_with_it(application: Application) -> None:
    subscription, _ = subscribe(application, "a")
    assert len(managed_queues()) == 1
    publish(application, "a", b"last")
    subscription.close()
    publish(application, "a", b"too late")
    assert received(subscription) == [b"last"]
    subscription.get_sub_queue().close()
    assert managed_queues() == []


def test_the_queue_stays_while_the_subscription_does(application: Application) -> None:
    subscription, _ = subscribe(application, "a")
    subscription.get_sub_queue().close()
    publish(application, "a")
    assert len(managed_queues()) == 1
    subscription.close()
    assert managed_queues() == []


def test_a_durable_subscription_waits_for_its_return(application: Application) -> None:
    subscription, _ = subscribe(application, "a", CREATE | MANAGED | DURABLE, name="mine")
    close(subscription)
    publish(application, "a", b"while away")
    application.manager.disconnect()
    back = Application()
    subscription, descriptor = subscribe(back, "", RESUME, name="mine")
    assert descriptor.Options & (MANAGED | DURABLE) == MANAGED | DURABLE
    assert received(subscription) == [b"while away"]
    close(subscription, CMQC.MQCO_REMOVE_SUB)
    assert managed_queues() == []
    with refused(CMQC.MQRC_NO_SUBSCRIPTION):
        subscribe(back, "", RESUME, name="mine")


def test_a_dead_process_takes_its_non_durable_subscriptions(application: Application) -> None:
    script = (
        "import pymqi, sys, signal\n"
        "from pymqi import CMQC\n"
        "manager = pymqi.connect('QM1')\n"
        "kept = []\n"
        "for name, options in ((None, 0), ('stays', CMQC.MQSO_DURABLE)):\n"
        "    sd = pymqi.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | options)\n"
        "    sd.set_vs('ObjectString', 'a')\n"
        "    if name: sd.set_vs('SubName', name)\n"
        "    sub = pymqi.Subscription(manager); sub.sub(sub_desc=sd); kept.append(sub)\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert len(managed_queues()) == 2
        with refused(CMQC.MQRC_SUBSCRIPTION_IN_USE):
            subscribe(application, "", RESUME, name="stays")
        process.send_signal(signal.SIGKILL)
    publish(application, "a", b"after its death")
    assert len(managed_queues()) == 1
    subscription, _ = subscribe(application, "", RESUME, name="stays")
    assert received(subscription) == [b"after its death"]


def test_a_queue_of_the_applications_own(application: Application) -> None:
    queue = application.open("Q1", CMQC.MQOO_INPUT_SHARED)
    subscription, _ = subscribe(application, "a/#", CREATE | DURABLE, name="own", queue=queue)
    publish(application, "a/b")
    assert application.depth("Q1") == 1
    subscription.close()
    subscription, _ = subscribe(application, "", RESUME, name="own")  # the queue manager opens it again
    assert received(subscription) == [b"x"]


def test_an_administrators_subscription(application: Application) -> None:
    run_mqsc(
        "DEFINE SUB('to Q1') TOPICSTR('a/+') DEST(Q1)\n"
        "DEFINE SUB('managed') TOPICSTR('a/b') DESTCLAS(MANAGED)"
    )  # fmt: skip
    publish(application, "a/b")
    assert application.bodies("Q1") == [b"x"]
    subscription, _ = subscribe(application, "a/b", RESUME, name="managed")
    assert received(subscription) == [b"x"]
    close(subscription)
    shown = "\n".join(run_mqsc("DISPLAY SUB('managed') DESTCLAS DURABLE SUBTYPE TOPICSTR"))
    for word in ("SUB(managed)", "DESTCLAS(MANAGED)", "DURABLE(YES)", "SUBTYPE(ADMIN)", "TOPICSTR(a/b)"):
        assert word in shown
    run_mqsc("DELETE SUB('managed')\nDELETE SUB('to Q1')")
    assert managed_queues() == []
    publish(application, "a/b")
    assert application.depth("Q1") == 1


def test_subscriptions_and_topics_by_PCF(application: Application) -> None:
    pcf = pymqi.PCFExecute(application.manager)
    pcf.MQCMD_CREATE_TOPIC({CMQC.MQCA_TOPIC_NAME: b"T", CMQC.MQCA_TOPIC_STRING: b"prices", CMQC.MQIA_TOPIC_TYPE: 0})
    pcf.MQCMD_CREATE_SUBSCRIPTION(
        {CMQCFC.MQCACF_SUB_NAME: b"s", CMQC.MQCA_TOPIC_NAME: b"T", CMQC.MQCA_TOPIC_STRING: b"b",
         CMQCFC.MQIACF_DESTINATION_CLASS: CMQC.MQDC_MANAGED}
    )  # fmt: skip
    (topic,) = pcf.MQCMD_INQUIRE_TOPIC({CMQC.MQCA_TOPIC_NAME: b"T"})
    (found,) = pcf.MQCMD_INQUIRE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"s"})
    assert topic[CMQC.MQCA_TOPIC_STRING].rstrip(b" \0") == b"prices"
    assert found[CMQC.MQCA_TOPIC_STRING].rstrip(b" \0") == b"prices/b"
    assert found[CMQCFC.MQCACF_SUB_USER_ID].decode().rstrip(" \0") == getpass.getuser()[:12]
    assert found[CMQCFC.MQCACF_DESTINATION].startswith(b"SYSTEM.MANAGED.DURABLE.")
    pcf.MQCMD_DELETE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"s"})
    pcf.MQCMD_DELETE_TOPIC({CMQC.MQCA_TOPIC_NAME: b"T"})
    pcf.disconnect()
    assert managed_queues() == []


def test_subscription_by_its_SubId_in_PCF(application: Application) -> None:
    """IBM MQ, "Delete Subscription", "Inquire Subscription", "Change Subscription": SubName or SubId."""
    run_mqsc("DEFINE SUB('name') TOPICSTR('a') DEST(Q1)\nDEFINE SUB('other') TOPICSTR('a') DEST(Q1)")
    pcf = pymqi.PCFExecute(application.manager)
    (found,) = pcf.MQCMD_INQUIRE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"name"})
    by_id = {CMQCFC.MQBACF_SUB_ID: pymqi.ByteString(found[CMQCFC.MQBACF_SUB_ID])}
    pcf.MQCMD_CHANGE_SUBSCRIPTION({**by_id, CMQCFC.MQCACF_SUB_USER_DATA: b"by SubId"})
    (again,) = pcf.MQCMD_INQUIRE_SUBSCRIPTION(by_id)
    assert again[CMQCFC.MQCACF_SUB_NAME].rstrip(b" \0") == b"name"
    assert again[CMQCFC.MQCACF_SUB_USER_DATA].rstrip(b" \0") == b"by SubId"
    with refused(CMQC.MQRC_NO_SUBSCRIPTION):
        pcf.MQCMD_DELETE_SUBSCRIPTION({CMQCFC.MQCACF_SUB_NAME: b"other", **by_id})
    pcf.MQCMD_DELETE_SUBSCRIPTION(by_id)
    with refused(CMQC.MQRC_NO_SUBSCRIPTION):
        pcf.MQCMD_DELETE_SUBSCRIPTION(by_id)
    pcf.disconnect()
    assert "SUB(other)" in "\n".join(run_mqsc("DISPLAY SUB(*)"))


def test_alter(application: Application) -> None:
    subscription, _ = subscribe(application, "a", CREATE | MANAGED | DURABLE, name="s", PubPriority=1)
    close(subscription)
    subscription, _ = subscribe(application, "", ALTER | MANAGED | DURABLE, name="s", PubPriority=6)
    publish(application, "a")
    md = pymqi.MD()
    subscription.get(None, md, pymqi.GMO(Options=NO_WAIT))
    assert md.Priority == 6
    close(subscription)
    with refused(CMQC.MQRC_TOPIC_NOT_ALTERABLE):
        subscribe(application, "b", ALTER | MANAGED | DURABLE, name="s")
    with refused(CMQC.MQRC_DURABILITY_NOT_ALTERABLE):
        subscribe(application, "a", ALTER | MANAGED, name="s")


@pytest.mark.parametrize(
    ("options", "fields", "reason"),
    [
        (MANAGED, {}, CMQC.MQRC_OPTIONS_ERROR),  # neither CREATE nor RESUME nor ALTER
        (RESUME | ALTER | MANAGED, {"name": "s"}, CMQC.MQRC_OPTIONS_ERROR),
        (CREATE | MANAGED | DURABLE, {}, CMQC.MQRC_SUB_NAME_ERROR),
        (CREATE, {}, CMQC.MQRC_HOBJ_ERROR),  # neither a queue nor MANAGED
        (RESUME, {"name": "s"}, CMQC.MQRC_NO_SUBSCRIPTION),
        (CREATE | MANAGED, {"PubPriority": 10}, CMQC.MQRC_PRIORITY_ERROR),
        (CREATE | MANAGED, {"topic_object": "NO.SUCH"}, CMQC.MQRC_UNKNOWN_OBJECT_NAME),
        (CREATE | MANAGED, {"topic_object": "CLOSED"}, CMQC.MQRC_SUB_INHIBITED),
        (CREATE | MANAGED | DURABLE, {"topic_object": "FLEETING", "name": "s"}, CMQC.MQRC_DURABILITY_NOT_ALLOWED),
        (CREATE | MANAGED | CMQC.MQSO_PUBLICATIONS_ON_REQUEST, {}, CMQC.MQRC_FUNCTION_NOT_SUPPORTED),
        (CREATE | MANAGED | CMQC.MQSO_WILDCARD_CHAR, {}, CMQC.MQRC_FUNCTION_NOT_SUPPORTED),
        (CREATE | MANAGED, {"SubExpiry": 100}, CMQC.MQRC_FUNCTION_NOT_SUPPORTED),
    ],
)
def test_refused_subscriptions(application: Application, options: int, fields: dict[str, Any], reason: int) -> None:
    run_mqsc(
        "DEFINE TOPIC(CLOSED) TOPICSTR('closed') SUB(DISABLED)\n"
        "DEFINE TOPIC(FLEETING) TOPICSTR('fleeting') DURSUB(NO)"
    )  # fmt: skip
    with refused(reason):
        subscribe(application, "x", options, **fields)
    assert managed_queues() == []


def test_a_name_is_taken_once(application: Application) -> None:
    kept = subscribe(application, "a", name="s")
    with refused(CMQC.MQRC_SUB_ALREADY_EXISTS):
        subscribe(application, "a", name="s")
    with refused(CMQC.MQRC_SUBSCRIPTION_IN_USE):
        subscribe(application, "a", CREATE | RESUME | MANAGED, name="s")
    close(kept[0])


def test_a_subscription_without_handles_leaves_nothing_behind(application: Application) -> None:
    run_mqsc("ALTER QMGR MAXHANDS(1)")  # one for the queue, none for the subscription
    with refused(CMQC.MQRC_HANDLE_NOT_AVAILABLE):
        subscribe(application, "a", CREATE | MANAGED | DURABLE, name="s")
    assert managed_queues() == []
    run_mqsc("ALTER QMGR MAXHANDS(256)")
    subscription, _ = subscribe(application, "a", CREATE | MANAGED | DURABLE, name="s")
    close(subscription)
    run_mqsc("ALTER QMGR MAXHANDS(1)")
    with refused(CMQC.MQRC_HANDLE_NOT_AVAILABLE):
        subscribe(application, "a", RESUME, name="s")
    run_mqsc("ALTER QMGR MAXHANDS(256)")
    close(subscribe(application, "a", RESUME, name="s")[0])


def test_refused_opens_and_puts(application: Application) -> None:
    run_mqsc("DEFINE TOPIC(QUIET) TOPICSTR('quiet') PUB(DISABLED)")
    with refused(CMQC.MQRC_PUT_INHIBITED):
        publish(application, "quiet/place")
    with refused(CMQC.MQRC_FUNCTION_NOT_SUPPORTED):
        publish(application, "a", options=CMQC.MQPMO_RETAIN)
    with refused(CMQC.MQRC_OPTION_NOT_VALID_FOR_TYPE):
        pymqi.Topic(application.manager, topic_string="a").open(open_opts=CMQC.MQOO_INPUT_SHARED)
    with refused(CMQC.MQRC_TOPIC_STRING_ERROR):
        pymqi.Topic(application.manager, topic_name="SYSTEM.BASE.TOPIC").open(open_opts=CMQC.MQOO_OUTPUT)


@pytest.mark.parametrize(
    ("deadq", "rule", "persistence", "reason"),
    [
        ("SYSTEM.DEAD.LETTER.QUEUE", "PMSGDLV(ALL)", CMQC.MQPER_PERSISTENT, 0),
        (" ", "NPMSGDLV(ALLAVAIL)", CMQC.MQPER_NOT_PERSISTENT, 0),
        (" ", "PMSGDLV(ALLDUR)", CMQC.MQPER_PERSISTENT, CMQC.MQRC_PUBLICATION_FAILURE),
        (" ", "NPMSGDLV(ALL)", CMQC.MQPER_NOT_PERSISTENT, CMQC.MQRC_PUBLICATION_FAILURE),
    ],
)
def test_a_publication_that_cannot_be_delivered(
    application: Application, deadq: str, rule: str, persistence: int, reason: int
) -> None:
    run_mqsc(
        f"ALTER QMGR DEADQ('{deadq}')\nDEFINE QLOCAL(FULL) MAXDEPTH(0)\nDEFINE SUB(s) TOPICSTR('a') DEST(FULL)\n"
        f"DEFINE SUB(t) TOPICSTR('a') DEST(Q1)\nDEFINE TOPIC(T) TOPICSTR('a') {rule}"
    )
    if reason:
        with refused(reason):
            publish(application, "a", Persistence=persistence)
    else:
        publish(application, "a", Persistence=persistence)
    assert application.depth("Q1") == (0 if reason else 1)  # all or nothing where it fails
    assert application.depth("SYSTEM.DEAD.LETTER.QUEUE") == int(bool(deadq.strip()))


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("DEFINE TOPIC(U) TOPICSTR('t')", "MQRCCF_TOPICSTR_ALREADY_EXISTS"),
        ("DEFINE TOPIC(U) TOPICSTR('')", "MQRC_TOPIC_STRING_ERROR"),
        ("ALTER TOPIC(T) TOPICSTR('u')", "AMQ8425E"),
        ("DEFINE SUB(u) TOPICSTR('t') DEST(NO.SUCH)", "MQRC_UNKNOWN_OBJECT_NAME"),
        ("DEFINE SUB(u) TOPICSTR('t') DEST(Q1) WSCHEMA(CHAR)", "mqlite does not have it"),
        ("ALTER SUB(s) DESTCLAS(MANAGED)", "AMQ8425E"),
        ("DEFINE SUB(s) TOPICSTR('other') DEST(Q1) REPLACE", "MQRC_TOPIC_NOT_ALTERABLE"),
        ("DELETE SUB(open)", "MQRC_SUBSCRIPTION_IN_USE"),
    ],
)
def test_refused_commands(application: Application, command: str, answer: str) -> None:
    run_mqsc("DEFINE TOPIC(T) TOPICSTR('t')\nDEFINE SUB(s) TOPICSTR('t') DEST(Q1)")
    kept = subscribe(application, "t", CREATE | MANAGED | DURABLE, name="OPEN")
    with pytest.raises(AssertionError, match=answer):
        run_mqsc(command)
    close(kept[0])
