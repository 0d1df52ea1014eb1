"""The text format of IBM's dmpmqmsg, which was qload: messages as lines. Pure: lines in, messages out, and back.

| line                | meaning                                                                                       |
|---------------------|-----------------------------------------------------------------------------------------------|
| `* DMPMQMSG ...`    | the first line that is not blank; `* QLOAD` in older files                                    |
| `* ...`, blank      | nothing, but for the lines of mqops below                                                     |
| `N`                 | a new message, all fields of its MQMD at their defaults                                       |
| `A XXX value`       | a field of the MQMD (`FIELDS`): a number, hex digits, or text, which is padded with blanks    |
| `X hex`             | bytes of the body; behind blanks dmpmqmsg may show them once more, as `<text>`                |
| `S "text"`          | bytes of the body; `~` stands before a quote and before another `~`                           |
| `T text`            | a line of the body, which ends with a line feed                                               |

1. A message begins with its first `A` line, or with `N`, and has one body line at least; `X` alone is an empty body.
2. A file that mqops wrote says so in its first line. Text that is not printable ASCII stands as `?` in its `A` line,
   and byte for byte in a line `* mqops XXX hex` behind it. Its last line is `* mqops END`, the number of messages, and
   the SHA-256 of all lines before it. A file that lost lines, or was changed, is refused.
3. What dmpmqmsg would cut or pass over is refused: a text longer than its field, hex digits that are too few, a number
   that does not fit into 32 bits, a field that is named twice. So is a message that is longer than any queue takes.

IBM MQ, "dmpmqmsg (queue load and unload)" and "Meaning of three letter codes in dmpmqmsg output file"; the lines as
the public source of qload (SupportPac MO03) reads and writes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.printable import printable
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

BOM_UTF8 = b"\xef\xbb\xbf"
_MARKS = (BOM_UTF8, b"\xff\xfe", b"\xfe\xff")
HEADER = "* DMPMQMSG"
OLD_HEADER = "* QLOAD"
BY_MQOPS = "by mqops"
NOTE = "* mqops "
HEX_IN_LINE = 64
"""Bytes in an X line."""
LONGEST_MESSAGE = 104_857_600
"""Bytes: the greatest MAXMSGL of a queue (IBM MQ, "Maximum message length")."""
LONGEST_LINE = 2 * LONGEST_MESSAGE + 1024
"""Bytes: such a message may stand in one X line."""
LEAST, MOST = -(2**31), 2**31 - 1


class Kind(Enum):
    """How a field stands behind its name."""

    NUMBER = "a number"
    HEX = "hex digits"
    TEXT = "text"


class TextField(NamedTuple):
    """A field of the MQMD: the key of `MQMD_LAYOUT`, how it stands in a file, its length in bytes, whether it is
    written; one that is not written stands there in files that show it otherwise."""

    key: str
    kind: Kind
    length: int = 4
    written: bool = True


FIELDS: dict[str, TextField] = {
    "VER": TextField("version", Kind.NUMBER),
    "RPT": TextField("report", Kind.NUMBER),
    "MST": TextField("msg_type", Kind.NUMBER),
    "EXP": TextField("expiry", Kind.NUMBER),
    "FDB": TextField("feedback", Kind.NUMBER),
    "ENC": TextField("encoding", Kind.NUMBER),
    "CCS": TextField("coded_char_set_id", Kind.NUMBER),
    "FMT": TextField("format", Kind.TEXT, 8),
    "PRI": TextField("priority", Kind.NUMBER),
    "PER": TextField("persistence", Kind.NUMBER),
    "MSI": TextField("msg_id", Kind.HEX, 24),
    "COI": TextField("correl_id", Kind.HEX, 24),
    "BOC": TextField("backout_count", Kind.NUMBER),
    "RTQ": TextField("reply_to_q", Kind.TEXT, 48),
    "RTM": TextField("reply_to_q_mgr", Kind.TEXT, 48),
    "USR": TextField("user_identifier", Kind.TEXT, 12),
    "ACC": TextField("accounting_token", Kind.HEX, 32),
    "AID": TextField("appl_identity_data", Kind.TEXT, 32, written=False),
    "AIX": TextField("appl_identity_data", Kind.HEX, 32),
    "PAT": TextField("put_appl_type", Kind.NUMBER),
    "PAN": TextField("put_appl_name", Kind.TEXT, 28),
    "PTD": TextField("put_date", Kind.TEXT, 8),
    "PTT": TextField("put_time", Kind.TEXT, 8),
    "AOD": TextField("appl_origin_data", Kind.TEXT, 4, written=False),
    "AOX": TextField("appl_origin_data", Kind.HEX, 4),
    "GRP": TextField("group_id", Kind.HEX, 24),
    "MSQ": TextField("msg_seq_number", Kind.NUMBER),
    "OFF": TextField("offset", Kind.NUMBER),
    "MSF": TextField("msg_flags", Kind.NUMBER),
    "ORL": TextField("original_length", Kind.NUMBER),
}
"""Code → field, in the order in which dmpmqmsg writes them."""

_WRITTEN = {code: field for code, field in FIELDS.items() if field.written}
_read = MQMD_LAYOUT.reader(*(field.key for field in _WRITTEN.values()))
_WRITERS = {field.key: MQMD_LAYOUT.writer(field.key) for field in FIELDS.values()}
_DEFAULT = MQMD_LAYOUT.pack({"version": c.MQMD_VERSION_2})
_NUMBER = re.compile(rb"-?\d{1,10}")
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2})*")
_DIGITS = re.compile(rb"[0-9A-Fa-f]*")
_STRING = re.compile(rb'"((?:[^~"]|~[~"])*)"')
_END = re.compile(rb"\* mqops END (\d{1,10}) ([0-9a-f]{64})")


class FileMessage(NamedTuple):
    """A message of a file: its MQMD of version 2 (364 bytes), all that follows, and the line that it begins at."""

    md: bytes
    body: bytes
    line: int = 0


def text_of(messages: Iterable[tuple[bytes, bytes]], about: Iterable[str]) -> Iterator[bytes]:
    """A file: chunks of whole lines.

    Parameters: `messages` MQMD of version 2 and all that follows; `about` comments on where they come from.
    """
    digest, number = hashlib.sha256(), 0

    def said(chunk: bytes) -> bytes:
        digest.update(chunk)
        return chunk

    head = [f"{HEADER} format, written {BY_MQOPS}", *(f"* {printable(line)}" for line in about), "", ""]
    yield said("\n".join(head).encode("ascii", "backslashreplace"))
    for md, body in messages:
        yield said(_message(md, body))
        number += 1
    yield f"{NOTE}END {number} {digest.hexdigest()}\n".encode()


def _message(md: bytes, body: bytes) -> bytes:
    lines = [line for code, value in zip(_WRITTEN, _read(md), strict=True) for line in _field_lines(code, value)]
    parts = [body[at : at + HEX_IN_LINE].hex().upper() for at in range(0, len(body), HEX_IN_LINE)] or [""]
    lines += [f"X {part}" for part in parts]
    return "\n".join([*lines, "", ""]).encode("ascii")


def _field_lines(code: str, value: int | bytes) -> Iterator[str]:
    if isinstance(value, int):
        yield f"A {code} {value}"
    elif FIELDS[code].kind is Kind.HEX:
        yield f"A {code} {value.hex().upper()}"
    else:
        shown = bytes(byte if 0x20 <= byte < 0x7F else ord("?") for byte in value)
        yield f"A {code} {shown.decode('ascii')}"
        if shown != value:
            yield f"{NOTE}{code} {value.hex().upper()}"


def messages_in(lines: Iterable[bytes], *, name: str) -> Iterator[FileMessage]:
    """The messages of a file. It is whole, and each message right, only when this has come to its end.

    Parameters: `lines` with their line ends, a longer one cut at `LONGEST_LINE`; `name` of the file, for errors.

    Raises:
        SettingsError: naming the file and the line.
    """
    yield from _Reader(name).read(lines)


class _Reader:
    """Reads a file line by line. `line` is the number of the current one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 0
        self._digest = hashlib.sha256()
        self._by_mqops = False
        self._ended = False
        self._messages = 0
        self._begin()

    def _begin(self) -> None:
        self._md = bytearray(_DEFAULT)
        self._body: bytearray | None = None
        self._set: set[str] = set()
        self._began = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[FileMessage]:
        source = iter(lines)
        self._head(source)
        for raw in source:
            self._line += 1
            line = self._content(raw)
            if not line:
                self._digest.update(raw)
                continue
            if line.startswith(b"*"):
                self._note(line, raw)
                continue
            self._digest.update(raw)
            if self._ended:
                raise self._wrong("there is something behind the line `* mqops END`")
            if line[:1] in {b"A", b"N"} and self._body is not None:
                yield self._message()
            self._take(line)
        if self._body is not None:
            yield self._message()
        if self._began:
            raise self._wrong("the file ends in the middle of a message: it has no body line")
        if self._by_mqops and not self._ended:
            raise self._wrong("the file was cut off: its last line, `* mqops END`, is missing")

    def _content(self, raw: bytes) -> bytes:
        if len(raw) >= LONGEST_LINE:
            raise self._wrong(f"the line has {counted(LONGEST_LINE, 'byte')} or more")
        if not raw.endswith(b"\n") and self._by_mqops:
            raise self._wrong("the file was cut off in this line")
        return raw.removesuffix(b"\n").removesuffix(b"\r")

    def _head(self, source: Iterator[bytes]) -> None:
        for raw in source:
            self._line += 1
            self._digest.update(raw)
            if raw.startswith(_MARKS):
                code = "a byte order mark" if raw.startswith(BOM_UTF8) else "a byte order mark of UTF-16"
                raise self._wrong(f"the file begins with {code}, unseen here: save it as UTF-8 without one")
            if line := raw.strip():
                upper = line.upper()
                if not upper.startswith((HEADER.encode(), OLD_HEADER.encode())):
                    raise self._wrong(f"this is not a file of dmpmqmsg: it begins with `{HEADER}` or `{OLD_HEADER}`")
                self._by_mqops = BY_MQOPS.encode() in line
                return
        self._line = max(1, self._line)
        raise self._wrong("the file is empty")

    def _note(self, line: bytes, raw: bytes) -> None:
        """A comment. Those of mqops count in its own files."""
        if not (self._by_mqops and line.startswith(NOTE.encode())):
            self._digest.update(raw)
            return
        if end := _END.fullmatch(line):
            self._end(int(end[1]), end[2].decode())
            return
        self._digest.update(raw)
        code, _, value = line[len(NOTE) :].partition(b" ")
        field = FIELDS.get(code.decode("ascii", "replace"))
        if field is None or field.kind is not Kind.TEXT or field.key not in self._set or self._body is not None:
            raise self._wrong("this line of mqops does not belong here")
        self._write(field.key, self._hex(value, field.length))

    def _end(self, messages: int, digest: str) -> None:
        there = self._messages + (self._body is not None)
        if self._ended or (messages, digest) != (there, self._digest.hexdigest()):
            raise self._wrong(
                f"the file was changed or damaged since mqops wrote it with {counted(messages, 'message')}; "
                f"it has {there}. To load an edited file, delete this line, and the words `{BY_MQOPS}` in the first"
            )
        self._ended = True

    def _take(self, line: bytes) -> None:
        if not self._began:
            self._began = self._line
        kind, rest = line[:1], line[1:]
        if line == b"N":
            if self._set or self._body is not None:
                raise self._wrong("`N` begins a message, and there are lines `A` before it without a body")
        elif kind == b"A":
            self._attribute(line)
        elif kind == b"X":
            self._add(self._hex_line(rest))
        elif kind == b"S":
            self._add(self._string(rest))
        elif kind == b"T" and rest[:1] in {b"", b" "}:
            self._add(rest[1:] + b"\n")
        else:
            raise self._wrong("a line begins with A, N, X, S, T or *")

    def _attribute(self, line: bytes) -> None:
        code = line[2:5].decode("ascii", "replace")
        field = FIELDS.get(code)
        if line[1:2] != b" " or field is None or line[5:6] not in {b"", b" "}:
            raise self._wrong("this is not a field of a message descriptor")
        if field.key in self._set:
            raise self._wrong(f"{code} stands there for the second time")
        self._set.add(field.key)
        value = line[6:]
        if value:
            self._write(field.key, self._value(code, field, value))

    def _value(self, code: str, field: TextField, value: bytes) -> int | bytes:
        if field.kind is Kind.HEX:
            return self._hex(value.rstrip(b" "), field.length)
        if field.kind is Kind.TEXT:
            if len(value) > field.length:
                raise self._wrong(f"{code} has {counted(len(value), 'byte')}, at most {field.length:,} fit")
            return value.ljust(field.length)
        number = value.strip(b" ")
        if not _NUMBER.fullmatch(number) or not LEAST <= int(number) <= MOST:
            raise self._wrong(f"{code} is not a number of 32 bits")
        if field.key == "version":
            if int(number) not in {c.MQMD_VERSION_1, c.MQMD_VERSION_2}:
                raise self._wrong("VER is 1 or 2")
            return c.MQMD_VERSION_2  # what version 1 lacks has its default, which means the same
        return int(number)

    def _hex(self, value: bytes, length: int) -> bytes:
        if not _HEX.fullmatch(value) or len(value) != 2 * length:
            raise self._wrong(f"{2 * length} hex digits are needed")
        return bytes.fromhex(value.decode())

    def _hex_line(self, rest: bytes) -> bytes:
        """The bytes of an X line; each of its parts is looked at once, however long it is."""
        text = rest.lstrip(b" ")
        found = _DIGITS.match(text)
        digits = found[0] if found else b""
        behind = text[len(digits) :].lstrip(b" ")
        shown = len(behind) > 1 and behind.startswith(b"<") and behind.endswith(b">")
        if len(digits) % 2 or (behind and not shown):
            raise self._wrong("these are not pairs of hex digits")
        return bytes.fromhex(digits.decode())

    def _string(self, rest: bytes) -> bytes:
        text = rest.strip(b" ")
        found = _STRING.fullmatch(text or b'""')
        if found is None:
            raise self._wrong('this is not a text in quotes, with `~` before `"` and before `~`')
        return re.sub(rb'~([~"])', rb"\1", found[1])

    def _write(self, key: str, value: int | bytes) -> None:
        _WRITERS[key](self._md, value)

    def _add(self, content: bytes) -> None:
        if self._body is None:
            self._body = bytearray()
        if len(self._body) + len(content) > LONGEST_MESSAGE:
            raise self._wrong(
                f"the message has more than {counted(LONGEST_MESSAGE, 'byte')}, the greatest MAXMSGL of a queue"
            )
        self._body += content

    def _message(self) -> FileMessage:
        assert self._body is not None
        found = FileMessage(bytes(self._md), bytes(self._body), self._began)
        self._messages += 1
        self._begin()
        return found

    def _wrong(self, what: str) -> SettingsError:
        return SettingsError(f"{self._name}:{self._line}: {what}. Nothing was loaded")
