"""Every parser of message data and of commands on damaged examples and hostile shapes: its own errors and no other.

MQOPS_FUZZ_CASES raises the number of cases of each. What was taken says the same when it is written and read again.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from fuzzed import FORMATS, GOOD, ODD_NUMBERS, Fuzz, damaged
from hostile import CHAINS, FOLDERS, JSON, MQSC, PCF, TEXT, XML, rfh2

from mqlite.conditions import CommandError
from mqlite.messages.conversion import NotConverted, Own, converted
from mqlite.messages.properties import MessageHandle, fold, unfold
from mqlite.messages.transmitted import Transmitted
from mqlite.mqsc import requests as mqsc_requests
from mqlite.mqsc.parser import SyntaxProblem, parse
from mqlite.mqsc.script import commands
from mqlite.pcf import requests as pcf_requests
from mqlite.publish_subscribe.topics import matches
from mqlite.security.authority import profile_matches, valid_profile
from mqops.backout.core.origin import jms_queue
from mqops.observe.core.mask import masked
from mqops.observe.core.payload import Described, payload_of
from mqops.quality.body import Message, look
from mqops.quality.columns import COLUMNS, Source
from mqops.rules.documents import json_values, kind_of, xml_values
from mqops.rules.pattern import text_match
from mqwire import constants as c
from mqwire import folder, pcf
from mqwire.errors import WireError
from mqwire.headers import walk
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH_LAYOUT, MQMD

CASES = int(os.environ.get("MQOPS_FUZZ_CASES", "1500"))
SIZES = (8, 20, 60, 200, 800)
CCSIDS = (1208, 1208, 819, 500, 943, 1200, 5488, 0, -2, 31337)
BODY_COLUMNS = frozenset(name for name, column in COLUMNS.items() if column.source is Source.BODY)


def text_of(chance: random.Random, shapes: Mapping[str, Callable[[int], str]]) -> str:
    """A damaged text of one of the shapes."""
    raw = damaged(chance, chance.choice(list(shapes.values()))(chance.choice(SIZES)).encode())
    return raw.decode("utf-8" if chance.random() < 0.5 else "latin-1", "replace")


def body_of(chance: random.Random) -> bytes:
    """A damaged body with headers."""
    kind = chance.random()
    if kind < 0.4:
        return damaged(chance, chance.choice(list(CHAINS.values()))(chance.choice(SIZES))[1])
    if kind < 0.7:
        return damaged(chance, rfh2(chance.choice(list(FOLDERS.values()))(chance.choice(SIZES))) + b"{}")
    return damaged(chance, chance.choice(GOOD)(1).body)


def described(chance: random.Random) -> tuple[str, int, int]:
    """Format, Encoding and CCSID."""
    encoding = c.MQENC_NATIVE if chance.random() < 0.8 else chance.choice(ODD_NUMBERS)
    return chance.choice(FORMATS).decode("latin-1"), encoding, chance.choice(CCSIDS)


def folders(chance: random.Random) -> None:
    with suppress(WireError):
        found = folder.parse(text_of(chance, FOLDERS))
        assert folder.parse("".join(each.text() for each in found)) == found
        for each in found:
            with suppress(WireError):
                each.typed()


def headers(chance: random.Random) -> None:
    body, said = body_of(chance), described(chance)
    with suppress(WireError):
        chain = walk(*said, body)
        assert 0 <= chain.payload_offset <= len(body)
        for header in chain.headers:
            if isinstance(header.value, MQRFH2):
                with suppress(WireError):
                    header.value.elements(header.encoding, offset=header.offset)


def payloads(chance: random.Random) -> None:
    body, said = body_of(chance), Described(*described(chance))
    dead = Described(*described(chance)) if chance.random() < 0.5 else None
    body = bytes(MQDLH_LAYOUT.size if dead else 0) + body
    found = payload_of(said, dead, body, 8)
    assert found.text_offset is None or 0 <= found.text_offset <= len(body)
    for text in (found.jms_destination, found.text_decoded, found.properties):
        if text is not None:
            text.encode()
    jms_queue(found.jms_destination, "QM1")


def bodies(chance: random.Random) -> None:
    format_name, encoding, ccsid = described(chance)
    body = body_of(chance)
    look(Message(format=format_name, encoding=encoding, ccsid=ccsid, msg_type=8, body=body), BODY_COLUMNS)
    masked(body, ccsid, encoding)


def json_texts(chance: random.Random) -> None:
    text = text_of(chance, JSON)
    if kind_of(text) == "json":
        for value in json_values(text, ["$.a.a", "$[0]", "$[0][0]", "$.k"]):
            assert value is None or value.encode() is not None
    look(Message(format="MQSTR", encoding=546, ccsid=1208, msg_type=8, body=text.encode()), BODY_COLUMNS)


def xml_texts(chance: random.Random) -> None:
    text = text_of(chance, XML)
    if kind_of(text) == "xml":
        xml_values(text, ["/a", "/a/b/@a1", "/a/a[2]"])
    look(Message(format="MQSTR", encoding=546, ccsid=1208, msg_type=8, body=text.encode()), BODY_COLUMNS)


def patterns(chance: random.Random) -> None:
    pattern = "".join(chance.choices("**??ab .[", k=chance.randrange(12))).rstrip(" ")
    text = "".join(chance.choices("aab .[", k=chance.randrange(20))).rstrip(" ")
    wanted = re.sub(r"\*+|.", lambda part: {"*": ".*", "?": "."}.get(part[0][0], re.escape(part[0])), pattern)
    assert text_match(pattern, text) is bool(re.fullmatch(wanted, text)), (pattern, text)
    text_match(pattern, text_of(chance, TEXT))


def names(chance: random.Random) -> None:
    profile = "".join(chance.choices("**??AB..", k=chance.randrange(1, 48)))
    name = "".join(chance.choices("AAB.", k=chance.randrange(48)))
    assert not valid_profile(profile) or profile_matches(profile, name) in {True, False}
    assert profile_matches("**", name)
    assert profile_matches(name, name)
    assert profile_matches("*", name) is ("." not in name)
    topic = "/".join(chance.choices(["a", "b", "", "+", "#"], k=chance.randrange(1, 20)))
    assert matches("#", topic)
    assert matches("/".join("+" for _ in topic.split("/")), topic)


def properties(chance: random.Random) -> None:
    md = bytearray(MQMD(format="MQHRF2", encoding=546, coded_char_set_id=1208).pack())
    before, body = bytes(md), damaged(chance, rfh2(chance.choice(list(FOLDERS.values()))(chance.choice(SIZES)))) + b"x"
    data, found = unfold(md, body)
    if bytes(md) == before:
        assert (data, found) == (body, {})
    handle = MessageHandle()
    handle.fill(found)
    assert all(handle.find(name, 0).name == name for name in found if not name.endswith("%"))
    fold(md, data, found)


def conversions(chance: random.Random) -> None:
    format_name, encoding, ccsid = described(chance)
    md = MQMD(format=format_name[:8], encoding=encoding, coded_char_set_id=ccsid)
    message = Transmitted(queue="", queue_manager="", md=md, body=body_of(chance))
    with suppress(NotConverted):
        converted(message, chance.choice((273, 546)), chance.choice(CCSIDS), Own())


def pcf_commands(chance: random.Random) -> None:
    raw = damaged(chance, chance.choice(list(PCF.values()))(chance.choice(SIZES[1:])))
    said = {"encoding": 546, "ccsid": chance.choice(CCSIDS)}
    with suppress(WireError, CommandError):
        message = pcf.decode(raw, **said)
        assert pcf.encode(message, **said) == raw
        pcf_requests.request_of(message, "unix", "QM1")


def mqsc_commands(chance: random.Random) -> None:
    for command in commands(text_of(chance, MQSC).splitlines()):
        with suppress(SyntaxProblem, CommandError):
            mqsc_requests.request_of(parse(command.text or "*"), "unix")


TARGETS: tuple[Callable[[random.Random], Any], ...] = (
    *(folders, headers, payloads, bodies, json_texts, xml_texts, patterns, names),
    *(properties, conversions, pcf_commands, mqsc_commands),
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_a_parser_takes_or_refuses_whatever_it_gets(target: Callable[[random.Random], Any]) -> None:
    for case in range(CASES):
        target(random.Random(f"{target.__name__} {case}"))


def test_a_seed_makes_the_same_messages_again() -> None:
    assert list(Fuzz.of(7).messages(50)) == list(Fuzz.of(7).messages(50))
