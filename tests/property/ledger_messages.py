"""Bodies for the ledger queue: true markers and lane tokens, and what somebody might make of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import NamedTuple

from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import LaneToken, Marker
from mqops.ledger.core.seal import Key, Keys, sign_message

NUL = bytes(24)
ODD = ("-1", "1e999", "Infinity", "NaN", "1.5", "9" * 400, "true", "null", '""', "[]", "{}", '"\\ud800"', "[[[[]]]]")


class Case(NamedTuple):
    """A message: its identifiers and body; `good` the marker or lane token that it is, None where it is not known."""

    msg_id: bytes
    correl_id: bytes
    body: bytes
    good: Marker | LaneToken | None


class Fuzzer:
    """Makes messages from a seed. Parameters: `keys` sign the true ones; `plan` that they are of."""

    def __init__(self, seed: int, keys: Keys, plan: PlanIdentity) -> None:
        self._random = random.Random(seed)
        self._keys = keys
        self._plan = plan
        self._strange = Keys([Key(id="00ff" * 4, secret=b"strange")])

    def cases(self, number: int) -> Iterator[Case]:
        """So many messages; one of ten is true."""
        for count in range(number):
            yield self._true(count) if count % 10 == 0 else self._false(count)

    def _message(self, count: int) -> tuple[bytes, bytes, Marker | LaneToken]:
        lane, first = self._random.randrange(16), count
        if self._random.random() < 0.3:
            behind = tuple(f"{n:016x}" for n in range(self._random.randrange(4)))
            lane_token = LaneToken(run=self._plan.run, plan=self._plan.digest, lane=lane, next=first, behind=behind)
            return NUL, self._plan.lane_token_id(lane), lane_token
        rows = tuple(
            (first + n, "ab" * 32, f"{n:048x}", "RETRY", "rule", "Ä.Q", "QM", None, "cd" * 16)
            for n in range(self._random.randrange(4))
        )
        unit = self._plan.marker_id(lane, first, "acted")
        common = {"unit": unit.hex(), "run": self._plan.run, "plan": self._plan.digest, "kind": "acted", "at": "now"}
        marker = Marker(**common, lane=lane, first=first, next=first + len(rows), rows=rows, left={"why": (1, 2)})
        return unit, self._plan.markers(), marker

    def _true(self, count: int) -> Case:
        msg_id, correl_id, message = self._message(count)
        return Case(msg_id, correl_id, sign_message(self._keys, message.pack()), message)

    def _false(self, count: int) -> Case:
        msg_id, correl_id, message = self._message(count)
        plain = message.pack()
        kind = self._random.randrange(7)
        if kind == 0:  # as an earlier version put it
            return Case(msg_id, correl_id, plain, None)
        if kind == 1:
            return Case(msg_id, correl_id, sign_message(self._strange, plain), None)
        if kind == 2:  # a true one changed
            return Case(msg_id, correl_id, self._bytes(sign_message(self._keys, plain)), None)
        if kind == 6:  # a true one, put again under other identifiers
            return Case(self._random.randbytes(24), self._random.randbytes(24), sign_message(self._keys, plain), None)
        changed = self._random.choice((self._bytes, self._member, self._nested))(plain)
        if kind == 3:
            return Case(msg_id, correl_id, changed, None)
        return Case(
            msg_id, correl_id, sign_message(self._keys, changed), None
        )  # by a holder of the key: the schema alone

    def _bytes(self, body: bytes) -> bytes:
        """A few bytes changed, removed, doubled or put in; never the same as before."""
        changed = body
        for _ in range(self._random.randrange(1, 4)):
            at, end = sorted(self._random.randrange(len(changed) + 1) for _ in range(2))
            choices = (
                changed[:at] + changed[end:],
                changed[:end] + changed[at:],
                changed[:at] + self._random.randbytes(3) + changed[at:],
                changed[:at] + b"\x00" + changed[at + 1 :],
            )
            changed = self._random.choice(choices)
        return changed if changed != body else body + b" "

    def _member(self, body: bytes) -> bytes:
        """One member is another value, or is missing, or is there besides."""
        found = json.loads(body)
        name = self._random.choice([*found, "more"])
        members = {key: json.dumps(value) for key, value in found.items()}
        if self._random.random() < 0.2:
            members.pop(name, None)
        else:
            members[name] = self._random.choice(ODD)
        return ("{" + ",".join(f'"{key}":{value}' for key, value in members.items()) + "}").encode()

    def _nested(self, body: bytes) -> bytes:
        opening = self._random.choice((b"[", b'{"a":'))
        return body[:-1] + b',"left":' + opening * self._random.choice((10, 300, 3000)) + b"}"
