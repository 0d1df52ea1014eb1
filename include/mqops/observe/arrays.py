"""Structures of a fixed layout as numpy arrays, and the columns that Arrow makes of their fields.

A text or an identifier is a row of bytes (`uint8`) in a two-dimensional array: a row for each message.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.observe.core.decode import md_text
from mqwire.layout import Layout

Array: TypeAlias = np.ndarray[Any, Any]
BLANK = np.uint8(0x20)


def dtype_of(layout: Layout, order: str) -> np.dtype[Any]:
    """The layout as a numpy type: its numbers in a byte order (`<`, `>`, or `=` for this machine's), the rest bytes."""
    fields = {field.key: field for field in layout.fields}
    return np.dtype({
        "names": list(fields),
        "formats": [f"{order}i4" if one.kind == "long" else ("u1", (one.width,)) for one in fields.values()],
        "offsets": [layout.offset(name) for name in fields],
        "itemsize": layout.size,
    })  # fmt: skip


def rows_of(raw: Array) -> list[bytes]:
    """The bytes of each row."""
    width, joined = raw.shape[1], raw.tobytes()
    return [joined[at : at + width] for at in range(0, len(joined), width)]


def number_column(values: Array, kind: type[np.integer[Any]] = np.int32) -> pa.Array:
    """Numbers in either byte order as a column. PyArrow's own way imports numpy.ma, a seventieth of a dry run.

    Parameters: `kind` that the column has.
    """
    plain = np.ascontiguousarray(values, kind)
    return pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(plain), [None, pa.py_buffer(plain)])


def bytes_column(raw: Array) -> pa.Array:
    """Bytes of a fixed length, one value for each row."""
    return _padded(raw, pa.binary())


def md_text_column(raw: Array) -> pa.Array:
    """Texts of an MQMD, as `md_text` reads them."""
    names = until_nul(raw)
    column, beyond = text_column(names), beyond_ascii(names)
    if not beyond.any():
        return column
    return pc.replace_with_mask(column, beyond, pa.array(map(md_text, rows_of(raw[beyond])), pa.string()))


def text_column(names: Array) -> pa.Array:
    """Names in ASCII, padded with blanks, as texts."""
    return pc.ascii_rtrim(_padded(names, pa.string()), characters=" ")


def _padded(raw: Array, kind: pa.DataType) -> pa.Array:
    count, width = raw.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(raw))])


def until_nul(raw: Array) -> Array:
    """The same rows with blanks in place of the first NUL and of all behind it."""
    raw = np.ascontiguousarray(raw)
    if raw.size == 0 or raw.min() != 0:
        return raw
    nuls, width = raw == 0, raw.shape[1]
    length = np.where(nuls.any(axis=1), nuls.argmax(axis=1), width)
    return np.where(np.arange(width) < length[:, None], raw, BLANK)


def beyond_ascii(names: Array) -> Array:
    """Which rows have a byte beyond ASCII."""
    if names.size == 0 or names.max() < 0x80:
        return np.zeros(len(names), np.bool_)
    beyond: Array = np.any(names >= 0x80, axis=1)
    return beyond
