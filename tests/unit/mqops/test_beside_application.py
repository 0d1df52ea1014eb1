"""Several handlers at work on a dead-letter queue that a real application reads, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import commands
from mq_support import DLQ, dead_letter, until

TABLE = "DESTQ(A) ACTION(RETRY)\nDESTQ(B) ACTION(DISCARD)\nACTION(IGNORE)\n"
READER = Path(__file__).with_name("dlq_reader.py")
MESSAGES, MOST_GOT, PACE = 360, 90, 30
"""PACE makes a pass last for seconds, so that all three are at work at the same time."""


def test_D11_two_handlers_beside_an_application_are_exact(queue_manager, tmp_path):
    manager, lake = queue_manager(mqsc="DEFINE QLOCAL(A)\n"), tmp_path / "lake"
    messages = [dead_letter("ABC"[number % 3], b"%d" % number) for number in range(MESSAGES)]
    put = dict(zip((one.hex() for one in manager.put(DLQ, messages)), (body for _md, body in messages), strict=True))
    environment = {**manager.environment, "MQOPS_LAKE": str(lake)}
    (tmp_path / "t.rules").write_text(TABLE)
    pipes = {"env": environment, "text": True, "stdout": subprocess.PIPE}

    reader = subprocess.Popen([sys.executable, READER, "QM1", DLQ, str(MOST_GOT)], stdin=subprocess.PIPE, **pipes)
    handlers = []
    try:
        assert reader.stdout.readline() == "ready\n"
        command = [*(sys.executable, "-m", "mqops.cli", "dlq", "run", "--once", DLQ, "QM1"), "--json"]
        command += ["--rules", str(tmp_path / "t.rules"), "--unit-size", "5", "--pace", str(PACE)]
        handlers = [commands.Command(command, **pipes) for _ in range(2)]
        until(lambda: len(list(lake.glob("QM1/runs/*/issued.json"))) == 2)  # both act
        reader.stdin.write("go\n")
        reader.stdin.flush()
        summaries = [json.loads(handler.communicate()[0]) for handler in handlers]
        document = json.loads(reader.communicate()[0])
    finally:
        for process in (reader, *handlers):
            process.kill()

    # what the application has backed out behind a handler's back is left, and told by the exit code
    left_over = [any(one["left"] for one in run["rules"] if one["action"] != "IGNORE") for run in summaries]
    assert [handler.returncode for handler in handlers] == left_over
    export = [sys.executable, "-m", "mqops.cli", "ledger", "export"]
    events = map(json.loads, commands.run(export, check=True, **pipes).stdout.splitlines())
    acted = [(event["action"], event["msg_id"]) for event in events if event["outcome"] == "acted"]
    moved = [one for action, one in acted if action == "RETRY"]
    discarded = [one for action, one in acted if action == "DISCARD"]
    got = [one for one, _body in document["got"]]
    left = [md["MsgId"].hex() for md, _body in manager.messages(DLQ)]

    # each message is in one place, whole
    assert Counter(got + moved + discarded + left) == Counter(list(put))
    assert all(put[one].hex() == body for one, body in document["got"])
    assert Counter(manager.bodies("A")) == Counter(put[one][172:] for one in moved)
    assert all(put[md["MsgId"].hex()] == body for md, body in manager.messages(DLQ))
    # everybody had a part in it, and who came too late has counted it
    assert len(got) >= MOST_GOT
    assert min(document["backouts"], len(moved), len(discarded), *(one["moved"] for one in summaries)) > 0
    assert [one["balanced"] for one in summaries] == [True, True]
    for one in summaries:
        assert one["planned"] == one["moved"] + one["discarded"] + one["left"] + one["gone"]
        assert one["gone"] > 0
    assert sum(one["moved"] for one in summaries) == len(moved)
    assert sum(one["discarded"] for one in summaries) == len(discarded)
    assert manager.depth("MQOPS.LEDGER") == 0
    verify = [sys.executable, "-m", "mqops.cli", "ledger", "verify"]
    assert commands.run(verify, **pipes).returncode == 0
