"""A message that is too long for its queue, put as segments where its putter allows that (MQMF_SEGMENTATION_ALLOWED).

1. Each segment is as long as the queue takes, in multiples of 16 bytes; the last one has the rest.
2. They share MsgId, GroupId and MsgSeqNumber and are told apart by Offset. A segment that is split itself stays what it
   was: the last of its message, or not.
3. Formats of the queue manager's own other than MQSTR begin with headers, and are not split. z/OS splits none.
"""

from __future__ import annotations

from mqlite.messages import descriptor as d
from mqlite.platform import Platform
from mqwire import constants as c

SMALLEST = 16  # bytes of a segment
SPLIT = frozenset({c.MQFMT_NONE, c.MQFMT_STRING})


def may_split(md: bytearray, platform: str) -> bool:
    """Whether the queue manager may make segments of a message."""
    flags, format_name = d.flags_of(md), d.format_of(md)
    own = format_name.startswith("MQ") and format_name not in SPLIT
    return platform != Platform.ZOS and bool(flags & c.MQMF_SEGMENTATION_ALLOWED) and not own


def split(md: bytearray, body: bytes, longest: int) -> list[tuple[bytearray, bytes]]:
    """Descriptors and data of the segments, none longer than `longest` bytes; none at all where that is too short."""
    length = longest - longest % SMALLEST
    starts = range(0, len(body), length) if length else ()
    return [_segment(md, body, start, length) for start in starts]


def _segment(md: bytearray, body: bytes, start: int, length: int) -> tuple[bytearray, bytes]:
    _, _, group_id, sequence, offset, flags, _ = d.version_2(md)
    part, made = body[start : start + length], bytearray(md)
    whole = not flags & c.MQMF_SEGMENT
    last = start + length >= len(body) and (whole or flags & c.MQMF_LAST_SEGMENT)
    flags = (flags & ~c.MQMF_LAST_SEGMENT) | c.MQMF_SEGMENT | (c.MQMF_LAST_SEGMENT if last else 0)
    d.set_version_2(made, group_id, sequence, offset + start, flags, len(part))
    return made, part
