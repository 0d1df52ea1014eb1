"""The time of every parser of message data and of commands grows with their length and no faster.

CPU time at one length and at `TIMES` that length are compared, the best of some in one process: a parser that takes
twice the time for twice the length is at `TIMES`, one that takes four times the time at `TIMES` squared.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hostile import CHAINS, FOLDERS, JSON, MQSC, PCF, TEXT, XML, Text, rfh2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqlite.commands.filters import Where
from mqlite.conditions import CommandError
from mqlite.failure import Failure
from mqlite.messages.conversion import NotConverted, Own, converted
from mqlite.messages.properties import MessageHandle, unfold
from mqlite.messages.transmitted import Transmitted
from mqlite.mqsc import requests as mqsc_requests
from mqlite.mqsc.parser import SyntaxProblem, parse
from mqlite.mqsc.script import commands
from mqlite.objects.wildcards import wild_match
from mqlite.pcf import requests as pcf_requests
from mqlite.publish_subscribe.topics import matches
from mqlite.reports.report_message import ARRIVAL, kept_length
from mqlite.security.authority import profile_matches
from mqops.backout.core.origin import jms_queue
from mqops.observe.by_columns import record_batch
from mqops.observe.core.answers import answers
from mqops.observe.core.decode import Browsed
from mqops.quality.body import Message, look
from mqops.quality.columns import COLUMNS, Source
from mqops.queue_names import selected
from mqops.rules.conditions import Question
from mqops.rules.documents import json_values, kind_of, xml_values
from mqops.rules.pattern import text_match
from mqwire import constants as c
from mqwire import folder, pcf
from mqwire.errors import WireError
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD

TIMES = 8
MOST = 3 * TIMES
"""Of the time at `TIMES` the length; a quadratic parser takes 64."""
LONG_ENOUGH = 0.001
"""Seconds that can be measured; before that the length is doubled, up to `LONGEST`."""
LONGEST = 128 << 10
Job: TypeAlias = Callable[[], Any]
"""What is done with a text or body that is there already: making it is not measured."""
Maker: TypeAlias = Callable[[int], Job]


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    """Without Python's garbage collector, whose time depends on all that the process holds."""
    gc.disable()
    yield
    gc.enable()


def seconds(job: Job, rounds: int) -> float:
    """CPU time of a job, the least of some rounds."""
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        job()
        found.append(time.process_time() - begin)
    return min(found)


def assert_linear(make: Maker) -> None:
    """The time of what `make` makes of a length grows with it and no faster."""
    length = 512
    while seconds(make(length), 2) < LONG_ENOUGH and length < LONGEST:
        length *= 2
    short, long = make(length), make(length * TIMES)
    for _ in range(4):  # one measurement may have been disturbed, not four
        growth = seconds(long, 2) / max(seconds(short, 3), LONG_ENOUGH / 4)
        if growth <= MOST:
            return
    raise AssertionError(f"{TIMES} times the length, {length * TIMES}, takes {growth:.0f} times the time")


def cases(shapes: Any) -> Any:
    """A test for each shape, by its name."""
    return pytest.mark.parametrize("shape", [pytest.param(shape, id=name) for name, shape in shapes.items()])


BROWSED = Browsed(queue_manager="QM1", queue="Q1", observed_at=datetime(2026, 11, 21, tzinfo=UTC))
BODY_COLUMNS = frozenset(name for name, column in COLUMNS.items() if column.source is Source.BODY)
QUESTIONS = (
    Question("AGE"), Question("SIZE"), Question("PROP", "", "usr.p1"), Question("PROP", "", "usr.p2"),
    Question("BODY"), Question("BODY", "JSON", "$.a[3].b"), Question("BODY", "XPATH", "/a/b[2]/@c"),
)  # fmt: skip


def of_message(format_name: str, body: bytes, ccsid: int = 1208) -> None:
    """Everything that is ever made of a message's bytes: snapshot, answers to rules, quality, reports, conversion."""
    md = MQMD(format=format_name, coded_char_set_id=ccsid, encoding=c.MQENC_NATIVE)
    (row,) = record_batch(BROWSED, 0, [md.pack()], [body]).to_pylist()
    answers(QUESTIONS, row)
    look(Message(format=format_name, encoding=md.encoding, ccsid=ccsid, msg_type=8, body=body), BODY_COLUMNS)
    kept_length(md, body, ARRIVAL.with_data, ARRIVAL)
    with suppress(NotConverted):
        converted(Transmitted(queue="", queue_manager="", md=md, body=body), 273, 819, Own())


@cases(FOLDERS)
def test_folders(shape: Text) -> None:
    def make(length: int) -> Job:
        text = shape(length)

        def job() -> None:
            with suppress(WireError):
                for each in folder.parse(text):
                    [one.typed() for one in each.children]

        return job

    assert_linear(make)


@cases(FOLDERS)
def test_messages_with_folders(shape: Text) -> None:
    def make(length: int) -> Job:
        body = MQDLH(format="MQHRF2", encoding=c.MQENC_NATIVE, coded_char_set_id=1208).pack() + rfh2(shape(length))
        return lambda: of_message("MQDEAD", body)

    assert_linear(make)


@cases(FOLDERS)
def test_properties_of_messages(shape: Text) -> None:
    def make(length: int) -> Job:
        body = rfh2(shape(length))

        def job() -> None:
            handle, md = MessageHandle(), bytearray(MQMD(format="MQHRF2", coded_char_set_id=1208).pack())
            handle.fill(unfold(md, body)[1])
            one_after_the_other(handle)

        return job

    assert_linear(make)


def one_after_the_other(handle: MessageHandle) -> None:
    """What a program does that lists the properties of a message."""
    option = c.MQIMPO_INQ_FIRST
    while True:
        try:
            handle.find("%", option)
        except Failure:
            return
        option = c.MQIMPO_INQ_NEXT


def test_writing_folders() -> None:
    def make(length: int) -> Job:
        folders = [f"<f{number}/>" for number in range(length // 8)]
        return lambda: MQRFH2().with_folders(*folders).pack()

    assert_linear(make)


@cases(CHAINS)
def test_chains_of_headers(shape: Callable[[int], tuple[str, bytes]]) -> None:
    def make(length: int) -> Job:
        format_name, body = shape(length)
        return lambda: of_message(format_name, body, 819 if format_name == "MQXMIT" else 1208)

    assert_linear(make)


@pytest.mark.parametrize("ccsid", [1208, 1200, 943, 500])
@cases(TEXT)
def test_texts(shape: Text, ccsid: int) -> None:
    def make(length: int) -> Job:
        body = shape(length).encode("utf-16-le" if ccsid == 1200 else "utf-8")
        return lambda: of_message("MQSTR", body, ccsid)

    assert_linear(make)


@cases({f"JSON: {name}": shape for name, shape in JSON.items()} | {f"XML: {name}": s for name, s in XML.items()})
def test_documents(shape: Text) -> None:
    def make(length: int) -> Job:
        text = shape(length)
        body, kind = text.encode(), kind_of(text)

        def job() -> None:
            of_message("MQSTR", body)
            if kind == "json":
                json_values(text, ["$.a.b.c", "$[0][0][0]", "$[7]"])
            if kind == "xml":
                xml_values(text, ["/a/b", "/a/a/a/a/@a", "/a/b[3]/@a7"])

        return job

    assert_linear(make)


PATTERNS = ("*a*a*a*a*a*b", "*?a?a?*b?*c", "a*a*" * 8 + "b", "*" + "a" * 40 + "b*c", "*é*é*b")


@pytest.mark.parametrize("pattern", PATTERNS)
@cases(TEXT)
def test_patterns_of_rules(shape: Text, pattern: str) -> None:
    def make(length: int) -> Job:
        text = shape(length)
        return lambda: text_match(pattern, text)

    assert_linear(make)


def test_destinations() -> None:
    for begin, unit in pairwise(("queue://", "/", "?", "a", "queue://")):

        def make(length: int, text: str = begin, unit: str = unit) -> Job:
            return lambda: jms_queue(text + unit * (length // len(unit)), "QM1")

        assert_linear(make)


@cases(PCF)
def test_commands_in_PCF(shape: Callable[[int], bytes]) -> None:
    def make(length: int) -> Job:
        raw = shape(length)

        def job() -> None:
            with suppress(WireError, CommandError):
                message = pcf.decode(raw, ccsid=1208)
                pcf.encode(message, ccsid=1208)
                pcf_requests.request_of(message, "unix", "QM1")

        return job

    assert_linear(make)


@cases(MQSC)
def test_commands_in_MQSC(shape: Text) -> None:
    def make(length: int) -> Job:
        lines = shape(length).split("\n")

        def job() -> None:
            for command in commands(lines):
                if command.text is not None:
                    asked(command.text)

        return job

    assert_linear(make)


def asked(text: str) -> None:
    """A command taken apart, whether or not it is one."""
    with suppress(SyntaxProblem, CommandError):
        mqsc_requests.request_of(parse(text), "unix")


LIKE = Where(keyword="DESCR", operator=c.MQCFOP_LIKE, value="a*")
WILD = {
    "characters of a name": lambda length: lambda: profile_matches("A*A*A*A*A*B", "A" * length),
    "qualifiers of a name": lambda length: lambda: profile_matches("A.*.A*.**.A.B", "A." * (length // 2) + "A"),
    "levels of a topic": lambda length: lambda: matches("#/a/#/a/+/#/a/b", "a/" * (length // 2) + "a"),
    "a generic name": lambda length: (
        lambda: Where(keyword="DESCR", operator=c.MQCFOP_LIKE, value="a*").holds("a" * length)
    ),
    "queues of an expiry scan": lambda length: lambda: selected("A" * length, ["A*A*A*B", "B*", "A*"]),
}


@cases(WILD)
def test_names_with_wildcards(shape: Maker) -> None:
    assert_linear(shape)


@settings(deadline=None)
@given(
    pattern=st.lists(st.sampled_from(("*", "*", "?", "a", "b")), max_size=48),
    text=st.text(alphabet="ab", max_size=48),
)
@example(pattern=["*", "a"] * 24, text="a" * 47 + "b")
def test_no_pattern_needs_more_steps_than_its_length_times_that_of_the_name(pattern: list[str], text: str) -> None:
    steps = 0

    def fits(wanted: str, character: str) -> bool:
        nonlocal steps
        steps += 1
        return wanted in ("?", character)

    found = wild_match(pattern, text, any_number="*", fits=fits)
    assert steps <= (len(pattern) + 1) * (len(text) + 1)
    assert found is naive_match(tuple(pattern), text)


@cache
def naive_match(pattern: tuple[str, ...], text: str) -> bool:
    """The same, by trying everything (each part once)."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return naive_match(pattern[1:], text) or (bool(text) and naive_match(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and naive_match(pattern[1:], text[1:])


@settings(deadline=None)
@given(
    pattern=st.text(alphabet="**??ab \n", max_size=12).map(lambda text: text.rstrip(" ")),
    text=st.text(alphabet="ab \n", max_size=12).map(lambda text: text.rstrip(" ")),
)
def test_a_text_matches_without_padding_as_by_trying_everything(pattern: str, text: str) -> None:
    assert text_match(pattern, text) == naive_match(tuple(pattern), text)
