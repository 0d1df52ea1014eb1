"""What a look has found, and what to do about it.

A row of `mqops doctor`, a result of the pre-flight and a problem of the page Estate are one each, with a place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Parameters: `what` was found, in words; `remedy` what to do about it, "" where that is nothing or is said."""

    what: str
    remedy: str = ""

    @property
    def text(self) -> str:
        """Both, in a line."""
        return sentence(self.what, self.remedy)


def sentence(what: str, remedy: str) -> str:
    """What was found and what to do, "" for nothing."""
    return f"{what}. {remedy}" if remedy else what
