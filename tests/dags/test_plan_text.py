"""What an approver reads of a plan."""

from __future__ import annotations

import re
from dataclasses import replace

from mqops.actions import Action
from mqops.decide.core import PlanCount, PlanSummary, RuleCount, Sample
from mqops.decide.core.preflight import Demand, Finding, Inquired, LocalQueue, Looked, Preflight
from mqops.look.compared import Compared
from mqops.look.words.planned import title
from mqops_airflow.approval import plan_text

SAMPLE = Sample(
    row=0, msg_id="41" * 24, put_at="2026-11-21T09:00:00.00Z", put_appl_name="app", bytes=600, shape="xx;99"
)
COUNT = PlanCount(
    rule_line=12,
    rule_key="k-1",
    action=Action.FWD,
    reason=2085,
    symbol="MQRC_UNKNOWN_OBJECT_NAME",
    origin_q="TRADES.OLD",
    origin_q_mgr="QM1",
    dest_q="TRADES.NEW",
    dest_q_mgr="",
    messages=1500,
    bytes=900_000,
    oldest="2026-11-20T01:02:03.04Z",
    samples=(SAMPLE,),
)


def plan(*counts: PlanCount, left_off: int = 0) -> PlanSummary:
    rules = (
        RuleCount(rule_line=12, rule_key="k-1", action=Action.FWD, messages=1500, bytes=900_000, oldest=""),
        RuleCount(rule_line=None, rule_key=None, action=Action.ERROR, messages=60, bytes=60, oldest=""),
    )
    return PlanSummary(
        run="r1",
        workflow="dlq_rules",
        queue_manager="QM1",
        queue="SYSTEM.DEAD.LETTER.QUEUE",
        table_source="/x/qm1.rules",
        table_digest="d" * 64,
        table_text="",
        digest="e" * 64,
        observed=1560,
        rows=1560,
        bytes=900_060,
        rules=rules,
        counts=counts,
        counts_left_off=left_off,
    )


def test_subject_counts_what_would_be_touched() -> None:
    assert (
        plan_text.subject(plan(COUNT))
        == "QM1: move 1,500 to TRADES.NEW (of 1,560 messages of SYSTEM.DEAD.LETTER.QUEUE)?"
    )


def test_the_heading_counts_what_finds_no_room_as_the_page_of_the_run_does() -> None:
    said = str(title(plan(COUNT), "would {}", stay=100))
    assert said.endswith("(of 1,560 messages of SYSTEM.DEAD.LETTER.QUEUE; 100 of those to move would stay)")


def test_the_question_of_airflow_counts_it_too() -> None:
    full = LocalQueue(name=COUNT.dest_q, depth=0, max_depth=1400, max_msg_length=5000)
    asked = plan(COUNT)
    looked = Looked(demand=Demand(queue=COUNT.dest_q, messages=1500, bytes=1, longest=1), there=Inquired(queue=full))
    found = Preflight(plan=asked.digest, checked_at="t", destinations=1, findings=(), looked=(looked,))
    assert "; 100 of those to move would stay)?" in plan_text.subject(asked, found)
    assert "would stay" not in plan_text.subject(asked, replace(found, plan="of another plan"))


def test_subject_says_what_goes_where_and_what_is_discarded_last() -> None:
    counts = [replace(COUNT, dest_q=name, messages=number) for name, number in (("A", 1), ("B", 9), ("C", 4), ("D", 3))]
    discards, copies = (replace(COUNT, action=Action(word), messages=300) for word in ("DISCARD", "COPY"))
    rules = [
        RuleCount(rule_line=1, rule_key="k", action=Action(action), messages=number, bytes=1, oldest="")
        for action, number in (("DISCARD", 300), ("FWD", 17), ("COPY", 301), ("IGNORE", 7))
    ]
    made = replace(plan(replace(discards, dest_q=""), *counts, copies), rules=tuple(rules), queue="Q1,Q2,Q3,Q4,Q5")
    assert plan_text.subject(made, said="would {}") == (
        "QM1: would move 9 to B, 4 to C, 3 to D, 1 elsewhere, copy 300 to TRADES.NEW, 1 elsewhere, discard 300 "
        "(of 1,560 messages of Q1, Q2, Q3 and 2 other queues)"
    )
    assert "DISCARD** |" in plan_text.body(made)
    assert "**DISCARD 300**, FWD 17" in plan_text.body(made)


def test_the_question_says_what_is_new_beside_the_last_plan() -> None:
    discards = replace(COUNT, action=Action.DISCARD, dest_q="")
    made = plan(COUNT, discards)
    then = Compared(plan=made.digest, last="r0", at="2026-11-20T21:00:00.00Z", messages=40, before=(40, None), gone=3)
    text = plan_text.body(made, None, then)
    assert "Last plan of this queue, `2026-11-20 21:00`: 40 messages. **1 new group**, 3 groups gone." in text
    assert [cells(text, word)[1] for word in ("| FWD |", "**DISCARD** |")] == ["40", "**new**"]
    assert "no earlier plan of this workflow for this queue" in plan_text.body(made, None, Compared(plan=made.digest))
    assert "Last plan" not in plan_text.body(made, None, replace(then, plan="another"))
    assert "too many groups to say" in plan_text.body(made, None, replace(then, comparable=False, before=()))
    assert "was not compared with this one: `no file`" in plan_text.body(
        made, None, Compared(plan=made.digest, error="no file")
    )


def test_an_undo_is_titled_as_one() -> None:
    rules = (RuleCount(rule_line=None, rule_key=None, action=Action.RETURN, messages=2170, bytes=1, oldest=""),)
    undo = replace(plan(), workflow="undo", table_source="undo of run r7", rules=rules, rows=2230)
    assert plan_text.subject(undo) == 'QM1: undo "r7": put back 2,170 of 2,230 messages?'
    name = "dead letters of QM1, 2026-11-28 21:16, real, by operator"
    assert plan_text.subject(undo, undone=name) == f'QM1: undo "{name}": put back 2,170 of 2,230 messages?'
    body = plan_text.body(undo, undone=name)
    assert body.startswith(f"Undoes `{name}`: **2,230 messages**")
    assert "It undoes run `r7`. Run: " in body
    assert "Rules:" not in plan_text.body(undo)


def cells(text: str, word: str) -> list[str]:
    """The cells of the table's row with a word in it."""
    row = next(line for line in text.splitlines() if word in line and line.startswith("|"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_body_shows_counts_the_rules_own_text_and_the_digest() -> None:
    table = "* renamed\n" * 11 + "REASON(MQRC_UNKNOWN_OBJECT_NAME) +\n  ACTION(FWD) FWDQ(TRADES.NEW)\n"
    text = plan_text.body(replace(plan(COUNT), table_text=table))
    assert "e" * 64 in text
    assert "ERROR 60, FWD 1,500" in text
    assert cells(text, "TRADES.OLD") == [
        "1,500",
        "FWD",
        "`TRADES.OLD@QM1` `MQRC_UNKNOWN_OBJECT_NAME`",
        "`TRADES.NEW`",
        "line 12 `REASON(MQRC_UNKNOWN_OBJECT_NAME) ACTION(FWD) FWDQ(TRADES.NEW)`",
        "`2026-11-20 01:02`",
    ]


def test_samples_stand_last_one_of_each_of_the_largest_groups() -> None:
    two = replace(COUNT, samples=(SAMPLE, SAMPLE))
    text = plan_text.body(plan(*[two] * (plan_text.SAMPLED_GROUPS + 3)))
    assert text.count(SAMPLE.msg_id) == plan_text.SAMPLED_GROUPS
    assert "`xx;99`" in text
    assert text.index("Digest:") < text.index("Samples, masked")


def test_a_plan_of_no_message_says_that_there_is_nothing_to_do() -> None:
    empty = replace(plan(), observed=0, rows=0, bytes=0, rules=())
    assert "of `SYSTEM.DEAD.LETTER.QUEUE` on `QM1`: nothing to do." in plan_text.body(empty)


def test_groups_beyond_the_table_are_counted() -> None:
    many = [COUNT] * (plan_text.GROUPS_SHOWN + 5)
    assert "… and 12 more groups" in plan_text.body(plan(*many, left_off=7))


def test_nothing_that_came_with_a_message_is_markup() -> None:
    assert plan_text.code("a`b|c<script>\n[x](y)\x00") == "`a'b¦c<script>\ufffd[x](y)\ufffd`"
    assert plan_text.code("  ") == ""


def found(*findings: Finding, plan: str = "e" * 64, remarks: tuple[str, ...] = ()) -> Preflight:
    return Preflight(plan=plan, checked_at="2026-11-21T10:00:00Z", destinations=3, findings=findings, remarks=remarks)


def test_problems_stand_first_and_equal_warnings_on_one_line() -> None:
    shut = Finding(severity="problem", destination="A|B", what="PUT(DISABLED)", remedy="ALTER QLOCAL(A) PUT(ENABLED)")
    idle = [
        Finding(severity="warning", destination=f"C{number}", what="no program has it open for input", remedy="Look")
        for number in range(plan_text.NAMED + 2)
    ]
    text = plan_text.body(plan(COUNT), found(shut, *idle, remarks=("duplicates: 2",)))
    assert "**Pre-flight of 3 destinations at `2026-11-21T10:00:00Z`: 1 problem, 8 warnings.**" in text
    assert "| problem | `A¦B` | `PUT(DISABLED)` | `ALTER QLOCAL(A) PUT(ENABLED)` |" in text
    named = ", ".join(f"`C{number}`" for number in range(plan_text.NAMED))
    assert f"- warning: 8 destinations: `no program has it open for input`: {named}, …. `Look`" in text
    assert "- `duplicates: 2`" in text
    assert text.index("Pre-flight") < text.index("| messages |") < text.index("- warning")


def test_what_nobody_looked_at_is_not_told_as_fine() -> None:
    assert "Pre-flight of 3 destinations at `2026-11-21T10:00:00Z`: nothing found." in plan_text.body(plan(), found())
    assert "the destinations were not looked at" in plan_text.body(plan())
    assert "the destinations were not looked at" in plan_text.body(plan(), found(plan="another"))


def test_findings_beyond_the_table_are_counted() -> None:
    many = [Finding(severity="unknown", destination="A", what="x")] * (plan_text.MOST_SHOWN + 2)
    text = plan_text.body(plan(), found(*many))
    assert "32 unknowns.**" in text
    assert "… and 2 more findings" in text


def test_names_from_a_message_are_no_markdown_no_html_and_no_line() -> None:
    evil = "[x](http://e)![i](http://e)<script>`|\u202e\n# Approved::group::"
    hostile = replace(SAMPLE, put_appl_name=evil, shape=evil)
    count = replace(COUNT, origin_q=evil, dest_q=evil, symbol=evil, oldest=evil, samples=(hostile,))
    asked = replace(plan(count), queue=evil, table_source=evil, run=evil, remarks=(evil,))
    text = plan_text.body(asked)
    shown = "`[x](http://e)![i](http://e)<script>'¦\ufffd\ufffd# Approved\ufffd\ufffdgroup::"
    assert text.count(shown) == 9
    cut = "`[x](http://e)![i](http:/`"
    assert text.count(cut) == 1
    assert "http://e" not in text.replace(shown, "").replace(cut, "")
    assert all(line.isprintable() for line in text.split("\n"))
    assert plan_text.subject(asked).isprintable()


def test_text_of_a_rule_is_no_markdown_and_no_html() -> None:
    evil = "[x](http://e)<img src=x>`|\u202e::group::\x1b[2J"
    rule = f"USERID('{evil}') ACTION(DISCARD)"
    text = plan_text.body(replace(plan(replace(COUNT, rule_line=1)), table_text=rule))
    shown = [part for part in re.findall("`[^`]*`", text) if "http://e" in part]
    assert shown == ["`USERID('[x](http://e)<img src=x>'¦\ufffd\ufffd\ufffdgroup::\ufffd[2J') ACTION(DISCARD)`"]
    assert not re.search(r"http|<img|::group", re.sub("`[^`]*`", "", text))
