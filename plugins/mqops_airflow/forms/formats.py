r"""What a text of a form may look like. Airflow's answer to another text has these words, and no regular expression.

1. JSON Schema answers a text that does not match `pattern` with the pattern. It answers one that is not of `format`
   with the format's name. So the formats have names that people understand.
2. jsonschema takes a format that it does not know for met. So the formats are registered wherever a form is looked at:
   by the forms themselves (a task reads its DAG file, and checks its form again), and by the plugin in the API server.
3. `$` alone also matches before a last line end in Python; `\Z` does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from jsonschema import FormatChecker  # type: ignore[import-untyped]

from mqops.errors import MqopsError

MQ_NAME = "name of a queue: 1 to 48 letters, digits and . _ / %"
QUEUE_PATTERN = "name of a queue (1 to 48 letters, digits and . _ / %), or the beginning of one and *"
MESSAGE_ID = "MsgId: 48 hexadecimal digits"
RUN_KEY = "run: up to 200 letters, digits and . _ + = : @ -, the first one no dot"
ONE_LINE = "text of one line"
INSIDE_FILE = "name of a file beside the estate, without .. and without a / in front"

FAILED = "check: the name of a suite, or SUITE:CHECK"
FILTER = "filter: patterns of a rules table such as REASON(MQRC_Q_FULL) AGE(>15m), but no BODY and no PROP"

PATTERNS = {
    MQ_NAME: r"[A-Za-z0-9._/%]{1,48}",
    QUEUE_PATTERN: r"[A-Za-z0-9._/%]{1,48}|[A-Za-z0-9._/%]{0,47}\*",
    MESSAGE_ID: r"[0-9A-Fa-f]{48}",
    RUN_KEY: r"[A-Za-z0-9_+=@-][A-Za-z0-9._+=:@-]{0,199}",
    ONE_LINE: r"[^\x00-\x1f\x7f-\x9f]*",
    FAILED: r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(:[A-Za-z0-9][A-Za-z0-9_.-]{0,99})?",
    INSIDE_FILE: r"(?!/)(?!.*\.\.)[^\x00-\x1f]+",
}


def _matches(pattern: str) -> Callable[[object], bool]:
    compiled = re.compile(pattern)
    return lambda value: not isinstance(value, str) or compiled.fullmatch(value) is not None


def _is_filter(value: object) -> bool:
    """Bodies and properties are payload: what is looked for in them would stand in Airflow's database."""
    from mqops.look.core.criteria import criteria  # noqa: PLC0415

    try:
        return not isinstance(value, str) or not criteria(value).asks_for_payload
    except MqopsError:
        return False


def register() -> None:
    """Make the formats known to jsonschema in this process."""
    for name, pattern in PATTERNS.items():
        FormatChecker.checkers[name] = (_matches(pattern), ())
    FormatChecker.checkers[FILTER] = (_is_filter, ())
