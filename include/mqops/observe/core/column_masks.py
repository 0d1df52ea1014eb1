"""What a masked snapshot has of each column. A column that is not named here is left out: a new one is no leak."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from mqops.errors import SettingsError


class Mask(StrEnum):
    """How a column is masked."""

    SHOWN = "as it is"
    HASHED = "hashed"


_SHOWN = (
    *("queue_manager", "queue", "position", "body_length", "observed_at", "msg_seq_number", "msg_offset", "msg_flags"),
    *("report", "msg_type", "expiry", "feedback", "encoding", "ccsid", "format", "priority", "persistence"),
    *("backout_count", "reply_to_q", "reply_to_q_mgr", "put_appl_type", "put_appl_name", "put_date", "put_time"),
    *("dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "dlh_encoding", "dlh_ccsid", "dlh_format", "dlh_put_appl_type"),
    *("dlh_put_appl_name", "dlh_put_date", "dlh_put_time"),
)
HASHED_AS: Mapping[str, str] = {
    "msg_key": "message",
    "msg_id": "identifier",
    "correl_id": "identifier",
    "group_id": "identifier",
    "body_sha256": "body",
    "user_identifier": "user",
    "appl_identity_data": "identity data",
}
"""Column → what its values are. Equal values of one kind have one hash: CorrelId joins with MsgId."""
MASKS: Mapping[str, Mask] = {**dict.fromkeys(_SHOWN, Mask.SHOWN), **dict.fromkeys(HASHED_AS, Mask.HASHED)}


def masks(*, hashed: Collection[str] = (), dropped: Collection[str] = ()) -> dict[str, Mask]:
    """The masks of the columns that a view has, in their order. A mask can be made stricter, never looser.

    Parameters: `hashed` columns that are hashed, too; `dropped` those that are left out.

    Raises:
        SettingsError: a masked snapshot has no such column.
    """
    if unknown := sorted({*hashed, *dropped} - {*MASKS}):
        raise SettingsError(f"A masked snapshot has no column {', '.join(unknown)}: name one of {', '.join(MASKS)}")
    return {name: Mask.HASHED if name in hashed else mask for name, mask in MASKS.items() if name not in dropped}
