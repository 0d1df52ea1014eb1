"""Text of others as a terminal may get it: it ends no line, steers no terminal and hides nothing."""

from __future__ import annotations

_INSTEAD = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """The text with U+FFFD for each character that cannot be seen: controls, line breaks, marks of direction."""
    return text if text.isprintable() else "".join(one if one.isprintable() else _INSTEAD for one in text)
