"""What the ledgers, plans and snapshots of a lake know of a message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from mqops.actions import Action
from mqops.command import command
from mqops.decide.recorded import PLAN
from mqops.errors import LakeError, LedgerBroken, SettingsError
from mqops.lake.run import RunFolder, folder_of, queue_managers
from mqops.ledger.core.history import COLUMNS, Event, events
from mqops.ledger.core.marker import MarkerKind
from mqops.ledger.file import LedgerFile, all_ledgers
from mqops.look.runs import Runs
from mqops.look.sightings import seen_in_snapshots
from mqops.prove.core.whereabouts import UNREAD, Whereabouts
from mqops.run_key import is_run_key

E = TypeVar("E", bound=Event)
"""An event, also one that knows its rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOfRule(Event):
    """An event. Parameters: `rule_line` and `table_source` of its rule, None and "" where the run's folder does not
    tell them any more."""

    rule_line: int | None
    table_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Parameters: `events` of the ledgers, oldest first in each; `seen` what is known of messages that no run has dealt
    with since they were last seen; `errors` what cannot be read, each with its queue manager."""

    events: tuple[EventOfRule, ...] = ()
    seen: tuple[Whereabouts, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def done(self) -> EventOfRule | None:
        """The last act of a run on the message; None where no run acted on it, or where it was seen after that act."""
        return None if self.seen else _last(self.events)

    def of(self, queue_manager: str, msg_key: str, msg_id: str) -> History:
        """The history of one message alone, known by its MsgId, or by its identity where the MsgId is blank."""
        return History(
            events=tuple(
                one for one in self.events if one.msg_key == msg_key or (msg_id.strip("0") and one.msg_id == msg_id)
            ),
            seen=tuple(one for one in self.seen if one.msg_key == msg_key and one.queue_manager == queue_manager),
            errors=self.errors,
        )


def history(lake: Path, msg_id: str) -> History:
    """What is known of the messages whose MsgId begins so.

    Each ledger is checked while it is read: what it says behind the first line that is not what was written is left
    out, an error names that line and its file, and what became of messages is not known (`UNREAD`). Of a ledger in
    which too many MsgIds begin so, only the error is given.

    Parameters: `msg_id` lower-case hex.
    """
    found: list[EventOfRule] = []
    seen: list[Whereabouts] = []
    errors: list[str] = []
    for name in with_runs(lake):
        mine: list[Event] = []
        broken = False
        try:
            mine += _events(lake, name, msg_id)
        except SettingsError as error:
            errors.append(f"{name}: {error}")
            continue  # a message that a run moved would be told as gone
        except LedgerBroken as error:
            broken = True
            errors.append(f"{name}: {_with_remedy(error, lake, name)}")
        found += (_with_rule(event, lake) for event in mine)
        acted = list(_acts(mine))
        done = {(event.run, event.msg_key) for event in acted}
        try:
            last = seen_in_snapshots(Runs(lake, name).caught_up(), msg_id, done)
            mine_seen = [_with_try(one, mine) for one in last if not _is_done_since(one, acted)]
            seen += (replace(one, became=UNREAD) if broken else one for one in mine_seen)
        except LedgerBroken as error:
            errors.append(f"{name}: {_with_remedy(error, lake, name)}")
        except LakeError as error:
            errors.append(f"{name}: {error}")
    return History(events=tuple(found), seen=tuple(seen), errors=tuple(dict.fromkeys(errors)))


def _with_remedy(error: LedgerBroken, lake: Path, name: str) -> str:
    """What is broken, in which file, and what to do. An error that names no line names its file."""
    if not error.line:
        return str(error)
    segments = LedgerFile(folder_of(lake, name)).segments
    return (
        f"{error}, in {segments.file_of(error.line)}. What runs did with the message from there on is not known: "
        f"restore the file from a copy, and check it with `{command('mqops', 'ledger', 'verify', name)}`"
    )


def last_act(lake: Path, queue_manager: str, msg_id: str, msg_key: str) -> Event | None:
    """The last act of a run on a message, None where the ledger has none.

    Parameters: `msg_id` lower-case hex; `msg_key` the identity of the message. Raises `LedgerBroken`, `LakeError`.
    """
    return _last(one for one in _events(lake, queue_manager, msg_id) if one.msg_key == msg_key)


def _acts(known: Iterable[E]) -> Iterator[E]:
    """The events that say that a message was moved or discarded."""
    return (one for one in known if one.outcome == MarkerKind.ACTED and one.action != Action.COPY)


def _last(known: Iterable[E]) -> E | None:
    return max(_acts(known), key=lambda one: datetime.fromisoformat(one.at), default=None)


def _is_done_since(one: Whereabouts, acted: Iterable[Event]) -> bool:
    """Whether a run moved or discarded a message after another run saw it. Parameters: `acted` the acts of runs."""
    at = datetime.fromisoformat(one.seen_at)
    return any(event.msg_key == one.msg_key and datetime.fromisoformat(event.at) >= at for event in acted)


def _with_try(one: Whereabouts, mine: Iterable[Event]) -> Whereabouts:
    """The message with its last failed try after it was seen. Parameters: `mine` the events of its queue manager."""
    tries = (event.at for event in mine if event.msg_key == one.msg_key and event.outcome == MarkerKind.FAILED)
    since = datetime.fromisoformat(one.seen_at)
    return replace(one, tried_at=max((at for at in tries if datetime.fromisoformat(at) >= since), default=""))


def with_runs(lake: Path) -> list[str]:
    """The queue managers that have a ledger or runs in the lake."""
    return sorted({*all_ledgers(lake), *queue_managers(lake)})


def runs_that_dealt_with(lake: Path, queue_manager: str, msg_id: str) -> set[str]:
    """The keys of the runs in whose ledger lines a MsgId stands.

    Parameters: `msg_id` lower-case hex, its beginning will do. Raises `LedgerBroken`, `LakeError`, `SettingsError`.
    """
    return {event.run for event in _events(lake, queue_manager, msg_id)}


def _events(lake: Path, name: str, msg_id: str) -> Iterator[Event]:
    for event in events(name, LedgerFile(folder_of(lake, name)).about(f'"{msg_id}')):
        if event.msg_id.startswith(msg_id):
            yield event


def _with_rule(event: Event, lake: Path) -> EventOfRule:
    """An event, with the rule's line and table while the run's folder is there."""
    # a message on a live queue was revealed without a run
    plan = PLAN.find(RunFolder.at(lake, event.queue_manager, event.run)) if is_run_key(event.run) else None
    same = plan if plan and plan.digest == event.plan else None
    line = next((rule.rule_line for rule in same.rules if rule.rule_key == event.rule), None) if same else None
    fields = {name: getattr(event, name) for name in COLUMNS}
    return EventOfRule(**fields, rule_line=line, table_source=same.table_source if same else "")
