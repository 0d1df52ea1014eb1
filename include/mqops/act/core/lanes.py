"""Lanes: which rows of a plan follow each other, and the row as the mover needs it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mqops.actions import Action

Group: TypeAlias = tuple[str, str]
"""What is tried out by canaries: a destination (`unit_group`) and the rule (`rule_key`) that sends messages there."""

DEFAULT_LANES = 16
DEFAULT_UNIT_SIZE = 200


def lane_of(unit_group: str, lanes: int) -> int:
    """The lane of a destination. Spark computes the same: `pmod(crc32(unit_group), lanes)`."""
    return zlib.crc32(unit_group.encode()) % lanes


@dataclass(slots=True, kw_only=True)  # not frozen, which costs microseconds for each row
class Row:
    """One row of the plan that is to be acted on.

    Parameters: `row` its number in the plan; `position` its place in its lane; `queue` where it is taken from;
    `body_length` in bytes (DLH included); `body_sha256` of the same bytes, for the ledger;
    `header` whether the MQDLH goes along (FWD HEADER(YES)); `alternate_user` the user whose authority puts it
    (PUTAUT(CTX)), `OF_NOBODY` where that is blank, "" for our own; `duplicate_id` whether another row has the same
    MsgId and CorrelId; `tries` so far, and of a RESTORE how many messages with the same identity may be there before;
    `unit_group` the destination as the plan names it; `order_key` what its rule's ORDER keeps in order, "" without;
    `together` the row number of the first message of its MQ group, its own without.
    Attributes: `target` where it goes, and by whose authority; rows with the same `bundle` go in one unit of work or
    not at all.
    """

    row: int
    position: int
    queue: str
    msg_key: str
    msg_id: bytes
    correl_id: bytes
    body_length: int
    action: Action
    rule_key: str
    dest_q: str = ""
    dest_q_mgr: str = ""
    header: bool = True
    alternate_user: str = ""
    duplicate_id: bool = False
    tries: int = 0
    body_sha256: bytes = b""
    unit_group: str = ""
    order_key: str = ""
    together: int | None = None
    target: Target = field(init=False)
    bundle: int = field(init=False)

    def __post_init__(self) -> None:
        self.target = Target(self.dest_q, self.dest_q_mgr, self.alternate_user)
        self.bundle = self.row if self.together is None else self.together

    @property
    def group(self) -> Group:
        """The group it has canaries with."""
        return (self.unit_group, self.rule_key)

    @property
    def strips_header(self) -> bool:
        """Whether the MQDLH is taken off and the original format restored (D08)."""
        return self.action == Action.RETRY or (self.action in {Action.FWD, Action.COPY} and not self.header)


class Target(NamedTuple):
    """A destination as it is opened: queue, queue manager (blank: local), alternate user ("": none is named)."""

    queue: str
    queue_manager: str = ""
    alternate_user: str = ""
