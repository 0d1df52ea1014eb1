"""How the run of a workflow begins: in a folder of its own, unless it waits for another one or has nothing to do."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from airflow.sdk import SkipMixin

from mqops.printable import printable
from mqops_airflow.approval.which_run import acts, one_at_a_time, waited_for
from mqops_airflow.notices.outcome_text import keep_for_note
from mqops_airflow.runs.run_folder import hand_on, own_folder
from mqops_airflow.ui.markdown import Markdown, md, plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from airflow.sdk import BaseOperator, Context

    from mqops.lake.run import RunFolder
    from mqops_airflow.runs.run_folder import XCom

NOTHING_TO_DO = md("Nothing to do")


class Begun(NamedTuple):
    """Parameters: `folder` of the run; `handed` what is handed on to the tasks behind this one."""

    folder: RunFolder
    handed: XCom


@contextmanager
def begun(
    operator: BaseOperator, context: Context, lake_folder: Path, queue_manager: str, found: XCom
) -> Iterator[Begun | None]:
    """A run that may act: other runs see it from here on. Its folder goes if the task fails.

    None where a run of any DAG is waited for: then this run has ended here (`end_here`).

    Parameters: `found` what is handed on; its `queue` has the names of the queues, with commas.

    Raises:
        LakeError: the disk refuses, or another task holds the lock.
    """
    with ExitStack() as of_run:
        run = None
        with one_at_a_time(lake_folder, queue_manager):
            if why := waited_for(context, lake_folder, queue_manager, str(found["queue"]).split(",")):
                end_here(operator, context, found, why)
            else:
                folder = of_run.enter_context(own_folder(context, lake_folder, queue_manager))
                run = Begun(folder, hand_on(context, folder, {**found, "acts": acts(context)}))
        yield run


def end_here(operator: BaseOperator, context: Context, found: XCom, why: Markdown = NOTHING_TO_DO) -> XCom:
    """Skip everything behind the task, and say why."""
    operator.log.info("%s", printable(plain(why)))
    keep_for_note(context, why)
    context["ti"].xcom_push(key="return_value", value=found)
    SkipMixin().skip(context["ti"], context["task"].get_flat_relatives(upstream=False))  # type: ignore[no-untyped-call]
    return found
