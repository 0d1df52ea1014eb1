"""A ledger in segments says what a plain scan of all of its lines says: whatever is added, closed, killed and removed.

The open segment is closed at a few hundred bytes. MQOPS_LEDGER_SEGMENTS says how many histories (`make full`: 2,000),
MQOPS_LEDGER_KILLS how many kills at random (200).
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqops.ledger import closing, index, index_tables, writer
from mqops.ledger.core.history import events
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker, MarkerRow
from mqops.ledger.core.replays import put_in_runs, replays
from mqops.ledger.core.tries import count_tries
from mqops.ledger.file import LedgerFile
from mqops.ledger.verified import verified
from mqops.ledger.writer import writer_of

KILLS = int(os.environ.get("MQOPS_LEDGER_KILLS", "8"))
HISTORIES = int(os.environ.get("MQOPS_LEDGER_SEGMENTS", "12"))
PLANS = [PlanIdentity(run=f"run{number}", digest=f"{number:02x}" * 32) for number in range(3)]
IDS = [f"{number:02x}" * 24 for number in range(4)]
PREFIXES = ["", "0", "01", "010", "03" * 24, "ff"]
STEPS = (
    (closing, "rename"),
    (closing, "sync"),
    (writer, "sync"),
    (closing, "write_checkpoint"),
    (index_tables, "enter_segment"),
    (index_tables, "merge"),
    (index, "sync"),
    (index.LedgerIndex, "write_note"),
    (writer, "forget_proofs"),
)
"""What a closing does one after another: a process may be killed before and after each."""


class Killed(BaseException):
    """The process is no more."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Before (even) or after (odd) the call of that number of one of `STEPS`; never if it is below 0."""
    calls = 0

    def stepped(given):
        def call(*arguments, **named):
            nonlocal calls
            mine, calls = calls, calls + 1
            if step == 2 * mine:
                raise Killed
            result = given(*arguments, **named)
            if step == 2 * mine + 1:
                raise Killed
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, stepped(getattr(owner, name)))
        with suppress(Killed):
            yield


def marker(number: int, plan: PlanIdentity, kind: str, ids: list[str]) -> Marker:
    rows = tuple(
        MarkerRow(row, f"key {msg_id[:2]}", msg_id, "FWD", f"rule {number % 2}", "Q", "QM", None, "ab" * 16)
        for row, msg_id in enumerate(ids)
    )
    unit = plan.marker_id(0, number, kind).hex()
    named = {"unit": unit, "run": plan.run, "plan": plan.digest, "kind": kind, "at": "2026-01-01T00:00:00+00:00"}
    if kind == "issued":
        loads = "ab" * 32 if number % 2 else "cd" * 32
        return Marker(**named, lanes=(1,), about={"workflow": "backout_reprocess", "loads": loads, "queue": "Q"})
    if kind == "resumed":
        return Marker(**named, about={"finished_by": f"user {number}"})
    return Marker(**named, first=number, next=number + 1, rows=rows)


MARKERS = st.builds(
    marker,
    st.integers(0, 30),
    st.sampled_from(PLANS),
    st.sampled_from(["acted", "acted", "failed", "issued", "resumed"]),
    st.lists(st.sampled_from(IDS), max_size=3),
)
ACTIONS = st.one_of(
    st.tuples(st.just("add"), st.lists(MARKERS, min_size=1, max_size=3), st.integers(-1, 40)),
    st.sampled_from([("remove",), ("damage",), ("tear",), ("copy",), ("ask",)]),
)


@settings(max_examples=HISTORIES, deadline=None)
@given(st.lists(ACTIONS, max_size=10), st.sampled_from([1, 700, 2000]))
def test_a_ledger_in_segments_says_what_its_lines_say(history, size):
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "QM1"
        model: dict[str, Marker] = {}
        for name, *given in history:
            if name == "add":
                markers, step = given
                before = len(list(LedgerFile(lake).lines()))
                with killed_at(step), writer_of(LedgerFile(lake, str, segment_size=size)) as writing:
                    writing.add(markers)
                if len(list(LedgerFile(lake).lines())) > before:
                    for one in markers:
                        model.setdefault(one.unit, one)
            else:
                happens(name, lake)
                agrees(lake, model)
        agrees(lake, model)
        file = LedgerFile(lake, str, segment_size=size)
        with writer_of(file) as writing:  # what was killed is finished
            assert writing.add(model.values()) == 0
        last = file.segments.last_checkpoint()
        assert file.segments.numbers()[0] == file.segments.numbers()[1]
        assert (last and last.number) == (file.index.up_to() and file.index.up_to().number)
        assert verified(file).error == ""
        file.refuse_broken()


def happens(name: str, lake: Path) -> None:
    """What happens to the files of a ledger without that a line is lost."""
    ledger = lake / "ledger"
    path = ledger / "index.sqlite"
    if name == "remove":
        path.unlink(missing_ok=True)
    elif name == "damage" and path.exists():
        with path.open("r+b") as stream:
            stream.seek(path.stat().st_size // 2)
            stream.write(b"\0" * 200)
    elif name == "tear" and (ledger / "ledger.jsonl").exists():
        with (ledger / "ledger.jsonl").open("ab") as stream:
            stream.write(b'{"unit":"half a line')
    elif name == "copy" and ledger.exists():  # a restored copy: all files have other times
        shutil.copytree(ledger, lake / "copy")
        shutil.rmtree(ledger)
        (lake / "copy").rename(ledger)


def agrees(lake: Path, model: dict[str, Marker]) -> None:
    file = LedgerFile(lake, str)
    entries = list(file.entries())
    markers = [Marker.from_json(entry) for entry in entries]
    assert markers == list(model.values())
    for plan in PLANS:
        mine = [one for one in markers if (one.run, one.plan) == (plan.run, plan.digest)]
        assert list(file.markers(plan=plan)) == mine
        assert list(file.markers(plan=plan, kind="issued")) == [one for one in mine if one.kind == "issued"]
    for kind in ("acted", "failed", "issued"):
        assert list(file.markers(kind=kind)) == [one for one in markers if one.kind == kind]
    units = {PLANS[0].marker_id(0, number, kind).hex() for number in range(8) for kind in ("acted", "issued")}
    assert file.recorded(units) == units & set(model)
    for value in ("ab" * 32, "cd" * 32):
        asked = list(file.issued_about("loads", value))
        assert asked == [one for one in markers if one.about.get("loads") == value]
    for msg_id in IDS[:2]:
        asks(file, markers, msg_id)
    for prefix in PREFIXES:
        told = [event for event in events("QM1", file.about(f'"{prefix}')) if event.msg_id.startswith(prefix)]
        assert told == [event for event in events("QM1", entries) if event.msg_id.startswith(prefix)]


def asks(file: LedgerFile, markers: list[Marker], msg_id: str) -> None:
    """What is counted of one message."""
    key = f"key {msg_id[:2]}"
    failed, acted = (list(file.of_messages(iter([msg_id]), kind)) for kind in ("failed", "acted"))
    assert count_tries(failed).get(key) == count_tries(markers).get(key)
    plain = [one for one in markers if one.kind == "acted"]
    assert put_in_runs(acted).get(msg_id) == put_in_runs(plain).get(msg_id)
    issued = [one for one in markers if one.kind == "issued"]
    assert dict(replays(issued, acted)).get(msg_id + "ab" * 16) == replays(issued, plain).get(msg_id + "ab" * 16)


def record(lake: Path, first: int, told: Connection) -> None:
    """Record one unit of work after another, and tell each that is recorded."""
    file = LedgerFile(lake, str, segment_size=1000)
    for number in range(first, 10**6):
        with writer_of(file) as writing:
            writing.add([marker(number, PLANS[number % 3], "acted", IDS[:2])])
        told.send(number)


def test_law1_a_process_that_is_killed_at_any_moment_leaves_a_whole_ledger_with_all_that_it_recorded(tmp_path):
    lake, recorded = tmp_path / "QM1", 0
    forked = multiprocessing.get_context("fork")
    for _kill in range(KILLS):
        here, there = forked.Pipe(duplex=False)
        process = forked.Process(target=record, args=(lake, recorded, there))
        process.start()
        there.close()
        for _ in range(random.randrange(1, 12)):  # a segment has three lines or so
            recorded = here.recv() + 1
        here.poll(random.random() / 100)  # any moment of the next one
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with suppress(EOFError):
            while True:
                recorded = here.recv() + 1
        file = LedgerFile(lake, str, segment_size=1000)
        assert verified(file).error == ""
        found = [one.first for one in file.markers()]
        assert found in (list(range(recorded)), list(range(recorded + 1)))  # the last one had not been told yet
        recorded = len(found)
    agrees(lake, {one.unit: one for one in file.markers()})
    assert len(file.segments.numbers()[0]) > KILLS // 2
