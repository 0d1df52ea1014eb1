"""Runs for the tests of their pages: a queue manager with dead letters, and runs that Airflow's database knows."""

from __future__ import annotations

import pickle
import re
import uuid
from html import unescape
from pathlib import Path
from typing import Any

import pymqi
from ledger_opened import act, prove
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.clock import utc_now
from mqops.decide.core.pacing import Pacing
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.look.run_row import run_line
from mqops.look.words.run_name import name_of
from mqops.rules import parse
from mqops_airflow.pages.shown import shortened
from mqops_airflow.runs.run_folder import run_key

HOSTILE = "<script>alert(1)</script>"

TABLE = """\
DESTQ(A) ACTION(RETRY)
DESTQ(FULL) ACTION(RETRY)
APPLNAME('<img src=x>') ACTION(DISCARD)
"""

DAG = "qm1_dlq_rules"
QUESTION = {"dag_id": DAG, "run_id": "first", "digest": "d", "text": "t"}
"""Of RUN/approval.json."""


def planned(manager: Any, lake: Path, *, key: str = "", text: str = TABLE) -> RunFolder:
    parsed = parse(text)
    assert parsed.table, parsed.errors
    what = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parsed.table, text=text, queue=DLQ, pacing=Pacing()
    )
    run, _plan = plan_run(DEAD_LETTERS, what)
    if key:
        run.path.rename(run.path.parent / key)
    return RunFolder(run.path.parent / (key or run.run))


def undo_planned(manager: Any, lake: Path, *, text: str = TABLE) -> tuple[RunFolder, RunFolder]:
    """A run that moved one message, and an undo of it that was planned and not begun."""
    letters(manager, "A")
    run = planned(manager, lake, text=text)
    act(manager.connection, run)
    prove(manager.connection, run)
    undo, _plan = plan_run(UNDO, UndoRequest(connection=manager.connection, lake=lake, undoes=run))
    return run, undo


def take(manager: Any, queue: str, number: int) -> None:
    """As an application does."""
    with manager.connected() as application:
        handle = pymqi.Queue(application, queue, CMQC.MQOO_INPUT_SHARED)
        for _ in range(number):
            handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT))
        handle.close()


def letters(manager: Any, *names: str, **fields: Any) -> None:
    manager.put(DLQ, [dead_letter(name, b"secret of %d" % number, **fields) for number, name in enumerate(names)])


def words_of(page: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.replace("<wbr>", ""))).split())


def said_of(run: RunFolder) -> str:
    """A run as a sentence of a page has it, without markup."""
    return f'run "{name_of(run_line(run), utc_now())}" {shortened(run.run)}'


def link_of(run: RunFolder) -> str:
    """A run as a sentence of a page has it, as markup on one line, without the places where a name may break."""
    to = f'<a class="name" href="/run?queue_manager={run.queue_manager}&amp;run={run.run}" title="{run.run}">'
    name = f"&#34;{name_of(run_line(run), utc_now())}&#34;"
    return f'{to}run {name}</a> <span class="key" title="{run.run}">{shortened(run.run)}</span>'


def task_of(run_id: str, task: str, state: str) -> str:
    """The statement that adds a task to a run in Airflow's database."""
    names = "id, task_id, dag_id, run_id, map_index, try_number, state, pool, pool_slots, executor_config"
    values = f"'{uuid.uuid4().hex}', '{task}', '{DAG}', '{run_id}', -1, 1, '{state}', 'p', 1"
    return f"INSERT INTO task_instance ({names}) VALUES ({values}, X'{pickle.dumps({}).hex()}')"


def of_dag(run: RunFolder, run_id: str, **found: object) -> RunFolder:
    """A run of the lake as one that a DAG has made."""
    key = run.path.parent / run_key(DAG, run_id)
    run.path.rename(key)
    write_json(RunFolder(key).path.joinpath("handed_on.json"), {"dag_id": DAG, "run_id": run_id, "found": found})
    return RunFolder(key)


WITH_A_RUN = ("backout_reprocess", "dlq_rules", "expiry_scan", "recover", "snapshot_quality", "undo")

"""The DAG files whose runs have a folder, and so a page."""
