"""How a call of the MQI ends when it does not simply succeed."""

from __future__ import annotations

from mqwire import constants as c


class Failure(Exception):
    """The call ends with MQCC_FAILED, or the completion code given, and this reason code.

    Parameters: `reason` MQRC_*; `text` for people who read a trace.
    """

    def __init__(self, reason: int, text: str = "", *, comp: int = c.MQCC_FAILED) -> None:
        super().__init__(f"reason {reason} {text}".strip())
        self.reason = reason
        self.text = text
        self.comp = comp
