"""An incident on QM1's dead-letter queue, made by ordinary applications: the queue managers do the dead-lettering.

Applications of the branch office send to QM1 (and to the host MVS1), whose queues are unknown, full, put-inhibited or
too small. The host's operator sends what the host dead-lettered on to QM1, headers and all: big-endian, EBCDIC.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pymqi
from pymqi import CMQC

from mqops_demo.estate import REPAIRS, TROUBLE, depth_of, mqlite, wait_until_empty

DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"
LEDGER_ROOM = 100  # how many of the postings find room once the operators have mended what they could
SETS_CONTEXT = CMQC.MQOO_OUTPUT | CMQC.MQOO_SET_ALL_CONTEXT
SET_OPTIONS = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_SET_ALL_CONTEXT
PASS_OPTIONS = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_PASS_ALL_CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Messages of one application to one queue.

    Args:
        queue: the destination, on `queue_manager`.
        program: the application, as PutApplName has it.
        count: how many are sent.
        story: what is wrong with the destination.
        fits: how many of them the destination takes before the trouble starts.
        body_length: bytes of each message's text.
        expiry: tenths of a second, -1 for unlimited.
        group: messages per group, 0 for none.
    """

    queue: str
    program: str
    count: int
    story: str
    queue_manager: str = "QM1"
    fits: int = 0
    body_length: int = 600
    persistent: bool = True
    expiry: int = -1
    rfh2: bool = False
    group: int = 0


TRAFFIC = (
    Traffic(queue="PAYMENTS.ARCHIVE", program="payments-api", count=350, story="queue was deleted", rfh2=True),
    Traffic(queue="TRADES.OLD", program="trades-feed", count=300, story="renamed to TRADES.NEW"),
    Traffic(
        queue="CARDS.AUTH",
        program="card-terminals",
        count=400,
        fits=100,
        story="full",
        persistent=False,
        body_length=200,
    ),
    Traffic(
        queue="FX.RATES",
        program="fx-ticker",
        count=300,
        story="put inhibited",
        persistent=False,
        expiry=36_000,
        body_length=120,
    ),
    Traffic(queue="LOANS.REQUEST.V0", program="loans-web", count=150, story="queue was deleted", rfh2=True),
    Traffic(queue="STATEMENTS.OUT", program="statements-batch", count=150, story="message too long", body_length=3_000),
    Traffic(queue="SEPA.BATCH", program="sepa-batch", count=200, story="put inhibited, groups of 5", group=5),
    Traffic(queue="LEDGER.POST", program="ledger-posting", count=350, fits=150, story="full"),
    Traffic(
        queue="ACCOUNTS.QUERY",
        program="accounts-web",
        count=120,
        story="alias without its target",
        expiry=864_000,
        body_length=300,
    ),
    Traffic(
        queue="HOST.POSTING",
        program="host-gateway",
        queue_manager="MVS1",
        count=200,
        story="put inhibited on the host (EBCDIC headers)",
    ),
)
WITHOUT_HEADER = 60  # an application of the hub that takes the dead-letter queue for its own


def origin(program: str) -> dict[str, Any]:
    """The origin context that a program sets itself, as gateways do: its name is a name, not the end of a path."""
    now = time.gmtime()
    return {
        "PutApplType": CMQC.MQAT_UNIX,
        "PutApplName": program.encode(),
        "PutDate": time.strftime("%Y%m%d", now).encode(),
        "PutTime": time.strftime("%H%M%S00", now).encode(),
        "UserIdentifier": b"branch",
    }


def rfh2(destination: str) -> bytes:
    """An MQRFH2 as JMS senders write it, little-endian, folders in UTF-8."""
    folders = b""
    for text in ("<mcd><Msd>jms_text</Msd></mcd>", f"<jms><Dst>queue:///{destination}</Dst><Pri>4</Pri></jms>"):
        data = text.encode()
        data += b" " * (-len(data) % 4)
        folders += struct.pack("<i", len(data)) + data
    fixed = struct.pack("<4siiii8sii", b"RFH ", 2, 36 + len(folders), 546, 1208, b"MQSTR   ", 0, 1208)
    return fixed + folders


def bodies(traffic: Traffic) -> Iterator[bytes]:
    """The application data of each message, numbered so that every one can be found again."""
    header = rfh2(traffic.queue) if traffic.rfh2 else b""
    for number in range(traffic.count):
        text = f"{traffic.queue};{number:06d};".encode()
        yield header + text.ljust(traffic.body_length, b".")


def send(connection: pymqi.QueueManager, traffic: Traffic) -> None:
    """Put the messages under syncpoint, a hundred to a unit of work, as a batch application does."""
    descriptor = pymqi.OD(ObjectName=traffic.queue.encode(), ObjectQMgrName=traffic.queue_manager.encode(), Version=1)
    queue = pymqi.Queue(connection, descriptor, SETS_CONTEXT)
    for number, body in enumerate(bodies(traffic)):
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, Expiry=traffic.expiry, **origin(traffic.program))
        md.Format = CMQC.MQFMT_RF_HEADER_2 if traffic.rfh2 else CMQC.MQFMT_STRING
        md.Persistence = CMQC.MQPER_PERSISTENT if traffic.persistent else CMQC.MQPER_NOT_PERSISTENT
        md.ReplyToQ = b"BRANCH.REPLIES"
        if traffic.group:
            place = number % traffic.group
            md.GroupId = f"{traffic.queue}-{number // traffic.group}".encode().ljust(24, b"\0")[:24]
            md.MsgSeqNumber = place + 1
            last = place + 1 == traffic.group
            md.MsgFlags = CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP
        queue.put(body, md, pymqi.PMO(Options=SET_OPTIONS))
        if number % 100 == 99:
            connection.commit()
    connection.commit()
    queue.close()


def put_without_header() -> None:
    """Messages on the dead-letter queue that do not begin with an MQDLH."""
    connection = pymqi.connect("QM1")
    queue = pymqi.Queue(connection, DEAD_LETTER_QUEUE, SETS_CONTEXT)
    for number in range(WITHOUT_HEADER):
        md = pymqi.MD(Format=CMQC.MQFMT_STRING, **origin("hub-cleanup"))
        queue.put(f"not dead, only lost: {number:06d}".encode(), md, pymqi.PMO(Options=SET_OPTIONS))
    connection.commit()
    queue.close()
    connection.disconnect()


def forward_from_host() -> None:
    """The host's operator: everything on MVS1.DEAD.QUEUE goes to QM1's dead-letter queue, unchanged, context passed."""
    connection = pymqi.connect("MVS1")
    source = pymqi.Queue(
        connection, "MVS1.DEAD.QUEUE", CMQC.MQOO_INPUT_AS_Q_DEF | CMQC.MQOO_SAVE_ALL_CONTEXT | CMQC.MQOO_INQUIRE
    )
    descriptor = pymqi.OD(ObjectName=DEAD_LETTER_QUEUE.encode(), ObjectQMgrName=b"QM1", Version=1)
    target = pymqi.Queue(connection, descriptor, CMQC.MQOO_OUTPUT | CMQC.MQOO_PASS_ALL_CONTEXT)
    moved = 0
    while source.inquire(CMQC.MQIA_CURRENT_Q_DEPTH):
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2)
        body = source.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT))
        target.put(body, md, pymqi.PMO(Options=PASS_OPTIONS, Context=source.get_handle()))
        moved += 1
        if moved % 100 == 0:
            connection.commit()
    connection.commit()
    connection.disconnect()


def consume_cards() -> None:
    """The authorisation service comes back and reads what is on its queue."""
    connection = pymqi.connect("QM1")
    queue = pymqi.Queue(connection, "CARDS.AUTH", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE)
    while queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH):
        queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    connection.commit()
    connection.disconnect()


def ledger_room() -> int:
    """The MAXDEPTH that leaves LEDGER.POST room for a part of its postings only."""
    return depth("QM1", "LEDGER.POST") + LEDGER_ROOM


def depth(queue_manager: str, queue: str) -> int:
    """CURDEPTH of a queue, by a connection of its own."""
    connection = pymqi.connect(queue_manager)
    try:
        return depth_of(connection, queue)
    finally:
        connection.disconnect()


def happen(report: Callable[[str], None]) -> None:
    """Let the whole incident happen and the operators mend what they can; `report` gets a line a step."""
    before = depth("QM1", DEAD_LETTER_QUEUE)
    mqlite("mqsc", "QM1", stdin=TROUBLE)
    branch = pymqi.connect("BRANCH")
    for traffic in TRAFFIC:
        send(branch, traffic)
        report(f"{traffic.count:4} messages to {traffic.queue} on {traffic.queue_manager} ({traffic.story})")
    branch.disconnect()
    wait_until_empty("BRANCH", "QM1")
    wait_until_empty("BRANCH", "MVS1")
    forward_from_host()
    wait_until_empty("MVS1", "QM1")
    report("the host's operator has sent the host's dead letters on to QM1")
    sent, dead = sum(traffic.count for traffic in TRAFFIC), depth("QM1", DEAD_LETTER_QUEUE) - before
    report(f"{dead:,} of these {sent:,} messages are dead letters on QM1 now, the other {sent - dead:,} have arrived")
    put_without_header()
    report(f"{WITHOUT_HEADER:4} messages put on {DEAD_LETTER_QUEUE} without an MQDLH")
    consume_cards()
    mqlite("mqsc", "QM1", stdin=REPAIRS.format(ledger_room=ledger_room()))
    report("operators: FX.RATES and SEPA.BATCH open again, CARDS.AUTH drained, a little room in LEDGER.POST")
