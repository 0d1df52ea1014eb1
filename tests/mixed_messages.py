"""Messages of every kind, byte for byte: EBCDIC, UTF-16, chains of MQRFH2, MQ groups, torn headers."""

from __future__ import annotations

import random
import re
import struct
from collections import Counter

from mq_support import Manager, dead_letter
from pymqi import CMQC

ALL_CONTEXT = CMQC.MQOO_SET_ALL_CONTEXT
NEW_AT_A_PUT = {"BackoutCount"}
"""Fields of a message that a put sets."""


def whole(manager: Manager, queue: str) -> list[tuple[str, bytes]]:
    """The messages of a queue: every field of the descriptor but those that each put sets, and the body."""
    kept = [
        ({name: value for name, value in md.items() if name not in NEW_AT_A_PUT}, body)
        for md, body in manager.messages(queue)
    ]
    return [(repr(sorted(md.items())), body) for md, body in kept]


def rfh2(folders: str, inner: bytes, *, chained: bool = False) -> bytes:
    """An MQRFH2 of big-endian numbers, and what follows it."""
    text = folders.encode().ljust(-(-len(folders.encode()) // 4) * 4)
    form = b"MQHRF2  " if chained else b"MQSTR   "
    head = b"RFH " + struct.pack(">iiii", 2, 36 + 4 + len(text), 273, 1208) + form + struct.pack(">ii", 0, 1208)
    return head + struct.pack(">i", len(text)) + text + inner


def mixed(number: int, *, largest: int = 100_000) -> list[tuple[dict[str, object], bytes]]:
    """Messages of every kind, an MQ group among each twenty, some that are equal."""
    dice, found = random.Random(number), []
    for one in range(number):
        context = {"UserIdentifier": b"user%d" % (one % 7), "ApplIdentityData": b"\xff\x00id", "PutApplName": b"app"}
        context |= {"PutDate": b"20260102", "PutTime": b"%08d" % (1010100 + one % 50), "CorrelId": b"c%023d" % one}
        kind = one % 10
        if kind == 0:
            found.append(({**context, "Format": "MQSTR", "CodedCharSetId": 500}, "Grüße 1,50 €".encode("cp1140")))
        elif kind == 1:
            found.append(({**context, "Format": "MQSTR", "CodedCharSetId": 1200}, f"Nr. {one} ✓".encode("utf-16-be")))
        elif kind == 2:
            body = rfh2("<usr><n>1</n></usr>", rfh2("<usr><m>2</m></usr>", b"inner"), chained=True)
            found.append(({**context, "Format": "MQHRF2", "Encoding": 273}, body))
        elif kind == 3:
            found.append(({**context, "Format": "MQHRF2"}, b"RFH " + dice.randbytes(dice.randrange(50))))
        elif kind == 4:
            found.append(dead_letter("APP.A", dice.randbytes(40), **context))
        elif kind == 5:
            found.append(({**context, "Format": "MQDEAD"}, b"DLH torn"))
        elif kind in {6, 7}:
            flags = CMQC.MQMF_LAST_MSG_IN_GROUP if kind == 7 else CMQC.MQMF_MSG_IN_GROUP
            group = {"GroupId": b"g%023d" % (one // 10), "MsgSeqNumber": kind - 5, "MsgFlags": flags}
            found.append(({**context, **group}, b"of a group %d" % one))
        elif kind == 8:
            size = largest if one % 2000 == 8 else dice.randrange(3000)
            found.append(({**context, "Priority": one % 10, "Expiry": 9_000_000, "Persistence": one % 2}, bytes(size)))
        else:
            same = {"MsgId": b"%024d" % (one - one % 20), "CorrelId": b"same".ljust(24)}
            found.append(({**context, **same, "Report": CMQC.MQRO_PASS_CORREL_ID}, b"equal %d" % (one // 40)))
    return found


def alike(messages: list[tuple[str, bytes]]) -> Counter[tuple[str, bytes]]:
    """The messages without the lifetime that goes down."""
    return Counter((re.sub(r"\('Expiry', \d+\)", "", md), body) for md, body in messages)
