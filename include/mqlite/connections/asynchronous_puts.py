"""What became of the puts of a connection that were asked for with MQPMO_ASYNC_RESPONSE."""

from __future__ import annotations

from dataclasses import dataclass, field

from mqwire import constants as c


@dataclass(slots=True)
class AsyncPuts:
    """What became of the asynchronous puts since the last MQSTAT: by completion code, and the first of the worst."""

    counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    comp: int = c.MQCC_OK
    reason: int = c.MQRC_NONE
    names: tuple[str, str, str, str] = ("", "", "", "")

    def add(self, comp: int, reason: int, names: tuple[str, str, str, str]) -> None:
        """One more that ended with these codes; `names` of the object as opened and as resolved."""
        self.counts[comp] += 1
        if comp > self.comp:
            self.comp, self.reason, self.names = comp, reason, names
