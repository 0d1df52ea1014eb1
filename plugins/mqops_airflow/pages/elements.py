"""Elements of HTML, joined. `Markup.format` takes its pattern apart each time, which costs ten times as much, and a
page has thousands of elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape


def element(name: str, inner: str, of: str = "") -> Markup:
    """An element. Parameters: `name` of the element, one of ours; `inner` its words, which are escaped where they are
    no markup; `of` what `attributes` made."""
    return Markup(f"<{name}{of}>{_safe(inner)}</{name}>")  # noqa: S704 - what is inside is escaped


def attributes(of: Mapping[str, object]) -> Markup:
    """The attributes of an element, each with a blank before it. Parameters: `of` name, one of ours → value; None
    leaves the attribute out, and a blank value gives an attribute without one."""
    made = ""
    for name, value in of.items():
        if value is not None and value is not False:
            made += f" {name}" if value == "" else f' {name}="{escape(value)}"'
    return Markup(made)  # noqa: S704 - the values are escaped


def in_a_row(parts: Iterable[str]) -> Markup:
    """Words and markup, one behind the other: what is no markup is escaped."""
    return Markup("".join(map(_safe, parts)))  # noqa: S704 - each part is escaped


def _safe(part: str) -> Markup:
    return part if type(part) is Markup else escape(part)
