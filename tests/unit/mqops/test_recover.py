"""`mqops message move`, `copy`, `park`, `discard`, `replay`: chosen messages, whole, each once, and taken back."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from ledger_opened import act, act_undo
from mixed_messages import ALL_CONTEXT, alike, mixed, whole
from mq_support import DLQ, Manager, dead_letter, reveal_estate
from pymqi import CMQC

from mqops.act.approved_plan import make_row, plan_rows, read_approved_plan
from mqops.act.core.port import CannotTake
from mqops.clock import utc
from mqops.decide import counts
from mqops.deciders.run import plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.errors import PlanChanged
from mqops.lake.run import find_run
from mqops.ledger.keys import KeyRing
from mqops.mq.connection import connect
from mqops.mq.inquire import queue_attribute
from mqops.observe.originals import Originals
from mqops.undo.undo_port import UndoPort
from mqwire.rfh2 import MQRFH2

QUEUES = (
    "".join(f"DEFINE QLOCAL({name})\n" for name in ("IN", "OUT", "MQOPS.QUARANTINE", "APP.A"))
    + "DEFINE QALIAS(IN.ALIAS) TARGET(IN)\nDEFINE QALIAS(LEDGER) TARGET(MQOPS.LEDGER)\n"
)


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


@pytest.fixture
def run(manager, mqops_here):
    """Runs `mqops ... -m QM1 --json --yes`; gives what it says."""

    def run(*arguments: str, expect: int = 0, ask: str = "--yes", **more: str):
        done = mqops_here(*arguments, "-m", "QM1", "--json", *filter(None, [ask]), expect=expect, **more)
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("do", ["move", "copy"])
def test_law1_mixed_messages_are_moved_and_copied_byte_for_byte_and_taken_back(manager, run, do):
    manager.put("IN", mixed(40), options=ALL_CONTEXT)
    before = whole(manager, "IN")
    done = run("message", do, "IN", "--all", "--to", "OUT")
    assert (done["workflow"], done["planned"], done["moved"], done["left"], done["gone"]) == ("recover", 40, 40, 0, 0)
    assert (done["balanced"], done["arrived"], done["returned"]) == (True, 0, 0)
    assert alike(whole(manager, "OUT")) == alike(before)
    assert alike(whole(manager, "IN")) == (alike(before) if do == "copy" else Counter())
    undone = run("undo", done["run"])
    action = "WITHDRAW" if do == "copy" else "RETURN"
    assert undone["actions"] == {action: 40}
    assert (undone["balanced"], undone["moved"] + undone["discarded"]) == (True, 40)
    assert alike(whole(manager, "IN")) == alike(before)
    assert manager.depth("OUT") == manager.depth("MQOPS.LEDGER") == 0
    assert run("undo", done["run"], ask="--dry-run")["plan"]["actions"] == {"UNDONE": 40}


def test_a_copy_is_not_taken_away_where_it_may_be_the_last_one(manager, run):
    """Rule 12 of the undo: nothing is lost by it."""
    manager.put("IN", [({}, b"one"), ({}, b"two"), ({}, b"three")])
    done = run("message", "copy", "IN", "--all", "--to", "OUT")
    with manager.connected() as connection:
        _got(connection, "IN", b"one")
        _got(connection, "OUT", b"two")
    undone = run("undo", done["run"], expect=1)
    assert undone["actions"] == {"LAST": 1, "CONSUMED": 1, "WITHDRAW": 1}
    assert (undone["discarded"], undone["balanced"]) == (1, True)
    assert (manager.bodies("IN"), manager.bodies("OUT")) == ([b"two", b"three"], [b"one"])


def test_each_copy_that_is_taken_away_has_an_original_of_its_own(manager, run, lake):
    """Equal originals, of which one goes after the undo was planned: one copy stays."""
    equal = {"MsgId": b"equal".ljust(24), "PutDate": b"20260102", "PutTime": b"03040506"}
    manager.put("IN", [(equal, b"one")] * 3, options=ALL_CONTEXT)
    done = run("message", "copy", "IN", "--all", "--to", "OUT")
    assert manager.depth("OUT") == 3
    request = UndoRequest(connection=manager.connection, lake=lake, undoes=find_run(lake, key=done["run"]))
    folder, plan = plan_run(UNDO, request)
    assert plan.actions == {"WITHDRAW": 3}
    with manager.connected() as connection:
        _got(connection, "IN", b"one")
    act_undo(manager.connection, folder, approved=plan.digest)
    assert (manager.depth("IN"), manager.depth("OUT")) == (2, 1)


def test_an_undo_of_a_copy_lets_go_of_the_originals_queue_that_it_cannot_look_at(manager, run, lake):
    manager.put("IN", [({}, b"one")])
    done = run("message", "copy", "IN", "--all", "--to", "OUT")
    request = UndoRequest(connection=manager.connection, lake=lake, undoes=find_run(lake, key=done["run"]))
    folder, _plan = plan_run(UNDO, request)
    (row,) = plan_rows(read_approved_plan(folder))
    manager.mqsc("ALTER QLOCAL(IN) GET(DISABLED)")
    with connect(manager.connection) as session, Originals(folder.snapshot) as originals:
        port = UndoPort(session, (), KeyRing(folder.lake_folder), original=originals, now=utc)
        with pytest.raises(CannotTake):
            port.take(make_row(0, row._asdict() | {"duplicate_id": False}), careful=False)
        assert queue_attribute(session, "IN", CMQC.MQIA_OPEN_INPUT_COUNT) == 0
        assert manager.depth("OUT") == 1


def test_a_copy_only_browses_and_no_other_workflow_carries_it_out(manager, run, lake, mqops_here):
    """A program may have the queue for itself, also while the copy is taken back. A plan of copies that is acted on as
    if it moved them moves nothing."""
    import pymqi  # noqa: PLC0415

    manager.put("IN", [({}, b"one")])
    with manager.connected() as connection:
        alone = pymqi.Queue(connection, "IN", CMQC.MQOO_INPUT_EXCLUSIVE)
        alone.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_NO_WAIT | CMQC.MQGMO_SYNCPOINT))
        connection.backout()
        done = run("message", "copy", "IN", "--all", "--to", "OUT")
        assert (done["moved"], manager.depth("OUT")) == (1, 1)
        other = pymqi.Queue(connection)
        other.open("OUT", CMQC.MQOO_INPUT_EXCLUSIVE)
        text = mqops_here("undo", done["run"], "--yes", expect=1)
        assert "1  could not be undone: MQRC_OBJECT_IN_USE" in text.stdout
        tried = next(word.rstrip(":") for word in text.stderr.split() if word.startswith("undo-"))
        assert "planned WITHDRAW of a copy; its original is on IN" in mqops_here("run", "show", tried).stdout
        other.close()
        undone = run("undo", done["run"])
        assert (undone["actions"], undone["discarded"], undone["balanced"]) == ({"WITHDRAW": 1}, 1, True)
        alone.close()
    run("message", "copy", "IN", "--all", "--to", "OUT")
    planned = run("message", "copy", "IN", "--all", "--to", "OUT", ask="--dry-run")["plan"]
    folder = find_run(lake, key=planned["run"])
    with pytest.raises(PlanChanged, match=r"is a copy\. This workflow takes messages from their queue"):
        act(manager.connection, folder, approved=planned["digest"])
    assert (manager.depth("IN"), manager.depth("OUT")) == (1, 1)


def _got(connection, queue: str, body: bytes) -> None:
    """Get a message of a queue."""
    import pymqi  # noqa: PLC0415

    handle = pymqi.Queue(connection, queue, CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)
    options = CMQC.MQGMO_BROWSE_NEXT
    while handle.get(None, pymqi.MD(), pymqi.GMO(Options=options)) != body:
        pass
    assert handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR)) == body
    handle.close()


def test_the_original_of_a_copy_that_is_gone_meanwhile_counts_as_gone(manager, run, mqops_here):
    manager.put("IN", [({}, b"one"), ({}, b"two")])
    planned = run("message", "copy", "IN", "--all", "--to", "OUT", ask="--dry-run")
    with manager.connected() as connection:
        _got(connection, "IN", b"one")
    manager.put("IN", [({}, b"later")])
    name, digest = planned["plan"]["run"], planned["plan"]["digest"]
    done = json.loads(mqops_here("dlq", "act", name, "--approve", digest, "--json").stdout)
    assert (done["planned"], done["moved"], done["gone"], done["arrived"]) == (2, 1, 1, 1)
    assert done["gone_because"] == {"not on the queue when its turn came": 1}
    assert manager.bodies("OUT") == [b"two"]
    assert done["balanced"]
    looked = json.loads(mqops_here("ledger", "outcomes", done["run"], "-m", "QM1", "--json").stdout)
    assert looked["outcomes"] == {"there": 1}
    manager.mqsc("CLEAR QLOCAL(OUT)")
    looked = json.loads(mqops_here("ledger", "outcomes", done["run"], "-m", "QM1", "--json").stdout)
    assert looked["outcomes"] == {"consumed": 1}, "the original on its own queue is no message that came back"


def test_messages_are_chosen_by_id_and_by_all_that_find_has(manager, run, mqops_here):
    ids = manager.put("IN", [({"UserIdentifier": b"u%d" % number}, b"n%d" % number) for number in range(4)])
    same = ids[0].hex()[:8]
    assert manager.put("OUT", []) == []
    refused = run("message", "move", "IN", same, "--to", "OUT", expect=1)
    assert f"4 MsgIds on IN begin with {same}" in refused["error"]["message"]
    refused = run("message", "move", "IN", "ff00", "--to", "OUT", expect=1)
    assert "IN has no message whose MsgId begins with ff00" in refused["error"]["message"]
    refused = run("message", "move", "IN", "--text", "nothing", "--to", "OUT", expect=1)
    assert "No message of IN fits (move to OUT: text ...)" in refused["error"]["message"]
    assert "nothing" not in json.dumps(refused)
    four = run("message", "move", "IN", *(one.hex() for one in ids), "--to", "OUT", ask="--dry-run")["plan"]
    assert (four["table_source"], four["actions"]) == ("move to OUT: 4 MsgIds", {"FWD": 4})
    few = run("message", "move", "IN", ids[2].hex(), ids[0].hex(), "--to", "OUT", ask="--dry-run")["plan"]
    assert few["table_source"] == f"move to OUT: MsgId {ids[2].hex()} or {ids[0].hex()}"
    moved = run("message", "move", "IN", ids[2].hex(), ids[0].hex(), "--to", "OUT")
    assert moved["moved"] == 2
    shown = mqops_here("run", "show", moved["run"], "-m", "QM1").stdout
    assert f"left    {ids[1].hex()} of IN, row 1: it was not chosen\n" in shown
    told = mqops_here("message", "move", "IN", "--text", "n3", "--to", "OUT", "-m", "QM1", "--yes").stdout
    assert "       1  FWD: 1 moved, 0 discarded, 0 left, 0 gone\n" in told
    assert "       1  IGNORE (not chosen): 0 moved, 0 discarded, 1 left, 0 gone\n" in told
    assert manager.bodies("OUT") == [b"n0", b"n2", b"n3"]
    equal, _other = manager.put(
        "IN", [({"MsgId": b"equal".ljust(24)}, b"one"), ({"MsgId": b"equal".ljust(24)}, b"two")]
    )
    both = run("message", "discard", "IN", equal.hex(), ids[1].hex(), ask="--dry-run")["plan"]
    assert both["actions"]["DISCARD"] == 3
    assert (
        "3 messages for 2 MsgIds: messages of the queue have the same MsgId, and all of them are chosen"
        in (both["remarks"])
    )
    assert not any("MsgId" in one for one in few["remarks"])


def test_the_messages_that_failed_a_check_are_found_and_moved(manager, run, mqops_here, tmp_path, lake):
    """`--failed SUITE[:CHECK]`: those of the newest result of the suite; what came later is not among them."""
    suite = tmp_path / "payments.yaml"
    suite.write_text(
        "suite: payments\ncolumns: {$.amount: number}\nexpectations:\n"
        "- {id: amount, expect: column_values_to_be_between, column: $.amount, min_value: 1}\n"
        "- {id: there, expect: column_values_to_not_be_null, column: $.amount, mostly: 0.5}\n"
    )
    bodies = (b'{"amount": 5}', b'{"amount": 0}', b'{"amount": "x"}', b'{"amount": -1}')
    manager.put("IN", [({"Format": "MQSTR", "CodedCharSetId": 1208}, body) for body in bodies])
    taken = json.loads(mqops_here("snapshot", "IN", "-m", "QM1", "--json").stdout)
    check = ("quality", "check", "--snapshot", taken["run"], "--suite", str(suite))
    told = mqops_here(*check, expect=1).stdout
    assert "mqops message move IN -m QM1 --failed payments --to QUEUE\n" in told.replace(" \\\n", "")
    apart = mqops_here(*check, "--out", str(tmp_path / "apart"), expect=1).stdout
    assert "mqops message move" not in apart  # `--failed` does not look there
    assert json.loads(mqops_here(*check, "--json", expect=1).stdout)["left"] == 3
    manager.put("IN", [({"Format": "MQSTR", "CodedCharSetId": 1208}, b'{"amount": -2}')])

    def found(*arguments: str, expect: int = 0) -> list[int]:
        done = mqops_here("message", "find", *arguments, "--json", expect=expect)
        return [one["position"] for one in json.loads(done.stdout)["messages"]]

    assert found("IN", "-m", "QM1", "--failed", "payments") == [1, 2, 3]
    assert found("IN", "-m", "QM1", "--failed", "payments:amount") == [1, 3]
    assert found("IN", "-m", "QM1", "--failed", "payments:there", expect=1) == []  # that one is tolerated
    assert found("--snapshot", taken["run"], "--failed", "payments:amount_readable") == [2]
    wrong = mqops_here("message", "find", "IN", "-m", "QM1", "--failed", "payments:none", expect=2)
    assert "its checks are amount, there, amount_readable" in " ".join(wrong.stderr.split())
    wrong = mqops_here("message", "find", "IN", "-m", "QM1", "--failed", "other", expect=2)
    assert "Suite other was not checked in a run of QM1" in " ".join(wrong.stderr.split())
    planned = run("message", "move", "IN", "--failed", "payments:amount", "--to", "OUT", ask="--dry-run")["plan"]
    assert f"failed payments:amount in {taken['run']} at 20" in planned["table_source"]  # of which check of the run
    moved = run("message", "move", "IN", "--failed", "payments:amount", "--to", "OUT")
    assert (moved["moved"], moved["balanced"]) == (2, True)
    assert (manager.bodies("OUT"), manager.bodies("IN")) == (
        [bodies[1], bodies[3]],
        [bodies[0], bodies[2], b'{"amount": -2}'],
    )


def test_a_check_that_is_not_passed_names_a_queue_and_the_suite_that_its_messages_fail(manager, mqops_here, tmp_path):
    given: list[str] = []
    for name, queue in (("payments", "OUT"), ("zeroes", "IN")):
        suite = tmp_path / f"{name}.yaml"
        suite.write_text(
            f"suite: {name}\nqueues: [{queue}]\nexpectations:\n"
            "- {id: short, expect: column_values_to_be_between, column: priority, max_value: -1}\n"
        )
        given += ["--suite", str(suite)]
        manager.put(queue, [({}, b"too long")])
    taken = json.loads(mqops_here("snapshot", "IN", "OUT", "-m", "QM1", "--json").stdout)
    told = mqops_here("quality", "check", "--snapshot", taken["run"], *given, expect=1).stdout.replace(" \\\n", "")
    named = [line.split()[3:8:4] for line in told.splitlines() if "mqops message move" in line]
    assert named in ([["IN", "zeroes"]], [["OUT", "payments"]]), told


def test_what_a_search_passed_over_is_told_by_all_that_choose(manager, run, mqops_here, tmp_path):
    """A5: as `find` does; in the dry run, in the outcome, in an export, and where nothing fits."""
    broken = MQRFH2(format="MQSTR", coded_char_set_id=1208, folders=(b"<<usr>  ",)).pack() + b"x"
    sent = [
        ({"Format": "MQSTR"}, b"Meier 42"),
        ({"Format": "MQSTR"}, bytes(range(128, 256))),
        ({"Format": "MQADMIN"}, b"Meier 42"),
        ({"Format": "MQHRF2"}, broken),
        dead_letter("OUT", b"Meier 42"),
        ({"Format": "MQDEAD"}, b"no header"),
    ]
    manager.put("IN", sent)
    text = [
        "passed over: 1 message: it is not text in CCSID 1208",
        "passed over: 1 message: Format MQADMIN is not text",
    ]
    text.append("passed over: 1 message: a header before the data is not valid")
    for do, more in (("move", ("--to", "OUT")), ("copy", ("--to", "OUT")), ("replay", ())):
        plan = run("message", do, "IN", "--text", "Meier", *more, ask="--dry-run")["plan"]
        assert [one for one in plan["remarks"] if one.startswith("passed over")] == text, do
        said = mqops_here("message", do, "IN", "--text", "Meier", *more, "--dry-run", "-m", "QM1").stdout
        assert text[0] in " ".join(said.split())
    properties = ["passed over: 1 message: its MQRFH2 has no property that can be read", text[2]]
    done = mqops_here("message", "discard", "IN", "--property", "usr.a=1", "-m", "QM1", "--dry-run", "--json", expect=1)
    assert [one for one in properties if one not in json.loads(done.stdout)["error"]["message"]] == []
    found = run("message", "find", "IN", "--property", "usr.a=1", ask="", expect=1)
    assert found["passed_over"] == {"its MQRFH2 has no property that can be read": 1, text[2].split(": ", 2)[2]: 1}
    exported = run("message", "export", "IN", str(tmp_path / "a"), "--text", "Meier", ask="")
    assert (exported["messages"], sum(exported["passed_over"].values())) == (2, 3)
    said = mqops_here("message", "export", "IN", str(tmp_path / "b"), "--text", "Meier", "-m", "QM1").stdout
    assert [one for one in text if one not in said] == []
    assert "passed_over" not in run("message", "export", "IN", str(tmp_path / "c"), ask="")
    said = mqops_here("message", "show", "IN", "--text", "not there", "-m", "QM1", expect=1).stderr
    assert text[0] in " ".join(said.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("move", "IN", "--to", "OUT"), "No message is chosen"),
        (("move", "IN", "--all", "--to", "IN.ALIAS"), "Destination: IN.ALIAS is IN itself"),
        (("copy", "IN", "--all", "--to", "IN"), "Destination: IN is IN itself"),
        (("move", "IN", "--all", "--to", "LEDGER"), "Destination: MQOPS.LEDGER is a queue of mqops"),
        (("copy", "IN", "--all", "--to", "SYSTEM.ADMIN.COMMAND.QUEUE"), "is a queue of mqops or of the queue manager"),
        (("discard", "MQOPS.LEDGER", "--all"), "no workflow takes messages from it"),
        (("copy", "IN", "--all", "--to", "OUT", "--canary", "1"), "Canary size: a copy has no canaries"),
    ],
)
def test_what_is_unclear_or_not_allowed_is_refused(manager, run, arguments, says):
    manager.put("IN", [({}, b"x")])
    assert says in run("message", *arguments, expect=1)["error"]["message"]
    assert manager.bodies("IN") == [b"x"]


def test_part_of_an_mq_group_is_left_and_that_is_told(manager, run):
    group = {"GroupId": b"G" * 24, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP, "MsgSeqNumber": 1}
    last = {**group, "MsgFlags": CMQC.MQMF_LAST_MSG_IN_GROUP, "MsgSeqNumber": 2}
    first, _second, third = manager.put("IN", [(group, b"1"), (last, b"2"), ({}, b"3")])
    for do in ("copy", "move"):
        done = run("message", do, "IN", first.hex(), third.hex(), "--to", "OUT")
        assert (done["moved"], done["left"]) == (1, 2)
        assert any("messages of one group" in remark for remark in done["remarks"])
    assert manager.bodies("IN") == [b"1", b"2"]
    assert manager.bodies("OUT") == [b"3", b"3"]


def test_the_few_messages_that_were_chosen_are_a_group_of_the_plan_beside_thousands_that_were_not(
    manager, run, mqops_here, monkeypatch
):
    """A plan names so many groups and no more, here one: the largest was that of the others."""
    monkeypatch.setattr(counts, "MOST_GROUPS", 1)
    *_others, chosen = manager.put(DLQ, [dead_letter(queue, b"x") for queue in ("APP.B", "APP.B", "APP.A")])
    arguments = ("message", "move", DLQ, chosen.hex(), "--to", "OUT", "--dry-run")
    plan = run(*arguments, ask="")["plan"]
    assert [(one["origin_q"], one["action"], one["messages"]) for one in plan["counts"]] == [("APP.A", "FWD", 1)]
    assert plan["counts_left_off"] == 1
    assert "not shown: 1 other group." in mqops_here(*arguments, "-m", "QM1").stdout


def test_dead_letters_are_replayed_stripped_parked_and_discarded(manager, run):
    manager.put(DLQ, [dead_letter("APP.A", b"a"), dead_letter("SYSTEM.ADMIN.COMMAND.QUEUE", b"b"), ({}, b"plain")])
    planned = run("message", "replay", DLQ, "--all", ask="--dry-run")["plan"]
    assert planned["actions"] == {"RETRY": 1, "PROTECTED": 1, "ERROR": 1}
    assert "1 chosen message has no MQDLH that can be read: left" in planned["remarks"]
    assert run("message", "replay", DLQ, "--all")["moved"] == 1
    assert manager.bodies("APP.A") == [b"a"]
    manager.put(DLQ, [dead_letter("NOT.THERE", b"c")])
    failed = run("message", "replay", DLQ, "--destination", "NOT.THERE", expect=1)
    assert (failed["moved"], failed["reasons"], failed["balanced"]) == (0, {"MQRC_UNKNOWN_OBJECT_NAME": 1}, True)
    run("message", "discard", DLQ, "--destination", "NOT.THERE")
    assert run("message", "move", DLQ, "--all", "--to", "OUT", "--header", "strip")["moved"] == 2
    assert manager.bodies("OUT") == [b"b", b"plain"]
    parked = run("message", "park", "OUT", "--all")
    assert (parked["moved"], manager.bodies("MQOPS.QUARANTINE")) == (2, [b"b", b"plain"])
    gone = run("message", "discard", "MQOPS.QUARANTINE", "--text", "plain")
    assert (gone["discarded"], manager.bodies("MQOPS.QUARANTINE")) == (1, [b"b"])
    assert run("undo", gone["run"])["moved"] == 1


def test_the_ledger_tells_of_a_copy_and_of_its_original(manager, run, mqops_here):
    (msg_id,) = manager.put("IN", [({}, b"x")])
    run("message", "copy", "IN", "--all", "--to", "OUT")
    shown = json.loads(mqops_here("ledger", "show", msg_id.hex(), "--json").stdout)
    assert [(one["action"], one["dest_q"], one["queue"]) for one in shown["events"]] == [("COPY", "OUT", "IN")]
    assert [(one["queue"], one["became"], one["action"]) for one in shown["seen"]] == [("IN", "seen", "COPY")]


ORACLES = (
    ("message", "find", "IN", "--text", "secret"),
    ("message", "find", "IN", "--where", "BODY('*secret*')"),
    ("message", "find", "IN", "--property", "usr.a=secret"),
    ("message", "show", "IN", "--text", "secret"),
    ("message", "move", "IN", "--text", "secret", "--to", "OUT", "--yes"),
)


@pytest.mark.parametrize("command", ORACLES)
def test_law9_a_question_about_payload_needs_the_right_where_the_estate_names_it(
    manager, mqops_here, tmp_path, command
):
    manager.put("IN", [({"Format": "MQSTR"}, b"a secret"), ({"Format": "MQSTR"}, b"else")])
    refused = mqops_here(*command, "-m", "QM1", expect=1, MQOPS_ESTATE=reveal_estate(tmp_path, "alice"))
    assert "`reveal` of QM1" in refused.stderr
    assert "names alice" in refused.stderr
    assert manager.depth("IN") == 2
    expect = 1 if "--property" in command else 0  # no message has one
    mqops_here(*command, "-m", "QM1", expect=expect, MQOPS_ESTATE=reveal_estate(tmp_path))


def test_law9_a_table_that_asks_for_payload_needs_the_right_too(manager, mqops_here, tmp_path):
    manager.put("IN", [({"Format": "MQSTR"}, b"a secret")])
    table = tmp_path / "t.rules"
    table.write_text("* MQOPS EXTENSIONS\nBODY('*secret*') ACTION(IGNORE)\n")
    command = ("message", "show", "IN", "--position", "0", "--rules", str(table), "-m", "QM1")
    refused = mqops_here(*command, expect=1, MQOPS_ESTATE=reveal_estate(tmp_path, "alice"))
    assert "names alice" in refused.stderr
    mqops_here(*command, MQOPS_ESTATE=reveal_estate(tmp_path))


def test_law9_an_export_needs_the_right_and_is_in_the_ledger(manager, mqops_here, tmp_path, lake):
    ids = manager.put("IN", [({}, b"secret"), ({}, b"else")])
    command = ("message", "export", "IN", str(tmp_path / "a.msg"), "-m", "QM1")
    refused = mqops_here(*command, expect=1, MQOPS_ESTATE=reveal_estate(tmp_path, "alice"))
    assert "may not see the payload" in refused.stderr
    assert not (tmp_path / "a.msg").exists()
    mqops_here(*command, MQOPS_ESTATE=reveal_estate(tmp_path))
    shown = [json.loads(mqops_here("ledger", "show", one.hex(), "--json").stdout)["events"] for one in ids]
    assert [[event["outcome"] for event in events] for events in shown] == [["revealed"], ["revealed"]]


def test_law9_a_run_leaves_no_payload_but_in_its_snapshot(manager, mqops_here, tmp_path, lake, caplog):
    secret, hostile = b"s3cr3t-payload", "\x1b[2Jforged\u202eline".encode()
    manager.put("IN", [({"Format": "MQSTR", "CodedCharSetId": 1208}, secret + hostile)] * 3)
    said = ""
    for command in (
        ("message", "find", "IN"),
        ("message", "show", "IN", "--position", "0"),
        ("message", "copy", "IN", "--all", "--to", "OUT", "--dry-run"),
        ("message", "copy", "IN", "--text", "s3cr3t", "--to", "OUT", "--yes"),
        ("message", "move", "IN", "--all", "--to", "OUT", "--yes"),
        ("runs",),
    ):
        done = mqops_here(*command, *(["-m", "QM1"] if command[0] == "message" else []))
        said += done.output
    assert "s3cr3t" not in said + caplog.text
    assert not {"\x1b", "\u202e"} & set(said + caplog.text)
    files = [path for path in lake.rglob("*") if path.is_file() and "snapshot" not in path.parts]
    assert len(files) > 10
    for path in files:
        assert b"s3cr3t" not in path.read_bytes(), path
