"""What a ledger of 1,000,000 recorded messages costs: a run of 10 messages beside it and beside an empty lake, one
`mqops ledger show`, and how fast all of it is verified and its index is made anew.

MQOPS_BENCH_LEDGER says how many messages. Each run is a process of its own, the two lakes take turns, and the processor
time of the run alone is counted. Aims: a run takes at most 1.15 times as much, and 50 MB more; show 0.3 s; verified
300,000 messages a second a core, the index 200,000.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from big_ledger import make_ledger, msg_id
from mq_support import DLQ, Manager, create, dead_letter

from mqops.ledger.file import LedgerFile
from mqops.ledger.verified import verified

MESSAGES = int(os.environ.get("MQOPS_BENCH_LEDGER", "1000000"))
ROUNDS = 5
RUN = """
import resource, sys, time
from pathlib import Path
import pyarrow.parquet, pyarrow.compute
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.mq.connection import MqConnection
from mqops.rules import parse
text = "ACTION(FWD) FWDQ(A) HEADER(NO)\\n"
connection = MqConnection(queue_manager="QM1")
request = DeadLetterRequest(connection=connection, lake=Path(sys.argv[1]), table=parse(text).table, text=text)
began = time.process_time()
run, plan = plan_run(DEAD_LETTERS, request)
carry_out(DEAD_LETTERS, request, run, plan)
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
SHOW = """
import sys, time
from pathlib import Path
from mqops.look.history import history
began = time.process_time()
assert len(history(Path(sys.argv[1]), sys.argv[2]).events) == 1
print(time.process_time() - began, 0)
"""


def measured(script: str, *arguments: str, manager: Manager) -> tuple[float, float]:
    """Seconds of processor, and MB."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=manager.environment, check=True, capture_output=True, text=True
    )
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def processor(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def index_anew(file: LedgerFile) -> None:
    with file.lock():
        file.index.remove()
        file.index.fill()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "home").mkdir()
        manager = create(base / "home", mqsc="DEFINE QLOCAL(A) MAXDEPTH(999999)\n")
        lakes = {"empty": base / "empty", "recorded": base / "recorded"}
        seconds = processor(lambda: make_ledger(lakes["recorded"] / "QM1", MESSAGES))
        file = LedgerFile(lakes["recorded"] / "QM1")
        size = sum(path.stat().st_size for path in file.folder.rglob("*.jsonl")) / 1e6
        index = file.index.path.stat().st_size / 1e6
        print(f"{MESSAGES:,} messages recorded: {size:,.0f} MB of lines, {index:,.0f} MB of index")
        print(f"recorded  {MESSAGES / seconds:12,.0f} messages a second of processor, their markers made meanwhile")
        print(
            f"verified  {MESSAGES / processor(lambda: verified(file)):12,.0f} messages a second of processor, one core"
        )
        print(f"index     {MESSAGES / processor(lambda: index_anew(file)):12,.0f} messages a second of processor")
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in lakes}
        for _round in range(ROUNDS + 1):
            for name, lake in lakes.items():
                manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(10)])
                runs[name].append(measured(RUN, str(lake), manager=manager))
        medians = {
            name: [statistics.median(column) for column in zip(*found[1:], strict=True)] for name, found in runs.items()
        }
        for name, (taken, memory) in medians.items():
            print(f"run of 10 {taken:12.3f} s of processor, {memory:,.0f} MB, {name} lake")
        (one, less), (other, more) = medians["empty"], medians["recorded"]
        print(f"ratio     {other / one:12.2f}, {more - less:+,.0f} MB")
        shown = [
            measured(SHOW, str(lakes["recorded"]), msg_id(number), manager=manager)[0] for number in (5, MESSAGES // 2)
        ]
        print(f"show      {max(shown):12.3f} s of processor beyond imports")
    return 0


if __name__ == "__main__":
    sys.exit(main())
