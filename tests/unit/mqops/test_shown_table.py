"""Issue 37 C8: what all rows of a table have alike is told once, and each cell says by what it is sorted."""

from __future__ import annotations

from mqops.look.words.shown_table import MANY, shown_table
from mqops.look.words.text import Ago, Label, Lines, Link, Table, Text, Tick, said


def test_columns_that_are_empty_or_the_same_become_sentences() -> None:
    rows = [("A", "DEADQ", 0, "", None), ("B", "DEADQ", 0, "–", None)]
    shown = shown_table(Table("t", ["*To|name", "Queue|name", "Gone|number", "By", "Oldest"], rows))
    assert [one.column.heading for one in shown.columns] == ["To"]
    assert [str(one) for one in shown.alike] == [
        "The same in all 2 rows. Queue: DEADQ; Gone: 0.",
        "Empty in all 2 rows: By, Oldest.",
    ]
    assert [[cell.value for cell in row] for row in shown.rows] == [["A"], ["B"]]


def test_equal_numbers_stay_and_a_sentence_about_a_part_of_the_rows_says_so() -> None:
    shown = shown_table(Table("t", ["*Rule", "Planned|number", "By"], [("A", 5, "x"), ("B", 5, "x")], part=True))
    assert [one.column.heading for one in shown.columns] == ["Rule", "Planned"]
    assert str(shown.alike[0]) == "The same in all 2 rows of this page. By: x."


def test_lengths_of_time_and_sizes_are_sorted_by_their_units() -> None:
    rows = [("2 min 3 s", "1.5 KiB"), ("1 h", "900 B"), ("1 d 2 h", "2 MiB")]
    shown = shown_table(Table("t", ["Took|number", "Size|number"], rows))
    assert [[float(cell.by) for cell in row] for row in shown.rows] == [[123, 1536], [3600, 900], [93600, 2097152]]


def test_a_value_that_one_row_has_alone_is_no_sentence() -> None:
    shown = shown_table(Table("t", ["*To", "Gone|number"], [("A", 0), ("B", 0), ("C", 1)]))
    assert not shown.alike
    assert [row[1].nil for row in shown.rows] == [True, True, False]


def test_a_single_row_headings_ticks_and_columns_that_stay_are_not_folded() -> None:
    assert not shown_table(Table("t", ["Queue"], [("A",)])).alike
    tick = Text((Tick("this", "00", "Q"),))
    shown = shown_table(Table("t", ["*Step", "!State", "Choose"], [("a", "done", tick), ("a", "done", tick)]))
    assert len(shown.columns) == 3
    assert len(shown_table(Table("t", ["Queue", "By"], [("A", "x"), ("A", "x")])).columns) == 1


def test_labels_lines_and_links_keep_what_they_are_in_a_sentence() -> None:
    link, lines = Link("line 3", "rules", {"workflow": "dlq_rules"}), Text((Lines(("one", "two")),))
    shown = shown_table(
        Table("t", ["*Q", "State", "Rule", "Why"], [(q, Label("met", "good"), link, lines) for q in "AB"])
    )
    (sentence,) = shown.alike
    assert str(sentence) == "The same in all 2 rows. State: met; Rule: line 3; Why: one; two."
    assert link in sentence.parts
    assert Label("met", "good") in sentence.parts
    (sentence,) = shown_table(Table("t", ["*Q", "Known"], [(q, "Nobody has looked.") for q in "AB"])).alike
    assert str(sentence) == "The same in all 2 rows. Known: Nobody has looked."


def test_a_column_is_sorted_by_numbers_where_each_value_is_one() -> None:
    headings = ["Number|number", "Of", "When", "Mixed"]
    rows = [
        (1234, "at most 1,200 of 3", said("{:ago} ago", "2026-01-02T00:00:00+00:00"), 1),
        (2, "7 of 9", Ago(""), "x"),
    ]
    shown = shown_table(Table("t", headings, rows))
    assert [one.by for one in shown.columns] == ["number", "number", "text", "text"]
    assert [cell.by for cell in shown.rows[0]] == ["1234", "1200", "2026-01-02T00:00:00+00:00", "1"]


def test_more_rows_than_some_have_a_filter() -> None:
    assert [shown_table(Table("t", ["*N"], [(n,) for n in range(number)])).many for number in (MANY, MANY + 1)] == [
        False,
        True,
    ]
