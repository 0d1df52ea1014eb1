"""What pages may cost Airflow's API server: they are made elsewhere, within bounds, and what is searched is in no log.

`make full` makes the lake large (MQOPS_PAGES_MESSAGES, MQOPS_PAGES_RUNS) and asks for each field of each route
MQOPS_PAGES_AT_ONCE times at once, while Airflow's own API has to answer within a second.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import psutil
import pytest
from mq_support import until
from pages_lake import make_lake, plan_all

from mqops.lake.run import RunFolder
from mqops.look.core.criteria import IDENTIFIERS
from mqops_airflow.pages.asked import FIELDS, PAYLOAD
from mqops_airflow.pages.relay import MOST_OF_PERSON
from mqops_airflow.pages.routes import application
from mqops_airflow.pages.table import PREFIX

SERVER = Path(__file__).with_name("pages_server.py")
MESSAGES, RUNS = (int(os.environ.get(f"MQOPS_PAGES_{name}", "20")) for name in ("MESSAGES", "RUNS"))
AT_ONCE = int(os.environ.get("MQOPS_PAGES_AT_ONCE", "0"))
SECRET = "SECRET-DE89"
FORM = {"queue_manager": "QM1", "where": f"BODY('*{SECRET}*')"}
LOGINS = "logins: "


class Site:
    """The API server of a test, and its processes."""

    def __init__(self, process: subprocess.Popen[str], log: Path, port: int, logins: dict[str, str]) -> None:
        self.process, self.log, self.port, self.logins = process, log, port, logins
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=120, limits=httpx.Limits(max_connections=100)
        )

    def ask(self, path: str, person: str = "admin", *, form: dict[str, str] | None = None, **headers: str) -> Any:
        """What a page answers. Parameters: `form` that is sent to it."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()} | self.login(person)
        return self.client.request("POST" if form else "GET", PREFIX + path, data=form, headers=headers)

    def login(self, person: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.logins[person]}"} if person else {}

    def send(self, form: dict[str, str], person: str = "admin") -> socket.socket:
        """A connection on which a search was asked for, and nothing read."""
        body = urlencode(form)
        lines = [
            *(f"POST {PREFIX}/messages HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"),
            *("Content-Type: application/x-www-form-urlencoded", f"Authorization: Bearer {self.logins[person]}"),
        ]
        made = socket.create_connection(("127.0.0.1", self.port))
        made.sendall("\r\n".join([*lines, "", body]).encode())
        return made

    def processes(self, module: str) -> list[psutil.Process]:
        """Those below the server that run a module."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in children if one.status() != psutil.STATUS_ZOMBIE and module in one.cmdline()]

    def pages(self) -> list[psutil.Process]:
        return self.processes("mqops_airflow.pages.server")

    def searching(self) -> list[psutil.Process]:
        return self.processes("mqops.look.search_process")


@contextmanager
def served(base: Path, database: Path, *, whole: bool = False) -> Iterator[Site]:
    (base / "airflow").mkdir(exist_ok=True)
    (base / "airflow" / "airflow.db").write_bytes(database.read_bytes())
    settings = {
        "AIRFLOW_HOME": str(base / "airflow"),
        "AIRFLOW__CORE__AUTH_MANAGER": "mqops_airflow.roles.RolesAuthManager",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this test, which is long enough for a signature by HMAC" * 2,
        "AIRFLOW_CONN_MQ_QM1": json.dumps({"conn_type": "mq", "extra": {"queue_manager": "QM1"}}),
        "MQLITE_HOME": str(base / "queue_managers"),
        "MQOPS_ESTATE": str(base / "estate.yaml"),
        "MQOPS_LAKE": str(base / "lake"),
    }
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(port), *(["whole"] if whole else [])]
    log = base / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=stream, stderr=stream, text=True)
    try:
        until(lambda: LOGINS in log.read_text() or process.poll() is not None, 120)
        assert process.poll() is None, log.read_text()[-5000:]
        logins = json.loads(log.read_text().split(LOGINS)[1].splitlines()[0])
        yield Site(process, log, port, logins)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    made = make_lake(tmp_path_factory.mktemp("pages"), runs=RUNS, recorded=MESSAGES, messages=min(MESSAGES, 10_000))
    plan_all(made, recorded=MESSAGES, messages=min(MESSAGES, 10_000))
    return made


@pytest.fixture(scope="module")
def base(run: RunFolder) -> Path:
    return run.lake_folder.parents[1]


@pytest.fixture(scope="module")
def site(base: Path, airflow_database: Path) -> Iterator[Site]:
    with served(base, airflow_database) as made:
        until(lambda: _answers(made), 60)
        yield made


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


def test_a_page_is_made_in_another_process(site: Site) -> None:
    assert "Recorded by run" in site.ask("/messages").text
    (pages,) = site.pages()
    assert pages.nice() > psutil.Process(site.process.pid).nice()
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


def test_a_large_form_is_refused(site: Site) -> None:
    assert site.ask("/messages", form={"text": "x" * 70_000}).status_code == 413
    assert "has more than 4000 characters" in site.ask("/messages", form={"text": "x" * 5000}).text


@pytest.fixture
def held(site: Site) -> psutil.Process:
    """The process of the next search, which does not go on."""
    site.ask("/messages", form=FORM)
    (process,) = site.searching()
    process.suspend()
    return process


def test_a_client_that_goes_away_ends_its_search(site: Site, held: psutil.Process) -> None:
    connection = site.send(FORM)
    until(lambda: _is_asked(held))
    assert site.searching() == [held]
    connection.close()
    until(lambda: held not in site.searching())
    assert "No message fits" in site.ask("/messages", form=FORM).text  # by another one
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
        for _ in range(MOST_OF_PERSON):
            stack.callback(site.send(FORM, "operator" if _ % 2 < 0 else "admin").close)
        refusal: list[Any] = []

        def refused() -> bool:
            refusal[:] = [site.ask("/messages")]
            return bool(refusal[0].status_code == 429)

        until(refused)
        assert f"{MOST_OF_PERSON} of your requests have not been answered yet." in refusal[0].text
        for page in ("/messages", "/estate", "/rules"):
            assert site.ask(page, "viewer").status_code == 200
        form = {"queue_manager": "QM1", "where": "DESTQ(A)"}
        assert "/messages/one?" in site.ask("/messages", "approver", form=form).text
    until(lambda: held not in site.searching())
    until(lambda: site.ask("/messages").status_code == 200)


def test_a_process_of_the_pages_that_dies_is_replaced(site: Site) -> None:
    (first,) = site.pages()
    searching = site.searching()
    first.kill()
    first.wait()
    assert site.ask("/messages").status_code == 200
    (second,) = site.pages()
    assert second != first
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in searching))


def test_all_processes_end_with_the_api_server(base: Path, site: Site) -> None:
    site.ask("/messages", form=FORM)
    all_of_it = [*site.pages(), *site.searching()]
    assert len(all_of_it) == 2
    site.process.send_signal(signal.SIGKILL)
    site.process.wait()
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in all_of_it))
