"""Whether a ledger is what was written: what `mqops ledger verify` and the page of the estate say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mqops.errors import LakeError, LedgerBroken, SettingsError
from mqops.ledger.core.archived import Archived
from mqops.ledger.core.chain import Head, Proof, held, refuse_other
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.file import LedgerFile
from mqops.ledger.parts import Asked, Kept, Part, parts
from mqops.ledger.proofs import between


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the check of a ledger has found.

    Parameters: `lines` that were checked, and `head` the hash of the last of them; `error` why the ledger is not what
    was written, blank where it is; `torn` bytes of a half-written last line; `unsigned` lines that are older than the
    ledger's key; `hashes` number → hash of the first line and of those that were asked for; `acted` plan that has begun
    to act, by these lines, → rows that were acted on: of all plans, or of those that are `Kept.wanted`.
    """

    lines: int = 0
    head: str = ""
    error: str = ""
    torn: int = 0
    unsigned: int = 0
    hashes: Mapping[int, str] = field(default_factory=dict)
    acted: Mapping[PlanIdentity, int] = field(default_factory=dict)
    away: Archived | None = None

    @property
    def runs(self) -> frozenset[str]:
        """The runs of these plans."""
        return frozenset(plan.run for plan in self.acted)


def verified(
    file: LedgerFile,
    wanted: Collection[int] = (),
    *,
    cores: int = 1,
    kept: Kept | None = None,
    without_archive: bool = False,
    known: tuple[list[Proof], str] | None = None,
) -> Verified:
    """Check each line of a ledger, that it holds what the proofs of its runs name, and that its checkpoints are true.

    Parameters: `wanted` numbers of lines whose hashes are given; `cores` that check closed segments at once; `kept`
    for a process that verifies again and again: closed segments whose files are as they were when it checked them are
    not checked again; `without_archive` whether the lines behind an archive that cannot be read are checked, by the
    head that its statement says; `known` the proofs that are looked at, or why they cannot be read; None to read those
    of all runs.
    """
    proofs, error = known or proofs_of(file)
    numbers = frozenset(wanted) | {proof.head.seq for proof in proofs} | {1}
    found = Sum(wanted={*wanted, 1})
    torn, signed_from = 0, 0
    away: Archived | None = None
    try:
        signed_from = file.keys.signed_from
        torn = file.torn()
        if without_archive and (away := file.segments.out_of_reach()):
            found.hashes[1] = file.first()
        with file.segments.opened(away.number if away else 0) as opened:
            asked = Asked(file=file, numbers=numbers, cores=cores, kept=kept, away=away)
            for part in parts(asked, opened):
                found.add(part, proofs)
        found.end(proofs)
    except (LedgerBroken, LakeError, SettingsError) as broken:
        error = str(broken)
    if not file.exists():
        error = f"there is no ledger {file.path}"
    return Verified(
        lines=found.lines,
        head=found.head,
        error=error,
        torn=torn,
        unsigned=min(signed_from - 1, found.lines) if signed_from else found.lines,
        hashes=found.hashes,
        acted=found.acted,
        away=away,
    )


@dataclass(slots=True)
class Sum:
    """What was found so far. Parameters: `wanted` lines whose hashes are kept."""

    wanted: set[int]
    lines: int = 0
    head: str = ""
    hashes: dict[int, str] = field(default_factory=dict)
    acted: dict[PlanIdentity, int] = field(default_factory=dict)

    def add(self, part: Part, proofs: Iterable[Proof]) -> None:
        """One more segment. Raises `LedgerBroken`: a line of it is not what was written, or what a proof names."""
        for plan, rows in part.acted.items():
            self.acted[plan] = self.acted.get(plan, 0) + rows
        self.hashes.update((number, digest) for number, digest in part.hashes.items() if number in self.wanted)
        if part.head.seq:
            self.lines, self.head = part.head.seq, part.head.hash
        for proof in sorted(between(proofs, part.before.seq + 1, part.head.seq), key=lambda one: one.head.seq):
            self._stop_at(proof, part)
        if part.error:
            raise LedgerBroken(part.error)

    def _stop_at(self, proof: Proof, part: Part) -> None:
        try:
            refuse_other(Head(seq=proof.head.seq, hash=part.hashes[proof.head.seq]), proof)
        except LedgerBroken:
            self.lines, self.head = proof.head.seq, part.hashes[proof.head.seq]
            raise

    def end(self, proofs: Iterable[Proof]) -> None:
        """All segments were added. Raises `LedgerBroken`: a proof names a line behind the last one."""
        last = [Head(seq=self.lines, hash=self.head)] if self.lines else []
        for _head in held(last, [proof for proof in proofs if proof.head.seq > self.lines]):
            pass


def proofs_of(file: LedgerFile) -> tuple[list[Proof], str]:
    """The proofs of a queue manager's runs, or why they cannot be read."""
    try:
        return file.proofs(), ""
    except (LedgerBroken, LakeError) as error:
        return [], str(error)
