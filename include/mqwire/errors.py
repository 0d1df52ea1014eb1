"""The errors of mqwire: malformed bytes, values that do not fit, unknown character sets. Knows no queue."""

from __future__ import annotations


class WireError(ValueError):
    """Bytes that are not what their structure says, or a value that does not fit its field.

    ``structure`` and ``field`` carry MQ's own names; ``offset`` is the byte in the buffer that was given.
    """

    def __init__(self, structure: str, field: str, offset: int, message: str) -> None:
        super().__init__(structure, field, offset, message)
        self.structure = structure
        self.field = field
        self.offset = offset
        self.message = message

    def __str__(self) -> str:
        where = f"{self.structure}.{self.field}" if self.field else self.structure
        return f"{where} at offset {self.offset}: {self.message}"


class CutShort(WireError):
    """The bytes end before the structure does; ``field`` is the first one that is not whole."""


class NotText(WireError):
    """Bytes that are not text in their CCSID, or text that the CCSID does not have."""


class UnknownCcsid(WireError):
    """No conversion is known for this CCSID, so its text is left as bytes rather than guessed."""


class UnknownEncoding(WireError):
    """The integer part of Encoding is neither normal (1) nor reversed (2), so the byte order is unknown."""
