"""Which run of the lake a form means, and which other run it has to wait for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.errors import LakeError, SettingsError
from mqops.estate_parts import SECTIONS
from mqops.estate_sections import dag_prefix
from mqops.lake.files import make_folder
from mqops.lake.handed_on import HANDED_ON
from mqops.lake.lock_file import locked
from mqops.lake.run import RunFolder, find_run, folder_of
from mqops.printable import printable
from mqops_airflow.approval import answer
from mqops_airflow.approval.policy import unattended
from mqops_airflow.runs.dags_for_all import THAT_ACT
from mqops_airflow.runs.run_folder import folders, is_of, not_proved, run_key
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, link, md, words
from mqops_airflow.ui.views import address

if TYPE_CHECKING:
    from airflow.sdk import Context

UNFINISHED = ("queued", "running")
LOCK_WAIT = 60.0
"""Seconds."""


def run_named(lake: Path, *, name: str, queue_manager: str, planned: bool = False) -> RunFolder:
    """The run that a form names, by its key in the lake or by Airflow's run id.

    Parameters: `planned` whether it must have a plan.

    Raises:
        SettingsError: the lake has no such run, or runs of several DAGs have this id.
    """
    if not RunFolder.at(lake, queue_manager, name).path.is_dir():
        found = list(_of_airflow(lake, name, queue_manager))
        if len(found) > 1:
            keys = ", ".join(run.run for run in found)
            raise SettingsError(f"several DAGs have a run {printable(name)}; enter the name of one of them: {keys}")
        if found:
            name = found[0].run
    return find_run(lake, key=name, queue_manager=queue_manager, planned=planned)


def _of_airflow(lake: Path, run_id: str, queue_manager: str) -> Iterator[RunFolder]:
    """The last folder of each DAG's run with this id."""
    dag_ids = [f"{dag_prefix(queue_manager)}_{workflow}" for workflow in sorted(SECTIONS)]
    for dag_id in (*dag_ids, *THAT_ACT):
        for _number, folder in reversed(folders(lake, queue_manager, run_key(dag_id, run_id))):
            if is_of(folder, dag_id, run_id):
                yield folder
                break


def acts(context: Context) -> bool:
    """Whether the run may move messages: no dry run."""
    return unattended(context["dag_run"]) or not context["params"].get("dry_run", False)


@contextmanager
def one_at_a_time(lake: Path, queue_manager: str) -> Iterator[None]:
    """Look with `waited_for`, and hand on what is found, while no other first task of this queue manager does: of two
    runs that begin at the same moment the second sees the first.

    Raises:
        LakeError: the lock file cannot be made, or another task has held it for a minute.
    """
    place = folder_of(lake, queue_manager)
    make_folder(place)
    lock = place / "begin.lock"
    refused = LakeError(f"another run has held {lock} for {LOCK_WAIT:g} s: clear this task")
    with locked(lock, wait=LOCK_WAIT, refused=refused, place=place):
        yield


def waited_for(context: Context, lake: Path, queue_manager: str, queues: Iterable[str]) -> Markdown:
    """Which unfinished run acts, or waits to act, on one of these queues, in words; nothing if none does.

    Two such runs would lose nothing: each moves the messages of its own plan, and counts those that the other one took
    as gone. But people would be asked twice about the same messages. A dry run waits for nobody. A run that is not of a
    DAG for all queue managers waits for its own DAG only: a form that nobody answers holds no schedule and no trigger.
    """
    if not acts(context):
        return NOTHING
    own, wanted = context["dag_run"], set(queues)
    for run in _not_proved(lake, queue_manager):
        try:
            kept = HANDED_ON.read(run)
        except LakeError:  # the run itself says so; it keeps nobody waiting
            continue
        found = kept.found
        if (kept.dag_id, kept.run_id) == (own.dag_id, own.run_id) or not found.get("acts"):
            continue
        if own.dag_id not in {kept.dag_id, *THAT_ACT}:
            continue
        shared = sorted(wanted & set(str(found["queue"]).split(",")))
        if shared and _unfinished(context, kept.dag_id, kept.run_id):
            asked = answer.read_question(str(run.path))
            waits = asked is not None and asked.answer is None and asked.over is None
            what = md("waits for an answer") if waits else md("is at work")
            plan = address("plan", dag_id=kept.dag_id, run_id=kept.run_id)
            who = md(". {} names who may answer", link("Its plan", plan)) if waits else NOTHING
            return md(
                "Run {} of {}, which {} started, {} on {}. This run plans nothing: when the other one has ended, start "
                "a new run. A dry run is possible meanwhile{}",
                kept.run_id,
                kept.dag_id,
                words(str(found["requested_by"])),
                what,
                joined(", ", shared),
                who,
            )
    return NOTHING


def _unfinished(context: Context, dag_id: str, run_id: str) -> bool:
    """Whether Airflow has this run, and it is not at its end."""
    return bool(context["ti"].get_dr_count(dag_id=dag_id, run_ids=[run_id], states=list(UNFINISHED)))


def _not_proved(lake: Path, queue_manager: str) -> Iterator[RunFolder]:
    """As `not_proved`. Where the lake cannot be seen, there are none."""
    with suppress(OSError, SettingsError, LakeError):
        yield from not_proved(folder_of(lake, queue_manager))
