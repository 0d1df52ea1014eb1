"""What pages may cost Airflow's API server: they are made elsewhere, within bounds; what is searched is in no log."""

from __future__ import annotations

import re
import select
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from html import unescape
from pathlib import Path
from urllib.parse import quote

import httpx
import psutil
import pytest
from mq_support import until
from pages_lake import make_lake
from pages_site import PATIENCE, Site, served
from process_ended import ended

from mqops.lake.run import RunFolder
from mqops_airflow.pages.asked import PAYLOAD
from mqops_airflow.pages.relay import BODY_SECONDS, MOST_OF_PERSON
from mqops_airflow.ui.table import PREFIX

SECRET = "SECRET-DE89"
FORM = {"queue_manager": "QM1", "where": f"BODY('*{SECRET}*')"}
BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"
MORE = 3
"""Requests of a person beyond what he may have open."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return make_lake(tmp_path_factory.mktemp("pages"), runs=3, recorded=20, messages=20)


@pytest.fixture(scope="module")
def base(run: RunFolder) -> Path:
    return run.lake_folder.parents[1]


@pytest.fixture(scope="module")
def site(base: Path, airflow_database: Path) -> Iterator[Site]:
    with served(base, airflow_database) as made:
        until(lambda: _answers(made), PATIENCE)
        yield made


@pytest.fixture(scope="module", autouse=True)
def slow(site: Site) -> Iterator[socket.socket]:
    """A client that sends a byte of its form and no more, while the other tests run."""
    with site.send(FORM, most=1) as connection:
        yield connection


def _answers(site: Site) -> bool:
    try:
        return bool(site.client.get("/").status_code)
    except httpx.TransportError:
        return False


def test_without_a_login_no_process_is_started(site: Site) -> None:
    answer = site.ask("/estate", "")
    assert answer.status_code == 401
    assert "Please log in" in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert site.ask("/messages", "", form=FORM).status_code == 401
    assert site.pages() == []


def test_a_browser_is_told_that_the_pages_start_and_asks_again(site: Site) -> None:
    """Issue 37 D: no white page at the first look."""
    told = site.ask("/estate", accept=BROWSER)
    assert (told.status_code, told.headers["refresh"], told.headers["cache-control"]) == (202, "1", "private, no-store")
    assert "The MQ pages are starting" in told.text
    until(lambda: site.ask("/static/pages.css", accept=BROWSER).status_code == 200, PATIENCE)
    assert len(site.pages()) == 1


def test_a_page_is_made_in_another_process(site: Site) -> None:
    assert "Recorded by run" in site.ask("/messages").text
    (pages,) = site.pages()
    assert pages.nice() > psutil.Process(site.process.pid).nice()
    assert {one.nice() for one in pages.children()} == {pages.nice()}  # a search is not behind what keeps all busy
    assert site.ask("/estate", "nobody").status_code == 403
    known = site.ask("/static/pages.css").headers["etag"]
    assert site.ask("/static/pages.css", if_none_match=known).status_code in {200, 304}
    assert site.pages() == [pages]


@pytest.mark.parametrize("person", ["admin", "viewer", "nobody", ""])
def test_what_is_searched_stands_in_no_log_and_in_no_address(site: Site, person: str) -> None:
    for name in PAYLOAD:
        refused = site.ask(f"/messages?queue_manager=QM1&{name}={quote(SECRET)}", person)
        assert refused.status_code == {"admin": 400, "viewer": 400, "nobody": 403, "": 401}[person]
        assert SECRET not in refused.text
        assert "/messages/one?" not in refused.text
    answer = site.ask("/messages", person, form=FORM)
    assert answer.status_code == {"admin": 200, "viewer": 403, "nobody": 403, "": 401}[person]
    assert SECRET not in re.sub(r'value="[^"]*"', "", answer.text)  # the form has it still
    assert not re.search(f'(href|action)="[^"]*{SECRET}', unescape(answer.text))
    written = site.log.read_text()
    assert f"{PREFIX}/messages" in written
    assert SECRET not in written
    assert "DE89" not in written


def test_pages_of_a_search_for_payload_go_on_without_it_in_an_address(site: Site) -> None:
    form = {"queue_manager": "QM1", "text": "0"}
    found = site.ask("/messages", form=form).text
    assert "/messages/one?" in found
    assert "text=" not in re.sub("<input[^>]*>", "", found)
    one = site.ask("/messages", form={"queue_manager": "QM1", "reason": "MQRC_Q_FULL", "dest_q": "PAY"})
    assert (one.status_code, one.headers["location"]) == (
        303,
        f"{PREFIX}/messages?queue_manager=QM1&reason=MQRC_Q_FULL&dest_q=PAY",
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({}, 200),
    ],
)
def test_a_form_of_another_site_is_refused(site: Site, headers: dict[str, str], status: int) -> None:
    assert site.ask("/messages", form=FORM, **headers).status_code == status
    revealed = site.ask("/messages/one/reveal", form={"queue_manager": "QM1"}, **headers)
    assert revealed.status_code == (403 if status == 403 else 400)  # it does not say which message


def test_a_large_form_is_refused(site: Site) -> None:
    assert site.ask("/messages", form={"text": "x" * 70_000}).status_code == 413
    assert "has more than 4000 characters" in site.ask("/messages", form={"text": "x" * 5000}).text


@pytest.fixture
def held(site: Site) -> psutil.Process:
    """The process of the next search, which does not go on. A search that was answered within the last second would not
    be made again: each test looks for another text."""
    site.ask("/messages", form={**FORM, "text": "warm"})
    (process,) = site.searching()
    process.suspend()
    return process


def test_a_client_that_goes_away_ends_its_search(site: Site, held: psutil.Process) -> None:
    form = {**FORM, "text": "gone away"}
    connection = site.send(form)
    until(lambda: _is_asked(held))
    assert site.searching() == [held]
    connection.close()
    until(lambda: held not in site.searching())
    assert "No message fits" in site.ask("/messages", form=form).text  # by another one
    assert held not in site.searching()


def _is_asked(process: psutil.Process) -> bool:
    """Whether what it has to read is there: a search stands in the pipe."""
    import fcntl  # noqa: PLC0415
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    with open(f"/proc/{process.pid}/fd/0", "rb", buffering=0) as pipe:
        found: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]
    return found > 0


def test_a_person_has_so_many_searches_open_and_others_are_not_held_up(site: Site, held: psutil.Process) -> None:
    with ExitStack() as stack:
        form = {**FORM, "text": "so many"}
        asked = [stack.enter_context(site.send(form)) for _number in range(MOST_OF_PERSON + MORE)]
        until(lambda: len(_answered(asked)) == MORE)
        for one in _answered(asked):
            text = _whole(one)
            assert text.startswith("HTTP/1.1 429 ")
            assert f"{MOST_OF_PERSON} of your requests have not been answered yet." in text
        for page in ("/messages", "/estate", "/rules"):
            assert site.ask(page, "viewer").status_code == 200
        form = {"queue_manager": "QM1", "where": "DESTQ(A)"}
        assert "/messages/one?" in site.ask("/messages", "approver", form=form).text
    until(lambda: held not in site.searching())
    until(lambda: site.ask("/messages").status_code == 200)


def _whole(connection: socket.socket) -> str:
    """An answer to its last byte: head and body come in parts."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += _next_part(connection)
    head, _, body = text.partition(b"\r\n\r\n")
    (length,) = (int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += _next_part(connection)
    return (head + body).decode()


def _next_part(connection: socket.socket) -> bytes:
    part = connection.recv(100_000)
    assert part, "the connection ended within the answer"
    return part


def _answered(connections: list[socket.socket]) -> list[socket.socket]:
    return select.select(connections, (), (), 0)[0]


def test_a_process_of_the_pages_that_dies_is_replaced(site: Site) -> None:
    (first,) = site.pages()
    searching = site.searching()
    first.kill()
    until(lambda: ended(first))
    assert site.ask("/messages").status_code == 200
    (second,) = site.pages()
    assert second != first
    until(lambda: all(map(ended, searching)))


def test_a_browser_is_told_where_the_pages_cannot_start(site: Site) -> None:
    """It does not ask for ever: a process that ends before it is there is an error."""
    (first,) = site.pages()
    first.kill()
    until(lambda: ended(first))
    assert site.ask("/estate", accept=BROWSER).status_code == 202
    killed: set[psutil.Process] = set()

    def kill() -> set[psutil.Process]:
        for one in site.pages():
            killed.add(one)
            with suppress(psutil.NoSuchProcess):
                one.kill()
        return killed

    until(kill)
    until(lambda: all(map(ended, killed)))
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(site.ask, "/estate", accept=BROWSER)
        until(lambda: kill() and answer.done())
    assert answer.result().status_code == 503
    assert "Its process has ended" in answer.result().text
    assert len(killed) == 3  # it asks a second time of itself
    until(lambda: site.ask("/static/pages.css", accept=BROWSER).status_code == 200, PATIENCE)


def test_a_form_that_does_not_arrive_is_given_up(slow: socket.socket) -> None:
    slow.settimeout(BODY_SECONDS + 60)
    assert slow.recv(100_000).decode().startswith("HTTP/1.1 408 ")


def test_all_processes_end_with_the_api_server(base: Path, site: Site) -> None:
    site.ask("/messages", form=FORM)
    all_of_it = [*site.pages(), *site.searching()]
    assert len(all_of_it) == 2
    site.process.send_signal(signal.SIGKILL)
    site.process.wait()
    until(lambda: all(map(ended, all_of_it)))
