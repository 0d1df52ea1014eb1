"""One application of the load test: `load_worker.py SEED SECONDS`; prints what it committed as one line of JSON."""

from __future__ import annotations

import json
import random
import sys
import time

import pymqi
from pymqi import CMQC

QUEUES = ("A", "B")
OPTIONS = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_BROWSE
EXPECTED = (CMQC.MQRC_NO_MSG_AVAILABLE, CMQC.MQRC_Q_FULL)


class Load:
    """Random units of work over two queues, with a record of what was committed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.manager = pymqi.connect("QM1")
        self.queues = [pymqi.Queue(self.manager, name, OPTIONS) for name in QUEUES]
        self.made = 0
        self.put: list[str] = []
        self.got: list[str] = []
        self.browsed = 0

    def unit_of_work(self) -> None:
        """Up to 20 calls; one unit in five is backed out."""
        put, got = [], []
        for _ in range(self.dice.randint(1, 20)):
            queue = self.dice.choice(self.queues)
            try:
                self.call(queue, self.dice.random(), put, got)
            except pymqi.MQMIError as error:
                if error.reason not in EXPECTED:
                    raise
        if self.dice.random() < 0.2:
            self.manager.backout()
            return
        self.manager.commit()
        self.put += put
        self.got += got

    def call(self, queue: pymqi.Queue, chance: float, put: list[str], got: list[str]) -> None:
        if chance < 0.45:
            self.made += 1
            body = f"{self.seed}/{self.made}"
            md = pymqi.MD(Persistence=self.made % 2, Priority=self.made % 4)
            queue.put(body.encode(), md, pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
            put.append(body)
        elif chance < 0.9:
            got.append(queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)).decode())
        else:
            queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_BROWSE_FIRST))
            self.browsed += 1


def main(seed: str, seconds: str) -> None:
    load = Load(int(seed))
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        load.unit_of_work()
    load.manager.disconnect()
    print(json.dumps({"put": load.put, "got": load.got, "browsed": load.browsed}))


if __name__ == "__main__":
    main(*sys.argv[1:])
