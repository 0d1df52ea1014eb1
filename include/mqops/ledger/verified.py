"""Whether a ledger is what was written: what `mqops ledger verify` and the page of the estate say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mqops.errors import LakeError, LedgerBroken, SettingsError
from mqops.ledger.core.chain import Head, Proof, head_in, held
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.file import LedgerFile

_OF_A_PLAN = frozenset({"issued", "acted"})
"""Kinds of lines that say that a plan was carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the check of a ledger has found.

    Parameters: `lines` that were checked, and `head` the hash of the last of them; `error` why the ledger is not what
    was written, blank where it is; `torn` bytes of a half-written last line; `unsigned` lines that are older than the
    ledger's key; `hashes` number → hash of the first line and of those that were asked for; `runs` that have begun to
    act, by these lines; `acted` plan → rows that were acted on.
    """

    lines: int = 0
    head: str = ""
    error: str = ""
    torn: int = 0
    unsigned: int = 0
    hashes: Mapping[int, str] = field(default_factory=dict)
    runs: frozenset[str] = frozenset()
    acted: Mapping[PlanIdentity, int] = field(default_factory=dict)


def verified(file: LedgerFile, wanted: Collection[int] = ()) -> Verified:
    """Check each line of a ledger, and that it holds what the proofs of its runs name. The whole file is read, once.

    Parameters: `wanted` numbers of lines whose hashes are given.
    """
    hashes: dict[int, str] = {}
    lines, head, torn, signed_from = 0, "", 0, 0
    acted: dict[PlanIdentity, int] = {}
    proofs, error = proofs_of(file)
    try:
        signed_from = file.keys.signed_from
        torn = file.torn()
        for found in held(_heads(file.entries(), acted), proofs):
            lines, head = found.seq, found.hash
            if lines == 1 or lines in wanted:
                hashes[lines] = head
    except (LedgerBroken, LakeError, SettingsError) as broken:
        error = str(broken)
    if not file.path.exists():
        error = f"there is no ledger {file.path}"
    unsigned = min(signed_from - 1, lines) if signed_from else lines
    runs = frozenset(plan.run for plan in acted)
    return Verified(
        lines=lines,
        head=head,
        error=error,
        torn=torn,
        unsigned=unsigned,
        hashes=hashes,
        runs=runs,
        acted=acted,
    )


def _heads(entries: Iterable[Mapping[str, Any]], acted: dict[PlanIdentity, int]) -> Iterator[Head]:
    """The head after each line. Parameters: `acted` gets the plans that have begun, and the rows acted on."""
    for entry in entries:
        if (kind := entry.get("kind")) in _OF_A_PLAN:
            plan = PlanIdentity(run=str(entry.get("run", "")), digest=str(entry.get("plan", "")))
            acted[plan] = acted.get(plan, 0) + (len(entry.get("rows", ())) if kind == "acted" else 0)
        yield head_in(entry)


def proofs_of(file: LedgerFile) -> tuple[list[Proof], str]:
    """The proofs of a queue manager's runs, or why they cannot be read."""
    try:
        return file.proofs(), ""
    except (LedgerBroken, LakeError) as error:
        return [], str(error)
