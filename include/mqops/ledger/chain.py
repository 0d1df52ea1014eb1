"""The hash chain: how a line of the ledger is written, and how all lines are checked.

A line is a JSON object on one line: the marker's keys, then `seq` (from 1), `recorded_at`, `prev` (the hash of the line
before; 64 zeros for the first) and at its very end `hash`. The hash is the SHA-256 of the line's bytes up to `,"hash"`,
so it covers the line before as well, and checking needs no second way to write JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mqops.errors import LedgerBroken
from mqops.ledger.marker import Marker

GENESIS = "0" * 64
_RESTORE = "restore it from a copy, and keep this one for the inquiry"
_TAIL = len(',"hash":""}') + 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where the chain ends: the last line's number and hash."""

    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A run, and the head of the ledger when its summary was written."""

    run: str
    head: Head


def write_line(head: Head, marker: Marker, recorded_at: str) -> tuple[bytes, Head]:
    """The line that follows `head`, with its line feed, and the new head."""
    body = marker.to_json() | {"seq": head.seq + 1, "recorded_at": recorded_at, "prev": head.hash}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
    digest = hashlib.sha256(text).hexdigest()
    return text + b',"hash":"' + digest.encode() + b'"}\n', Head(seq=head.seq + 1, hash=digest)


def head_of(line: bytes) -> Head:
    """The head after a line.

    Raises:
        LedgerBroken: it is not a line of a ledger, or its hash is wrong.
    """
    if line[-1:] != b"\n" or line[-_TAIL - 1 : -_TAIL + 7] != b',"hash":':
        raise LedgerBroken("The last line of the ledger is not one that mqops wrote")
    digest = line[-67:-3].decode("ascii", "replace")
    if hashlib.sha256(line[: -_TAIL - 1]).hexdigest() != digest:
        raise LedgerBroken("The last line of the ledger has been changed: its hash is wrong")
    return Head(seq=int(json.loads(line)["seq"]), hash=digest)


def unit_of(line: bytes) -> str:
    """The unit a line is about, without reading the rest of it."""
    return line[9:57].decode("ascii", "replace")


def verify(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Check a ledger line by line and give each as its JSON object.

    Raises:
        LedgerBroken: naming the first line that is not what was written.
    """
    head = Head()
    for number, line in enumerate(lines, start=1):
        try:
            after = head_of(line)
            entry = json.loads(line)
        except (LedgerBroken, ValueError) as error:
            raise LedgerBroken(f"Line {number} of the ledger is damaged or has been changed") from error
        if entry["prev"] != head.hash or entry["seq"] != head.seq + 1:
            raise LedgerBroken(
                f"Line {number} of the ledger does not follow the one before: lines were removed or added"
            )
        head = after
        yield entry


def held(entries: Iterable[Mapping[str, Any]], proofs: Iterable[Proof]) -> Iterator[Mapping[str, Any]]:
    """The entries of a checked ledger, checked once more: is each line there that stands in a run's summary?

    Raises:
        LedgerBroken: naming the first run whose proof the ledger no longer holds.
    """
    wanted: dict[int, list[Proof]] = {}
    for proof in proofs:
        wanted.setdefault(proof.head.seq, []).append(proof)
    lines = 0
    for entry in entries:
        yield entry
        lines = entry["seq"]
        for proof in wanted.pop(lines, ()):
            if entry["hash"] != proof.head.hash:
                raise LedgerBroken(
                    f"Line {lines} of the ledger is not the one that the summary of run {proof.run} names: the chain "
                    f"was written anew from there or from an earlier line; {_RESTORE}"
                )
    if wanted:
        proof = wanted[min(wanted)][0]
        raise LedgerBroken(
            f"The ledger ends with line {lines}, and the summary of run {proof.run} names line {proof.head.seq}: "
            f"its end was cut off; {_RESTORE}"
        )
