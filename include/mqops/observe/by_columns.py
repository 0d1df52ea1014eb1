"""A batch of browsed messages as a record batch, decoded by columns: the rows that `snapshot_row` gives, only faster.

1. MQMD and MQDLH have fixed layouts, so a batch of them is an array of structures. Numbers, identifiers and texts come
   from it a column at a time. MQDLHs are read by byte order, and their texts are translated to ASCII by CCSID.
2. Bodies go to Arrow as one buffer.
3. What is rare is read message by message, by the functions that `snapshot_row` uses: a text of the MQMD beyond ASCII
   by `md_text`, and headers behind the MQDLH by `payload_at`. The kind of the data is read by `kind_and_text`.
4. A message becomes a row by `snapshot_row` itself if its MQDLH is cut short, or has text beyond ASCII (a character of
   more than one byte is always beyond it), and if its group fields may be in an MQMDE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqops.ledger.core.identity import identity_key
from mqops.observe.arrays import (
    BLANK,
    Array,
    beyond_ascii,
    bytes_column,
    dtype_of,
    md_text_column,
    number_column,
    rows_of,
    text_column,
    until_nul,
)
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.decode import (
    DLH_COLUMNS,
    MD_COLUMNS,
    Browsed,
    error_of_first_bytes,
    snapshot_row,
)
from mqops.observe.core.group_fields import FORMATS
from mqops.observe.core.payload import ASCII_CCSIDS, Described, Payload, kind_and_text, payload_at
from mqwire import constants as c
from mqwire.ccsid import Codec, codec_for
from mqwire.errors import WireError
from mqwire.fields import before_nul
from mqwire.headers import is_header
from mqwire.structures import MQDLH_LAYOUT, MQMD_LAYOUT

Columns: TypeAlias = dict[str, pa.Array]
_MD = dtype_of(MQMD_LAYOUT, "=")
_DLH = {
    c.MQENC_INTEGER_REVERSED: dtype_of(MQDLH_LAYOUT, "<"),
    c.MQENC_INTEGER_NORMAL: dtype_of(MQDLH_LAYOUT, ">"),
}
"""Byte order of integers, as in Encoding → the structure."""
_STRUC_ID = np.frombuffer(c.MQDLH_STRUC_ID.ljust(4).encode("ascii"), np.uint8)
_DLH_TEXTS = [field for field in DLH_COLUMNS.values() if MQDLH_LAYOUT.field(field).kind == "char"]

_COLUMN: Mapping[str, Callable[[Array], pa.Array]] = {
    "long": number_column,
    "byte": bytes_column,
    "char": md_text_column,
}
"""Kind of a field → its column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Messages as they came, and their MQMDs as an array of structures."""

    positions: Array
    mds: Sequence[bytes]
    bodies: Sequence[bytes]
    joined: bytes
    starts: Array
    descriptors: Array

    @classmethod
    def of(cls, positions: Array, mds: Sequence[bytes], bodies: Sequence[bytes]) -> _Batch:
        starts = np.zeros(len(bodies) + 1, np.int64)
        np.cumsum([len(body) for body in bodies], out=starts[1:])
        return cls(
            positions=positions,
            mds=mds,
            bodies=bodies,
            joined=b"".join(bodies),
            starts=starts,
            descriptors=np.frombuffer(b"".join(mds), _MD),
        )

    def only(self, rows: Array) -> _Batch:
        """These messages of the batch."""
        chosen = rows.tolist()
        return self.of(self.positions[rows], [self.mds[n] for n in chosen], [self.bodies[n] for n in chosen])


@dataclass(frozen=True, slots=True, kw_only=True)
class _DeadLetterHeaders:
    """The MQDLHs of a batch, a row for each message.

    `structures` are blanks if there is no MQDLH; `texts` are its texts in ASCII, up to the first NUL, by field;
    `valid` says whether there is one; `errors` why there is none; `unusual` which messages are for `snapshot_row`.
    """

    structures: Array
    texts: dict[str, Array]
    valid: Array
    errors: list[str | None]
    unusual: Array

    def only(self, rows: Array) -> _DeadLetterHeaders:
        """Those of these messages of the batch."""
        return _DeadLetterHeaders(
            structures=self.structures[rows],
            texts={field: text[rows] for field, text in self.texts.items()},
            valid=self.valid[rows],
            errors=[self.errors[n] for n in rows.tolist()],
            unusual=self.unusual[rows],
        )


def record_batch(browsed: Browsed, first: int, mds: Sequence[bytes], bodies: Sequence[bytes]) -> pa.RecordBatch:
    """The rows of messages that follow one another on a queue.

    Parameters: `first` the position of the first of them, from 0; `mds` MQMDs of version 2 (364 bytes); `bodies` all
    that follows each.
    """
    batch = _Batch.of(np.arange(first, first + len(mds)), mds, bodies)
    headers = _dead_letter_headers(batch)
    if not headers.unusual.any():
        return _by_columns(browsed, batch, headers)
    usual, unusual = np.flatnonzero(~headers.unusual), np.flatnonzero(headers.unusual)
    rows = [snapshot_row(browsed, first + n, mds[n], bodies[n]) for n in unusual.tolist()]
    parts = [pa.RecordBatch.from_pylist(rows, schema=SNAPSHOT)]
    if usual.size:
        parts.append(_by_columns(browsed, batch.only(usual), headers.only(usual)))
    return pa.concat_batches(parts).take(pa.array(np.argsort(np.concatenate([unusual, usual]))))


def _by_columns(browsed: Browsed, batch: _Batch, headers: _DeadLetterHeaders) -> pa.RecordBatch:
    columns = {
        **_of_browse(browsed, batch),
        **_of_identity(batch),
        **_of_descriptors(batch.descriptors),
        **_of_dead_letter_headers(headers),
        **_of_payloads(batch, headers),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in SNAPSHOT.names], schema=SNAPSHOT)


# headers


def _dead_letter_headers(batch: _Batch) -> _DeadLetterHeaders:
    structures = _as_dead_letter_headers(batch)
    valid = (structures["struc_id"] == _STRUC_ID).all(axis=1) & (structures["version"] == c.MQDLH_VERSION_1)
    structures.view(np.uint8).reshape(len(structures), -1)[~valid] = BLANK
    texts = {field: until_nul(structures[field]) for field in _DLH_TEXTS}
    errors = _errors(batch, valid)
    unusual = ~valid & np.array([error is None for error in errors], np.bool_)
    for text in texts.values():
        unusual |= beyond_ascii(text)
    unusual |= _may_have_extension(np.where(valid[:, None], texts["format"], batch.descriptors["format"]))
    return _DeadLetterHeaders(structures=structures, texts=texts, valid=valid, errors=errors, unusual=unusual)


def _may_have_extension(formats: Array) -> Array:
    """Whether the format of what is behind the MQDLH, or the MQMD, is one of `group_fields.FORMATS`."""
    found = np.zeros(len(formats), np.bool_)
    for name in FORMATS:
        found |= (formats[:, : len(name)] == np.frombuffer(name.encode("ascii"), np.uint8)).all(axis=1)
    return found


def _as_dead_letter_headers(batch: _Batch) -> Array:
    """The first bytes of each body read as an MQDLH, by byte order and by CCSID, its texts translated to ASCII.

    A body that is too short, or whose Encoding or CCSID cannot be read here, is a row of zeros.
    """
    order, ccsid = batch.descriptors["encoding"] & c.MQENC_INTEGER_MASK, batch.descriptors["coded_char_set_id"]
    tables = {known: table for known in {*ccsid.tolist()} if (table := _ascii_table(known)) is not None}
    possible = np.isin(ccsid, list(tables)) & (np.diff(batch.starts) >= MQDLH_LAYOUT.size)
    structures = np.zeros(len(batch.mds), _DLH[c.MQENC_NATIVE & c.MQENC_INTEGER_MASK])
    for integers, structure in _DLH.items():
        rows = np.flatnonzero(possible & (order == integers))
        if rows.size:
            structures[rows] = _first_bytes(batch, rows).view(structure)[:, 0]
    for known in tables.keys() - ASCII_CCSIDS:
        rows = np.flatnonzero(possible & (ccsid == known))
        for field in ("struc_id", *_DLH_TEXTS):
            structures[field][rows] = tables[known][structures[field][rows]]
    return structures


@lru_cache(maxsize=256)
def _ascii_table(ccsid: int) -> Array | None:
    """The ASCII code of each byte of a character set, X'FF' for bytes that are no character of ASCII alone.

    None if a structure cannot be in this character set.
    """
    if ccsid in ASCII_CCSIDS:
        return np.arange(256, dtype=np.uint8)
    try:
        codec = codec_for(ccsid)
    except WireError:
        return None
    return np.array([_ascii_code(codec, byte) for byte in range(256)], np.uint8)


def _ascii_code(codec: Codec, byte: int) -> int:
    try:
        one = codec.decode(bytes([byte]))
    except UnicodeError:
        return 0xFF
    return ord(one) if len(one) == 1 and one.isascii() else 0xFF


def _first_bytes(batch: _Batch, rows: Array) -> Array:
    """As many bytes of each body as an MQDLH has: a row each."""
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(batch.joined, np.uint8), MQDLH_LAYOUT.size)
    return windows[batch.starts[rows]]


def _errors(batch: _Batch, valid: Array) -> list[str | None]:
    """Why there is no MQDLH: `dlh_error`. None if there is one, or if the first bytes do not say."""
    errors: list[str | None] = [None] * len(batch.mds)
    rows = np.flatnonzero(~valid)
    if rows.size:
        encodings, ccsids = batch.descriptors["encoding"].tolist(), batch.descriptors["coded_char_set_id"].tolist()
        for n in rows.tolist():
            errors[n] = error_of_first_bytes(encodings[n], ccsids[n], batch.bodies[n][:4])
    return errors


# columns


def _of_browse(browsed: Browsed, batch: _Batch) -> Columns:
    count = len(batch.mds)
    starts = batch.starts.astype(np.int32)
    return {
        **{name: pa.repeat(getattr(browsed, name), count) for name in ("queue_manager", "queue")},
        "observed_at": pa.repeat(pa.scalar(browsed.observed_at, SNAPSHOT.field("observed_at").type), count),
        "position": number_column(batch.positions, np.int64),
        "md": bytes_column(batch.descriptors.view(np.uint8).reshape(count, _MD.itemsize)),
        "body": pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(starts), pa.py_buffer(batch.joined)]),
        "body_length": number_column(np.diff(batch.starts), np.int64),
    }


def _of_identity(batch: _Batch) -> Columns:
    digests = [sha256(body).digest() for body in batch.bodies]
    hashed = np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), -1)
    parts = [batch.descriptors[name] for name in ("msg_id", "correl_id", "put_date", "put_time")]
    keys = [identity_key(identity) for identity in rows_of(np.concatenate([*parts, hashed], axis=1))]
    return {"body_sha256": bytes_column(hashed), "msg_key": pa.array(keys, pa.string())}


def _of_descriptors(descriptors: Array) -> Columns:
    return {column: _COLUMN[MQMD_LAYOUT.field(field).kind](descriptors[field]) for column, field in MD_COLUMNS.items()}


def _of_dead_letter_headers(headers: _DeadLetterHeaders) -> Columns:
    texts = {field: text_column(text) for field, text in headers.texts.items()}
    numbers = {field: number_column(headers.structures[field]) for field in DLH_COLUMNS.values() if field not in texts}
    made = {column: (texts | numbers)[field] for column, field in DLH_COLUMNS.items()}
    if not headers.valid.all():
        valid = pa.array(headers.valid)
        made = {column: pc.if_else(valid, values, pa.scalar(None, values.type)) for column, values in made.items()}
    return {**made, "dlh_error": pa.array(headers.errors, pa.string())}


def _of_payloads(batch: _Batch, headers: _DeadLetterHeaders) -> Columns:
    """The columns of `Payload`. Without a header behind the MQDLH, only the data's kind has to be read."""
    size = len(batch.mds)
    columns: dict[str, list[Any]] = {name: [None] * size for name in Payload._fields}
    formats: dict[bytes, tuple[str, bool]] = {}
    types = batch.descriptors["msg_type"].tolist()
    for n, (raw, encoding, ccsid, body, offset) in enumerate(zip(*_described(batch, headers), strict=True)):
        if raw not in formats:
            name = before_nul(raw.decode("latin-1"))
            formats[raw] = name, is_header(name)
        name, header = formats[raw]
        if header:
            found = payload_at(Described(name, encoding, ccsid), offset, body, types[n])
            for column, value in found._asdict().items():
                columns[column][n] = value
        else:
            kind, text = kind_and_text(name, encoding, ccsid, body, offset)
            columns["text_kind"][n], columns["text_decoded"][n] = kind, text
            columns["text_offset"][n] = offset if kind else None
    return {name: pa.array(values, SNAPSHOT.field(name).type) for name, values in columns.items()}


def _described(batch: _Batch, headers: _DeadLetterHeaders) -> tuple[list[Any], ...]:
    """For each message: Format, Encoding, CCSID as the MQDLH gives them, without one the MQMD; the body; the offset."""
    dead, own, valid = headers.structures, batch.descriptors, headers.valid
    ccsid = np.where(dead["coded_char_set_id"] == c.MQCCSI_INHERIT, own["coded_char_set_id"], dead["coded_char_set_id"])
    return (
        rows_of(np.where(valid[:, None], headers.texts["format"], own["format"])),
        np.where(valid, dead["encoding"], own["encoding"]).tolist(),
        np.where(valid, ccsid, own["coded_char_set_id"]).tolist(),
        list(batch.bodies),
        np.where(valid, MQDLH_LAYOUT.size, 0).tolist(),
    )
