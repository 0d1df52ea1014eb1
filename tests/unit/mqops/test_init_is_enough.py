"""The authorities that `mqops init` gives are enough: every command, and every workflow by it, works as that user."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from mq_support import DLQ, Manager, dead_letter

from mqops.cli import main
from mqops.mq.connection import MqConnection, connect
from mqops.trigger.monitor import TriggerMonitor
from mqops.trigger.work import handle_messages

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    reveal: [USER]
    dlq_rules: {rules: dlq.rules, trigger: DEPTH(9)}
    backout_reprocess: {rules: backout.rules, quarantine: MQOPS.QUARANTINE}
    poison_guard: {}
    snapshot_quality: {queues: ["LOOKED.*"], suites: [suite.yaml]}
    expiry_scan: {queues: ["OFFERS*"]}
    trigger_monitor: {queues: [MQOPS.INITQ]}
"""
SUITE = """\
suite: some
queues: ["*"]
expectations:
  - id: any
    expect: column_values_to_not_be_null
    column: msg_id
"""
QUEUES = """\
DELETE QLOCAL(MQOPS.LEDGER)
DEFINE QLOCAL(A)
DEFINE QLOCAL(PAY) BOTHRESH(2) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(LOOKED.AT.ONE)
DEFINE QLOCAL(OFFERS)
DEFINE QLOCAL(OFFERS.OLD.ONES)
DEFINE QLOCAL(NOT.OURS)
"""
APP = {"queue_manager": "QM1", "user": "app", "password": "secret"}
NO_QUEUE_MANAGER = {
    *("rules check", "rules diff", "rules explain", "rules keywords", "rules test", "quality suite"),
    *(
        "quality check",
        "quality export",
        "quality suggest",
        "quality vocabulary",
        *("snapshot columns", "snapshot diff", "snapshot export"),
        "runs",
        "run show",
        "ledger verify",
        "ledger export",
        "ledger rekey",
        "ledger index",
        "lake prune",
        "lake rekey",
        "estate example",
    ),
}
"""Commands that read files only."""


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    made: Manager = queue_manager(mqsc=QUEUES)
    made.mqlite("user", "add", "QM1", "app", text="secret\n")
    return made


@pytest.fixture
def as_app(manager: Manager, mqops_here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `mqops` as user app, who has what `mqops init` gives; each command is noted."""
    for name, text in (
        ("estate.yaml", ESTATE.replace("USER", getpass.getuser())),
        ("suite.yaml", SUITE),
        ("backout.rules", "ACTION(RETRY)\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "dlq.rules").write_text("ACTION(FWD) FWDQ(A)\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(tmp_path / "estate.yaml"))
    mqops_here("init", "QM1", "--user", "app", "--run", "--yes", expect=1)  # 1: the queue's own trigger is not changed
    alter = [line[2:] for line in mqops_here("init", "QM1", expect=1).stdout.splitlines() if "* ALTER" in line]
    manager.mqsc("\n".join(alter) + "\n")
    mqops_here("init", "QM1", "--user", "app")
    monkeypatch.setenv("MQOPS_CONNECTION", json.dumps(APP))

    def run(*words: str, text: str = "", expect: int | None = 0) -> str:
        name = next(one for one in sorted(commands(), key=len, reverse=True) if " ".join(words).startswith(one))
        run.done.add(name)  # type: ignore[attr-defined]
        done = mqops_here(*words, text=text, expect=expect)
        assert "MQRC_NOT_AUTHORIZED" not in done.output, done.output
        return str(done.stdout)

    run.done = set()  # type: ignore[attr-defined]
    return run


def commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The name of each command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield " ".join((*path, name))


def test_every_command_works_with_what_init_gives(as_app: Any, manager: Manager, tmp_path: Path) -> None:
    """What asks a queue manager, and is in no list above, is run here."""
    as_app("doctor", "QM1", "--json", expect=None)
    as_app("estate", "check", "--live", expect=None)
    as_app("estate", "status", expect=None)
    _dead_letters(as_app, manager)
    _backed_out(as_app, manager)
    _looked_at(as_app, manager)
    _chosen(as_app, manager, tmp_path)
    _triggering(as_app, manager)
    as_app("stop", "-m", "QM1")
    as_app("resume", "-m", "QM1")
    as_app("ledger", "drain", "-m", "QM1")
    as_app("init", "QM1")
    (run, *_more) = json.loads(as_app("runs", "--json", "--workflow", "dlq_rules", "--state", "done"))["runs"]
    as_app("run", "adopt", run["run"], "--why", "a try", "--yes", expect=1)  # it is signed
    untried = {*commands()} - NO_QUEUE_MANAGER - as_app.done
    assert not untried, "try each above with the authorities of `mqops init`, or name it in NO_QUEUE_MANAGER"


def test_the_doctor_fails_where_a_queue_that_a_pattern_stands_for_cannot_be_seen(as_app: Any, manager: Manager) -> None:
    def queues() -> dict[str, str]:
        checks = json.loads(as_app("doctor", "QM1", "--json", expect=None))["checks"]
        return next(one for one in checks if one["check"] == "queues")

    assert queues()["state"] == "holds"
    manager.mqsc("SET AUTHREC PROFILE('LOOKED.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHRMV(DSP)\n")
    assert queues()["state"] == "fails"
    assert "LOOKED.AT.ONE" in queues()["found"]


def test_what_looks_at_all_queues_names_those_that_cannot_be_seen(as_app: Any, manager: Manager) -> None:
    manager.mqsc("SET AUTHREC PROFILE('NOT.OURS') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)\n")  # instead of **
    manager.mqsc(f"ALTER QLOCAL({DLQ}) NOTRIGGER INITQ(' ')\n")  # else it is broken: no monitor is at work
    why = "1 queue not looked at, because the connection's user may not inquire it (+dsp, +inq, +browse): NOT.OURS"
    for words in (("expiry", "scan"), ("backout", "run"), ("trigger", "audit")):
        assert why in as_app(*words, "-m", "QM1", text="ACTION(RETRY)\n", expect=1)
    assert json.loads(as_app("trigger", "audit", "QM1", "--json", expect=1))["unseen"] == ["NOT.OURS"]
    mend = "SET AUTHREC PROFILE(NOT.OURS) OBJTYPE(QUEUE) PRINCIPAL(user) AUTHADD(DSP,INQ,BROWSE)"
    assert f"to know: QM1: {why}. To mend it: {mend}" in as_app("estate", "status", expect=None)
    checks = json.loads(as_app("doctor", "QM1", "--json", expect=1))["checks"]
    assert [(one["state"], one["found"]) for one in checks if one["check"] == "poison"] == [("unknown", why)]


def _dead_letters(as_app: Any, manager: Manager) -> None:
    (msg_id, _other) = manager.put(DLQ, [dead_letter("A", b"one"), dead_letter("A", b"two")])
    as_app("dlq", "anatomy", DLQ, "QM1")
    table = "ACTION(FWD) FWDQ(A)\n"
    dry = as_app("dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=table)
    plan = json.loads(dry.splitlines()[-1])["plan"]
    as_app("dlq", "act", plan["run"], "--approve", plan["digest"], "--json")
    assert manager.depth("A") == 2
    as_app("ledger", "show", msg_id.hex())
    as_app("ledger", "archive", "QM1")
    as_app("ledger", "outcomes", plan["run"], expect=None)
    as_app("undo", plan["run"], "--yes", "--json")
    assert (manager.depth("A"), manager.depth(DLQ)) == (0, 2)


def _backed_out(as_app: Any, manager: Manager) -> None:
    manager.put("PAY.BOQ", [({"Format": "MQSTR"}, b"one")])
    as_app("backout", "run", "-m", "QM1", "--json", text="ACTION(RETRY)\n", expect=None)
    assert manager.depth("PAY") == 1
    audited = json.loads(as_app("backout", "audit", "QM1", "--json", expect=None))
    assert audited["rights"] == ""
    assert {one["queue"] for one in audited["wrong"]}.isdisjoint({"PAY"})
    manager.mqsc("ALTER QLOCAL(PAY) BOTHRESH(1)")
    manager.back_out("PAY")
    guarded = json.loads(as_app(*["backout", "guard", "-m", "QM1", "--watch", "0", "--yes", "--json"], expect=None))
    assert (guarded["moved"], guarded["balanced"], manager.depth("PAY.BOQ")) == (1, True, 1)


def _looked_at(as_app: Any, manager: Manager) -> None:
    manager.put("LOOKED.AT.ONE", [({"Format": "MQSTR"}, b"one")])
    manager.put("OFFERS.OLD.ONES", [({"Expiry": 36_000}, b"later")])
    as_app("expiry", "forecast", "OFFERS*", "-m", "QM1")
    assert json.loads(as_app("expiry", "scan", "OFFERS*", "-m", "QM1", "--all", "--json"))["found"] == 1
    manager.put("PAY", [({}, b"young")])
    as_app("expiry", "age-out", "PAY", "-m", "QM1", "--older-than", "1d", "--dry-run", expect=None)
    assert json.loads(as_app("snapshot", "take", "LOOKED.AT.ONE", "-m", "QM1", "--json"))["messages"] == 1


def _chosen(as_app: Any, manager: Manager, tmp_path: Path) -> None:
    (msg_id,) = manager.put("A", [({"Format": "MQSTR", "CodedCharSetId": 1208}, b"one")])
    as_app("message", "find", "A", "-m", "QM1")
    as_app("message", "show", "A", msg_id.hex(), "-m", "QM1")
    for verb, more in (("copy", ["--to", "PAY"]), ("move", ["--to", "PAY"]), ("discard", [])):
        as_app("message", verb, "A", msg_id.hex(), "-m", "QM1", *more, "--dry-run", "--json")
    as_app("message", "park", "A", msg_id.hex(), "-m", "QM1", "--to", "MQOPS.QUARANTINE", "--dry-run", expect=None)
    as_app("message", "replay", DLQ, "--all", "-m", "QM1", "--dry-run", expect=None)
    file = str(tmp_path / "exported.txt")
    as_app("message", "export", "A", file, "-m", "QM1")
    as_app("message", "load", file, "A", "-m", "QM1", "--run", "--yes", expect=None)


def _triggering(as_app: Any, manager: Manager) -> None:
    manager.mqsc(
        "DEFINE PROCESS(P) APPLTYPE(UNIX) APPLICID('orders')\n"
        "DEFINE QLOCAL(TRIGGERED) TRIGGER TRIGTYPE(EVERY) INITQ(MQOPS.INITQ) PROCESS(P)\n"
        "SET AUTHREC PROFILE(TRIGGERED) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP)\n"
    )
    app = MqConnection(queue_manager="QM1", environment=manager.environment, user="app", password="secret")
    monitor = TriggerMonitor(app, ["MQOPS.INITQ"])
    monitor.open()
    as_app("trigger", "explain", "TRIGGERED", "QM1")
    as_app("trigger", "audit", "QM1", expect=None)
    manager.put("TRIGGERED", [({}, b"one")])
    assert any(monitor.look() for _ in range(20))
    with connect(app) as session:
        assert list(handle_messages(session, "MQOPS.INITQ", lambda _seen: None)) == []
    monitor.close()
    assert manager.depth("MQOPS.INITQ") == 0
