"""Text that came with messages, as people are shown it: it ends no line, steers no terminal and hides nothing."""

from __future__ import annotations

_INSTEAD = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """The text with U+FFFD for each character that is not to be seen: controls, breaks of lines, marks of direction."""
    return text if text.isprintable() else "".join(one if one.isprintable() else _INSTEAD for one in text)
