"""What runs say of the end of their ledger: the head that it had when they were proved, or their messages looked for.

Each run has it in RUN/summary.json and RUN/outcomes.json. LAKE/<queue manager>/ledger/proved.jsonl has those of the
runs that were proved since the last segment was closed, so that the check before act opens no run's folder: a proof is
noted there before it is written to its run. When a segment is closed they are checked with it, and leave the list.
Where the list is not there, it begins with what all runs say. The index of the runs has them, too, for pages, which
open no run's folder for them, either (`mqops.look.runs_index`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mqops.errors import LakeError, LedgerBroken
from mqops.formats import json_line, refuse_newer
from mqops.lake.files import append_lines, json_of, lake_errors, read_json, write_bytes
from mqops.lake.run_file import Checked
from mqops.ledger.core.chain import Head, Proof
from mqops.ledger.segments import complete_lines

NAME = "proved.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noted:
    """A line: a proof of the run `run`, and the number and the hash of the ledger's last line then."""

    run: str
    seq: int
    hash: str


_NOTED = Checked(_Noted)


def proofs_of_runs(lake_folder: Path, only: Collection[str] | None = None) -> list[Proof]:
    """What all runs of a queue manager say. A run whose folder is gone, and one that an earlier version proved, says
    nothing.

    Parameters: `only` the keys of the runs that are asked; None for all.

    Raises:
        LedgerBroken: naming a summary that is not what was written.
        LakeError: one cannot be read, or is not JSON.
    """
    runs = lake_folder / "runs"
    with lake_errors(runs):
        folders = sorted((os.listdir(runs) if runs.is_dir() else ()) if only is None else only)
    paths = (runs / folder / name for name in ("summary.json", "outcomes.json") for folder in folders)
    return [proof for path in paths if path.exists() and (proof := proof_in(path)) is not None]


def add_proof(folder: Path, proof: Proof) -> None:
    """Add a proof to the list; the ledger's lock is held. Raises `LakeError`."""
    if proof.head.seq:
        append_lines(folder / NAME, _line(proof))


def write_proofs(folder: Path, proofs: Iterable[Proof]) -> None:
    """Write the list; the ledger's lock is held. Raises `LakeError`."""
    write_bytes(folder / NAME, b"".join(map(_line, proofs)))


def noted_proofs(folder: Path) -> list[Proof]:
    """The proofs since the last segment was closed. A line that is not one says nothing. Raises `LakeError`."""
    path = folder / NAME
    found = []
    for line in complete_lines(path) if path.exists() else ():
        try:
            value = json_of(line, path)
        except LakeError:
            continue
        refuse_newer(NAME, path, value)
        with suppress(LakeError):
            said = _NOTED.of(value, path)
            found.append(Proof(run=said.run, head=Head(seq=said.seq, hash=said.hash)))
    return found


def forget_proofs(folder: Path, up_to: int) -> None:
    """Leave out the proofs that name a line up to this one; the ledger's lock is held. Raises `LakeError`."""
    if not (folder / NAME).exists():
        return
    write_proofs(folder, [proof for proof in noted_proofs(folder) if proof.head.seq > up_to])


def between(proofs: Iterable[Proof], first: int, last: int) -> list[Proof]:
    """The proofs that name one of these lines."""
    return [proof for proof in proofs if first <= proof.head.seq <= last]


def _line(proof: Proof) -> bytes:
    said = _Noted(run=proof.run, seq=proof.head.seq, hash=proof.head.hash)
    return json_line(NAME, asdict(said))


def proof_in(path: Path) -> Proof | None:
    """What a run's summary says of the ledger's end, None where it says nothing. Raises `LakeError`, `LedgerBroken`."""
    found = read_json(path)
    if isinstance(found, dict):
        if not found.get("ledger_seq"):
            return None
        run, seq, head = (found.get(name) for name in ("run", "ledger_seq", "ledger_head"))
        if isinstance(run, str) and isinstance(seq, int) and isinstance(head, str):
            return Proof(run=run, head=Head(seq=seq, hash=head))
    raise LedgerBroken(f"{path} is not what mqops wrote: it does not say where the ledger ended")
