"""Commands that mqops tells people to type. What stands in one is read by a shell: every word is quoted here."""

from __future__ import annotations

import shlex


def command(*words: object) -> str:
    """The command line of these words, to be pasted into a shell.

    A word in which a shell would read more than text is put in single quotes.
    """
    return shlex.join(map(str, words))
