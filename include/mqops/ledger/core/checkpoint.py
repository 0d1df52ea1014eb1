"""A checkpoint: the signed statement of a closed segment of the ledger, made when all of it had been verified.

1. Its body is a JSON object, signed for this purpose alone (`seal.CHECKPOINT`): which lines the segment has, the hashes
   of the first and of the last one, the head that the first one follows, bytes and SHA-256 of the file.
2. `segments` and `begin` say how many segments with how many bytes there are up to it, so that one that is gone, or is
   longer or shorter, is missed without reading all checkpoints.
3. `chain` is the SHA-256 of the checkpoint before it, blank for the first: none can be left out or exchanged.
4. One that no key of the lake signed is worth nothing: the lines are verified as if it was not there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mqops.formats import refuse_newer_body
from mqops.ledger.core.chain import Head
from mqops.ledger.core.seal import CHECKPOINT, BadSignature, Seal, read_message, sign_message

LONGEST = 4096
"""Bytes of the longest body that is read."""
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
_Line = Annotated[int, Field(ge=1, lt=10**18)]
_Bytes = Annotated[int, Field(ge=0, lt=2**63)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The statement of a segment.

    Parameters: `number` of its first line; `first` the hash of that line; `before` the head that it follows, and `head`
    the one after the last line; `size` bytes, `sha256` of the file; `begin` bytes of the segments before it; `segments`
    how many there are with it; `chain` SHA-256 of the checkpoint before it.
    """

    number: int
    first: str
    before: Head
    head: Head
    size: int
    sha256: str
    begin: int = 0
    segments: int = 1
    chain: str = ""

    @property
    def end(self) -> int:
        """Bytes of the ledger up to the end of the segment."""
        return self.begin + self.size


class _Body(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="ignore", hide_input_in_errors=True)

    v: Literal[1]
    kind: Literal["checkpoint"]
    number: _Line
    first: _Hash
    prev: _Hash
    seq: _Line
    hash: _Hash
    size: _Bytes
    sha256: _Hash
    begin: _Bytes
    segments: _Line
    chain: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?\z")]


def pack(made: Checkpoint, seal: Seal) -> bytes:
    """The signed body. Raises `SettingsError`: there is no key."""
    said = {"v": 1, "kind": "checkpoint", "number": made.number, "first": made.first, "prev": made.before.hash}
    said |= {"seq": made.head.seq, "hash": made.head.hash, "size": made.size, "sha256": made.sha256}
    said |= {"begin": made.begin, "segments": made.segments, "chain": made.chain}
    return sign_message(seal, json.dumps(said, separators=(",", ":")).encode(), CHECKPOINT)


def read(body: bytes, seal: Seal) -> Checkpoint:
    """What a signed body says. Raises `BadSignature`: no key of the lake signed it, or it is not a checkpoint."""
    if len(body) > LONGEST:
        raise BadSignature("too long")
    signed = read_message(seal, body, CHECKPOINT)
    try:
        said = _Body.model_validate_json(signed)
    except ValidationError as error:
        refuse_newer_body("checkpoint", "A checkpoint of the ledger", signed)
        raise BadSignature("not a checkpoint") from error
    return Checkpoint(
        number=said.number,
        first=said.first,
        before=Head(seq=said.number - 1, hash=said.prev),
        head=Head(seq=said.seq, hash=said.hash),
        size=said.size,
        sha256=said.sha256,
        begin=said.begin,
        segments=said.segments,
        chain=said.chain,
    )


def digest(body: bytes) -> str:
    """What the next checkpoint says of this one as its `chain`."""
    return hashlib.sha256(body).hexdigest()
