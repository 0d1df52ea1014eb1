"""A table that is a value (`mqops.look.words.text.Table`) as HTML. One that many readers are shown within a second
(`mqops_airflow.pages.shared`) is drawn once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jinja2 import pass_context
from markupsafe import Markup

from mqops.look.words.shown_table import ShownCell, ShownColumn, ShownTable, shown_table
from mqops.look.words.text import Column, Table
from mqops.printable import visible
from mqops_airflow.pages.elements import attributes, element, in_a_row
from mqops_airflow.pages.shared import Same, shared
from mqops_airflow.pages.shown import breaks
from mqops_airflow.pages.told import Where, said, told


@pass_context
def rows(context: Where, of: Table | None) -> Markup:
    """A table; nothing where it has no row. What all of its rows have alike stands above it; tables.js adds the sort,
    and the filter where there are many rows. Where it is wider than its place, each row is a list of its cells with the
    headings of their columns (pages.css)."""
    if of is None or not of.rows:
        return Markup("")
    return _drawn(Same(of), context["root"], context["airflow"], context.get("lake", ""))


@shared
def _drawn(of: Same[Table], root: str, airflow: str, lake: str) -> Markup:
    shown, where = shown_table(of.value), {"root": root, "airflow": airflow, "lake": lake}
    what = visible(shown.caption)
    head = element("thead", element("tr", in_a_row(map(_heading, shown.columns))))
    many = attributes({"data-many": "" if shown.many else None})
    body = element("tbody", in_a_row(_rows(where, shown)), many)
    caption = element("caption", element("span", what))
    of_place = attributes({"class": "scrolls", "role": "region", "aria-label": what, "tabindex": "0"})
    table = element("table", in_a_row(["\n", caption, "\n", head, "\n", body, "\n"]))
    return in_a_row([said(where, shown.alike, "alike"), element("div", in_a_row(["\n", table, "\n"]), of_place)])


def _heading(shown: ShownColumn) -> Markup:
    kind = "number" if shown.column.kind == "number" else None
    of = attributes({"class": kind, "data-by": shown.by, "scope": "col"})
    return element("th", visible(shown.column.heading), of)


def _rows(where: Mapping[str, str], shown: ShownTable) -> Iterator[Markup]:
    columns = [one.column for one in shown.columns]
    for place, row in enumerate(shown.rows):
        cells = in_a_row([_cell(where, column, one) for column, one in zip(columns, row, strict=True)])
        yield element("tr", cells, attributes({"id": shown.ids[place] if shown.ids else None}))
        yield Markup("\n")


def _cell(where: Mapping[str, str], column: Column, shown: ShownCell) -> Markup:
    value = shown.value
    words = breaks(value) if column.kind == "name" and type(value) is str else told(where, value)
    by = shown.by if shown.by != str(value) else None
    scope = "row" if column.heads else None
    of = {"class": column.kind or None, "scope": scope, "data-value": by, "data-nil": "" if shown.nil else None}
    return element("th" if column.heads else "td", words, attributes(of)) + "\n"
