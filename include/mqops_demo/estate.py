"""The demonstration's queue managers: made from include/mqsc/, started, repaired, all through the `mqlite` command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MQSC = ROOT / "include" / "mqsc"
ESTATE = ROOT / "include" / "estate.yaml"
QUEUE_MANAGERS = {"QM1": "unix", "BRANCH": "unix", "MVS1": "zos"}
THERE_ALREADY = ("AMQ8150E", "AMQ8226E")  # an object, a channel
SENDERS = {"BRANCH": ("BRANCH.TO.QM1", "BRANCH.TO.MVS1"), "MVS1": ("MVS1.TO.QM1",)}
# What is wrong while the messages come. Said each time: the operators of an incident before this one have mended it.
TROUBLE = """\
ALTER QLOCAL(FX.RATES) PUT(DISABLED)
ALTER QLOCAL(SEPA.BATCH) PUT(DISABLED)
ALTER QLOCAL(CARDS.AUTH) MAXDEPTH(100)
ALTER QLOCAL(LEDGER.POST) MAXDEPTH(150)
"""
# What the operators mend before the dead-letter queue is dealt with. LEDGER.POST gets too little room on purpose.
REPAIRS = """\
ALTER QLOCAL(FX.RATES) PUT(ENABLED)
ALTER QLOCAL(SEPA.BATCH) PUT(ENABLED)
ALTER QLOCAL(CARDS.AUTH) MAXDEPTH(50000)
ALTER QLOCAL(LEDGER.POST) MAXDEPTH({ledger_room})
"""


def variable_folder() -> Path:
    """Where the demonstration keeps everything it makes: $MQOPS_VAR, else `var/` of the project."""
    return Path(os.environ.get("MQOPS_VAR", ROOT / "var"))


def estate_path() -> Path:
    """The estate file of the demonstration: $MQOPS_ESTATE, else the project's."""
    return Path(os.environ.get("MQOPS_ESTATE") or ESTATE)


def tell_errors() -> bool:
    """Say what `mqops estate check` says, on standard error; whether something of the estate can be used.

    With an error of one queue manager or section the demonstration goes on without it, as Airflow does.
    """
    from mqops.cli.estate import examine  # noqa: PLC0415
    from mqops.errors import SettingsError  # noqa: PLC0415
    from mqops.estate import load_usable  # noqa: PLC0415

    path = estate_path()
    for line in (problems := examine(path)[0]):
        print(line, file=sys.stderr)
    try:
        load_usable(path)
    except SettingsError:
        print(f"{path}: nothing of it can be used; nothing was started", file=sys.stderr)
        return False
    if problems:
        print(f"{path}: what is wrong has no DAGs until it is mended; the rest goes on", file=sys.stderr)
    return True


def environment() -> dict[str, str]:
    """The environment of `mqlite` commands: MQLITE_HOME is `qmgrs` of the variable folder unless it is set."""
    return {"MQLITE_HOME": str(variable_folder() / "qmgrs"), **os.environ}


def mqlite(*arguments: str, stdin: str | None = None, also: tuple[int, ...] = ()) -> str:
    """Run one `mqlite` command, as a person would; returns what it printed. `also`: exit codes that are not failures.

    Raises:
        RuntimeError: with the command's output, when it ends with anything but 0.
    """
    command = [sys.executable, "-m", "mqlite.cli", *arguments]
    result = subprocess.run(command, input=stdin, text=True, capture_output=True, env=environment())
    if result.returncode and result.returncode not in also:
        raise RuntimeError(
            f"mqlite {' '.join(arguments)} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
        )
    return result.stdout


def existing() -> dict[str, str]:
    """Queue manager name → its state, as `mqlite list --json` says."""
    return {str(row["name"]): str(row["status"]) for row in json.loads(mqlite("list", "--json"))}


def create_and_start() -> None:
    """Make the queue managers and objects that are missing, start the services. What a person altered stays."""
    there = existing()
    for name, platform in QUEUE_MANAGERS.items():
        if name not in there:
            mqlite("create", name, "--platform", platform)
        define_missing(name)
        if there.get(name) != "running":
            mqlite("start", name)
    for name, channels in SENDERS.items():
        start_channels(name, channels)


def define_missing(queue_manager: str) -> None:
    """Define what the queue manager's MQSC file has and the queue manager has not.

    Raises:
        RuntimeError: a command failed for another reason than that its object exists (`THERE_ALREADY`).
    """
    output = mqlite("mqsc", queue_manager, stdin=(MQSC / f"{queue_manager}.mqsc").read_text(), also=(10,))
    failed = [
        line for line in re.findall(r"^AMQ\d{4}E: .*$", output, re.MULTILINE) if not line.startswith(THERE_ALREADY)
    ]
    if failed:
        raise RuntimeError(f"{MQSC / queue_manager}.mqsc: {'; '.join(failed)}\n{output}")


def start_channels(queue_manager: str, channels: tuple[str, ...]) -> None:
    """Start the sender channels that are neither running nor about to."""
    status = mqlite("mqsc", queue_manager, stdin="DISPLAY CHSTATUS(*) STATUS\n", also=(10,))
    running = set(re.findall(r"CHANNEL\(([^\s()]+)\)[^A]*?STATUS\((?:RUNNING|RETRYING|STARTING|BINDING)\)", status))
    commands = "".join(f"START CHANNEL({channel})\n" for channel in channels if channel not in running)
    if commands:
        mqlite("mqsc", queue_manager, stdin=commands)


def end() -> None:
    """Stop the services of the queue managers that are running."""
    there = existing()
    for name in QUEUE_MANAGERS:
        if there.get(name) == "running":
            mqlite("end", name)


def wait_until_empty(queue_manager: str, queue: str) -> None:
    """Wait for a transmission queue to drain, the batch under way included, as long as it keeps moving.

    Raises:
        RuntimeError: nothing has moved for a minute.
    """
    before, moved = "", time.monotonic()
    while (now := waiting(queue_manager, queue)) != ("0", "NO"):
        if str(now) != before:
            before, moved = str(now), time.monotonic()
        elif time.monotonic() - moved > 60:
            raise RuntimeError(f"{now[0]} messages stay on {queue} of {queue_manager}: see DISPLAY CHSTATUS(*) there")
        time.sleep(0.1)


def waiting(queue_manager: str, queue: str) -> tuple[str, str]:
    """CURDEPTH and UNCOM of a queue; a message got and not yet committed counts in the second only."""
    status = mqlite("mqsc", queue_manager, stdin=f"DISPLAY QSTATUS({queue}) CURDEPTH UNCOM\n")
    return re.findall(r"CURDEPTH\((\d+)\)", status)[0], re.findall(r"UNCOM\((\w+)\)", status)[0]


def depth_of(connection: object, queue: str) -> int:
    """Current depth of a local queue, in messages."""
    import pymqi  # noqa: PLC0415

    handle = pymqi.Queue(connection, queue, pymqi.CMQC.MQOO_INQUIRE)
    try:
        return int(handle.inquire(pymqi.CMQC.MQIA_CURRENT_Q_DEPTH))
    finally:
        handle.close()


def main() -> int:
    """`python -m mqops_demo.estate up|down`: the queue managers of the demonstration."""
    if sys.argv[1:] == ["up"]:
        if not tell_errors():
            return 1
        create_and_start()
        print(f"Queue managers {', '.join(QUEUE_MANAGERS)} are running (MQLITE_HOME={environment()['MQLITE_HOME']})")
    elif sys.argv[1:] == ["down"]:
        end()
        print("Queue managers: ended")
    else:
        print(main.__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
