"""Fixtures that several folders of tests share: a queue manager of one's own, one Spark session a test run."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from mq_support import Manager

TOGETHER = (
    "tests/e2e/test_spark_connect.py",  # has no Airflow
    "tests/e2e/",
    "tests/spark/",
    "tests/dags/",
)
"""Tests that share what is slow to start, Airflow or Java: one worker of pytest-xdist runs all that begin so."""

LONGEST_FIRST = (
    "tests/e2e/",
    "tests/spark/",
    "tests/dags/",
    "tests/crash/",
    "tests/unit/mqops/",
    "tests/unit/test_",  # the README's commands, the wheel
    "tests/property/",
    "tests/spec/",
)
"""Folders in the order in which their tests are run, the others behind them: no worker ends alone with slow ones."""


IN_MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Free bytes that the tests' files in memory may need: queue managers, lakes, and Airflow's database with its logs."""

# Each commit of a queue manager and of Airflow waits until the disk has it, which a killed process cannot tell from
# memory. Without this the tests take longer, and prove the same.
if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM:
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)


os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
"""Hypothesis imports what other packages offer it: trio, for a second of each worker. No test uses any of it."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What collecting makes stays to the end: the collector looks at it neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order of `LONGEST_FIRST`."""
    place = {folder: number for number, folder in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: next((place[folder] for folder in place if item.nodeid.startswith(folder)), len(place)))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """A worker of pytest-xdist gets a main module, without which GX will not run on PySpark: the command's.

    What the commands print is folded where a line is longer than the terminal is wide, which is tested apart
    (test_cli_width.py): all other tests have a wide one. Pytest's own output stays as wide as it is.
    """
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        writer = reporter._tw
        writer.fullwidth = writer.fullwidth
    os.environ["COLUMNS"] = "10000"
    if hasattr(config, "workerinput"):
        sys.modules["__main__"].__file__ = config.workerinput["mainargv"][0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`: a file is one piece of work, and what stands together in `TOGETHER` is one."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415

    class ByFolderOrFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            piece = next((one for one in TOGETHER if nodeid.startswith(one)), None)
            return piece or super()._split_scope(nodeid)

    return ByFolderOrFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture
def queue_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Manager]:
    """Makes queue managers below the test's folder: `queue_manager(mqsc="DEFINE ...", name="QM1", platform="zos")`."""
    from mq_support import create  # noqa: PLC0415

    home = tmp_path / "queue_managers"
    monkeypatch.setenv("MQLITE_HOME", str(home))

    def make(*, mqsc: str = "", name: str = "QM1", platform: str = "unix") -> Manager:
        return create(home, name, mqsc, platform=platform)

    return make


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Where runs keep their files; made by the first."""
    return tmp_path / "lake"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One small local Spark session for the whole run."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.errors import utils  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415
    from spark_support import SETTINGS  # noqa: PLC0415

    utils._enable_debugging_cache = False  # type: ignore[assignment] # as mqops.spark_job has it

    # With a few rows nothing is gained by planning again between two stages.
    settings = {**SETTINGS, "spark.sql.adaptive.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    session = SparkSession.builder.master("local[2]").appName("mqops tests").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # Airflow's import gives the root logger pytest's own standard output, which is closed before the connections to
    # Java are: what py4j says of their end would be told as "--- Logging error ---".
    logging.getLogger("py4j").setLevel(logging.ERROR)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """One Chromium for the tests of a worker; each opens a tab of its own (`browser_support.window`)."""
    from browser_support import chromium  # noqa: PLC0415

    with chromium() as found:
        yield found
