"""Each command that takes the name of a queue: an alias is read and said; another name is told with what to write."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mq_support import Manager

from mqops.deciders.backout import survey
from mqops.deciders.choice import named_queues
from mqops.deciders.dead_letters import source_queue
from mqops.errors import MQError
from mqops.expiry.scan import candidates
from mqops.mq.connection import connect
from mqops.mq.session import Session
from mqops.quality.queues import choose_queues
from mqops.trigger.look import manager as manager_of
from mqops.trigger.look import triggered_queue

QUEUES = """\
DEFINE QLOCAL(PAY.IN)
DEFINE QLOCAL(OUT)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QALIAS(BY.ALIAS) TARGET(PAY.IN)
DEFINE QALIAS(TO.NOTHING) TARGET(NOT.THERE)
DEFINE QLOCAL(QM2) USAGE(XMITQ)
DEFINE QREMOTE(FAR) RNAME(THERE) RQMNAME(QM2) XMITQ(QM2)
DEFINE QMODEL(MODEL)
"""
COMMANDS: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "move": lambda queue, _file: ("message", "move", queue, "--all", "--to", "OUT", "--dry-run"),
    "find": lambda queue, _file: ("message", "find", queue),
    "show": lambda queue, _file: ("message", "show", queue, "--position", "0"),
    "export": lambda queue, file: ("message", "export", queue, file),
    "snapshot": lambda queue, _file: ("snapshot", queue),
    "anatomy": lambda queue, _file: ("dlq", "anatomy", queue),
    "dlq": lambda queue, file: ("dlq", "run", queue, "--once", "--dry-run", "--rules", file),
    "backout": lambda queue, file: ("backout", "run", queue, "--rules", file, "--dry-run"),
    "scan": lambda queue, _file: ("expiry", "scan", queue),
    "forecast": lambda queue, _file: ("expiry", "forecast", queue),
    "age-out": lambda queue, _file: ("expiry", "age-out", queue, "--older-than", "1d", "--dry-run"),
    "trigger": lambda queue, _file: ("trigger", "explain", queue),
}
WRONG = {
    "FAR": "is a remote queue, which holds no messages",
    "MODEL": "is a model queue, which holds no messages: name a local queue",
    "TO.NOTHING": "It is an alias of NOT.THERE, which is not there: DEFINE QLOCAL(NOT.THERE), or ALTER QALIAS(",
    "pay.in": "It is not there, PAY.IN is: names of queues are case-sensitive",
    "PAY.INN": "Define it, or correct the name: DEFINE QLOCAL(PAY.INN). The nearest name is PAY.IN",
    "ELSE": "Define it, or correct the name: DEFINE QLOCAL(ELSE)",
}


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def file(tmp_path: Any) -> Callable[[], str]:
    """A new rules table; an export finds a name that no file has."""
    table = tmp_path / "t.rules"
    table.write_text("ACTION(RETRY)\n")
    numbers = iter(range(10_000))
    return lambda export=False: str(tmp_path / f"export{next(numbers)}") if export else str(table)


def test_an_alias_is_read_and_said_by_every_command(manager: Manager, mqops_here: Any, file: Any) -> None:
    manager.put("PAY.IN", [({"Format": "MQSTR"}, b"one")])
    silent = []
    for name, command in COMMANDS.items():
        done = mqops_here(*command("BY.ALIAS", file(name == "export")), "-m", "QM1", expect=None)
        said = " ".join(done.output.split())
        assert not {"MQRC", "no such"} & set(said.split()), (name, said)
        if not ("BY.ALIAS" in said and "alias of PAY.IN" in said):
            silent.append((name, said))
    assert silent == []
    assert manager.depth("PAY.IN") == 1


def test_a_name_that_is_no_local_queue_s_is_told_by_every_command(manager: Manager, mqops_here: Any, file: Any) -> None:
    """Each command with one such name, and each name with some commands."""
    untold = []
    some = [("pay.in", name) for name in COMMANDS] + [(queue, name) for queue in WRONG for name in ("backout",)]
    for queue, name in some:
        done = mqops_here(*COMMANDS[name](queue, file(name == "export")), "-m", "QM1", expect=None)
        said = " ".join(done.output.split())
        words = WRONG[queue]
        told = words if "is a " not in words else words.partition("is a ")[2].partition(",")[0]
        if done.exit_code == 0 or told not in said:
            untold.append((queue, name, done.exit_code, said))
    assert untold == []


def test_what_forms_ask_a_queue_manager_is_told_with_the_name(manager: Manager, tmp_path: Any) -> None:
    """The functions by which the first tasks of the DAGs look at the queues of their forms."""
    looks: dict[str, Callable[[Session, str], object]] = {
        "dlq_rules": source_queue,
        "mq_recover": lambda session, queue: named_queues(session, [queue]),
        "backout_reprocess": lambda session, queue: survey(
            session, queues=[queue], replay_cap=3, quarantine="MQOPS.QUARANTINE"
        ),
        "snapshot_quality": lambda session, queue: choose_queues(session, [queue]),
        "expiry_scan": lambda session, queue: candidates(session, tmp_path, [queue]),
        "mq_trigger_explain": lambda session, queue: triggered_queue(session, queue, manager_of(session)),
    }
    for name, look in looks.items():
        with pytest.raises(MQError) as told, connect(manager.connection) as session:
            look(session, "pay.in")
        assert "It is not there, PAY.IN is: names of queues are case-sensitive" in str(told.value), name
        with connect(manager.connection) as session:
            look(session, "BY.ALIAS")


def test_with_json_a_wrong_name_keeps_its_reason(manager: Manager, mqops_here: Any) -> None:
    done = mqops_here("message", "find", "pay.in", "-m", "QM1", "--json", expect=None)
    error = json.loads(done.stdout)["error"]
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085)" in error["message"]
    assert "PAY.IN is: names of queues are case-sensitive" in error["message"]
