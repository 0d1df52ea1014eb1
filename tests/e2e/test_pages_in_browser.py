"""The pages in a real browser: an incident from the menu to "everything accounted for", each page as people see it."""

from __future__ import annotations

import re
from itertools import product
from typing import Any
from urllib.parse import quote, urlencode

from mq_support import DLQ, dead_letter
from selenium.webdriver.common.keys import Keys

from mqops.look.history import history
from mqops_airflow.ui.table import PAGES

NAME = "BROWSER"


def waits(site: Any, browser: Any, dag_id: str, run_id: str) -> None:
    """Until the run's question can be answered."""
    browser.until(lambda: site.client.task_instances(dag_id, run_id)["approve"]["state"] == "awaiting_input")
    site.client.wait_until_asked(dag_id, run_id, "approve")


def started(browser: Any, dag_id: str) -> str:
    """The id of the run that the form of this DAG has started, which it names as a link."""
    browser.until(lambda: browser.find(f"//form[@data-starts='{dag_id}']//p[@class='answer']/a"))
    return str(browser.find(f"//form[@data-starts='{dag_id}']").get_attribute("data-started"))


def undoes(browser: Any) -> str:
    """Start the undo, and no dry run of it; the button says which of the two it starts. The id of the run."""
    form = "//form[@data-starts='mq_undo']"
    assert browser.find(f"{form}//button").text == "Undo this run: dry run"
    browser.click(f"{form}//input[@name='dry_run']")
    assert browser.find(f"{form}//button").text == "Undo this run"
    browser.click(f"{form}//button")
    return started(browser, "mq_undo")


def unfolds(browser: Any, name: str, told: str) -> None:
    """Unfold what has this name; it tells so."""
    browser.click(f"//details[@id='{name}']/summary")
    browser.until(lambda: told in browser.text())


def approves_discards(browser: Any, second: str, *, comment: str = "") -> None:
    """Approve a plan that discards messages. Parameters: `second` what the button says that Approve shows."""
    browser.write("//textarea[@name='comment']", comment)
    browser.click("//button[@value='Approve']")
    browser.until(lambda: browser.find("//button[@data-second]").text.startswith(second))
    assert "Approved by" not in browser.text()  # the first press approves nothing
    browser.click("//button[@data-second]")


def test_an_incident_is_approved_undone_stopped_and_resumed_by_clicking(site: Any, browser: Any) -> None:
    manager = site.in_trouble(NAME, 10)
    manager.mqsc("DEFINE QLOCAL(LATE) TRIGGER INITQ(NOWHERE)\n")
    site.client.wait_for_dag("mq_undo")
    for dag in ("mq_undo", "mq_stop"):
        site.client.unpause(dag)
    dag_id, run_id = site.trigger(NAME, dry_run=False)
    waits(site, browser, dag_id, run_id)

    browser.open("/")
    browser.click("//a[contains(@href, 'mqops-estate-nav')]")
    browser.into_frame()
    browser.until(
        lambda: (
            f"the plan of dlq_rules for {DLQ}, which acts on 8 of 10 messages, waits for an approval" in browser.text()
        )
    )
    browser.open(f"/dags/{dag_id}/runs/{quote(run_id)}")
    browser.click("//a[contains(@href, 'mqops-plan-dag-run')]")
    browser.into_frame()
    browser.until(lambda: "Groups, the largest first" in browser.text())
    for said in ("discard 2", f"(of 10 messages of {DLQ})?", "UNHEARD.OF"):
        assert said in browser.text()
    assert manager.depth(DLQ) == 10
    browser.click("//h1/following-sibling::p//a[contains(., 'dead letters of')]")
    browser.until(lambda: "A person with the role approver or admin in Airflow can answer until" in browser.text())
    browser.click("//a[text()='Look at the plan and answer']")
    approves_discards(browser, "Yes, discard 2 messages", comment="desk 4 has seen them")
    browser.until(lambda: re.search(r"Approved by admin at [^:]+:\d\d:\d\d UTC: desk 4 has seen them", browser.text()))
    browser.click("//a[text()='Watch the run' or text()='See the run']")
    browser.until(lambda: "10 planned = 6 moved + 2 discarded + 2 left + 0 gone" in browser.text())
    browser.until(lambda: "it balances" in browser.text())
    browser.until(lambda: "success" in browser.find("//table//th[text()='prove']/..").text)
    assert "approved by admin" in browser.text()
    for task in ("check", "observe", "decide", "route", "approve", "act", "prove"):
        links = site.client.call("GET", f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task}/links")["extra_links"]
        assert links["MQ run"].endswith(f"/mqops/run?dag_id={dag_id}&run_id={quote(run_id, safe='')}"), task

    undo = undoes(browser)
    waits(site, browser, "mq_undo", undo)
    browser.until(lambda: "Its plan waits for an answer: look at the plan." in browser.text())
    browser.log_in(site.as_user("approver"))  # four eyes: the estate asks for them somewhere, so an undo wants them
    browser.click("//form[@data-starts='mq_undo']//a[text()='look at the plan']")
    browser.click("//button[@value='Approve']")
    browser.until(lambda: "Approved by approver" in browser.text())
    browser.click("//a[text()='Watch the run' or text()='See the run']")
    browser.until(lambda: "it balances" in browser.text())
    assert "approved by approver" in browser.text()
    assert (manager.depth(DLQ), manager.depth("BACK.AGAIN")) == (10, 0)

    browser.log_in(site.client)
    browser.open(f"/mqops/estate?queue_manager={NAME}")
    browser.until(lambda: f"Every message that runs moved or discarded on {NAME} is accounted for" in browser.text())
    unfolds(browser, "accounted-why", "2 of 2 runs that acted are proved")
    browser.click("//summary[starts-with(., 'Stop all runs')]")
    browser.write("//input[@name='why']", "a look at the site")
    browser.click("//form[@data-starts='mq_stop']//button")
    browser.until(lambda: "All runs are stopped" in browser.text())
    assert "a look at the site" in browser.text()
    browser.click("//button[text()='Resume all runs']")
    browser.until(lambda: "All runs are stopped" not in browser.text())


def test_a_page_that_is_cut_off_says_so_at_its_top_with_the_time_of_its_figures(site: Any, browser: Any) -> None:
    def offline(gone: bool) -> None:
        how = {"offline": gone, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", how)

    browser.open("/mqops/estate")
    browser.until(lambda: browser.find("//p[@id='cut-off']"))  # the pages may start with this look
    browser.driver.execute_cdp_cmd("Network.enable", {})
    offline(True)
    told = r"The server does not answer\. These are the figures of \d\d:\d\d:\d\d UTC\."
    browser.until(lambda: re.search(told, browser.find("//p[@id='cut-off']").text))
    assert not browser.find("//p[@id='cut-off']/a").is_displayed()
    offline(False)
    browser.until(lambda: not browser.find("//p[@id='cut-off']").is_displayed())
    browser.driver.delete_all_cookies()
    browser.until(lambda: "Your session is over" in browser.text())
    browser.click("//p[@id='cut-off']/a")
    browser.until(lambda: "next=" in browser.driver.current_url)
    assert "mqops%2Festate" in browser.driver.current_url
    browser.open("/mqops/estate")
    assert "You are not logged in to Airflow, or your session is over." in browser.text()
    assert "mqops%2Festate" in browser.find("//a[@data-login]").get_attribute("href")
    browser.log_in(site.client)


def test_a_form_can_be_sent_again_when_its_run_has_ended(site: Any, browser: Any) -> None:
    site.in_trouble(NAME, 1)
    dag_id = f"{NAME.lower()}_dlq_rules"
    site.client.wait_for_dag(dag_id)
    site.client.unpause(dag_id)
    form = f"//form[@data-starts='{dag_id}']"
    browser.open(f"/mqops/dead_letters?queue_manager={NAME}")
    browser.click(f"{form}//button")
    started(browser, dag_id)
    assert not browser.find(f"{form}//button").is_enabled()
    browser.until(lambda: browser.find(f"{form}//button").is_enabled())
    assert ", ended. Dry run: " in browser.find(f"{form}//p[@class='answer']").text


def dry_run_of_what_the_run_left(browser: Any) -> None:
    """Issue 37 B3, on the page of a run, by the keyboard alone: the list is opened, a row ticked, its dry run begun."""
    form = "//details[@id='unmoved']//form[@data-starts='mq_recover']"

    def is_open() -> bool:
        if not browser.find("//details[@id='unmoved']").get_attribute("open"):
            browser.find("//summary[@id='unmoved-summary']").send_keys(Keys.ENTER)
        return bool(browser.find(f"{form}//button[@type='submit']").is_displayed())

    browser.until(is_open)
    browser.write(f"({form}//input[@data-listed])[1]", Keys.SPACE)
    browser.write(f"{form}//select[@name='action']", "Discard")
    browser.write(f"{form}//button[@type='submit']", Keys.ENTER)
    browser.until(lambda: "DISCARD 1" in browser.find("//section[@class='result']").text)
    assert "Start the real run" in browser.find("//section[@class='result']").text


def test_a_stopped_run_goes_on_by_one_click(site: Any, browser: Any) -> None:
    """A second real run is refused while the first one waits: the page of that run leads to the plan that waits."""
    manager = site.in_trouble(NAME, 5)  # the third one is discarded, and the last two are left
    for dag in ("mq_stop", "mq_recover"):
        site.client.wait_for_dag(dag)
        site.client.unpause(dag)
    dag_id, run_id = site.trigger(NAME, dry_run=False)
    waits(site, browser, dag_id, run_id)
    _dag_id, refused = site.trigger(NAME, dry_run=False)
    browser.open(f"/mqops/run?dag_id={dag_id}&run_id={quote(refused)}")
    browser.until(lambda: "This run plans nothing: " in browser.text())
    browser.click("//a[text()='Its plan']")
    browser.click("//a[text()='Watch the run']")
    browser.click("//form[@id='stop']//button")
    browser.until(lambda: browser.find("//form[@id='resume-run']//button").text == "Resume this run")
    browser.click("//a[text()='The plan']")
    approves_discards(browser, "Yes, discard")
    browser.until(lambda: "Approved by admin" in browser.text())
    browser.click("//a[text()='Watch the run' or text()='See the run']")
    moved = manager.depth("BACK.AGAIN")
    offered = "const form = document.getElementById('go-on'); window.offered ||= Boolean(form?.checkVisibility());"
    browser.until(lambda: browser.find("//form[@id='resume-on']"))  # the page of the run is there
    browser.driver.execute_script(f"setInterval(() => {{ {offered} }}, 20)")
    browser.click("//form[@id='resume-on']//button")
    browser.until(lambda: "Airflow runs act and prove again." in browser.text())
    browser.until(lambda: "done proved: it balances" in browser.text())
    assert browser.driver.execute_script("return window.offered") is False  # it went on by itself
    assert "Resume this run, and go on. Started: " in browser.text()
    assert manager.depth("BACK.AGAIN") > moved
    dry_run_of_what_the_run_left(browser)


def test_the_messages_of_a_backout_queue_have_a_form_on_the_estate(site: Any, browser: Any) -> None:
    manager = site.manager(NAME)
    manager.mqsc("DEFINE QLOCAL(WORK.BACK)\nDEFINE QLOCAL(WORK) BOQNAME(WORK.BACK) BOTHRESH(1)\n")
    manager.put("WORK.BACK", [({}, b"x")] * 2)
    site.client.wait_for_dag("mq_recover")
    site.client.unpause("mq_recover")
    form = f"//details[@id='handle-{NAME}-WORK.BACK']"
    browser.open(f"/mqops/estate?queue_manager={NAME}")
    browser.click(f"{form}/summary")
    browser.write(f"{form}//input[@name='destination']", "WORK")
    browser.click(f"{form}//button")
    started(browser, "mq_recover")
    browser.until(lambda: f", ended. {NAME}: Dry run: " in browser.find(f"{form}//p[@class='answer']").text)
    browser.click(f"{form}//p[@class='answer']/a")
    browser.until(lambda: "2 messages of the plan were still on the queue" in browser.text())
    assert (manager.depth("WORK.BACK"), manager.depth("WORK")) == (2, 0)


def test_ticked_messages_of_a_list_are_parked_by_a_dry_run_and_its_real_run(site: Any, browser: Any) -> None:
    """Issue 37 B3: a wrong name starts nothing; the result comes to the page of the list, with the real run."""
    manager = site.in_trouble(NAME, 10)
    site.run(NAME)
    site.client.wait_for_dag("mq_recover")
    site.client.unpause("mq_recover")
    form, held = "//form[@data-starts='mq_recover']", manager.depth(DLQ)
    browser.open(f"/mqops/dead_letters?queue_manager={NAME}")
    browser.click("//td/a[contains(@href, 'dest_q=%3DBACK.AGAIN')]")
    browser.until(lambda: "that fit" in browser.text())
    browser.write(f"{form}//select[@name='action']", "Move")
    browser.write(f"{form}//input[@name='destination']", "NO.SUCH.QUEUE")
    browser.click(f"({form}//input[@data-listed])[1]")
    browser.click(f"({form}//input[@data-listed])[2]")
    browser.click(f"{form}//button[@type='submit']")
    browser.until(lambda: "NO.SUCH.QUEUE: define it" in browser.find(f"{form}//p[@class='answer bad']").text)
    browser.until(lambda: browser.find(f"{form}//datalist/option[@value='NEW.NAME']"))  # an answer of its own
    browser.find(f"{form}//input[@name='destination']").clear()
    browser.write(f"{form}//input[@name='destination']", "NEW.NAME")
    browser.click(f"{form}//button[@type='submit']")
    result = "//section[@id='result-messages']"
    browser.until(lambda: "Start the real run" in browser.find(result).text)
    assert "FWD 2" in browser.find(result).text
    assert manager.depth(DLQ) == held
    for width, dark in product((1400, 390), (False, True)):
        browser.look(width=width, dark=dark)
        assert browser.faults() == []
    browser.look(width=1400, dark=False)
    browser.click(f"{result}//form[@id='real']//button[@type='submit']")
    browser.until(lambda: "Its plan waits for an answer" in browser.find(f"{result}//p[@class='answer']").text)


def test_a_new_look_comes_back_to_the_list_with_what_it_found(site: Any, browser: Any) -> None:
    """Issue 37 B3: the list says how many more its queue has now, and a press brings them."""
    manager, dag_id = site.manager(NAME), f"{NAME.lower()}_snapshot"
    site.client.wait_for_dag(dag_id)
    site.client.unpause(dag_id)
    site.run(NAME)
    manager.put(DLQ, [dead_letter("LEAVE.IT", b"one"), dead_letter("LEAVE.IT", b"two")])
    browser.open(f"/mqops/messages?queue_manager={NAME}&queue={DLQ}")
    browser.until(lambda: "That is 2 more: messages came since the snapshot." in browser.text())
    browser.click("//form[@id='new-look']//button[@type='submit']")
    browser.until(lambda: f"The list has {manager.depth(DLQ)}." in browser.text())


def test_a_message_is_revealed_with_a_reason_by_the_keyboard(site: Any, browser: Any) -> None:
    """Issue 37 B4, D: of the queue manager of the test before. The ledger has the line, the page no script of it."""
    browser.open(f"/mqops/dead_letters?queue_manager={NAME}")
    browser.click("//a[text()='Look at its messages']")
    browser.click("//table//a[contains(@href, '/messages/one')]")
    browser.until(lambda: "It is masked" in browser.text())
    msg_id = browser.find("//main//*[@class='mono name']").text
    browser.click(f"(//button[@data-copy='{msg_id}'])[1]")
    browser.until(lambda: browser.find("//*[@id='said']").text in ("Copied.", "Selected: copy it with the keyboard."))
    browser.write("//form[@id='reveal']//input[@name='why']", "a customer asks", Keys.ENTER)
    browser.until(lambda: "this is the data, shown to you" in browser.text())
    assert browser.find("//pre[@id='data-text']").text.startswith("message 0")
    for width, dark in product((1400, 390), (False, True)):
        browser.look(width=width, dark=dark)
        assert browser.faults() == []
    browser.look(width=1400, dark=False)
    (line,) = [one for one in history(site.folder / "lake", msg_id).events if one.outcome == "revealed"]
    assert (line.action, line.comment) == ("REVEAL", "a customer asks")


def test_the_menu_entry_leads_back_to_the_estate(site: Any, browser: Any) -> None:
    """Airflow itself would leave its frame on the page where it is."""
    site.manager(NAME)
    browser.open("/")
    browser.click("//a[contains(@href, 'mqops-estate-nav')]")
    browser.into_frame()
    browser.click("//header//a[text()='Rules']")
    browser.until(lambda: browser.find("//h1").text.startswith("Rules of "))
    browser.driver.switch_to.default_content()
    browser.click("//a[contains(@href, 'mqops-estate-nav')]")
    browser.into_frame()
    browser.until(lambda: browser.find("//h1").text == "Estate")


def test_a_trigger_that_cannot_fire_is_told_and_its_mqsc_copied(site: Any, browser: Any) -> None:
    """The queue is there since the beginning: the estate page asks about triggers once a minute."""
    browser.open(f"/mqops/estate?queue_manager={NAME}")
    browser.until(lambda: "LATE cannot trigger: " in browser.text())
    browser.open(f"/mqops/triggers?queue_manager={NAME}&queue=LATE")
    browser.until(lambda: "DEFINE QLOCAL(NOWHERE)" in browser.text())
    browser.click("//button[@data-copies='mqsc']")
    browser.until(lambda: browser.find("//*[@id='said']").text in ("Copied.", "Selected: copy it with the keyboard."))


def test_every_page_is_sound_narrow_and_wide_light_and_dark(site: Any, browser: Any) -> None:
    """Of the queue manager of the test before: the run that was undone is the first of its DAG."""
    dag_id = f"{NAME.lower()}_dlq_rules"
    runs = site.client.call("GET", f"/dags/{dag_id}/dagRuns", params={"order_by": "run_after"})["dag_runs"]
    run = {"dag_id": dag_id, "run_id": runs[0]["dag_run_id"]}
    faults: dict[str, list[str]] = {}
    pages = {page.name: f"{page.path}?{urlencode({'queue_manager': NAME} if page.in_menu else run)}" for page in PAGES}
    browser.open(f"/mqops{pages['dead_letters']}")
    browser.click("//a[text()='Look at its messages']")
    browser.click("//table//a[contains(@href, '/messages/one')]")
    browser.until(lambda: "It is masked" in browser.text())
    pages["message"] = browser.driver.current_url.partition("/mqops")[2]
    pages["explained"] = f"/triggers?queue_manager={NAME}&queue=LATE"
    pages |= {f"without_{name}": f"/{name}?queue_manager=GONE" for name in ("estate", "dead_letters", "rules")}
    for page, path in pages.items():
        browser.open(f"/mqops{path}")
        browser.until(lambda: browser.find("//html").get_attribute("data-ready"))
        for width, dark in (*product((1400, 390), (False, True)), (1024, False)):
            browser.look(width=width, dark=dark)
            if found := browser.faults(contrast=width != 1024):
                faults[f"{page}_{width}_{'dark' if dark else 'light'}"] = found
        assert "message 0" not in browser.driver.page_source, page
    assert not faults


def test_the_button_test_of_a_connections_form_answers(site: Any, browser: Any) -> None:
    """Airflow's form sends `port: 0` where the connection has none."""
    site.manager(NAME)
    conn_id = f"mq_{NAME.lower()}"
    browser.open(f"/connections?name_pattern={conn_id}")
    browser.click(f"//tr[.//*[text()='{conn_id}']]//button[@aria-label='Test Connection']")
    told = browser.until(lambda: [text for text in [browser.text()] if re.search("Test Connection [SF]", text)])
    assert f"{NAME} answers; dead-letter queue {DLQ}" in told[0]  # Airflow's notice goes by itself
