"""What DISPLAY prints: attributes in two columns, three blanks in, as runmqsc lays them out."""

from __future__ import annotations

from collections.abc import Sequence

INDENT = "   "
COLUMN = 40


def columns(items: Sequence[str]) -> list[str]:
    """Lines of at most two items; an item too wide for a column has its line to itself."""
    lines: list[str] = []
    left = ""
    for item in items:
        if left and len(item) < COLUMN:
            lines.append(f"{INDENT}{left.ljust(COLUMN)}{item}")
            left = ""
            continue
        if left:
            lines.append(INDENT + left)
        left = item
        if len(item) >= COLUMN:
            lines.append(INDENT + item)
            left = ""
    if left:
        lines.append(INDENT + left)
    return lines
