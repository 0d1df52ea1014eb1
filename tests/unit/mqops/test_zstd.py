"""Frames of zstd, a value each: what is made is what any zstd reads, and the other way about."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from backports import zstd

from mqops.lake.zstd import Frames, decompressed

VALUES = [os.urandom(length // 2) * 2 for length in (0, 2, 254, 256, 65_790, 65_792, 70_000, 200_000)]
"""On both sides of where the length is told in another number of bytes."""


def test_what_is_made_is_read() -> None:
    made = Frames()
    frames = [made.compressed(value) for value in VALUES]
    assert decompressed(frames) == VALUES
    assert [zstd.decompress(frame) for frame in frames] == VALUES


def test_what_another_library_made_is_read() -> None:
    assert decompressed([pa.compress(value, "zstd", asbytes=True) for value in VALUES]) == VALUES


@pytest.mark.parametrize(
    "frame",
    [
        zstd.compress(b"x" * 300, options={zstd.CompressionParameter.content_size_flag: 0}),
        b"\x28\xb5\x2f\xfd\x20\x05garbage",
        b"no frame",
        b"",
    ],
)
def test_what_is_none_is_an_error(frame: bytes) -> None:
    with pytest.raises(ValueError, match="frame of zstd"):
        decompressed([frame])
