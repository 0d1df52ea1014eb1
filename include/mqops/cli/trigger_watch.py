"""`mqops trigger explain --watch`: look again and again, and print what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqops.cli.ending import Ending
from mqops.cli.outcome import show_json, show_line
from mqops.clock import utc_now
from mqops.trigger.core import FAILS, HOLDS, Explanation

if TYPE_CHECKING:
    from mqops.mq.session import Session
    from mqops.trigger.core import TriggeredQueue

MARKS = {HOLDS: "ok", FAILS: "FAILS"}
EVERY = 1.0
"""Seconds between two looks."""


def watch(session: Session, first: TriggeredQueue, *, as_json: bool) -> bool:
    """Follow a queue until a trigger message is made, or SIGINT (Ctrl-C) or SIGTERM comes. Whether it was made.

    Parameters: `first` the look whose explanation was printed already.

    Raises:
        MQError, SettingsError: as `triggered_queue`.
    """
    from mqops.trigger.core import explain  # noqa: PLC0415
    from mqops.trigger.core.message_made import trigger_message_made  # noqa: PLC0415
    from mqops.trigger.look import manager, triggered_queue  # noqa: PLC0415

    of, shown, before = manager(session), explain(first), first
    with Ending() as ending:
        while not ending.asked:
            now = triggered_queue(session, first.name, of)
            found = explain(now)
            if found != shown:
                show_json(found.to_json()) if as_json else _show_changes(shown, found)
                shown = found
            if seen := trigger_message_made(before, now):
                show_json({"triggered": utc_now(), "because": seen}) if as_json else _show(f"triggered: {seen}")
                return True
            before = now
            ending.sleep(EVERY)
    return False


def _show_changes(before: Explanation, after: Explanation) -> None:
    for old, new in zip(before.conditions, after.conditions, strict=True):
        if old != new:
            _show(f"{new.id:5} {MARKS.get(new.state, 'unknown'):8} {new.found}")
    if before.verdict != after.verdict:
        _show(after.verdict)


def _show(line: str) -> None:
    show_line(f"{utc_now()[:19]}Z  {line}")
