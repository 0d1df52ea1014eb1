"""The reason of an MQDLH as people know it."""

from __future__ import annotations

from mqwire.names import feedback_name, reason_name


def reason_symbol(reason: int | None) -> str:
    """MQRC_ name of an MQDLH's reason, else its MQFB_ name, else the number; "" without a reason."""
    if reason is None:
        return ""
    name = reason_name(reason)
    return name if name.startswith("MQRC_") else feedback_name(reason)
