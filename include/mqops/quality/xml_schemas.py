"""XML Schemas of suites: read once, with patterns by RE2, whose time is linear in the text. Nothing is fetched: a
reference to another document is an error of the suite.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

from mqops.quality.regex import why_not_re2


@lru_cache(maxsize=64)
def xsd(text: str) -> Any:
    """An XML Schema. Raises ValueError: the text is none, imports another document, or has a pattern that RE2 does not
    take."""
    import xmlschema  # noqa: PLC0415 - seconds to load

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", xmlschema.XMLSchemaImportWarning)
            warnings.simplefilter("error", xmlschema.XMLSchemaIncludeWarning)
            schema = xmlschema.XMLSchema11(text, allow="none", defuse="always", base_url=None)
    except Exception as error:
        raise ValueError(f"is not an XML Schema that stands alone: {str(error).splitlines()[0]}") from error
    facets = (one for one in schema.iter_components() if isinstance(one, xmlschema.validators.XsdPatternFacets))
    for facet in facets:
        patterns: list[Any] = facet.patterns
        pairs = zip(patterns, facet.regexps, strict=True)
        patterns[:] = [Linear(found.pattern, said) for found, said in pairs]
    return schema


class Linear:
    """A pattern of an XML Schema by RE2, in the place of Python's. Parameters: `translated` as xmlschema has it for
    Python; `said` as the schema has it. Raises ValueError: RE2 does not take it."""

    def __init__(self, translated: str, said: str) -> None:
        within = translated.removeprefix("^").removesuffix(r"$(?!\n\Z)")
        self.pattern = rf"\A{_ESCAPED.sub(_of_unicode, within)}\z"
        if wrong := why_not_re2(self.pattern):
            raise ValueError(f"has the pattern {said}, which {wrong}")

    def match(self, text: str) -> bool | None:
        """True for a text that fits as a whole, else None."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        return pc.match_substring_regex(pa.scalar(text, pa.string()), self.pattern).as_py() or None


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
"""An escape in a pattern."""


_OF_XSD = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": r"[\t\n\r ]",
    "S": r"[^\t\n\r ]",
    "w": r"[\p{L}\p{M}\p{N}\p{S}]",
    "W": r"[\p{P}\p{Z}\p{C}]",
}
"""What XSD means by these escapes ("XML Schema Part 2", F.1.1); xmlschema leaves them outside of brackets only. RE2's
are those of ASCII."""


def _of_unicode(escape: re.Match[str]) -> str:
    return _OF_XSD.get(escape[1], escape[0])
