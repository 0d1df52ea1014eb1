"""A message on MQOPS.LEDGER that is full of errors takes no memory for each of them, signed or not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from mqops.errors import LedgerBroken
from mqops.ledger.core import schema
from mqops.ledger.core.received import Stranger, receive
from mqops.ledger.core.seal import Key, Keys

MARKER = '{"v":1,"kind":"%s","unit":"' + "ab" * 24 + '","run":"r","plan":"p","at":"x",'
ACTED = MARKER % "acted" + '"lane":0,"first":0,"next":1,"last":true,'
ISSUED = MARKER % "issued"
LANE_TOKEN = '{"v":1,"kind":"ticket","run":"r","plan":"p","lane":0,"next":0,'
FEW, MANY = 500, 20_000
BODIES = {
    "rows": lambda n: ACTED + '"absent":[],"rows":[' + ",".join(["[]"] * n) + "]}",
    "absent": lambda n: ACTED + '"rows":[],"absent":[' + ",".join(['""'] * n) + "]}",
    "left": lambda n: ACTED + '"rows":[],"absent":[],"left":{' + ",".join(f'"{k}":""' for k in range(n)) + "}}",
    "rows left": lambda n: ACTED + '"rows":[],"absent":[],"left":{"a":[' + ",".join(['""'] * n) + "]}}",
    "lanes": lambda n: ISSUED + '"about":{},"lanes":[' + ",".join(['""'] * n) + "]}",
    "about": lambda n: ISSUED + '"lanes":[],"about":{' + ",".join(f'"{k}":[]' for k in range(n)) + "}}",
    "behind": lambda n: LANE_TOKEN + '"behind":[' + ",".join(["1"] * n) + "]}",
}


def peak(what: Callable[[bytes], object], body: bytes, error: type[Exception]) -> int:
    """Bytes of Python objects at most while `what` refuses a body."""
    with pytest.raises(error):  # the first time modules and caches are filled
        what(body)
    tracemalloc.start()
    try:
        what(body)
    except error:
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    raise AssertionError("not refused")


@pytest.mark.parametrize("name", BODIES)
def test_checking_ends_at_the_first_error(name):
    few, many = (peak(schema.check, BODIES[name](number).encode(), LedgerBroken) for number in (FEW, MANY))
    assert many < 4 * few


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("end", ["", ',"key":"0123456789abcdef","hmac":"' + "0" * 64 + '"}'])
def test_of_a_message_that_no_known_key_signed_only_the_beginning_is_read(name, end):
    keys = Keys([Key(id="fedcba9876543210", secret=b"ours")])

    def read(body: bytes) -> None:
        receive(bytes(364), body, keys)

    def body(number: int) -> bytes:
        text = BODIES[name](number)
        return (text[:-1] + end if end else text).encode()

    few, many = (peak(read, body(number), Stranger) for number in (FEW, MANY))
    assert many - len(body(MANY)) < 4 * few  # the signature is cut off a copy of the body
