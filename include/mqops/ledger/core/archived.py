"""The statement of an archive: the first closed segments of a ledger are in another folder, compressed.

Its body is a JSON object, signed for this purpose alone (`seal.ARCHIVED`): the folder, the last segment that is
there, the head after that segment's last line, and how many segments with how many bytes there are up to it. So an
archive that cannot be read now is told from segments that somebody removed. What a line in the archive says is proved
by its own hash and signature, and each segment by its checkpoint, which stays in the lake.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mqops.formats import refuse_newer_body
from mqops.ledger.core.chain import Head
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.seal import ARCHIVED, BadSignature, Seal, read_message, sign_message

LONGEST = 16 * 1024
"""Bytes of the longest body that is read."""
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
_Number = Annotated[int, Field(ge=1, lt=2**63)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """Parameters: `folder` of the archive, seen from that of the segments; `number` of the last segment that is there;
    `head` after its last line; `segments` how many, with `end` bytes."""

    folder: str
    number: int
    head: Head
    segments: int
    end: int


class _Body(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="ignore", hide_input_in_errors=True)

    v: Literal[1]
    kind: Literal["archived"]
    folder: str
    number: _Number
    seq: _Number
    hash: _Hash
    segments: _Number
    end: _Number


def of_checkpoint(made: Checkpoint, folder: str) -> Archived:
    """The statement that all segments up to this one are in the folder."""
    return Archived(folder=folder, number=made.number, head=made.head, segments=made.segments, end=made.end)


def pack(made: Archived, seal: Seal) -> bytes:
    """The signed body. Raises `SettingsError`: there is no key."""
    said = {"v": 1, "kind": "archived", "folder": made.folder, "number": made.number, "seq": made.head.seq}
    said |= {"hash": made.head.hash, "segments": made.segments, "end": made.end}
    return sign_message(seal, json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(), ARCHIVED)


def read(body: bytes, seal: Seal) -> Archived:
    """What a signed body says. Raises `BadSignature`: no key of the lake signed it, or it is no statement."""
    if len(body) > LONGEST:
        raise BadSignature("too long")
    signed = read_message(seal, body, ARCHIVED)
    try:
        said = _Body.model_validate_json(signed)
    except ValidationError as error:
        refuse_newer_body("archived.json", "The statement of the ledger's archive", signed)
        raise BadSignature("not a statement of an archive") from error
    return Archived(
        folder=said.folder,
        number=said.number,
        head=Head(seq=said.seq, hash=said.hash),
        segments=said.segments,
        end=said.end,
    )
