"""What a browser shows while the process of the pages starts, which loads Airflow for some seconds: a white page would
say nothing. It looks like no page of ours, as the style sheet comes from that process, too."""

from __future__ import annotations

from fastapi.responses import HTMLResponse
from starlette.requests import Request
from starlette.responses import Response

from mqops_airflow.pages.headers import HEADERS

AGAIN = 1
"""Seconds until the browser asks again, by itself."""
SAID = "The MQ pages are starting, which takes some seconds after a start of Airflow. This page comes by itself."
_PAGE = f"""\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>mqops</title></head>
<body><p role="status">{SAID}</p></body>
</html>
"""


def waits(request: Request) -> bool:
    """Whether a request is a browser's for a page, which shows what it gets and asks again as it is told."""
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")


def starting() -> Response:
    """The answer in place of a page: accepted, and not there yet (HTTP 202), with the time to ask again."""
    return HTMLResponse(_PAGE, 202, headers={**HEADERS, "Refresh": f"{AGAIN}", "Retry-After": f"{AGAIN}"})
