"""How the rules table is processed (seed page 004): the search, the tries, the validation, the linter.

The same rules on real snapshots are in tests/spark/test_decide.py, on a live queue in the tests of the workflow.
"""

from __future__ import annotations

from click.testing import CliRunner

from mqops.cli import main
from mqops.rules import choose, matching, parse

CATCH_ALL = "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE) HEADER(YES)\n"


def table_of(text):
    table = parse(text).table
    assert table is not None
    return table


A_B = """\
REASON(1) ACTION(RETRY) RETRY(3)
ACTION(FWD) FWDQ(B)
"""


def visits(table, message, number):
    """Lines of the rules chosen when every try fails."""
    tries: dict[str, int] = {}
    lines = []
    for _ in range(number):
        rule = choose(table, message, tries)
        lines.append(rule.line if rule else None)
        if rule is not None:
            tries[rule.key] = tries.get(rule.key, 0) + 1
    return lines


def test_D01_D02_D03_D04_every_rule_is_tried_in_turn_as_often_as_it_says():
    assert visits(table_of(A_B), {"REASON": 1}, 6) == [1, 1, 1, 2, None, None]
    assert visits(table_of(A_B), {"REASON": 2}, 3) == [2, None, None]


def test_D03_equal_rules_have_tries_of_their_own():
    table = table_of("ACTION(RETRY)\nACTION(RETRY) RETRY(2)\n")
    assert visits(table, {}, 5) == [1, 2, 2, None, None]


def test_D04_IGNORE_hides_what_follows_for_good():
    table = table_of("ACTION(RETRY) RETRY(2)\nACTION(IGNORE)\nACTION(DISCARD)\n")
    assert visits(table, {}, 5) == [1, 1, 2, 2, 2]


def test_D06_an_action_only_rule_takes_what_no_earlier_rule_took():
    table = table_of("DESTQ(A) ACTION(DISCARD)\nACTION(FWD) FWDQ(B)\n")
    assert choose(table, {"DESTQ": "A"}, {}).line == 1
    assert choose(table, {"DESTQ": "Z", "REASON": 99, "FORMAT": "MQSTR"}, {}).line == 2
    assert choose(table, {}, {}).line == 2


def test_matching_names_every_rule_that_matches():
    assert [rule.line for rule in matching(table_of(A_B), {"REASON": 1})] == [1, 2]


def test_D01_the_first_rule_that_matches_wins_not_the_closest():
    table = table_of("DESTQ(PAY*) ACTION(DISCARD)\nDESTQ(PAYMENTS.IN) ACTION(RETRY)\n" + CATCH_ALL)
    assert choose(table, {"DESTQ": "PAYMENTS.IN"}, {}).line == 1


def test_D02_tries_are_counted_per_rule_and_not_per_message():
    table = table_of("REASON(1) ACTION(RETRY) RETRY(2)\nDESTQ(A) ACTION(RETRY) RETRY(2)\n" + CATCH_ALL)
    first = table.rules[0]
    assert choose(table, {"REASON": 1, "DESTQ": "A"}, {first.key: 1}).line == 1
    assert choose(table, {"REASON": 1, "DESTQ": "A"}, {first.key: 2}).line == 2
    # the same message after its tries of the first rule: the second rule has all of its own
    assert visits(table, {"REASON": 1, "DESTQ": "A"}, 6) == [1, 1, 2, 2, 3, None]


def test_D07_D09_all_errors_of_all_lines_are_flagged_at_once_with_their_places():
    lines = [
        "FORMAT('')",
        "ACTION(X)",
        "DESTQ(A) DESTQ(B) ACTION(RETRY)",
        "(",
        "ACTION(FWD)",
        "RETRY(0) ACTION(DISCARD)",
    ]
    parsed = parse("\n".join(lines) + "\n")
    assert parsed.table is None
    assert [(error.line, error.column) for error in parsed.errors] == [
        *((1, 1), (1, 8)),  # no ACTION, an empty value
        *((2, 8), (3, 10), (4, 1), (5, 1), (6, 7)),
    ]
    assert [error.text for error in parsed.errors[1:]] == lines


def test_D14_the_linter_warns_of_what_leaves_messages_behind():
    parsed = parse(
        "DESTQ(A) ACTION(IGNORE)\n"  # leaves messages
        "DESTQ(A) REASON(1) ACTION(RETRY)\n"  # never reached
        "DESTQ('A*') ACTION(FWD) FWDQ(B)\n"
        "DESTQ('AB?') ACTION(DISCARD)\n"  # only if the forward fails; and it is no catch-all
    )
    assert parsed.table is not None
    assert [(w.line, w.column, w.message.split(":")[0].split(",")[0]) for w in parsed.warnings] == [
        (1, 10, "ACTION(IGNORE) leaves messages on the queue"),
        (2, 1, "this rule is never reached"),
        (4, 1, "the last rule is no catch-all"),
        (4, 1, "this rule is never reached unless the forward of the rule on line 3 fails"),
    ]
    assert parse("DESTQ(A) ACTION(RETRY)\n" + CATCH_ALL).warnings == ()


def test_D15_the_catch_all_of_the_page():
    result = CliRunner().invoke(main, ["rules", "check", "-"], input="DESTQ(A) ACTION(RETRY)\n" + CATCH_ALL)
    assert (result.exit_code, result.output) == (0, "<stdin>: valid, 2 rules, 0 warnings\n")
    rule = table_of(CATCH_ALL).rules[0]
    assert (rule.action, rule.fwdq, rule.fwdqm, rule.header) == ("FWD", "REALLY.DEAD.QUEUE", "", True)
    spaced = table_of("ACTION (FWD) FWDQ (REALLY.DEAD.QUEUE) HEADER (YES)\n").rules[0]  # as the page prints it
    assert spaced.key == rule.key
