"""The markup of a page as tests compare it."""

from __future__ import annotations

import re
from typing import Any


def on_one_line(page: str) -> str:
    """The markup without its ends of lines: where a template begins a new line says nothing to a reader, and
    neither do the values by which a script sorts."""
    page = re.sub(r' data-(?:value="[^"]*"|nil)', "", page)
    return re.sub(r"\s*\n\s*", " ", re.sub(r">\s*\n\s*<", "><", page))


def compared(answer: Any) -> Any:
    """An answer of a page whose text is `on_one_line`; text that is not shown as lines keeps them."""
    if "<pre" not in answer.text:
        answer._text = on_one_line(answer.text)
    else:
        parts = re.split(r"(<pre.*?</pre>)", answer.text, flags=re.DOTALL)
        answer._text = "".join(part if part.startswith("<pre") else on_one_line(part) for part in parts)
    return answer
