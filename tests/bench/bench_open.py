"""How long a queue manager with 100,000 messages takes to answer after a kill: from MQCONN to the first MQGET.

Four processes are killed in the middle of units of work. The next process to connect backs out what they left and gets
a message; it is a new one each time, and its Python has started before the clock does. Aim: less than a second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pymqi
from pymqi import CMQC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_mqlite import put
from bench_redrive import ROUNDS, folder
from mq_support import Manager, create

DEPTH = int(os.environ.get("MQOPS_BENCH_OPEN_DEPTH", "100000"))
QUEUES = "DEFINE QLOCAL(DEEP) MAXDEPTH(999999999) DEFPSIST(YES)\nDEFINE QLOCAL(OTHER) MAXDEPTH(999999999)\n"
VICTIMS, IN_UNIT = 4, 500
VICTIM = f"""
import sys, pymqi
from pymqi import CMQC
manager = pymqi.connect("QM1")
source, target = pymqi.Queue(manager, "DEEP", CMQC.MQOO_INPUT_SHARED), pymqi.Queue(manager, "OTHER", CMQC.MQOO_OUTPUT)
for _ in range({IN_UNIT}):
    body = source.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    target.put(body, pymqi.MD(Persistence=1), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
print("working", flush=True)
sys.stdin.read()
"""
NEXT = """
import time, pymqi
from pymqi import CMQC
started = time.perf_counter()
manager = pymqi.connect("QM1")
connected = time.perf_counter()
queue = pymqi.Queue(manager, "DEEP", CMQC.MQOO_INPUT_SHARED)
queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
print(connected - started, time.perf_counter() - started)
manager.backout()
manager.disconnect()
"""


def kill_in_units_of_work(manager: Manager) -> None:
    """Four processes die, each with messages got and put and not committed."""
    victims = [
        subprocess.Popen(
            [sys.executable, "-c", VICTIM],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=manager.environment,
        )
        for _ in range(VICTIMS)
    ]  # fmt: skip
    for victim in victims:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "working\n"
    for victim in victims:
        victim.send_signal(signal.SIGKILL)
    for victim in victims:
        victim.communicate()


def answer(manager: Manager) -> tuple[float, float]:
    """Milliseconds until a new process is connected, and until it has a message."""
    done = subprocess.run(
        [sys.executable, "-c", NEXT], env=manager.environment, capture_output=True, text=True, check=True
    )
    connected, got = map(float, done.stdout.split())
    return connected * 1000, got * 1000


def main() -> None:
    with folder() as path:
        manager = create(path, "QM1", QUEUES)
        with manager.connected() as connection:
            queue = pymqi.Queue(connection, "DEEP", CMQC.MQOO_OUTPUT)
            put(connection, queue, DEPTH, 5000)
        print(f"{DEPTH:,} persistent messages of 1 KB; worst of {ROUNDS}; ms to MQCONN's answer, to MQGET's")
        print("nobody died             {:8,.1f} {:8,.1f}".format(*max(answer(manager) for _ in range(ROUNDS))))
        worst = (0.0, 0.0)
        for _ in range(ROUNDS):
            kill_in_units_of_work(manager)
            worst = max(worst, answer(manager))
        print(f"{VICTIMS} died, {2 * IN_UNIT} messages each {worst[0]:8,.1f} {worst[1]:8,.1f}")
        assert manager.depth("DEEP") == DEPTH


if __name__ == "__main__":
    main()
