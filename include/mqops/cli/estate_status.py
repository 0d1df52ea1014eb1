"""`mqops estate status`: what needs a person on the queue managers of the estate, worst first: the page's twin."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mqops.as_json import JsonObject
from mqops.cli.columns import show_folded
from mqops.cli.exit_code import ExitCode
from mqops.cli.outcome import connection_to, default_lake, errors_are_usage, json_option, show_json, show_line
from mqops.cli.user_option import connecting_options
from mqops.clock import utc
from mqops.counted import counted
from mqops.errors import MqopsError, SettingsError
from mqops.estate import load
from mqops.lake_place import lake_named
from mqops.storage import estate_argument

if TYPE_CHECKING:
    from mqops.estate_sections import QueueManager
    from mqops.look.estate.now import ManagerNow
    from mqops.look.estate.problem import Problem
    from mqops.mq.connection import MqConnection
    from mqops.mq.session import Session
    from mqops.trigger.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stands:
    """How a queue manager stands. Parameters: `monitor` its trigger monitors, None where the estate has none for it, or
    it does not answer; `more` what needs a person besides the problems of `now`."""

    now: ManagerNow
    monitor: Status | None = None
    more: tuple[Problem, ...] = ()

    def needs(self) -> list[Problem]:
        """What needs a person, worst first."""
        from mqops.look.estate.problem import Problem, Urgency, worst_first  # noqa: PLC0415

        waiting = (f"Run {run.run} waits for an approval: {run.queue}" for run in self.now.waiting)
        asks = (Problem(what=text, urgency=Urgency.NOW) for text in waiting)
        return worst_first((*self.now.problems, *self.more, *asks))

    @property
    def in_order(self) -> bool:
        return not self.needs() and (self.monitor is None or self.monitor.in_order)

    def to_json(self) -> JsonObject:
        """For `--json`."""
        return {
            **(self.monitor.to_json() if self.monitor else {}),
            "in_order": self.in_order,
            "seen_at": self.now.figures.seen_at,
            "needs_a_person": [
                {"text": one.text, "when": one.urgency, "about": one.about or None, "place": one.place}
                for one in self.needs()
            ],
            "besides": [one.text for one in self.now.notes],
        }


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=estate_argument, envvar="MQOPS_ESTATE")
@click.option(
    "--only",
    "names",
    metavar="QMGR",
    multiple=True,
    help="Only this one, also one that no estate names; may be repeated.",
)
@connecting_options
@json_option
@errors_are_usage
def status(*, file: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Say what needs a person on the queue managers of the estate FILE (default: the project's), worst first.

    It has what the page Estate has: queues that are full, channels that do not run, transmission queues that wait,
    messages on the dead-letter queue and on backout queues, poison, triggers that are broken, the last quality run if
    it is not passed, runs that do not balance, are not finished, say nothing any more or wait for an approval, stops, a
    ledger that does not verify. It also says how the trigger monitors stand: whether a program serves each initiation
    queue, and which trigger messages the dead-letter queue holds. Nothing is put or got. Each queue manager is
    connected to as by `mqops estate check --live`.

    Exit code 0 where nothing needs a person, 1 where something does, 2 for an error.
    """
    estate_file = load(file) if file.exists() or not names else None
    managers = estate_file.estate.queue_managers if estate_file else {}
    lake = estate_file.lake(os.environ) if estate_file else Path(lake_named(os.environ) or default_lake())
    found = {name: _look(lake, name, managers.get(name)) for name in names or managers}
    if as_json:
        show_json({name: each.to_json() for name, each in found.items()})
    else:
        _show(found)
    sys.exit(ExitCode.DONE if all(each.in_order for each in found.values()) else ExitCode.NO)


def _look(lake: Path, name: str, settings: QueueManager | None) -> _Stands:
    """How a queue manager stands. One that does not answer is shown with its figures of the last time."""
    from mqops.look.accounted import ledger_now  # noqa: PLC0415
    from mqops.look.estate.now import manager_now  # noqa: PLC0415
    from mqops.look.estate.problem import Problem  # noqa: PLC0415
    from mqops.look.estate.unfinished import left_alone  # noqa: PLC0415
    from mqops.look.figures import figures, last_figures  # noqa: PLC0415
    from mqops.quality.not_in_order import NOT_IN_ORDER  # noqa: PLC0415

    try:
        connection = connection_to(name)
        said = figures(connection, lake, name)
    except SettingsError as error:  # MQOPS_CONNECTION is for another one
        said = last_figures(lake, name, str(error))
    live = _Live() if said.unreachable else _live(connection, lake, name, settings)
    now = manager_now(
        said,
        lake,
        name,
        broken_triggers=live.verdicts,
        switched_off=live.off,
        poison=live.poison,
        not_inquired=live.unseen,
        ledger=ledger_now(lake, name),
        more_checks=(NOT_IN_ORDER,),
    )
    stopped = (f"All acting on {name} is stopped {now.stopped}",) if now.stopped else live.stops
    more = tuple(Problem(what=text) for text in (*stopped, *live.problems))
    return _Stands(now=now, monitor=live.monitor, more=(*left_alone(now.approved, now.acted.unproved, utc()), *more))


@dataclass(slots=True)
class _Live:
    """What else a queue manager says. Parameters: `verdicts` queue → why it cannot trigger; `off` queues on which
    triggering is switched off and no message waits; `poison` queue → what is said of its messages that loop;
    `problems` what could not be asked; `unseen` queues that the connection's user may not inquire."""

    verdicts: dict[str, str] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    poison: dict[str, str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    monitor: Status | None = None
    stops: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)


def _live(connection: MqConnection, lake: Path, name: str, settings: QueueManager | None) -> _Live:
    from mqops.lake.run import folder_of  # noqa: PLC0415
    from mqops.ledger.keys import KeyRing  # noqa: PLC0415
    from mqops.ledger.stop_message import shown, stops_on  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.trigger.audit import audit  # noqa: PLC0415
    from mqops.trigger.status import status as monitor_status  # noqa: PLC0415

    live = _Live()
    try:
        with connect(connection) as session:
            stops = shown(stops_on(session, KeyRing(folder_of(lake, name))))
            live.stops = tuple(f"All acting on {name} is stopped, for every lake, {one}" for one in stops)
            if settings and settings.trigger_monitor:
                live.monitor = monitor_status(session, settings.trigger_monitor)
            found = audit(session)
            live.off, live.verdicts, live.unseen = found.switched_off, found.cannot_trigger, found.unseen
            live.poison = _poison(session, name)
    except MqopsError as error:
        live.problems.append(f"What triggers and what loops cannot be told: {error}")
    return live


def _poison(session: Session, name: str) -> dict[str, str]:
    """Queue → what is said of its messages that loop. Raises `MQError`."""
    from mqops.backout.core.origin import backout_queues  # noqa: PLC0415
    from mqops.backout.poison import looping  # noqa: PLC0415
    from mqops.mq.inquire import dead_letter_queue, queue_definitions  # noqa: PLC0415

    definitions = queue_definitions(session)
    apart = set(backout_queues(definitions))
    with suppress(SettingsError):  # it has none
        apart.add(dead_letter_queue(session))
    found = looping(session, definitions, apart=apart, queue_manager=name).found
    return {one.queue: f"Poison: {one}. {one.do}" for one in found}


def _show(found: dict[str, _Stands]) -> None:
    for line in _lines(found):
        show_folded(line, indent=4)
    number = sum(len(each.needs()) for each in found.values())
    things = counted(number, "thing needs", "things need") if number else "nothing needs"
    show_line(f"{counted(len(found), 'queue manager')}: {things} a person")


def _lines(found: dict[str, _Stands]) -> Iterator[str]:
    from mqops.look.estate.problem import rank  # noqa: PLC0415

    needs = [(name, one) for name, each in found.items() for one in each.needs()]
    for name, one in sorted(needs, key=lambda need: rank(need[1])):
        yield f"{one.urgency}: {name}: {one.text}"
    for name, each in found.items():
        for note in each.now.notes:
            yield f"{name}: besides: {note.text}"
        for line in each.monitor.lines() if each.monitor else ():
            yield f"{name}: {line}"
    if not any(each.monitor for each in found.values()):
        yield "no queue manager of the estate has a trigger monitor"
