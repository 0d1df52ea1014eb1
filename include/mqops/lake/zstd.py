"""Values of a column compressed by zstd, each a frame of its own.

A context of zstd costs more than to compress a message: one serves all values of a batch. Python's own module (in
Python 3.14 `compression.zstd`) compresses; it makes a context for each frame that it decompresses, so Arrow does that.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from backports.zstd import ZstdCompressor, ZstdError, get_frame_info

_LEVEL = 1


class Frames:
    """Makes frames."""

    def __init__(self) -> None:
        self._compressor = ZstdCompressor(level=_LEVEL)

    def compressed(self, value: bytes) -> bytes:
        """A value as a frame, which says how long the value is."""
        return self._compressor.compress(value, self._compressor.FLUSH_FRAME)


def decompressed(frames: Sequence[bytes]) -> list[bytes]:
    """The values of frames that say how long these are, as `Frames` makes them.

    Raises:
        ValueError: one does not say it, or is none.
    """
    try:
        sizes = [get_frame_info(one).decompressed_size for one in frames]
        if None in sizes:
            raise ValueError("a frame of zstd that does not say how long its content is")
        with pa.CompressedInputStream(pa.BufferReader(b"".join(frames)), "zstd") as stream:
            return [stream.read(size) for size in sizes]
    except (ZstdError, OSError) as error:
        raise ValueError(f"not a frame of zstd: {error}") from error
