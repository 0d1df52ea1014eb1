"""Nothing that a reader can ask of a page keeps Airflow's own API from answering: each route, and each field of it.

`make full` asks MQOPS_PAGES_AT_ONCE times at once, behind MQOPS_PAGES_MESSAGES messages and MQOPS_PAGES_RUNS runs.
Without these only the list is looked at: a field that comes to a page has to come here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from answers_watch import Slowest, Watch, watching
from fastapi.dependencies.utils import get_flat_dependant
from fastapi.routing import APIRoute
from mq_support import until
from pages_lake import check_quality, make_lake, plan_all
from pages_site import Site, served

from mqops.look.core.criteria import IDENTIFIERS
from mqops.look.runs import list_runs
from mqops_airflow.pages.asked import FIELDS, MORE, PAYLOAD
from mqops_airflow.roles import ROLES
from mqops_airflow.ui.table import PREFIX

AT_ONCE = int(os.environ.get("MQOPS_PAGES_AT_ONCE", "0"))
MESSAGES = int(os.environ.get("MQOPS_PAGES_MESSAGES", "20"))
RUNS = int(os.environ.get("MQOPS_PAGES_RUNS", "20"))
ANSWER_WITHIN = 1.0
"""Seconds."""
TRIES = 3
ANSWERS = {200, 303, 304, 307, 400, 403, 404, 422, 429, 503}
NOT_SHOWN = {"/data_docs/{dag_id}/{run_id}/{page:path}"}
"""The path of files that only Great Expectations makes."""
SEARCH = {"there", "queue", "run", "action", "after", "text", *FIELDS, *MORE}
"""The fields of the page `messages`, which reads its form itself."""
VALUES: dict[str, tuple[str, ...]] = {
    "queue_manager": ("QM1",),
    "there": ("now",),
    "run": ("{run}", "copy-{number:06}"),
    "dag_id": ("qm1_dlq_rules",),
    "run_id": ("manual__{number}",),
    "queue": ("NAME.{number}", "*{number}*"),
    "before": ("{hour:02}:15",),
    "check": ("{number}",),
    "workflow": ("dlq_rules",),
    "state": ("done",),
    "person": ("nobody {number}",),
    "day": ("2026-01-{hour:02}",),
    "behind": ("2026-01-01T00:00:{hour:02} run-{number}",),
    "old": ("{number}",),
    "after": ("{number}",),
    "msg_id": ("{number:02x}",),
    "position": ("{number}",),
    "name": ("pages.css",),
    "page": ("index.html",),
    "reason": ("MQRC_Q_FULL",),
    "dest_q": ("?{number}*",),
    "application": ("*{number}?",),
    "user": ("*{number}",),
    "format": ("*{number}",),
    "correl_id": ("{number:02x}",),
    "group_id": ("{number:02x}",),
    "since": ("2026-01-01T00:{hour:02}",),
    "until": ("2100-01-01T00:{hour:02}",),
    "property": ("usr.{number}",),
    "value": ("?{number}",),
    "text": ("nowhere {number}",),
    "hex": ("{number:04x}",),
    "action": ("RETRY", "DISCARD"),
    "where": (
        "AGE(<{number}s) SIZE(>1)",
        "AGE(>{number}s) SIZE(>1M)",
        "BODY('?{number}?')",
        "BODY(JSON '$.a' = '{number}')",
        "BODY(XPATH '/a' = '{number}')",
        "PROP('usr.country' = '?{number}')",
    ),
}
"""Field → texts that cost much, or are another one for each request."""


class Case(NamedTuple):
    """What is asked. Parameters: `path` and `fields` as texts with places for a number."""

    path: str
    fields: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.path} {self.fields}"


def routes() -> Iterator[tuple[str, set[str]]]:
    """The path of each route and its fields."""
    from mqops_airflow.pages.routes import application  # noqa: PLC0415

    for route in application().routes:
        if isinstance(route, APIRoute):
            flat = get_flat_dependant(route.dependant)
            names = {one.alias for one in (*flat.query_params, *flat.path_params)}
            yield route.path, names | (SEARCH if route.path == "/messages" else set())


def cases() -> list[Case]:
    found = []
    for path, fields in routes():
        found.append(Case(path, {}))
        with_run = {"run": "{run}", "queue_manager": "QM1"} if "run" in fields else {}
        with_run |= {"msg_id": "00"} if "msg_id" in fields and path.endswith("/one") else {}
        for name in sorted(fields):
            pair = {"property": "usr.country"} if name == "value" else {}
            found += [Case(path, with_run | pair | {name: text}) for text in VALUES[name]]
    return [*{one.name: one for one in found}.values()]


def test_each_field_of_each_route_is_in_the_load() -> None:
    asked = {name for _path, fields in routes() for name in fields}
    assert asked == VALUES.keys()
    assert {*PAYLOAD, *IDENTIFIERS} < asked
    assert {path for path, _fields in routes()} == {one.path for one in cases()}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    messages = min(MESSAGES, 10_000)
    made = make_lake(tmp_path_factory.mktemp("pages"), runs=RUNS, recorded=MESSAGES, messages=messages)
    plan_all(made, recorded=MESSAGES, messages=messages)
    check_quality(made, MESSAGES)
    list_runs(made.lake_folder.parent)  # the index, which grows run by run: nobody has so many and no index
    return made


if AT_ONCE:  # make full

    def test_no_page_keeps_airflow_from_answering(run: Any, airflow_database: Path) -> None:
        with (
            served(run.lake_folder.parents[1], airflow_database, whole=True) as site,
            watching(site.port, site.process.pid) as watch,
        ):
            until(lambda: site.ask("/messages").status_code == 200, 600)
            slow, shown = [], set()
            for case in cases():
                statuses, took = _asked(site, case, run.run, watch)
                assert statuses <= ANSWERS, case.name
                shown |= {case.path} if 200 in statuses else set()
                if took.took > ANSWER_WITHIN:
                    slow.append(f"{took} {case.name}")
            assert slow == []
            assert {case.path for case in cases()} - shown == NOT_SHOWN


def _asked(site: Site, case: Case, run: str, watch: Watch) -> tuple[set[int], Slowest]:
    """The states of the answers, and how long Airflow's own API took meanwhile. What others do on this machine may
    delay it, but not each time: it is asked again then."""
    for _try in range(TRIES):
        watch.begin()
        statuses = _at_once(site, case, run)
        took = watch.end()
        print(f"{took} {sorted(statuses)} {case.name}", flush=True)
        if took.took <= ANSWER_WITHIN:
            break
    return statuses, took


def _at_once(site: Site, case: Case, run: str) -> set[int]:
    """The states of the answers."""

    def one(number: int) -> int:
        given = {name: text.format(number=number, hour=number % 24, run=run) for name, text in case.fields.items()}
        path = case.path
        for name in [name for name in given if f"{{{name}" in path]:
            text = given.pop(name)
            path = path.replace(f"{{{name}:path}}", text).replace(f"{{{name}}}", text)
        for name in ("dag_id", "run_id", "page:path", "name"):
            path = path.replace(f"{{{name}}}", "x")
        headers = site.login((*ROLES, "admin")[number % (len(ROLES) + 1)])
        form: Any = {"data": given or {"queue": ""}} if case.path == "/messages" else {"params": given}
        method = "POST" if case.path == "/messages" else "GET"
        try:
            asked = site.client.request(method, PREFIX + path, headers=headers, follow_redirects=True, **form)
        except httpx.RemoteProtocolError:  # it was given up when its answer had begun
            return 503
        return int(asked.status_code)

    with ThreadPoolExecutor(AT_ONCE) as readers:
        return set(readers.map(one, range(AT_ONCE)))
