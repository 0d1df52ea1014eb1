"""`mqops estate status`: what needs a person on the queue managers of the estate, worst first: the page's twin."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.as_json import JsonObject
from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.outcome import connection_to, default_lake, errors_are_usage, json_option, show_json, show_line
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.estate import load
from mqops.lake_place import lake_named
from mqops.storage import estate_argument

if TYPE_CHECKING:
    from mqops.estate import EstateFile
    from mqops.estate_sections import DailyNotice
    from mqops.look.estate.stands import Asked, Stands
    from mqops.look.words.needs import Need


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=estate_argument, envvar="MQOPS_ESTATE")
@click.option(
    "--only",
    "names",
    metavar="QMGR",
    multiple=True,
    help="Only this one, also one that no estate names; may be repeated.",
)
@click.option("--daily", "as_daily", is_flag=True, help="The message that the daily notification would send now.")
@connecting_options
@json_option
@errors_are_usage
def status(*, file: Path, names: tuple[str, ...], as_daily: bool, as_json: bool) -> None:
    """Say what needs a person on the queue managers of the estate FILE (default: the project's), worst first.

    It has what the page Estate has: queues that are full, channels that do not run, transmission queues that wait,
    messages on the dead-letter queue and on backout queues, poison, triggers that are broken, the last quality run if
    it is not passed, runs that do not balance, are not finished, say nothing any more or wait for an approval, stops, a
    ledger that does not verify. It also says how the trigger monitors stand: whether a program serves each initiation
    queue, and which trigger messages the dead-letter queue holds. Nothing is put or got. Each queue manager is
    connected to as by `mqops estate check --live`.

    With --daily it shows subject and text of the message that `notify.daily` of the estate sends (DAG mq_daily_notice),
    and sends nothing.

    Exit code 0 where nothing needs a person, 1 where something does, 2 for an error.
    """
    from mqops.look.estate.stands import stand  # noqa: PLC0415
    from mqops.quality.not_in_order import NOT_IN_ORDER  # noqa: PLC0415

    estate_file = load(file) if file.exists() or not names else None
    managers = estate_file.estate.queue_managers if estate_file else {}
    lake = estate_file.lake(os.environ) if estate_file else Path(lake_named(os.environ) or default_lake())
    asked = [_asked(name, estate_file if name in managers else None) for name in names or managers]
    found = stand(asked, lake, (NOT_IN_ORDER,))
    if as_daily:
        notify = estate_file.estate.notify if estate_file else None
        _show_daily(found, notify.daily if notify else None, as_json=as_json)
    elif as_json:
        show_json({name: _to_json(each) for name, each in found.items()})
    else:
        _show(found)
    sys.exit(ExitCode.DONE if all(map(_in_order, found.values())) else ExitCode.NO)


def _asked(name: str, file: EstateFile | None) -> Asked:
    from mqops.look.estate.stands import Asked  # noqa: PLC0415
    from mqops.quality.gate_setting import gate_in_words  # noqa: PLC0415 - reads suites

    settings = file.queue_manager(name) if file else None
    try:
        asked = Asked(name=name, settings=settings, connection=connection_to(name))
        return replace(asked, also=partial(gate_in_words, file, name)) if file else asked
    except SettingsError as error:  # MQOPS_CONNECTION is for another one
        return Asked(name=name, settings=settings, connection=None, why=str(error))


def _in_order(one: Stands) -> bool:
    return not (one.now.problems or one.now.waiting) and (one.monitor is None or one.monitor.in_order)


def _to_json(one: Stands) -> JsonObject:
    """For `--json`."""
    from mqops.look.words.needs import needs_in_text  # noqa: PLC0415

    lines = [(group.urgency, need) for group in needs_in_text([one.now]) for need in group.lines]
    return {
        **(one.monitor.to_json() if one.monitor else {}),
        "in_order": _in_order(one),
        "seen_at": one.now.figures.seen_at,
        "needs_a_person": [
            {
                "text": need.problem.text if need.problem else str(need.what),
                "when": urgency,
                "about": (need.problem.about if need.problem else "") or None,
                "place": need.problem.place if need.problem else None,
                "command": str(need.does) or None,
            }
            for urgency, need in lines
            if _needs_somebody(need)
        ],
        "besides": [note.text for note in one.now.notes],
    }


def _show_daily(found: Mapping[str, Stands], settings: DailyNotice | None, *, as_json: bool) -> None:
    from mqops.estate_sections import DailyNotice  # noqa: PLC0415
    from mqops.look.words.daily import daily  # noqa: PLC0415
    from mqops.look.words.needs import needs_in_text  # noqa: PLC0415

    used = settings or DailyNotice(schedule="0 6 * * *")
    message = daily(needs_in_text([each.now for each in found.values()]), managers=len(found), most=used.most)
    sends = settings is not None and (message.needs_somebody or settings.when_nothing)
    if as_json:
        show_json({"subject": message.subject, "lines": message.lines, "sends": sends})
        return
    show_line(message.subject)
    for line in message.lines:
        show_folded(line, indent=4)
    if not sends:
        show_line("Nothing is sent: " + ("nothing needs a person" if settings else "the estate has no notify.daily"))


def _show(found: Mapping[str, Stands]) -> None:
    from mqops.look.words.needs import needs_in_text  # noqa: PLC0415

    groups = needs_in_text([each.now for each in found.values()])
    lines = [(group.urgency, need) for group in groups for need in group.lines]
    for urgency, need in lines:
        show_folded(f"{urgency}: {need.line}", indent=4)
    for line in _of_monitors(found):
        show_folded(line, indent=4)
    number = sum(_needs_somebody(need) for _urgency, need in lines)
    things = counted(number, "thing needs", "things need") if number else "nothing needs"
    show_line(f"{counted(len(found), 'queue manager')}: {things} a person")


def _needs_somebody(need: Need) -> bool:
    return need.word != "Note"


def _of_monitors(found: Mapping[str, Stands]) -> Iterator[str]:
    for name, each in found.items():
        for line in each.monitor.lines() if each.monitor else ():
            yield f"{name}: {line}"
    if not any(each.monitor for each in found.values()):
        yield "no queue manager of the estate has a trigger monitor"
