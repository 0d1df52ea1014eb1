"""Programmable command formats: commands, responses, events and statistics as values, and their bytes both ways.

``decode(raw, encoding=..., ccsid=...)`` gives a ``Message``; ``encode(message)`` its bytes. Knows no command's meaning.
"""

from mqwire.pcf.decode import decode, decode_from
from mqwire.pcf.encode import encode
from mqwire.pcf.structures import (
    MQCFBF,
    MQCFBS,
    MQCFGR,
    MQCFH,
    MQCFIF,
    MQCFIL,
    MQCFIL64,
    MQCFIN,
    MQCFIN64,
    MQCFSF,
    MQCFSL,
    MQCFST,
    Message,
    Parameter,
    TextParameter,
    with_texts,
)

__all__ = [
    "MQCFBF",
    "MQCFBS",
    "MQCFGR",
    "MQCFH",
    "MQCFIF",
    "MQCFIL",
    "MQCFIL64",
    "MQCFIN",
    "MQCFIN64",
    "MQCFSF",
    "MQCFSL",
    "MQCFST",
    "Message",
    "Parameter",
    "TextParameter",
    "decode",
    "decode_from",
    "encode",
    "with_texts",
]
