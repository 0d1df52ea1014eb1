"""Warnings that need more than the table (D14): do its queues exist, did its rules match a recorded message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mqops.counted import counted
from mqops.decide.on_snapshot import Recorded, pattern_fields
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder
from mqops.model import Destination
from mqops.mq.connection import MqConnection, connect
from mqops.mq.inquire import base_queue_if_known, cannot_be_put_to, dead_letter_queue, queue_manager_name
from mqops.mq.session import Session
from mqops.observe.core.answers import answers
from mqops.rules import Problem, Rule, Table, matches
from mqops.rules.conditions import Answer, Question
from mqops.rules.linter import comes_back, is_input
from mqwire import constants as c

_NOT_THERE = {
    c.MQRC_UNKNOWN_OBJECT_NAME,
    c.MQRC_UNKNOWN_ALIAS_BASE_Q,
    c.MQRC_UNKNOWN_REMOTE_Q_MGR,
    c.MQRC_UNKNOWN_XMIT_Q,
    c.MQRC_UNKNOWN_DEF_XMIT_Q,
    c.MQRC_OBJECT_TYPE_ERROR,
}
"""Reason codes that say that a definition is missing or wrong."""


def wrong_queues(table: Table, connection: MqConnection, *, backout: bool = False) -> list[Problem]:
    """A warning for each rule whose FWDQ (and FWDQM) the queue manager cannot put to, or that is the queue which the
    table reads; &-names are not looked at.

    It is opened as the handler opens it, for output, and closed again.

    Parameters: `backout` whether the table is for backout queues, which are not known here.

    Raises:
        MQError: the queue manager cannot be reached.
    """
    with connect(connection) as session:
        name = queue_manager_name(session)
        source = "" if backout else _read_queue(table, session, name)
        problems = []
        for rule in table.rules:
            if not rule.fwdq or rule.fwdq.startswith("&") or rule.fwdqm.startswith("&"):
                continue
            error = cannot_be_put_to(session, rule.fwdq, rule.fwdqm)
            if error is not None:
                what = "does not exist" if error.reason in _NOT_THERE else "cannot be opened for output"
                target = str(Destination(rule.fwdq, rule.fwdqm))
                problems.append(_problem(rule, f"FWDQ {target} {what} on {name}: {error.symbol} ({error.reason})"))
            elif is_input(rule, table.control):
                continue  # the linter says so
            elif source and rule.fwdqm in ("", name) and base_queue_if_known(session, rule.fwdq) == source:
                read = "INPUTQ" if table.control.inputq else "DEADQ"
                problems.append(_problem(rule, comes_back(rule, f"{read} on {name}, {source}")))
        return problems


def _read_queue(table: Table, session: Session, queue_manager: str) -> str:
    """The queue that a table reads on a queue manager, of an alias its base queue; blank if it reads none there."""
    if table.control.inputqm not in ("", queue_manager):
        return ""
    try:
        return base_queue_if_known(session, table.control.inputq or dead_letter_queue(session))
    except SettingsError:  # there is no DEADQ
        return ""


def unmatched_rules(table: Table, folders: Sequence[Path], *, backout: bool = False) -> list[Problem]:
    """A warning for each rule whose pattern matches no message of the recorded runs in or below these folders.

    Rules are held against the snapshots, so that a new table can be checked, too. Runs over backout queues are passed
    over, or with `backout` all others.

    Raises:
        SettingsError: there is no recorded run.
        LakeError: a snapshot cannot be read.
    """
    waiting, runs = list(table.rules), 0
    for run in _runs(folders):
        snapshot = Recorded.of(run.path)
        if snapshot.of_backout_queues is not backout:
            continue
        runs += 1
        waiting = _left(waiting, snapshot, table.questions)
    if not runs:
        where, kind = ", ".join(map(str, folders)), "backout queues" if backout else "a dead-letter queue"
        raise SettingsError(
            f"There is no recorded run of {kind} in {where}: name a run, or a folder of runs, such as LAKE/QM1/runs"
        )
    recorded = counted(runs, "recorded run")
    return [_problem(rule, f"this rule matched no message in {recorded}") for rule in waiting]


def _runs(folders: Sequence[Path]) -> Iterator[RunFolder]:
    for observed in sorted({found for folder in folders for found in folder.rglob("observe.json")}):
        run = RunFolder(observed.parent)
        of_no_queue = any((run.path / name).exists() for name in ("undo.json", "load.json"))  # copies, a file's
        if not of_no_queue and any(run.snapshot.glob("*.parquet")):
            yield run


def _left(rules: Iterable[Rule], snapshot: Recorded, questions: Sequence[Question]) -> list[Rule]:
    """The rules that match no message of a snapshot. What looks the same to all rules is looked at once."""
    left = list(rules)
    seen: set[tuple[Answer, ...]] = set()
    for message in snapshot.matchable(*questions):
        fields = pattern_fields(message) | answers(questions, message)
        key = tuple(fields.values())
        if not left:
            break
        if key not in seen:
            seen.add(key)
            left = [rule for rule in left if not matches(rule, fields)]
    return left


def _problem(rule: Rule, message: str) -> Problem:
    return Problem(line=rule.line, column=1, message=message)
