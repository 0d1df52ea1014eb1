"""From an MQ value back to its name: ``reason_name(2085)`` is ``"MQRC_UNKNOWN_OBJECT_NAME"``. Knows constants only."""

from __future__ import annotations

from functools import cache

from mqwire import constants
from mqwire import constants as c

# Several names share a value: the one a person expects in a log comes first, the name of a default last.
_PREFERRED = frozenset({"MQAT_UNIX", "MQAT_ZOS", "MQAT_QMGR", "MQFB_NONE", "MQRC_NONE", "MQPL_UNIX", "MQPL_ZOS"})
_DEFAULTS = ("_DEFAULT", "_CURRENT_LEVEL", "_NATIVE", "_MASK")


@cache
def table(prefix: str) -> dict[int, str]:
    """All integer constants that begin with ``prefix`` + ``_``, by value, without names of the ends of ranges.

    The answer is shared: do not change it.

    :param prefix: such as ``"MQRC"``, ``"MQIA"`` or, narrower, ``"MQCFT"``
    """
    named: dict[int, str] = {}
    for name, value in vars(constants).items():
        if name.startswith(prefix + "_") and isinstance(value, int) and not _ends_a_range(name):
            held = named.get(value)
            if held is None or _rank(name) < _rank(held):
                named[value] = name
    return named


def _rank(name: str) -> tuple[bool, bool]:
    return name.endswith(_DEFAULTS), name not in _PREFERRED


def _ends_a_range(name: str) -> bool:
    """``MQFB_SYSTEM_LAST`` does, ``MQCFC_LAST`` does not."""
    if name.endswith("_LAST"):
        return hasattr(constants, name.removesuffix("_LAST") + "_FIRST")
    return name.endswith(("_FIRST", "_LAST_USED"))


def lookup(prefix: str, value: int) -> str | None:
    """The constant of this value among those beginning with ``prefix`` + ``_``, or None.

    :param prefix: such as ``"MQPER"``
    :param value: the integer
    """
    return table(prefix).get(value)


def reason_name(reason: int) -> str:
    """The name of a reason code of the MQI or of the command server; an unknown one is given as its digits."""
    return lookup("MQRC", reason) or lookup("MQRCCF", reason) or str(reason)


def feedback_name(feedback: int) -> str:
    """What an MQMD.Feedback or MQDLH.Reason value says: the name of a feedback code, else of a reason code, else which
    IMS sense code it is, else digits.
    """
    named = lookup("MQFB", feedback) or lookup("MQRC", feedback) or lookup("MQRCCF", feedback)
    return named or ims_sense(feedback) or str(feedback)


def ims_sense(feedback: int) -> str:
    """The IMS-OTMA sense code that a feedback code stands for; "" if it stands for none.

    301 to 399 are the sense code + 300, 600 to 855 the reason code of sense code X'001A' + 600 (IBM MQ, "IMS bridge
    feedback codes").
    """
    if c.MQFB_IMS_FIRST <= feedback <= c.MQFB_IMS_LAST:
        return f"IMS sense code {_both(feedback - c.MQFB_IMS_ERROR)}"
    if c.MQFB_IMS_NACK_1A_REASON_FIRST <= feedback <= c.MQFB_IMS_NACK_1A_REASON_LAST:
        reason = _both(feedback - c.MQFB_IMS_NACK_1A_REASON_FIRST)
        return f"IMS sense code {_both(0x1A)}, reason code {reason}"
    return ""


def _both(code: int) -> str:
    """Decimal, as MQ counts, and hexadecimal, as IMS and the messages of the queue manager write it."""
    return f"{code} (X'{code:04X}')"


@cache
def values(*prefixes: str) -> dict[str, int]:
    """Name to value for all integer constants of these groups: what a rules table or MQSC text may spell out."""
    wanted = tuple(prefix + "_" for prefix in prefixes)
    return {
        name: value for name, value in vars(constants).items() if name.startswith(wanted) and isinstance(value, int)
    }
