"""What a plan made without Spark shows of its messages: bytes, the oldest, three masked samples a group (law 9)."""

from __future__ import annotations

import json
import re

import pytest
from hostile import rfh2
from mq_support import DLQ, dead_letter

from mqops.look.core.taken_apart import taken_apart
from mqops.observe.core.mask import TextRow, masked, shape
from mqwire.structures import MQMD

TABLE = "DESTQ(A) ACTION(RETRY)\nACTION(DISCARD)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")


@pytest.fixture
def mqops(mqops_here):
    """Gives its standard output."""
    return lambda *arguments, **more: mqops_here(*arguments, **more).stdout


@pytest.fixture
def messages(manager):
    manager.put(DLQ, [dead_letter("A", b"IBAN DE%d, Anna" % number) for number in range(5)])
    manager.put(DLQ, [dead_letter("B", b"\xff" * 6), ({}, b"no header 1")])


SHAPES = {"A": ["xxxx xx9, xxxx"] * 3, "B": ["......"], None: ["xx xxxxxx 9"]}


def test_every_group_has_its_first_three_messages_masked(mqops, messages):
    said = mqops("dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=TABLE)
    counts = json.loads(said)["plan"]["counts"]
    assert {count["origin_q"]: [one["shape"] for one in count["samples"]] for count in counts} == SHAPES
    assert {one["row"]: one["bytes"] for count in counts for one in count["samples"]} == {
        **{0: 172 + 14, 1: 172 + 14, 2: 172 + 14},
        **{5: 172 + 6, 6: 11},
    }
    assert "Anna" not in said


def test_every_group_that_is_shown_has_samples(mqops, manager):
    manager.put(DLQ, [dead_letter(f"Q{number}", b"%d" % number) for number in range(120)])
    counts = json.loads(mqops("dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=TABLE))["plan"]["counts"]
    assert sorted(one["shape"] for count in counts for one in count["samples"]) == sorted(
        [*["9"] * 10, *["99"] * 90, *["999"] * 20]
    )


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("\u0e19\u0e32\u0e22\u0e2a\u0e21\u0e0a\u0e31\u0e22 \u0e14\u0e35", "xxxxxxxx xx"),  # Thai: vowels are marks
        ("\u0930\u093e\u092e \u096a\u0968", "xxx 99"),  # Devanagari: a vowel that has its own place, digits
        ("e\u0301t\u00e9", "xxxx"),  # a mark of its own and one that is part of its letter
        ("a_b-c: <1.5>, $9!", "x_x-x: <9.9>, $9!"),
        ("\u20ac5 \u00bd \u2160\u4e09", ".9 9 9x"),  # the Euro sign, a half, the Roman one, an ideograph
        ("\u2019\u2026\U0001f600\u2800\u00a0|\t\x1b", ".....|.."),  # no word, and still told by nobody
    ],
)
def test_a_shape_tells_no_letter_of_any_script(text, shape):
    assert masked(text.encode(), 1208, 546) == shape


@pytest.mark.parametrize(
    ("body", "ccsid", "encoding", "shape"),
    [
        (b"\xff", 1208, 546, "."),
        (b"\xff\xff\xff", 1208, 546, "..."),
        (b"ab\xf0\x9f\x98", 1208, 546, "xx"),  # the last character is cut in two
        (b"ab\xff\xff\xff\xff", 1208, 546, "......"),
        (b"", 1208, 546, ""),
        ("a1".encode("utf-16-le"), 1200, 546, "x9"),  # MQENC_INTEGER_REVERSED
        ("a1".encode("utf-16-be"), 1200, 273, "x9"),
        (b"a1", 0, 546, ".."),  # no character set
    ],
)
def test_a_shape_is_that_of_the_text_in_its_character_set_or_a_dot_a_byte(body, ccsid, encoding, shape):
    assert masked(body, ccsid, encoding) == shape


@pytest.mark.parametrize(
    ("body", "masks"),
    [
        (rfh2("<usr><iban>DE1</iban></usr>") + b"Anna 1", "xxxx 9"),
        (rfh2("<usr/>", format_name="MQHRF2") + rfh2("<jms/>") + b"a;1", "x;9"),
        (rfh2("<usr/>")[:20] + b"Anna 1", "." * 26),  # the header is cut short: nothing behind it is known
    ],
)
def test_a_sample_has_the_mask_of_the_page_of_the_message(body, masks):
    """Behind all headers: those of an MQRFH2 are no text."""
    row = TextRow(b"", b"", body, None, None, None, "MQHRF2", 1208, 546)
    assert shape(row) == masks
    page = taken_apart(MQMD(version=2, format="MQHRF2", coded_char_set_id=1208, encoding=546).pack(), body).body.text
    assert page == (None if masks == "." * 26 else masks)


def test_the_text_shows_bytes_the_oldest_and_samples(mqops, messages):
    said = mqops("dlq", "run", DLQ, "QM1", "--dry-run", text=TABLE).splitlines()
    put = r"\d{4}-\d\d-\d\dT[0-9:.]{11}Z"
    expected = [
        *(rf"       5  line 1: RETRY to A@QM1  \(MQRC_Q_FULL A@QM1; {5 * 186} bytes, oldest {put}\)",),
        *[rf"          [0-9a-f]{{48}} {put} \S+, 186 bytes: xxxx xx9, xxxx"] * 3,
        rf"       1  line 2: DISCARD  \(MQRC_Q_FULL B@QM1; 178 bytes, oldest {put}\)",
        rf"          [0-9a-f]{{48}} {put} \S+, 178 bytes: [.]{{6}}",
        rf"       1  ERROR \(no MQDLH can be read, so it stays\)  \(no MQDLH; 11 bytes, oldest {put}\)",
        rf"          [0-9a-f]{{48}} {put} \S+, 11 bytes: xx xxxxxx 9",
    ]
    assert [line for line, wanted in zip(said[1:], expected, strict=False) if not re.fullmatch(wanted, line)] == []


def test_the_plan_of_an_undo_has_samples_too(mqops, messages):
    run = json.loads(mqops("dlq", "run", "--once", DLQ, "QM1", "--json", text=TABLE))["run"]
    plan = json.loads(mqops("undo", run, "-m", "QM1", "--dry-run", "--json"))["plan"]
    assert {count["action"]: [one["shape"] for one in count["samples"]] for count in plan["counts"]} == {
        "RETURN": SHAPES["A"],
        "RESTORE": SHAPES["B"],
    }
