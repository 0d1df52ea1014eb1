"""What there is to say about one keyword of a rules table. The keywords themselves are in `mqops.rules.keywords`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from mqops.actions import Action

ANY = "*"
"""The value of a pattern keyword that was written but matches everything."""
MAX_NUMBER = 999_999_999
"""Largest number a rules table accepts where no other range is stated."""


class Entry(Enum):
    """The part of the table a keyword may stand in."""

    CONTROL = "control data"
    PATTERN = "a rule's pattern"
    ACTION = "a rule's action"


class ValueKind(Enum):
    """What may stand in the brackets of a keyword."""

    WILD = "string with wildcards"
    NUMBER = "number, symbolic name, or * alone"
    NAME = "name of an MQ object, no wildcards"
    COUNT = "number"
    CHOICE = "one of a few words"
    CHOICE_OR_COUNT = "one of a few words, or a number"
    RATE = "number a second"
    KEY = "one of a few words, or the name of a property"
    WAITS = "times, with commas between them"
    COMPARED = "comparison with a number"
    AGE = "comparison with an age"
    SIZE = "comparison with a number of bytes"
    PROPERTY = "comparison with a property"
    BODY = "comparison with the text of the message data"


COMPARISON = "`>` `>=` `<` `<=` or `=`, a number"
"""How a condition on a number is written."""
COMPARED_NUMBERS = frozenset({ValueKind.COMPARED, ValueKind.AGE, ValueKind.SIZE})
"""Kinds of conditions on a number of the message."""
CONDITIONS = COMPARED_NUMBERS | {ValueKind.PROPERTY, ValueKind.BODY}
"""Kinds of conditions (`mqops.rules.conditions`)."""


class Form(NamedTuple):
    """One way to write a keyword: what stands in its brackets, what that means, and an example for error messages."""

    written: str
    meaning: str
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """One keyword.

    Parameters:
        name: Capital letters only.
        extension: Whether IBM's handler does not know it: an error, unless the table begins with the header line.
        columns: The columns of the snapshot that a pattern reads: one for the kinds WILD, NUMBER and COMPARED. That of
            a COMPARED pattern is an integer or a long; null matches nothing.
        length: Characters of the field that is compared or named.
        choices: The words allowed (for a NAME: the &-names).
        blank: Whether an all-blank value is legal.
        least: The smallest number that may be written.
        most: The largest number that may be written.
        prefixes: Of the symbolic names that a NUMBER may be written as.
        also: Prefixes of symbolic names that may not be written, but whose numbers a message may have.
        unnamed: Ranges of numbers that a message may have and that have no symbolic name.
        never: Numbers that have a symbolic name and that no message on a queue has.
        every: The smallest and the largest number that a message may have; None if a message may have none.
        changes: Whether the value of a message may change while it stays on its queue.
        noun: What a number of a condition is called in error messages.
        only_with: The actions that an action keyword may stand with; empty for all.
        forms: How it is written, for the documentation.
    """

    name: str
    entry: Entry
    kind: ValueKind
    extension: bool = False
    columns: tuple[str, ...] = ()
    length: int = 0
    choices: tuple[str, ...] = ()
    blank: bool = False
    least: int = 0
    most: int = MAX_NUMBER
    prefixes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unnamed: tuple[tuple[int, int], ...] = ()
    never: tuple[int, ...] = ()
    every: tuple[float, float] | None = None
    changes: bool = False
    noun: str = ""
    only_with: tuple[Action, ...] = ()
    forms: tuple[Form, ...] = ()

    @property
    def examples(self) -> list[str]:
        """One example of each form: `AGE(>15m)`."""
        return [f"{self.name}({form.example})" for form in self.forms if form.example]


def compared(
    name: str,
    *,
    column: str,
    meaning: str,
    noun: str,
    example: str,
    most: int = MAX_NUMBER,
    every: tuple[float, float] | None = None,
    changes: bool = False,
) -> Keyword:
    """An extension: a condition on the number in one column. For the other parameters see `Keyword`; a distribution of
    your own makes its keywords by this function.

    Parameters: `meaning` what is compared, for people; `example` what stands in the brackets of an example.
    """
    return Keyword(
        name=name,
        entry=Entry.PATTERN,
        kind=ValueKind.COMPARED,
        extension=True,
        columns=(column,),
        most=most,
        every=every,
        changes=changes,
        noun=noun,
        forms=(Form(f"{COMPARISON}{f' from 0 to {most}' if most != MAX_NUMBER else ''}", meaning, example),),
    )
