"""What a search sees in a message beyond its columns: text with odd bytes, and what an MQXQH says. Pure.

1. Text is searched as it is shown (`mqwire.readable`): with NULs, and a mark for each byte outside its CCSID. Rules
   are stricter: data that is not valid text in all its bytes matches no BODY (`mqops.observe.core.payload`).
2. Behind an MQXQH are the MsgId, CorrelId and GroupId that the application knows, in the embedded descriptor and in the
   MQMDE behind it, and the queue that the message goes to (IBM MQ, "MQXQH - Transmission-queue header").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypedDict

from mqops.counted import counted
from mqops.observe.core.payload import BINARY_FORMATS, Described, behind_dlh
from mqwire.errors import UnknownCcsid, UnknownEncoding, WireError
from mqwire.headers import Chain, walk_far
from mqwire.readable import readable
from mqwire.structures import MQMDE, MQXQH

TEXT_COLUMNS = ("text_kind", "text_offset", "text_decoded")
A_HEADER = "a header before the data is not valid"
NO_PROPERTY = "its MQRFH2 has no property that can be read"


class ChainRow(TypedDict):
    """The columns of a snapshot that these functions read. Those of the MQDLH are there where `dlh_error` is None."""

    body: bytes
    msg_type: int
    format: str
    encoding: int
    ccsid: int
    dlh_format: str
    dlh_encoding: int
    dlh_ccsid: int
    dlh_error: str | None


CHAIN_COLUMNS = tuple(ChainRow.__annotations__)


class Transmitted(NamedTuple):
    """The identifiers and the destination of a message, by its first MQXQH."""

    msg_id: bytes
    correl_id: bytes
    group_id: bytes
    destination: str


class Data(NamedTuple):
    """The text of the data of a message; None with the reason (`why`)."""

    text: str | None
    why: str = ""


def transmitted(message: ChainRow) -> Transmitted | None:
    """The identifiers and the destination in the MQXQH of a message; None for a message without an MQXQH."""
    chain, _error = _chain(message)
    header = chain.first("MQXQH")
    if header is None or not isinstance(header.value, MQXQH):
        return None
    md = header.value.msg_desc
    behind = [one.value for one in chain.headers if one.offset > header.offset]
    extension = next((one for one in behind if isinstance(one, MQMDE)), None)
    group_id = bytes(24) if extension is None else extension.group_id
    return Transmitted(md.msg_id, md.correl_id, group_id, header.value.remote_q_name)


def data_of(message: ChainRow) -> Data:
    """The text of the data of a message, as a search sees it."""
    chain, error = _chain(message)
    if error is not None:
        return Data(None, A_HEADER)
    if chain.format in BINARY_FORMATS:
        return Data(None, f"Format {chain.format} is not text")
    try:
        found = readable(message["body"][chain.payload_offset :], chain.ccsid, chain.encoding)
    except (UnknownCcsid, UnknownEncoding):
        return Data(None, f"text in CCSID {chain.ccsid} cannot be read here")
    return Data(found.text) if found else Data(None, f"it is not text in CCSID {chain.ccsid}")


def not_strict(message: ChainRow) -> str:
    """Why a message has no text for rules."""
    found = data_of(message)
    return found.why if found.text is None else "it has NULs, or bytes outside its CCSID, so BODY matches nothing"


def passed_over_lines(passed_over: Mapping[str, int]) -> Iterator[str]:
    """What a search passed over, a line a reason. Parameters: `passed_over` reason → messages."""
    for why, count in passed_over.items():
        yield f"passed over: {counted(count, 'message')}: {why}"


def _chain(message: ChainRow) -> tuple[Chain, WireError | None]:
    dead = None
    if message["dlh_error"] is None:
        dead = Described(message["dlh_format"], message["dlh_encoding"], message["dlh_ccsid"])
    own = Described(message["format"], message["encoding"], message["ccsid"])
    described, offset = behind_dlh(own, dead)
    return walk_far(*described, message["body"], offset=offset, msg_type=message["msg_type"])
