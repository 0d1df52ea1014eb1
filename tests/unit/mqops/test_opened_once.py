"""A run is opened, not pointed at: how often a pass connects and reads, counted at the calls themselves."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mq_support import DLQ, dead_letter

STEPS = 3
"""Steps of a pass that read the run's files: the plan, act and the proof."""
MOST_CONNECTIONS = 4
CONNECTS = {"MQCONN", "MQCONNX"}
OF_LEDGER = ("keys.json", "signed_by.json", "head.json", "index.json", "archived.json")
"""JSON files of the ledger, not of a run's folder."""


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


class Counts:
    """What was done while it was counted: `connected` calls of the MQ library, `read` files of the lake by name."""

    def __init__(self) -> None:
        self.connected = 0
        self.read: Counter[str] = Counter()
        self.counting = False

    def note_call(self, _frame: Any, event: str, called: Any) -> None:
        self.connected += event == "c_call" and called.__name__ in CONNECTS

    def note_file(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.counting and event == "open" and "/lake/" in str(arguments[0]):
            path, flags = Path(str(arguments[0])), arguments[2] or 0
            if flags & os.O_ACCMODE == os.O_RDONLY and path.suffix:
                self.read[path.name] += 1

    @contextmanager
    def count(self) -> Iterator[None]:
        self.connected, self.counting = 0, True
        self.read.clear()
        sys.setprofile(self.note_call)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.counting = False


@pytest.fixture(scope="module")
def counts() -> Counts:
    """An audit hook cannot be removed: one for the module."""
    made = Counts()
    sys.addaudithook(made.note_file)
    return made


def test_a_pass_connects_once_a_step_and_reads_each_file_once_a_step(manager, mqops_here, counts):
    first = made_pass(manager, mqops_here, counts, messages=20)
    assert first["ledger.jsonl"] <= STEPS  # the part of the ledger that is in no closed segment
    of_run = {name: number for name, number in first.items() if name.endswith(".json") and name not in OF_LEDGER}
    assert of_run.keys() >= {"observe.json", "plan.json", "preflight.json", "issued.json", "act.json"}
    assert max(of_run.values()) <= STEPS, of_run
    assert of_run["issued.json"] == of_run["act.json"] == 1  # of the proof alone
    assert max(first[name] for name in OF_LEDGER) <= STEPS
    second = made_pass(manager, mqops_here, counts, messages=2)  # which looks back at the first one
    assert second["ledger.jsonl"] <= STEPS + 1  # what the look back has added is read


def made_pass(manager, mqops_here, counts, *, messages: int) -> Counter[str]:
    """The files of the lake that a pass reads, and how often."""
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(messages)])
    with counts.count():
        done = mqops_here("dlq", "run", "--once", DLQ, "QM1", text="ACTION(RETRY)\n")
    assert f"{messages} planned = {messages} moved" in done.output
    assert 0 < counts.connected <= MOST_CONNECTIONS
    return +counts.read


def test_an_undo_and_a_load_connect_once_a_step(manager, mqops_here, counts, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    file = str(tmp_path / "messages")
    mqops_here("message", "export", DLQ, file, "-m", "QM1")
    mqops_here("dlq", "run", "--once", DLQ, "QM1", text="ACTION(RETRY)\n")
    (run,) = (path.name for path in tmp_path.glob("lake/QM1/runs/cli-*"))
    for made, command in enumerate((("undo", run), ("message", "load", file, "A", "--run"))):
        with counts.count():
            done = mqops_here(*command, "-m", "QM1", "--yes")
        assert "3 planned = 3 " in done.output
        assert counts.connected == len(("plan", "act and prove")) + made  # a load looks for one to finish first
