"""A snapshot without what its messages say, for everybody: some columns as they are, some hashed, the rest left out.

A hash is HMAC-SHA-256 (RFC 2104) of the kind and the value with a secret key, the first 32 hexadecimal digits. Without
the key nobody can try values; with the same key the same value has the same hash, in every export, so tables join. An
identifier of binary zeros (MQMI_NONE, MQCI_NONE, MQGI_NONE) and a blank text stand for no value: they become null.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field, StrictInt

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.formats import numbered, refuse_newer_body, refuse_newer_number
from mqops.lake.files import lake_errors, read_private, write_bytes
from mqops.lake.parquet import read_parquet, write_parquet_to
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.column_masks import HASHED_AS, Mask, masks
from mqops.type_adapter import adapter_of

KEY_FILE = "masking.key"
KEY_LENGTH = 32
"""Bytes, at least."""
DIGITS = 32
"""Hexadecimal digits of a hash: 128 bits, so that of a billion values no two share one."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyFile:
    """LAKE/masking.key. Parameters: `key` hexadecimal."""

    format: StrictInt
    key: Annotated[str, Field(pattern=r"^([0-9a-f]{2}){32,}\z")] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """Parameters: `key` of the hashes; `masks` of the columns, in their order."""

    key: bytes = field(repr=False)
    masks: Mapping[str, Mask]

    @classmethod
    def of(cls, key: bytes, *, hashed: Collection[str] = (), dropped: Collection[str] = ()) -> Masking:
        """Parameters: `hashed`, `dropped` columns that are masked more than by default. Raises `SettingsError`."""
        return cls(key=key, masks=masks(hashed=hashed, dropped=dropped))

    @property
    def schema(self) -> pa.Schema:
        """Of the masked table."""
        return pa.schema(
            [
                pa.field(name, pa.string()) if mask is Mask.HASHED else SNAPSHOT.field(name)
                for name, mask in self.masks.items()
            ]
        )

    def masked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with these columns, masked."""
        made = [
            self._hashed(name, batch.column(name)) if mask is Mask.HASHED else batch.column(name).cast(_type(name))
            for name, mask in self.masks.items()
        ]
        return pa.RecordBatch.from_arrays(made, schema=self.schema)

    def _hashed(self, name: str, values: pa.Array) -> pa.Array:
        coded = values.dictionary_encode()  # a user's name is hashed once
        kind = HASHED_AS.get(name, name).encode()
        hashes = [self._hash(kind, value) for value in coded.dictionary.to_pylist()]
        return pa.array(hashes, pa.string()).take(coded.indices)

    def _hash(self, kind: bytes, value: object) -> str | None:
        raw = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        if not raw.strip(b"\0 "):
            return None
        return hmac.digest(self.key, kind + b"\0" + raw, "sha256").hex()[:DIGITS]


def _type(name: str) -> pa.DataType:
    return SNAPSHOT.field(name).type


def masking_key(lake: Path, file: Path | None = None) -> bytes:
    """The key of the hashes. Parameters: `file` that has it, None for the lake's own, which is made at first use.

    Raises:
        SettingsError: others may read the file, it is too short, or it was changed.
        LakeError: it cannot be read or made. `NewerFormat`: a newer version made it.
    """
    place = file or lake / KEY_FILE
    with lake_errors(place):
        if file is None and not place.exists():
            _make_key(place)
        key = _secret(place, read_private(place))
    if len(key) < KEY_LENGTH:
        raise SettingsError(
            f"{place} has {counted(len(key), 'byte')}; a key has {KEY_LENGTH} or more: head -c 32 /dev/urandom"
        )
    return key


def _make_key(place: Path) -> None:
    """Two exports that both find none get the same one: a link is made once."""
    made = place.with_name(f".{place.name}.{os.getpid()}")
    write_bytes(made, json.dumps(numbered(KEY_FILE, {"key": os.urandom(KEY_LENGTH).hex()})).encode() + b"\n")
    try:
        with suppress(FileExistsError):
            os.link(made, place)
    finally:
        made.unlink()


def _secret(place: Path, content: bytes) -> bytes:
    """The key in a file: in the JSON object that `_make_key` writes, else the whole file."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(found, dict):
        return content
    try:
        file = adapter_of(_KeyFile).validate_python(found)
    except ValueError:  # pydantic's error is one
        refuse_newer_body(KEY_FILE, place, content)
        raise SettingsError(f"{place} was changed, and is no key now: restore it from a copy of the lake") from None
    refuse_newer_number(KEY_FILE, place, file.format)
    return bytes.fromhex(file.key)


def export_masked(folder: Path, file: Path, masking: Masking) -> int:
    """Write the masked snapshot to a new private file (0600); returns its messages. Bodies are not read.

    Raises:
        SettingsError: the file is there already, or cannot be made.
        LakeError: the snapshot cannot be read, or the disk refused; the file is not there then.
    """
    try:
        descriptor = os.open(file, _NEW, 0o600)
    except OSError as error:
        raise SettingsError(f"{file} cannot be made: {error.strerror}; name a new file") from error
    try:
        with lake_errors(file), open(descriptor, "wb") as stream:
            written = write_parquet_to(stream, masking.schema, _masked(folder, masking))
            stream.flush()
            os.fsync(stream.fileno())
            return written
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _masked(folder: Path, masking: Masking) -> Iterator[pa.RecordBatch]:
    for batch in read_parquet(folder, list(masking.masks)):
        yield masking.masked(batch)
