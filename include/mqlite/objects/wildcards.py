"""Matching with wildcards in bounded time, part by part: characters, qualifiers of names, levels of topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def wild_match(
    pattern: Sequence[str], text: Sequence[str], *, any_number: str, fits: Callable[[str, str], bool]
) -> bool:
    """Whether a pattern matches a whole text, part by part.

    On a mismatch the last part that stands for any number takes one part of the text more; earlier ones need not be
    looked at again. So the steps are at most the length of the pattern times that of the text.

    Parameters: `pattern` and `text` parts, as characters, qualifiers or levels; `any_number` the part of a pattern that
    stands for any number of parts, none too; `fits` whether any other part of a pattern matches a part of the text.
    """
    at = here = 0
    last, resume = -1, 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == any_number:
            last, resume = at, here
            at += 1
        elif at < len(pattern) and fits(pattern[at], text[here]):
            at += 1
            here += 1
        elif last >= 0:
            resume += 1
            at, here = last + 1, resume
        else:
            return False
    return all(part == any_number for part in pattern[at:])
