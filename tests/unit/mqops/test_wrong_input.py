"""What can be wrong around `mqops dlq run`, by the command itself: exit code, what it says to do, no message lost."""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import commands
import pytest
from click.testing import CliRunner
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.cli import main

OTHER = "OTHER.DLQ"
RETRY = "ACTION(RETRY)\n"
LEDGER = "DEFINE QLOCAL(MQOPS.LEDGER) DEFPSIST(YES)"
LIMIT = 2_500_000  # bytes a file may have; the embedded queue manager writes less in a run
SMALL_DISK = """\
lake=$1; size=$2; shift 2
mount -t tmpfs -o size="$size",mode=700 none "$lake" || exit 77
first=$(mktemp); "$@" dlq run --once "$QUEUE" QM1 --rules "$RULES" >"$first" 2>&1; echo "$?"; tail -n 1 "$first"
mount -o remount,size=50m "$lake"
"$@" dlq run --once "$QUEUE" QM1 --rules "$RULES" --json || exit
for issued in "$lake"/QM1/runs/*/issued.json; do
    run=${issued%/*}; test -e "$run/summary.json" || "$@" resume --finish --json "${run##*/}" || exit
done
"$@" ledger verify
"""


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc=f"DEFINE QLOCAL(A)\nDEFINE QLOCAL({OTHER})\nDEFINE QLOCAL(SAVED)\n")


@pytest.fixture
def mqops(manager, lake):
    """Runs `mqops` with the test's queue manager and lake."""

    def run(
        *arguments: str, text: str = RETRY, limit: int = 0, expect: int = 0, **more: str
    ) -> subprocess.CompletedProcess[str]:
        def limited() -> None:
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = commands.run(
            [sys.executable, "-m", "mqops.cli", *arguments],
            input=text,
            env={**manager.environment, "MQOPS_LAKE": str(lake), **more},
            text=True,
            capture_output=True,
            preexec_fn=limited if limit else None,
        )
        assert done.returncode == expect, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def error_text(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what is wrong."""
    assert done.stdout == ""
    return error_line(done.stderr)


def error_line(stderr: str) -> str:
    """The last line, and the only one that is not the key of the run, its progress or a problem of the pre-flight."""
    lines = [line for line in stderr.splitlines() if line.startswith("mqops: ")]
    (error,) = [line for line in lines if not line.startswith(("mqops: run ", "mqops: problem: "))]
    assert error == lines[-1]
    return error


def test_a_wrong_password(manager, mqops):
    manager.put(DLQ, [dead_letter("A", b"x")] * 3)
    manager.mqlite("user", "add", "QM1", "alice", text="right one\n")
    manager.mqsc(
        "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('alice') AUTHADD(ALL)\n"
        "SET AUTHREC PROFILE('**') OBJTYPE(QUEUE) PRINCIPAL('alice') AUTHADD(ALL)\n"
    )
    wrong = mqops("dlq", "run", "--once", "-u", "alice", DLQ, "QM1", text=f"hunter2\n{RETRY}", expect=1)
    assert error_text(wrong) == (
        "mqops: MQCONNX on QM1 failed: MQRC_NOT_AUTHORIZED (2035). "
        "Check user and password of the connection and the authority records"
    )
    assert "hunter2" not in wrong.stderr
    assert (manager.depth(DLQ), manager.depth("MQOPS.LEDGER")) == (3, 0)
    assert "3 moved" in mqops("dlq", "run", "--once", "-u", "alice", DLQ, "QM1", text=f"right one\n{RETRY}").stdout
    assert manager.bodies("A") == [b"x"] * 3


def test_a_missing_library(manager, mqops, lake):
    manager.put(DLQ, [dead_letter("A", b"x")] * 3)
    wrong = mqops("dlq", "run", "--once", DLQ, "QM1", expect=1, MQLITE_PREFIX="/not/there")
    assert error_text(wrong).startswith("mqops: The MQ library cannot be loaded (")
    assert "/not/there/lib64/libmqm_r.so" in wrong.stderr
    assert error_text(wrong).endswith("for embedded queue managers run `mqlite build`")
    assert not lake.exists()
    assert manager.depth(DLQ) == 3
    assert "3 moved" in mqops("dlq", "run", "--once", DLQ, "QM1").stdout


def test_a_limit_for_the_size_of_a_file(manager, mqops):
    bodies = [os.urandom(LIMIT + 500_000), b"x"]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    wrong = mqops("dlq", "run", "--once", DLQ, "QM1", limit=LIMIT, expect=1)
    assert error_text(wrong).startswith("mqops: The lake failed at ")
    assert error_text(wrong).endswith(
        "File too large; raise the limit for the size of a file (ulimit -f), no message was lost"
    )
    assert (manager.depth(DLQ), manager.depth("A")) == (2, 0)
    assert "2 moved" in mqops("dlq", "run", "--once", DLQ, "QM1").stdout
    assert manager.bodies("A") == bodies


@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare here")
@pytest.mark.parametrize(
    "size",
    [
        "64k",  # the snapshot has no room
        "332k",  # nor the plan
        "348k",  # nor what act says of itself: the messages are moved, and proved when there is room
    ],
)
def test_a_full_disk_under_the_lake(manager, lake, tmp_path, size):
    bodies = [os.urandom(300_000), b"x", b"y", b"z"]
    manager.put(DLQ, [dead_letter("A", body) for body in bodies])
    lake.mkdir()
    rules = tmp_path / "table.rules"
    rules.write_text(RETRY)
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", SMALL_DISK, "sh", str(lake), size, sys.executable, "-m", "mqops.cli"],
        env={**manager.environment, "MQOPS_LAKE": str(lake), "QUEUE": DLQ, "RULES": str(rules)},
        text=True,
        capture_output=True,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no mount of one's own here: {done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr
    code, said, *then, verified = done.stdout.splitlines()
    assert code == "1"
    assert said.startswith(
        (f"mqops: The lake failed at {lake}/QM1/runs/cli-", f"mqops: The lake failed at {lake}/QM1/ledger/")
    )
    assert said.endswith("No space left on device; make room on the disk, no message was lost")
    assert sum(json.loads(line)["moved"] for line in then) == 4
    assert verified.endswith("lines, unbroken")
    assert manager.bodies("A") == bodies
    assert (manager.depth(DLQ), manager.depth("MQOPS.LEDGER")) == (0, 0)


def save(manager, source: str, target: str) -> None:
    """As an administrator does who moves messages away, with all of their context."""
    messages = [({k: v for k, v in md.items() if k != "Version"}, body) for md, body in manager.messages(source)]
    manager.put(target, messages, options=CMQC.MQOO_SET_ALL_CONTEXT)
    manager.mqsc(f"CLEAR QLOCAL({source})\n")


def delete_source(manager) -> None:
    save(manager, OTHER, "SAVED")
    manager.mqsc(f"DELETE QLOCAL({OTHER})\n")


def define_source(manager) -> None:
    manager.mqsc(f"DEFINE QLOCAL({OTHER})\n")
    save(manager, "SAVED", OTHER)


def delete_ledger(manager) -> None:
    manager.mqsc("DELETE QLOCAL(MQOPS.LEDGER)\n")


def define_ledger(manager) -> None:
    manager.mqsc(f"{LEDGER}\n")


@dataclass(frozen=True)
class Deleted:
    """A queue that goes between plan and act: how, how it comes back, what is said, where the messages are then."""

    delete: Callable[[Manager], None]
    define: Callable[[Manager], None]
    says: str
    where: str


DELETED = pytest.mark.parametrize(
    "deleted",
    [
        Deleted(
            delete_source,
            define_source,
            f"MQOPEN on {OTHER} failed: MQRC_UNKNOWN_OBJECT_NAME (2085). Define it, or correct the name",
            "SAVED",
        ),
        Deleted(
            delete_ledger,
            define_ledger,
            f"MQOPEN on MQOPS.LEDGER failed: MQRC_UNKNOWN_OBJECT_NAME (2085). Define it: {LEDGER}",
            OTHER,
        ),
    ],
    ids=["source", "ledger"],
)


@DELETED
def test_a_queue_deleted_between_plan_and_act(manager, mqops, deleted):
    manager.put(OTHER, [dead_letter("A", b"x")] * 3)
    plan = json.loads(mqops("dlq", "run", "--once", "--dry-run", "--json", OTHER, "QM1").stdout)
    act = ["dlq", "act", Path(plan["run"]).name, "-m", "QM1", "--approve", plan["plan"]["digest"]]
    deleted.delete(manager)
    assert deleted.says in error_text(mqops(*act, expect=1))
    assert (len(manager.bodies(deleted.where)), manager.depth("A")) == (3, 0)
    deleted.define(manager)
    assert "3 moved" in mqops(*act).stdout
    assert manager.bodies("A") == [b"x"] * 3
    assert "unbroken" in mqops("ledger", "verify").stdout


@DELETED
def test_a_queue_deleted_while_a_pass_runs(manager, mqops, lake, monkeypatch, deleted):
    """`warn_of` is what the command calls between its plan and its act."""
    manager.put(OTHER, [dead_letter("A", b"x")] * 3)
    monkeypatch.setattr(importlib.import_module("mqops.cli.dlq"), "warn_of", lambda _run: deleted.delete(manager))
    monkeypatch.setenv("MQOPS_LAKE", str(lake))
    done = CliRunner().invoke(main, ["dlq", "run", "--once", OTHER, "QM1"], input=RETRY)
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    assert deleted.says in error_line(done.stderr)
    assert (len(manager.bodies(deleted.where)), manager.depth("A")) == (3, 0)
    deleted.define(manager)
    assert "3 moved" in mqops("dlq", "run", "--once", OTHER, "QM1").stdout
    assert manager.bodies("A") == [b"x"] * 3
