"""The page of a run that scanned for expired messages, and where their reports went."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape

from mq_support import DLQ, let_expire
from pymqi import CMQC
from runs_on_pages import letters, planned, said_of

from mqops.expiry.calendar_file import calendar_of
from mqops.expiry.look_ahead import look_ahead
from mqops.expiry.queue_manager import dead_letters_now, dead_letters_since, scan_queue
from mqops.expiry.scan import write_summary
from mqops.lake.run import RunFolder
from mqops.mq.connection import connect


def test_a_scan_for_expired_messages_tells_what_the_queue_manager_discarded(manager, estate_folder, client):
    manager.put("A", [({"Expiry": 1}, b"short")] * 3 + [({}, b"stays")] * 2)
    let_expire(1)
    run = RunFolder.at(estate_folder / "lake", "QM1", "scan")
    run.path.mkdir(parents=True)
    with connect(manager.connection) as session:
        write_summary(run, "QM1", [scan_queue(session, "A", now=lambda: datetime.now(UTC))])
    page = client("/run", queue_manager="QM1", run="scan").text
    assert "5 found = 3 discarded by the queue manager, because they had expired + 2 left." in page
    cells = ['<td class="name">A</td>', *(f'<td class="number">{number}</td>' for number in (5, 3, 2, 0))]
    assert "".join([*cells, "<td>none expires</td>"]) in page
    assert "Nothing was planned" not in page
    (row,) = re.findall(r"<tr>.*?scanned.*?</tr>", client("/estate", queue_manager="QM1").text, re.DOTALL)
    figures = re.findall(r'<td class="number"[^>]*>(.*?)</td>', row)
    assert figures == ["–", "–", "3", "2", "–", "–"]  # planned to gone, and how long it took


def test_a_scan_tells_how_much_the_dead_letter_queue_grew_and_about_only_where_it_says_so(
    manager, estate_folder, client
):
    """A report whose reply-to queue is not there is put on the dead-letter queue."""
    report = {"Expiry": 1, "Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "NO.SUCH"}
    dead = manager.depth(DLQ)

    def scanned(run: str, *queues: str) -> str:
        folder = RunFolder.at(estate_folder / "lake", "QM1", run)
        folder.path.mkdir(parents=True)
        with connect(manager.connection) as session:
            before = dead_letters_now(session)
            scans = [scan_queue(session, queue, now=lambda: datetime.now(UTC)) for queue in queues]
            write_summary(folder, "QM1", scans, dead_letters_since(session, before))
        text = unescape(client("/run", queue_manager="QM1", run=run).text.replace("<wbr>", ""))
        return " ".join(re.sub("<[^>]*>", "", text).split())

    manager.put("A", [(report, b"x")] * 3)
    let_expire(1)
    said = scanned("reports", "A")
    assert "goes to the dead-letter queue, and any other is dropped. " in said
    grew = f"{DLQ} grew by 3 messages during the scan: {dead} before, {dead + 3} after. "
    assert f"{grew}Look at them: no run has looked at the queue since. When one has, that page and this one" in said
    link = f'<a href="/dead_letters?queue_manager=QM1&queue={DLQ}">Look at them</a>'
    assert link in unescape(client("/run", queue_manager="QM1", run="reports").text)
    assert "About" not in said
    assert "reply-to queue" not in scanned("nothing", "A")
    manager.put(DLQ, [({"Expiry": 1}, b"x")] * 2)
    manager.put("A", [(report, b"x"), ({"Expiry": 1}, b"x")])
    let_expire(1)
    with connect(manager.connection) as session:
        handle = session.open("A", CMQC.MQOO_OUTPUT)
        said = scanned("both", "A", DLQ)
        session.close(handle)
    both = (
        f"grew by 1 message during the scan, besides what was discarded from it: {dead + 5} before, {dead + 4} after."
    )
    assert both in said
    assert '"About": other programs had the queue open meanwhile' in said
    manager.put("A", [({"Expiry": 1}, b"x")])
    let_expire(1)
    after = dead + 4
    assert f"{DLQ} did not grow during the scan: {after} before, {after} after." in scanned("none", "A")
    manager.mqsc("ALTER QMGR DEADQ(' ')")
    manager.put("A", [({"Expiry": 1}, b"x")])
    let_expire(1)
    assert "How many went there is not known." in scanned("unknown", "A")


def test_a_scan_names_the_reasons_of_its_reports_as_soon_as_a_run_has_looked(manager, estate_folder, client):
    """Reports that were there before the scan, and dead letters that are no reports, do not count."""
    report = {"Expiry": 1, "Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "NO.SUCH"}
    lake = estate_folder / "lake"

    def expired(*replies: str) -> None:
        manager.put("A", [({**report, "ReplyToQ": name}, b"x") for name in replies])
        let_expire(1)

    def scanned(run: str) -> None:
        folder = RunFolder.at(lake, "QM1", run)
        folder.path.mkdir(parents=True)
        with connect(manager.connection) as session:
            before = dead_letters_now(session)
            scans = [scan_queue(session, "A", now=lambda: datetime.now(UTC))]
            write_summary(folder, "QM1", scans, dead_letters_since(session, before))

    def said(run: str) -> str:
        text = unescape(client("/run", queue_manager="QM1", run=run).text.replace("<wbr>", ""))
        return " ".join(re.sub("<[^>]*>", "", text).split())

    manager.put("FULL", [({}, b"x")])
    expired("NO.SUCH")
    scanned("before")
    expired("FULL", "NO.SUCH", "NO.SUCH")
    letters(manager, "NO.RULE")
    scanned("scan")
    assert "When one has, that page and this one name the reasons" in said("scan")
    looked = planned(manager, lake)
    page = said("scan")
    assert f"Of the dead letters that {said_of(looked)} found there at " in page
    assert (
        "3 are reports of expiry that came since the scan began. They could not be put on the reply-to queue:" in page
    )
    reasons = (
        "2 with MQRC_UNKNOWN_OBJECT_NAME: the reply-to queue is not defined"
        "1 with MQRC_Q_FULL: the reply-to queue was full"
    )
    assert reasons in page
    manager.put("A", [({"Expiry": 1}, b"x")])
    let_expire(1)
    scanned("none")
    planned(manager, lake)
    assert "reports of expiry" not in said("none")


def test_the_page_says_what_vanishes_before_people_are_at_work_again(manager, estate_folder, client):
    assert "Before people are at work again" not in client("/expiry", queue_manager="QM1").text
    begins = datetime.now(UTC) + timedelta(hours=12)
    days = "days: [Mon, Tue, Wed, Thu, Fri, Sat, Sun]"
    (estate_folder / "calendar.yaml").write_text(f"time_zone: UTC\nhours: {begins:%H}:00-{begins:%H}:01\n{days}\n")
    estate = estate_folder / "estate.yaml"
    estate.write_text(estate.read_text() + "calendar: calendar.yaml\n")
    calendar = calendar_of(estate_folder / "calendar.yaml")
    manager.put(DLQ, [({"Expiry": 36_000}, b"x")] * 4)
    manager.put("A", [({"Expiry": expiry}, b"x") for expiry in (36_000, 6_000)])
    lake = estate_folder / "lake"
    _found, _summary, made = look_ahead(manager.connection, lake, (), calendar=calendar, recheck=timedelta(days=1))
    text = client("/expiry", queue_manager="QM1").text.replace("<wbr>", "")
    assert f"<li>4 dead letters vanish before {made.until}: {DLQ}" in text
    assert f"<li>2 messages expire before {begins:%H}:00 " in text
    assert 'aria-label="Messages by the time until they expire, and by what their queue is for"' in text
    assert "within 6h" in text
