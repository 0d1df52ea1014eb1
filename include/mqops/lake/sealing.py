"""Message bodies encrypted at rest: what a file of an encrypted snapshot has in place of them, and its data key.

1. A file has the column `sealed` in place of `BODY_COLUMNS`, and `masked`, the shape of the text, which stays readable.
   A program that knows nothing of this finds no column `body`, and says so; it can take nothing else for one. Every
   other column is as in a snapshot in clear.
2. A value of `sealed` is a nonce of 12 bytes, and what AES-256-GCM makes of the three columns of one message after zstd
   has compressed them. Queue and position are authenticated with it: a changed byte, and a value that was moved to
   another message, are errors.
3. Each run has a data key of its own, in RUN/bodies.json, encrypted by a key of the queue manager (`mqops.lake.
   body_keys`), whose id stands beside it. Run and queue manager are authenticated: it opens no other run. Another key
   of the queue manager encrypts the data key anew, and no Parquet file changes.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from mqops.errors import BodiesLocked, LakeError
from mqops.lake.body_keys import BodyKey, BodyKeys, keys_of
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

BODY_COLUMNS = ("body", "text_decoded", "properties")
"""Columns of a snapshot that are what an application wrote."""
SEALED, MASKED = "sealed", "masked"
NEEDED = ("queue", "position", SEALED)
"""What `Sealing.opened` needs."""
NONCE = 12  # bytes, as NIST SP 800-38D has it for random ones: 2**32 messages of a key, and each run has its own
_TEXT, _PROPERTIES = 1, 2
_OF_BYTES = 4 << 20
"""Encrypted bytes of the values that are opened together, on average."""
_DATA_KEY_LENGTH = 32  # bytes: AES-256


class Broken(Exception):
    """A value is not what was encrypted. Parameters: queue and position of its message."""

    def __init__(self, queue: str, position: int) -> None:
        super().__init__(queue, position)
        self.queue, self.position = queue, position


def some_at_a_time(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in slices, at least one, for `Sealing.opened`: encrypted, compressed, and as an object of Python each
    value is there several times. Parameters: `batch` with the columns NEEDED."""
    bytes_of_one = batch.column(SEALED).nbytes // max(batch.num_rows, 1)
    step = max(1, _OF_BYTES // max(bytes_of_one, 1))
    for begin in range(0, max(batch.num_rows, 1), step):
        yield batch.slice(begin, step)


def sealed_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of an encrypted file. Parameters: `schema` of the same in clear."""
    fields = [pa.field(SEALED, pa.binary(), nullable=False) if one.name == "body" else one for one in schema]
    return pa.schema([*(one for one in fields if one.name not in BODY_COLUMNS), pa.field(MASKED, pa.string())])


class Sealing:
    """Encrypts and decrypts the bodies of one run. It travels to Spark's workers pickled, with the data key.

    Parameters: `key` the data key.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cipher = _cipher(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sealing, (self._key,)

    def sealed(self, batch: pa.RecordBatch, masked: pa.Array) -> pa.RecordBatch:
        """A batch as an encrypted file has it. Parameters: `masked` the shape of each text."""
        schema = sealed_schema(batch.schema)
        made = {SEALED: pa.array(self._values(batch), pa.binary()), MASKED: masked}
        return pa.RecordBatch.from_arrays(
            [made[name] if name in made else batch.column(name) for name in schema.names], schema=schema
        )

    def _values(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        from mqops.lake.zstd import Frames  # noqa: PLC0415 - only where bodies are encrypted

        nonces = os.urandom(NONCE * batch.num_rows)
        encrypt, compress = self._cipher.encrypt, Frames().compressed
        columns = [batch.column(name).to_pylist() for name in BODY_COLUMNS]
        for n, (place, row) in enumerate(zip(_places(batch), zip(*columns, strict=True), strict=True)):
            nonce = nonces[NONCE * n : NONCE * n + NONCE]
            yield nonce + encrypt(nonce, compress(_packed(*row)), place)

    def opened(self, batch: pa.RecordBatch, wanted: Collection[str]) -> dict[str, pa.Array]:
        """Those of `BODY_COLUMNS` that are wanted. Parameters: `batch` with the columns NEEDED.

        Raises:
            Broken: a value is not what was encrypted.
        """
        from mqops.lake.zstd import decompressed  # noqa: PLC0415

        take = [index for index, name in enumerate(BODY_COLUMNS) if name in wanted]
        found: list[list[Any]] = [[] for _ in take]
        for packed in decompressed(self._decrypted(batch)):
            row = _unpacked(packed)
            for index, column in zip(take, found, strict=True):
                column.append(row[index])
        kinds = [pa.binary() if BODY_COLUMNS[index] == "body" else pa.string() for index in take]
        return {BODY_COLUMNS[i]: pa.array(c, kind) for i, c, kind in zip(take, found, kinds, strict=True)}

    def _decrypted(self, batch: pa.RecordBatch) -> list[bytes]:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        decrypt, values, found = self._cipher.decrypt, batch.column(SEALED), list[bytes]()
        for n, place in enumerate(_places(batch)):
            value = values[n].as_py() or b""
            try:
                found.append(decrypt(value[:NONCE], value[NONCE:], place))
            except (InvalidTag, ValueError):
                raise Broken(batch.column("queue")[n].as_py(), batch.column("position")[n].as_py()) from None
        return found


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - only where bodies are encrypted

    return AESGCM(key)


def _places(batch: pa.RecordBatch) -> Iterator[bytes]:
    queues, positions = batch.column("queue").to_pylist(), batch.column("position").to_pylist()
    return (f"{queue}\0{position}".encode() for queue, position in zip(queues, positions, strict=True))


class _Row(NamedTuple):
    """The values of `BODY_COLUMNS` of a message."""

    body: bytes
    text: str | None
    properties: str | None


def _packed(body: bytes, text: str | None, properties: str | None) -> bytes:
    """A byte that says which texts there are, each with its length before it, and the body."""
    if text is None and properties is None:
        return b"\0" + body
    which = bytes([(_TEXT if text is not None else 0) | (_PROPERTIES if properties is not None else 0)])
    parts = [one.encode() for one in (text, properties) if one is not None]
    return b"".join((which, *(part for one in parts for part in (len(one).to_bytes(4, "big"), one)), body))


def _unpacked(packed: bytes) -> _Row:
    at, texts = 1, list[str | None]()
    for flag in (_TEXT, _PROPERTIES):
        if not packed[0] & flag:
            texts.append(None)
            continue
        end = at + 4 + int.from_bytes(packed[at : at + 4], "big")
        texts.append(packed[at + 4 : end].decode())
        at = end
    return _Row(packed[at:], *texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey:
    """RUN/bodies.json. Parameters: `key` the id of the key of the queue manager; `data_key` encrypted by it, base64."""

    key: str
    data_key: str


DATA_KEY = RunFile("bodies.json", DataKey)


def new_sealing(run: RunFolder, keys: BodyKeys) -> Sealing:
    """Encrypt the bodies of a run's snapshot, which is to be written; its data key is on disk when this returns. A run
    that has one keeps it: an earlier try of the same step may still write.

    Raises:
        LakeError: it cannot be written, or the one that is there cannot be read.
        BodiesLocked: the one that is there was encrypted by a key that is not among them.
    """
    if DATA_KEY.exists(run):
        return Sealing(_decrypted(run, DATA_KEY.read(run), keys))
    key = os.urandom(_DATA_KEY_LENGTH)
    DATA_KEY.write(run, _encrypted(run, key, keys.newest))
    return Sealing(key)


def sealing_of(run: RunFolder) -> Sealing:
    """Decrypt the bodies of a run's snapshot.

    Raises:
        BodiesLocked: this process does not have the key; the text says where it should be.
        LakeError: RUN/bodies.json is not there or was changed.
        SettingsError: what is in the place of the keys is not keys.
    """
    if not DATA_KEY.exists(run):
        raise LakeError(
            f"The bodies in {run.snapshot} are encrypted, and {DATA_KEY.path(run)}, which has their key, is not there: "
            "restore the run's whole folder from a copy"
        )
    found = DATA_KEY.read(run)
    try:
        return Sealing(_decrypted(run, found, keys_of(run.lake_folder)))
    except BodiesLocked as error:
        raise BodiesLocked(
            f"The bodies in {run.snapshot} are encrypted, and this process does not have key {found.key}. {error}. "
            "Everything but the bodies can be read"
        ) from error


def encrypt_anew(run: RunFolder, keys: BodyKeys) -> bool:
    """Encrypt the data key of a run by the newest key; gives whether it was not so already.

    Raises as `sealing_of`.
    """
    found = DATA_KEY.read(run)
    if found.key == keys.newest.id:
        return False
    DATA_KEY.write(run, _encrypted(run, _decrypted(run, found, keys), keys.newest))
    return True


def _encrypted(run: RunFolder, data_key: bytes, by: BodyKey) -> DataKey:
    nonce = os.urandom(NONCE)
    value = nonce + _cipher(by.secret).encrypt(nonce, data_key, _about(run))
    return DataKey(key=by.id, data_key=base64.b64encode(value).decode())


def _decrypted(run: RunFolder, found: DataKey, keys: BodyKeys) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415

    key = keys.find(found.key)
    if key is None:
        raise BodiesLocked(f"It is not among the keys that it gets ({', '.join(one.id for one in keys.keys)})")
    try:
        value = base64.b64decode(found.data_key, validate=True)
        return _cipher(key.secret).decrypt(value[:NONCE], value[NONCE:], _about(run))
    except (InvalidTag, ValueError):
        raise LakeError(
            f"{DATA_KEY.path(run)} was changed, or is that of another run: its data key cannot be decrypted. Restore "
            "it from a copy of the lake; no message was lost"
        ) from None


def _about(run: RunFolder) -> bytes:
    return f"mqops bodies 1\0{run.queue_manager}\0{run.run}".encode(errors="surrogateescape")


def broken(part: Path | str, problem: Broken) -> LakeError:
    """The error of a value that cannot be decrypted. Parameters: `part` the file that has it."""
    return LakeError(
        f"{part} was changed: the body of the message at position {problem.position} of {problem.queue} is not what "
        "was encrypted. Restore the file from a copy of the lake; nothing was put on a queue"
    )


def run_of(snapshot: Path) -> RunFolder:
    """The run whose data key the files of a snapshot's folder have."""
    return RunFolder(snapshot.parent)
