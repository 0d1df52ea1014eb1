"""Headless Chromium, driven by selenium, as an administrator's browser."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from mq_support import until
from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
WITHOUT = "no Chromium: install Debian's packages chromium and chromium-driver"
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
"""What the browser does of itself: it asks servers that are not there, again and again."""
WIDTH, HEIGHT = 1400, 1000
"""Of a window, in pixels."""
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    f"--window-size={WIDTH},{HEIGHT}",
    *QUIET,
)
PATIENCE = 240
"""Seconds for one condition: a run with Spark on a machine that does other work, too."""
PAUSE = 0.2
"""Seconds between two looks: each costs the browser and its driver about 10 ms of processor."""
PASSING = (
    *(NoSuchElementException, StaleElementReferenceException),
    *(ElementNotInteractableException, ElementClickInterceptedException),
)
"""What an element says that the page is about to make, to move or to replace."""
WIDER = """
const cut = [...document.querySelectorAll(".scrolls")].filter((one) => one.scrollWidth > one.clientWidth + 1);
const wide = document.documentElement.clientWidth + 1;
return [...document.querySelectorAll("body *")]
  .filter((one) => cut.includes(one) || (!one.closest(".scrolls, pre") && one.getBoundingClientRect().right > wide))
  .map((one) => one.outerHTML.slice(0, 120))
  .concat(document.documentElement.scrollWidth > wide ? ["the document"] : []);
"""
LEVELS = ("SEVERE", "WARNING")
"""Of the browser's log: the others are hints, as Airflow's login form gets one."""
ASKED_AGAIN = re.compile(r"/api/v2/\S+ - Failed to load resource: the server responded with a status of 500 ")
"""What the browser says where SQLite has refused Airflow a change: the page asks again (pages.js, `call`), and says so
where that did not help."""
FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
"""The page has done what it does when its width has changed."""
AXE = """
const [contrast, told] = arguments;
const options = {resultTypes: ["violations"], rules: {"color-contrast": {enabled: contrast}}};
axe.run(options).then((found) => told(found.violations));
"""
"""Without the details of what is right, which cost a fifth of axe-core's time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """One window, logged in to Airflow. Parameters: `address` of Airflow; `pictures` the folder of screenshots."""

    driver: Any
    address: str
    pictures: Path

    def open(self, path: str) -> None:
        """Go to a page of Airflow's server."""
        self.driver.switch_to.default_content()
        self.driver.get(self.address + path)

    def log_in(self, client: Any) -> None:
        """Become the person of an `AirflowClient`; the page stays as it is."""
        self.driver.add_cookie({"name": "_token", "value": client.token, "path": "/"})

    def until(self, condition: Callable[[], Any]) -> Any:
        """What a condition gives as soon as it gives anything. An element that is not there yet is waited for."""

        def found() -> Any:
            with suppress(*PASSING):
                return condition()

        return until(found, PATIENCE, pause=PAUSE)

    def find(self, xpath: str) -> Any:
        """The element, which must be there."""
        return self.driver.find_element(By.XPATH, xpath)

    def text(self) -> str:
        """What the page, or the frame, shows now, a line each block. WebDriver's own text of an element takes the
        browser 70 times as long for a page with a table of 150 rows."""
        shown = self.driver.execute_script("return document.body?.innerText ?? ''")
        return "\n".join(filter(None, (" ".join(line.split()) for line in shown.splitlines())))

    def click(self, xpath: str) -> None:
        """Click an element as soon as it can be clicked."""

        def clicked() -> bool:
            element = self.find(xpath)
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.until(clicked)

    def write(self, xpath: str, *keys: str) -> None:
        """Write into a field, or press keys on an element, as soon as it takes them."""
        self.until(lambda: self.find(xpath).send_keys(*keys) or True)

    def into_frame(self) -> None:
        """Into the page that stands in Airflow's own page."""
        self.until(lambda: self.driver.switch_to.frame(self.find("//iframe")) or True)

    def look(self, *, width: int, dark: bool) -> None:
        """The width of the window in CSS pixels, and the person's choice of light or dark."""
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        self.driver.execute_async_script(FRAMES)

    def picture(self) -> None:
        """A screenshot of the whole page, in a further file."""
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        width = self.driver.execute_script("return window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 4000), "scale": 1}
        made = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        (self.pictures / f"{len(list(self.pictures.glob('*.png')))}.png").write_bytes(base64.b64decode(made["data"]))

    def faults(self, *, contrast: bool = True) -> list[str]:
        """What is wrong with the page as it stands: errors of the browser, what is too wide, what axe-core finds.

        Where there is anything, a screenshot lies beside the test's files. Parameters: `contrast` also of colours,
        which is most of the work, and may be left out where such a page was looked at in another width.
        """
        told = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in LEVELS]
        found = [message for message in told if not ASKED_AGAIN.search(message)]
        self.driver.execute_async_script(FRAMES)
        found += [f"too wide: {one}" for one in self.driver.execute_script(WIDER)]
        if not self.driver.execute_script("return Boolean(window.axe)"):
            self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe()})
        for one in self.driver.execute_async_script(AXE, contrast):
            found.append(f"axe {one['id']}: {json.dumps([node['html'][:200] for node in one['nodes']])}")
        if found:
            self.picture()
        return found


def axe() -> str:
    """The source of axe-core."""
    spec = find_spec("axe_playwright_python")
    assert spec
    assert spec.origin
    return Path(spec.origin).with_name("axe.min.js").read_text()


@contextmanager
def chromium() -> Iterator[Any]:
    """The driver of a browser. Without Chromium the test is skipped."""
    if not (CHROMIUM.exists() and DRIVER.exists()):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(WITHOUT)
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    driver.set_script_timeout(PATIENCE)  # axe-core's, too
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def window(driver: Any, client: Any, pictures: Path) -> Iterator[Browser]:
    """A new tab of the browser, in which the person of an `AirflowClient` is logged in.

    Nothing of an earlier tab is left in it but copies of files that the server lets a browser keep. A window would have
    the browser draw its own buttons again, for a fifth of a second of processor.
    """
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        driver.execute_cdp_cmd("Page.bringToFront", {})
        driver.set_window_size(WIDTH, HEIGHT)
        driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        clear = {"origin": client.home.address, "storageTypes": "all"}
        driver.execute_cdp_cmd("Storage.clearDataForOrigin", clear)
        browser = Browser(driver=driver, address=client.home.address, pictures=pictures)
        browser.open("/auth/login")
        browser.log_in(client)
        driver.get_log("browser")  # what Airflow's login form has said
        yield browser
    finally:
        driver.close()
        driver.switch_to.window(first)
