"""Random and damaged bytes: every decoder either succeeds or raises WireError, and never anything else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqwire import mqi, pcf
from mqwire.errors import WireError
from mqwire.folder import parse
from mqwire.headers import MQH, split_dlh, walk
from mqwire.layout import Layout
from mqwire.pcf import MQCFBS, MQCFGR, MQCFH, MQCFIL, MQCFIN, MQCFIN64, MQCFSF, MQCFSL, MQCFST, Message
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD, MQMDE, MQTM, MQTMC2, MQXQH, Structure

QUIET = settings(deadline=None, max_examples=150)
ENCODINGS = st.sampled_from((546, 273, 785, 0, -1, 3))
CCSIDS = st.sampled_from((819, 1208, 500, 1047, 943, 1200, 0, -2, 31337))
FORMATS = st.sampled_from(
    (
        "MQDEAD",
        "MQXMIT",
        "MQHMDE",
        "MQHRF2",
        "MQIMS",
        "MQCICS",
        "MQHRF",
        "MQHREF",
        "MQHWIH",
        "MQHDIST",
        "MQHEPCF",
        "MQHX",
        "",
    )
)
STRUCTURES: list[type[Structure]] = [MQMD, MQMDE, MQDLH, MQXQH, MQTM, MQTMC2, MQRFH2, MQH]
LAYOUTS = [layout for layout in vars(mqi).values() if isinstance(layout, Layout)]
PCF = Message(
    header=MQCFH(command=13, version=3),
    parameters=(
        MQCFST(parameter=2016, value="APP.*", length=48),
        MQCFIL(parameter=1002, value=(1009, 22)),
        MQCFGR(parameter=8003, value=(MQCFIN(parameter=1, value=2), MQCFSL(parameter=3, value=("A", "BB")))),
        MQCFSF(parameter=2016, operator=18, value="A*"),
        MQCFBS(parameter=7001, value=b"abc"),
        MQCFIN64(parameter=744, value=2**40),
    ),
)


@st.composite
def damaged(draw: st.DrawFn, sound: bytes) -> bytes:
    """Sound bytes with some changed, some cut off or some added."""
    raw = bytearray(sound)
    for _ in range(draw(st.integers(0, 2))):  # a plausible number in the place of another: kinds, lengths, counts
        at = draw(st.integers(0, max(len(raw) // 4 - 1, 0))) * 4
        raw[at : at + 4] = draw(st.integers(-1, 30)).to_bytes(4, draw(st.sampled_from(("little", "big"))), signed=True)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
    return bytes(raw[: draw(st.integers(0, len(raw)))]) if draw(st.booleans()) else bytes(raw)


def quietly(call: Callable[..., Any], *args: Any, **named: Any) -> None:
    """A WireError is an answer; whatever else is raised fails the test."""
    with suppress(WireError):
        call(*args, **named)


@pytest.mark.parametrize("structure", STRUCTURES)
@QUIET
@given(data=st.data(), encoding=ENCODINGS, ccsid=CCSIDS)
def test_structures(structure: type[Structure], data: st.DataObject, encoding: int, ccsid: int) -> None:
    raw = data.draw(st.binary() | damaged(structure().pack()) | damaged(structure().pack(encoding=273, ccsid=500)))
    offset = data.draw(st.integers(-5, 5))
    quietly(structure.unpack, raw, offset=offset, encoding=encoding, ccsid=ccsid)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@QUIET
@given(data=st.data())
def test_call_structures(layout: Layout, data: st.DataObject) -> None:
    raw = data.draw(st.binary() | damaged(layout.pack({})))
    quietly(layout.unpack, raw)
    quietly(layout.reader(*layout.keys), raw)


@QUIET
@given(data=st.data(), format_name=FORMATS, encoding=ENCODINGS, ccsid=CCSIDS)
def test_chain_of_headers(data: st.DataObject, format_name: str, encoding: int, ccsid: int) -> None:
    rfh = MQRFH2(format="MQSTR").with_folders("<usr><a>1</a></usr>").pack()
    xqh = MQXQH(msg_desc=MQMD(version=1, format="MQHRF2", coded_char_set_id=819)).pack()
    dlh = MQDLH(format="MQXMIT", encoding=546, coded_char_set_id=819).pack()
    raw = data.draw(st.binary() | damaged(dlh + xqh + rfh + b"data"))
    quietly(walk, format_name, encoding, ccsid, raw, q_mgr_ccsid=data.draw(st.sampled_from((None, 819))))
    quietly(split_dlh, format_name, encoding, ccsid, raw, any_format=data.draw(st.booleans()))


@QUIET
@given(raw=st.binary() | damaged(pcf.encode(PCF)), encoding=ENCODINGS, ccsid=CCSIDS)
@example(raw=pcf.encode(PCF), encoding=546, ccsid=819)
def test_pcf(raw: bytes, encoding: int, ccsid: int) -> None:
    try:
        found = pcf.decode(raw, encoding=encoding, ccsid=ccsid)
    except WireError:
        return
    assert pcf.encode(found, encoding=encoding, ccsid=ccsid) == raw


@QUIET
@given(text=st.text() | st.text(alphabet="<>/ab='\"& ;lt", max_size=60))
def test_folders(text: str) -> None:
    try:
        found = parse(text)
    except WireError:
        return
    assert parse("".join(element.text() for element in found)) == found


@QUIET
@given(data=st.data())
def test_damaged_folders(data: st.DataObject) -> None:
    sound = b"<usr a='1'><n dt='i4'>5</n><s>&lt;x&gt;</s></usr>   "
    header = MQRFH2(folders=(data.draw(damaged(sound)),))
    quietly(lambda: [child.typed() for element in header.elements() for child in element.children])
