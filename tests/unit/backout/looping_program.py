"""A program that does not look at BackoutCount, as tests run it in a process of its own: `QUEUE_MANAGER QUEUE DONE`.

It gets under syncpoint, in groups where a message is in one. What begins with `bad` it backs out, again and again; of
all else it writes the body into the file DONE, and commits. It ends when a message `end` comes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pymqi
from pymqi import CMQC

OPTIONS = CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_WAIT


def main(name: str, queue: str, done: Path) -> None:
    """Loop."""
    manager = pymqi.connect(name)
    handle = pymqi.Queue(manager, queue, CMQC.MQOO_INPUT_AS_Q_DEF)
    with done.open("a") as file:
        body = b""
        while body != b"end":
            gmo = pymqi.GMO(Options=OPTIONS, WaitInterval=60_000)
            body = handle.get(None, pymqi.MD(), gmo)
            if body.startswith(b"bad"):
                manager.backout()
                continue
            file.write(body.decode() + "\n")
            file.flush()
            manager.commit()
    handle.close()
    manager.disconnect()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
