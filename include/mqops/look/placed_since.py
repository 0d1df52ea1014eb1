"""Which messages that a run has left until a person places them were taken by a later run: by its proof, nothing is
browsed (`mqops.look.taken_since`)."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqops.lake.run import RunFolder
from mqops.look.runs import Runs
from mqops.look.taken_since import taken, takers
from mqops.workflow import Workflow

"""This workflow cannot see messages without an MQDLH, and looks at no others that a person must place."""
MOST_LATER = 16
"""Later runs that are looked at, the newest: each costs a look at its plan and at the ledger."""


class Placed(NamedTuple):
    """A message by its queue and identity."""

    queue: str
    msg_key: str


def placed_since(run: RunFolder, left: Collection[Placed], *, at: str) -> dict[Placed, str]:
    """Messages that a later run has taken from their queue → the run. What an undo has put back since is not among
    them. A run whose plan was removed says nothing.

    Parameters: `run` that has left the messages; `at` when it looked at their queues.

    Raises:
        LakeError: a file of a run cannot be read.
        LedgerBroken: the ledger cannot be read.
    """
    if not (left and at):
        return {}
    known = Runs.in_folder(run.lake_folder).caught_up()
    later = takers(
        known,
        {one.queue for one in left},
        since=at,
        fits=lambda one: one.at >= at and one.run != run.run and one.workflow != Workflow.DLQ_RULES,
    )
    found: dict[Placed, str] = {}
    for taker in islice((one for one in later if not one.plan_removed), MOST_LATER):
        for queue, keys in taken([taker]).items():
            here = [one for one in left if one.queue == queue]
            there = pc.is_in(pa.array([one.msg_key for one in here], pa.string()), keys).to_pylist()
            found |= {one: taker.run.run.name for one, is_taken in zip(here, there, strict=True) if is_taken}
    return found
