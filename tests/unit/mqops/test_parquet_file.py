"""Parquet files that somebody else wrote: kilobytes that stand for gigabytes, and headers that lie or break off."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mq_support import Manager

from mqops.errors import LakeError
from mqops.message_file import parquet_file
from mqops.message_file.core.page_header import page_header
from mqops.message_file.parquet_file import messages_of_folder
from mqwire.structures import MQMD_LAYOUT

MD = MQMD_LAYOUT.pack({"version": 2})
MEGABYTE = 1 << 20


def written(tmp_path: Path, bodies: list[Any], **how: Any) -> Path:
    folder = tmp_path / "file.parquet"
    folder.mkdir(parents=True)
    table = pa.table({"md": [MD] * len(bodies), "body": bodies})
    pq.write_table(table, folder / "part-00000.parquet", **{"compression": "zstd", **how})
    return folder


BOMBS = {
    "one page": (
        {"use_dictionary": False},
        lambda: [bytes([n]) + bytes(4 * MEGABYTE) for n in range(20)],
        "a page that unpacks",
    ),
    "values that begin as the one before": (
        {"use_dictionary": False, "column_encoding": {"body": "DELTA_BYTE_ARRAY"}},
        lambda: [bytes(4 * MEGABYTE) + bytes([n]) for n in range(20)],
        "a page with encoding 7",
    ),
    "one message": ({}, lambda: [bytes(4 * MEGABYTE)], "the greatest MAXMSGL of a queue is"),
}


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(OUT)\n")


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_small_file_that_would_fill_the_memory_is_refused(mqops_here, manager, tmp_path, monkeypatch, bomb):
    monkeypatch.setattr(parquet_file, "LARGEST_PAGE", 64 * MEGABYTE)
    monkeypatch.setattr(parquet_file, "LONGEST_MESSAGE", 3 * MEGABYTE)
    how, bodies, why = bomb
    file = written(tmp_path, bodies(), **how)
    assert sum(one.stat().st_size for one in file.iterdir()) < 32_000
    done = mqops_here("message", "load", str(file), "OUT", "-m", "QM1", "--run", "--yes", "--json", expect=1)
    said = json.loads(done.stdout.splitlines()[-1])["error"]["message"]
    assert why in said
    assert "nothing was loaded" in said
    assert manager.depth("OUT") == 0


def test_a_file_that_its_owner_cuts_while_it_is_read_is_refused(tmp_path):
    folder = written(tmp_path, [random.randbytes(500) for _ in range(3000)], row_group_size=1000)
    messages = messages_of_folder(folder)
    next(messages)
    os.truncate(folder / "part-00000.parquet", 4096)
    with pytest.raises(LakeError, match=r"nothing was loaded|The lake failed"):
        list(messages)


def test_what_was_looked_at_is_what_is_read(tmp_path, monkeypatch):
    """Its owner puts another file under its name between the two."""
    folder = written(tmp_path, [b"first"])
    part = folder / "part-00000.parquet"
    (other,) = written(tmp_path / "other", [b"second"]).iterdir()
    opened = pq.ParquetFile

    def swapped(*given: Any, **more: Any) -> Any:
        os.replace(other, part)
        return opened(*given, **more)

    monkeypatch.setattr(parquet_file.pq, "ParquetFile", swapped)
    assert [body for _md, body in messages_of_folder(folder)] == [b"first"]


def test_a_pipe_is_refused_and_waited_for_by_nobody(tmp_path):
    folder = tmp_path / "file.parquet"
    folder.mkdir()
    os.mkfifo(folder / "part-00000.parquet")
    with pytest.raises(LakeError, match="it is not a regular file"):
        next(messages_of_folder(folder))


@pytest.mark.parametrize("names", [["md", "md", "body"], ["md", "body", "body"], ["md", "body", "body.more"]])
def test_a_name_that_several_columns_have_is_refused_before_any_is_unpacked(tmp_path, monkeypatch, names):
    monkeypatch.setattr(parquet_file, "LARGEST_PAGE", MEGABYTE)  # the last one of a name was looked at only
    folder, bomb = tmp_path / "file.parquet", pa.array([bytes(8 * MEGABYTE)])
    folder.mkdir()
    if "body.more" in names:
        columns = [pa.array([MD]), pa.array([b"x"]), pa.StructArray.from_arrays([bomb], ["x"])]
    else:
        columns = [pa.array([MD if name == "md" else b"x"]) for name in names]
        columns[0 if names[1] == "md" else 1] = bomb
    table = pa.Table.from_arrays(columns, names)
    pq.write_table(table, folder / "part-00000.parquet", compression="zstd", use_dictionary=False)
    before = pa.total_allocated_bytes()
    with pytest.raises(LakeError, match=r"it has several columns (md|body)"):
        next(messages_of_folder(folder))
    assert pa.total_allocated_bytes() - before < MEGABYTE


@pytest.mark.parametrize(
    "how",
    [
        {"dictionary_pagesize_limit": 64 * MEGABYTE},  # one value for all rows
        {"use_dictionary": False, "write_batch_size": 1, "data_page_size": 1000},  # a page for each row
    ],
)
def test_messages_come_by_bytes_and_not_by_number(tmp_path, monkeypatch, how):
    monkeypatch.setattr(parquet_file, "BATCH_BYTES", 8 * MEGABYTE)
    size, number = MEGABYTE, 60
    before, most = pa.total_allocated_bytes(), 0
    for md, body in messages_of_folder(written(tmp_path, [bytes(size)] * number, **how)):
        most = max(most, pa.total_allocated_bytes() - before)
        number -= 1
        assert (md, len(body)) == (MD, size)
    assert number == 0
    assert most <= 20 * MEGABYTE


@pytest.mark.parametrize("rows", [1, 4999])
@pytest.mark.parametrize("how", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"row_group_size": 700}])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_files_as_they_are_written_are_read(tmp_path, rows, how, compression):
    bodies = [b"%d" % (number % 700) * (number % 40) for number in range(rows)]
    folder = written(tmp_path, bodies, compression=compression, **how)
    assert [body for _md, body in messages_of_folder(folder)] == bodies


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ([["x"]], "its column body is not binary|it has no column body"),
        ([b"x", None], "no descriptor, or no body"),
        (["text"], "a column is of type string"),
        ([1], "its column body is not binary"),
    ],
)
def test_what_is_no_file_of_messages_is_refused(tmp_path, body, why):
    with pytest.raises(LakeError, match=why):
        list(messages_of_folder(written(tmp_path, body)))


def test_a_damaged_file_is_refused_and_breaks_nothing(tmp_path):
    chance = random.Random(5)
    folder = written(tmp_path, [b"%d" % number for number in range(300)])
    (part,) = folder.iterdir()
    whole, refused = part.read_bytes(), 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        part.write_bytes(damaged if chance.random() < 0.8 else damaged[: chance.randrange(len(whole))])
        try:
            assert len(list(messages_of_folder(folder))) <= 300
        except LakeError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x15",
        b"\x15\x00\x00",  # no sizes
        b"\x15\x00\x15\x01\x15\x00\x00",  # fewer than 0 bytes
        b"\x15\x00\x15\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",  # a number without end
        b"\x1c" * 50,  # structures in structures
        b"\x19\xf8\xff\xff\xff\xff\x0f" + b"\x01a" * 50,  # a list that ends nowhere
        b"\x1b\x00\x00",  # a map
    ],
)
def test_a_header_that_is_none_is_refused(header):
    with pytest.raises(ValueError, match=r"the header of a page|a page ends"):
        page_header(header, 0)
