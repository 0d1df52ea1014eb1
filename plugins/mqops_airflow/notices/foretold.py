"""What will expire, told behind each check and each scan for expired messages: in the log, in the run's note, and to
people where the estate has a threshold (`tell_from`). The notes of dead-letter and backout runs have what they left.

People are told once for each time that work begins again, and once more each time the number has doubled: a scan comes
every few minutes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mqops.clock import utc
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.estate_values import next_time
from mqops.lake.files import make_folder, write_json
from mqops.lake.run import folder_of
from mqops.lake.run_file import Checked
from mqops.printable import printable
from mqops.workflow import Workflow
from mqops_airflow.notices.notify import Notice, tell_people
from mqops_airflow.runs.workplace import estate_file, lake
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from airflow.sdk import Context

    from mqops.estate import EstateFile
    from mqops.estate_sections import Notify
    from mqops.expiry.core.calendar import Calendar
    from mqops.expiry.core.forecast import Outlook
    from mqops.expiry.core.outcome import QueueScan
    from mqops.lake.run import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTold:
    """Of what people were told last. Parameters: `begins` when work begins again, ISO 8601; `messages` that expire
    before."""

    begins: str
    messages: int


_LAST = Checked(LastTold)


def foretold(
    log: Any,
    context: Context,
    queue_manager: str,
    *,
    estate: EstateFile,
    notify: Notify | None,
    scans: Iterable[QueueScan] = (),
) -> Markdown:
    """Tell what will expire; what waits for a person comes back as words for the run's note.

    Parameters: `scans` that this run has made.

    Raises:
        LakeError: what scans taught cannot be read.
    """
    from mqops.expiry.core.forecast import sentence, sentences  # noqa: PLC0415
    from mqops.expiry.look_ahead import after_scan  # noqa: PLC0415 - loads the MQ library

    made = after_scan(lake(estate), queue_manager, scans, _calendar(estate, log))
    for line in sentences(made):
        log.info("%s", printable(line))
    settings = estate.estate.queue_managers.get(queue_manager)
    section = settings.expiry_scan if settings else None
    if section and section.tell_from and _is_news(folder_of(lake(estate), queue_manager), made, section.tell_from):
        why = ". ".join(filter(None, (sentence(one, made) for one in made.queues if one.kind.waits)))
        vanish = counted(
            made.waiting, "message that waits for a person vanishes", "messages that wait for a person vanish"
        )
        told = {"queue_manager": queue_manager, "vanish": vanish, "until": made.until, "why": why}
        tell_people(notify, context, Notice.EXPIRES, **told)
    waiting = [md("{}.", said) for one in made.queues if one.kind.waits and (said := sentence(one, made))]
    return joined(" ", waiting) if waiting else NOTHING


def left_foretold(log: Any, context: Context, run: RunFolder, workflow: str) -> Markdown:
    """What vanishes of the dead letters or backed-out messages that a run has left, before people are at work again or
    the workflow's next run comes; nothing of other workflows. By what the proof has seen, nothing is asked.

    When the next run comes is known where the DAG's schedule, which its DAG file may have given it, is a cron text.

    Raises:
        LakeError: what the proof has seen cannot be read.
    """
    from mqops.expiry.core.candidates import Kind  # noqa: PLC0415
    from mqops.expiry.core.forecast import of_left  # noqa: PLC0415
    from mqops.prove.records import LEFT  # noqa: PLC0415 - loads the MQ library

    kinds: dict[str, Kind] = {Workflow.DLQ_RULES: Kind.DEAD_LETTER, Workflow.BACKOUT_REPROCESS: Kind.BACKOUT}
    kind = kinds.get(workflow)
    left = LEFT.find(run) if kind else None
    if kind is None or left is None:
        return NOTHING
    now = utc()
    next_run = _next_run(context["dag"].schedule, now)
    told = of_left(left.queues, kind, now=now, calendar=_calendar(estate_file(), log), next_run=next_run)
    return joined(" ", [md("{}.", one) for one in told])


def _next_run(schedule: object, now: datetime) -> datetime | None:
    """When a schedule of a DAG comes next; None where that is no cron text."""
    if isinstance(schedule, str):
        with suppress(ValueError):  # words of Airflow's own, such as @once
            return next_time(schedule, now)
    return None


def _calendar(estate: EstateFile, log: Any) -> Calendar:
    """The estate's; where it cannot be used that is an error of the log, and work begins at 08:00 UTC each day."""
    from mqops.expiry.calendar_file import calendar_in  # noqa: PLC0415
    from mqops.expiry.core.calendar import EVERY_MORNING  # noqa: PLC0415

    try:
        return calendar_in(estate)
    except SettingsError as error:
        log.error("The calendar cannot be used, so the forecast is until 08:00 UTC: %s", printable(error))
        return EVERY_MORNING


def _is_news(folder: Path, made: Outlook, tell_from: int) -> bool:
    """Whether people are to be told; if so, it is noted that they were."""
    path = folder / "expiry" / "told.json"
    last = _LAST.read(path) if path.exists() else None
    known = last.messages if last and last.begins == made.begins else 0
    if made.waiting < max(tell_from, 2 * known):
        return False
    make_folder(path.parent)
    write_json(path, {"begins": made.begins, "messages": made.waiting})
    return True
