"""Each command that takes the name of a queue: an alias is read and said; another name is told with what to write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest
from mq_support import Manager

from mqops.cli import main
from mqops.deciders.backout import survey
from mqops.deciders.choice import named_queues
from mqops.deciders.dead_letters import source_queue
from mqops.errors import MQError, SettingsError
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
DEFINE QREMOTE(FAR.AWAY) RNAME(THERE) RQMNAME(QM3)
DEFINE QMODEL(MODEL)
DEFINE QALIAS(TWICE) TARGET(BY.ALIAS)
DEFINE QALIAS(TO.FAR) TARGET(FAR)
DEFINE TOPIC(NEWS) TOPICSTR('news')
DEFINE QALIAS(TO.TOPIC) TARGET(NEWS) TARGTYPE(TOPIC)
"""
COMMANDS: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "move": lambda queue, _file: ("message", "move", queue, "--all", "--to", "OUT", "--dry-run"),
    "find": lambda queue, _file: ("message", "find", queue),
    "show": lambda queue, _file: ("message", "show", queue, "--position", "0"),
    "export": lambda queue, file: ("message", "export", queue, file),
    "snapshot take": lambda queue, _file: ("snapshot", "take", queue),
    "anatomy": lambda queue, _file: ("dlq", "anatomy", queue),
    "dlq": lambda queue, file: ("dlq", "run", queue, "--once", "--dry-run", "--rules", file),
    "backout": lambda queue, file: ("backout", "run", queue, "--rules", file, "--dry-run"),
    "guard": lambda queue, _file: ("backout", "guard", queue, "--dry-run", "--watch", "0"),
    "scan": lambda queue, _file: ("expiry", "scan", queue),
    "forecast": lambda queue, _file: ("expiry", "forecast", queue),
    "age-out": lambda queue, _file: ("expiry", "age-out", queue, "--older-than", "1d", "--dry-run"),
    "trigger": lambda queue, _file: ("trigger", "explain", queue),
}
TO: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "move --to": lambda queue, _file: ("message", "move", "OUT", "--all", "--to", queue, "--dry-run"),
    "load": lambda queue, file: ("message", "load", file, queue),
    "quarantine": lambda queue, _file: ("backout", "run", "OUT", "--dry-run", "--quarantine", queue),
}
"""Commands that put on a queue that is named."""
TAKES_A_NAME = {
    **dict.fromkeys(
        ("message find", "message show", "message export", "snapshot take", "dlq anatomy", "dlq run"), "read"
    ),
    **dict.fromkeys(
        ("backout run", "backout guard", "expiry scan", "expiry forecast", "expiry age-out", "trigger explain"), "read"
    ),
    **dict.fromkeys(("message move", "message copy", "message discard", "message park", "message replay"), "read"),
    "message load": "put on",
    "runs": "a filter of what was recorded",
    "quality suggest": "a queue of a snapshot",
    "init": "a profile",
}
"""Each command with a parameter that names queues → what becomes of the name."""
WRONG = {
    "FAR": "is a remote queue, which holds no messages",
    "MODEL": "is a model queue, which holds no messages: name a local queue",
    "TO.NOTHING": "It is an alias of NOT.THERE, which is not there: DEFINE QLOCAL(NOT.THERE), or ALTER QALIAS(",
    "pay.in": "It is not there, PAY.IN is: names of queues are case-sensitive",
    "PAY.INN": "Define it, or correct the name: DEFINE QLOCAL(PAY.INN). The nearest name is PAY.IN",
    "ELSE": "Define it, or correct the name: DEFINE QLOCAL(ELSE)",
    "TWICE": "It is an alias of BY.ALIAS, which is an alias too, and the queue manager follows one only: "
    "ALTER QALIAS(TWICE) TARGET(PAY.IN)",
    "TO.TOPIC": "It is an alias of the topic NEWS, which holds no messages: name the queue of a subscription",
    "FAR.AWAY": "is a remote queue, which holds no messages",
    "TO.FAR": "an alias of FAR, a remote queue, which holds no messages",
}
LEADS_NOWHERE = {
    **{name: WRONG[name] for name in ("TO.NOTHING", "TWICE", "TO.TOPIC", "pay.in", "PAY.INN")},
    "FAR.AWAY": "MQRC_UNKNOWN_REMOTE_Q_MGR (2087). No transmission queue leads to its queue manager: define one",
    "MODEL": "it is a model queue. Name a queue that can hold messages",
}
"""Destination → what the pre-flight says of it."""
NO_QUARANTINE = {
    "TO.NOTHING": "has TO.NOTHING, which is an alias of NOT.THERE, which is not there: name a local queue",
    "TWICE": "has TWICE, which is an alias of BY.ALIAS, which is an alias of PAY.IN: name a local queue",
    "MODEL": "has MODEL, which is a model queue: it holds no messages: name a local queue",
    "QM2": "has QM2, which is a transmission queue: its channel ends",
    "pay.in": "QM1 has no queue pay.in for messages that were replayed too often, PAY.IN is there: define it, or",
}
NO_INITIATION = {
    **dict.fromkeys(("BY.ALIAS", "TWICE", "TO.NOTHING", "TO.TOPIC", "FAR", "FAR.AWAY", "MODEL"), "is no local queue"),
    "pay.in": "there is no queue pay.in, PAY.IN is: names of queues are case-sensitive",
    "QM2": "it is a transmission queue",
}
NO_DEADQ = {
    "TWICE": "which is an alias of BY.ALIAS, which is an alias of PAY.IN",
    "TO.NOTHING": "which is an alias of NOT.THERE, which is not there",
    "TO.TOPIC": "which is an alias of the topic NEWS: it holds no messages",
    "TO.FAR": "which is an alias of FAR, which is a remote queue",
}
NO_BOQNAME = {
    "TWICE": "an alias of the alias BY.ALIAS, and the queue manager follows one only",
    "TO.NOTHING": "it is an alias of NOT.THERE, which is not there",
    "TO.FAR": "a remote queue: its messages leave this queue manager",
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


def test_every_command_that_takes_a_name_is_in_these_tables() -> None:
    found = {
        path: {one.name for one in command.params} & {"queue", "queues", "to", "quarantine", "words"}
        for path, command in _commands(main, click.Context(main))
    }
    taking = {path for path, names in found.items() if names}
    assert taking == set(TAKES_A_NAME), "a command that takes a name of a queue is a row of TAKES_A_NAME"
    assert {path for path, names in found.items() if "to" in names} == {"message move", "message copy", "message park"}
    assert {path for path, names in found.items() if "quarantine" in names} == {"backout run"}


def test_a_name_that_is_no_local_queue_s_is_told_by_every_command(manager: Manager, mqops_here: Any, file: Any) -> None:
    """Each command with one such name, and each name with one command for each way to ask the queue manager."""
    untold = []
    some = [("pay.in", name) for name in COMMANDS] + [(queue, name) for queue in WRONG for name in ("find", "backout")]
    some += [(queue, name) for queue in ("TWICE", "TO.TOPIC", "FAR.AWAY", "TO.FAR") for name in ("scan", "trigger")]
    for queue, name in some:
        done = mqops_here(*COMMANDS[name](queue, file(name == "export")), "-m", "QM1", expect=None)
        said = " ".join(done.output.split())
        words = WRONG[queue]
        told = (
            words if "a remote" not in words and "a model" not in words else words.partition(", which holds")[0][-12:]
        )
        if done.exit_code == 0 or told not in said:
            untold.append((queue, name, done.exit_code, said))
    assert untold == []


def test_where_messages_would_be_put_a_name_is_told_before_anybody_approves(
    manager: Manager, mqops_here: Any, tmp_path: Any
) -> None:
    messages = str(tmp_path / "messages.jsonl")
    manager.put("OUT", [({}, b"one")])
    mqops_here("message", "export", "OUT", messages, "-m", "QM1")
    silent = []
    for queue, told in LEADS_NOWHERE.items():
        for name in ("move --to", "load") if queue in {"TWICE", "pay.in"} else ("move --to",):
            said = " ".join(mqops_here(*TO[name](queue, messages), "-m", "QM1", expect=None).output.split())
            silent += [] if f"problem: {queue}: " in said and told in said else [(name, queue, said)]
    for name in ("move --to", "load"):
        said = mqops_here(*TO[name]("BY.ALIAS", messages), "-m", "QM1").output
        silent += [] if "BY.ALIAS is an alias of PAY.IN, where its messages go" in said else [(name, said)]
    assert silent == []


def test_a_queue_for_messages_that_were_replayed_too_often_takes_messages(manager: Manager, mqops_here: Any) -> None:
    for queue, told in NO_QUARANTINE.items():
        done = mqops_here(*TO["quarantine"](queue, ""), "-m", "QM1", text="ACTION(RETRY)\n", expect=1)
        assert told in done.output, queue
    for queue in ("BY.ALIAS", "FAR", "TO.FAR"):
        mqops_here(*TO["quarantine"](queue, ""), "-m", "QM1", text="ACTION(RETRY)\n")


def test_what_the_queue_manager_s_own_definitions_name_is_told(manager: Manager, mqops_here: Any) -> None:
    """DEADQ, BOQNAME and INITQ: IBM MQ wants a local queue there, and none of them ends a command."""
    for queue in dict.fromkeys((*NO_INITIATION, *NO_DEADQ, *NO_BOQNAME)):
        manager.mqsc(f"DEFINE QLOCAL(APP) REPLACE BOTHRESH(3) BOQNAME('{queue}') INITQ('{queue}') TRIGGER PROCESS(P)")
        if queue in NO_INITIATION:
            said = mqops_here("trigger", "explain", "APP", "-m", "QM1", expect=1).output
            assert NO_INITIATION[queue] in said
        with connect(manager.connection) as session:
            if queue in NO_BOQNAME:
                found = survey(session, replay_cap=3, quarantine="MQOPS.QUARANTINE").setting.remarks()
                assert any(NO_BOQNAME[queue] in one for one in found), found
            if queue in NO_DEADQ:
                manager.mqsc(f"ALTER QMGR DEADQ('{queue}')")
                with pytest.raises(SettingsError, match=re.escape(NO_DEADQ[queue])):
                    source_queue(session)
    assert mqops_here("trigger", "audit", "QM1", expect=None).exit_code == 1


def _commands(command: click.Command, context: click.Context, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(context):
        if (found := command.get_command(context, name)) is not None:
            yield from _commands(found, context, f"{path} {name}".strip())


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
