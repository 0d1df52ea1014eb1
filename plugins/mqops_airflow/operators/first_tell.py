"""The field "First tell": what a look at queues lets the queue manager discard is told, and such queues are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqops.printable import printable
from mqops_airflow.ui.markdown import NOTHING, Markdown, joined, md

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mqops.expiry.core.first_tell import AtStake
    from mqops.mq.session import Session
    from mqops_airflow.forms import given


class Tells:
    """Tells the log what is at stake. Its answer is no, since nobody can be asked while the task runs.

    Attributes: `told` the sentences.
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        self.told: list[str] = []

    def __call__(self, stakes: Sequence[AtStake]) -> bool:
        """Whether these queues are to be looked at: no."""
        self.told += [one.sentence() for one in stakes]
        for one in stakes:
            self._log.warning("%s", printable(one.sentence()))
        return False


def tells(form: given.Browses, log: Any) -> Tells | None:
    """Who hears what is at stake; None for a run without "First tell"."""
    return Tells(log) if form.first_tell else None


def left_by(
    form: given.Browses, session: Session, lake_folder: Path, queues: Iterable[str], log: Any
) -> dict[str, str]:
    """The queues among these that a run with "First tell" leaves. Raises as `mqops.expiry.first_tell.left_by`."""
    from mqops.expiry import first_tell  # noqa: PLC0415 - loads the MQ library

    return first_tell.left_by(tells(form, log), session, lake_folder, queues)


def told_of(left: Iterable[str]) -> dict[str, list[str]]:
    """What is handed on of the queues that are left, for the run's note. Parameters: `left` a sentence for each."""
    return {"left": told} if (told := list(left)) else {}


def not_looked_at(sentences: Iterable[str]) -> Markdown:
    """What a run with "First tell" has left, for its note; nothing where it has left nothing."""
    told = tuple(sentences)
    if not told:
        return NOTHING
    return md("Not looked at: {}. To look all the same, start a run without First tell.", joined("; ", told))
