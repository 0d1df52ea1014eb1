"""How a queue manager stands, asked by one look: as a command and the daily notification tell it. The pages keep what
they know in their server, and ask for the parts of it at times of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mqops.backout.core.origin import backout_queues
from mqops.backout.poison import looping
from mqops.clock import utc
from mqops.command import command
from mqops.errors import MqopsError, SettingsError
from mqops.lake.run import folder_of
from mqops.ledger.keys import KeyRing
from mqops.ledger.stop_message import shown, stops_on
from mqops.look.accounted import ledger_now
from mqops.look.estate.now import ManagerNow, manager_now
from mqops.look.estate.problem import Problem
from mqops.look.estate.unfinished import left_alone
from mqops.look.figures import figures, last_figures
from mqops.mq.connection import connect
from mqops.mq.inquire import dead_letter_queue, queue_definitions
from mqops.trigger.audit import audit
from mqops.trigger.status import status as monitor_status

if TYPE_CHECKING:
    from mqops.estate_sections import QueueManager
    from mqops.look.estate.checks import Check
    from mqops.mq.connection import MqConnection
    from mqops.mq.session import Session
    from mqops.trigger.status import Status

SIDE_BY_SIDE = 8
"""Queue managers that are asked at a time: one that does not answer delays few others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stands:
    """How a queue manager stands. Parameters: `now` with all that is wrong; `monitor` its trigger monitors, None where
    the estate has none for it, or it does not answer."""

    now: ManagerNow
    monitor: Status | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A queue manager that is to be asked. Parameters: `connection` None where there is none, and `why`; `settings` of
    the estate, None for one that it does not name; `also` what rooms above this one find wrong there."""

    name: str
    settings: QueueManager | None
    connection: MqConnection | None
    why: str = ""
    also: Callable[[Session], Iterable[str]] = lambda _session: ()


def stand(asked: Sequence[Asked], lake: Path, more_checks: Sequence[Check]) -> Mapping[str, Stands]:
    """How queue managers stand, each by its name. One that does not answer is told with its figures of the last time.

    Parameters: `more_checks` of rooms above this one (`mqops.look.estate.now.manager_now`).
    """
    if not asked:
        return {}
    with ThreadPoolExecutor(min(SIDE_BY_SIDE, len(asked))) as threads:
        found = list(threads.map(lambda one: _stands(one, lake, more_checks), asked))
    return {one.name: each for one, each in zip(asked, found, strict=True)}


def _stands(asked: Asked, lake: Path, more_checks: Sequence[Check]) -> Stands:
    name, connection = asked.name, asked.connection
    said = figures(connection, lake, name) if connection else last_figures(lake, name, asked.why)
    answers = connection is not None and not said.unreachable
    live = _live(connection, lake, asked) if connection and answers else _Live()
    now = manager_now(
        said,
        lake,
        name,
        broken_triggers=live.verdicts,
        switched_off=live.off,
        poison=live.poison,
        not_inquired=live.unseen,
        ledger=ledger_now(lake, name),
        more_checks=more_checks,
    )
    stopped = (f"All acting on {name} is stopped {now.stopped}",) if now.stopped else live.stops
    resume = f"`{command('mqops', 'resume', '-m', name)}` takes it back"
    of_another = "" if now.stopped else "; one of another lake needs `--why REASON`, too"
    more = (
        *(Problem(what=text, remedy=f"{resume}{of_another}") for text in stopped),
        *(Problem(what=text) for text in live.problems),
    )
    alone = left_alone(now.approved, now.acted.unproved, utc())
    return Stands(now=replace(now, problems=(*now.problems, *alone, *more)), monitor=live.monitor)


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


def _live(connection: MqConnection, lake: Path, asked: Asked) -> _Live:
    live, name, settings = _Live(), asked.name, asked.settings
    try:
        with connect(connection) as session:
            stops = shown(stops_on(session, KeyRing(folder_of(lake, name))))
            live.stops = tuple(f"All acting on {name} is stopped, for every lake, {one}" for one in stops)
            if settings and settings.trigger_monitor:
                live.monitor = monitor_status(session, settings.trigger_monitor)
            found = audit(session)
            live.off, live.verdicts, live.unseen = found.switched_off, found.cannot_trigger, found.unseen
            live.poison = _poison(session, name)
            live.problems += asked.also(session)
    except MqopsError as error:
        live.problems.append(f"What triggers and what loops cannot be told: {error}")
    return live


def _poison(session: Session, name: str) -> dict[str, str]:
    """Queue → what is said of its messages that loop. Raises `MQError`."""
    definitions = queue_definitions(session)
    apart = set(backout_queues(definitions))
    with suppress(SettingsError):  # it has none
        apart.add(dead_letter_queue(session))
    found = looping(session, definitions, apart=apart, queue_manager=name).found
    return {one.queue: f"Poison: {one}. {one.do}" for one in found}
