"""The keywords of a rules table for people and scripts: as text, as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from mqops.as_json import JsonObject
from mqops.rules.keyword import Keyword


def listed(keywords: Iterable[Keyword]) -> str:
    """One line for each keyword: its name and what it means."""
    return "\n".join(f"{one.name:<10}{_plain(one.forms[0].meaning)}" for one in keywords)


def described(keyword: Keyword) -> str:
    """All there is to know about one keyword."""
    origin = "extension of mqops" if keyword.extension else "IBM's"
    lines = [f"{keyword.name} belongs to {keyword.entry.value} ({origin})."]
    for form in keyword.forms:
        lines += [f"  {keyword.name}({_plain(form.written)})", f"      {_plain(form.meaning)}"]
        lines += [f"      such as {keyword.name}({form.example})"] if form.example else []
    return "\n".join(lines)


def document(keyword: Keyword) -> JsonObject:
    """The same as a JSON object."""
    return {
        "keyword": keyword.name,
        "entry": keyword.entry.name.lower(),
        "extension": keyword.extension,
        "forms": [{"written": _plain(form.written), "meaning": _plain(form.meaning)} for form in keyword.forms],
        "examples": [*keyword.examples],
    }


def _plain(text: str) -> str:
    return text.replace("`", "")
