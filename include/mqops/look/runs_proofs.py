"""What the runs of a queue manager say of the ledger's end, by their index: as many answers as there are such ends.

Many runs name the same line, as those that moved nothing: each end is one step in the table, whichever runs name it.
"""

from __future__ import annotations

from mqops.errors import LedgerBroken
from mqops.ledger.core.chain import Head, Proof
from mqops.look.runs_index import RunsIndex

_COLUMNS = "SELECT seq, hash, run FROM proof"
_NEXT = (
    f"SELECT * FROM ({_COLUMNS} WHERE seq = ? AND hash > ? ORDER BY hash, run LIMIT 1) UNION ALL "  # noqa: S608 - ours
    f"SELECT * FROM ({_COLUMNS} WHERE seq > ? ORDER BY seq, hash, run LIMIT 1) LIMIT 1"
)
"""As (seq, hash) > (?, ?), for which SQLite would go through all runs that name the first line."""
_BROKEN = "SELECT error FROM proof WHERE error <> '' ORDER BY run LIMIT 1"


def proofs_behind(index: RunsIndex, seq: int) -> list[Proof]:
    """The ends behind this line that the runs name, each with the first of the runs that name it.

    Raises:
        LedgerBroken: a summary is not what was written; the text names it.
    """
    found: list[Proof] = []
    with index.at_one_moment():
        for (error,) in index.rows(_BROKEN):
            raise LedgerBroken(error)
        at = seq, "g"  # behind every hash, which is hexadecimal
        while (row := index.rows(_NEXT, (*at, at[0])).fetchone()) is not None:
            at = row[0], row[1]
            found.append(Proof(run=row[2], head=Head(seq=row[0], hash=row[1])))
    return found
