"""Parameters of PCF commands that are not attributes, as IBM's pages list them, through genuine pymqi."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pymqi
import pytest
from pymqi import CMQC, CMQCFC, CMQXC

if TYPE_CHECKING:
    from .conftest import Mqsc

NAME, SUB_NAME, SUB_ID = CMQC.MQCA_Q_NAME, CMQCFC.MQCACF_SUB_NAME, CMQCFC.MQBACF_SUB_ID
SUBSCRIPTIONS = {SUB_NAME: b"by*"}
MQIS_NO, MQIS_YES = 0, 1  # pymqi does not have them


@pytest.fixture
def connection(mqsc: Mqsc) -> Iterator[pymqi.QueueManager]:
    connection = pymqi.connect("QM1")
    yield connection
    connection.disconnect()


@pytest.fixture
def pcf(connection: pymqi.QueueManager) -> Iterator[pymqi.PCFExecute]:
    execute = pymqi.PCFExecute(connection)
    yield execute
    execute.disconnect()


def refused(call: object, *arguments: object) -> int:
    """The reason with which a command is refused."""
    with pytest.raises(pymqi.MQMIError) as error:
        call(*arguments)  # type: ignore[operator]
    return int(error.value.reason)


def names(rows: list[dict[int, bytes]], parameter: int) -> list[bytes]:
    """The names that an inquiry found, without the padding."""
    return sorted(row[parameter].rstrip(b" \0") for row in rows)


def test_Delete_keeps_the_authority_records_if_it_is_asked_to(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    """IBM MQ, "Delete Queue": AuthRec."""
    for keeps in (CMQCFC.MQRAR_NO, CMQCFC.MQRAR_YES):
        mqsc("DEFINE QLOCAL(Q)", "SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(GET)")
        pcf.MQCMD_DELETE_Q({NAME: b"Q", CMQCFC.MQIACF_REMOVE_AUTHREC: keeps})
        left = "ENTITY(ann)" in mqsc("DISPLAY AUTHREC PROFILE(Q) OBJTYPE(QUEUE)", code=10 * keeps)
        assert left is (keeps == CMQCFC.MQRAR_NO)


def test_Delete_with_IgnoreState_needs_no_object(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    ignoring = {CMQCFC.MQIACF_IGNORE_STATE: MQIS_YES}
    pcf.MQCMD_DELETE_Q({NAME: b"NOT.THERE", **ignoring})
    pcf.MQCMD_DELETE_SUBSCRIPTION({SUB_ID: pymqi.ByteString(bytes(24)), **ignoring})
    missing = {NAME: b"NOT.THERE", CMQCFC.MQIACF_IGNORE_STATE: MQIS_NO}
    assert refused(pcf.MQCMD_DELETE_Q, missing) == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    assert "AMQ8007I" in mqsc("DELETE QLOCAL(NOT.THERE) IGNSTATE(YES)")


def test_Inquire_Connection_by_the_ConnectionId(pcf: pymqi.PCFExecute) -> None:
    """IBM MQ, "Inquire Connection": ConnectionId or GenericConnectionId."""
    identifier = pcf.MQCMD_INQUIRE_CONNECTION({})[0][CMQCFC.MQBACF_CONNECTION_ID]
    (found,) = pcf.MQCMD_INQUIRE_CONNECTION({CMQCFC.MQBACF_CONNECTION_ID: pymqi.ByteString(identifier)})
    assert found[CMQCFC.MQBACF_CONNECTION_ID] == identifier
    begins = {CMQCFC.MQBACF_CONNECTION_ID: pymqi.ByteString(identifier[:8])}
    assert refused(pcf.MQCMD_INQUIRE_CONNECTION, begins) == CMQCFC.MQRCCF_CONNECTION_ID_ERROR


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ({CMQCFC.MQIACF_DURABLE_SUBSCRIPTION: CMQC.MQSUB_DURABLE_NO}, [b"by call"]),
        ({CMQCFC.MQIACF_DURABLE_SUBSCRIPTION: CMQC.MQSUB_DURABLE_YES}, [b"by command"]),
        ({CMQCFC.MQIACF_DURABLE_SUBSCRIPTION: CMQC.MQSUB_DURABLE_ALL}, [b"by call", b"by command"]),
        ({CMQCFC.MQIACF_SUB_TYPE: CMQCFC.MQSUBTYPE_API}, [b"by call"]),
        ({CMQCFC.MQIACF_SUB_TYPE: CMQCFC.MQSUBTYPE_ADMIN}, [b"by command"]),
        ({CMQCFC.MQIACF_SUB_TYPE: CMQCFC.MQSUBTYPE_USER}, [b"by call", b"by command"]),
    ],
)
def test_Inquire_Subscription_by_Durable_and_SubscriptionType(
    connection: pymqi.QueueManager,
    pcf: pymqi.PCFExecute,
    mqsc: Mqsc,
    selected: dict[int, int],
    expected: list[bytes],
) -> None:
    mqsc("DEFINE QLOCAL(Q)", "DEFINE SUB('by command') TOPICSTR('a') DEST(Q)")
    descriptor = pymqi.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED | CMQC.MQSO_NON_DURABLE)
    descriptor.set_vs("ObjectString", "a")
    descriptor.set_vs("SubName", "by call")
    subscription = pymqi.Subscription(connection)
    subscription.sub(sub_desc=descriptor)
    found = pcf.MQCMD_INQUIRE_SUBSCRIPTION({**SUBSCRIPTIONS, **selected})
    subscription.close(close_sub_queue=True)
    assert names(found, SUB_NAME) == expected


def test_Copy_Subscription_by_SubId(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    """IBM MQ, "Copy Subscription": FromSubscriptionName or SubId."""
    mqsc("DEFINE QLOCAL(Q)", "DEFINE SUB('one') TOPICSTR('a') DEST(Q) USERDATA('copied')")
    (one,) = pcf.MQCMD_INQUIRE_SUBSCRIPTION({SUB_NAME: b"one"})
    source = {SUB_ID: pymqi.ByteString(one[SUB_ID])}
    pcf.MQCMD_COPY_SUBSCRIPTION({CMQCFC.MQCACF_TO_SUB_NAME: b"two", **source, CMQC.MQCA_TOPIC_STRING: b"b"})
    (two,) = pcf.MQCMD_INQUIRE_SUBSCRIPTION({SUB_NAME: b"two"})
    assert two[CMQCFC.MQCACF_SUB_USER_DATA].rstrip(b" \0") == b"copied"
    other = {CMQCFC.MQCACF_TO_SUB_NAME: b"three", CMQCFC.MQCACF_FROM_SUB_NAME: b"two", **source}
    assert refused(pcf.MQCMD_COPY_SUBSCRIPTION, other) == CMQC.MQRC_NO_SUBSCRIPTION


@pytest.mark.parametrize("kind", [CMQCFC.MQIACF_Q_STATUS, CMQCFC.MQIACF_Q_HANDLE])
def test_Inquire_Queue_Status_by_OpenType(
    connection: pymqi.QueueManager, pcf: pymqi.PCFExecute, mqsc: Mqsc, kind: int
) -> None:
    mqsc("DEFINE QLOCAL(MY.READ)", "DEFINE QLOCAL(MY.WRITTEN)")
    opened = [
        pymqi.Queue(connection, "MY.READ", CMQC.MQOO_INPUT_SHARED),
        pymqi.Queue(connection, "MY.WRITTEN", CMQC.MQOO_OUTPUT),
    ]
    found = [
        names(pcf.MQCMD_INQUIRE_Q_STATUS({NAME: b"MY.*", CMQCFC.MQIACF_Q_STATUS_TYPE: kind, **chosen}), NAME)
        for chosen in ({CMQCFC.MQIACF_OPEN_TYPE: value} for value in (CMQCFC.MQQSOT_INPUT, CMQCFC.MQQSOT_OUTPUT))
    ]
    every = {NAME: b"MY.*", CMQCFC.MQIACF_Q_STATUS_TYPE: kind, CMQCFC.MQIACF_OPEN_TYPE: CMQCFC.MQQSOT_ALL}
    found.append(names(pcf.MQCMD_INQUIRE_Q_STATUS(every), NAME))
    for queue in opened:
        queue.close()
    assert found == [[b"MY.READ"], [b"MY.WRITTEN"], [b"MY.READ", b"MY.WRITTEN"]]


def test_Inquire_Channel_Status_by_XmitQName_and_ConnectionName(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    for name in ("X", "Y"):
        mqsc(
            f"DEFINE QLOCAL({name}) USAGE(XMITQ)",
            f"DEFINE CHANNEL(TO.{name}) CHLTYPE(SDR) CONNAME('{name}') XMITQ({name})",
            f"STOP CHANNEL(TO.{name})",
        )
    channel = CMQCFC.MQCACH_CHANNEL_NAME
    for selected, expected in (
        ({}, [b"TO.X", b"TO.Y"]),
        ({CMQCFC.MQCACH_XMIT_Q_NAME: b"X"}, [b"TO.X"]),
        ({CMQCFC.MQCACH_CONNECTION_NAME: b"Y"}, [b"TO.Y"]),
    ):
        assert names(pcf.MQCMD_INQUIRE_CHANNEL_STATUS({channel: b"*", **selected}), channel) == expected
    none = {channel: b"*", CMQCFC.MQCACH_XMIT_Q_NAME: b"Z"}
    assert refused(pcf.MQCMD_INQUIRE_CHANNEL_STATUS, none) == CMQCFC.MQRCCF_CHL_STATUS_NOT_FOUND


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ({CMQCFC.MQIACH_XMIT_PROTOCOL_TYPE: CMQXC.MQXPT_TCP}, [b"L"]),
        ({CMQCFC.MQIACH_XMIT_PROTOCOL_TYPE: CMQXC.MQXPT_ALL}, [b"L"]),
        ({CMQCFC.MQIACH_XMIT_PROTOCOL_TYPE: CMQXC.MQXPT_LU62}, CMQC.MQRC_UNKNOWN_OBJECT_NAME),
        ({CMQCFC.MQIACH_XMIT_PROTOCOL_TYPE: 99}, CMQCFC.MQRCCF_PARM_VALUE_ERROR),
    ],
)
def test_Inquire_Listener_by_TransportType(
    pcf: pymqi.PCFExecute, mqsc: Mqsc, selected: dict[int, int], expected: list[bytes] | int
) -> None:
    mqsc("DEFINE LISTENER(L) TRPTYPE(TCP)")
    wanted = {CMQCFC.MQCACH_LISTENER_NAME: b"L", **selected}
    if isinstance(expected, int):
        assert refused(pcf.MQCMD_INQUIRE_LISTENER, wanted) == expected
    else:
        assert names(pcf.MQCMD_INQUIRE_LISTENER(wanted), CMQCFC.MQCACH_LISTENER_NAME) == expected


def test_Inquire_Topic_and_Queue_take_their_selecting_parameters(pcf: pymqi.PCFExecute, mqsc: Mqsc) -> None:
    mqsc("DEFINE TOPIC(T) TOPICSTR('t')", "DEFINE QLOCAL(Q)")
    topic = {CMQC.MQCA_TOPIC_NAME: b"T", CMQCFC.MQIACF_CLUSTER_INFO: 1}
    (found,) = pcf.MQCMD_INQUIRE_TOPIC({**topic, CMQC.MQIA_TOPIC_TYPE: CMQC.MQTOPT_LOCAL})
    assert found[CMQC.MQCA_TOPIC_NAME].rstrip(b" \0") == b"T"
    clustered = {**topic, CMQC.MQIA_TOPIC_TYPE: CMQC.MQTOPT_CLUSTER}
    assert refused(pcf.MQCMD_INQUIRE_TOPIC, clustered) == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    assert len(pcf.MQCMD_INQUIRE_Q({NAME: b"Q", CMQCFC.MQIACF_CLUSTER_INFO: 1})) == 1
    clustered = {NAME: b"Q", CMQC.MQCA_CLUSTER_NAME: b"CLUSTER"}
    assert refused(pcf.MQCMD_INQUIRE_Q, clustered) == CMQC.MQRC_UNKNOWN_OBJECT_NAME


@pytest.mark.parametrize(("bytes_", "reason"), [(15, 3031), (32_769, 3031), (16, 4010)])  # 4010: no partner is there
def test_Ping_Channel_with_DataCount(pcf: pymqi.PCFExecute, mqsc: Mqsc, bytes_: int, reason: int) -> None:
    mqsc("DEFINE QLOCAL(X) USAGE(XMITQ)", "DEFINE CHANNEL(TO.X) CHLTYPE(SDR) CONNAME('x') XMITQ(X)")
    ping = {CMQCFC.MQCACH_CHANNEL_NAME: b"TO.X", CMQCFC.MQIACH_DATA_COUNT: bytes_}
    assert refused(pcf.MQCMD_PING_CHANNEL, ping) == reason


def test_MQSC_has_the_same_parameters(mqsc: Mqsc) -> None:
    mqsc("DEFINE QLOCAL(Q)", "DEFINE SUB('one') TOPICSTR('a') DEST(Q)", "DEFINE SUB('two') TOPICSTR('b') DEST(Q)")
    identifier = mqsc("DISPLAY SUB('one') SUBID").split("SUBID(")[1].split(")")[0]
    assert "AMQ8095I" in mqsc(f"ALTER SUB SUBID({identifier.lower()}) USERDATA('by SUBID')")
    shown = mqsc(f"DISPLAY SUB SUBID({identifier}) USERDATA")
    assert "SUB(one)" in shown
    assert "USERDATA(by SUBID)" in shown
    assert "AMQ8147E" in mqsc(f"DELETE SUB('two') SUBID({identifier})", code=10)
    assert "AMQ8097I" in mqsc(f"DELETE SUB SUBID({identifier})")
    assert "SUB(two)" in mqsc("DISPLAY SUB(*) DURABLE(YES) SUBTYPE(ADMIN) WHERE(TOPICSTR EQ 'b')")
    assert "AMQ8147E" in mqsc("DISPLAY SUB(*) DURABLE(NO)", code=10)
    assert "AMQ8425E" in mqsc("DISPLAY SUB(*) DURABLE(PERHAPS)", code=10)
    assert "AMQ8421E" in mqsc("DELETE SUB", code=10)
