"""What each queue manager says of its queues now: asked once for all pages and readers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mqops.errors import MqopsError
from mqops.estate import EstateFile
from mqops.look.before_proof import is_before_proof
from mqops.look.figures import LATE, NOT_YET, Figures, figures, last_figures
from mqops_airflow.connections.reach import connection_for
from mqops_airflow.pages.answers import WITHOUT_KEEPING, Answer, Answers
from mqops_airflow.runs.workplace import lake

ANSWERS: Answers[Figures] = Answers(5.0)
SILENT = 10.0
"""Seconds without an answer, of which a busy API server can have lost some itself."""
FAILED = "the question failed, and the log of Airflow's API server says why"


def figures_now(estate: EstateFile, names: Sequence[str]) -> dict[str, Figures]:
    """The figures of each queue manager, a few seconds old at most, and of after its newest proof; the last ones of one
    that does not answer."""
    place = lake(estate)
    found = _answered(estate, place, names, kept=0.0)
    for _ in range(2):  # an answer that is on its way may be to a question of before the proof
        if not (behind := [name for name, one in found.items() if is_before_proof(place, name, one)]):
            break
        found |= _answered(estate, place, behind, kept=WITHOUT_KEEPING)
    return found


def _answered(estate: EstateFile, place: Path, names: Sequence[str], *, kept: float) -> dict[str, Figures]:
    """Parameters: `kept` as of `Answers.of`."""
    asked = {name: partial(_figures, name, estate, place) for name in names}
    found = ANSWERS.of(asked, scope=str(estate.path), kept=kept)
    return {name: _answered_or_last(answer, place, name) for name, answer in found.items()}


def _answered_or_last(answer: Answer[Figures], place: Path, name: str) -> Figures:
    """The figures that are known. That an answer is late can be this process's own doing: it is told as late, and only
    where nothing has come for SILENT seconds after the question as silence of the queue manager."""
    if answer.value is not None and answer.asked < SILENT:
        return answer.value
    return last_figures(place, name, silence(answer))


def silence(answer: Answer[Any]) -> str:
    """The sentence why there is no answer."""
    if not answer.asked:
        return FAILED if answer.age and not answer.waiting else NOT_YET
    seconds = max(1, round(answer.asked))
    return f"{LATE}{seconds} s ago" if answer.asked < SILENT else f"no answer has come for {seconds} s"


def _figures(name: str, estate: EstateFile, place: Path) -> Figures:
    try:
        connection = connection_for(name, estate)
    except MqopsError as error:
        return last_figures(place, name, str(error))
    return figures(connection, place, name)
