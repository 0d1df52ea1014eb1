"""Backout reprocessing on a real queue manager: origins, the rules, the replay cap, what is set up wrongly."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ledger_opened import act, prove
from mq_support import DLQ, Manager, dead_letter, until

from mqops.cli import main
from mqops.clock import utc_now
from mqops.decide import preflight_record as preflight
from mqops.deciders.backout import BACKOUT, BackoutRequest
from mqops.deciders.decider import NothingToDo
from mqops.deciders.run import carry_out, plan_run
from mqops.errors import PermanentMQError, SettingsError, TransientMQError
from mqops.lake.files import read_json
from mqops.lake.parquet import read_parquet
from mqops.mq.connection import MqConnection
from mqops.poison_consumer import PoisonAwareConsumer
from mqops.rules import parse
from mqwire.rfh2 import MQRFH2

QUEUES = """\
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QLOCAL(PAY) BOTHRESH(2) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(ONE) BOTHRESH(2) BOQNAME(SHARED.BOQ)
DEFINE QLOCAL(TWO) BOTHRESH(2) BOQNAME(SHARED.BOQ)
DEFINE QALIAS(TWO.ALIAS) TARGET(TWO)
DEFINE QLOCAL(SHARED.BOQ)
DEFINE QLOCAL(ELSEWHERE)
"""


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def work(manager: Manager, tmp_path: Path) -> Any:
    def run(
        text: str = "ACTION(RETRY)",
        *,
        queues: tuple[str, ...] = (),
        dry_run: bool = False,
        cap: int = 2,
        backoff: tuple[int, ...] = (),
    ) -> Any:
        parsed = parse(text, origins=True)
        assert parsed.table, parsed.errors
        what = BackoutRequest(
            connection=manager.connection,
            lake=tmp_path / "lake",
            table=parsed.table,
            text=text,
            queues=queues,
            replay_cap=cap,
            backoff=backoff,
        )
        try:
            folder, plan = plan_run(BACKOUT, what)
        except NothingToDo as nothing:
            return nothing.selection
        return (folder, plan) if dry_run else carry_out(BACKOUT, what, folder, plan)

    return run


def jms(destination: str) -> bytes:
    """A body with an MQRFH2 as JMS writes it."""
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(f"<jms><Dst>{destination}</Dst></jms>")
    return header.pack() + b"text"


RFH2 = {"Format": "MQHRF2", "CodedCharSetId": 1208, "Encoding": 546}


@pytest.mark.parametrize(("room", "expected"), [(30, []), (29, ["PAY: the longest message has 30 bytes"])])
def test_the_preflight_takes_off_an_MQDLH_and_not_what_stands_in_for_one(manager, work, room, expected):
    manager.mqsc(f"ALTER QLOCAL(PAY) MAXMSGL({room})")
    manager.put("PAY.BOQ", [({"Format": "MQSTR"}, b"x" * 30), dead_letter("PAY", b"x" * 29, reason=0)])
    folder, _plan = work("ACTION(FWD) FWDQ(PAY) HEADER(NO)", dry_run=True)
    found = preflight.read_preflight(folder)
    assert found is not None
    doubts = [f"{one.destination.partition('@')[0]}: {one.what}" for one in found.doubts]
    assert [line.partition(",")[0] for line in doubts] == expected


def test_P08_put_back_on_the_queue_that_names_the_backout_queue(manager, work):
    fields = {"CorrelId": b"c" * 24, "ReplyToQ": "ANSWERS", "Format": "MQSTR"}
    ids = manager.put("PAY.BOQ", [(fields, b"one"), ({"Format": "MQSTR"}, b"two")])
    summary = work()
    assert (summary.planned, summary.moved, summary.left, summary.balanced) == (2, 2, 0, True)
    assert summary.workflow == "backout_reprocess"
    [(first, body), (second, _)] = manager.messages("PAY")
    assert (first["MsgId"], second["MsgId"]) == tuple(ids)
    assert (first["CorrelId"], first["ReplyToQ"].rstrip(), first["Format"].rstrip(), body) == (
        *(b"c" * 24, b"ANSWERS", b"MQSTR", b"one"),
    )


@pytest.mark.parametrize("propctl", ["NONE", "ALL", "COMPAT", "V6COMPAT", "FORCE"])
def test_P08_a_message_with_properties_is_put_back_byte_for_byte_whatever_PROPCTL_says(manager, work, propctl):
    manager.put("PAY.BOQ", [(RFH2, jms("queue:///PAY")), ({"Format": "MQSTR"}, b"plain")])
    manager.mqsc(f"ALTER QLOCAL(PAY.BOQ) PROPCTL({propctl})")
    summary = work()
    assert (summary.planned, summary.moved, summary.balanced) == (2, 2, True)
    assert manager.bodies("PAY") == [jms("queue:///PAY"), b"plain"]
    assert [md["Format"].strip() for md, _body in manager.messages("PAY")] == [b"MQHRF2", b"MQSTR"]


def test_P08_shared_backout_queue_origin_from_rfh2_else_ambiguous(manager, work):
    manager.put(
        "SHARED.BOQ",
        [
            (RFH2, jms("queue:///ONE")),
            (RFH2, jms("queue://QM1/TWO.ALIAS?targetClient=1")),
            (RFH2, jms("queue://QM9/TWO")),  # another queue manager's
            (RFH2, jms("queue:///ELSEWHERE")),  # does not name this backout queue
            (RFH2, jms("topic://prices")),
            ({}, b"no header at all"),
        ],
    )
    summary = work()
    assert (manager.bodies("ONE"), manager.bodies("TWO")) == (
        *([jms("queue:///ONE")], [jms("queue://QM1/TWO.ALIAS?targetClient=1")]),
    )
    assert (summary.planned, summary.moved, summary.left, summary.balanced) == (6, 2, 4, True)
    assert {rule.action: rule.left for rule in summary.rules} == {"RETRY": 0, "AMBIGUOUS": 4}
    assert manager.depth("SHARED.BOQ") == 4


def test_P08_a_rule_places_what_is_ambiguous(manager, work):
    manager.put("SHARED.BOQ", [({"Format": "MINE"}, b"mine"), ({}, b"not"), (RFH2, jms("queue:///TWO"))])
    summary = work(
        "DESTQ(' ') FORMAT(MINE) ACTION(FWD) FWDQ(ELSEWHERE) HEADER(NO)\n"
        "DESTQ(?*) REASON(0) ACTION(FWD) FWDQ(&ORIGQ)\nACTION(FWD) FWDQ(&ORIGQ)"
    )
    assert manager.bodies("ELSEWHERE") == [b"mine"]
    assert manager.bodies("TWO") == [jms("queue:///TWO")]
    assert manager.bodies("SHARED.BOQ") == [b"not"]
    assert (summary.moved, summary.left) == (2, 1)


def test_on_the_dead_letter_queue_an_MQDLH_says_where_it_was_to_go(manager, work):
    manager.put(DLQ, [dead_letter("ELSEWHERE", b"text")])
    work(queues=(DLQ,))
    assert manager.bodies("ELSEWHERE") == [b"text"]


def test_on_a_backout_queue_the_putter_of_a_message_chooses_no_queue_by_an_MQDLH_of_its_own(manager, work):
    """An application that may put on PAY makes a poison message: an MQDLH that names a queue it may not put on."""
    chosen = dead_letter("ELSEWHERE", b"text")
    manager.put("PAY.BOQ", [chosen, ({}, b"honest")])
    summary = work()
    assert (summary.moved, summary.left, summary.balanced) == (1, 1, True)
    assert (manager.bodies("ELSEWHERE"), manager.bodies("PAY")) == ([], [b"honest"])
    assert {rule.action for rule in summary.rules} == {"RETRY", "AMBIGUOUS"}
    work("DESTQ(' ') ACTION(FWD) FWDQ(PAY)")  # a rule that names a queue moves it, header and all
    assert manager.bodies("PAY") == [b"honest", chosen[1]]


def test_queue_given_by_name_takes_the_jms_destination(manager, work):
    manager.put("ELSEWHERE", [(RFH2, jms("queue:///PAY")), (RFH2, jms("queue:///ELSEWHERE")), ({}, b"?")])
    assert work(queues=("ELSEWHERE",)).moved == 1
    assert manager.bodies("PAY") == [jms("queue:///PAY")]


def fail_all(manager: Manager, queue: str) -> None:
    """An application that bears nothing: everything ends on the backout queue."""

    def fail(_delivery: object) -> None:
        raise ValueError

    with manager.connected() as connection, PoisonAwareConsumer(connection, queue) as consumer:
        list(consumer.run(fail))


def test_replay_cap_by_msg_id_and_body_then_quarantine(manager, work):
    [msg_id] = manager.put("PAY", [({}, b"poison")])
    for _ in range(2):
        fail_all(manager, "PAY")
        assert work().moved == 1
        assert manager.bodies("PAY") == [b"poison"]
    manager.put("PAY", [({"MsgId": msg_id}, b"same id, another body")])
    fail_all(manager, "PAY")
    summary = work()
    assert (summary.moved, summary.balanced) == (2, True)
    assert manager.bodies("MQOPS.QUARANTINE") == [b"poison"]
    assert manager.bodies("PAY") == [b"same id, another body"]
    assert {(rule.rule_key, rule.action, rule.moved) for rule in summary.rules if rule.rule_line is None} == {
        ("replay-cap", "FWD", 1)
    }


def test_any_program_can_ask_why_a_message_is_in_quarantine(manager, work, tmp_path, monkeypatch):
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    [msg_id] = manager.put("PAY", [({}, b"poison")])
    fixed = ("-m", "QM1", "--lake", str(tmp_path / "lake"))

    def shown(queue: str, *more: str) -> Any:
        done = CliRunner().invoke(main, ["message", "show", queue, msg_id.hex(), *fixed, *more])
        assert done.exit_code == 0, done.output
        return done.stdout

    runs = []
    for _ in range(3):
        fail_all(manager, "PAY")
        runs.append(work("FORMAT(NOT) ACTION(IGNORE)\nACTION(RETRY)", cap=2))
        if len(runs) < 3:
            assert json.loads(shown("PAY", "--json"))["quarantine"] is None
    why = json.loads(shown("MQOPS.QUARANTINE", "--json"))["quarantine"]
    assert (why["queue"], why["run"]) == ("MQOPS.QUARANTINE", runs[2].run)
    assert [(one["queue"], one["run"], one["rule_line"]) for one in why["put_back"]] == [
        ("PAY", runs[0].run, 2),
        ("PAY", runs[1].run, 2),
    ]
    assert why["put_back"][0]["at"] < why["put_back"][1]["at"] < why["at"]
    told = " ".join(shown("MQOPS.QUARANTINE").split())
    assert f"In quarantine on MQOPS.QUARANTINE since {why['at']}, by run {runs[2].run}." in told
    assert "It had been put back 2 times and came again each time: " in told
    assert f"on PAY by line 2 of the rules of run {runs[1].run}" in told
    assert manager.bodies("MQOPS.QUARANTINE") == [b"poison"], "its bytes are its application's"
    undo = CliRunner().invoke(main, ["undo", runs[2].run, "--yes", *fixed])
    assert undo.exit_code == 0, undo.output
    assert json.loads(shown("PAY.BOQ", "--json"))["quarantine"] is None


def test_replay_cap_counts_also_what_was_requeued_without_its_context(manager, work):
    [msg_id] = manager.put("PAY.BOQ", [({}, b"poison")])
    assert work(cap=1).moved == 1
    fields = {"MsgId": msg_id, "PutDate": "20200101", "PutTime": "00000000"}
    manager.put("PAY.BOQ", [(fields, b"poison")], options=0x800)  # MQOO_SET_ALL_CONTEXT: put at another time
    work(cap=1)
    assert manager.bodies("MQOPS.QUARANTINE") == [b"poison"]


HOUR = 3600


def test_P08_what_was_put_back_and_came_again_waits_and_others_go(manager, work):
    manager.put("PAY", [({}, b"poison")])
    fail_all(manager, "PAY")
    assert work(backoff=(HOUR,)).moved == 1
    manager.put("PAY", [({}, b"other poison")])
    fail_all(manager, "PAY")
    began = utc_now()
    summary = work(backoff=(HOUR, 1))
    assert (summary.planned, summary.moved, summary.left, summary.balanced) == (2, 1, 1, True)
    assert manager.bodies("PAY") == [b"other poison"]
    assert manager.bodies("PAY.BOQ") == [b"poison"]
    [remark] = [one for one in summary.remarks if "waits" in one]
    said = re.fullmatch(
        r"1 message that was put before waits \(LATER\), until (\S+): the next run after that time goes on", remark
    )
    assert said
    assert began < said[1]
    assert [rule.action for rule in summary.rules if rule.left] == ["LATER"]
    assert work(backoff=()).moved == 1  # the list that counts is that of the run


def test_P08_a_message_is_put_again_when_its_time_is_over(manager, work):
    manager.put("PAY", [({}, b"poison")])
    for times in (1, 2):
        fail_all(manager, "PAY")
        until(lambda: getattr(work(backoff=(1, 1), cap=9), "moved", 0) == 1)
        assert manager.bodies("PAY") == [b"poison"], times


def test_P08_a_rules_BACKOFF_counts_before_that_of_the_estate(manager, work):
    manager.put("PAY.BOQ", [({}, b"poison")])
    table = "* MQOPS EXTENSIONS\nDESTQ(PAY) ACTION(RETRY) BACKOFF('2h')\nACTION(RETRY)\n"
    assert work(table).moved == 1
    fail_all(manager, "PAY")
    _folder, plan = work(table, dry_run=True)
    assert plan.actions == {"LATER": 1}
    until(lambda: work(table.replace("'2h'", "1s"), dry_run=True, backoff=(9999,))[1].actions == {"RETRY": 1})


def test_P08_what_goes_to_quarantine_or_is_discarded_does_not_wait(manager, work):
    manager.put("PAY.BOQ", [({}, b"poison"), ({"Format": "JUNK"}, b"junk")])
    assert work().moved == 2
    fail_all(manager, "PAY")
    summary = work("FORMAT(JUNK) ACTION(DISCARD)\nACTION(RETRY)\n", cap=1, backoff=(HOUR,))
    assert (summary.moved, summary.discarded, summary.left) == (1, 1, 0)
    assert manager.bodies("MQOPS.QUARANTINE") == [b"poison"]


def test_P05_a_message_that_waits_keeps_its_place_in_an_order(manager, work):
    key = {"CorrelId": b"c" * 24}
    manager.put("PAY.BOQ", [(key, b"first")])
    table = "* MQOPS EXTENSIONS\nACTION(RETRY) ORDER(CORRELID)\n"
    assert work(table).moved == 1
    fail_all(manager, "PAY")
    manager.put("PAY.BOQ", [(key, b"second"), ({"CorrelId": b"d" * 24}, b"of another")])
    _folder, plan = work(table, dry_run=True, backoff=(HOUR,))
    assert plan.actions == {"LATER": 1, "BEHIND": 1, "RETRY": 1}


def test_a_failed_put_is_a_try_and_no_replay(manager, work):
    manager.mqsc("ALTER QLOCAL(PAY) PUT(DISABLED)")
    manager.put("PAY.BOQ", [({}, b"one")])
    for tries in (1, 2):
        summary = work("ACTION(RETRY) RETRY(3)", cap=1)
        assert (summary.failed, summary.left, summary.reasons) == (1, 1, {"MQRC_PUT_INHIBITED": 1}), tries
    manager.mqsc("ALTER QLOCAL(PAY) PUT(ENABLED)")
    assert work("ACTION(RETRY) RETRY(3)", cap=1).moved == 1
    assert manager.bodies("PAY") == [b"one"]


def test_P11_misconfigured_queues_are_in_the_summary(manager, work):
    manager.mqsc(
        "DEFINE QLOCAL(BAD.NONE) BOTHRESH(1)\nDEFINE QLOCAL(BAD.GONE) BOTHRESH(1) BOQNAME(NOT.THERE)\n"
        "DEFINE QLOCAL(BAD.SELF) BOTHRESH(1) BOQNAME(BAD.SELF)\nDEFINE QLOCAL(CLOSED.BOQ) PUT(DISABLED)\n"
        "DEFINE QLOCAL(BAD.SHUT) BOTHRESH(1) BOQNAME(CLOSED.BOQ)\nDEFINE QLOCAL(FINE) BOTHRESH(0) BOQNAME(NOT.THERE)"
    )
    nothing = work()
    assert nothing.queues == ()
    remarks = nothing.setting.remarks()
    assert [text.split(":")[1].strip() for text in remarks] == ["BAD.GONE", "BAD.NONE", "BAD.SELF", "BAD.SHUT"]
    manager.put("PAY.BOQ", [({}, b"one")])
    _folder, plan = work(dry_run=True)
    assert plan.remarks == remarks
    assert work().remarks == remarks


@pytest.mark.parametrize(
    ("mqsc", "name", "says"),
    [
        ("", "pay.boq", ("PAY.BOQ is there", "ALTER QLOCAL(IN) BOQNAME(PAY.BOQ)")),
        ("DEFINE QALIAS(A) TARGET(IN)", "A", ("names itself by its alias A", "BOQNAME(IN.BOQ)")),
        ("DEFINE QALIAS(A) TARGET(GONE)", "A", ("it is an alias of GONE, which is not there", "BOQNAME(IN.BOQ)")),
        ("DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2) XMITQ(X)", "R", ("a remote queue", "BOQNAME(IN.BOQ)")),
        ("DEFINE QMODEL(M)", "M", ("a model queue", "BOQNAME(IN.BOQ)")),
        ("DEFINE QLOCAL(X) USAGE(XMITQ)", "X", ("a transmission queue", "BOQNAME(IN.BOQ)")),
        ("", DLQ, ("the dead-letter queue", "BOQNAME(IN.BOQ)")),
        (f"DEFINE QALIAS(D) TARGET({DLQ})", "D", ("the dead-letter queue", "BOQNAME(IN.BOQ)")),
        ("DEFINE QALIAS(A) TARGET(PAY.BOQ) PUT(DISABLED)", "A", ("PUT(DISABLED)", "ALTER QALIAS(A) PUT(ENABLED)")),
    ],
)
def test_P11_a_boqname_that_takes_no_message_is_named_with_what_mends_it(manager, work, mqsc, name, says):
    manager.mqsc(f"{mqsc}\nDEFINE QLOCAL(IN) BOTHRESH(3) BOQNAME('{name}')\n")
    remarks = work().setting.remarks()
    (said,) = [one for one in remarks if one.startswith("misconfigured: IN:")]
    assert all(text in said for text in says), said


def test_aliases_are_taken_for_backout_queues_and_said(manager, work):
    manager.mqsc(
        "DEFINE QALIAS(A) TARGET(OTHER.BOQ)\nDEFINE QLOCAL(OTHER.BOQ)\nDEFINE QLOCAL(IN) BOTHRESH(3) BOQNAME(A)\n"
    )
    manager.put("OTHER.BOQ", [({}, b"one"), ({}, b"two")])
    _folder, plan = work(queues=("A",), dry_run=True)
    assert (plan.queue, plan.rows) == ("OTHER.BOQ", 2)
    assert "A is an alias of OTHER.BOQ, which is looked at" in plan.remarks
    done = work()
    assert "IN: BOQNAME(A) is an alias of OTHER.BOQ, which is looked at" in done.remarks
    assert manager.bodies("IN") == [b"one", b"two"]


def test_dlq_named_as_backout_queue_is_left_to_its_own_workflow(manager, work):
    manager.mqsc(f"ALTER QLOCAL(PAY) BOQNAME({DLQ})")
    manager.put(DLQ, [dead_letter("PAY", b"x")])
    assert list(work().depths) == ["SHARED.BOQ"]
    assert manager.depth(DLQ) == 1


def test_dry_run_moves_nothing_and_tells_the_origin(manager, work):
    manager.put("PAY.BOQ", [({"Format": "MQSTR"}, b"one")])
    folder, plan = work(dry_run=True)
    [row] = [
        row for batch in read_parquet(folder.plan, ["action", "dest_q", "dlh_dest_q"]) for row in batch.to_pylist()
    ]
    assert row == {"action": "RETRY", "dest_q": "PAY", "dlh_dest_q": "PAY"}
    assert plan.counts[0].origin_q == "PAY"
    assert manager.depth("PAY.BOQ") == 1


def test_wrong_input_is_told_and_loses_nothing(manager, work, tmp_path):
    manager.put("PAY.BOQ", [({}, b"one")])
    with pytest.raises(Exception, match=r"NO\.SUCH of QM1 failed: MQRC_UNKNOWN_OBJECT_NAME"):
        work(queues=("NO.SUCH",))
    manager.mqsc("DELETE QLOCAL(MQOPS.QUARANTINE)")
    with pytest.raises(SettingsError, match=r"QM1 has no queue MQOPS\.QUARANTINE"):
        work()
    parsed = parse("ACTION(RETRY)")
    assert parsed.table
    gone = MqConnection(queue_manager="GONE", environment=manager.connection.environment)
    with pytest.raises((TransientMQError, Exception), match="MQRC_Q_MGR_NAME_ERROR"):
        plan_run(BACKOUT, BackoutRequest(connection=gone, lake=tmp_path, table=parsed.table, text="ACTION(RETRY)"))
    assert manager.bodies("PAY.BOQ") == [b"one"]


ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    backout_reprocess:
      rules: backout.rules
      quarantine: MQOPS.QUARANTINE
      origins:
"""
FROM_SHOP = b"<usr><app>shop</app></usr>"


def with_property(folder: bytes = FROM_SHOP) -> bytes:
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(folder.decode())
    return header.pack() + b"text"


@pytest.fixture
def backout_run(manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, with these rows of the estate's table of origins."""
    estate, rules = tmp_path / "estate.yaml", tmp_path / "backout.rules"
    rules.write_text("ACTION(RETRY)\n")
    monkeypatch.setenv("MQOPS_ESTATE", str(estate))
    fixed = ("-m", "QM1", "--rules", str(rules), "--lake", str(tmp_path / "lake"), "--json")

    def run(*rows: str, more: tuple[str, ...] = ()) -> Any:
        estate.write_text(ESTATE + "".join(f"        {row}\n" for row in rows or ["[]"]))
        done = CliRunner().invoke(main, ["backout", "run", *fixed, *more])
        return json.loads(done.stdout)

    return run


def test_P08_the_table_of_origins_decides_and_says_why(manager, backout_run):
    messages = [
        ({"ReplyToQ": "ONE.REPLY"}, b"by reply queue"),
        (RFH2, with_property()),
        (RFH2, jms("queue:///ONE")),
        (RFH2, jms("queue:///TWO")),
        (RFH2, with_property(b"<usr><app>discreet</app></usr>")),
        dead_letter("ONE", b"of its putter", reason=0),
    ]
    ids = [one.hex() for one in manager.put("SHARED.BOQ", messages)]
    [sole] = [one.hex() for one in manager.put("PAY.BOQ", [({"ReplyToQ": "ONE.REPLY"}, b"sole")])]
    rows = (
        '- {when: "REPLYQ(ONE.*)", queue: ONE}',
        """- {when: "PROP('usr.app' = 'sh?p')", queue: TWO.ALIAS}""",
        """- {when: "PROP('jms.Dst' = '*TWO')", queue: ONE}""",
        '- {when: "MSGTYPE(*)", queue: ELSEWHERE}',
        '- {when: "FORMAT(NEVER)", queue: GONE}',
        '- {when: "FORMAT(NEVER)", queue: ONE, backout_queue: GONE}',
        '- {when: "FORMAT(NEVER)", queue: ONE, backout_queue: ONE}',
    )
    told = backout_run(*rows, more=("--explain",))
    assert {one["msg_id"]: (one["origin"], one["by"], one["row"]) for one in told["origins"]} == {
        sole: ("PAY", "BOQNAME", None),  # its queue is in no row that counts there
        ids[0]: ("ONE", "table", 0),
        ids[1]: ("TWO", "table", 1),
        ids[2]: ("ONE", "jms/Dst", None),
        ids[3]: ("ONE", "table", 2),
        ids[4]: ("", "", None),
        ids[5]: ("", "", None),
    }
    whys = {one["msg_id"]: one["why"] for one in told["origins"]}
    assert whys[ids[0]] == "backout_reprocess.origins.0 decides: REPLYQ(ONE.*)"
    assert whys[ids[3]].endswith(", though its MQRFH2 names TWO (jms/Dst)")
    assert "backout_reprocess.origins.0 wants REPLYQ(ONE.*), not blank" in whys[ids[4]]
    assert "backout_reprocess.origins.1 wants PROP('usr.app' = 'sh?p')" in whys[ids[4]]
    assert "it has an MQDLH" in whys[ids[5]]
    assert "discreet" not in json.dumps(told), "what a message says is not shown"
    idle = [one.partition(" decides nothing: ") for one in told["plan"]["remarks"] if "decides nothing" in one]
    assert [(which[-1], why.partition(":")[0]) for which, _, why in idle] == [
        ("3", "ELSEWHERE names no other queue as BOQNAME"),
        ("4", "GONE is no local queue for messages of programs"),
        ("5", "there is no queue GONE"),
        ("6", "ONE is its queue and its backout_queue"),
    ]
    done = backout_run(*rows)
    assert (done["planned"], done["moved"], done["left"]) == (7, 5, 2)
    assert sorted(manager.bodies("ONE")) == sorted([b"by reply queue", jms("queue:///ONE"), jms("queue:///TWO")])
    assert (manager.bodies("TWO"), manager.bodies("PAY")) == ([with_property()], [b"sole"])


def test_P08_a_row_that_names_its_backout_queue_counts_there_and_nowhere_else(manager, backout_run):
    manager.mqsc("DEFINE QLOCAL(GIVEN)")
    for queue in ("GIVEN", "PAY.BOQ", "SHARED.BOQ"):
        manager.put(queue, [({"Format": "MINE"}, queue.encode())])
    given = '- {when: "FORMAT(MINE)", queue: ELSEWHERE, backout_queue: GIVEN}'
    paid = '- {when: "FORMAT(MINE)", queue: ELSEWHERE, backout_queue: PAY.BOQ}'
    itself = '- {when: "FORMAT(MINE)", queue: GIVEN, backout_queue: GIVEN}'
    backout_run(itself, given, paid, more=("GIVEN", "PAY.BOQ", "SHARED.BOQ"))
    assert sorted(manager.bodies("ELSEWHERE")) == [b"GIVEN", b"PAY.BOQ"]
    assert manager.bodies("SHARED.BOQ") == [b"SHARED.BOQ"]


@pytest.mark.parametrize(
    "message",
    [
        ({"Format": "MQSTR", "ReplyToQ": "ANSWERS"}, b"plain"),
        ({}, b"nothing but the name of the program"),
        (RFH2, jms("topic://prices/it's")),
    ],
)
@pytest.mark.parametrize("queue", ["SHARED.BOQ", "GIVEN"])
def test_P08_an_ambiguous_message_comes_with_the_row_that_would_decide_it(manager, backout_run, message, queue):
    manager.mqsc("DEFINE QLOCAL(GIVEN)")
    manager.put(queue, [message, message])
    plan = backout_run(more=("--dry-run", queue))["plan"]
    assert plan["actions"] == {"AMBIGUOUS": 2}
    [told] = [one for one in plan["remarks"] if "This row would decide" in one]
    assert told.startswith(f"{queue}: 2 messages of ambiguous origin. This row would decide, below backout_reprocess.")
    row = told[told.index("- {") :]
    done = backout_run(row.replace("queue: QUEUE", "queue: ELSEWHERE"), more=(queue,))
    assert (done["moved"], manager.depth(queue)) == (2, 0)
    assert manager.depth("ONE" if queue == "SHARED.BOQ" else "ELSEWHERE") == 2


def test_P08_a_table_that_is_not_valid_is_told_and_nothing_is_moved(manager, backout_run):
    manager.put("SHARED.BOQ", [({}, b"x")])
    told = backout_run('- {when: "FROMAT(MQSTR)", queue: ONE}')
    assert "origins.0.when: at character 1: 'FROMAT' is not a keyword" in told["error"]["message"]
    assert manager.depth("SHARED.BOQ") == 1


def test_origq_is_for_backout_tables_only():
    assert parse("ACTION(FWD) FWDQ(&ORIGQ)").table is None
    assert parse("ACTION(FWD) FWDQ(&ORIGQ)", origins=True).table
    assert parse("ACTION(FWD) FWDQ(&ORIGQ)", origins=True, strict=True).table is None


def test_command(manager, tmp_path, monkeypatch):
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    arguments = ["backout", "run", "-m", "QM1", "--lake", str(tmp_path / "lake"), "--json"]
    nothing = CliRunner().invoke(main, arguments, input="ACTION(RETRY)\n")
    assert json.loads(nothing.stdout)["planned"] == 0
    manager.put("PAY.BOQ", [({}, b"one")])
    dry = CliRunner().invoke(main, [*arguments, "--dry-run"], input="ACTION(RETRY)\n")
    assert json.loads(dry.stdout)["plan"]["actions"] == {"RETRY": 1}
    done = CliRunner().invoke(main, arguments, input="ACTION(RETRY)\n")
    assert (done.exit_code, json.loads(done.stdout)["moved"]) == (0, 1)
    wrong = CliRunner().invoke(main, [*arguments, "NO.SUCH"], input="ACTION(RETRY)\n")
    assert (wrong.exit_code, "MQRC_UNKNOWN_OBJECT_NAME" in wrong.stdout) == (1, True)


def test_a_backout_queue_that_ends_after_it_was_found_is_passed_over(manager, tmp_path):
    """Nobody named it: it was found by the definitions. A queue that is named has to be there."""
    manager.put("PAY.BOQ", [({}, b"x")])
    manager.put("SHARED.BOQ", [({}, b"y")])
    table = parse("ACTION(RETRY)", origins=True).table
    assert table

    def find_and_delete(session: Any, request: BackoutRequest) -> Any:
        found = BACKOUT.select(session, request)
        manager.mqsc("DELETE QLOCAL(SHARED.BOQ) PURGE")
        return found

    backout = replace(BACKOUT, select=find_and_delete)
    what = BackoutRequest(connection=manager.connection, lake=tmp_path / "lake", table=table, text="ACTION(RETRY)")
    folder, plan = plan_run(backout, what)
    assert plan.actions == {"RETRY": 1}
    assert "SHARED.BOQ: the queue ended while queues were looked at" in plan.remarks
    assert read_json(folder.path.joinpath("observe.json"))["gone"] == ["SHARED.BOQ"]
    assert carry_out(backout, what, folder, plan).moved == 1
    manager.mqsc("DEFINE QLOCAL(SHARED.BOQ)")
    manager.put("SHARED.BOQ", [({}, b"y")])
    with pytest.raises(PermanentMQError, match="MQRC_UNKNOWN_OBJECT_NAME"):
        plan_run(backout, replace(what, queues=("SHARED.BOQ",)))


@pytest.mark.parametrize("ends", ["before act", "before prove"])
def test_a_backout_queue_that_ends_later_is_gone_with_its_messages_and_the_others_move(manager, tmp_path, ends):
    manager.put("PAY.BOQ", [({}, b"x")] * 2)
    manager.put("SHARED.BOQ", [({}, b"y")] * 3)
    table = parse("ACTION(RETRY)", origins=True).table
    assert table
    what = BackoutRequest(connection=manager.connection, lake=tmp_path / "lake", table=table, text="ACTION(RETRY)")
    folder, plan = plan_run(BACKOUT, what)
    assert plan.actions.keys() >= {"RETRY"}

    def end(when: str) -> None:
        if when == ends:
            manager.mqsc("DELETE QLOCAL(SHARED.BOQ) PURGE")

    end("before act")
    act(manager.connection, folder)
    end("before prove")
    summary = prove(manager.connection, folder)
    told = "SHARED.BOQ ended while the run was at work: what the run did not take is gone"
    assert (summary.balanced, told in summary.remarks) == (True, True)
    assert summary.moved + summary.gone + summary.left == 5
    assert {rule.queue: rule.gone for rule in summary.rules}["PAY.BOQ"] == 0
    assert (manager.depth("PAY.BOQ"), any("it is not known" in one for one in summary.remarks)) == (0, False)
    if ends != "before prove":
        assert sum(rule.gone for rule in summary.rules if rule.queue == "SHARED.BOQ") == 3


RIGHTS = """\
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,DSP)
SET AUTHREC PROFILE('PAY') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,PASSALL,DSP)
SET AUTHREC PROFILE('PAY.BOQ') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,PASSALL,DSP)
SET AUTHREC PROFILE('MQOPS.**') OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(BROWSE,GET,INQ,PUT,PASSALL,DSP)
SET AUTHREC PROFILE(SYSTEM.DEAD.LETTER.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ,DSP)
SET AUTHREC PROFILE(SYSTEM.ADMIN.COMMAND.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT)
SET AUTHREC PROFILE(SYSTEM.DEFAULT.MODEL.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(GET,DSP)
"""


def test_queues_that_the_user_may_not_inquire_are_named_and_nothing_balances(manager, tmp_path, monkeypatch):
    """Each of them can be a backout queue, or name one. Where the backout queues are named, no other is meant."""
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    manager.mqsc(RIGHTS)
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    app = {"MQOPS_CONNECTION": json.dumps({"queue_manager": "QM1", "user": "app", "password": "secret"})}

    def run(*more: str) -> Any:
        words = ["backout", "run", *more, "-m", "QM1", "--lake", str(tmp_path / "lake")]
        done = CliRunner().invoke(main, words, input="ACTION(RETRY)\n", env=app)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    hidden = "4 queues not looked at, because the connection's user may not inquire them"
    nothing = run()
    assert (nothing.exit_code, hidden in nothing.output, "ELSEWHERE, ONE, SHARED.BOQ, TWO" in nothing.output) == (
        1,
        True,
        True,
    )
    manager.put("PAY.BOQ", [({}, b"one"), ({}, b"two")])
    dry = run("--dry-run")
    assert (dry.exit_code, hidden in dry.output) == (1, True)
    named = run("PAY.BOQ", "--dry-run")
    assert (named.exit_code, "not looked at" in named.output) == (0, False)
    whole = run()
    assert (whole.exit_code, hidden in whole.output) == (1, True)
    assert "2 planned = 2 moved + 0 discarded + 0 left + 0 gone" in whole.output
    assert "balances" not in whole.output
    manager.put("PAY.BOQ", [({}, b"three")])
    named = run("PAY.BOQ")
    assert (named.exit_code, "0 gone: balances" in named.output) == (0, True)


def test_P08_the_command_takes_a_list_of_times(manager, tmp_path):
    manager.put("PAY.BOQ", [({}, b"poison")])
    (tmp_path / "t.rules").write_text("ACTION(RETRY)\n")
    fixed = ("-m", "QM1", "--rules", str(tmp_path / "t.rules"), "--lake", str(tmp_path / "lake"))
    for times, code, said in (("1m,x", 2, "'x' is not a time of BACKOFF"), ("1m,2h", 0, "1 moved")):
        done = CliRunner().invoke(main, ["backout", "run", *fixed, "--backoff", times])
        assert (done.exit_code, said in done.output) == (code, True), done.output
    fail_all(manager, "PAY")
    done = CliRunner().invoke(main, ["backout", "run", *fixed, "--backoff", "1m,2h"])
    assert (done.exit_code, "waits (LATER), until 2" in " ".join(done.output.split())) == (0, True), done.output
