"""The field "First tell": what a look at queues lets the queue manager discard is told, and such queues are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqops.printable import printable
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mqops.expiry.core.first_tell import AtStake
    from mqops.mq.session import Session
    from mqops_airflow.forms import given


def left_by(
    form: given.Browses, session: Session, lake_folder: Path, queues: Iterable[str], log: Any
) -> dict[str, str]:
    """The queues among these that a run with "First tell" leaves → what a look at them lets the queue manager discard
    (`mqops.expiry.core.first_tell`), which the log tells. None without it. Each has the name that was given, which may
    be an alias. Raises as `mqops.expiry.scan.candidates`."""
    wanted = tuple(queues)
    if not form.first_tell or not wanted:
        return {}
    from mqops.expiry.scan import candidates  # noqa: PLC0415 - loads the MQ library

    chosen = candidates(session, lake_folder, wanted, all_filled=True)
    told = log_left(chosen.at_stake(), log)
    return {name: told[base] for name in wanted if (base := chosen.aliases.get(name, name)) in told}


def log_left(stakes: Iterable[AtStake], log: Any) -> dict[str, str]:
    """Queue → what a look at it lets the queue manager discard; the log tells it."""
    told = {one.queue: one.sentence() for one in stakes}
    for sentence in told.values():
        log.warning("%s", printable(sentence))
    return told


def told_of(left: Mapping[str, str]) -> dict[str, list[str]]:
    """What is handed on of the queues that are left, for the run's note."""
    return {"left": list(left.values())} if left else {}


def not_looked_at(sentences: Iterable[str]) -> Markdown:
    """What a run with "First tell" has left, for its note; nothing where it has left nothing."""
    told = tuple(sentences)
    if not told:
        return NOTHING
    return md("Not looked at: {}. To look all the same, start a run without First tell.", joined("; ", told))
