"""Discard by age in one process: observe, decide, act, prove (`mqops expiry age-out`).

The rules stand in `mqops.expiry.core.age_out`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mqops.act.core.lanes import DEFAULT_UNIT_SIZE
from mqops.act.in_process import act
from mqops.act.sources import check_source
from mqops.actions import EXPIRE
from mqops.decide.core import PlanSummary
from mqops.decide.in_process import COPIED, NO_RULE, write_plan
from mqops.deciders.dead_letters import new_run_key
from mqops.errors import SettingsError
from mqops.expiry.core.age_out import WORKFLOW, too_old
from mqops.lake.files import read_json
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.model import RunSummary
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import queue_manager_name
from mqops.observe.in_process import observe
from mqops.prove.prove import prove


def plan_age_out(
    connection: MqConnection, lake: Path, queues: Sequence[str], *, limit: timedelta, rehearsed_by: str = ""
) -> tuple[RunFolder, PlanSummary]:
    """Observe the queues and plan what is to be discarded; nothing is. Returns the run's folder and its plan.

    Parameters: `queues` names of local queues; `limit` the age from which a message is too old; `rehearsed_by` who
    wants a plan that `mqops dlq act` carries out as it stands.

    Raises:
        SettingsError: a queue is none that programs may discard from: a transmission queue, one of `SYSTEM.` or
            `MQOPS.`; or the limit is no age.
        MqopsError: nothing was done.
    """
    if limit <= timedelta(0):
        raise SettingsError("An age is greater than zero")
    names = tuple(dict.fromkeys(queues))
    with connect(connection) as session:
        queue_manager = queue_manager_name(session)
        for name in names:
            if name.startswith(("SYSTEM.", "MQOPS.")):
                raise SettingsError(f"{name} is not for discarding by age")
            check_source(session, name)
    run = RunFolder.at(lake, queue_manager, new_run_key())
    observe(connection, run, names)
    text = f"older than {limit}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    rows = _rows(run, limit)
    return run, write_plan(run, rows, workflow=WORKFLOW, table=(text, digest, text), requested_by=rehearsed_by)


def carry_out(
    connection: MqConnection,
    run: RunFolder,
    plan: PlanSummary,
    *,
    unit_size: int = DEFAULT_UNIT_SIZE,
    requested_by: str = "",
) -> RunSummary:
    """Act on a plan and prove what came of it. Raises `MqopsError`: what was committed is in the ledger."""
    act(connection, run, unit_size=unit_size, approved=plan.digest, about={"requested_by": requested_by})
    return prove(connection, run)


def _rows(run: RunFolder, limit: timedelta) -> Iterator[dict[str, Any]]:
    now = datetime.fromisoformat(str(read_json(run.observe_json)["observed_at"]))
    number = 0
    for batch in read_parquet(run.snapshot, list(COPIED)):
        for message in batch.to_pylist():
            old = too_old(message["put_date"], message["put_time"], now=now, limit=limit)
            action = EXPIRE if old else "IGNORE"
            yield {"row": number, **message, **NO_RULE, "action": action, "unit_group": action}
            number += 1
