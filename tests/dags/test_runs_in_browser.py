"""The page of all runs in a real browser: filters, a search by MsgId, the next page, and an address for a colleague.

MQOPS_RUNS says how many runs the lake has; `make full` asks for 100,000. Which rows a page must have is counted from
what the runs were made of, and not by the index.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browser_support import Browser, window
from pages_lake import make_lake, settle
from pages_site import Site, served
from selenium.webdriver.support.select import Select

from mqops.lake.run import RunFolder
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.file import markers_of
from mqops.look.runs import Runs
from mqops_airflow.pages.runs import MOST
from mqops_airflow.ui.table import PREFIX

RUNS = int(os.environ.get("MQOPS_RUNS", "600"))
MANAGERS = ("QM1", "QM2", "QM3")
ESTATE = "lake: {lake}\nqueue_managers:\n" + "".join(
    f"  {name}: {{{{connection: mq_{name.lower()}, dlq_rules: {{{{rules: t.rules}}}}}}}}\n" for name in MANAGERS
)
FIRST = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
DAY = "2026-03-02"
ROWS = """
return [...document.querySelectorAll("main table a")].map((one) => new URL(one.href))
  .filter((one) => one.pathname.endsWith("/run"))
  .map((one) => one.searchParams.get("queue_manager") + " " + one.searchParams.get("run"));
"""


@pytest.fixture(params=(1400, 390))
def width(request: pytest.FixtureRequest) -> int:
    """Of the window, in CSS pixels: a desk's, and a telephone's."""
    return int(request.param)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A run that the test has made. Parameters: `at` its time, seconds; `asked` by whom."""

    queue_manager: str
    run: str
    at: float
    queue: str
    workflow: str
    asked: str
    state: str

    @property
    def day(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).date().isoformat()

    def value_of(self, field: str) -> str:
        """What a field of the form has to say so that the run fits."""
        return str(getattr(self, "asked" if field == "person" else field))


def runs() -> list[Made]:
    """The runs, newest first: each value of a filter has many of them, on three days."""
    step = 3 * 86400 / RUNS
    found = [
        Made(
            queue_manager=MANAGERS[number % 3],
            run=f"r{number:06}",
            at=FIRST + int(number * step),
            queue=f"Q.{number % 4}",
            workflow=("dlq_rules", "backout_reprocess")[number % 2],
            asked=("alice", "bob@desk", "carol", "dave", "eve")[number % 5],
            state=("planned", "rejected")[number % 7 == 0],
        )
        for number in range(RUNS)
    ]
    return sorted(found, key=lambda one: (one.at, one.run), reverse=True)


def write(lake: Path, made: Made) -> None:
    """The files of a run without its messages, as one leaves them that ended behind its plan or was rejected. They are
    written as plain files: nothing of 100,000 runs need be brought to disk."""
    folder = RunFolder.at(lake, made.queue_manager, made.run).path
    folder.mkdir(mode=0o700, parents=True)
    asked = {"dag_id": "d", "run_id": made.run}
    files: dict[str, object] = {"handed_on": {**asked, "found": {"requested_by": made.asked}}}
    files["plan"] = {"queue": made.queue, "rows": 3, "workflow": made.workflow}
    if made.state == "rejected":
        answer = {"approved": False, "by": "frank", "by_id": "frank", "at": "2026-03-04T12:01:00Z"}
        files["approval"] = {"question": {**asked, "digest": "d", "text": "t"}, "task_instance": "i", "answer": answer}
    for name, said in files.items():
        (folder / f"{name}.json").write_text(json.dumps(said))
    os.utime(folder / "plan.json", (made.at, made.at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """Parameters: `runs` newest first; `genuine` keys of two newer runs on QM1, the first of which has dealt with the
    message `msg_id` (hex)."""

    site: Site
    runs: Sequence[Made]
    genuine: tuple[str, str]
    msg_id: str


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, airflow_database: Path) -> Iterator[Many]:
    base = tmp_path_factory.mktemp("many")
    planned = make_lake(base, runs=2, recorded=10, messages=10)
    lake = base / "lake"
    (acted,) = (path for path in planned.path.parent.iterdir() if path != planned.path)
    markers = markers_of(RunFolder(acted), MarkerKind.ACTED)
    msg_id = next(row.msg_id for marker in markers for row in marker.rows)
    (base / "estate.yaml").write_text(ESTATE.format(lake=lake))
    made = runs()
    for one in made:
        write(lake, one)
    for name in MANAGERS:
        settle(lake / name)
        began = time.process_time()
        Runs(lake, name).caught_up()
        print(f"the index of {name}: {time.process_time() - began:.1f} s of processor")
    with served(base, airflow_database) as site:
        yield Many(site=site, runs=made, genuine=(acted.name, planned.run), msg_id=msg_id)


@contextmanager
def opened(many: Many, driver: Any, pictures: Path, person: str, width: int) -> Iterator[Browser]:
    """A window in which a person is logged in."""
    home = SimpleNamespace(address=f"http://127.0.0.1:{many.site.port}")
    client = SimpleNamespace(home=home, token=many.site.logins[person])
    with window(driver, client, pictures) as found:
        found.look(width=width, dark=False)
        yield found


def show(browser: Browser, address: str = "/runs") -> None:
    """Open an address of the pages, which start with the first one."""
    browser.open(address if address.startswith(PREFIX) else PREFIX + address)
    ready(browser)


def ready(browser: Browser) -> None:
    browser.until(lambda: browser.find("//html").get_attribute("data-ready"))
    browser.until(lambda: browser.find("//h1").text.startswith("Runs"))


def press(browser: Browser, xpath: str) -> None:
    """Click what leads to another page, and wait for that page."""
    browser.driver.execute_script("window.leaves = true")
    browser.click(xpath)
    browser.until(lambda: browser.driver.execute_script("return !window.leaves"))
    ready(browser)


def rows(browser: Browser) -> list[str]:
    """Queue manager and key of each run that the page has, in the order of its rows."""
    found: list[str] = browser.driver.execute_script(ROWS)
    return found


def faults(browser: Browser, *, contrast: bool = True) -> list[str]:
    """As of `Browser.faults`, but that this server has no icon, for which a browser asks when it likes."""
    return [one for one in browser.faults(contrast=contrast) if "/favicon.ico" not in one]


def first(found: Iterable[Made]) -> list[str]:
    """The rows of the first page with these runs."""
    return [f"{one.queue_manager} {one.run}" for one in islice(found, MOST)]


def fill(browser: Browser, field: str, value: str) -> None:
    """Fill in a field of the form as a person does."""
    element = browser.find(f"//main//form//*[@name='{field}']")
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    if element.tag_name == "select":
        Select(element).select_by_value(value)
    elif element.get_attribute("type") == "date":
        element.send_keys(f"{value[5:7]}{value[8:]}{value[:4]}")  # the browser speaks English of the United States
    else:
        element.clear()
        element.send_keys(value)


def test_runs_are_filtered_and_an_address_shows_a_colleague_the_same_rows(
    many: Many, driver: Any, tmp_path: Path, width: int
) -> None:
    with opened(many, driver, tmp_path, "admin", width) as browser:
        show(browser)
        newest = rows(browser)
        assert len(newest) == MOST
        assert {newest[0], newest[1]} == {f"QM1 {run}" for run in many.genuine}
        assert newest[2:] == first(many.runs)[: MOST - 2]
        assert faults(browser) == []

        filters = {"queue": "Q.2", "workflow": "dlq_rules", "state": "rejected", "person": "bob@desk", "day": DAY}
        for name, value in filters.items():
            show(browser)
            fill(browser, name, value)
            press(browser, "//main//form//button[text()='Show']")
            assert parse_qs(urlsplit(browser.driver.current_url).query)[name] == [value]
            newer = newest[:2] if name == "workflow" else []
            wanted = first(one for one in many.runs if one.value_of(name) == value)
            assert rows(browser) == [*newer, *wanted][:MOST], name

        show(browser)
        Select(browser.find("//select[@id='chooser']")).select_by_value("QM2")
        browser.until(lambda: browser.find("//h1").text == "Runs on QM2")
        ready(browser)
        of_manager = [one for one in many.runs if one.queue_manager == "QM2"]
        assert rows(browser) == first(of_manager)
        fill(browser, "person", "bob@desk")
        fill(browser, "queue", "Q.1")
        press(browser, "//main//form//button[text()='Show']")
        both = [one for one in of_manager if (one.asked, one.queue) == ("bob@desk", "Q.1")]
        assert both
        assert rows(browser) == first(both)

        show(browser, "/runs?queue_manager=QM2")
        press(browser, "//a[text()='Older runs']")
        assert rows(browser) == first(of_manager[MOST:])
        address, seen = browser.driver.current_url, rows(browser)
        assert faults(browser, contrast=False) == []

        with opened(many, driver, tmp_path, "viewer", width) as colleague:
            colleague.driver.get(address)
            ready(colleague)
            assert rows(colleague) == seen


def test_a_run_is_found_by_the_beginning_of_a_msgid(many: Many, driver: Any, tmp_path: Path, width: int) -> None:
    with opened(many, driver, tmp_path, "admin", width) as browser:
        show(browser)
        fill(browser, "msg_id", many.msg_id)
        press(browser, "//main//form//button[text()='Show']")
        assert rows(browser) == [f"QM1 {many.genuine[0]}"]
        fill(browser, "msg_id", "0" * 40)
        press(browser, "//main//form//button[text()='Show']")
        assert "No run fits." in browser.text()
        assert faults(browser, contrast=False) == []
