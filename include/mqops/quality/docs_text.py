"""Text of others in the Data Docs of Great Expectations, which escapes some of it only and takes notes for Markdown.

1. GX's pages are made with a word of letters and digits in place of each text: of a value, of a suite, of a condition.
   So GX has nothing to escape and nothing to take for a template, for HTML or for Markdown.
2. When a page is made and cleaned (`mqops.quality.offline_pages`), each word becomes its text, as HTML's text.
"""

from __future__ import annotations

import html
import json
import re
import secrets
from typing import Any

from mqops.printable import visible

LONGEST = 500
"""Characters of a text that a page shows."""
_SAFE = re.compile(r"(?:(?!//|www\.)[\w .,:;/+%=-])*", re.ASCII)
"""What GX's own words and names are made of: no markup, no template and no address is."""


class DocsText:
    """The texts of the pages of one site, by the words that stand for them."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)  # nobody can write it into a text before
        self._texts: list[str] = []
        self._word = re.compile(rf"mqops{self._mark}x(\d+)x")

    def hidden(self, document: str) -> str:
        """A JSON document of GX with a word in place of each text. Its keys are GX's own."""
        return json.dumps(self._hidden(json.loads(document)))

    def shown(self, page: str) -> str:
        """A page with the texts in place of their words."""
        return self._word.sub(lambda found: html.escape(self._texts[int(found[1])]), page)

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._hidden(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._hidden(one) for one in value]
        if not isinstance(value, str) or _SAFE.fullmatch(value):
            return value
        text = visible(value)
        self._texts.append(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
        return f"mqops{self._mark}x{len(self._texts) - 1}x"


def plain_name(name: str) -> str:
    """A name for a part of a page's path, and for its heading: of a run, of a queue manager."""
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII).lstrip(".") or "_"
