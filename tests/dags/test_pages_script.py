"""The script of the pages, in Chromium: what a person has opened stays open when a live part is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from browser_support import Browser, chromium

import mqops_airflow.pages

SCRIPT = Path(mqops_airflow.pages.__file__).parent / "static" / "pages.js"
LIVE = """\
<details id="rows" data-keeps="open"><summary id="fold">some rows</summary><p>row {0}</p></details>
<details id="names" data-keeps><summary>some names</summary><p>name {0}</p></details>
"""
PAGE = """\
<!doctype html><html lang="en"><head><title>a page</title><script src="/pages.js"></script></head>
<body data-root="" data-airflow=""><div data-live="/live" data-every="1">{}</div><p id="said"></p></body></html>
"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A browser at a server whose live part says something new each time."""
    numbers = count(2)

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script = self.path == "/pages.js"
            live = LIVE.format(next(numbers)) if self.path == "/live" else PAGE.format(LIVE.format(1))
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if script else "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(SCRIPT.read_bytes() if script else live.encode())

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    Thread(target=server.serve_forever, daemon=True).start()
    home = SimpleNamespace(address=f"http://127.0.0.1:{server.server_port}")
    try:
        with chromium(SimpleNamespace(home=home, token="t"), tmp_path) as found:
            yield found
    finally:
        server.shutdown()
        server.server_close()


def test_what_was_opened_stays_open_and_shows_what_is_new(browser: Browser) -> None:
    browser.open("/")
    browser.click("//summary[@id='fold']")
    browser.click("//summary[text()='some names']")
    browser.until(lambda: "row 3" in browser.text())
    assert "name 1" in browser.text()  # as the person left it
    browser.click("//summary[@id='fold']")
    browser.until(lambda: "row 5" in browser.find("//details[@id='rows']/p").get_attribute("textContent"))
    assert "row" not in browser.text().replace("some rows", "")
    assert browser.driver.switch_to.active_element.get_attribute("id") == "fold"
