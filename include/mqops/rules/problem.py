"""An error or a warning of a rules table, at its place in the text."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.printable import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error or a warning at one place: `line` and `column` count from 1, `text` is that whole line.

    `number` is that of the message which IBM's handler has for such an error (AMQ8752 ...), 0 where none is known.
    """

    line: int
    column: int
    message: str
    text: str = ""
    number: int = 0

    def render(self, kind: str = "") -> str:
        """Three lines: where and what (`kind` stands before it), the line itself, a caret under the place."""
        shown = printable(self.text)
        return f"{self.line}:{self.column}: {kind}{self.message}\n    {shown}\n    {' ' * (self.column - 1)}^"
