"""Commands that mqops tells people to type. Every word is quoted for the shell."""

from __future__ import annotations

import shlex


def command(*words: object) -> str:
    """A command line that can be pasted into a shell.

    Parameters: `words` the command and its arguments. A word with characters that are special in a shell is put in
    single quotes.
    """
    return shlex.join(map(str, words))
