"""The linter beyond the files of test_rules_tables (D14), with `--qmgr` and `--runs`, too."""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.rules import parse

sys.path.insert(0, str(Path(__file__).parents[1] / "mqops"))
from snapshots import dead_letter, recorded

HEADER = "* MQOPS EXTENSIONS\n"
CATCH_ALL = "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)\n"


def check(text, *arguments, expect=0):
    result = CliRunner().invoke(main, ["rules", "check", "-", "--json", *map(str, arguments)], input=text)
    assert result.exit_code == expect, result.output
    return [(warning["line"], warning["message"]) for warning in json.loads(result.output)["warnings"]]


@pytest.mark.parametrize(
    ("patterns", "unknown"),
    [
        ("REASON(2053)", []),
        ("REASON(9999)", ["REASON(9999): no MQRC_* or MQFB_* has this number"]),
        ("REASON(271) FEEDBACK(2053)", []),  # a feedback code as a reason, a reason in an exception report
        ("REASON(301) FEEDBACK(399)", []),  # IMS
        ("REASON(65536) FEEDBACK(70000) MSGTYPE(65536) APPLTYPE(65536)", []),  # applications' own
        ("MSGTYPE(3) PERSIST(7)", ["MSGTYPE(3): no MQMT_* has this number", "PERSIST(7): no MQPER_* has this number"]),
        ("REASON(*) MSGTYPE('*')", []),
    ],
)
@pytest.mark.parametrize("header", ["", HEADER])
def test_D14_numbers_that_mean_nothing(patterns, unknown, header):
    text = f"{header}{patterns} ACTION(RETRY)\n{CATCH_ALL}"
    line = 2 if header else 1
    assert check(text) == [(line, f"{message}: correct it, or remove the rule") for message in unknown]


TAKES_SOME = [
    ("REASON(2053)", "DESTQ(PAY*)", True),
    ("DESTQ(*.OLD)", "DESTQ(PAY.*)", True),
    ("DESTQ(PAY.IN)", "DESTQ(PAY*)", False),  # a special case first
    ("DESTQ(PAY*)", "DESTQ(ORD*)", False),
    ("REASON(2053) DESTQ(A*)", "REASON(2085) DESTQ(*A)", False),
]


@pytest.mark.parametrize(("discard", "retry", "warned"), TAKES_SOME)
@pytest.mark.parametrize("header", ["", HEADER])
def test_D14_DISCARD_before_RETRY(discard, retry, warned, header):
    text = f"{header}{discard} ACTION(DISCARD)\n{retry} ACTION(RETRY)\n{CATCH_ALL}"
    line = 2 if header else 1
    message = (
        f"DISCARD before RETRY: some messages that the rule on line {line + 1} would put again are discarded here "
        "without a try; put such a rule before this one, or let this one match less"
    )
    assert check(text) == ([(line, message)] if warned else [])


@pytest.mark.parametrize(("ignore", "later", "warned"), TAKES_SOME)
def test_D14_IGNORE_that_hides_later_rules_names_them(ignore, later, warned):
    text = f"{ignore} ACTION(IGNORE)\n{later} ACTION(FWD) FWDQ(A)\n{later} APPLTYPE(6) ACTION(RETRY)\n{CATCH_ALL}"
    hidden = (
        "IGNORE hides later rules: some messages that the rules on lines 2 and 3 would take stay on the queue; put "
        "such a rule before this one, or let this one match less"
    )
    found = [message for line, message in check(text) if line == 1]
    assert found[0].startswith("ACTION(IGNORE) leaves messages")
    if ignore == "DESTQ(PAY.IN)":  # a special case of the second rule, not of the third
        assert found[1:] == [hidden.replace("rules on lines 2 and 3", "rule on line 3", 1)]
    else:
        assert found[1:] == ([hidden] if warned else [])


AGAINST_OTHERS = [
    # no warnings: no message is asked for by both
    ("AGE(<1h) ACTION(IGNORE)\nAGE(>=1h) REASON(2053) ACTION(RETRY)", {}),
    ("PRIORITY(=3) ACTION(IGNORE)\nPRIORITY(=4) ACTION(RETRY)", {}),
    ("PROP('usr.a'='X') ACTION(IGNORE)\nPROP('usr.a'='Y') ACTION(RETRY)", {}),
    ("FORMAT('AAAAA*') ACTION(IGNORE)\nFORMAT('*BBBBB') ACTION(RETRY)", {}),  # a field of eight
    ("FORMAT('AAAA*') ACTION(IGNORE)\nFORMAT('*BBBB') ACTION(RETRY)", {2: "IGNORE hides"}),
    ("AGE(<2h) ACTION(IGNORE)\nAGE(>1h) ACTION(RETRY)", {2: "IGNORE hides"}),
    ("BODY('*a*') ACTION(DISCARD)\nBODY('*b*') ACTION(RETRY)", {2: "DISCARD before RETRY"}),
    # never reached
    ("AGE(>1h) ACTION(DISCARD)\nAGE(>2h) ACTION(RETRY)", {3: "this rule is never reached: the rule on line 2"}),
    ("PROP('usr.a'='X*') ACTION(DISCARD)\nPROP('usr.a'='XY') ACTION(RETRY)", {3: "this rule is never reached"}),
    ("BODY('*') ACTION(DISCARD)\nBODY('*test*') ACTION(RETRY)", {3: "this rule is never reached"}),
    # matches nothing, so that nothing else is to be said of it
    (
        "PROP('usr.a'='X') PROP('usr.a'='Y') ACTION(DISCARD)",
        {2: "this rule matches nothing: no message is PROP('usr.a'"},
    ),
    ("AGE(>2h) ACTION(DISCARD)\nAGE(>3h) AGE(<1h) ACTION(RETRY)", {3: "this rule matches nothing: no message is AGE("}),
    ("PERSIST(2) ACTION(RETRY)", {2: "PERSIST(2): no message on a queue has this number: correct it, or remove the"}),
    ("PERSIST(MQPER_PERSISTENCE_AS_Q_DEF) ACTION(RETRY)", {2: "PERSIST(2): no message on a queue has this number"}),
]


@pytest.mark.parametrize(("rules", "warned"), AGAINST_OTHERS)
def test_D14_conditions_are_compared(rules, warned):
    found = [
        (line, message)
        for line, message in check(f"{HEADER}{rules}\n{CATCH_ALL}")
        if not message.startswith("ACTION(IGNORE) leaves")
    ]
    assert [line for line, _ in found] == list(warned)
    assert all(message.startswith(warned[line]) for line, message in found)


NO_CATCH_ALL = "the last rule is no catch-all: messages that no rule matches stay on the queue"
USED_UP = "the catch-all is a RETRY: messages whose tries are used up stay on the queue"


@pytest.mark.parametrize(
    ("rules", "warned"),
    [
        ("REASON(2053) ACTION(RETRY)", [(2, NO_CATCH_ALL)]),
        ("ACTION(RETRY) RETRY(3)", [(2, USED_UP)]),
        ("REASON(2053) ACTION(RETRY)\nPRIORITY(>=0) ACTION(RETRY)", [(3, USED_UP)]),
        ("ACTION(RETRY)\nACTION(FWD) FWDQ(A)", []),
        ("ACTION(RETRY)\nACTION(DISCARD)", []),
        ("ACTION(FWD) FWDQ(A)\nREASON(2053) ACTION(RETRY)", [(3, "this rule is never reached unless the forward")]),
        ("PRIORITY(>=0) ACTION(FWD) FWDQ(A)", []),
        ("AGE(>=0s) ACTION(FWD) FWDQ(A)", [(2, NO_CATCH_ALL)]),  # a message without a put date
    ],
)
def test_D14_a_catch_all_is_any_rule_that_matches_everything(rules, warned):
    found = check(f"{HEADER}{rules}\n")
    assert [line for line, _ in found] == [line for line, _ in warned]
    assert all(message.startswith(wanted) for (_, message), (_, wanted) in zip(found, warned, strict=True))


@pytest.mark.parametrize(
    ("control", "action", "warned"),
    [
        ("INPUTQ(DLQ)", "FWDQ(DLQ)", "DLQ"),
        ("INPUTQ(DLQ) INPUTQM(QM1)", "FWDQ(DLQ) FWDQM(QM1)", "DLQ@QM1"),
        ("INPUTQ(DLQ) INPUTQM(QM1)", "FWDQ(DLQ) FWDQM(QM2)", ""),
        ("INPUTQ(DLQ)", "FWDQ(DLQ.2)", ""),
        ("RETRYINT(9)", "FWDQ(DLQ)", ""),  # which queue that is, the queue manager knows
    ],
)
def test_D14_a_forward_to_the_queue_that_is_read(control, action, warned):
    message = (
        f"FWDQ {warned} is the queue that this table reads (INPUTQ): messages come back to it; forward them elsewhere"
    )
    assert check(f"{control}\nACTION(FWD) {action}\n") == ([(2, message)] if warned else [])


NOT_REACHED_UNKNOWN = "from here on rules are not compared with those before them, with all these patterns that is too"
HIDDEN_UNKNOWN = "from here on rules are not compared with those behind them, with all these patterns that is too"


def test_D14_rules_are_compared_with_those_behind_them_with_so_much_work():
    wild = [f"'{'*?A*?B' * 5}*{one}{'?*A' * 4}{two}*'" for one, two in product("ABCDEFGH", repeat=2)]
    table = "".join(f"DESTQ({pattern}) ACTION(IGNORE)\n" for pattern in wild)
    found = check(f"{table}{CATCH_ALL}")
    assert sum(message.startswith(HIDDEN_UNKNOWN) for _, message in found) == 1
    assert parse(table + CATCH_ALL, lint=False).warnings == ()


def test_D14_rules_are_compared_with_those_before_them_with_so_much_work():
    table = "".join(f"DESTQ(*A{n}.*) ACTION(DISCARD)\n" for n in range(750))
    [(line, message)] = check(table + CATCH_ALL)
    assert line > 600
    assert message == f"{NOT_REACHED_UNKNOWN} much work: what is never reached is not said"


def test_D14_a_rule_behind_900_of_other_queues_is_found_never_reached():
    table = (
        "".join(f"DESTQ(APP{n}.*) REASON(2053) ACTION(DISCARD)\n" for n in range(400))
        + "".join(f"DESTQ(SVC{n}.*) REASON(2053) ACTION(RETRY) RETRY(3)\n" for n in range(500))
        + "DESTQ(APP399.IN) REASON(2053) ACTION(RETRY)\n"
    )
    assert check(table + CATCH_ALL) == [
        (901, "this rule is never reached: the rule on line 400 takes every message it matches")
    ]


def test_D14_a_rule_behind_5000_of_other_numbers_is_found_never_reached():
    table = "".join(f"FEEDBACK({65536 + n}) ACTION(IGNORE)\n" for n in range(5000))
    found = check(f"{table}FEEDBACK(65999) DESTQ(A) ACTION(RETRY)\n{CATCH_ALL}")
    assert [one for one in found if not one[1].startswith("ACTION(IGNORE) leaves")] == [
        (5001, "this rule is never reached: the rule on line 464 takes every message it matches")
    ]


def test_D14_what_is_never_reached_is_said_where_looking_for_what_is_hidden_is_too_much_work():
    table = (
        "".join(f"DESTQ(A{n}) APPLTYPE(6) ACTION(DISCARD)\n" for n in range(720))
        + "".join(f"USERID(U{n}) APPLTYPE(7) ACTION(RETRY)\n" for n in range(720))
        + "DESTQ(A7) APPLTYPE(6) ACTION(RETRY)\n"
    )
    (given_up, hidden), never = check(table + CATCH_ALL)
    assert given_up < 720
    assert hidden == f"{HIDDEN_UNKNOWN} much work: what IGNORE or DISCARD hides is not said"
    assert never == (1441, "this rule is never reached: the rule on line 8 takes every message it matches")


def test_D14_a_rule_that_matched_nothing_in_recorded_runs(tmp_path):
    recorded(tmp_path, [dead_letter("PAY.IN", b"x"), ({}, b"no header")], run="r1")
    recorded(tmp_path, [dead_letter("ORDERS", b"x", reason=2085)], run="r2")
    table = (
        "DESTQ(PAY*) ACTION(RETRY)\n"
        "DESTQ(NOBODY) ACTION(RETRY)\n"
        "REASON(2085) ACTION(RETRY)\n"
        "DESTQ(ORDERS) REASON(2053) ACTION(RETRY)\n"
        "REASON(0) ACTION(RETRY)\n"  # the message without a header is not held against rules
    ) + CATCH_ALL
    warnings = check(table, "--runs", tmp_path / "QM1" / "runs")
    assert warnings == [(line, "this rule matched no message in 2 recorded runs") for line in (2, 4, 5)]
    assert check(table, "--runs", tmp_path) == warnings
    one, several = ["--runs", "r1", "--lake", tmp_path], ["--runs", "r2", "--runs", tmp_path / "QM1" / "runs" / "r1"]
    assert check(table, *one) == [(n, "this rule matched no message in 1 recorded run") for n in (2, 3, 4, 5)]
    assert check(table, *several, "--lake", tmp_path) == warnings
    ambiguous = CliRunner().invoke(
        main, ["rules", "check", "-", "--runs", "r", "--lake", str(tmp_path)], input=CATCH_ALL
    )
    assert ambiguous.exit_code == 2
    assert "2 runs whose keys begin with r: name one of r1, r2" in ambiguous.stderr
    shown = CliRunner().invoke(main, ["rules", "check", "-", "--runs", str(tmp_path)], input=table).output
    assert (
        "2:1: warning: this rule matched no message in 2 recorded runs\n    DESTQ(NOBODY) ACTION(RETRY)\n    ^" in shown
    )


def test_what_could_not_be_looked_at_is_exit_2_behind_the_verdict(tmp_path, monkeypatch):
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path))
    command = ["rules", "check", "-", "--runs", str(tmp_path), "--qmgr", "NOBODY"]
    result = CliRunner().invoke(main, command, input=CATCH_ALL)
    assert result.exit_code == 2
    assert result.stdout == "-: valid, 1 rule, 0 warnings\n".replace("-", "<stdin>", 1)
    unreachable, no_run = result.stderr.splitlines()
    assert unreachable.startswith("mqops: MQCONNX on NOBODY failed: MQRC_Q_MGR_NAME_ERROR (2058)")
    assert no_run.startswith("mqops: There is no recorded run of a dead-letter queue in")
    document = json.loads(CliRunner().invoke(main, [*command, "--json"], input=CATCH_ALL).stdout)
    assert (document["ok"], document["errors"], document["error"]["code"]) == (True, [], "MQRC_Q_MGR_NAME_ERROR")


def test_an_invalid_table_is_exit_1_whatever_could_not_be_looked_at(tmp_path):
    result = CliRunner().invoke(main, ["rules", "check", "-", "--runs", str(tmp_path)], input="ACTION(X)\n")
    assert result.exit_code == 1
    assert "1 error, the table is not valid" in result.stdout
    assert "Exit codes: 0 the table is valid" in CliRunner().invoke(main, ["rules", "check", "--help"]).output


def test_a_folder_of_runs_that_is_not_there_is_usage(tmp_path):
    result = CliRunner().invoke(main, ["rules", "check", "-", "--runs", str(tmp_path / "nowhere")], input=CATCH_ALL)
    assert result.exit_code == 2


def test_a_table_for_backout_queues_may_name_its_origin():
    table = "ACTION(FWD) FWDQ(&ORIGQ)\n"
    assert check(table, "--backout") == []
    check(table, expect=1)
    check(table, "--backout", "--strict", expect=1)  # IBM's handler does not know it
    assert parse(table, origins=True).table is not None


def test_D14_a_queue_that_the_queue_manager_does_not_have(queue_manager, monkeypatch):
    manager = queue_manager(
        mqsc="DEFINE QLOCAL(REALLY.DEAD.QUEUE)\nDEFINE QALIAS(ALIAS) TARGET(NOWHERE)\n"
        "DEFINE QLOCAL(QM9) USAGE(XMITQ)\nDEFINE QREMOTE(FAR) RNAME(X) RQMNAME(QM9)\n"
    )
    monkeypatch.setitem(os.environ, "MQLITE_HOME", str(manager.home))
    table = (
        "DESTQ(A) ACTION(FWD) FWDQ(REALLY.DEAD.QUEU)\n"
        "DESTQ(B) ACTION(FWD) FWDQ(ALIAS)\n"
        "DESTQ(C) ACTION(FWD) FWDQ(FAR)\n"
        "DESTQ(D) ACTION(FWD) FWDQ(X) FWDQM(QM9)\n"
        "DESTQ(E) ACTION(FWD) FWDQ(X) FWDQM(QM8)\n"
        "DESTQ(F) ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM)\n"
        "DESTQ(G) ACTION(RETRY)\n"
    ) + CATCH_ALL
    assert check(table, "--qmgr", "QM1") == [
        (1, "FWDQ REALLY.DEAD.QUEU does not exist on QM1: MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (2, "FWDQ ALIAS does not exist on QM1: MQRC_UNKNOWN_ALIAS_BASE_Q (2082)"),
        (5, "FWDQ X@QM8 does not exist on QM1: MQRC_UNKNOWN_REMOTE_Q_MGR (2087)"),
    ]


def test_D14_a_forward_to_the_queue_that_is_read_on_the_queue_manager(queue_manager):
    queue_manager(
        mqsc="DEFINE QLOCAL(DEAD) REPLACE\nDEFINE QLOCAL(OTHER)\nDEFINE QALIAS(DEAD.ALIAS) TARGET(DEAD)\n"
        "DEFINE QALIAS(OTHER.ALIAS) TARGET(OTHER)\nALTER QMGR DEADQ(DEAD)\n"
    )
    rules = (
        "DESTQ(A) ACTION(FWD) FWDQ(DEAD)\n"
        "DESTQ(B) ACTION(FWD) FWDQ(DEAD.ALIAS) FWDQM(QM1)\n"
        "DESTQ(C) ACTION(FWD) FWDQ(OTHER)\n"
        "ACTION(FWD) FWDQ(OTHER.ALIAS)\n"
    )

    def read(target, which):
        which_one = f"the queue that this table reads ({which})"
        return f"FWDQ {target} is {which_one}: messages come back to it; forward them elsewhere"

    dead = "DEADQ on QM1, DEAD"
    assert check(rules, "--qmgr", "QM1") == [(1, read("DEAD", dead)), (2, read("DEAD.ALIAS@QM1", dead))]
    assert check(rules, "--qmgr", "QM1", "--backout") == []
    assert check(rules) == []
    other = "INPUTQ on QM1, OTHER"
    assert check(f"INPUTQ(OTHER)\n{rules}", "--qmgr", "QM1") == [
        (4, read("OTHER", "INPUTQ")),
        (5, read("OTHER.ALIAS", other)),
    ]
    assert check(f"INPUTQ(OTHER.ALIAS)\n{rules}", "--qmgr", "QM1") == [
        (4, read("OTHER", other)),
        (5, read("OTHER.ALIAS", "INPUTQ")),
    ]
    assert check(f"INPUTQM(QM2)\n{rules}", "--qmgr", "QM1") == []
