"""The hash chain: how a line of the ledger is written, and how all lines are checked.

A line is a JSON object on one line: the marker's keys, then `seq` (from 1), `recorded_at`, `prev` (the hash of the line
before; 64 zeros for the first), `hash`, and at its very end `key` and `hmac`. The hash is the SHA-256 of the line up to
`,"hash"`, so it covers the line before as well, and checking needs no second way to write JSON. The HMAC covers the
hash (`mqops.ledger.core.seal`). Lines that an earlier version wrote, before there was a key, end with their hash.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mqops.errors import LedgerBroken
from mqops.formats import refuse_newer_number
from mqops.ledger.core.marker import VERSION, Marker
from mqops.ledger.core.seal import LINE, BadSignature, Seal
from mqops.ledger.core.seal import verify as verify_signature
from mqops.type_adapter import adapter_of

GENESIS = "0" * 64
_RESTORE = "restore it from a copy, and keep this one for the inquiry"
_END = re.compile(
    rb',"seq":([1-9][0-9]{0,17}),"recorded_at":"([^"]*)","prev":"([0-9a-f]{64})"(,"hash":"([0-9a-f]{64})"'
    rb'(?:,"key":"([0-9a-f]{16})","hmac":"([0-9a-f]{64})")?}\n)\Z'
)
_VERSION = re.compile(rb'{"unit":"[^"]{0,64}","v":([0-9]{1,9}),')
_OWN = str(VERSION).encode()
LONGEST_END = 512
"""Bytes at the end of a line in which all of that stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the chain ends: the last line's number and hash."""

    seq: int = 0
    hash: str = GENESIS


BEGIN = Head()
"""The head of a ledger without a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A run, and the head of the ledger when its summary was written."""

    run: str
    head: Head


class _Link(NamedTuple):
    """The end of a line: its number, hash, the hash of the line before, and its signature, blank where it has none."""

    seq: int
    prev: str
    hash: str
    key: str
    hmac: str


def write_line(head: Head, marker: Marker, recorded_at: str, seal: Seal) -> tuple[bytes, Head]:
    """The line that follows `head`, signed, with its line feed, and the new head. Raises `SettingsError`: no key."""
    body = marker.to_json() | {"seq": head.seq + 1, "recorded_at": recorded_at, "prev": head.hash}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    digest = hashlib.sha256(text).hexdigest()
    key = seal.newest()
    signed = f',"hash":"{digest}","key":"{key.id}","hmac":"{key.hmac(LINE, digest.encode())}"}}\n'
    return text + signed.encode(), Head(seq=head.seq + 1, hash=digest)


def head_of(line: bytes) -> Head:
    """The head after a line.

    Raises:
        LedgerBroken: it is not a line of a ledger, or its hash is wrong.
    """
    end = _link(line)
    return Head(seq=end.seq, hash=end.hash)


def end_of(tail: bytes) -> Head | None:
    """The head that the end of a line says, its hash not checked; None where it is not the end of a line.

    Parameters: `tail` the last bytes of the line, `LONGEST_END` at least, its line feed included.
    """
    found = _END.search(tail[-LONGEST_END:])
    return Head(seq=int(found[1]), hash=found[5].decode()) if found else None


def recorded_at(tail: bytes) -> str:
    """When a line was recorded, by its last bytes, as of `end_of`; "" where they are not the end of a line."""
    found = _END.search(tail[-LONGEST_END:])
    return found[2].decode() if found else ""


def head_in(entry: Mapping[str, object]) -> Head:
    """The head after a line, from the JSON object of a line that was checked."""
    return adapter_of(Head).validate_python(entry)


def is_signed(line: bytes) -> bool:
    """Whether a line has a signature, which is not checked. Raises as `head_of`."""
    return bool(_link(line).key)


def _link(line: bytes) -> _Link:
    """What stands at the end of a line, its hash checked. Nothing but its end is read (`head_of`)."""
    found = _END.search(line[-LONGEST_END:])
    if found is None:
        raise LedgerBroken("The last line of the ledger is not one that mqops wrote")
    seq, _at, prev, end, digest, key, signature = found.groups()
    if hashlib.sha256(memoryview(line)[: -len(end)]).hexdigest() != digest.decode():
        raise LedgerBroken("The last line of the ledger has been changed: its hash is wrong")
    return _Link(int(seq), prev.decode(), digest.decode(), (key or b"").decode(), (signature or b"").decode())


def unit_of(line: bytes) -> str:
    """The unit a line is about, without reading the rest of it."""
    return line[9:57].decode("ascii", "replace")


def linked(lines: Iterable[bytes], seal: Seal, after: Head = BEGIN) -> Iterator[bytes]:
    """Check a ledger line by line and give each line. Parameters and errors as of `heads`."""
    return (line for line, _head in _links(lines, seal, after))


def heads(lines: Iterable[bytes], seal: Seal, after: Head = BEGIN) -> Iterator[Head]:
    """Check a ledger line by line, hash and signature, without reading what the lines say; give the head after each.

    Parameters: `seal` whose `signed_from` says from which line on there has to be a signature; `after` the head that
    the first of these lines follows.

    Raises:
        LedgerBroken: naming the first line that is not what was written.
    """
    return (head for _line, head in _links(lines, seal, after))


def _links(lines: Iterable[bytes], seal: Seal, after: Head) -> Iterator[tuple[bytes, Head]]:
    before = after.hash
    signed_from = seal.signed_from
    for number, line in enumerate(lines, start=after.seq + 1):
        try:
            end = _link(line)
        except LedgerBroken as error:
            raise damaged(number) from error
        if end.prev != before or end.seq != number:
            raise LedgerBroken(
                f"Line {number} of the ledger does not follow the one before: lines were removed or added", line=number
            )
        _check_signature(number, end, seal, signed_from)
        refuse_newer_line(number, line)
        before = end.hash
        yield line, Head(seq=end.seq, hash=end.hash)


def _check_signature(number: int, end: _Link, seal: Seal, signed_from: int) -> None:
    """Raise `LedgerBroken` unless a line is signed by a key of the list.

    A line before `signed_from` is of the time before there was a key, or of a key that is lost: it need not be.
    """
    required = number >= signed_from if signed_from else bool(end.key)
    if not required and (not end.key or seal.find(end.key) is None):
        return
    try:
        if not end.key:
            raise BadSignature("not signed")
        verify_signature(seal, LINE, end.hash.encode(), end.key, end.hmac)
    except BadSignature as error:
        text = f"Line {number} of the ledger was not written by a holder of its key: {error}"
        raise LedgerBroken(text, line=number) from None


def check_line(number: int, line: bytes, seal: Seal) -> None:
    """Check one line by itself: that it is the ledger's line of that number, its hash and its signature.

    Raises:
        LedgerBroken: naming the line.
    """
    try:
        end = _link(line)
    except LedgerBroken as error:
        raise damaged(number) from error
    if end.seq != number:
        raise damaged(number)
    _check_signature(number, end, seal, seal.signed_from)
    refuse_newer_line(number, line)


def refuse_newer_line(number: int, line: bytes) -> None:
    """Refuse a line that a newer version wrote, without reading it. Raises `NewerFormat`."""
    if (found := _VERSION.match(line)) and found[1] != _OWN:
        refuse_newer_number("ledger.jsonl", f"Line {number} of the ledger", int(found[1]))


def verify(lines: Iterable[bytes], seal: Seal, after: Head = BEGIN) -> Iterator[dict[str, object]]:
    """Check a ledger line by line, as `linked` does, and give each as its JSON object.

    Raises:
        LedgerBroken: naming the first line that is not what was written.
    """
    for number, line in enumerate(linked(lines, seal, after), start=after.seq + 1):
        yield read_line(number, line)


def read_line(number: int, line: bytes) -> dict[str, object]:
    """The JSON object of the ledger's line of that number. Raises `LedgerBroken`, naming it."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise damaged(number) from error
    if not isinstance(entry, dict):
        raise damaged(number)
    return entry


def damaged(number: int) -> LedgerBroken:
    """The error that names a line."""
    return LedgerBroken(f"Line {number} of the ledger is damaged or has been changed", line=number)


def refuse_other(head: Head, proof: Proof) -> None:
    """Refuse a line that is not the one that stands in a run's summary. Raises `LedgerBroken`."""
    if head.hash != proof.head.hash:
        raise LedgerBroken(
            f"Line {head.seq} of the ledger is not the one that the summary of run {proof.run} names: the chain "
            f"was written again from there or from an earlier line; {_RESTORE}"
        )


def held(heads: Iterable[Head], proofs: Iterable[Proof]) -> Iterator[Head]:
    """The heads of a checked ledger, checked once more: is each line there that stands in a run's summary?

    Raises:
        LedgerBroken: naming the first run whose proof the ledger no longer holds.
    """
    wanted: dict[int, list[Proof]] = {}
    for proof in proofs:
        wanted.setdefault(proof.head.seq, []).append(proof)
    lines = 0
    for head in heads:
        yield head
        lines = head.seq
        for proof in wanted.pop(lines, ()):
            refuse_other(head, proof)
    if wanted:
        proof = wanted[min(wanted)][0]
        raise LedgerBroken(
            f"The ledger ends with line {lines}, and the summary of run {proof.run} names line {proof.head.seq}: "
            f"its end was cut off; {_RESTORE}"
        )
