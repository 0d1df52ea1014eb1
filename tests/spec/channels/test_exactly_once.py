"""Every message arrives exactly once, wherever the mover is killed: at each single step, and at random."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pymqi import CMQC

from mqlite.objects.manager import load
from mqlite.storage import service_lock

if TYPE_CHECKING:
    from .conftest import Estate, Message

MOVER = Path(__file__).with_name("dying_mover.py")
KILLS = int(os.environ.get("MQLITE_CHANNEL_KILLS", "8"))
MESSAGES = int(os.environ.get("MQLITE_CHANNEL_MESSAGES", "1500"))
DEAD = "SYSTEM.DEAD.LETTER.QUEUE"


@pytest.fixture
def mover(estate: Estate) -> Iterator[Callable[[int], list[int]]]:
    """Has a process move what there is, killed right before a step or never (0): its exit code, before it its steps."""
    command = [sys.executable, str(MOVER), "A.TO.B"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        asked, answers = process.stdin, process.stdout

        def move(step: int) -> list[int]:
            print(step, file=asked, flush=True)
            return [int(word) for word in answers.readline().split()]

        yield move


def arrived(estate: Estate) -> list[bytes]:
    """The data of everything that left the transmission queue: delivered, and dead-lettered at either end."""
    dead: list[Message] = estate.take("A", DEAD) + estate.take("B", DEAD)
    return [found.body for found in estate.take("B", "TARGET")] + [found.dead_letter_header()[1] for found in dead]


def put_some(estate: Estate) -> list[bytes]:
    """Two batches: persistent and not, to a queue that is there and to one that is not."""
    persistent = {"Persistence": CMQC.MQPER_PERSISTENT}
    estate.put("TARGET", b"0", b"1", **persistent)
    estate.put("NOWHERE", b"2", **persistent)
    estate.put("TARGET", b"3", b"4", Persistence=CMQC.MQPER_NOT_PERSISTENT)
    return [b"0", b"1", b"2", b"3", b"4"]


def put_some_for_either_end(estate: Estate) -> list[bytes]:
    """One batch: what is sent as it is, what no one can convert and the sender dead-letters, what the receiver does."""
    persistent = {"Persistence": CMQC.MQPER_PERSISTENT}
    estate.put("TARGET", b"0", Format=CMQC.MQFMT_NONE, **persistent)
    estate.put("TARGET", b"1", Format=b"MYFMT", **persistent)
    estate.put("NOWHERE", b"2", Format=CMQC.MQFMT_NONE, **persistent)
    estate.put("TARGET", b"3", Format=b"MYFMT", Persistence=CMQC.MQPER_NOT_PERSISTENT)
    return [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("sender", "platform", "put"),
    [
        pytest.param("BATCHSZ(3)", "unix", put_some, id="dead-lettered-by-the-receiver"),
        pytest.param("CONVERT(YES)", "zos", put_some_for_either_end, id="dead-lettered-by-either-end"),
    ],
)
def test_killed_at_every_single_step(
    estate: Estate,
    mover: Callable[[int], list[int]],
    sender: str,
    platform: str,
    put: Callable[[Estate], list[bytes]],
) -> None:
    estate.channel_pair(sender=sender, platform=platform)
    estate.mqsc("A", f"ALTER QMGR DEADQ({DEAD})")
    estate.mqlite("end", "A")
    sent = put(estate)
    steps, ended = mover(0)
    assert ended == 0
    assert sorted(arrived(estate)) == sent
    assert steps > 20
    for step in range(1, steps + 1):
        put(estate)
        assert mover(step) == [-signal.SIGKILL], step
        assert mover(0)[-1] == 0, step
        assert sorted(arrived(estate)) == sent, step
        assert estate.depth("A", "B") == 0


def test_RESOLVE_CHANNEL_ACTION_COMMIT_removes_only_what_was_sent(
    estate: Estate, mover: Callable[[int], list[int]]
) -> None:
    estate.channel_pair(sender="CONVERT(YES)", platform="zos")
    estate.mqsc("A", f"ALTER QMGR DEADQ({DEAD})")
    estate.mqlite("end", "A")
    sent = put_some_for_either_end(estate)
    for step in itertools.count(1):
        assert mover(step) == [-signal.SIGKILL]
        if estate.depth("B", "TARGET"):  # died between the two commits
            break
    assert estate.depth("A", "B") == len(sent)
    estate.mqsc("A", "RESOLVE CHANNEL(A.TO.B) ACTION(COMMIT)")
    assert estate.depth("A", "B") == 2
    assert mover(0)[-1] == 0
    assert sorted(arrived(estate)) == sent


@pytest.mark.parametrize("seed", [1])
def test_service_killed_at_random_while_it_moves(estate: Estate, seed: int) -> None:
    chance = random.Random(seed)
    estate.channel_pair(sender="BATCHSZ(20) SHORTTMR(0) SHORTRTY(999999)")
    estate.mqsc("A", "ALTER QLOCAL(B) MAXDEPTH(999999)")
    estate.mqsc("B", "ALTER QLOCAL(TARGET) MAXDEPTH(999999)")
    sent = [f"{number:06d}".encode() for number in range(MESSAGES)]
    for part in range(0, MESSAGES, 100):
        estate.put("TARGET" if part % 300 else "NOWHERE", *sent[part : part + 100], Persistence=part // 100 % 2)
    estate.mqsc("A", "START CHANNEL(A.TO.B)")
    folder = load("A").folder
    for _ in range(KILLS):
        before = estate.depth("A", "B")
        more = chance.randrange(1, 60)
        estate.until(lambda before=before, more=more: before - estate.depth("A", "B") >= more or estate.is_drained())
        os.kill(service_lock.holder(folder), signal.SIGKILL)
        service_lock.wait_until_ended(folder)
        estate.mqlite("start", "A")
    estate.until(estate.is_drained)
    assert sorted(arrived(estate)) == sent
