"""PCF structures as frozen values, and the table of their fixed parts. Knows no bytes order and no command.

1. ``ccsid`` 0 (MQCCSI_DEFAULT) is the CCSID of the message. Text has no trailing blanks; NUL is kept.
2. ``length`` is StringLength in bytes where it is more than the text needs: text is filled up with blanks. None: as
   long as the text (the longest one of a list).
3. ``padding`` is what stands between the data and the end of the structure where that is not NULs up to a multiple of
   4 (None). It is kept so that ``encode`` of what ``decode`` gave is identical byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from mqwire import constants as c
from mqwire.fields import before_nul, long
from mqwire.layout import Layout

MQCFH_LAYOUT = Layout(
    "MQCFH",
    [
        long("Type", c.MQCFT_COMMAND),
        long("StrucLength", c.MQCFH_STRUC_LENGTH),
        long("Version", c.MQCFH_VERSION_1),
        long("Command"),
        long("MsgSeqNumber", 1),
        long("Control", c.MQCFC_LAST),
        long("CompCode"),
        long("Reason"),
        long("ParameterCount"),
    ],
    versions=[c.MQCFH_VERSION_1, c.MQCFH_VERSION_2, c.MQCFH_VERSION_3],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFH:
    """PCF header; StrucLength and ParameterCount are worked out."""

    command: int
    type: int = c.MQCFT_COMMAND
    version: int = c.MQCFH_VERSION_1
    msg_seq_number: int = 1
    control: int = c.MQCFC_LAST
    comp_code: int = c.MQCC_OK
    reason: int = c.MQRC_NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFIN:
    """Integer."""

    parameter: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFIN64:
    """64-bit integer."""

    parameter: int
    value: int
    reserved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFIL:
    """Integer list."""

    parameter: int
    value: tuple[int, ...]
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFIL64:
    """64-bit integer list."""

    parameter: int
    value: tuple[int, ...]
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFST:
    """String."""

    parameter: int
    value: str
    ccsid: int = c.MQCCSI_DEFAULT
    length: int | None = None
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFSL:
    """String list."""

    parameter: int
    value: tuple[str, ...]
    ccsid: int = c.MQCCSI_DEFAULT
    length: int | None = None
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFBS:
    """Byte string."""

    parameter: int
    value: bytes
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFIF:
    """Integer filter: ``operator`` is an MQCFOP_ value."""

    parameter: int
    operator: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFSF:
    """String filter: ``operator`` is an MQCFOP_ value."""

    parameter: int
    operator: int
    value: str
    ccsid: int = c.MQCCSI_DEFAULT
    length: int | None = None
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFBF:
    """Byte string filter: ``operator`` is an MQCFOP_ value."""

    parameter: int
    operator: int
    value: bytes
    padding: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MQCFGR:
    """Group: the parameters in it follow it on the wire."""

    parameter: int
    value: tuple[Parameter, ...]


Parameter: TypeAlias = (
    MQCFIN | MQCFIN64 | MQCFIL | MQCFIL64 | MQCFST | MQCFSL | MQCFBS | MQCFIF | MQCFSF | MQCFBF | MQCFGR
)
TextParameter: TypeAlias = MQCFST | MQCFSF | MQCFSL


def with_texts(found: TextParameter, change: Callable[[str], str]) -> TextParameter:
    """A parameter of text with each of its texts changed."""
    if isinstance(found, MQCFSL):
        return replace(found, value=tuple(map(change, found.value)))
    return replace(found, value=change(found.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A header and its parameters, groups nested."""

    header: MQCFH
    parameters: tuple[Parameter, ...] = ()

    def find(self, parameter: int) -> Parameter | None:
        """The first parameter outside groups that has this identifier, or None."""
        return next(self.find_all(parameter), None)

    def find_all(self, parameter: int) -> Iterator[Parameter]:
        """All parameters outside groups that have this identifier."""
        return (found for found in self.parameters if found.parameter == parameter)

    def value(self, parameter: int, default: Any = None) -> Any:
        """The value of a parameter: ``int``, ``str``, ``bytes`` or a tuple of them; ``default`` if it is not there.

        Text ends at its first NUL here, as programs pad names with NUL as well as with blanks.
        """
        found = self.find(parameter)
        return default if found is None else plain_value(found)

    def values(self) -> dict[int, Any]:
        """Identifier to value, as ``value``; a group is a dictionary in a list of all groups of that identifier.

        Where an identifier comes more than once, the last value counts, and so does a group that follows a value.
        """
        return _values(self.parameters)


def plain_value(parameter: Parameter) -> Any:
    """The value with text cut at its first NUL and without trailing blanks."""
    value = parameter.value
    if isinstance(value, str):
        return before_nul(value)
    if isinstance(parameter, MQCFSL):
        return tuple(before_nul(text) for text in parameter.value)
    return value


def _values(parameters: tuple[Parameter, ...]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for parameter in parameters:
        if isinstance(parameter, MQCFGR):
            if not isinstance(found.get(parameter.parameter), list):
                found[parameter.parameter] = []
            found[parameter.parameter].append(_values(parameter.value))
        else:
            found[parameter.parameter] = plain_value(parameter)
    return found


class Shape(NamedTuple):
    """The fixed part of a parameter: after Type and StrucLength these fields, all MQLONG, then the data."""

    kind: int
    structure: type[Any]
    fields: tuple[str, ...]
    data: str = ""

    @property
    def size(self) -> int:
        """Bytes of the fixed part."""
        return 8 + 4 * len(self.fields)


SHAPES: tuple[Shape, ...] = (
    Shape(c.MQCFT_INTEGER, MQCFIN, ("Parameter", "Value")),
    Shape(c.MQCFT_STRING, MQCFST, ("Parameter", "CodedCharSetId", "StringLength"), "String"),
    Shape(c.MQCFT_INTEGER_LIST, MQCFIL, ("Parameter", "Count"), "Values"),
    Shape(c.MQCFT_STRING_LIST, MQCFSL, ("Parameter", "CodedCharSetId", "Count", "StringLength"), "Strings"),
    Shape(c.MQCFT_BYTE_STRING, MQCFBS, ("Parameter", "StringLength"), "String"),
    Shape(c.MQCFT_INTEGER_FILTER, MQCFIF, ("Parameter", "Operator", "FilterValue")),
    Shape(
        c.MQCFT_STRING_FILTER,
        MQCFSF,
        ("Parameter", "Operator", "CodedCharSetId", "FilterValueLength"),
        "FilterValue",
    ),
    Shape(c.MQCFT_BYTE_STRING_FILTER, MQCFBF, ("Parameter", "Operator", "FilterValueLength"), "FilterValue"),
    Shape(c.MQCFT_GROUP, MQCFGR, ("Parameter", "ParameterCount")),
    Shape(c.MQCFT_INTEGER64, MQCFIN64, ("Parameter", "Reserved"), "Value"),
    Shape(c.MQCFT_INTEGER64_LIST, MQCFIL64, ("Parameter", "Count"), "Values"),
)
BY_KIND = {shape.kind: shape for shape in SHAPES}
BY_STRUCTURE = {shape.structure: shape for shape in SHAPES}
