"""Random and damaged bytes: every decoder either succeeds or raises WireError, and never anything else.

The error names a structure, a field that this structure has, and the byte at which it has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from examples import TIMES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqwire import mqi, pcf
from mqwire.errors import CutShort, WireError
from mqwire.folder import parse
from mqwire.headers import MQH, split_dlh, walk
from mqwire.layout import Layout
from mqwire.pcf import MQCFBS, MQCFGR, MQCFH, MQCFIL, MQCFIN, MQCFIN64, MQCFSF, MQCFSL, MQCFST, Message
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD, MQMDE, MQTM, MQTMC2, MQXQH, Structure

QUIET = settings(deadline=None, max_examples=60 * TIMES)
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
BY_NAME = {structure.LAYOUT.name: structure.LAYOUT for structure in STRUCTURES}
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


def quietly(call: Callable[..., Any], *args: Any, **named: Any) -> WireError | None:
    """A WireError that names structure and field is an answer; whatever else is raised fails the test."""
    try:
        call(*args, **named)
    except WireError as refused:
        error = refused
    else:
        return None
    assert error.structure, error
    assert error.field, error
    return error


def in_its_place(error: WireError | None, layout: Layout, start: int) -> bool:
    """Whether the error is one of this structure at `start`, with the field where the table has it."""
    return error is None or (error.structure, error.offset) == (layout.name, start + layout.offset(error.field))


def is_said_right(error: WireError | None, start: int = 0) -> bool:
    """Whether the field stands where its structure's table has it, in a chain that begins at `start`."""
    layout = BY_NAME.get(error.structure) if error else None
    if error is None or layout is None or error.field in {"NameValueLength", "NameValueData"}:
        return True
    begins = error.offset - layout.offset(error.field)
    return begins >= start or (error.structure, begins) == ("MQMD", 0)


@pytest.mark.parametrize("structure", STRUCTURES)
@QUIET
@given(data=st.data(), encoding=ENCODINGS, ccsid=CCSIDS)
def test_structures(structure: type[Structure], data: st.DataObject, encoding: int, ccsid: int) -> None:
    raw = data.draw(st.binary() | damaged(structure().pack()) | damaged(structure().pack(encoding=273, ccsid=500)))
    offset = data.draw(st.integers(-5, 5))
    error = quietly(structure.unpack, raw, offset=offset, encoding=encoding, ccsid=ccsid)
    if structure is MQXQH and error is not None and error.structure == "MQMD":
        assert in_its_place(error, MQMD.LAYOUT, offset + MQXQH.LAYOUT.offset("msg_desc"))
    elif error is None or error.field != "NameValueLength":
        assert in_its_place(error, structure.LAYOUT, offset)


@pytest.mark.parametrize("structure", STRUCTURES)
@QUIET
@given(data=st.data(), offset=st.integers(0, 5))
def test_a_structure_cut_short_names_the_first_field_that_is_not_whole(
    structure: type[Structure], data: st.DataObject, offset: int
) -> None:
    layout, sound = structure.LAYOUT, structure().pack()
    there = data.draw(st.integers(0, len(sound) - 1))
    with pytest.raises(CutShort) as caught:
        structure.unpack(bytes(offset) + sound[:there], offset=offset)
    first = next(f for f in layout.fields if layout.offset(f.name) + f.width > there)
    said = (caught.value.structure, caught.value.field, caught.value.offset)
    assert said == (layout.name, first.name, offset + layout.offset(first.name))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@QUIET
@given(data=st.data())
def test_call_structures(layout: Layout, data: st.DataObject) -> None:
    raw = data.draw(st.binary() | damaged(layout.pack({})))
    assert in_its_place(quietly(layout.unpack, raw), layout, 0)
    assert in_its_place(quietly(layout.reader(*layout.keys), raw), layout, 0)


@QUIET
@given(data=st.data(), format_name=FORMATS, encoding=ENCODINGS, ccsid=CCSIDS)
def test_chain_of_headers(data: st.DataObject, format_name: str, encoding: int, ccsid: int) -> None:
    rfh = MQRFH2(format="MQSTR").with_folders("<usr><a>1</a></usr>").pack()
    xqh = MQXQH(msg_desc=MQMD(version=1, format="MQHRF2", coded_char_set_id=819)).pack()
    dlh = MQDLH(format="MQXMIT", encoding=546, coded_char_set_id=819).pack()
    raw = data.draw(st.binary() | damaged(dlh + xqh + rfh + b"data"))
    start = data.draw(st.sampled_from((0, 3)))
    own_ccsid = data.draw(st.sampled_from((None, 819)))
    assert is_said_right(
        quietly(walk, format_name, encoding, ccsid, bytes(start) + raw, offset=start, q_mgr_ccsid=own_ccsid), start
    )
    assert is_said_right(
        quietly(split_dlh, format_name, encoding, ccsid, raw, any_format=data.draw(st.booleans())),
    )


@QUIET
@given(encoding=st.sampled_from((0, -1, 3)), ccsid=st.sampled_from((1200, -1, -3, 31337)), before=st.booleans())
def test_what_nobody_knows_is_told_of_the_field_that_says_it(encoding: int, ccsid: int, before: bool) -> None:
    """`before`: a sound MQMD, and an MQDLH that says it; else the MQMD does."""
    rfh = MQRFH2(format="MQSTR").pack()
    for field, said in (("encoding", encoding), ("coded_char_set_id", ccsid)):
        wrong = {"encoding": 546, "coded_char_set_id": 819} | {field: said}
        dlh = MQDLH(format="MQHRF2", **wrong).pack() if before else b""
        md = ("MQDEAD", 546, 819) if before else ("MQHRF2", wrong["encoding"], wrong["coded_char_set_id"])
        error = quietly(walk, *md, dlh + rfh)
        layout = MQDLH.LAYOUT if before else MQMD.LAYOUT
        assert error is not None
        assert in_its_place(error, layout, 0)
        assert error.field == layout.field(field).name


@QUIET
@given(raw=st.binary() | damaged(pcf.encode(PCF)), encoding=ENCODINGS, ccsid=CCSIDS)
@example(raw=pcf.encode(PCF), encoding=546, ccsid=819)
def test_pcf(raw: bytes, encoding: int, ccsid: int) -> None:
    error = quietly(pcf.decode, raw, encoding=encoding, ccsid=ccsid)
    if error is not None:
        assert 0 <= error.offset <= max(len(raw), 4), error
        return
    assert pcf.encode(pcf.decode(raw, encoding=encoding, ccsid=ccsid), encoding=encoding, ccsid=ccsid) == raw


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
    header = MQRFH2(folders=(sound, data.draw(damaged(sound))))
    error = quietly(header.elements, offset=172)
    if error is None:
        quietly(lambda: [child.typed() for element in header.elements() for child in element.children])
        return
    second = 172 + MQRFH2.LAYOUT.size + 4 + len(sound) + 4
    assert (error.structure, error.field) == ("MQRFH2", "NameValueData")
    assert second <= error.offset <= second + len(header.folders[1])
