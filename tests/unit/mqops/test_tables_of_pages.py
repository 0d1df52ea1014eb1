"""Issue 37 C8: a column that has nothing to show folds."""

from __future__ import annotations

import pytest

from mqops.look.rules_in_use import RuleHits, RulesInUse
from mqops.look.words.rules import lines
from mqops.look.words.shown_table import shown_table
from mqops.rules import parse


@pytest.mark.parametrize(("by_run", "columns"), [((3,), 3), ((3, 0), 4), ((0, 0), 3)])
def test_the_trend_of_a_rule_stands_where_there_are_several_runs(by_run: tuple[int, ...], columns: int) -> None:
    text = "* for all\nACTION(RETRY)\n"
    table = parse(text, source="t").table
    assert table is not None
    hits = (RuleHits(table.rules[0], sum(by_run), by_run, len(by_run)),)
    used = RulesInUse(queue_manager="QM1", workflow="dlq_rules", runs=(), hits=hits, versions=())
    shown = shown_table(lines(text, {}, used))
    assert len(shown.columns) == columns
    assert [str(one) for one in shown.alike] == ["Empty in all 2 rows: Over the runs."][: 4 - columns]
