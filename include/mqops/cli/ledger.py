"""`mqops ledger`: check the ledger, ask it what became of a message, drain the ledger queue into it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json
from mqops.errors import LedgerBroken
from mqops.store.ledger import LedgerFile
from mqops.workflow.clock import utc_now
from mqwire.names import reason_name


@click.group()
def ledger() -> None:
    """The record of everything that was moved or discarded."""


@ledger.command()
@click.argument("queue_managers", metavar="[QMGR]...", nargs=-1)
@lake_option
@json_option
@known_errors
def verify(*, queue_managers: tuple[str, ...], lake: Path, as_json: bool) -> None:
    """Check that no line of the ledgers was changed, removed or added (none named: all ledgers of the lake)."""
    results = [_verified(name, lake / name) for name in queue_managers or _all(lake)]
    if as_json:
        show_json({"ok": all(result["ok"] for result in results), "ledgers": results})
    for result in [] if as_json else results:
        click.echo(f"{result['queue_manager']}: {result['lines']} lines, {result['error'] or 'unbroken'}")
    sys.exit(0 if all(result["ok"] for result in results) else 1)


def _all(lake: Path) -> list[str]:
    return sorted(path.parent.parent.name for path in lake.glob("*/ledger/ledger.jsonl"))


def _verified(name: str, folder: Path) -> dict[str, Any]:
    lines, head, error = 0, "", ""
    try:
        for entry in LedgerFile(folder, utc_now).entries():
            lines, head = lines + 1, entry["hash"]
    except LedgerBroken as broken:
        error = str(broken)
    return {"queue_manager": name, "ok": not error, "lines": lines, "head": head, "error": error}


@ledger.command()
@click.argument("msg_id", metavar="MSGID")
@lake_option
@json_option
@known_errors
def show(*, msg_id: str, lake: Path, as_json: bool) -> None:
    """What was done with the messages whose MsgId (hex) begins with MSGID, in all ledgers of the lake."""
    found = list(_history(lake, msg_id.lower()))
    if as_json:
        show_json({"msg_id": msg_id, "events": found})
    for event in [] if as_json else found:
        target = f" {event['dest_q']}@{event['dest_q_mgr']}" if event["dest_q"] else ""
        failed = f" failed: {event['reason']}" if event["reason"] else ""
        click.echo(f"{event['at']}  {event['queue_manager']}  {event['action']}{target}{failed}  run {event['run']}")
    sys.exit(0 if found else 1)


def _history(lake: Path, msg_id: str) -> Iterator[dict[str, Any]]:
    for name in _all(lake):
        for marker in LedgerFile(lake / name, utc_now).markers():
            for row, key, row_msg_id, action, rule_key, dest_q, dest_q_mgr, reason, _body in marker.rows:
                if row_msg_id.startswith(msg_id):
                    yield {
                        **{"at": marker.at, "queue_manager": name, "run": marker.run, "plan": marker.plan},
                        **{"unit": marker.unit, "row": row, "msg_key": key, "msg_id": row_msg_id, "action": action},
                        **{"rule_key": rule_key, "dest_q": dest_q, "dest_q_mgr": dest_q_mgr},
                        "reason": reason_name(reason) if reason else "",
                    }


@ledger.command()
@click.option("--queue-manager", "-m", default="", help="The queue manager; else the default one.")
@lake_option
@json_option
@known_errors
def drain(*, queue_manager: str, lake: Path, as_json: bool) -> None:
    """Record all markers that lie on the ledger queue, also those of runs that nobody proved."""
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.mq.ledger_queue import LedgerQueue  # noqa: PLC0415
    from mqops.store.run import RunFolder  # noqa: PLC0415
    from mqops.workflow.prove import drain as drain_plan  # noqa: PLC0415

    with connect(connection_to(queue_manager)) as session:
        name = queue_manager_name(session)
        file = LedgerFile(RunFolder.at(lake, name, "any").lake_folder, utc_now)
        queue = LedgerQueue(session)
        plans = list(queue.plans())
        queue.close()
        lines = 0
        for plan in plans:
            run = RunFolder.at(lake, name, plan.run)
            lines += drain_plan(session, file, run if run.path.is_dir() else None, plan)
    show_json({"queue_manager": name, "lines": lines}) if as_json else click.echo(f"{name}: {lines} lines added")
