"""The names of dynamic queues, which are made of a prefix and 16 digits: any number of them, and none lasts."""

from __future__ import annotations

import re

_DYNAMIC = re.compile("(.*?)[0-9A-F]{16}")


def folded_name(queue: str) -> str:
    """The prefix of a dynamic queue's name with an asterisk, as `AMQ.*`; any other name as it is.

    Source: IBM MQ, "DynamicQName (MQCHAR48)": an asterisk is replaced by a string of characters that is unique.
    """
    found = _DYNAMIC.fullmatch(queue)
    return f"{found[1]}*" if found else queue
