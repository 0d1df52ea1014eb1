"""The page `expiry`: when the messages of the snapshots expire, with those marked that do before the morning."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from mqops.estate_sections import dag_prefix
from mqops.expiry.core.candidates import Known
from mqops.expiry.record import known
from mqops.lake.run import folder_of
from mqops.look.core.expires import NO_SCAN, Expires, expires
from mqops.look.expiry_forecast import MORNING, Forecast, forecast, next_time
from mqops.look.figures import Figures
from mqops_airflow.pages import charts
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


def router(page: Page) -> APIRouter:
    """The routes of the page: whole, and its live part."""
    routes, sees = APIRouter(), reader(page.right)

    def shown(template: str, request: Request, queue_manager: str, before: str, who: Reader) -> HTMLResponse:
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
        section = who.estate.estate.queue_managers[name].expiry_scan
        dag_id = f"{dag_prefix(name)}_expiry_scan" if section else ""
        return render_page(
            request,
            page,
            who,
            name,
            template=template,
            every=EVERY,
            found=found,
            seen_at=figures.seen_at,
            told=told,
            recorded=recorded,
            uncounted=uncounted,
            scans=scans,
            no_scan=NO_SCAN,
            depth_of=figures.depth_of,
            unknown=[one.unknown for one in told.values() if one.unknown],
            dag_id=dag_id,
            at_work=newest_at_work(who, dag_id) if dag_id else None,
            may_start=bool(dag_id) and who.may_start(dag_id),
            limit=f"{limit:%H:%M}",
            until=f"{limit:%Y-%m-%d %H:%M} UTC",
            total=sum(one.before or 0 for one in told.values()),
            at_most=any(one.at_most and one.before for one in told.values()),
            some=sum(one.some for one in told.values()),
            past=sum(one.past for one in found.queues),
            chart=_chart(found) if any(found.hours.values()) else "",
            chart_ends=f"{max(found.hours) + timedelta(hours=1):%Y-%m-%d %H:%M} UTC",
            beyond=found.beyond,
            next_beyond=found.next_beyond,
        )

    @routes.get(page.path)
    def whole(request: Request, queue_manager: str = "", before: str = AT_FIRST, who: Reader = sees) -> HTMLResponse:
        return shown("expiry", request, queue_manager, before, who)

    @routes.get(f"{page.path}/live")
    def live(request: Request, queue_manager: str = "", before: str = AT_FIRST, who: Reader = sees) -> HTMLResponse:
        return shown("expiry_live", request, queue_manager, before, who)

    return routes


def _told(found: Forecast, figures: Figures, scans: Mapping[str, Known]) -> dict[str, Expires]:
    """Queue → what is known of its messages, of those that a run has recorded and those that have messages now."""
    recorded = {one.queue: one for one in found.queues}
    last_put = {one.name: one.last_put for one in figures.queues}
    return {
        queue: expires(
            figures.depth_of(queue),
            recorded.get(queue),
            scans.get(queue),
            last_put.get(queue, ""),
            limit=found.limit,
        )
        for queue in {*recorded, *(one.name for one in figures.queues if one.depth)}
    }


@shared
def _forecast(place: Path, name: str, limit: datetime) -> Forecast:
    return forecast(place, name, now=datetime.now(UTC), limit=limit)


def _chart(found: Forecast) -> Any:
    """A bar an hour, in two colours: before the limit, and behind it."""
    early, late = f"before {found.limit:%H:%M}", f"from {found.limit:%H:%M} on"
    rows = [
        {"hour": f"{hour:%H:00}", "part": early if hour < found.limit else late, "n": number}
        for hour, number in found.hours.items()
    ]
    largest = max((number for number in found.hours.values()), default=0)
    return charts.chart(
        {
            "width": 640,
            "height": 220,
            "data": {"values": rows},
            "mark": {"type": "bar"},
            "encoding": {
                "x": {
                    "field": "hour",
                    "type": "nominal",
                    "sort": None,
                    "title": "expires in the hour from (UTC)",
                    "axis": {"titlePadding": 16},
                },
                "y": {"field": "n", "type": "quantitative", "title": "messages", "axis": charts.whole(largest)},
                "color": {
                    "field": "part",
                    "type": "nominal",
                    "title": None,
                    "legend": {"columnPadding": 28},
                    "scale": {"domain": [early, late], "range": ["var(--left)", "var(--moved)"]},
                },
            },
        },
        label=f"Messages that expire in each of the next hours; those {early} have a colour of their own.",
    )
