"""What the key of a run may look like. Keys name folders, stand in commands, and come back in markers of the ledger."""

from __future__ import annotations

import re

_RUN_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=:@-]{0,199}")
GRAMMAR = "up to 200 letters, digits and . _ + = : @ -, the first one a letter, a digit or _"
"""The grammar in words, for errors."""


def is_run_key(text: str) -> bool:
    """Whether a text can be the key of a run.

    No such text has a meaning to a shell, leaves a folder, or looks like an option of a command.
    """
    return _RUN_KEY.fullmatch(text) is not None
