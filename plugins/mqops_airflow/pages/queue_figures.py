"""What each queue manager says of its queues now: asked once for all pages and readers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.look.figures import Figures, figures, last_figures
from mqops_airflow.pages.answers import Answer, Answers
from mqops_airflow.reach import connection_for
from mqops_airflow.workplace import lake

ANSWERS: Answers[Figures] = Answers(5.0)


def figures_now(estate: EstateFile, names: Sequence[str]) -> dict[str, Figures]:
    """What each queue manager says, a few seconds old at most; of one that does not answer, what it said last."""
    place = lake(estate)
    asked = {name: partial(_figures, name, estate, place) for name in names}
    found = ANSWERS.of(asked, scope=str(estate.path))
    return {name: _answered_or_last(answer, place, name) for name, answer in found.items()}


def _answered_or_last(answer: Answer[Figures], place: Path, name: str) -> Figures:
    """The figures that are known. A queue manager that lets its readers wait counts as one that does not answer."""
    if answer.value is not None and not answer.overdue:
        return answer.value
    return last_figures(place, name, f"it was asked {max(1, round(answer.waiting))} s ago")


def _figures(name: str, estate: EstateFile, place: Path) -> Figures:
    try:
        connection = connection_for(name, estate)
    except MqopsError as error:
        return last_figures(place, name, str(error))
    return figures(connection, place, name)
