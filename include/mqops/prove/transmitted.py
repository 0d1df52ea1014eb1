"""The message behind an MQXQH, as it stands on a transmission queue."""

from __future__ import annotations

from mqops.mq.session import RawMessage
from mqwire import constants as c
from mqwire.errors import WireError
from mqwire.structures import MQMD, MQMD_LAYOUT, MQMDE, MQXQH

_encoding = MQMD_LAYOUT.reader("encoding")
_CODED = {c.MQXQH_STRUC_ID.ljust(4).encode(code): ccsid for code, ccsid in (("latin-1", 819), ("cp500", 500))}
"""How an MQXQH begins → the CCSID of its text, which the descriptor before it may not say."""


def without_xqh(got: RawMessage) -> RawMessage | None:
    """The message that is to be sent: the descriptor that the MQXQH embeds, that of an MQMDE included, and the data.

    None where there is no MQXQH.
    """
    ccsid = _CODED.get(got.body[:4])
    if ccsid is None:
        return None
    try:
        inner = MQXQH.unpack(got.body, encoding=_encoding(got.md)[0], ccsid=ccsid).msg_desc
        values, start = inner.values() | {"version": c.MQMD_VERSION_2}, MQXQH.LAYOUT.size
        if inner.format == c.MQFMT_MD_EXTENSION:
            extension = MQMDE.unpack(got.body, offset=start, encoding=inner.encoding, ccsid=ccsid).values()
            values |= {name: extension[name] for name in values.keys() & extension.keys() - {"version"}}
            start += MQMDE.LAYOUT.size
        return RawMessage(MQMD(**values).pack(), got.body[start:])
    except WireError:
        return None
