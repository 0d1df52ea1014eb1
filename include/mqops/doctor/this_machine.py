"""Checks of this machine: the lake, the ledger's key, the runs that are not finished, Spark, the installed versions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from mqops.command import command
from mqops.deciders.registry import DECIDERS, decider_named
from mqops.doctor.check import Check, fails, holds, summed_up, unknown
from mqops.errors import LakeError, MqopsError, SettingsError
from mqops.estate import EstateFile
from mqops.lake.body_keys import keys_of
from mqops.lake.files import refuse_foreign
from mqops.lake.run import RunFolder, queue_manager_of
from mqops.lake.stop import stop_in
from mqops.ledger.keys import KeyRing
from mqops.mq.library import package
from mqops.observe.core.answers import refuse_unknown_column
from mqops.observe.sealed import key_place
from mqops.outside import Group, brought
from mqops.prove.records import SUMMARY
from mqops.prove.recovery import EarlierRuns
from mqops.quality.estate_checks import in_estate
from mqops.quality.vocabulary import EXPECTATIONS, expectation_named
from mqops.rules.keywords import KEYWORDS, OWN_KEYWORDS, not_loaded

LEAST_ROOM = 256 * 1024 * 1024
"""Bytes that the lake's disk should have: a snapshot holds every message whole."""
JAVA = (17, 21)
"""Versions of Java that Spark 4 runs on."""
PACKAGES = ("apache-airflow", "apache-airflow-task-sdk", "pyspark", "great_expectations")
_MQ_LIBRARY = re.compile(r"(?<!\S)/\S*/(libmq[a-z]+_r\.so\S*|libmqic_r\.so\S*)")
_JAVA_WAIT = 30
OUTSIDE = "from outside"
_UNINSTALL = "Mend that distribution, or uninstall it"


def lake(folder: Path) -> Check:
    """The lake: there, private, writable, with room. Nothing is written."""
    name = "lake"
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if there == folder:
        try:
            refuse_foreign(folder, *(path for path in folder.iterdir() if path.is_dir()))
        except (LakeError, OSError) as error:
            return fails(name, str(error), "Do what is said there")
    if not os.access(there, os.W_OK | os.X_OK):
        return fails(name, f"this user cannot write to {there}", "Name another lake (--lake, MQOPS_LAKE)")
    free = shutil.disk_usage(there).free
    found = f"{folder}: {free // 2**20} MB free" + ("" if there == folder else "; it is made at first use")
    if free < LEAST_ROOM:
        do = (
            "Make room: while the disk is full no run can be planned or proved. What a run under way has moved stays "
            "moved, and its markers wait on MQOPS.LEDGER until there is room"
        )
        return fails(name, found, do)
    return holds(name, found)


def key(lake_folder: Path) -> Check:
    """The key of the ledger. Parameters: `lake_folder` LAKE/<queue manager>."""
    ring = KeyRing(lake_folder)
    try:
        ring.check()
        if not ring.exists():
            return holds("ledger key", f"none yet; {ring.path} is made at first use")
        found = ring.newest()
    except MqopsError as error:
        return fails("ledger key", str(error), "Put the key file back from a copy (docs/ledger_trust.md)")
    return holds("ledger key", f"{found.id} of {ring.path}, private")


def body_keys(lake_folder: Path) -> Iterator[Check]:
    """The keys of message bodies, where new snapshots are encrypted. Parameters: `lake_folder` LAKE/<queue manager>."""
    name = "keys of bodies"
    try:
        place = key_place(lake_folder, queue_manager_of(lake_folder))
        if place is not None:
            yield holds(name, f"{keys_of(lake_folder, place).newest.id} of {place} encrypts")
    except MqopsError as error:
        yield fails(name, str(error), "Do what docs/bodies_at_rest.md says: until then no snapshot can be taken")


def unfinished(lake_folder: Path, queue_manager: str) -> Check:
    """The runs that were begun and are not finished, by what the lake has of them. Nothing is drained."""
    runs, lines = [], []
    for path in sorted(lake_folder.glob("runs/*/issued.json")):
        run = RunFolder(path.parent)
        try:
            if (proved := SUMMARY.find(run)) is None or not proved.finished:
                runs.append(run)
        except LakeError as error:
            lines.append(f"run {run.run}: {error}")
    earlier = EarlierRuns(lake=lake_folder.parent, queue_manager=queue_manager, unfinished=tuple(runs))
    ones = [fails("unfinished runs", *_split(line)) for line in earlier.to_finish()]
    ones += [unknown("unfinished runs", line, "Restore its summary.json from a copy") for line in lines]
    return summed_up("unfinished runs", ones, "every run that was begun is finished and proved")


def _split(line: str) -> tuple[str, str]:
    """What is, and what to do, of a line of `EarlierRuns.to_finish`."""
    what, _, do = line.partition(". ")
    return what, do


def stops(lake_folder: Path, queue_manager: str) -> Check:
    """Whether somebody stopped the queue manager's runs, or one of them."""
    ones = []
    if found := stop_in(lake_folder):
        resume = command("mqops", "resume", "-m", queue_manager)
        ones.append(fails("stop", f"all acting on {queue_manager} was stopped {found}", f"To go on: `{resume}`"))
    for path in sorted(lake_folder.glob("runs/*/stop.json")):
        if found := stop_in(path.parent):
            resume = command("mqops", "resume", path.parent.name)
            ones.append(fails("stop", f"run {path.parent.name} was stopped {found}", f"To go on: `{resume}`"))
    return summed_up("stop", ones, "nothing is stopped")


def spark(file: EstateFile | None, queue_manager: str, environment: Mapping[str, str]) -> Check:
    """Whether Spark can run: a Java for it on this machine, and the connection of the estate where it is to be seen."""
    name = "Spark"
    connection = _spark_connection(file, queue_manager)
    uri = environment.get(f"AIRFLOW_CONN_{connection.upper()}", "")
    named = (
        f"connection {connection} ({urlsplit(uri).scheme or 'JSON'})"
        if uri
        else f"connection {connection}: Airflow has it"
    )
    try:
        version("pyspark")
    except PackageNotFoundError:
        return fails(name, f"pyspark is not installed; {named}", "Install it: `make setup`")
    found = _java(environment)
    if found is None:
        return unknown(
            name,
            f"no Java on this machine, and {named}: whether its Spark answers is not known here",
            "Set JAVA_HOME, where jobs are to run here; in Airflow, see the connection",
        )
    if found not in JAVA:
        return fails(name, f"Java {found}; {named}", f"Set JAVA_HOME to a Java {' or '.join(map(str, JAVA))}")
    return holds(name, f"Java {found}; {named}")


def _spark_connection(file: EstateFile | None, queue_manager: str) -> str:
    if file and queue_manager in file.estate.queue_managers:
        return file.estate.spark_connection(queue_manager)
    return "spark_default"


def _java(environment: Mapping[str, str]) -> int | None:
    """The version of the Java that a Spark job here gets; None without one."""
    home = environment.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not program:
        return None
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_JAVA_WAIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def from_outside() -> Iterator[Check]:
    """What other distributions bring, each loaded: one line where all can be used. Nothing where there is none."""
    ones: list[Check] = []
    good: list[str] = []
    for group, own, load in (
        (Group.DECIDERS, DECIDERS, decider_named),
        (Group.KEYWORDS, OWN_KEYWORDS, _keyword),
        (Group.CHECKS, EXPECTATIONS, expectation_named),
    ):
        try:
            here = in_estate() if group is Group.CHECKS else {}
        except MqopsError as error:
            ones.append(fails(OUTSIDE, str(error), "correct the folder, or `checks` of the estate"))
            here = {}
        for name, one in (*brought(group).items(), *here.items()):
            if name in own:
                ones.append(fails(OUTSIDE, f"{name} of {one.distribution}: mqops has this name itself", _UNINSTALL))
                continue
            try:
                load(name)
                good.append(f"{group} {name} of {one.distribution}")
            except MqopsError as error:
                ones.append(fails(OUTSIDE, str(error), _UNINSTALL))
    if ones or good:
        yield summed_up(OUTSIDE, ones, "; ".join(good))


def _keyword(name: str) -> None:
    """Load a keyword of a rules table. Raises `SettingsError`."""
    if why := not_loaded().get(name):
        raise SettingsError(why)
    refuse_unknown_column(KEYWORDS[name])


def versions() -> Check:
    """Which versions are installed here, and which MQ library is loaded."""
    found = [f"{name} {number}" for name, number in _installed()]
    libraries = _mq_libraries()
    found.append(f"MQ library {', '.join(libraries)}" if libraries else "no MQ library is loaded")
    return holds("versions", ", ".join(found))


def _installed() -> Iterator[tuple[str, str]]:
    for name in ("mqops", package(), *PACKAGES):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, "not installed"


def _mq_libraries() -> list[str]:
    """The paths of the MQ libraries that this process has loaded; none where the system does not tell."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({match[0] for match in _MQ_LIBRARY.finditer(maps)})
