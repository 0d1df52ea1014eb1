"""The check of the ledger before anything is moved."""

from __future__ import annotations

from contextlib import suppress

from mqops.errors import LedgerBroken, MQError
from mqops.ledger.core.head_body import of_ledger
from mqops.ledger.file import LedgerFile
from mqops.ledger.kept_head import heads_there
from mqops.mq.session import Session


def refuse_broken(session: Session, file: LedgerFile) -> None:
    """Refuse a ledger that is not what was written since its last checkpoint, or that was cut back.

    Its head on the ledger queue is signed, and not in the lake. Where the ledger holds it, nothing that came with a
    marker was cut off, and the proofs since the last checkpoint are enough. Where it does not, or there is none, all
    runs are asked what they know of the ledger's end.

    Raises as `LedgerFile.refuse_broken`.
    """
    file.refuse_broken(head_is_held=_is_held(session, file))


def _is_held(session: Session, file: LedgerFile) -> bool:
    with suppress(MQError, LedgerBroken):  # then all proofs are looked at
        there = heads_there(session, file)
        return bool(of_ledger(there.verified, file.first())) and not there.quick_alarm(file)
    return False
