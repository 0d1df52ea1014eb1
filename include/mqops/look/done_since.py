"""What runs have done since with messages of a recorded list: by their proofs and the ledger, nothing is browsed."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from mqops.lake.run import RunFolder
from mqops.ledger.core.history import Event
from mqops.look.find import FoundMessage
from mqops.look.history import last_act
from mqops.look.taken_since import Placed, not_taken


def done_since(run: RunFolder, listed: Collection[FoundMessage]) -> dict[Placed, Event | None]:
    """The messages that are on their queue no longer → the last act of a run on each, None where a proof has only found
    it gone.

    Parameters: `run` whose snapshot has the messages.

    Raises:
        LakeError: a file of a run cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    columns = {name: [getattr(one, name) for one in listed] for name in Placed._fields}
    there = {Placed(**row) for row in not_taken(run, pa.table(columns)).to_pylist()} if listed else set()
    lake, name = run.lake_folder.parent, run.queue_manager
    gone = {Placed(one.queue, one.msg_key): one.msg_id for one in listed}
    return {one: last_act(lake, name, msg_id, one.msg_key) for one, msg_id in gone.items() if one not in there}
