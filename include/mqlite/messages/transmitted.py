"""A message without its transmission header, as channels and MQGMO_CONVERT handle it."""

from __future__ import annotations

from dataclasses import dataclass

from mqwire import constants as c
from mqwire.fields import before_nul
from mqwire.structures import MQMD


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmitted:
    """A message without its transmission header: where it goes, its own descriptor (version 2) and data."""

    queue: str
    queue_manager: str
    md: MQMD
    body: bytes

    @property
    def user(self) -> str:
        """The user in the message context, blank if there is none."""
        return before_nul(self.md.user_identifier)

    @property
    def persistent(self) -> bool:
        """True if it must survive."""
        return self.md.persistence == c.MQPER_PERSISTENT
