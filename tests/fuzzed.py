"""Messages as nobody wants them on a dead-letter queue, and good ones between them that say how they must come out.

A seed makes the same messages again. What a queue manager itself sees to (structure, version and MsgId of an MQMD) is
sound in all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hostile import CHAINS, FOLDERS, JSON, PCF, TEXT, XML, rfh2

from mqwire import constants as c
from mqwire.structures import MQDLH, MQMD_LAYOUT

TABLE = """\
* MQOPS EXTENSIONS
PROP('usr.good' = 'json') BODY(JSON '$.order.lines[1].sku' = 'A?C*') ACTION(FWD) FWDQ(JSON) HEADER(NO)
PROP('usr.good' = 'xml') BODY(XPATH '/order/line[2]/@sku' = 'A?C*') ACTION(FWD) FWDQ(XML) HEADER(NO)
BODY('*Grü*e aus der Stra*e 4?*') ACTION(FWD) FWDQ(TEXT)
REASON(MQRC_Q_FULL) DESTQ('GOOD.*') SIZE(>=4) PRIORITY(=7) ACTION(RETRY)
PROP('usr.p1' = '*a*b*') BODY('*a*a*a*b*') ACTION(FWD) FWDQ(ODD)
DESTQ('?*O*D*D*') BACKOUT(>3) ACTION(FWD) FWDQ(&DESTQ) FWDQM(&DESTQM) PUTAUT(CTX)
BODY(JSON '$.a[0][0]' = '*') ACTION(DISCARD)
BODY(XPATH '/a/b/@a1' = '*') ACTION(DISCARD)
AGE(>1d) SIZE(>=1K) APPLNAME('*A*B*') ACTION(IGNORE)
ACTION(IGNORE)
"""
ACTIONS = {"FWD", "RETRY", "DISCARD", "IGNORE", "ERROR"}
SIZES = (8, 16, 32, 64, 100, 200, 400, 800, 1500)
ODD_NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    -1,
    -2,
    8,
    31,
    273,
    500,
    546,
    785,
    819,
    943,
    1200,
    1208,
    1 << 30,
    (1 << 31) - 1,
    -(1 << 31),
)
ODD_BYTES = (
    *(
        b"\0",
        b" ",
        b"<",
        b">",
        b"</",
        b"/>",
        b"&",
        b"&amp;",
        b'"',
        b"'",
        b"=",
        b"{",
        b"[",
        b"]",
        b",",
        b"\\ud800",
        b"*",
    ),
    *(
        b"\xc3",
        b"\xff",
        b"\x1b[2J",
        "é".encode(),
        "\u202e".encode(),
        b"\r\n",
        b"1e999",
        b"NaN",
        b"<!DOCTYPE a [",
        b"]]>",
        b"<![CDATA[",
        b"<!--",
        b"-->",
        b"<?",
        b"&#10;",
    ),
)
FORMATS = (
    b"MQDEAD",
    b"MQXMIT",
    b"MQHMDE",
    b"MQHRF2",
    b"MQIMS",
    b"MQCICS",
    b"MQHXXX",
    b"MQSTR",
    b"MQADMIN",
    b"",
    b"\xff",
)
TEXT_FIELDS = (
    *("Format", "ReplyToQ", "ReplyToQMgr", "UserIdentifier", "ApplIdentityData", "PutApplName", "PutDate", "PutTime"),
)
DATES = (b"00000000", b"20260231", b"99999999", b"2026-1-1", b"\xb2026010", b"        ", b"00010101", b"20260102")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzzed:
    """A message: fields of its MQMD by MQ's names, its body; what a good one must become by column, else None."""

    md: Mapping[str, Any]
    body: bytes
    becomes: Mapping[str, Any] | None = None


@lru_cache(maxsize=4096)
def _dlh(destination: str, format_name: str, ccsid: int, **fields: Any) -> bytes:
    described = {"format": format_name, "encoding": c.MQENC_NATIVE, "coded_char_set_id": ccsid}
    return MQDLH(reason=c.MQRC_Q_FULL, dest_q_name=destination, put_date="20260102", put_time="03040506",
                 put_appl_name="test", **{**described, **fields}).pack()  # fmt: skip


_DEAD = {"Format": "MQDEAD", "Encoding": c.MQENC_NATIVE, "CodedCharSetId": 1208}
_RULE = {"action": "FWD", "dlh_error": None, "dlh_dest_q": "ORDERS"}


def _json(number: int) -> Fuzzed:
    text = f'{{"order": {{"id": {number}, "lines": [{{"sku": "-"}}, {{"sku": "ABC{number}"}}]}}}}'
    folders = (
        "<jms><Dst>queue:///ORDERS</Dst></jms>",
        "<<not valid",
        f"<?xml version='1.0'?><usr><good>json</good><!-- - --><n dt='i4'>{number}</n></usr>",
        "<audit>step &#49;<br/>step <![CDATA[<2>]]><a:b.c>&#x33;</a:b.c></audit>",
    )
    properties = (
        f'{{"jms.Dst": "queue:///ORDERS", "usr.good": "json", "usr.n": "{number}", "audit.br": "", "audit.a:b.c": "3"}}'
    )
    return Fuzzed(
        md=_DEAD,
        body=_dlh("ORDERS", "MQHRF2", 1208) + rfh2(*folders) + text.encode(),
        becomes={
            **{**_RULE, "rule_line": 2, "dest_q": "JSON", "text_kind": "json", "properties": properties},
            "jms_destination": "queue:///ORDERS",
        },
    )


def _xml(number: int) -> Fuzzed:
    text = f'<order id="{number}"><line sku="-"/><line sku="AéC{number}"/></order>'
    header = rfh2("<usr><good>xml</good></usr>")
    header = header[:12] + (c.MQENC_NATIVE).to_bytes(4, "little") + (1200).to_bytes(4, "little") + header[20:]
    return Fuzzed(
        md=_DEAD,
        body=_dlh("ORDERS", "MQHRF2", 1208) + header + text.encode("utf-16-le"),
        becomes={
            **{**_RULE, "rule_line": 3, "dest_q": "XML", "text_kind": "xml", "properties": '{"usr.good": "xml"}'},
            **{"text_decoded": text, "jms_destination": None},
        },
    )


def _text(number: int) -> Fuzzed:
    text = f"Grüße aus der Straße 4{number % 10}, {number}"
    return Fuzzed(
        md=_DEAD,
        body=_dlh("ORDERS", "MQSTR", 500) + text.encode("cp500"),
        becomes={
            **{**_RULE, "rule_line": 4, "dest_q": "TEXT", "text_kind": "text", "text_decoded": text},
            "properties": None,
        },
    )


def _plain(number: int) -> Fuzzed:
    destination = f"GOOD.{number % 1000}"
    return Fuzzed(
        md={**_DEAD, "Priority": 7},
        body=_dlh(destination, "", 1208) + number.to_bytes(8, "big"),
        becomes={
            "action": "RETRY",
            "rule_line": 5,
            "dest_q": destination,
            "dlh_dest_q": destination,
            "dlh_error": None,
        },
    )


GOOD: tuple[Callable[[int], Fuzzed], ...] = (_json, _xml, _text, _plain)


def damaged(chance: random.Random, sound: bytes) -> bytes:
    """A copy with up to five pieces changed, doubled, or the end cut off."""
    body = bytearray(sound)
    for _ in range(chance.randrange(6)):
        at, how = chance.randrange(len(body) + 1), chance.random()
        if how < 0.35:
            at -= at % 4
            body[at : at + 4] = chance.choice(ODD_NUMBERS).to_bytes(4, "little", signed=True)
        elif how < 0.6:
            body[at : at + chance.randrange(3)] = chance.choice(ODD_BYTES)
        elif how < 0.8:
            body[at : at + 1] = chance.randbytes(1)
        elif how < 0.9:
            body[at:at] = body[chance.randrange(len(body) + 1) :][: chance.randrange(200)]
        else:
            del body[at:]
    return bytes(body)


@dataclass(slots=True)
class Fuzz:
    """Messages without end. `chance` is the source of all that is odd."""

    chance: random.Random
    number: int = 0
    shapes: list[Callable[[int], tuple[str, bytes]]] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> Fuzz:
        """The messages of a seed."""
        made = cls(random.Random(seed))
        shapes: list[Callable[[int], tuple[str, bytes]]] = []
        shapes += CHAINS.values()
        shapes += [lambda size, shape=shape: ("MQADMIN", shape(size)) for shape in PCF.values()]
        shapes += [lambda size, shape=shape: ("MQHRF2", rfh2(shape(size))) for shape in FOLDERS.values()]
        texts = (*JSON.values(), *XML.values(), *TEXT.values())
        shapes += [lambda size, shape=shape: ("MQSTR", shape(size).encode()) for shape in texts]
        made.shapes = [lru_cache(shape) for shape in shapes]
        return made

    def messages(self, count: int) -> Iterator[Fuzzed]:
        """So many more; every tenth or so is good."""
        for _ in range(count):
            self.number += 1
            kind = self.chance.random()
            if kind < 0.1:
                yield self.chance.choice(GOOD)(self.number)
            else:
                yield self._damaged(self.chance.choice(GOOD)(self.number) if kind < 0.5 else self._hostile())

    def _hostile(self) -> Fuzzed:
        size = self.chance.choice(SIZES) if self.chance.random() < 0.995 else 60_000
        format_name, body = self.chance.choice(self.shapes)(size)
        md = {"Format": format_name, "Encoding": c.MQENC_NATIVE, "CodedCharSetId": 1208}
        if self.chance.random() < 0.7:
            md, body = dict(_DEAD), _dlh("ODD", format_name, 1208) + body
        return Fuzzed(md=md, body=body)

    def _damaged(self, sound: Fuzzed) -> Fuzzed:
        md = dict(sound.md)
        if self.chance.random() < 0.3:
            self._damage(md)
        return Fuzzed(md=md, body=damaged(self.chance, sound.body))

    def _damage(self, md: dict[str, Any]) -> None:
        """Fields that a queue manager takes as they come."""
        chance = self.chance
        for name in chance.sample(TEXT_FIELDS, 2):
            length = MQMD_LAYOUT.field(name).length
            odd = {"Format": FORMATS, "PutDate": DATES, "PutTime": DATES}.get(name, ODD_BYTES)
            value = (
                chance.choice(odd) * chance.choice((1, 1, 20)) if chance.random() < 0.8 else chance.randbytes(length)
            )
            md[name] = value[:length]
        if chance.random() < 0.5:
            md["Encoding"] = chance.choice(ODD_NUMBERS)
        if chance.random() < 0.5:
            md["CodedCharSetId"] = chance.choice(ODD_NUMBERS)


@lru_cache
def _writer(*names: str) -> Callable[..., None]:
    return MQMD_LAYOUT.writer(*names)


_SOUND = MQMD_LAYOUT.pack({"version": 2})


def md_bytes(number: int, message: Fuzzed) -> bytes:
    """The MQMD as it is got, with the number as MsgId."""
    names = {"MsgId": number.to_bytes(24, "big"), "PutDate": b"20260102", "PutTime": b"03040500", **message.md}
    raw = bytearray(_SOUND)
    _writer(*names)(raw, *names.values())
    return bytes(raw)
