"""Every structure, in any encoding and character set: what goes in comes out, and bytes stay as they were."""

from __future__ import annotations

from typing import Any

import pytest
from examples import TIMES
from hypothesis import given, settings
from hypothesis import strategies as st

from mqwire import mqi
from mqwire.ccsid import UTF16, codec_for, decode, encode
from mqwire.errors import WireError
from mqwire.fields import Field
from mqwire.layout import Layout
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQDLH, MQMD, MQMDE, MQTM, MQTMC2, MQXQH, Structure

SINGLE_BYTE = (37, 273, 277, 278, 280, 284, 285, 297, 437, 500, 819, 850, 871, 923, 1047, *range(1140, 1150), 1252)
HOSTS = (290, 930, 933, 935, 937, 939, 1364, 1371, 1388, 1390, 1399, 420, 838, 874, 924, 949, 964, 1153, 1377, 1383)
CCSIDS = st.sampled_from((*SINGLE_BYTE, *HOSTS, 1208))
ENCODINGS = st.sampled_from((273, 546, 785, 1, 2, 1041, 17, 34))
PLAIN: list[type[Structure]] = [MQMD, MQMDE, MQDLH, MQTM, MQTMC2]
CALLS = [layout for layout in vars(mqi).values() if isinstance(layout, Layout)]
QUIET = settings(deadline=None, max_examples=20 * TIMES)


def characters(ccsid: int) -> st.SearchStrategy[str]:
    """Characters that exist in the character set."""
    if ccsid == 1208 or ccsid in UTF16:
        return st.characters(exclude_categories=["Cs"])
    codec = codec_for(ccsid)
    found = []
    for i in range(256):
        try:
            found.append(codec.decode(bytes([i])))
        except UnicodeError:
            continue
    return st.sampled_from([one for one in found if len(one) == 1])


def value(field: Field, ccsid: int) -> st.SearchStrategy[Any]:
    """Any value of a field that has no trailing blanks."""
    codec = codec_for(ccsid)
    if field.kind == "char":
        texts = st.text(characters(ccsid), max_size=field.length)
        return texts.filter(lambda text: len(codec.encode(text)) <= field.length).map(lambda text: text.rstrip(" "))
    if field.kind == "byte":
        return st.binary(min_size=field.length, max_size=field.length)
    bits = {"long": 31, "int64": 63, "pointer": 64, "int8": 8}[field.kind]
    return st.integers(0 if bits in {64, 8} else -(2**bits), 2**bits - 1)


def values(layout: Layout, ccsid: int, version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Any values of the fields of a version."""
    chosen = {
        f.key: value(f, ccsid) for f in layout.fields if f.since <= version and f.name not in {"StrucId", "Version"}
    }
    return st.fixed_dictionaries(chosen)


@pytest.mark.parametrize("structure", PLAIN)
@QUIET
@given(data=st.data(), encoding=ENCODINGS, ccsid=CCSIDS)
def test_unpack_undoes_pack(structure: type[Structure], data: st.DataObject, encoding: int, ccsid: int) -> None:
    version = data.draw(st.sampled_from(structure.LAYOUT.versions))
    before = structure(version=version, **data.draw(values(structure.LAYOUT, ccsid, version)))  # type: ignore[call-arg]
    raw = before.pack(encoding=encoding, ccsid=ccsid)
    assert len(raw) == structure.LAYOUT.length(version)
    assert structure.unpack(b"xyz" + raw + b"z", offset=3, encoding=encoding, ccsid=ccsid) == before


@pytest.mark.parametrize("structure", [*PLAIN, MQXQH])
@QUIET
@given(data=st.data(), encoding=ENCODINGS, ccsid=CCSIDS)
def test_bytes_that_can_be_unpacked_pack_to_themselves(
    structure: type[Structure], data: st.DataObject, encoding: int, ccsid: int
) -> None:
    raw = bytearray(structure().pack(encoding=encoding, ccsid=ccsid))
    start = data.draw(st.integers(8, len(raw) - 1))
    noise = data.draw(st.binary(max_size=len(raw) - start))
    raw[start : start + len(noise)] = noise
    try:
        found = structure.unpack(raw, encoding=encoding, ccsid=ccsid)
    except WireError:
        return
    assert found.pack(encoding=encoding, ccsid=ccsid) == raw


@QUIET
@given(data=st.data(), encoding=ENCODINGS, ccsid=CCSIDS)
def test_transmission_header(data: st.DataObject, encoding: int, ccsid: int) -> None:
    inner = MQMD(version=1, **data.draw(values(MQMD.LAYOUT, ccsid, 1)))
    names = st.text(characters(ccsid), max_size=12).map(lambda text: text.rstrip(" "))
    before = MQXQH(remote_q_name=data.draw(names), remote_q_mgr_name=data.draw(names), msg_desc=inner)
    raw = before.pack(encoding=encoding, ccsid=ccsid)
    assert MQXQH.unpack(raw, encoding=encoding, ccsid=ccsid) == before


@pytest.mark.parametrize("layout", CALLS, ids=lambda layout: layout.name)
@QUIET
@given(data=st.data())
def test_call_structures(layout: Layout, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(layout.versions))
    versioned = {"version": version} if "version" in layout.keys else {}
    before = data.draw(values(layout, 819, version)) | versioned
    raw = layout.pack(before)
    found = layout.unpack(raw)
    assert {key: found[key] for key in before} == before
    assert layout.pack(found) == raw


@pytest.mark.parametrize("layout", CALLS, ids=lambda layout: layout.name)
@QUIET
@given(data=st.data(), encoding=ENCODINGS)
def test_readers_and_writers_agree_with_the_codec(layout: Layout, data: st.DataObject, encoding: int) -> None:
    chosen = data.draw(st.permutations([f.key for f in layout.fields if f.name not in {"StrucId", "Version"}]))
    names = chosen[: data.draw(st.integers(1, len(chosen)))]
    wanted = {name: data.draw(value(layout.field(name), 819)) for name in names}
    raw = bytearray(layout.pack({}, encoding=encoding, version=layout.versions[-1]))
    layout.writer(*names, encoding=encoding)(raw, *wanted.values())
    full = layout.unpack(raw, encoding=encoding, version=layout.versions[-1])
    assert {name: full[name] for name in names} == wanted
    read = layout.reader(*names, encoding=encoding)(raw)
    assert len(read) == len(names)
    for name, found in zip(names, read, strict=True):
        is_text = layout.field(name).kind == "char"
        assert (found.decode("latin-1").rstrip(" ") if is_text else found) == wanted[name]


@QUIET
@given(
    folders=st.lists(st.binary(max_size=40).map(lambda raw: raw[: len(raw) // 4 * 4])),
    flags=st.integers(-(2**31), 2**31 - 1),
    encoding=ENCODINGS,
    ccsid=CCSIDS,
)
def test_rules_and_formatting_header(folders: list[bytes], flags: int, encoding: int, ccsid: int) -> None:
    before = MQRFH2(format="MQSTR", flags=flags, folders=tuple(folders))
    raw = before.pack(encoding=encoding, ccsid=ccsid)
    assert len(raw) == before.struc_length
    found = MQRFH2.unpack(raw + b"more", encoding=encoding, ccsid=ccsid)
    assert found == before
    assert found.pack(encoding=encoding, ccsid=ccsid) == raw


@QUIET
@given(data=st.data(), ccsid=st.sampled_from((*SINGLE_BYTE, 1208, *UTF16)), encoding=ENCODINGS)
def test_text_in_any_character_set(data: st.DataObject, ccsid: int, encoding: int) -> None:
    text = data.draw(st.text(characters(ccsid)))
    assert decode(encode(text, ccsid, encoding), ccsid, encoding) == text


@QUIET
@given(
    raw=st.binary(), ccsid=st.sampled_from((*SINGLE_BYTE, 1208, *UTF16, 424, 875, 943, 950, 954, 970, 1363, 1386, 5488))
)
def test_whatever_decodes_encodes_to_the_same_bytes(raw: bytes, ccsid: int) -> None:
    try:
        text = decode(raw, ccsid, 273)
    except WireError:
        return
    assert encode(text, ccsid, 273) == raw
