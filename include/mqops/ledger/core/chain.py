"""The hash chain: how a line of the ledger is written, and how all lines are checked.

A line is a JSON object on one line: the marker's keys, then `seq` (from 1), `recorded_at`, `prev` (the hash of the line
before; 64 zeros for the first) and at its very end `hash`. The hash is the SHA-256 of the line's bytes up to `,"hash"`,
so it covers the line before as well, and checking needs no second way to write JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mqops.errors import LedgerBroken
from mqops.ledger.core.marker import Marker

GENESIS = "0" * 64
_RESTORE = "restore it from a copy, and keep this one for the inquiry"
_TAIL = len(',"hash":""}') + 64
_END = re.compile(
    rb',"seq":([1-9][0-9]{0,17}),"recorded_at":"[^"]*","prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"}\n\Z'
)
_LONGEST_END = 512
"""Bytes at the end of a line in which all of that stands."""


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
    return _link(line)[1]


def _link(line: bytes) -> tuple[str, Head]:
    """The hash of the line before, as a line has it, and the head after it. Nothing but its end is read (`head_of`)."""
    found = _END.search(line[-_LONGEST_END:])
    if found is None:
        raise LedgerBroken("The last line of the ledger is not one that mqops wrote")
    seq, prev, digest = (part.decode() for part in found.groups())
    if hashlib.sha256(memoryview(line)[: -_TAIL - 1]).hexdigest() != digest:
        raise LedgerBroken("The last line of the ledger has been changed: its hash is wrong")
    return prev, Head(seq=int(seq), hash=digest)


def unit_of(line: bytes) -> str:
    """The unit a line is about, without reading the rest of it."""
    return line[9:57].decode("ascii", "replace")


def linked(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Check a ledger line by line, without reading what the lines say, and give each line.

    Raises:
        LedgerBroken: naming the first line that is not what was written.
    """
    head = Head()
    for number, line in enumerate(lines, start=1):
        try:
            prev, after = _link(line)
        except LedgerBroken as error:
            raise damaged(number) from error
        if prev != head.hash or after.seq != number:
            raise LedgerBroken(
                f"Line {number} of the ledger does not follow the one before: lines were removed or added"
            )
        head = after
        yield line


def verify(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Check a ledger line by line and give each as its JSON object.

    Raises:
        LedgerBroken: naming the first line that is not what was written.
    """
    for number, line in enumerate(linked(lines), start=1):
        yield read_line(number, line)


def read_line(number: int, line: bytes) -> dict[str, Any]:
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
    return LedgerBroken(f"Line {number} of the ledger is damaged or has been changed")


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
