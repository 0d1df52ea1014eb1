"""Signatures (HMAC-SHA-256) of the messages on the ledger queue and of the lines of the ledger file.

1. A signed message is its JSON object with two more members at its end, `key` (the id of the key) and `hmac`. The HMAC
   covers the purpose, the id of the key and every byte before these two members, so it is checked before anything is
   parsed.
2. A signed line of the ledger has `key` and `hmac` behind its `hash`. The HMAC covers the hash, which covers the line
   and the line before it.
3. The newest key signs. Every key of the list verifies lines; keys that are revoked verify no messages on
   MQOPS.LEDGER but heads; what they signed in the lake (checkpoints, the statement of the archive) stays valid.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mqops.counted import counted

LONGEST = 4 * 1024 * 1024
"""Bytes of the longest message that is looked into: the MAXMSGL of the ledger queue as mqops defines it."""
MESSAGE, LINE, HEAD = b"mqops ledger message", b"mqops ledger line", b"mqops ledger head"
CHECKPOINT, INDEX = b"mqops ledger checkpoint", b"mqops ledger index"
ARCHIVED = b"mqops ledger archive"
_END = re.compile(rb',"key":"([0-9a-f]{16})","hmac":"([0-9a-f]{64})"}\Z')
_END_LENGTH = len(',"key":"","hmac":""}') + 16 + 64


class BadSignature(Exception):
    """A message or a line is not signed by a key that counts. Its text says why.

    Attributes: `foreign` whether it names a key that is not in the list, as what another lake signed does.
    """

    def __init__(self, why: str, *, foreign: bool = False) -> None:
        super().__init__(why)
        self.foreign = foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key: `id` 16 hex digits, `secret` 32 bytes, `made_at` UTC time, `revoked` whether it verifies no messages."""

    id: str
    secret: bytes = field(repr=False)
    made_at: str = ""
    revoked: bool = False

    def hmac(self, purpose: bytes, content: bytes) -> str:
        """The HMAC-SHA-256 in hex."""
        signed = hmac.new(self.secret, purpose + b"\0" + self.id.encode() + b"\0", "sha256")
        signed.update(content)
        return signed.hexdigest()


class Seal(Protocol):
    """The keys of a ledger."""

    def newest(self) -> Key:
        """The key that signs. Raises `SettingsError` where there is none."""

    def find(self, key_id: str) -> Key | None:
        """The key of that id."""

    @property
    def signed_from(self) -> int:
        """Number of the first line of the ledger that has to be signed; 0 where there is no key."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A list of keys in memory, the newest last. Parameters: `signed_from` as for `Seal`."""

    keys: Sequence[Key]
    signed_from: int = 1

    def newest(self) -> Key:
        """See `Seal`."""
        return self.keys[-1]

    def find(self, key_id: str) -> Key | None:
        """See `Seal`."""
        return next((key for key in self.keys if key.id == key_id), None)


def sign_message(seal: Seal, body: bytes, purpose: bytes = MESSAGE) -> bytes:
    """The signed body. Parameters: `body` a JSON object as bytes, ending with its brace; `purpose` MESSAGE, HEAD,
    CHECKPOINT or INDEX."""
    key = seal.newest()
    content = body[:-1]
    return content + f',"key":"{key.id}","hmac":"{key.hmac(purpose, content)}"}}'.encode()


def has_signature(body: bytes) -> bool:
    """Whether a body ends with a signature, which is not checked."""
    return _END.search(body[-_END_LENGTH:]) is not None


def read_message(seal: Seal, body: bytes, purpose: bytes = MESSAGE) -> bytes:
    """The JSON object of a signed body, without the signature. Nothing is parsed.

    Raises:
        BadSignature: it is too long, not signed, or not signed by a key that counts.
    """
    if len(body) > LONGEST:
        raise BadSignature(f"longer than {counted(LONGEST, 'byte')}")
    found = _END.search(body[-_END_LENGTH:])
    if found is None:
        raise BadSignature("not signed")
    content = body[:-_END_LENGTH]
    verify(seal, purpose, content, found[1].decode(), found[2].decode())
    return content + b"}"


def verify(seal: Seal, purpose: bytes, content: bytes, key_id: str, signature: str) -> None:
    """Check a signature. Raises `BadSignature`."""
    key = seal.find(key_id)
    if key is None:
        raise BadSignature(f"signed with key {key_id}, which this lake does not have", foreign=True)
    if key.revoked and purpose == MESSAGE:
        raise BadSignature(f"signed with key {key_id}, which is revoked")
    if not hmac.compare_digest(key.hmac(purpose, content), signature):
        raise BadSignature(f"forged: the signature is not one of key {key_id}")
