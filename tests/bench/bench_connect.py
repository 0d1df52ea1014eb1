"""A run over 2,330 messages as the jobs that Airflow submits: on a warm Spark Connect server, beside spark-submit.

Aim: at most 10 s from observe to prove, and at most a quarter of what the same jobs take with a Java of their own. Both
ways alternate; the best of several rounds counts. The server's first run, in which its Python workers start, does not.
"""

from __future__ import annotations

import os

from connect_server import connect_server
from dlq_million import SUBMITTED, measure

MESSAGES = int(os.environ.get("MQOPS_BENCH_MESSAGES", "2330"))
ROUNDS = 3


def main() -> None:
    with connect_server() as (connect, _pid):
        measure(MESSAGES, connect)
        rounds = [(measure(MESSAGES, connect), measure(MESSAGES, SUBMITTED)) for _ in range(ROUNDS)]
    stages = [name for name in rounds[0][0] if not name.startswith("(")]
    best = [{name: min(one[way][name][0] for one in rounds) for name in stages} for way in (0, 1)]
    print(f"{MESSAGES:,} messages of 1 KB, best of {ROUNDS} rounds, seconds")
    print(f"{'':10}{'Connect':>10}{'submitted':>11}{'ratio':>8}")
    for name in (*stages, "all"):
        warm, submitted = (sum(way.values()) if name == "all" else way[name] for way in best)
        print(f"{name:10}{warm:10.1f}{submitted:11.1f}{warm / submitted:8.2f}")


if __name__ == "__main__":
    main()
