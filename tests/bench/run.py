"""`make bench`: every benchmark beside this file, each in a process of its own; figures are ratios within one run.

`python tests/bench/run.py NAME ...` runs only those (redrive, decide ...). What a benchmark prints is the figure: no
limit is asserted here, because machines differ.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent


def machine() -> str:
    """The machine in one line: processor, cores, memory, file system of the benchmark's data, Python."""
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    data = Path(tempfile.gettempdir()).resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if data.is_relative_to(part.mountpoint)]
    files = max(mounts, key=lambda part: len(part.mountpoint)).fstype
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {memory} GiB, {files}, {system}"


def main(wanted: list[str]) -> int:
    print(f"machine: {machine()}")
    worst = 0
    for path in sorted(HERE.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if wanted and name not in wanted:
            continue
        print(f"\n== {name}: {path.relative_to(HERE.parents[1])}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, str(path)]).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
