"""Charts as a page has them: the order of the parts, and a drawing that a telephone has room for."""

from __future__ import annotations

import re

from mqops_airflow.pages.charts import FATES, NARROW, Bar, lines, stacked

PARTS = {"moved": 3, "discarded": 2, "left": 1, "gone": 4}
ROW = Bar("line 1 RETRY of a queue with a long name: SYSTEM.DEAD.LETTER.QUEUE", PARTS)


def drawings() -> tuple[str, str]:
    broad, narrow = re.findall(
        r'<figure class="chart (?:broad|narrow)".*?</figure>', stacked([ROW], of="rule", label="x")
    )
    return broad, narrow


def test_the_parts_of_a_bar_stand_in_the_order_of_the_legend():
    for drawing in drawings():
        bars = re.findall(r'part: (\w+);[^>]* d="M([0-9.]+),', drawing)
        assert [part for part, _x in sorted(bars, key=lambda bar: float(bar[1]))] == list(FATES)
        assert f"4 values: {', '.join(FATES)}" in drawing


def test_a_chart_is_drawn_once_more_for_a_narrow_page():
    broad, narrow = (float(re.search(r'<svg[^>]* width="([0-9.]+)"', one)[1]) for one in drawings())
    assert broad > 560 > narrow == NARROW["width"]


def test_lines_over_the_day_are_told_apart_by_more_than_their_colours():
    points = {
        "puts": [("2026-11-27T12:00:00Z", 0.2), ("2026-11-27T12:15:00Z", 3)],
        "gets": [("2026-11-27T12:15:00Z", 1)],
    }
    drawn = str(lines(points, title="a minute", label="x"))
    told = r'; of: (\w+)"[^>]*"line mark"[^>]* stroke="([^"]*)"[^>]* stroke-dasharray="([^"]*)"'
    assert set(re.findall(told, drawn)) == {("puts", "var(--accent)", "1,0"), ("gets", "var(--left)", "6,3")}
