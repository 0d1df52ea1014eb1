"""The ledger as a step works with it on one plan: opened once, by whoever makes the step, and handed on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from mqops.clock import utc_now
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import Account, account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import About, Marker, MarkerKind
from mqops.ledger.file import LedgerFile
from mqops.ledger.keys import KeyRing
from mqops.ledger.noted import ISSUED, Issued
from mqops.ledger.writer import writer_of


class OpenLedger:
    """The ledger, a plan, and what its run noted.

    Each "once" of it, and why nothing is missed:

    1. Lines: the open segment is read once, then what was added. Lines are only ever added (`mqops.ledger.segments`).
       The ledger is opened for one execution, and act asks `refuse_broken` before anything else reads it; what it has
       verified then is what the lanes, the canaries and the proof have.
    2. Keys: read again whenever the key file or the note of the newest key is another file (`mqops.ledger.keys`).
    3. RUN/issued.json: whoever writes it holds the run's lock, and so does a step that acts, proves or drains.

    The sums of the plan are made anew each time: other processes drain, and a lane's position moves.

    Parameters: `run` None if the run's lake does not exist any more, so that the run cannot be resumed anyway.
    """

    def __init__(self, file: LedgerFile, plan: PlanIdentity, run: RunFolder | None) -> None:
        self.file = file
        self.plan = plan
        self.run = run

    @property
    def keys(self) -> KeyRing:
        """The keys of the ledger."""
        return self.file.keys

    @cached_property
    def noted(self) -> Issued | None:
        """RUN/issued.json, whichever plan it is about. Raises `LakeError`."""
        return ISSUED.find(self.run) if self.run else None

    @property
    def issued(self) -> Issued | None:
        """What it says if the plan's lane tokens were issued, else None. Raises `LakeError`."""
        return self.noted if self.noted and self.noted.plan == self.plan.digest else None

    def note_issued(self, lanes: Sequence[int], key: str) -> None:
        """Write RUN/issued.json. From then on the "issued" marker may be drained.

        Parameters: `key` id of the key that signs. Raises `LakeError`.
        """
        assert self.run is not None, "a run whose lake does not exist is not issued"
        self.noted = Issued(run=self.plan.run, plan=self.plan.digest, lanes=tuple(lanes), signed=True, key=key)
        ISSUED.write(self.run, self.noted)

    def note_resumed(self, about: About) -> None:
        """Add a line that says who finishes the run. Raises `LakeError`, `LedgerBroken`."""
        at = utc_now()
        line = Marker(
            unit=self.plan.resumed_id(at).hex(),
            run=self.plan.run,
            plan=self.plan.digest,
            kind=MarkerKind.RESUMED,
            at=at,
            about=about,
        )
        with writer_of(self.file) as writer:
            writer.add([line])

    def sums(self) -> Account:
        """What the plan's lines say by now. Raises `LakeError`, `LedgerBroken`."""
        return account(self.file.markers(plan=self.plan))

    def is_complete(self) -> bool:
        """Whether the ledger has all lanes of the plan to their ends. Raises `LedgerBroken`, `LakeError`."""
        sums = self.sums()
        return bool(sums.lengths) and not sums.open_lanes
