"""The page `expiry`: when recorded messages expire, with those marked that do before the morning."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from mqops.estate_sections import dag_prefix
from mqops.expiry.core.candidates import Known
from mqops.expiry.record import known
from mqops.lake.run import folder_of
from mqops.look.expiry_forecast import MORNING, Forecast, forecast, next_time
from mqops.look.figures import QueueFigures
from mqops_airflow.pages import charts
from mqops_airflow.pages.estate import figures_now
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.table import Page
from mqops_airflow.workplace import lake

QUARTER = 15
"""Minutes to which a time may be given."""


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(
        request: Request, queue_manager: str = "", before: str = f"{MORNING:%H:%M}", who: Reader = sees
    ) -> HTMLResponse:
        name = who.queue_manager(queue_manager)
        try:
            at = time.fromisoformat(before)
        except ValueError as error:
            raise HTTPException(422, "`before` is not a time of day: write one such as 08:00.") from error
        limit = next_time(datetime.now(UTC), at.replace(minute=at.minute // QUARTER * QUARTER, tzinfo=None))
        found = _forecast(lake(who.estate), name, limit)
        figures = figures_now(who.estate, [name])[name]
        recorded = {one.queue for one in found.queues}
        unrecorded = [one for one in figures.queues if one.depth and one.name not in recorded]
        scans = known(folder_of(lake(who.estate), name)) if unrecorded else {}
        holds = {one.name: scan for one in unrecorded if (scan := scans.get(one.name)) and _holds(scan, one)}
        unknown = [one for one in unrecorded if one.name not in holds or _expires(holds[one.name], limit)]
        section = who.estate.estate.queue_managers[name].expiry_scan
        dag_id = f"{dag_prefix(name)}_expiry_scan" if section else ""
        return render_page(
            request,
            page,
            who,
            name,
            found=found,
            seen_at=figures.seen_at,
            unrecorded=unrecorded,
            scans=scans,
            holds=holds,
            unknown=unknown,
            unknown_messages=sum(one.depth for one in unknown),
            dag_id=dag_id,
            may_start=bool(dag_id) and who.may_start(dag_id),
            limit=f"{limit:%H:%M}",
            until=f"{limit:%Y-%m-%d %H:%M} UTC",
            total=sum(one.before for one in found.queues),
            past=sum(one.past for one in found.queues),
            expires=any(one.past or one.before or one.later for one in found.queues),
            chart=_chart(found),
        )

    return routes


def _holds(scan: Known, queue: QueueFigures) -> bool:
    return scan.still_holds(depth=queue.depth, last_put=queue.last_put)


def _expires(scan: Known, limit: datetime) -> bool:
    """Whether a scan tells that a message expires before the limit, and so not how many do."""
    return bool(scan.next_expiry) and datetime.fromisoformat(scan.next_expiry) < limit


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
