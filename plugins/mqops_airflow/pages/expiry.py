"""The page `expiry`: when the messages of the snapshots expire, with those marked that do before the morning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from mqops.errors import SettingsError
from mqops.estate import EstateFile
from mqops.estate_sections import dag_prefix
from mqops.expiry.calendar_file import calendar_in
from mqops.expiry.core.calendar import EVERY_MORNING
from mqops.expiry.core.candidates import Kind, Known
from mqops.expiry.core.forecast import Outlook, sentences
from mqops.expiry.core.outcome import BUCKETS, LATER
from mqops.expiry.record import known
from mqops.expiry.recorded import recorded_outlook
from mqops.lake.run import folder_of
from mqops.look.core.expires import Expires, expires
from mqops.look.expiry_forecast import MORNING, Forecast, forecast, next_time
from mqops.look.figures import Figures
from mqops.look.words import expiry as words
from mqops.look.words.text import NOTHING, Link
from mqops_airflow.pages import charts
from mqops_airflow.pages.of_all import all_shown, expiry_of_all, means_all
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.which_run import newest_at_work
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page

EVERY = 5
"""Seconds until the page asks again what is known."""
QUARTER = 15
"""Minutes to which a time may be given."""
AT_FIRST = f"{MORNING:%H:%M}"
COLOURS = {
    Kind.DEAD_LETTER.value: "var(--bad)",
    Kind.BACKOUT.value: "var(--left)",
    Kind.STORAGE.value: "var(--discarded)",
    Kind.OTHER.value: "var(--gone)",
}
"""What a queue is for → the colour of its messages."""


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    @routes.get(f"{page.path}/live")
    def shown(request: Request, queue_manager: str = "", before: str = AT_FIRST, who: Reader = sees) -> HTMLResponse:
        if means_all(who, queue_manager, before if before != AT_FIRST else ""):
            return all_shown(request, page, who, expiry_of_all(who.estate, who.queue_managers))
        name = who.queue_manager(queue_manager)
        try:
            at = time.fromisoformat(before)
        except ValueError as error:
            raise HTTPException(422, "`before` is not a time of day: write one such as 08:00.") from error
        limit = next_time(datetime.now(UTC), at.replace(minute=at.minute // QUARTER * QUARTER, tzinfo=None))
        found = _forecast(lake(who.estate), name, limit)
        figures = figures_now(who.estate, [name])[name]
        recorded = {one.queue for one in found.queues}
        scans = known(folder_of(lake(who.estate), name))
        told = _told(found, figures, scans)
        uncounted = [one for one in figures.queues if one.depth and told[one.name].unrecorded]
        to_scan = [one.name for one in uncounted]
        section = who.estate.estate.queue_managers[name].expiry_scan
        dag_id = f"{dag_prefix(name)}_expiry_scan" if section else ""
        coming = _coming(who.estate, lake(who.estate), name)
        coming_chart = _by_kind(coming)
        short, until = f"{limit:%H:%M}", f"{limit:%Y-%m-%d %H:%M} UTC"
        chart_ends = f"{max(found.hours) + timedelta(hours=1):%Y-%m-%d %H:%M} UTC"
        return render_page(
            *(request, page, who, name),
            every=EVERY,
            found=found,
            coming=tuple(sentences(coming)),
            coming_chart=coming_chart,
            live_part=Link("", "expiry/live", {"queue_manager": name, "before": short}),
            dag_id=dag_id,
            not_scanned=words.not_scanned(figures.dead_letter_queue, section.queues if section else ()),
            at_work=newest_at_work(who, dag_id, "a scan for expired messages", "What it finds is"),
            may_start=bool(dag_id) and who.may_start(dag_id),
            limit=short,
            in_short=tuple(words.in_short(found, told, until)),
            chart=_chart(found) if any(found.hours.values()) else "",
            no_chart=words.no_chart(found, chart_ends, above=bool(coming_chart)),
            beyond=words.beyond(found, chart_ends),
            queues=words.queues(found, told, figures, limit=short, until=until),
            uncounted=words.uncounted(
                uncounted, told, recorded, scans, removed=found.removed, queue_manager=name, seen_at=figures.seen_at
            ),
            scan={"queues": to_scan, "all_filled": True},
            scan_id=f"scan-{'-'.join(to_scan)}",
            to_scan=words.named(to_scan) if to_scan else NOTHING,
        )

    return routes


def _told(found: Forecast, figures: Figures, scans: Mapping[str, Known]) -> dict[str, Expires]:
    """Queue → what is known of the expiry of its messages, for queues that are recorded or have messages now."""
    recorded = {one.queue: one for one in found.queues}
    last_put = {one.name: one.last_put for one in figures.queues}
    return {
        queue: expires(
            figures.depth_of(queue),
            recorded.get(queue),
            scans.get(queue),
            last_put.get(queue, ""),
            limit=found.limit,
            removed=queue in found.removed,
        )
        for queue in {*recorded, *(one.name for one in figures.queues if one.depth)}
    }


@shared
def _forecast(place: Path, name: str, limit: datetime) -> Forecast:
    return forecast(place, name, now=datetime.now(UTC), limit=limit)


@shared
def _coming(estate: EstateFile, place: Path, name: str) -> Outlook:
    """By the last look at each queue, until people are at work again. Where the calendar cannot be used, which
    `mqops estate check` tells, that is 08:00 UTC."""
    try:
        calendar = calendar_in(estate)
    except SettingsError:
        calendar = EVERY_MORNING
    return recorded_outlook(place, name, calendar=calendar, now=datetime.now(UTC))


def _by_kind(coming: Outlook) -> Markup:
    """A bar for each time until messages expire, with a part for each kind of queue; nothing where there is one bar."""
    rows = []
    for time_left in (*BUCKETS, LATER):
        parts: Counter[str] = Counter()
        for one in coming.queues:
            parts[one.kind.value] += one.within.get(time_left, 0)
        rows.append(charts.Bar(f"within {time_left}" if time_left in BUCKETS else time_left, parts))
    if sum(any(row.parts.values()) for row in rows) <= 1:
        return Markup()
    label = "Messages by the time until they expire, and by what their queue is for"
    return charts.stacked(rows, of="time", label=label, parts=COLOURS)


def _chart(found: Forecast) -> Markup:
    """A bar an hour, in two colours: before the limit, and behind it."""
    early, late = f"before {found.limit:%H:%M}", f"from {found.limit:%H:%M} on"
    values = [
        {"hour": f"{hour:%H:00}", "part": early if hour < found.limit else late, "n": number}
        for hour, number in found.hours.items()
    ]
    x = {"field": "hour", "type": "nominal", "sort": None, "title": "expires in the hour from (UTC)"}
    y = {"field": "n", "type": "quantitative", "title": "messages"}
    scale = {"domain": [early, late], "range": ["var(--left)", "var(--moved)"]}
    colour = {"field": "part", "type": "nominal", "title": None, "legend": {"columnPadding": 28}, "scale": scale}
    spec: charts.Spec = {
        "width": 640,
        "height": 220,
        "data": {"values": values},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {**x, "axis": {"titlePadding": 16}},
            "y": {**y, "axis": charts.whole(max(found.hours.values(), default=0))},
            "color": colour,
        },
    }
    label = f"Messages that expire in each of the next hours; those {early} have a colour of their own."
    return charts.chart(spec, label=label)
