"""Issue 37 C7, B4: the commands in what is to do are commands on a page, with their buttons; the words stay."""

from __future__ import annotations

import pytest

from mqops.decide.core.preflight import Finding
from mqops.look.words.plan import folded
from mqops.look.words.steps import remark
from mqops.look.words.text import Code, Text, with_commands


def commands(text: Text) -> list[str]:
    return [str(one) for one in text.parts if isinstance(one, Code)]


@pytest.mark.parametrize(
    ("remedy", "found"),
    [
        (
            "Raise MAXDEPTH: ALTER QLOCAL(A.B) MAXDEPTH(700), or let it be emptied",
            ["ALTER QLOCAL(A.B) MAXDEPTH(700)"],
        ),
        ("START CHANNEL('to.(QM2)'), or see why it does not run", ["START CHANNEL('to.(QM2)')"]),  # a quoted name
        (
            "To mend it: DEFINE QLOCAL(A.BOQ) DEFPSIST(YES), and ALTER QLOCAL(A) BOQNAME(A.BOQ)",
            ["DEFINE QLOCAL(A.BOQ) DEFPSIST(YES)", "ALTER QLOCAL(A) BOQNAME(A.BOQ)"],
        ),
        ("Where it is not on purpose: ALTER QLOCAL(A) TRIGGER", ["ALTER QLOCAL(A) TRIGGER"]),
        ("ALTER QLOCAL(A) SHARE Then start it", ["ALTER QLOCAL(A) SHARE"]),  # a word is no keyword
        ("To mend it: ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)", ["ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)"]),
        ("DISPLAY CHSTATUS('to.QM2')", ["DISPLAY CHSTATUS('to.QM2')"]),
        ("To mend it, for each: ALTER QLOCAL(queue) TRIGGER", []),  # MQSC would take it for a queue named QUEUE
        ("DEFINE QLOCAL(A), or ALTER QALIAS(B) TARGET(...)", ["DEFINE QLOCAL(A)"]),  # "..." is a name for MQSC
        ("Check that the application runs; DEFINE what is missing", []),
        ("", []),
    ],
)
def test_the_commands_of_mqsc_in_what_is_to_do(remedy: str, found: list[str]) -> None:
    text = with_commands(remedy)
    assert commands(text) == found
    assert str(text) == remedy


def test_what_stands_in_backticks_is_a_command_without_them() -> None:
    text = with_commands("Restore it, and check it with `mqops ledger verify QM1`")
    assert commands(text) == ["mqops ledger verify QM1"]
    assert str(text) == "Restore it, and check it with mqops ledger verify QM1"


def test_a_problem_of_the_pre_flight_ends_with_its_command_and_a_text_of_others_is_none() -> None:
    mend, of_others = "ALTER QLOCAL(A) PUT(ENABLED)", "`rm -rf` ALTER QLOCAL(A) PUT(DISABLED)"
    ((kind, text),) = folded([Finding(severity="problem", destination="A", what=of_others, remedy=mend)])
    assert (kind, commands(text)) == ("bad", [mend])
    assert str(text) == f"A: {of_others}. {mend}"
    ((_, alone),) = folded([Finding(severity="warning", destination="A", what="it is far.", remedy="")])
    assert str(alone) == "A: it is far."


def test_a_remark_has_commands_where_it_is_about_a_queue_that_is_misconfigured() -> None:
    of_queue = "misconfigured: A: BOTHRESH(5) BOQNAME( ): no backout queue. To mend it: ALTER QLOCAL(A) BOTHRESH(0)"
    assert (str(remark(of_queue)), commands(remark(of_queue))) == (of_queue, ["ALTER QLOCAL(A) BOTHRESH(0)"])
    of_others = "APPLNAME('To mend it: ALTER QLOCAL(A) GET(DISABLED)')"
    assert (str(remark(of_others)), commands(remark(of_others))) == (of_others, [])
