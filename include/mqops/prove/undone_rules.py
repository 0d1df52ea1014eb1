"""What an undo put back, by the rules of the run that it undoes: an undo has no rules of its own."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from mqops.act.approved_plan import read_approved_plan
from mqops.actions import Action
from mqops.decide.arrow import read_plan
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.ledger.file import LedgerFile
from mqops.prove.records import UNDO_RECORD


class RuledRow(NamedTuple):
    """The columns of `mqops.plan_row.PlanRow` that name a row's rule. An undo numbers its rows as the run does."""

    row: int
    rule_line: int | None
    action: Action


class OfRule(NamedTuple):
    """A rule of the run that is undone (its line, None: no rule), what it did, and messages: put back, of so many."""

    rule_line: int | None
    action: Action
    put_back: int
    planned: int


def undone_rules(run: RunFolder) -> list[OfRule]:
    """For each rule of the run that an undo undoes, in the order of their lines; nothing for a run that is not an undo.

    Raises:
        LakeError: a plan cannot be read.
        LedgerBroken: a line of the ledger is not readable.
    """
    undoes = UNDO_RECORD.find(run)
    if undoes is None:
        return []
    ledger = LedgerFile(run.lake_folder)
    acted = account(ledger.markers(plan=read_approved_plan(run).identity)).acted
    wanted = {one.row for one in read_plan(run.plan, RuledRow)}
    planned: Counter[tuple[int | None, Action]] = Counter()
    put_back: Counter[tuple[int | None, Action]] = Counter()
    for row in read_plan(RunFolder(run.path.parent / undoes.run).plan, RuledRow):
        if row.row in wanted:
            planned[row.rule_line, row.action] += 1
            put_back[row.rule_line, row.action] += row.row in acted
    order = sorted(planned, key=lambda one: (one[0] is None, one[0] or 0, one[1]))
    return [OfRule(*one, put_back[one], planned[one]) for one in order]
