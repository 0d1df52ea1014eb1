"""Script and style sheet of the pages, in Chromium: what a person has opened stays open when a live part is replaced;
on a telephone nothing is cut."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from browser_support import Browser, window
from mq_support import DLQ, Manager, create, dead_letter
from pages_lake import check_quality, settle
from pymqi import CMQC
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import mqops_airflow.pages
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.rules import parse
from mqops_airflow.pages import answers
from mqops_airflow.pages.charts import FATES, Bar, bars, stacked
from mqops_demo.estate import MQSC, REPAIRS, ROOT
from mqops_demo.incident import TRAFFIC, WITHOUT_HEADER, Traffic, origin

STATIC = Path(mqops_airflow.pages.__file__).parent / "static"
LIVE = """\
<details id="rows" data-keeps="open"><summary id="fold">some rows</summary><p>row {0}</p></details>
<details id="names" data-keeps><summary>some names</summary><p>name {0}</p></details>
"""
FORM = """\
<form id="undo" data-keeps data-starts="the_dag"><label><input type="checkbox" name="dry_run" checked>Dry run</label>
<button><span class="when-dry">Rehearse</span><span class="when-real">Do it</span></button>
<p class="answer"></p></form>
"""
"""Until its run has begun."""
LIVE_PAGE = """\
<!doctype html><html lang="en"><head><title>a page</title><link rel="stylesheet" href="/pages.css">
<script src="/tables.js"></script><script src="/pages.js"></script></head>
<body data-root="" data-airflow=""><div data-live="/live" data-every="1">{}</div><p id="said"></p></body></html>
"""
STILL_PAGE = LIVE_PAGE.replace('data-live="/live"', "")
"""Its elements stay: none of them is replaced between two looks of a test."""
TYPES = {".js": "text/javascript", ".css": "text/css"}
TICKS = """\
<form data-starts="ticks" data-fixed="{&quot;queue&quot;: &quot;Q&quot;}"><input type="checkbox" data-ticks id="all">
<input type="checkbox" name="ids" value="1" data-listed><input type="checkbox" name="ids" value="2" data-listed>
<button type="submit">Move</button><p class="answer"></p></form>
"""
CHOOSES = """\
<form data-starts="ticks" data-fixed="{&quot;queue_manager&quot;: &quot;QM1&quot;}">
<input type="checkbox" name="message_ids" value="1" data-listed data-queue="A">
<input type="checkbox" name="message_ids" value="2" data-listed data-queue="B">
<select data-every id="which"><option value="">ticked</option>
<option value="{&quot;queue&quot;: &quot;A&quot;, &quot;all_messages&quot;: true}">all</option></select>
<select name="action" id="action"><option>replay</option><option>park</option><option>move</option></select>
<fieldset data-for="move park" hidden disabled>
<input name="destination" id="to" list="names" data-names="/names?qm=QM1">
<datalist id="names"></datalist></fieldset>
<button type="submit">Dry run</button><p class="answer"></p></form>
"""
ANSWERS = """\
<form data-answers='{"dag_id": "d", "run_id": "r", "task_id": "t"}'><textarea name="comment" id="comment"></textarea>
<button type="submit" value="Approve" id="yes" data-twice="Yes, discard 300 messages">Approve</button>
<button type="submit" value="Reject">Reject</button><p class="answer"></p></form>
"""
DRY_RUNS = """\
<form data-starts="ticks" data-result="result" data-fixed="{}">
<input type="checkbox" name="message_ids" value="1" data-listed id="one">
<input type="checkbox" name="message_ids" value="2" data-listed id="two">
<button type="submit" id="dry">Dry run</button><p class="answer"></p></form>
<section id="result" data-keeps hidden></section>
"""
RESULT = """\
<span data-over></span><h2>Plan {0}</h2><form data-starts="ticks" data-fixed='{{"real": {0}}}' id="real" data-keeps>
<button type="submit" id="go">Start the real run</button><p class="answer"></p></form>
"""
NOTE = "This run plans nothing. <b>Why</b>: [Data Docs](http://x/)\nmore"
DELETED = '{"detail": "The DagRun was not found"}'
SPLIT = """
return [...document.querySelectorAll(".folded td.number")]
  .filter((cell) => cell.checkVisibility() && cell.getBoundingClientRect().height > 30)
  .map((cell) => `${cell.dataset.label}: ${cell.textContent}`);
"""
"""The numbers of cards that do not stand in one line with their headings."""
CLEARS = """\
<form data-clears='{"dag_id": "d/1", "run_id": "r", "task_ids": ["act"]}'>
<button type="submit">Go on</button><p class="answer"></p></form>
"""


def wide() -> str:
    """A page that is as wide as 1,400 pixels. Its chart is drawn only where a test asks for it."""
    return f"""\
<main><h1>a page</h1>
<div class="scrolls" role="region" aria-label="a table" tabindex="0"><table><caption><span>a table</span></caption>
<thead><tr>{"".join(f'<th scope="col" class="number">Heading {n}</th>' for n in range(12))}</tr></thead>
<tbody><tr>{"".join(f'<td class="number">{1000 + n}</td>' for n in range(12))}</tr></tbody></table></div>
{bars({"A" * 48: 350, "B" * 48: 300}, of="a", title="messages", label="a chart")}
</main>
"""


@pytest.fixture
def served() -> dict[str, str]:
    """Path → a page that the server has besides."""
    return {}


@pytest.fixture
def answers_come() -> Iterator[Event]:
    """While it is not set, the server begins runs and does not answer."""
    made = Event()
    made.set()
    yield made
    made.set()


@pytest.fixture
def browser(driver: Any, tmp_path: Path, served: dict[str, str], answers_come: Event) -> Iterator[Browser]:
    """A browser at a server whose live part says something new each time; `/wide` has a wide table and a chart,
    `/ticks` a form, `/sent` what was sent last, which the first of `/statuses` answered; `/missing` is not there. A run
    that is started is told by its form."""
    numbers, started = count(2), list[str]()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = STATIC / self.path[1:].partition("?")[0]
            found = file.suffix in TYPES and file.exists()
            self.send_response(404 if self.path == "/missing" or served.get(self.path) == DELETED else 200)
            self.send_header("Content-Type", TYPES.get(file.suffix, "text/html; charset=utf-8"))
            self.end_headers()
            self.wfile.write(file.read_bytes() if found else self.page().encode())

        def do_POST(self) -> None:
            started.append(self.path)
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            form = body.get("conf", body)
            served["/sent"] = f"{self.path} {json.dumps(body, sort_keys=True)}"
            status, _, served["/statuses"] = served.get("/statuses", "").partition(" ")
            answers_come.wait()
            self.send_response(int(status or 200))
            self.end_headers()
            self.wfile.write(json.dumps({"dag_run_id": json.dumps(form, sort_keys=True)}).encode())

        def do_PATCH(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            served["/patched"] = served.get("/patched", "") + body + "\n"
            status, _, served["/statuses"] = served.get("/statuses", "").partition(" ")
            self.send_response(int(status or 200))
            self.end_headers()
            self.wfile.write(b"{}")

        def page(self) -> str:
            if self.path in served:
                return served[self.path]
            if self.path.startswith("/api/v2/"):
                note = NOTE if self.path.startswith("/api/v2/dags/ticks") else None
                return json.dumps({"is_paused": False, "state": "failed" if note else "success", "note": note})
            if self.path == "/ticks":
                return STILL_PAGE.format(TICKS)
            if self.path == "/wide":
                return STILL_PAGE.format(wide())
            form = "" if started else FORM
            if self.path == "/live":
                return form + LIVE.format(next(numbers))
            return LIVE_PAGE.format(form + LIVE.format(1))

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    Thread(target=server.serve_forever, daemon=True).start()
    home = SimpleNamespace(address=f"http://127.0.0.1:{server.server_port}")
    try:
        with window(driver, SimpleNamespace(home=home, token="t"), tmp_path) as found:
            yield found
    finally:
        server.shutdown()
        server.server_close()


def test_a_run_that_airflows_database_refuses_is_asked_for_again_by_its_name(browser, served) -> None:
    """409: it was begun although the answer was 500."""
    browser.open("/ticks")
    browser.click("//input[@id='all']")
    for statuses in ("500 500", "500 409"):
        served["/statuses"] = statuses
        browser.click("//form[@data-starts='ticks']//button")
        browser.until(lambda: served["/statuses"] == "")
        name = json.loads(served["/sent"].partition(" ")[2])["dag_run_id"]
        assert re.fullmatch(r"manual__\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", name)
        browser.until(lambda: ", ended. " in browser.find("//p[@class='answer']").text)
    browser.until(lambda: f"{name}, ended. " in browser.find("//p[@class='answer']").text)
    served["/statuses"] = "409"
    browser.click("//form[@data-starts='ticks']//button")
    browser.until(lambda: "Airflow answers 409." in browser.find("//p[contains(@class, 'answer')]").text)


def row(text: str) -> int:
    """The number that the server has given with the rows, 0 where none is to be seen."""
    found = re.search(r"row (\d+)", text)
    return int(found[1]) if found else 0


def test_what_was_opened_stays_open_and_shows_what_is_new(browser: Browser) -> None:
    browser.open("/")
    browser.click("//summary[@id='fold']")
    browser.click("//summary[text()='some names']")
    browser.until(lambda: row(browser.text()) >= 3)
    assert "name 1" in browser.text()  # as the person left it
    browser.click("//summary[@id='fold']")
    seen = row(browser.find("//details[@id='rows']/p").get_attribute("textContent"))
    browser.until(lambda: row(browser.find("//details[@id='rows']/p").get_attribute("textContent")) > seen + 1)
    assert "row" not in browser.text().replace("some rows", "")
    browser.until(lambda: browser.driver.switch_to.active_element.get_attribute("id") == "fold")


def test_what_became_of_a_form_is_told_though_the_page_has_the_form_no_more(
    browser: Browser, served: dict[str, str]
) -> None:
    browser.open("/")
    browser.click("//button")
    browser.until(lambda: 'Rehearse. Started: {"dry_run": true}, success' in browser.text())
    assert not browser.driver.find_elements("id", "undo")
    link = browser.find("//p[contains(@class, 'answer')]/a").get_attribute("href")
    assert "/run?dag_id=the_dag&run_id=%7B" in link
    served["/live"] = FORM.replace('id="undo"', 'id="resume"').replace("Rehearse", "Resume") + LIVE.format(9)
    browser.click("//form[@id='resume']//button")
    browser.until(lambda: "success" in browser.find("//form[@id='resume']").text)
    assert "Rehearse. Started" in browser.text()
    served["/live"] = LIVE.format(10)
    browser.until(lambda: "Resume. Started" in browser.text())
    assert "Rehearse. Started" not in browser.text()  # what was told before may be so no more
    browser.driver.execute_script("document.body.style.height = '5000px'; window.scrollTo(0, 3000)")
    place = "return document.querySelector('.answer').getBoundingClientRect().top"
    browser.until(lambda: browser.driver.execute_script(place) == 0)


def test_what_becomes_of_a_form_is_told_though_the_page_has_the_form_no_more_before_its_run_has_a_name(
    browser: Browser, answers_come: Event
) -> None:
    """The server has begun the run, and its answer is on its way."""
    answers_come.clear()
    browser.open("/")
    browser.click("//button")
    browser.until(lambda: not browser.driver.find_elements("id", "undo"))
    answers_come.set()
    browser.until(lambda: 'Rehearse. Started: {"dry_run": true}, success' in browser.text())
    assert "This form can be sent again" not in browser.text()


def test_how_a_run_ended_is_told_by_its_note(browser: Browser) -> None:
    browser.open("/ticks")
    browser.click("//input[@value='1']")
    browser.click("//button")
    said = ", ended. This run plans nothing. <b>Why</b>: Data Docs"
    browser.until(lambda: browser.find("//p[contains(@class, 'answer')]").text.endswith(said))


def test_a_form_tells_what_its_run_does_and_that_its_plan_waits(browser: Browser, served: dict[str, str]) -> None:
    """Each change once: what has not changed is not written again."""
    answer, button = "//p[contains(@class, 'answer')]", "//button"
    key = '{"ids": ["1"], "queue": "Q"}'
    run = f"/api/v2/dags/ticks/dagRuns/{quote(key)}"
    waiting = f"{run}/taskInstances?state=awaiting_input"
    served |= {run: json.dumps({"state": "queued"}), waiting: json.dumps({"total_entries": 0})}
    browser.open("/ticks")
    browser.click("//input[@value='1']")
    browser.click(button)
    browser.until(lambda: browser.find(answer).text == f"Started: {key}, queued")
    assert "This form can be sent again when the run has ended." in browser.text()
    assert not browser.find(button).is_enabled()
    watch = "window.changes = 0; new MutationObserver(() => window.changes++).observe(arguments[0], arguments[1])"
    browser.driver.execute_script(watch, browser.find(f"{answer}/span"), {"childList": True})
    served[waiting] = json.dumps({"total_entries": 1})
    browser.until(lambda: browser.find(answer).text.endswith(". Its plan waits for an answer: look at the plan."))
    link = browser.find(f"{answer}//a[text()='look at the plan']").get_attribute("href")
    assert "/plan?dag_id=ticks&run_id=%7B" in link
    served |= {waiting: json.dumps({"total_entries": 0}), run: json.dumps({"state": "running"})}
    browser.until(lambda: browser.find(answer).text == f"Started: {key}, at work")
    served[run] = json.dumps({"state": "success", "note": "Done."})
    browser.until(lambda: browser.find(answer).text == f"Started: {key}, ended. Done.")
    assert "This form can be sent again" not in browser.text()
    assert browser.find(button).is_enabled()
    assert browser.driver.execute_script("return window.changes") == 3


def test_a_run_that_was_deleted_is_asked_for_no_more(browser: Browser, served: dict[str, str]) -> None:
    answer, key = "//p[contains(@class, 'answer')]", '{"ids": ["1"], "queue": "Q"}'
    run = f"/api/v2/dags/ticks/dagRuns/{quote(key)}"
    waiting = f"{run}/taskInstances?state=awaiting_input"
    served |= {run: json.dumps({"state": "running"}), waiting: json.dumps({"total_entries": 0})}
    browser.open("/ticks")
    browser.click("//input[@value='1']")
    browser.click("//button")
    browser.until(lambda: browser.find(answer).text == f"Started: {key}, at work")
    served[run] = DELETED
    browser.until(lambda: browser.find(answer).text == f"Started: {key}, deleted")
    assert browser.find("//button").is_enabled()


@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_new_look_comes_back_to_its_list_however_its_run_has_ended(
    browser: Browser, served: dict[str, str], state: str
) -> None:
    form = TICKS.replace("<form", '<form data-then="/list?queue=Q"')
    key = '{"ids": ["1"], "queue": "Q"}'
    address = f"/list?queue=Q&{urlencode({'dag_id': 'ticks', 'run_id': key, 'state': state})}"
    served |= {"/looks": STILL_PAGE.format(form), address: STILL_PAGE.format("what it found")}
    served[f"/api/v2/dags/ticks/dagRuns/{quote(key)}"] = json.dumps({"state": state})
    browser.open("/looks")
    browser.click("//input[@value='1']")
    browser.click("//button")
    browser.until(lambda: "what it found" in browser.text())


def test_a_list_that_was_chosen_from_stays_until_the_newer_one_is_asked_for(
    browser: Browser, served: dict[str, str]
) -> None:
    """As on the page Quality when a new run arrives: the ticks, and the result of the dry run."""
    listed = DRY_RUNS.replace("<form", '<form id="choose-1" data-keeps')
    newer = listed.replace("choose-1", "choose-2")
    served |= {"/live": listed + "<p>list 1</p>", "/list": LIVE_PAGE.format(listed + "<p>list 0</p>")}
    browser.open("/list")
    browser.until(lambda: "list 1" in browser.text())
    browser.click("//input[@id='one']")
    served["/live"] = newer + "<p>list 2</p>"
    browser.until(lambda: "There is a newer list." in browser.text())
    assert "list 1" in browser.text()
    assert browser.find("//input[@id='one']").is_selected()
    served["/live"] = listed + "<p>list 3</p>"  # the same list with other words round it
    browser.until(lambda: "list 3" in browser.text())
    assert browser.find("//input[@id='one']").is_selected()
    served["/live"] = newer + "<p>list 4</p>"
    browser.until(lambda: "There is a newer list." in browser.text())
    browser.click("//button[text()='Show the newer list']")
    browser.until(lambda: "list 4" in browser.text())
    assert not browser.find("//input[@id='one']").is_selected()
    assert "There is a newer list." not in browser.text()


def test_a_page_that_awaits_its_run_tells_that_the_run_has_ended_without_files(
    browser: Browser, served: dict[str, str]
) -> None:
    awaits = STILL_PAGE.format("<p{}>{}</p>")
    served["/missing"] = awaits.format(" data-awaited", "the run is queued")
    browser.open("/missing")
    browser.until(lambda: "the run is queued" in browser.text())
    served["/missing"] = awaits.format("", "the run has ended")
    browser.until(lambda: "the run has ended" in browser.text())


def test_a_form_clears_tasks_of_a_run_by_airflows_api(browser: Browser, served: dict[str, str]) -> None:
    served["/clears"] = STILL_PAGE.format(CLEARS)
    browser.open("/clears")
    browser.click("//button")
    browser.until(lambda: browser.text().endswith("Airflow runs act again."))
    body = {"dag_run_id": "r", "dry_run": False, "only_failed": False, "prevent_running_task": True}
    sent = json.dumps(body | {"task_ids": ["act"]}, sort_keys=True)
    assert served["/sent"] == f"/api/v2/dags/d%2F1/clearTaskInstances {sent}"


def test_a_form_takes_a_stop_back_and_clears_only_when_that_has_ended_well(
    browser: Browser, served: dict[str, str]
) -> None:
    both = CLEARS.replace("<form", '<form data-starts="mq_stop"').replace('class="answer"', 'class="answer" id="told"')
    served["/clears"] = STILL_PAGE.format(both)
    run = "/api/v2/dags/mq_stop/dagRuns/%7B%7D"
    served[f"{run}/taskInstances?state=awaiting_input"] = json.dumps({"total_entries": 0})
    for state, told in (
        ("success", "Started: {}, success\nAirflow runs act again."),
        ("failed", "Started: {}, failed\nThe stopped run does not go on: nothing was cleared."),
    ):
        served[run] = json.dumps({"state": "running"})
        browser.open("/clears")
        browser.click("//button")
        browser.until(lambda: browser.find("//p[@id='told']").text == "Started: {}, at work")
        assert served["/sent"].startswith("/api/v2/dags/mq_stop/dagRuns ")
        served[run] = json.dumps({"state": state})
        browser.until(lambda told=told: browser.find("//p[@id='told']").text == told)
        assert served["/sent"].startswith("/api/v2/dags/d%2F1/clearTaskInstances ") == (state == "success")


@pytest.mark.parametrize("ends", ["success", "failed"])
def test_while_a_form_goes_on_by_itself_no_other_one_can(browser: Browser, served: dict[str, str], ends: str) -> None:
    """The page has the other form as soon as the stop is taken back: before its run has ended, and after that until the
    server knows that the run goes on."""
    resume = CLEARS.replace("<form", '<form id="resume" data-keeps data-starts="mq_stop"')
    other = CLEARS.replace("<form", '<form id="go-on" data-keeps')
    run = "/api/v2/dags/mq_stop/dagRuns/%7B%7D"
    served[f"{run}/taskInstances?state=awaiting_input"] = json.dumps({"total_entries": 0})
    served[run] = json.dumps({"state": "running"})
    served["/live"] = f"{resume}<p>stopped</p>"
    served["/clears"] = LIVE_PAGE.format(served["/live"])
    browser.open("/clears")
    browser.click("//button")
    browser.until(lambda: "at work" in browser.text())
    served["/live"] = f"{other}<p>taken back</p>"
    browser.until(lambda: "taken back" in browser.text())
    form = browser.find("//form[@id='go-on']")
    assert not form.is_displayed()
    served[run] = json.dumps({"state": ends})
    if ends == "failed":
        browser.until(lambda: "does not go on: nothing was cleared." in browser.text())
        assert form.is_displayed()
        return
    browser.until(lambda: "Airflow runs act again." in browser.text())
    served["/live"] = f"{other}<p>not seen yet</p>"
    browser.until(lambda: "not seen yet" in browser.text())
    assert not form.is_displayed()
    served["/live"] = "<p>at work again</p>"
    browser.until(lambda: "at work again" in browser.text())
    served["/live"] = f"{other}<p>failed again</p>"
    browser.until(lambda: "failed again" in browser.text())
    assert browser.find("//form[@id='go-on']").is_displayed()


def test_of_several_messages_those_are_sent_that_are_ticked(browser: Browser) -> None:
    browser.open("/ticks")
    answer, button = "//p[contains(@class, 'answer')]", "//button"
    browser.click(button)
    browser.until(lambda: browser.find(answer).text == "Tick a message first.")
    browser.click("//input[@value='2']")
    browser.click(button)
    browser.until(lambda: 'Started: {"ids": ["2"], "queue": "Q"}' in browser.find(answer).text)
    browser.open("/ticks")
    browser.click("//input[@id='all']")
    browser.click(button)
    browser.until(lambda: 'Started: {"ids": ["1", "2"], "queue": "Q"}' in browser.find(answer).text)


def test_messages_of_one_queue_are_chosen_and_a_wrong_name_starts_nothing(
    browser: Browser, served: dict[str, str]
) -> None:
    """Issue 37 B3: ticked, or all of the list; the field for a queue is there for actions that have one."""
    served["/chooses"] = STILL_PAGE.format(CHOOSES)
    served["/names?qm=QM1"] = '<option value="WORK">3 of 5,000 messages</option>'
    served["/names/check?qm=QM1&queue=WORX"] = json.dumps({"problem": "WORX: it is not there"})
    served["/names/check?qm=QM1&queue=WORK"] = json.dumps({"problem": ""})
    answer, button = "//p[contains(@class, 'answer')]", "//button"
    browser.open("/chooses")
    assert not browser.find("//input[@id='to']").is_displayed()
    for value in ("1", "2"):
        browser.click(f"//input[@value='{value}']")
    browser.click(button)
    browser.until(lambda: "Tick messages of one: A, B." in browser.find(answer).text)
    browser.click("//input[@value='2']")
    browser.click("//select[@id='action']/option[text()='move']")
    browser.find("//input[@id='to']").send_keys("WORX")
    browser.until(lambda: browser.find("//datalist/option[@value='WORK']"))
    browser.click(button)
    browser.until(lambda: browser.find(answer).text == "WORX: it is not there")
    browser.find("//input[@id='to']").clear()
    browser.click("//select[@id='action']/option[text()='park']")
    assert not browser.find("//input[@id='to']").get_attribute("required")
    browser.find("//input[@id='to']").send_keys("WORK")
    browser.click("//select[@id='which']/option[text()='all']")
    browser.click(button)
    sent: dict[str, Any] = {"queue_manager": "QM1", "action": "park", "queue": "A", "all_messages": True}
    for queue in ({"destination": "WORK"}, {}):  # a run that no queue is named for parks on MQOPS.QUARANTINE
        given = json.dumps(sent | queue, sort_keys=True)
        browser.until(lambda given=given: f"Started: {given}" in browser.find(answer).text)
        browser.find("//input[@id='to']").clear()
        browser.driver.execute_script("document.querySelector('form button').disabled = false")
        browser.click(button)


@pytest.mark.parametrize("width", [700, 1024])
def test_a_table_that_is_wider_than_the_page_is_folded_as_long_as_it_is(browser, width) -> None:
    """Each row is a list in as many columns as there is room for."""
    browser.open("/wide")
    for _ in range(2):
        browser.look(width=1400, dark=False)
        assert browser.faults() == []
        assert browser.find("//td[12]").rect["y"] == browser.find("//td").rect["y"]
        browser.look(width=width, dark=False)
        assert browser.faults() == []
        one, two, last = (browser.find(f"//td[{number}]").rect for number in (1, 2, 12))
        assert one["y"] == two["y"] < last["y"]
        assert one["x"] + one["width"] < two["x"]


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_telephone_rows_are_lists_with_headings_and_a_chart_is_as_narrow_as_the_page(browser, width) -> None:
    """320: as in Airflow's frame, beside its menu."""
    browser.open("/wide")
    browser.look(width=1400, dark=False)
    assert browser.faults() == []
    broad = browser.find("//td").rect["y"]
    assert browser.find("//td[12]").rect["y"] == broad
    browser.look(width=width, dark=False)
    assert browser.faults() == []
    cells = [browser.find(f"//td[{number}]") for number in (1, 12)]
    assert cells[0].rect["y"] < cells[1].rect["y"]
    heading = "return getComputedStyle(arguments[0], '::before').content"
    assert browser.driver.execute_script(heading, cells[1]) == '"Heading 11: "'
    drawn = browser.find("//figure[contains(@class, 'narrow')]//*[name()='svg']").rect
    assert drawn["x"] + drawn["width"] <= width
    bar = "//figure[contains(@class, 'narrow')]//*[@aria-roledescription='bar']"
    wide, less = (browser.find(f"({bar})[{number}]").rect["width"] for number in (1, 2))
    assert 300 / 350 - 0.02 < less / wide < 300 / 350 + 0.02


def test_a_hex_dump_scrolls_within_its_box_on_a_telephone(browser, served) -> None:
    line = f"{0:08x}  {'41424344 ' * 4}  {'ABCD' * 4}"
    dump = f'<pre class="dump" tabindex="0" aria-label="hexadecimal">{line}\n{line}\n</pre>'
    served["/dump"] = STILL_PAGE.format(f"<main><h1>a page</h1>{dump}</main>")
    browser.open("/dump")
    browser.look(width=390, dark=False)
    assert browser.faults() == []
    box = browser.driver.find_element("css selector", ".dump")
    inner, outer, height = browser.driver.execute_script(
        "const one = arguments[0]; return [one.scrollWidth, one.clientWidth, one.scrollHeight]", box
    )
    assert inner > outer
    assert height < 4 * 22, "a row is one line"


@pytest.mark.parametrize("width", [1400, 390])
def test_the_names_in_the_legend_of_a_chart_have_room(browser, served, width) -> None:
    """Names as those of an undo's dry run. The browser's letters are wider than those that the chart was drawn with."""
    names = ["would be put back", "would be taken away", "would not be put back"]
    parts = dict(zip(names, FATES.values(), strict=False))
    row = Bar("A" * 48, dict.fromkeys(names, 3))
    served["/chart"] = STILL_PAGE.format(
        f"<main><h1>a page</h1>{stacked([row], of='rule', label='a chart', parts=parts)}</main>"
    )
    browser.open("/chart")
    browser.look(width=width, dark=False)
    assert browser.faults() == []
    figure = f"//figure[contains(@class, '{'broad' if width > 640 else 'narrow'}')]"
    found = {
        kind: browser.driver.find_elements("xpath", f"{figure}//*[contains(@class, 'role-legend-{kind}')]/*")
        for kind in ("symbol", "label")
    }
    assert [one.text for one in found["label"]] == names
    for label, symbol in zip(found["label"], found["symbol"][1:], strict=False):
        one, after = label.rect, symbol.rect
        assert one["x"] + one["width"] + 8 < after["x"] or one["y"] + one["height"] <= after["y"] + 2


def test_a_very_long_name_of_a_run_makes_no_page_wider_and_is_nowhere_cut_without_its_title(
    tmp_path, estate_folder, client, browser, served
) -> None:
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(A)\n")
    lake, name = estate_folder / "lake", "manual__2026-11-24_" + "long" * 45
    manager.put(DLQ, [dead_letter("A", b"x"), ({}, b"raw")])
    text = "DESTQ(A) ACTION(RETRY)\n"
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text, queue=DLQ)
    run, plan = plan_run(DEAD_LETTERS, what)
    carry_out(DEAD_LETTERS, what, run, plan)
    for anatomy in (lake / "QM1" / "anatomy").glob("*.json"):
        anatomy.write_text(anatomy.read_text().replace(run.run, name))
    run.path.rename(run.path.parent / name)
    settle(run.lake_folder)
    ids = [message[0]["MsgId"].hex() for message in [*manager.messages("A"), *manager.messages(DLQ)]]
    for path in ("/estate", "/dead_letters", "/rules", "/run", "/plan", "/messages", "/messages/one"):
        query = {"queue": DLQ, "msg_id": ids[1]} if path == "/messages/one" else {}
        query |= {"run": name} if path not in {"/estate", "/dead_letters", "/rules"} else {}
        found = client(path, "operator", queue_manager="QM1", **query).text
        assert name in found.replace("<wbr>", ""), path
        served[path] = re.sub("/static/|data-live=", lambda one: "/" if "/" in one[0] else "data-was=", found)
        browser.open(path)
        for width in (390, 700, 1400):
            browser.look(width=width, dark=False)
            assert browser.faults(contrast=False) == [], (path, width)
        for select in browser.driver.find_elements("name", "run"):
            assert select.get_attribute("title") == name


def test_the_form_for_messages_that_a_person_must_place_is_as_narrow_as_airflows_frame(
    tmp_path, estate_folder, client, browser, served
) -> None:
    manager = create(tmp_path / "home", "QM1")
    manager.put(DLQ, [({}, b"raw")] * 3)
    text = "ACTION(RETRY)\n"
    what = DeadLetterRequest(
        connection=manager.connection, lake=estate_folder / "lake", table=parse(text).table, text=text, queue=DLQ
    )
    run, _plan = plan_run(DEAD_LETTERS, what)
    found = client("/run", "operator", queue_manager="QM1", run=run.run).text
    assert 'class="ticks"' in found
    served["/run"] = re.sub("/static/|data-live=", lambda one: "/" if "/" in one[0] else "data-was=", found)
    browser.open("/run")
    for width in (318, 390):
        browser.look(width=width, dark=False)
        assert browser.faults() == [], width


def test_a_hundred_queue_managers_are_told_in_a_table_the_worst_first(
    estate_folder, client, browser, served, monkeypatch
) -> None:
    """Nine of them have dead letters. The page is short, wide and on a telephone, and has a filter."""
    names = [f"QM{number:03}" for number in range(100)]
    first = create(estate_folder / "home", names[0], "DEFINE QLOCAL(A)\n")
    for name in names[1:]:
        shutil.copytree(first.home / names[0], first.home / name)
    sections = (
        f"  {name}: {{connection: mq_{name.lower()}, dlq_rules: {{rules: qm1.rules, also: [A]}}}}\n" for name in names
    )
    (estate_folder / "estate.yaml").write_text("lake: lake\nqueue_managers:\n" + "".join(sections))
    for name in names:
        reached = {"conn_type": "mq", "extra": {"queue_manager": name, "home": str(first.home)}}
        monkeypatch.setenv(f"AIRFLOW_CONN_MQ_{name}", json.dumps(reached))
    for name in names[95:86:-1]:
        Manager(name, first.home).put(DLQ, [dead_letter("A", b"x")] * (3 if name == "QM090" else 1))
    Manager("QM090", first.home).put("A", [dead_letter("B", b"x")])
    Manager("QM090", first.home).mqsc("ALTER QLOCAL(SYSTEM.DEAD.LETTER.QUEUE) MAXDEPTH(3)\n")
    monkeypatch.setattr(answers, "WAIT", 300.0)
    found = client("/estate", "operator").text
    rows = re.findall(r'<th class="name" scope="row"><a[^>]*>(QM\d+)</a>', found.replace("<wbr>", ""))
    assert rows == ["QM090", *(name for name in names[87:96] if name != "QM090")]
    assert "In order: 91 queue managers" in found
    assert 'class="card bad"><a href="/estate#needs"' in found or 'class="card bad"><a href="#needs"' in found
    dead = client("/dead_letters", "operator").text
    assert re.findall(r'<th class="name" scope="row"><a[^>]*>(QM\d+)</a>', dead.replace("<wbr>", "")) == rows
    assert "No dead letters: 91 queue managers" in dead
    assert "; 1 message on <" in dead
    of_all = {f"/{page}": client(f"/{page}", "operator").text for page in ("triggers", "expiry", "quality")}
    for path, text in {**of_all, "/dead_letters": dead, "/estate": found}.items():
        served[path] = re.sub("/static/|data-live=", lambda one: "/" if "/" in one[0] else "data-was=", text)
        browser.open(path)
        for width, most in ((1400, 1500), (390, 5000)):
            browser.look(width=width, dark=False)
            assert browser.faults(contrast=width == 1400) == [], (path, width)
            height = browser.driver.execute_script("return document.querySelector('main').scrollHeight")
            assert height <= most, (path, width)
    for width in (1400, 390):
        browser.look(width=width, dark=True)
        assert browser.faults() == [], width
    browser.look(width=1400, dark=False)
    field = browser.driver.find_element("css selector", "[data-filters]")
    field.send_keys("qm09")
    seen = browser.driver.find_elements("css selector", "[data-filtered] :is(tbody tr, li)")
    assert sum(one.is_displayed() for one in seen) == 10
    browser.until(lambda: browser.find("//*[@data-fitting]").text == "10 of 100 fit.")


def test_a_plan_that_discards_is_approved_by_another_button_and_by_no_key_or_double_click(
    browser: Browser, served: dict[str, str]
) -> None:
    served["/asked"] = STILL_PAGE.format(ANSWERS)
    browser.open("/asked")
    find = browser.driver.find_element
    find(By.ID, "comment").send_keys("no: wrong\nqueue")  # Enter presses no button
    ActionChains(browser.driver).double_click(find(By.ID, "yes")).perform()
    browser.until(lambda: "Yes, discard 300 messages" in browser.text())
    find(By.ID, "comment").send_keys("\n")
    assert not find(By.ID, "yes").is_enabled()
    sure, keys = browser.find("//button[.='Yes, discard 300 messages']"), ActionChains(browser.driver)
    for _stop in range(3):  # behind the comment: the first button, which is off, Reject, and this one, in any order
        if browser.driver.switch_to.active_element != sure:
            keys.send_keys(Keys.TAB).perform()
    assert browser.driver.switch_to.active_element == sure
    sure.send_keys(Keys.SPACE)
    browser.until(lambda: "Approved." in browser.text())
    answer = {"chosen_options": ["Approve"], "params_input": {"comment": "no: wrong queue"}}
    assert [json.loads(line) for line in served["/patched"].splitlines()] == [answer]


def test_an_answer_that_airflow_has_already_is_told_with_who_gave_it(browser: Browser, served: dict[str, str]) -> None:
    """409 behind 500: it was stored although the answer was 500."""
    served["/asked"] = STILL_PAGE.format(ANSWERS.replace(' data-twice="Yes, discard 300 messages"', ""))
    details = "/api/v2/dags/d/dagRuns/r/taskInstances/t/-1/hitlDetails"
    for option, statuses, words in (
        ("Approve", "500 409", "Approved already, by ann."),
        ("Reject", "409", "Rejected already, by ann."),
        ("", "409", "Airflow answers 409."),
    ):
        known = {"chosen_options": [option], "responded_by_user": {"id": "1", "name": "ann"}} if option else {}
        served[details] = json.dumps(known)
        served["/statuses"] = statuses
        browser.open("/asked")
        browser.click("//button[@id='yes']")
        answer = browser.find("//p[contains(@class, 'answer')]")
        browser.until(lambda words=words, answer=answer: words in answer.text)
        assert ("bad" in answer.get_attribute("class").split()) == (option != "Approve")


def test_the_real_run_below_a_second_dry_run_is_that_of_the_second(browser: Browser, served: dict[str, str]) -> None:
    served["/choose"] = STILL_PAGE.format(DRY_RUNS)
    browser.open("/choose")
    find = browser.driver.find_element
    for number, ticked in enumerate(("1", "2"), 1):
        query = urlencode({"dag_id": "ticks", "run_id": json.dumps({"message_ids": [ticked]})})
        served[f"/chosen?{query}"] = RESULT.format(number)
        browser.until(find(By.ID, "dry").is_enabled)
        for one in ("one", "two")[:number]:
            find(By.ID, one).click()
        find(By.ID, "dry").click()
        browser.until(lambda number=number: f"Plan {number}" in browser.text())
    find(By.ID, "go").click()
    browser.until(lambda: '"real"' in served["/sent"])
    assert json.loads(served["/sent"].partition(" ")[2])["conf"] == {"real": 2}


def a_ticked_row_stays_in_sight(browser: Browser) -> None:
    """Of the failures, filtered by known_format before and after."""
    first = "//table[contains(caption, 'Failures')]/tbody/tr[not(@hidden)][1]"
    browser.click(f"({first}//input[@data-listed])[1]")
    search = browser.find("//div[@class='tools']//input")
    search.clear()
    search.send_keys("has_a_reply_queue")  # what is ticked stays in sight, though it does not fit
    browser.until(lambda: "50 of 100 rows fit. Shown besides, as ticked: 1." in browser.text())
    shown = "//table[contains(caption, 'Failures')]/tbody/tr[not(@hidden)]"
    assert len(browser.driver.find_elements(By.XPATH, shown)) == 51
    browser.click("(//tr[not(@hidden)]//input[@data-listed and contains(@aria-label, 'known_format')])[1]")
    search.clear()
    search.send_keys("known_format")


def walks_the_table_with_the_keyboard(browser: Browser, table: str) -> None:
    """From the field of the filter: to the table, which arrows scroll, to each heading that sorts, to the first tick.
    Each stop is seen: it has an outline."""

    def stop() -> Any:
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        found = browser.driver.switch_to.active_element
        assert found.value_of_css_property("outline-style") != "none", found.get_attribute("outerHTML")
        return found

    browser.find("//div[@class='tools']//input").click()
    assert stop().get_attribute("class").startswith("scrolls")
    for heading in browser.driver.find_elements(By.XPATH, f"{table}//th//button"):
        at = stop()
        assert at == heading
        at.send_keys(Keys.ENTER)
        assert browser.find(f"{table}//th[.='{heading.text}']").get_attribute("aria-sort") != "none"
    tick = stop()
    assert tick.get_attribute("data-listed") is not None
    for ticked in (True, False):
        tick.send_keys(Keys.SPACE)
        assert tick.is_selected() is ticked


DIED_OF = {"deleted": 2085, "renamed": 2085, "full": 2053, "inhibited": 2051, "too long": 2030, "alias": 2082}
"""A word of the story of `mqops_demo.incident.Traffic` → the reason of its dead letters."""


def died(traffic: Traffic, number: int) -> tuple[dict[str, Any], bytes]:
    """A message of the demonstration's incident as it lies on the dead-letter queue."""
    (reason,) = {code for word, code in DIED_OF.items() if word in traffic.story}
    lasts = {"Persistence": int(traffic.persistent), "Expiry": traffic.expiry, **origin(traffic.program)}
    body = f"{traffic.queue};{number:06d};".encode().ljust(traffic.body_length, b".")
    return dead_letter(traffic.queue, body, reason=reason, dest_q_mgr=traffic.queue_manager, **lasts)


def test_the_plan_of_the_demonstration_is_short_on_a_telephone_and_what_decides_is_seen_first(
    tmp_path, estate_folder, client, browser, served
) -> None:
    """Issue 37 C8, of the incident of `make demo`, by the rules table of the demonstration."""
    defines = (MQSC / "QM1.mqsc").read_text().replace("DEFINE QLOCAL(MQOPS.LEDGER)", "*")
    manager = create(tmp_path / "home", "QM1", defines + REPAIRS.format(ledger_room=150))
    for traffic in TRAFFIC:
        messages = [died(traffic, number) for number in range(traffic.count - traffic.fits)]
        manager.put(DLQ, messages, options=CMQC.MQOO_SET_ALL_CONTEXT)
    without = [(origin("hub-cleanup"), b"not dead, only lost")] * WITHOUT_HEADER
    manager.put(DLQ, without, options=CMQC.MQOO_SET_ALL_CONTEXT)
    lake, text = estate_folder / "lake", (ROOT / "include" / "rules" / "qm1_dlq.rules").read_text()
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text, queue=DLQ)
    run, plan = plan_run(DEAD_LETTERS, what)
    assert len(plan.counts) > 10
    found = client("/plan", "operator", queue_manager="QM1", run=run.run).text
    served["/plan"] = re.sub("/static/|data-live=", lambda one: "/" if "/" in one[0] else "data-was=", found)
    browser.open("/plan")
    for dark in (False, True):
        browser.look(width=390, dark=dark)
        assert browser.faults() == []
        assert browser.driver.execute_script("return document.documentElement.scrollHeight") <= 2500
        assert browser.driver.execute_script(SPLIT) == []
    first = "return document.querySelector('h1').getBoundingClientRect().bottom"
    assert browser.driver.execute_script(first) < 500
    assert "discard 300" in browser.find("//h1").text


def test_tables_are_folded_sorted_filtered_and_short_on_a_telephone(
    tmp_path, estate_folder, client, browser, served
) -> None:
    """Issue 37 C8: a hundred messages that fail two checks, and a plan of 61 groups, at 390 pixels."""
    names = [f"PAY.{number:02}" for number in range(60)]
    manager = create(tmp_path / "home", "QM1", "\n".join(f"DEFINE QLOCAL({name})" for name in ["A", *names]))
    manager.put(DLQ, [dead_letter(name, b"x" * 20) for name in names for _ in range(2)] + [({}, b"raw")])
    lake, text = estate_folder / "lake", "DESTQ(PAY.0*) ACTION(RETRY)\nACTION(FWD) FWDQ(A)\n"
    what = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text, queue=DLQ)
    run, _plan = plan_run(DEAD_LETTERS, what)
    check_quality(run, 100, expectations=("known_format", "has_a_reply_queue"))
    heights = {"/quality": 4000, "/plan": 2500}
    for path, most in heights.items():
        found = client(path, "operator", queue_manager="QM1", run=run.run).text
        served[path] = re.sub("/static/|data-live=", lambda one: "/" if "/" in one[0] else "data-was=", found)
        browser.open(path)
        for width, dark in ((1400, False), (1100, True), (390, False), (390, True)):
            browser.look(width=width, dark=dark)
            assert browser.faults() == [], (path, width)
            height = browser.driver.execute_script("return document.documentElement.scrollHeight")
            assert width != 390 or height <= most, path
            browser.picture()
    browser.open("/plan")
    browser.look(width=1100, dark=False)  # Airflow's own tab in a window of 1400
    groups = "//table[contains(caption, 'Groups')]"
    assert "folded" not in browser.find(f"{groups}/..").get_attribute("class")

    browser.open("/quality")
    browser.look(width=1400, dark=False)
    table = "//table[contains(caption, 'Failures')]"
    assert "The same in all 100 rows. Queue: SYSTEM.DEAD.LETTER.QUEUE" in browser.text()
    walks_the_table_with_the_keyboard(browser, table)
    browser.driver.refresh()
    browser.find(f"{table}//button[.='Check']").send_keys("\n")  # by the keyboard
    assert browser.find(f"{table}//th[.='Check']").get_attribute("aria-sort") == "ascending"
    checks = [one.text for one in browser.driver.find_elements(By.XPATH, f"{table}//td[@data-label='Check']")]
    assert checks == sorted(checks)
    assert len(set(checks)) == 2
    browser.find("//div[@class='tools']//input").send_keys("known_format\n")  # Enter starts no run
    browser.until(lambda: "50 of 100 rows fit." in browser.text())
    assert "/sent" not in served
    a_ticked_row_stays_in_sight(browser)
    browser.click("//input[@data-ticks]")
    ticked = browser.driver.find_elements(By.CSS_SELECTOR, "[data-listed]:checked")
    assert len(ticked) == 50
    browser.look(width=390, dark=False)
    rows = browser.driver.find_elements(By.XPATH, f"{table}/tbody/tr")
    browser.click("//input[@data-ticks]")  # a card that is ticked is shown, too
    browser.look(width=391, dark=False)
    browser.until(lambda: sum(one.is_displayed() for one in rows) == 4)
    browser.click("//button[.='Show all 50 rows']")
    assert sum(one.is_displayed() for one in rows) == 50
