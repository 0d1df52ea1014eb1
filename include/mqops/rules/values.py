"""The values of keywords: one function for each kind returns the typed value or raises `BadValue`.

Choices where IBM's text is open are listed in `mqops.rules`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_lowercase

from mqops.rules.keyword import ANY, MAX_NUMBER, Keyword, ValueKind
from mqwire.constants import messages
from mqwire.names import values

TOO_LONG, OUT_OF_RANGE = 8752, 8757
_NAME_SPECIALS = "./_%"
_A_PROPERTY = "a property's folder.name in single quotes, such as 'usr.country'"
_PROPERTY = re.compile(r"[^\s<>&\"'/=!?.*]+(?:\.[^\s<>&\"'/=!?.*]+)+")


class BadValue(Exception):
    """This value is not legal for its keyword. The message says what is legal; `place` is where (None: its beginning).

    `number` is `Problem.number`.
    """

    def __init__(self, message: str, place: tuple[int, int] | None = None, *, number: int = 0) -> None:
        super().__init__(message)
        self.place = place
        self.number = number


_FOLDED = {ord(letter): letter.upper() for letter in ascii_lowercase}


def folded(text: str) -> str:
    """Text with the letters a to z in upper case; no other letter may stand without quotes."""
    return text.translate(_FOLDED)


def typed(keyword: Keyword, text: str, *, quoted: bool = True) -> str | int:
    """The value of a keyword.

    Parameters: `text` without quotes, folded if it was not `quoted`. Returns a number for numeric keywords, else a
    string without trailing blanks. Raises BadValue.
    """
    if keyword.kind is ValueKind.KEY and not quoted and _PROPERTY.fullmatch(text):
        raise BadValue("without quotes a name is folded, and no property has this one: put it in single quotes")
    return _TYPED[keyword.kind](keyword, text)


def _wild(keyword: Keyword, text: str) -> str:
    """A pattern: asterisks do not count for its length, trailing blanks do (but are not significant in matching)."""
    length = len(text) - text.count("*")
    format_name = getattr(messages, text, None) if keyword.name == "FORMAT" and text.startswith("MQFMT_") else None
    if format_name is not None:
        raise BadValue(
            f"{text} is a name for programs, and FORMAT is compared with the field: write {format_name or ' '!r}",
            number=TOO_LONG,
        )
    if length > keyword.length:
        raise BadValue(
            f"{length:,} characters without asterisks, and {keyword.name} is compared with a field of "
            f"{keyword.length:,}: "
            "shorten it",
            number=TOO_LONG,
        )
    return text.rstrip(" ")


def _number(keyword: Keyword, text: str) -> str | int:
    """A number, a symbolic name, or the asterisk alone."""
    if text == ANY:
        return ANY
    if text.isascii() and text.isdigit():
        return in_range(keyword, text)
    if "*" in text or "?" in text:
        raise BadValue(f"a number takes no wildcards: write a number, a symbolic name {_names(keyword)}, or * alone")
    symbols = values(*keyword.prefixes)
    if text in symbols:
        return symbols[text]
    what = f"neither a number nor a symbolic name {_names(keyword)}"
    raise BadValue(f"{text!r} is {what}: {_meant(text, symbols, keyword)}")


def number_of(keyword: Keyword, text: str) -> int:
    """The number that a symbolic name, or the digits of a number, stand for. Raises `BadValue`."""
    found = _number(keyword, text)
    if isinstance(found, str):
        raise BadValue(f"{text} is not a number: write a number or a symbolic name {_names(keyword)}")
    return found


def _names(keyword: Keyword) -> str:
    return " or ".join(f"{prefix}_*" for prefix in keyword.prefixes)


def _meant(text: str, symbols: Mapping[str, int], keyword: Keyword) -> str:
    """What to write instead of a text that is not one of the symbols."""
    reason = values("MQRC").get(text) if "MQFB" in keyword.prefixes else None  # a Feedback may be a reason code
    if reason is not None:
        return f"write the number, {reason}"
    nearest = nearest_name(text.upper(), symbols)
    return f"did you mean {nearest}?" if nearest else f"write {_range(keyword)}, or such a name"


_SAME = {
    **{"QUEUE": "Q", "QMGR": "Q_MGR", "MESSAGE": "MSG", "DISABLED": "INHIBITED", "AUTH": "AUTHORIZED"},
    **{"UNAUTHORIZED": "NOT_AUTHORIZED", "UNAUTHORISED": "NOT_AUTHORIZED", "AUTHORISED": "AUTHORIZED"},
}
"""Words that people write → as IBM MQ's names have them."""
_NOT_THERE = re.compile(
    r"(NO_SUCH|UNKNOWN|MISSING|UNDEFINED)_(Q|OBJECT)"
    r"|(Q|OBJECT)_(NOT_FOUND|UNKNOWN|MISSING|UNDEFINED|NOT_DEFINED|NOT_THERE|DOES_NOT_EXIST)"
)
"""What people call MQRC_UNKNOWN_OBJECT_NAME."""


def nearest_name(text: str, names: Iterable[str]) -> str:
    """The name that a text most likely means, "" where none is near: first by its words, so that MQRC_UNKNOWN_OBJECT
    means MQRC_UNKNOWN_OBJECT_NAME, then by its letters. Parameters: `text` in upper case."""
    known = list(names)
    prefix, _, rest = text.partition("_")
    written = [part for word in rest.split("_") for part in _SAME.get(word, word).split("_") if part]
    meant = "_".join((prefix, *written))
    if _NOT_THERE.fullmatch("_".join(written)):
        meant = f"{prefix}_UNKNOWN_OBJECT_NAME"
    if meant in known:
        return meant
    words = set(written)
    if len(words) > 1:
        having = [name for name in known if name.startswith(f"{prefix}_") and words <= set(name.split("_")[1:])]
        if having:
            return min(having, key=lambda name: (not name.startswith(meant), len(name), name))
    return next(iter(difflib.get_close_matches(text, known, n=1)), "")


def _choice(keyword: Keyword, text: str) -> str | int:
    if text in keyword.choices:
        return text
    if keyword.kind is ValueKind.CHOICE:
        raise BadValue(f"{text!r} is not a value of {keyword.name}: write {one_of(keyword.choices)}")
    return _count(keyword, text)


def _rate(keyword: Keyword, text: str) -> int:
    """Messages a second; `/s` may stand behind the number."""
    return _count(keyword, folded(text).removesuffix("/S"))


def _count(keyword: Keyword, text: str) -> int:
    if text.isascii() and text.isdigit():
        return in_range(keyword, text)
    raise BadValue(f"{text!r} is not a value of {keyword.name}: write {one_of([*keyword.choices, _range(keyword)])}")


def one_of(words: Sequence[str]) -> str:
    """`A, B or C`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _key(keyword: Keyword, text: str) -> str:
    if text in keyword.choices:
        return text
    try:
        return property_name(text)
    except BadValue as bad:
        raise BadValue(
            f"{text!r} is not a value of {keyword.name}: write {one_of([*keyword.choices, _A_PROPERTY])}"
        ) from bad


def property_name(text: str) -> str:
    """The name of a property in an MQRFH2: its folder, and the names of the elements in it. Raises BadValue."""
    if _PROPERTY.fullmatch(text):
        return text
    raise BadValue(f"{text!r} is not the name of a property: write {_A_PROPERTY}")


def in_range(keyword: Keyword, digits: str) -> int:
    """The number of these digits. Raises BadValue if it is out of the range of the keyword."""
    value = int(digits) if len(digits.lstrip("0")) <= len(str(MAX_NUMBER)) else MAX_NUMBER + 1
    if keyword.least <= value <= keyword.most:
        return value
    raise BadValue(f"{digits} is out of the range of {keyword.name}: write {_range(keyword)}", number=OUT_OF_RANGE)


def _range(keyword: Keyword) -> str:
    return f"a number from {keyword.least} to {keyword.most}"


def _name(keyword: Keyword, text: str) -> str:
    """A name of an MQ object, or one of the &-names that stand for a field of the message."""
    stripped = text.rstrip(" ")
    if stripped.startswith("&"):
        if stripped in keyword.choices:
            return stripped
        raise BadValue(f"{stripped!r} is unknown to {keyword.name}: write {one_of([*keyword.choices, 'a name'])}")
    if not stripped and not keyword.blank:
        raise BadValue(f"{keyword.name} is blank: write the name of a queue")
    if len(text) > keyword.length:
        raise BadValue(
            f"{len(text):,} characters, and {keyword.name} holds {keyword.length:,}: shorten it", number=TOO_LONG
        )
    bad = next((c for c in stripped if not (c.isascii() and c.isalnum()) and c not in _NAME_SPECIALS), None)
    if bad is None:
        return stripped
    if bad in "*?":
        raise BadValue(f"{keyword.name} takes no wildcards: write {one_of([*keyword.choices, 'a whole name'])}")
    raise BadValue(f"{bad!r} cannot stand in the name of a queue or queue manager: use A-Z, a-z, 0-9 and . / _ %")


_WAIT = re.compile(r"([0-9]{1,9})([SMHD])")
SECONDS = {"S": 1, "M": 60, "H": 3600, "D": 86_400}
"""Of the units of time."""
_MOST_WAIT = 366 * 86_400


def _waits(keyword: Keyword, text: str) -> str:
    """Times with commas between them, each checked."""
    for one in text.split(","):
        found = _WAIT.fullmatch(folded(one.strip(" ")))
        if found is None:
            raise BadValue(
                f"{one.strip(' ')!r} is not a time of {keyword.name}: write a number and s, m, h or d, with commas "
                f"between several and quotes around all, such as {keyword.examples[0]}"
            )
        if not 1 <= int(found[1]) * SECONDS[found[2]] <= _MOST_WAIT:
            raise BadValue(f"{one.strip(' ')} is out of the range of {keyword.name}: write 1s to 366d")
    return text


def seconds_of(waits: str) -> tuple[int, ...]:
    """The times of a BACKOFF in seconds, none where it is empty."""
    pairs = (_WAIT.fullmatch(folded(one.strip(" "))) for one in waits.split(",") if waits)
    return tuple(int(found[1]) * SECONDS[found[2]] for found in pairs if found)


_TYPED: dict[ValueKind, Callable[[Keyword, str], str | int]] = {
    ValueKind.WILD: _wild,
    ValueKind.NUMBER: _number,
    ValueKind.NAME: _name,
    ValueKind.COUNT: _count,
    ValueKind.CHOICE: _choice,
    ValueKind.CHOICE_OR_COUNT: _choice,
    ValueKind.RATE: _rate,
    ValueKind.KEY: _key,
    ValueKind.WAITS: _waits,
}
