"""Values of a column compressed by zstd, each a frame of its own.

A context of zstd costs more than to compress a message: one serves all values of a batch. Python's own module (in
Python 3.14 `compression.zstd`) compresses; it makes a context for each frame that it decompresses, so Arrow does that.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_LEVEL = 1
_MAGIC = 4  # bytes
_SINGLE_SEGMENT = 0x20
_DICTIONARY_ID = (0, 1, 2, 4)  # bytes, by bits 0 and 1 of the descriptor
_CONTENT_SIZE = (0, 2, 4, 8)  # bytes, by bits 6 and 7; with a single segment at least 1


class Frames:
    """Makes frames."""

    def __init__(self) -> None:
        from backports import zstd  # noqa: PLC0415 - only where bodies are encrypted

        self._compressor = zstd.ZstdCompressor(level=_LEVEL)

    def compressed(self, value: bytes) -> bytes:
        """A value as a frame, which says how long the value is."""
        return self._compressor.compress(value, self._compressor.FLUSH_FRAME)


def decompressed(frames: Sequence[bytes]) -> list[bytes]:
    """The values of frames that say how long these are, as `Frames` makes them.

    Raises:
        ValueError: one does not say it.
        OSError: one is none.
    """
    with pa.CompressedInputStream(pa.BufferReader(b"".join(frames)), "zstd") as stream:
        return [stream.read(_content_size(one)) for one in frames]


def _content_size(frame: bytes) -> int:
    """Bytes of the value of a frame. Source: RFC 8878, 3.1.1.1."""
    descriptor = frame[_MAGIC]
    single = bool(descriptor & _SINGLE_SEGMENT)
    length = _CONTENT_SIZE[descriptor >> 6] or single
    if not length:
        raise ValueError("a frame of zstd that does not say how long its content is")
    at = _MAGIC + 1 + (not single) + _DICTIONARY_ID[descriptor & 3]
    return int.from_bytes(frame[at : at + length], "little") + (256 if length == 2 else 0)
