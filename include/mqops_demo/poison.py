"""The rest of the incident, on QM1 itself: messages that an application cannot process, and messages that expire."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pymqi
from pymqi import CMQC

from mqops.poison_consumer import Delivery, PoisonAwareConsumer
from mqops_demo.incident import SET_OPTIONS, SETS_CONTEXT, origin, rfh2

ORDERS, BROKEN_ORDERS = 200, 10
DESK = ("LOANS.DESK", "TRADES.DESK")  # both name DESK.BOQ as their backout queue
DESK_LETTERS, BROKEN_LETTERS = 30, 6
OFFERS, SHORT_OFFERS = 150, 90
OFFER_VALID = 5  # tenths of a second
LONG_OFFER_VALID = 864_000


class CannotRead(Exception):
    """The application's own error."""


def put(connection: pymqi.QueueManager, queue: str, messages: list[tuple[dict[str, Any], bytes]], program: str) -> None:
    """Put messages (MQMD fields, body) of a program in one unit of work."""
    handle = pymqi.Queue(connection, queue, SETS_CONTEXT)
    for fields, body in messages:
        given = {"Format": CMQC.MQFMT_STRING, "Persistence": 1, **origin(program), **fields}
        handle.put(body, pymqi.MD(Version=CMQC.MQMD_VERSION_2, **given), pymqi.PMO(Options=SET_OPTIONS))
    connection.commit()
    handle.close()


def orders() -> list[tuple[dict[str, Any], bytes]]:
    """Payment orders, every twentieth cut short by the sender."""
    return [
        ({}, (b"BROKEN;%06d" if number % (ORDERS // BROKEN_ORDERS) == 7 else b"ORDER;%06d;EUR 10.00") % number)
        for number in range(ORDERS)
    ]


def letters(queue: str) -> list[tuple[dict[str, Any], bytes]]:
    """Letters to a desk; half of the broken ones come from JMS and say where they were sent."""
    found: list[tuple[dict[str, Any], bytes]] = []
    for number in range(DESK_LETTERS):
        broken = number < BROKEN_LETTERS
        text = (b"BROKEN;%06d" if broken else b"LETTER;%06d") % number
        if broken and number % 2:
            found.append(({"Format": CMQC.MQFMT_RF_HEADER_2}, rfh2(queue) + text))
        else:
            found.append(({}, text))
    return found


def offers() -> list[tuple[dict[str, Any], bytes]]:
    """Offers, most of them good for half a second; every third of those wants to know that nobody took it."""
    found: list[tuple[dict[str, Any], bytes]] = []
    for number in range(OFFERS):
        short = number < SHORT_OFFERS
        fields: dict[str, Any] = {"Expiry": OFFER_VALID if short else LONG_OFFER_VALID}
        if short and number % 3 == 0:
            fields |= {"Report": CMQC.MQRO_EXPIRATION_WITH_DATA, "ReplyToQ": b"OFFERS.REPORTS"}
        found.append((fields, b"OFFER;%06d" % number))
    return found


def process(delivery: Delivery) -> None:
    """The application: it books what it can read."""
    if b"BROKEN" in delivery.body:
        raise CannotRead


def consume(connection: pymqi.QueueManager, queue: str) -> Counter[str]:
    """Let the application work until the queue is empty; outcome → number of times."""
    with PoisonAwareConsumer(connection, queue, application="booking") as consumer:
        return Counter(handled.what for handled in consumer.run(process))


def happen(report: Callable[[str], None]) -> None:
    """Let it happen; `report` gets a line a step."""
    logging.getLogger("mqops.poison_consumer").setLevel(logging.ERROR)  # each of the failures is a warning
    connection = pymqi.connect("QM1")
    try:
        put(connection, "PAYMENTS.IN", orders(), "payments-api")
        for queue in DESK:
            put(connection, queue, letters(queue), "letters-web")
        for queue in ("PAYMENTS.IN", *DESK):
            what = consume(connection, queue)
            report(f"{queue}: {what['done']} messages booked, {what['requeued']} backed out three times and requeued")
        put(connection, "CARDS.OFFERS", offers(), "card-offers")
        time.sleep(OFFER_VALID / 10)
        report(f"{OFFERS:4} offers on CARDS.OFFERS, {SHORT_OFFERS} of them have expired by now")
    finally:
        connection.disconnect()
