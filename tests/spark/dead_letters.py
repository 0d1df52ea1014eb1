"""Messages as they lie on a dead-letter queue: MQMD and body, made from MQ structures."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from mqwire import constants as c
from mqwire.structures import MQDLH, MQMD


def dead(number: int, **fields: Any) -> tuple[bytes, bytes]:
    """MQMD and body of a dead-lettered message; `fields` of MQMD or MQDLH (with `dlh_` in front), or `text`."""
    text = fields.pop("text", b"account 12345, EUR 99.50")
    header = {name.removeprefix("dlh_"): fields.pop(name) for name in list(fields) if name.startswith("dlh_")}
    described = {
        "format": c.MQFMT_DEAD_LETTER_HEADER,
        "coded_char_set_id": 1208,
        "msg_id": sha256(b"%d" % number).digest()[:24],
        "persistence": 1,
        "priority": 4,
        "put_appl_name": "banking/payments",
        "put_date": "20261121",
        "put_time": f"{101500 + number:06}00",
    }
    dlh = {
        "reason": c.MQRC_Q_FULL,
        "dest_q_name": "PAYMENTS.IN",
        "dest_q_mgr_name": "QM1",
        "encoding": c.MQENC_NATIVE,
        "coded_char_set_id": 1208,
        "format": c.MQFMT_STRING,
        "put_date": "20261121",
        "put_time": "10160000",
    }
    body = MQDLH(**{**dlh, **header}).pack(encoding=c.MQENC_NATIVE, ccsid=1208) + text
    return MQMD(**{**described, **fields}).pack(encoding=c.MQENC_NATIVE, ccsid=1208), body


def headless(number: int, **fields: Any) -> tuple[bytes, bytes]:
    """A message that does not begin with an MQDLH."""
    md, _ = dead(number, **{"format": c.MQFMT_STRING, **fields})
    return md, b"not dead, only lost"
