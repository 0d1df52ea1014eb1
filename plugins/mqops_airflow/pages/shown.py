"""How a value is shown on a page: numbers, sizes, times, and names that break. Each is a filter of the templates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from mqops.counted import length_of_time
from mqops.printable import visible
from mqops_airflow.pages.elements import attributes, element, in_a_row

SHORT = 24
"""Characters of a name that are shown where there is little room."""
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def number(value: int | None) -> str:
    """1234567 as 1,234,567; None is a dash."""
    return "–" if value is None else f"{value:,}"


def size(value: int | None) -> str:
    """A number of bytes as people read it."""
    if value is None:
        return "–"
    amount, unit = float(value), 0
    while amount >= 1024 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f} {UNITS[unit]}" if unit == 0 or amount >= 100 else f"{amount:.1f} {UNITS[unit]}"


def age(seconds: float | timedelta | None) -> str:
    """A length of time by its two largest units; None is a dash."""
    if seconds is None:
        return "–"
    return length_of_time(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)


def since(when: str | datetime | None) -> str:
    """How long ago a time was. Parameters: the time as ISO 8601 or a datetime."""
    found = _time(when)
    return "–" if found is None else age((datetime.now(UTC) - found).total_seconds())


def moment(when: str | datetime | None) -> Markup | str:
    """A time, UTC, to the second, in the HTML element for times, which browsers and screen readers know."""
    found = _time(when)
    if found is None:
        return "–"
    to_the_second = found.replace(microsecond=0, tzinfo=None).isoformat(" ")
    return element("time", f"{to_the_second} UTC", attributes({"datetime": found.isoformat()}))


def lines(texts: Iterable[str]) -> Markup:
    """Lines of a text of others, each with its tabs, and with nothing hidden in it."""
    return Markup("\n").join("\t".join(map(visible, one.split("\t"))) for one in texts)


def breaks(value: Any) -> Markup:
    """A name that a narrow column breaks behind a point, a hyphen or the like, and not within a word."""
    return Markup("–") if value is None else _broken(str(value))


def below(text: str, folder: Path) -> str:
    """A text that begins with the path of a file, with the path relative to a folder: where the folder lies is not for
    everybody. For a file elsewhere only its name is left."""
    if not text.startswith("/"):
        return text
    for place in (folder, folder.resolve()):
        if text.startswith(f"{place}/"):
            return text.removeprefix(f"{place}/")
    path, joint, rest = text.partition(" as its run ")
    return f"{path.rsplit('/', 1)[-1]}{joint}{rest}"


def shortened(name: str) -> str:
    """The beginning and the end of a long name, for a narrow place; the title of the element has the whole name."""
    return name if len(name) <= SHORT else f"{name[: SHORT - 9]}…{name[-6:]}"


def dated(text: str) -> Markup:
    """A text, in one line, with the times in it, ISO 8601, as `moment` shows them. What is no possible time stays, and
    so does markup of ours."""
    if isinstance(text, Markup):
        return text
    parts = _TIME.split("; ".join(text.split("\n")))  # every second one is a time
    shown = (moment(one) if place % 2 and _time(one) else visible(one) for place, one in enumerate(parts))
    return in_a_row(shown)


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))")


@lru_cache(maxsize=4096)
def _broken(text: str) -> Markup:
    return Markup("<wbr>").join(re.split(r"(?<=[._@,-])(?<!\d,(?=\d))", visible(text)))


def _time(when: str | datetime | None) -> datetime | None:
    if not when:
        return None
    try:
        found = datetime.fromisoformat(when) if isinstance(when, str) else when
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # no time, or one that is before the year 1 or behind 9999 in UTC
        return None


@lru_cache(maxsize=256)
def options(names: tuple[str, ...], chosen: str) -> Markup:
    """The options of a list to choose from, with one of them chosen. That of the queue managers stands on each page."""
    return in_a_row(
        element("option", visible(one), attributes({"value": visible(one), "selected": "" if one == chosen else None}))
        + "\n"
        for one in names
    )


def finish(value: Any) -> Any:
    """A value as a template shows it: a text in one line, with nothing hidden in it; None as a dash."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return "–"
    return visible(value) if isinstance(value, str) else value


FILTERS = (number, age, moment, breaks, below, lines)
"""What templates call."""
