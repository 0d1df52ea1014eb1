"""What is known of queue managers, whoever asks: looked up once for all readers who may see the same ones.

All queue managers are asked side by side, and one at a time asks each of them: many readers cost it no more than one,
and one that does not answer delays nobody (`mqops_airflow.pages.answers`). The lake is read once a second at most, of
many queue managers less often, so that it takes no more of the process than asking them does. The ledgers are verified
and what expires is counted beside that, and a reader does not wait for a large one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from mqops.clock import utc
from mqops.estate import EstateFile
from mqops.look.accounted import LedgerNow, has_grown, ledger_now
from mqops.look.before_proof import is_before_proof
from mqops.look.estate.expiring import Expiring, expiring_now
from mqops.look.estate.now import ManagerNow, manager_now
from mqops.look.estate.problem import Problem
from mqops.look.estate.unfinished import approved_and_idle, quiet, unfinished_run
from mqops.look.figures import Figures
from mqops.look.words.accounted import Accounted, accounted, goes_on
from mqops.look.words.needs import by_need
from mqops.quality.not_in_order import NOT_IN_ORDER
from mqops_airflow.pages import shared as shared_answers
from mqops_airflow.pages import triggers
from mqops_airflow.pages.answers import WITHOUT_KEEPING, Answers
from mqops_airflow.pages.of_all import EXPIRING
from mqops_airflow.pages.queue_figures import figures_now
from mqops_airflow.pages.shared import shared
from mqops_airflow.pages.unseen_lake import unseen
from mqops_airflow.pages.which_run import at_work
from mqops_airflow.pages.who_answers import Question, open_questions_of
from mqops_airflow.runs.workplace import lake

LEDGERS: Answers[LedgerNow] = Answers(10.0)
NOW: Answers[ManagerNow] = Answers(shared_answers.KEPT)
"""What is known of each of many queue managers. A reader of a single one waits for what is known now."""
QUICK = 0.2
"""Seconds: a ledger whose verification takes longer is verified again after `LEDGERS.kept`, however it grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of queue managers, without anything of a person. Parameters: `managers` those that need a person
    first; `questions` of their waiting runs that somebody can answer, or will be asked; `accounted` the words for
    it."""

    managers: Sequence[ManagerNow]
    questions: tuple[Question, ...]
    accounted: Accounted


@shared
def seen(estate: EstateFile, names: tuple[str, ...]) -> Seen:
    """What is known of these queue managers: once for all who may see the same ones."""
    managers = _managers(estate, names)
    place = lake(estate)
    working = at_work(place, (key for one in managers for key in _open(one)))
    managers = [_carried_out(one, working) for one in managers]
    elsewhere = unseen(estate, names)
    managers = [replace(one, problems=(*_of(elsewhere, one.name), *one.problems)) for one in managers]
    questions = tuple(open_questions_of(place, [(one.name, run.run) for one in managers for run in one.waiting]))
    asked = {one.of for one in questions}
    managers = [_asking(one, asked) for one in managers]
    managers.sort(key=by_need)
    told = accounted(managers, working, _ended_early(managers, working))
    return Seen(managers=managers, questions=questions, accounted=told)


def _managers(estate: EstateFile, names: Sequence[str]) -> list[ManagerNow]:
    place = lake(estate)
    said = figures_now(estate, names)
    audits = triggers.audits(
        estate, [name for name in names if not said[name].unreachable], kept=triggers.AUDIT_KEPT, wait=0
    )
    looked = {name: answer.value for name, answer in audits.items() if answer.value and answer.value.audit}
    expiry = {name: partial(expiring_now, place, name) for name in names}
    EXPIRING.of(expiry, scope=str(place), wait=0)  # asked before a reader waits for the ledgers: he waits once
    verify = {name: partial(ledger_now, place, name) for name in names}
    ledgers = LEDGERS.of(verify, scope=str(place))
    quick = {name: one.value for name, one in ledgers.items() if one.value and one.took < QUICK}
    grown = {name: verify[name] for name, ledger in quick.items() if has_grown(place, name, ledger)}  # a reader waits
    ledgers |= LEDGERS.of(grown, scope=str(place), kept=WITHOUT_KEEPING)
    expiring = EXPIRING.of(expiry, scope=str(place))
    told = {name: _Said(said[name], looked.get(name), ledgers[name].value, expiring[name].value) for name in names}
    if len(names) == 1:
        return [_now(place, name, one) for name, one in told.items()]
    looks = {name: partial(_now, place, name, one) for name, one in told.items()}
    known = NOW.of(looks, scope=str(place), kept=shared_answers.KEPT or WITHOUT_KEEPING)
    turned = {name: looks[name] for name, one in told.items() if _has_turned(place, known[name].value, one.figures)}
    known |= NOW.of(turned, scope=str(place), kept=WITHOUT_KEEPING)
    return [known[name].value or _not_looked_at(name, one.figures) for name, one in told.items()]


def _has_turned(place: Path, known: ManagerNow | None, figures: Figures) -> bool:
    """Whether a queue manager that answered has ended, or answers again, or what is known is of before its newest
    proof: its row has to say so at once."""
    if known is None:
        return False
    if _is_silent(known.figures) != _is_silent(figures):
        return True
    return known.figures.seen_at < figures.seen_at and is_before_proof(place, known.name, known.figures)


def _is_silent(figures: Figures) -> bool:
    return bool(figures.unreachable) and not figures.awaited


def _not_looked_at(name: str, figures: Figures) -> ManagerNow:
    """A queue manager whose part of the lake has not been read yet."""
    unknown = Problem(what="Its runs have not been looked at yet: this page tells them within seconds")
    return ManagerNow(name=name, figures=figures, notes=(unknown,), looked=False)


def _open(manager: ManagerNow) -> Iterator[tuple[str, str]]:
    """The runs (queue manager and key) that were approved or begun and are not done: Airflow may be at work on them."""
    acted = manager.acted
    return ((manager.name, run.run) for run in (*manager.approved, *acted.unproved, *acted.unfinished))


def _asking(manager: ManagerNow, asked: Collection[tuple[str, str]]) -> ManagerNow:
    """The queue manager without waiting runs whose question nobody can answer. Parameters: `asked` queue manager and
    run of those that somebody can."""
    return replace(manager, waiting=tuple(run for run in manager.waiting if (manager.name, run.run) in asked))


def _ended_early(managers: Iterable[ManagerNow], working: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The runs that are not proved although no DAG run is at work on them. Parameters: `working` as of `at_work`."""
    now = utc()
    silent = {(one.name, run.run) for one in managers for run in one.acted.unproved if quiet(run, now)}
    return silent - set(working)


def _carried_out(manager: ManagerNow, working: Collection[tuple[str, str]]) -> ManagerNow:
    """The queue manager with one more kind of problem: a run was approved and nothing carries it out, because its act
    failed, as after a stop; and without those of runs that go on by now. Parameters: `working` as of `at_work`."""
    under_way = {unfinished_run(run) for run in manager.acted.unfinished if goes_on(run, working)}
    idle = (approved_and_idle(run) for run in manager.approved if (manager.name, run.run) not in working)
    return replace(manager, problems=(*(one for one in manager.problems if one not in under_way), *idle))


def _of(problems: Mapping[str, Problem], name: str) -> Iterator[Problem]:
    if name in problems:
        yield problems[name]


class _Said(NamedTuple):
    """The answers of a queue manager, and what was found out beside them."""

    figures: Figures
    looked: triggers.Looked | None
    ledger: LedgerNow | None
    expiring: Expiring | None


def _now(place: Path, name: str, said: _Said) -> ManagerNow:
    audit = said.looked.audit if said.looked else None
    return manager_now(
        said.figures,
        place,
        name,
        broken_triggers=audit.cannot_trigger if audit else {},
        switched_off=audit.switched_off if audit else (),
        not_inquired=audit.unseen if audit else (),
        ledger=said.ledger,
        expiring=said.expiring,
        more_checks=(NOT_IN_ORDER,),
    )
