"""Behind the work of a run: triggering of the workflow's DEPTH queues is switched on again (`mqops.trigger.depth`)."""

from __future__ import annotations

from typing import Any

from mqops.mqsc import mqsc_name
from mqops.printable import printable
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.runs.workplace import estate_file
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md, plain


def trigger_again(log: Any, queue_manager: str, workflow: str) -> Markdown:
    """Switch it on where the estate says DEPTH.

    Returns a warning for the run's note if the queue manager refuses it, else nothing. What the run has done stays
    done.

    Raises:
        MQError: the queue manager does not answer.
    """
    from mqops.mq.connection import connect  # noqa: PLC0415 - loads the MQ library
    from mqops.trigger.depth import switch_on  # noqa: PLC0415

    estate = estate_file()
    settings = estate.estate.queue_managers.get(queue_manager)
    triggers = {name: section.trigger or "" for name, section in settings.triggered()} if settings else {}
    if settings is None or not triggers.get(workflow, "").startswith("DEPTH"):
        return NOTHING
    with connect(connection_for(queue_manager, estate)) as session:
        done = switch_on(session, queue_manager, settings, workflow)
    for queue in done.queues:
        log.info("%s: triggering is on again (TRIGTYPE(DEPTH))", printable(queue))
    warnings = [
        md(
            "Warning: triggering of {} may stay off (TRIGTYPE(DEPTH)): {}. The connection's user needs the authorities "
            "+inq +set on {}. An administrator can switch it on: {}",
            queue,
            error,
            queue,
            f"ALTER QLOCAL({mqsc_name(queue)}) TRIGGER",
        )
        for queue, error in done.refused.items()
    ]
    for warning in warnings:
        log.warning("%s", printable(plain(warning)))
    return joined(" ", warnings)
