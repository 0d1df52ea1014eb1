"""Makes a golden lake: what a released version of mqops leaves behind, for the tests of every later version.

    python tests/golden_lake.py FOLDER VERSION.tar.xz

in the environment of that version, from a working tree of that version: everything is done by its own commands
`mqops` and `mqlite` and by pymqi. For the next release: check it out, `make setup`, run this file of the newest
version there, and put the archive in tests/data/golden, where tests/unit/mqops/test_upgrade.py finds it.

FOLDER must not exist. Its name stands in some of the files (the note of the newest key), so give one that means
nothing, such as /tmp/golden. The keys and the messages are made for this alone. What the archive has:

    finished/   queue manager QM1 and a lake with finished runs of the workflows, an undo, a plan that waits, a file of
                messages, closed segments of the ledger and an archive of them, what was pruned, a stop that was lifted
    killed/     the same for a run that was killed in the middle of act, its queue manager as the process left it

The versions' words for commands are those of `mqops --help`. The size of a segment, a setting of the code alone, and
the name of the machine are set for each command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"
MQSC = f"""\
ALTER QMGR DEADQ({DLQ})
DEFINE QLOCAL(ORDERS)
DEFINE QLOCAL(PARKED)
DEFINE QLOCAL(BACK)
DEFINE QLOCAL(LOOP) BOTHRESH(1) BOQNAME(BACK) DEFPSIST(YES)
DEFINE QLOCAL(SHORT)
DEFINE QLOCAL(OLD)
DEFINE QLOCAL(LOADED)
DEFINE QLOCAL(TRIGGERED) TRIGGER TRIGTYPE(FIRST) INITQ(INIT) PROCESS(NONE)
"""
RULES = """\
DESTQ(DROP) ACTION(DISCARD)
DESTQ(PARK) ACTION(FWD) FWDQ(PARKED) HEADER(YES)
ACTION(RETRY) RETRY(9)
"""
ESTATE = """\
lake: {lake}
queue_managers:
  QM1: {{connection: mq_qm1, reveal: [{user}]}}
"""
SEGMENT = 6000
"""Bytes from which on a segment of the ledger is closed: so the few lines of this lake are several segments."""
COMMAND = f"""\
import socket, sys
socket.gethostname = lambda: "mq1.example"
import mqops.ledger.segments
mqops.ledger.segments.SEGMENT_SIZE = {SEGMENT}
from mqops.cli import main
main()
"""
KILLED = 30
"""Messages of the run that is killed; a few of them have gone by then."""
IN_SYNCPOINT = 2  # MQGMO_SYNCPOINT


class Site:
    """A queue manager QM1 and a lake in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.lake, self.homes = folder / "lake", folder / "queue_managers"
        self.homes.mkdir(mode=0o700)
        user = os.environ.get("USER") or "root"
        (folder / "estate.yaml").write_text(ESTATE.format(lake=self.lake, user=user))
        self._own = {"MQLITE_HOME": str(self.homes), "MQOPS_LAKE": str(self.lake)}
        self._own["MQOPS_ESTATE"] = str(folder / "estate.yaml")
        self._mqlite("create", "QM1")
        self._mqlite("mqsc", "QM1", text=MQSC)
        self.mqops("init", "QM1", "--run", "--yes")

    @property
    def environment(self) -> dict[str, str]:
        """Of a command."""
        return {**os.environ, **self._own, "COLUMNS": "200"}

    def _connected(self) -> Any:
        import pymqi  # noqa: PLC0415 - it reads the environment when it connects

        os.environ |= self._own
        return pymqi.connect("QM1")

    def _mqlite(self, *words: str, text: str = "") -> None:
        done = subprocess.run(
            [sys.executable, "-m", "mqlite.cli", *words], input=text, text=True, env=self.environment, check=False,
            capture_output=True,
        )  # fmt: skip
        assert not done.returncode, done.stdout + done.stderr

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start a command of mqops."""
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.environment,
        )  # fmt: skip

    def mqops(self, *words: str, text: str = "", codes: tuple[int, ...] = (0,)) -> Any:
        """A command of mqops with `--json` where it prints JSON, else its text."""
        process = self.begin(*words)
        output, errors = process.communicate(text)
        assert process.returncode in codes, (words, process.returncode, output, errors)
        print(" ".join(words), "→", process.returncode)
        return json.loads(output) if "--json" in words else output

    def put(self, queue: str, bodies: list[bytes], **fields: Any) -> None:
        """Persistent messages."""
        import pymqi  # noqa: PLC0415

        manager = self._connected()
        opened = pymqi.Queue(manager, queue)
        for body in bodies:
            opened.put(body, pymqi.MD(Version=2, Persistence=1, **fields))
        manager.disconnect()

    def dead_letters(self, first: int, number: int, *destinations: str) -> None:
        """Messages with an MQDLH."""
        from mqwire.structures import MQDLH  # noqa: PLC0415

        bodies = [
            MQDLH(
                reason=2053, dest_q_name=destinations[one % len(destinations)], dest_q_mgr_name="QM1", format="MQSTR",
                encoding=546, coded_char_set_id=1208, put_appl_type=28, put_appl_name="golden", put_date="20260102",
                put_time="03040506",
            ).pack(encoding=546, ccsid=1208) + b"order %04d" % one
            for one in range(first, first + number)
        ]  # fmt: skip
        self.put(DLQ, bodies, Format=b"MQDEAD", Encoding=546, CodedCharSetId=1208)

    def depth(self, queue: str) -> int:
        """CURDEPTH."""
        import pymqi  # noqa: PLC0415

        manager = self._connected()
        number = pymqi.Queue(manager, queue, pymqi.CMQC.MQOO_INQUIRE).inquire(pymqi.CMQC.MQIA_CURRENT_Q_DEPTH)
        manager.disconnect()
        return int(number)

    def back_out(self, queue: str, times: int) -> None:
        """A program that gets a message and backs out."""
        import pymqi  # noqa: PLC0415

        manager = self._connected()
        opened = pymqi.Queue(manager, queue)
        for _ in range(times):
            opened.get(None, pymqi.MD(), pymqi.GMO(Options=IN_SYNCPOINT))
            manager.backout()
        manager.disconnect()


def finished(site: Site) -> None:
    """Runs of the workflows, all of them over but one plan."""
    handler = ("dlq", "run", "--once", DLQ, "QM1", "--json")
    site.dead_letters(0, 12, "ORDERS", "DROP", "PARK", "MISSING")
    first = site.mqops(*handler, text=RULES, codes=(0, 1))
    site.mqops("ledger", "outcomes", _run(first), "--json")
    site.mqops("undo", _run(first), "--yes", "--json")
    site.mqops(*handler, text=RULES, codes=(0, 1))
    site.put("BACK", [b"backed out %d" % one for one in range(3)])
    site.put("LOOP", [b"poison", b"good"])
    site.back_out("LOOP", 2)
    site.mqops("backout", "guard", "LOOP", "-m", "QM1", "--watch", "0", "--yes", "--json")
    site.mqops("backout", "run", "BACK", "-m", "QM1", "--json", text="ACTION(FWD) FWDQ(PARKED)\n", codes=(0, 1))
    site.put("SHORT", [b"gone soon"] * 2, Expiry=1)
    site.put("OLD", [b"old %d" % one for one in range(2)])
    time.sleep(1.2)  # until they have expired: only the clock says so
    site.mqops("expiry", "scan", "SHORT", "-m", "QM1", "--json")
    site.mqops("expiry", "age-out", "OLD", "--older-than", "1s", "-m", "QM1", "--yes", "--json")
    move = ("--all", "-m", "QM1", "--yes", "--json")
    site.mqops("message", "copy", "ORDERS", *move, "--to", "OLD")
    site.mqops("message", "move", "OLD", *move, "--to", "SHORT")
    for name in ("orders.txt", "orders.parquet"):
        site.mqops("message", "export", "ORDERS", str(site.lake.parent / name), "-m", "QM1", "--json")
    file = str(site.lake.parent / "orders.txt")
    site.mqops("message", "load", file, "LOADED", "-m", "QM1", "--run", "--yes", "--json")
    snapshot = site.mqops("snapshot", "PARKED", "-m", "QM1", "--json")
    suite = Path(__file__).parent / "data" / "suites" / "quick.yaml"
    site.mqops("quality", "check", "--snapshot", _run(snapshot), "--suite", str(suite), "--json", codes=(0, 1))
    site.mqops("stop", "-m", "QM1", "--why", "golden", "--json")
    site.mqops("resume", "-m", "QM1", "--json")
    for number in range(3):  # lines enough for several segments
        site.dead_letters(100 + number, 1, "ORDERS")
        site.mqops(*handler, text=RULES, codes=(0, 1))
    site.mqops("ledger", "archive", "QM1", "--to", str(site.lake.parent / "archive"), "--json")
    site.mqops("lake", "prune", "QM1", "--snapshots", "1s", "--undo", "1s", "--json", codes=(0, 1))
    site.dead_letters(200, 4, "ORDERS", "DROP")
    site.mqops("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=RULES)


def killed(site: Site) -> None:
    """A finished run, and one that is killed while it puts eight messages a second."""
    handler = ("dlq", "run", "--once", DLQ, "QM1", "--json")
    site.dead_letters(0, 4, "ORDERS", "DROP")
    site.mqops(*handler, text=RULES)
    before = site.depth("ORDERS")
    site.dead_letters(10, KILLED, "ORDERS", "DROP", "PARK")
    process = site.begin(*handler, "--unit-size", "2", "--pace", "8")
    assert process.stdin
    process.stdin.write(RULES)
    process.stdin.close()
    while site.depth("ORDERS") < before + 3:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < site.depth(DLQ) < KILLED
    print("killed with", site.depth(DLQ), "of", KILLED, "messages left")


def said(site: Site) -> None:
    """Keep what this version says of its runs: later ones must say the same."""
    folder = str(site.lake.parent)
    runs = site.mqops("runs", "--limit", "0", "--json")["runs"]
    shown = {one["run"]: site.mqops("run", "show", one["run"], "-m", "QM1", "--json") for one in runs}
    head = site.mqops("ledger", "verify", "QM1", "--json")["ledgers"][0]["head"]
    text = json.dumps({"runs": runs, "shown": shown, "head": head}).replace(folder, "FOLDER")
    (site.lake.parent / "said.json").write_text(json.dumps({"folder": folder, **json.loads(text)}, indent=1))


def _run(done: Any) -> str:
    return str(done["run"])


def main(folder: Path, archive: Path) -> None:
    """Both lakes, in one archive."""
    sites = Site(folder / "finished"), Site(folder / "killed")
    finished(sites[0])
    killed(sites[1])
    for site in sites:
        said(site)

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return None if info.name.endswith("-shm") else info

    with tarfile.open(archive, "w:xz") as file:
        for name in ("finished", "killed"):
            file.add(folder / name, name, filter=plain)
    print(archive, archive.stat().st_size, "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
