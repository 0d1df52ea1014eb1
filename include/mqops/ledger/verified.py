"""Whether a ledger is what was written: what `mqops ledger verify` and the page of the estate say of it."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.errors import LakeError, LedgerBroken, SettingsError
from mqops.ledger.core.chain import Proof, head_in, held
from mqops.ledger.file import LedgerFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the check of a ledger has found.

    Parameters: `lines` that were checked, and `head` the hash of the last of them; `error` why the ledger is not what
    was written, blank where it is; `torn` bytes of a half-written last line; `unsigned` lines that are older than the
    ledger's key.
    """

    lines: int = 0
    head: str = ""
    error: str = ""
    torn: int = 0
    unsigned: int = 0


def verified(file: LedgerFile) -> Verified:
    """Check each line of a ledger, and that it holds what the proofs of its runs name. The whole file is read."""
    lines, head, torn, unsigned = 0, "", 0, 0
    proofs, error = proofs_of(file)
    try:
        unsigned = file.unsigned()
        torn = file.torn()
        for found in held(map(head_in, file.entries()), proofs):
            lines, head = found.seq, found.hash
    except (LedgerBroken, LakeError, SettingsError) as broken:
        error = str(broken)
    if not file.path.exists():
        error = f"there is no ledger {file.path}"
    return Verified(lines=lines, head=head, error=error, torn=torn, unsigned=min(unsigned, lines))


def proofs_of(file: LedgerFile) -> tuple[list[Proof], str]:
    """The proofs of a queue manager's runs, or why they cannot be read."""
    try:
        return file.proofs(), ""
    except (LedgerBroken, LakeError) as error:
        return [], str(error)
