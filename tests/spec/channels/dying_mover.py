"""A mover that kills itself: `python dying_mover.py CHANNEL N` moves what is on A's transmission queue.

It ends with SIGKILL right before its N-th step (a get, a put, a commit, at either end). N = 0: it lives, and prints how
many steps it took.
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
    """Run until the transmission queue is empty, or dead."""
    name, last = sys.argv[1], int(sys.argv[2])
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
    print(done)


if __name__ == "__main__":
    main()
