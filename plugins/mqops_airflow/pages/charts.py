"""Charts as SVG, made on the server: a Vega-Lite specification goes in, an element of the page comes out.

The colours are the variables of the pages' style sheet (`var(--moved)`), so a chart follows light and dark as the page
does. The SVG has no style attribute and no script, which the Content-Security-Policy would refuse. A chart is not the
only way to a figure: each page has the same in words or in a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from textwrap import wrap
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from mqops.look.words.balance import Share
from mqops.look.words.fates import Fate

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
KEPT = 512
"""Charts that are kept: one takes 45 ms to draw."""
Spec: TypeAlias = Mapping[str, object]
"""A Vega-Lite specification, or a part of one: JSON."""
AXIS: Spec = {
    "labelColor": "var(--quiet)",
    "titleColor": "var(--quiet)",
    "domainColor": "var(--line)",
    "tickColor": "var(--line)",
    "gridColor": "var(--line)",
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelLimit": 0,
}
LEGEND: Spec = {
    "labelColor": "var(--text)",
    "titleColor": "var(--quiet)",
    "labelFontSize": 12,
    "orient": "top",
    "columnPadding": 32,
}
LOOK: Spec = {
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": AXIS,
    "legend": LEGEND,
    "bar": {"color": "var(--accent)"},
    "line": {"color": "var(--accent)"},
}
MANY = 10_000
"""An axis has about 5 numbers, and 3 of so many digits: more of them run into each other on a telephone."""
GAP = 12
"""Pixels between two numbers of an axis, as Vega measures them: a browser's letters can be wider."""
NARROW: Spec = {"width": 350, "autosize": {"type": "fit-x", "contains": "padding"}}
"""A chart on a telephone: the names of its bars stand above them (`_above`)."""
LINE = 40
"""Letters of a line of a bar's name: as many capital letters as a telephone has room for."""
LETTERS = 15
"""Pixels of such a line."""
LOOK_NARROW: Spec = {
    **LOOK,
    "axis": {**AXIS, "labelOverlap": True},
    "legend": {**LEGEND, "columns": 1},
}
TIMES: Spec = {
    "field": "at",
    "type": "temporal",
    "title": None,
    "axis": {"format": "%H:%M", "labelOverlap": "greedy"},
    "scale": {"type": "utc"},
}
"""The axis of a day, UTC."""
FATES: Mapping[str, str] = {fate.value: f"var(--{fate})" for fate in Fate}
"""What becomes of a message → its colour, on every page."""


class Bar(NamedTuple):
    """A bar of a chart. Parameters: `parts` that it is made of → their numbers."""

    name: str
    parts: Mapping[str, int]


def chart(spec: Spec, narrow: Spec = MappingProxyType({}), *, label: str) -> Markup:
    """A chart, drawn twice: the style sheet shows the narrow one on a narrow page, and makes it as narrow as the page.

    Parameters: `spec` a Vega-Lite specification without its data's origin: all values stand in it; `narrow` what the
    narrow one has otherwise; `label` what it shows, for people who do not see it.
    """
    figure = '<figure class="chart {}" role="img" aria-label="{}">{}</figure>'
    figures = [
        Markup(figure).format(name, label, Markup(_drawn(json.dumps(one, sort_keys=True, default=str))))  # noqa: S704 - Vega escapes what it draws
        for name, one in (("broad", _whole(spec, LOOK)), ("narrow", _whole({**spec, **NARROW, **narrow}, LOOK_NARROW)))
    ]
    return Markup("").join(figures)


def _whole(spec: Spec, look: Spec) -> Spec:
    return {"$schema": SCHEMA, "background": "transparent", "config": look, **spec}


def bars(numbers: Mapping[str, int], *, of: str, title: str, label: str) -> Markup:
    """One bar a name, in their order. Parameters: `of` what the names are; `title` of the axis of numbers."""
    values = [{of: _in_lines(name), "count": number} for name, number in numbers.items()]
    mark = {"type": "bar", "cornerRadiusEnd": 2}
    return _horizontal(values, mark, of=of, title=title, largest=max(numbers.values(), default=0), label=label)


def stacked(rows: Sequence[Bar], *, of: str, label: str, parts: Mapping[str, str] = FATES) -> Markup:
    """One bar a row, made of its parts, which stand in the order of the legend.

    Parameters: `of` what the names are; `parts` of the bars → colour.
    """
    values = [
        {of: _in_lines(row.name), "part": part, "rank": rank, "count": row.parts[part]}
        for row in rows
        for rank, part in enumerate(parts)
        if row.parts.get(part)
    ]
    largest = max((sum(row.parts.get(part, 0) for part in parts) for row in rows), default=0)
    scale = {"domain": list(parts), "range": list(parts.values())}
    order = {"field": "rank", "type": "quantitative"}
    more = {"color": {"field": "part", "type": "nominal", "title": None, "scale": scale}, "order": order}
    return _horizontal(values, {"type": "bar"}, more, of=of, title="messages", largest=largest, label=label)


def _horizontal(
    values: Sequence[Spec],
    mark: Spec,
    more: Spec = MappingProxyType({}),
    *,
    of: str,
    title: str,
    largest: int,
    label: str,
) -> Markup:
    """A chart of horizontal bars. Parameters: `more` encodings, for bars that have parts; `largest` number of a bar."""
    spec: Spec = {"data": {"values": values}}
    lines = max((str(value[of]).count("\n") + 1 for value in values), default=1)
    x = {"field": "count", "type": "quantitative", "title": title, "axis": whole(largest)}
    x |= {"aggregate": "sum"} if more else {}
    y = {"field": of, "type": "nominal", "title": None, "sort": None}
    beside = {"labelExpr": "split(datum.label, '\\n')", "labelLineHeight": LETTERS}
    step = lines * LETTERS + 24
    above = {**beside, "labelAlign": "left", "labelBaseline": "top", "labelPadding": 0, "labelOffset": 4 - step / 2}
    above |= {"ticks": False, "domain": False, "labelOverlap": False}
    wide: Spec = {"height": {"step": max(26, lines * LETTERS + 8)}, "mark": {**mark, "height": 18}}
    tall: Spec = {"height": {"step": step}, "mark": {**mark, "height": 12, "yOffset": step / 2 - 10}}
    rest = {"x": x, **more}
    return chart(
        {"width": 560, **spec, **wide, "encoding": {"y": {**y, "axis": beside}, **rest}},
        {**tall, "encoding": {"y": {**y, "axis": above}, **rest}},
        label=label,
    )


def line(points: Sequence[tuple[str, int]], *, title: str, label: str) -> Markup:
    """A line over time (UTC). Parameters: `points` ISO 8601 UTC and a number, oldest first; `title` of the numbers."""
    axis = {**whole(max(number for _at, number in points)), "titleLimit": 140}
    numbers = {"field": "count", "type": "quantitative", "title": title, "axis": axis}
    spec: Spec = {
        "width": 560,
        "height": 140,
        "data": {"values": [{"at": at, "count": number} for at, number in points]},
        "mark": {"type": "line", "interpolate": "step-after", "point": {"filled": True, "color": "var(--accent)"}},
        "encoding": {"x": TIMES, "y": numbers},
    }
    return chart(spec, label=label)


def lines(series: Mapping[str, Sequence[tuple[str, float]]], *, title: str, label: str) -> Markup:
    """Lines over time (UTC), each value of the time up to its point. Parameters: `series` name → ISO 8601 UTC and a
    number, oldest first; `title` of the numbers."""
    values = [{"at": at, "count": count, "of": name} for name, points in series.items() for at, count in points]
    largest = max((count for points in series.values() for _at, count in points), default=0)
    numbers = {"field": "count", "type": "quantitative", "title": title, "axis": any_number(largest)}
    names = {"domain": list(series), "range": ["var(--accent)", "var(--left)"]}
    of = {"field": "of", "type": "nominal", "title": None, "scale": names}
    dashes = {"field": "of", "type": "nominal", "scale": {"domain": list(series), "range": [[1, 0], [6, 3]]}}
    spec: Spec = {
        "width": 560,
        "height": 140,
        "data": {"values": values},
        "mark": {"type": "line", "interpolate": "step-before", "point": {"filled": True}},
        "encoding": {"x": TIMES, "y": numbers, "color": of, "strokeDash": dashes},
    }
    return chart(spec, label=label)


def any_number(largest: float) -> Spec:
    """The axis of numbers that need not be whole."""
    return {"format": ",.3~f", "tickCount": 5 if largest < MANY else 3, "titleLimit": 140}


def _in_lines(name: str) -> str:
    """A name of a bar, whole, in lines that there is room for."""
    return "\n".join(wrap(name, LINE)) or name


def chart_of(shares: Sequence[Share], words: Mapping[Fate, str], *, would: bool) -> Markup | None:
    """The chart of what became of the messages of each rule; None where it would have one bar.

    Parameters: `words` of the run; `would` whether nobody carries out the plan."""
    if len(shares) < 2:
        return None
    several = len({one.rule.queue for one in shares}) > 1
    rows = [Bar(f"{one.name} ({one.rule.queue})" if several else one.name, one.parts) for one in shares]
    what = "What the plan would do with" if would else "What became of"
    label = f"{what} the messages of each rule; the table below has the figures"
    return stacked(rows, of="rule", label=label, parts={word: FATES[fate] for fate, word in words.items()})


def whole(largest: int) -> Spec:
    """The axis of whole numbers: Vega marks halves of small ones and writes them as whole numbers, each twice."""
    ticks = {"values": list(range(largest + 1))} if largest <= 10 else {"tickCount": 5 if largest < MANY else 3}
    return {"tickMinStep": 1, "format": ",d", "labelOverlap": "greedy", "labelSeparation": GAP, **ticks}


def sparkline(values: Sequence[int | None], *, label: str, width: int = 80, height: int = 24) -> Markup:
    """A small line without axes, drawn without Vega: a page has hundreds. Fewer than two values make none."""
    known = [(place, value) for place, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return Markup("")
    top, last = max(value for _, value in known) or 1, max(len(values) - 1, 1)
    points = " ".join(
        f"{2 + place * (width - 4) / last:.1f},{height - 2 - value * (height - 4) / top:.1f}" for place, value in known
    )
    return Markup(
        '<svg class="sparkline" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">'
        '<polyline points="{}"/></svg>'
    ).format(label, width, height, width, height, points)


@lru_cache(maxsize=KEPT)
def _drawn(spec: str) -> str:
    import vl_convert  # noqa: PLC0415 - loads V8, which only pages with charts need

    return str(vl_convert.vegalite_to_svg(spec))
