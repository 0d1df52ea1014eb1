"""What every block of the estate file is: exact types, no unknown keys, and errors that name their parts."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Block(BaseModel):
    """Base of every block: exact types, no unknown keys, unchangeable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True, validate_default=True)


class Section(Block):
    """Base of what a workflow has in the estate, and of its blocks."""


class PartError(ValueError):
    """An error of a block that some of its parts have. Parameters: `parts` their places in the block."""

    def __init__(self, text: str, *parts: tuple[str, ...]) -> None:
        super().__init__(text)
        self.parts = parts
