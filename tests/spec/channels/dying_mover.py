"""Movers that kill themselves: `python dying_mover.py CHANNEL` moves what is on A's transmission queue, once a line.

A line N in: a process of its own, forked from this one, which has imported what it needs. It ends with SIGKILL right
before its N-th step (a get, a put, a commit, at either end). N = 0: it lives. A line out: its exit code, before it for
one that lived how many steps it took.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from mqlite.channels.binding import bind, channel_values
from mqlite.channels.engine_port import EnginePort
from mqlite.channels.mover import Channel
from mqlite.channels.runner import agree
from mqlite.objects.manager import load

STEPS = ("get", "browse", "put", "commit")


def main() -> None:
    """Fork a mover for each line."""
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            print(move(sys.argv[1], int(line)), end=" ", flush=True)
            return
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def move(name: str, last: int) -> int:
    """Run until the transmission queue is empty, or dead; how many steps it took."""
    done = 0

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal done
            done += 1
            if done == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return method(*arguments, **named)

        return step

    for step in STEPS:
        setattr(EnginePort, step, counted(getattr(EnginePort, step)))
    manager = load("A")
    ends = bind(manager, name)
    channel = Channel(
        agreed=agree(name, channel_values(manager, name), ends.receiver_values),
        sender=ends.sender,
        receiver=ends.receiver,
        now=lambda: datetime.now(UTC),
        stopping=lambda: False,
        pause=lambda seconds: True,
        report=lambda figures: None,
    )
    channel.begin()
    while channel.batch(wait=0):
        pass
    ends.close()
    return done


if __name__ == "__main__":
    main()
