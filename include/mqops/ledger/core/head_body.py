"""The head of a ledger as a message on the ledger queue: its body, and whether a ledger holds it.

1. The body is a JSON object, signed for this purpose alone (`seal.HEAD`): number and hash of the ledger's last line,
   and the hash of its first line, by which ledgers are told apart. `end` is the byte of the file where the line ends.
2. A line is on disk before its head is committed. So a ledger that lacks a line that a head names was cut back.
3. A head can only raise the alarm. One that a revoked key signed counts, too; one that no key of the lake signed does
   not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mqops.errors import NewerFormat
from mqops.formats import refuse_newer_body
from mqops.ledger.core.chain import Head
from mqops.ledger.core.seal import HEAD, BadSignature, Seal, read_message, sign_message

CORREL_ID = hashlib.sha256(b"mqops: head of a ledger").digest()[:24]
"""The CorrelId of a head."""
LONGEST = 1024
"""Bytes of the longest body that is read."""
_RESTORE = "restore the ledger from a copy, and keep this one for the inquiry"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptHead:
    """A head on the ledger queue. Parameters: `first` hash of the ledger's first line; `head` its last line; `end`
    bytes of the file up to there."""

    first: str
    head: Head
    end: int


class _Body(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="ignore", hide_input_in_errors=True)

    v: Literal[1]
    kind: Literal["head"]
    first: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
    seq: Annotated[int, Field(ge=1, lt=10**18)]
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
    end: Annotated[int, Field(ge=1, lt=2**63)]


def pack(kept: KeptHead, seal: Seal) -> bytes:
    """The signed body. Raises `SettingsError`: there is no key."""
    said = {"v": 1, "kind": "head", "first": kept.first, "seq": kept.head.seq, "hash": kept.head.hash, "end": kept.end}
    return sign_message(seal, json.dumps(said, separators=(",", ":")).encode(), HEAD)


def claimed(body: bytes) -> KeptHead | None:
    """What a body says, its signature not checked; None where it has not the shape of a head."""
    try:
        said = _Body.model_validate_json(body if len(body) <= LONGEST else b"")
    except ValidationError:
        return None
    return KeptHead(first=said.first, head=Head(seq=said.seq, hash=said.hash), end=said.end)


def is_newer(body: bytes) -> bool:
    """Whether a body says that it is the head of a newer version; its signature is not checked."""
    try:
        refuse_newer_body("head", "", body if len(body) <= LONGEST and b'"kind":"head"' in body else b"")
    except NewerFormat:
        return True
    return False


def refuse_newer(body: bytes) -> None:
    """Refuse the head of a newer version; its signature was checked. Raises `NewerFormat`."""
    refuse_newer_body("head", "The head of the ledger on MQOPS.LEDGER", body)


def check(body: bytes, seal: Seal) -> None:
    """Check the signature of a head. Raises `BadSignature`."""
    if len(body) > LONGEST:
        raise BadSignature("too long")
    read_message(seal, body, HEAD)


def of_ledger(heads: Collection[KeptHead], first: str) -> list[KeptHead]:
    """The heads that are of a ledger, the newest last. One without a line does not know which: all may be its own.

    Parameters: `first` hash of its first line, "" without one.
    """
    return sorted((one for one in heads if one.first == first or not first), key=lambda one: one.head.seq)


def not_held(own: Collection[KeptHead], lines: int, hashes: Mapping[int, str], queue: str) -> str:
    """Why a ledger is not the one whose heads these are; "" where it is.

    Parameters: `lines` of the ledger; `hashes` number → hash of the lines that heads name; `queue` its name.
    """
    for number, digest in sorted((one.head.seq, one.head.hash) for one in own):
        if number > lines:
            return (
                f"The ledger ends with line {lines}, and its head on {queue} names line {number}: its end was cut off; "
                f"{_RESTORE}"
            )
        if hashes.get(number) != digest:
            return (
                f"Line {number} of the ledger is not the one that its head on {queue} names: the chain was written "
                f"again from there or from an earlier line; {_RESTORE}"
            )
    return ""
