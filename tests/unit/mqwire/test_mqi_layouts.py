"""The call structures are where a C compiler puts them, and as long as IBM says, version by version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from pymqi import CMQC

from mqwire import constants, mqi
from mqwire.fields import Field
from mqwire.layout import Layout
from mqwire.structures import MQDLH_LAYOUT, MQMDE_LAYOUT, MQTM_LAYOUT, MQTMC2_LAYOUT, MQXQH_LAYOUT

HEADER = Path(__file__).parents[2] / "data" / "mqi" / "structures.h"
LAYOUTS = {layout.name: layout for layout in vars(mqi).values() if isinstance(layout, Layout)}
NESTED = re.compile(r"(\w+)(VS(?:Ptr|Offset|BufSize|Length|CCSID))")


def c_path(field: Field) -> str:
    nested = NESTED.fullmatch(field.name)
    return f"{nested[1]}.{nested[2]}" if nested else field.name


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What the compiler says: "MQMD" or "MQMD.MsgId" to bytes."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("layouts")
    lines = [f'#include "{HEADER}"', "int main(void) {"]
    for name, layout in LAYOUTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{f.name} %zu\\n", offsetof({name}, {c_path(f)}));' for f in layout.fields]
    source = folder / "layouts.c"
    source.write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([*compiler.split(), str(source), "-o", str(folder / "layouts")], check=True)
    said = subprocess.run([str(folder / "layouts")], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in (line.split() for line in said.splitlines())}


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_fields_are_where_c_has_them(name: str, compiled: dict[str, int]) -> None:
    layout = LAYOUTS[name]
    assert {f.name: layout.offset(f.name) for f in layout.fields} == {
        f.name: compiled[f"{name}.{f.name}"] for f in layout.fields
    }
    assert layout.size == compiled[name]


@pytest.mark.parametrize(
    ("layout", "lengths"),
    [
        (mqi.MQMD, {1: 324, 2: 364}),
        (mqi.MQOD, {1: 168, 2: 208, 3: 344, 4: 424}),
        (mqi.MQGMO, {1: 72, 2: 80, 3: 100, 4: 112}),
        (mqi.MQPMO, {1: 128, 2: 160, 3: 184}),
        (mqi.MQSD, {1: 344}),
        (mqi.MQCSP, {1: 56, 2: 80, 3: 104}),
        (mqi.MQCNO, {1: 12, 2: 24, 3: 152, 4: 168, 5: 200, 6: 224, 7: 256, 8: 272}),
        (
            mqi.MQCD,
            {
                **{1: 984, 2: 1312, 3: 1480, 4: 1568, 5: 1584, 6: 1688, 7: 1792, 8: 1888, 9: 1912, 10: 1920, 11: 1984},
                **{12: 1992},
            },
        ),
        (mqi.MQSCO, {1: 536, 2: 544, 3: 560, 4: 568, 5: 632}),
        (mqi.MQSTS, {1: 224, 2: 280}),
        (mqi.MQCBC, {1: 56, 2: 64}),
        (mqi.MQCBD, {1: 168}),
        (mqi.MQCTLO, {1: 24}),
        (mqi.MQBNO, {1: 20}),
        (mqi.MQSRO, {1: 16}),
        (mqi.MQIMPO, {1: 64}),
        (mqi.MQCMHO, {1: 12}),
        (mqi.MQDMHO, {1: 12}),
        (mqi.MQDMPO, {1: 12}),
        (mqi.MQSMPO, {1: 20}),
        (mqi.MQPD, {1: 24}),
        (mqi.MQBO, {1: 12}),
        (mqi.MQCHARV, {1: 24}),
        (MQDLH_LAYOUT, {1: 172}),
        (MQXQH_LAYOUT, {1: 428}),
        (MQMDE_LAYOUT, {2: 72}),
        (MQTM_LAYOUT, {1: 684}),
        (MQTMC2_LAYOUT, {2: 732}),
    ],
    ids=lambda value: value.name if isinstance(value, Layout) else "",
)
def test_length_of_each_version(layout: Layout, lengths: dict[int, int]) -> None:
    assert {version: layout.length(version) for version in layout.versions} == lengths


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_lengths_are_those_of_the_constants(name: str) -> None:
    layout = LAYOUTS[name]
    for version in layout.versions:
        constant = f"{name}_LENGTH_{version}"
        known = getattr(constants, constant, getattr(CMQC, constant, layout.length(version)))
        assert layout.length(version) == known


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_initial_values_round_trip_in_every_version(name: str) -> None:
    layout = LAYOUTS[name]
    for version in layout.versions:
        versioned = {"version": version} if "version" in layout.keys else {}
        raw = layout.pack(versioned)
        assert len(raw) == layout.length(version)
        assert layout.pack(layout.unpack(raw)) == raw


def test_a_structure_in_a_longer_buffer_is_read_as_far_as_its_version_goes() -> None:
    raw = mqi.MQGMO.pack({"version": 1, "options": 5}) + b"\xff" * 40
    values = mqi.MQGMO.unpack(raw)
    assert (values["options"], values["match_options"], values["msg_handle"]) == (5, 3, 0)


def test_the_version_can_be_said_instead_of_read() -> None:
    raw = mqi.MQOD.pack({"version": 4, "object_string_vs_length": 7})
    assert mqi.MQOD.unpack(raw, version=1)["object_string_vs_length"] == 0
    assert mqi.MQOD.unpack(raw)["object_string_vs_length"] == 7
