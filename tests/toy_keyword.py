"""The keyword that docs/adding_a_keyword.md adds, as its code block says."""

from __future__ import annotations

from pathlib import Path

from mqops.rules import keywords
from mqops.rules.keyword import Keyword

DOCUMENT = Path(__file__).parents[1] / "docs" / "adding_a_keyword.md"


def toy() -> Keyword:
    """What the code block of the document makes in the table's own module."""
    (block,) = (part.split("```")[0] for part in DOCUMENT.read_text().split("```python\n")[1:])
    made = eval(block, vars(keywords))
    assert isinstance(made, Keyword)
    return made
