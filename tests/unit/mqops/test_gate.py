"""A gate on the command line: what fails a check goes to quarantine or stays, warns, or stops the run before a move."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from textwrap import dedent

import pytest
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.decide.gate import found_by as gated_by
from mqops.errors import PlanChanged
from mqops.jobs.decide import main as decide_with_spark
from mqops.lake.run import RunFolder

QUEUES = "".join(f"DEFINE QLOCAL({name})\n" for name in ("ORDERS", "OTHER", "ORDERS.BAD", "ORDERS.BOQ"))
QUEUES += "DEFINE QLOCAL(IN) BOQNAME(ORDERS.BOQ) BOTHRESH(1)\nDEFINE QLOCAL(MQOPS.QUARANTINE)\n"
QUEUES += "DEFINE QLOCAL(B2)\nDEFINE QLOCAL(IN2) BOQNAME(B2)\nDEFINE QLOCAL(IN3) BOQNAME(ORDERS.BAD)\n"
QUEUES += f"DEFINE QALIAS(BY.ALIAS) TARGET({DLQ})\n"
SUITE = """\
suite: orders
columns: {$.amount: number}
expectations:
- {id: amount, expect: column_values_to_be_between, column: $.amount, min_value: 1, why: free, on_failure: quarantine}
- {id: reply, expect: column_values_to_be_in_set, column: reply_to_q, value_set: [''], on_failure: leave}
- {id: number, expect: table_row_count_to_be_between, min_value: 1, max_value: 3, severity: warning}
- {id: big, expect: column_values_to_be_between, column: body_length, max_value: 5000, severity: info}
"""
SECRET = 'amount": 0'


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc=QUEUES)


def order(amount: object, *, reply: str = "", to: str = "ORDERS", **fields: object):
    return dead_letter(to, json.dumps({"amount": amount}).encode(), ReplyToQ=reply, **fields)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch):
    """Writes an estate whose workflows have this gate, and its suite; MQOPS_ESTATE names it."""

    def write(suite: str = SUITE, workflow: str = "dlq_rules", more: str = "", gate: str = "quarantine: ORDERS.BAD"):
        (tmp_path / "orders.yaml").write_text(suite)
        (tmp_path / "r.rules").write_text("ACTION(RETRY)\n")
        path = tmp_path / "estate.yaml"
        said = f"{{suites: [orders.yaml], {gate}}}"
        section = said if workflow == "gate" else f"{{rules: r.rules, gate: {said}{more}}}"
        path.write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq\n    {workflow}: {section}\n")
        monkeypatch.setenv("MQOPS_ESTATE", str(path))
        return path

    return write


@pytest.fixture
def dlq(mqops_here):
    """Runs `mqops dlq run` with a table; gives what it says."""

    def run(*arguments: str, table: str = "ACTION(RETRY)\n", expect: int = 0):
        done = mqops_here("dlq", "run", DLQ, "QM1", "--json", *arguments, text=table, expect=expect)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_what_fails_goes_to_quarantine_or_stays_and_the_plan_says_why(manager, gate, dlq, mqops_here):
    gate()
    unread = dead_letter("ORDERS", b"no JSON")
    manager.put(
        DLQ, [order(5), order(0), order(7, reply="OTHER"), order(0, reply="OTHER"), unread, order(0, to="OTHER")]
    )
    table = "DESTQ(OTHER) ACTION(DISCARD)\nACTION(RETRY)\n"
    shown = dlq("--dry-run", table=table)
    plan = shown["plan"]
    assert plan["actions"] == {"RETRY": 1, "FWD": 2, "GATED": 2, "DISCARD": 1}
    by_check = {one["rule_key"]: (one["action"], one["messages"]) for one in plan["rules"] if one["rule_line"] is None}
    assert by_check == {
        "gate:orders:amount": ("FWD", 1),
        "gate:orders:amount_readable": ("FWD", 1),
        "gate:orders:reply": ("GATED", 2),
    }
    assert [(one["check"], one["failed"], one["on_failure"]) for one in plan["gate"]] == [
        ("amount", 3, "quarantine"),
        ("reply", 2, "leave"),
        ("number", None, "warn"),
        ("amount_readable", 1, "quarantine"),
    ]
    assert "gate: 1 message to ORDERS.BAD: orders:amount ($.amount at least 1) fails: free" in plan["remarks"]
    assert any(one.startswith("gate: warning: orders:number is not met (found 6)") for one in plan["remarks"])
    text = mqops_here("dlq", "run", DLQ, "QM1", "--dry-run", text=table).stdout
    assert "gate: check orders:reply: GATED" in text
    assert "fails: free" in " ".join(text.split())
    assert SECRET not in text + json.dumps(shown)
    summary = dlq("--once", table=table, expect=1)
    assert (summary["moved"], summary["discarded"], summary["left"], summary["balanced"]) == (3, 1, 2, True)
    assert manager.bodies("ORDERS") == [b'{"amount": 5}']
    assert [body[172:] for body in manager.bodies("ORDERS.BAD")] == [b'{"amount": 0}', b"no JSON"]
    assert manager.depth(DLQ) == 2
    bad = manager.messages("ORDERS.BAD")[0][0]["MsgId"].hex()
    told = mqops_here("message", "show", "ORDERS.BAD", bad, "-m", "QM1").stdout
    assert "It fails the check orders:amount of the gate." in " ".join(told.split())
    left = json.loads(mqops_here("run", "show", summary["run"], "-m", "QM1", "--json").stdout)
    assert {one["why"] for one in left["messages"]} == {"gate: check orders:reply fails"}
    mqops_here("undo", summary["run"], "-m", "QM1", "--yes")
    assert (manager.depth(DLQ), manager.depth("ORDERS.BAD"), manager.depth("ORDERS")) == (6, 0, 0)


def test_a_group_stays_together_and_an_order_is_kept_behind_what_is_left(manager, gate, dlq):
    gate()

    def member(seq: int, amount: int, group: bytes, **more: object):
        flags = CMQC.MQMF_LAST_MSG_IN_GROUP if seq == 2 else CMQC.MQMF_MSG_IN_GROUP
        return order(amount, GroupId=group.ljust(24, b"\0"), MsgSeqNumber=seq, MsgFlags=flags, **more)

    bad, kept = [member(1, 5, b"bad"), member(2, 0, b"bad")], [member(1, 0, b"k"), member(2, 5, b"k", reply="OTHER")]
    key = {"CorrelId": b"1".ljust(24, b"\0")}
    gone = {"CorrelId": b"2".ljust(24, b"\0")}
    manager.put(DLQ, [bad[0], kept[0], bad[1], kept[1]])
    manager.put(DLQ, [order(1, reply="OTHER", **key), order(2, **key), order(0, **gone), order(3, **gone)])
    summary = dlq("--once", table="* MQOPS EXTENSIONS\nACTION(RETRY) ORDER(CORRELID)\n", expect=1)
    actions = {(one["rule_key"], one["action"]): one["planned"] for one in summary["rules"] if one["rule_line"] is None}
    assert actions == {
        ("gate:orders:amount", "FWD"): 3,  # the group, and one that others are behind
        ("gate:orders:reply", "GATED"): 3,
    }
    assert [one["planned"] for one in summary["rules"] if one["action"] == "BEHIND"] == [1]
    assert manager.bodies("ORDERS") == [b'{"amount": 3}']
    assert [body[172:] for body in manager.bodies("ORDERS.BAD")] == [
        b'{"amount": 5}',
        b'{"amount": 0}',
        b'{"amount": 0}',
    ]


def test_a_check_that_stops_ends_the_run_before_anything_is_moved_and_says_what_to_do(manager, gate, dlq, lake):
    path = gate(SUITE.replace(", on_failure: quarantine", ""))
    manager.put(DLQ, [order(5), order(0), order(0)])
    for arguments in (["--dry-run"], ["--once"]):
        error = dlq(*arguments, expect=1)["error"]
        assert error["code"] == "GateStopped"
        ids = [md["MsgId"].hex() for md, _body in manager.messages(DLQ)]
        assert "orders:amount ($.amount at least 1) is not met by 2 of 3 messages, free." in error["message"]
        assert f"mqops message show {DLQ} {ids[1]} -m QM1" in error["message"]
        assert f"(warn, leave or quarantine) at {path.parent / 'orders.yaml'}:4" in error["message"]
        assert SECRET not in error["message"]
    assert manager.depth(DLQ) == 3
    assert not list((lake / "QM1" / "runs").iterdir())


def test_a_suite_of_another_queue_holds_nothing_back_and_that_is_told(manager, gate, dlq):
    gate(SUITE.replace("suite: orders", "suite: orders\nqueues: [IN]"))
    manager.put(DLQ, [order(0)])
    plan = dlq("--dry-run")["plan"]
    assert (plan["actions"], plan["gate"]) == ({"RETRY": 1}, [])
    assert "gate: suite orders looks at no queue of this run" in plan["remarks"]
    gate(SUITE.replace("why: free", "where: {queue: ORDERS}"))
    plan = dlq("--dry-run")["plan"]
    assert (plan["actions"], plan["gate"]) == ({"RETRY": 1}, [])
    told = "gate: 2 checks look at no queue of this run: orders:amount, orders:amount_readable"
    assert told in plan["remarks"]


def test_the_example_of_the_documentation_holds_back_an_order_without_an_amount(manager, gate, dlq):
    text = (Path(__file__).parents[3] / "docs" / "gate.md").read_text().split("```yaml\n")[1].split("```")[0]
    gate(dedent(text))
    manager.put(DLQ, [dead_letter("ORDERS", b"{}")])
    plan = dlq("--dry-run")["plan"]
    found = {one["check"]: (one["failed"], one["on_failure"], one["why"]) for one in plan["gate"]}
    assert found.pop("known_shop")[:2] == (1, "leave")
    assert found == {"has_amount": (1, "quarantine", "an order without an amount ends the program ORDERS")}


def test_the_plan_of_a_dry_run_is_carried_out_as_it_stands_after_the_suite_was_changed(
    manager, gate, dlq, mqops_here, lake
):
    rules = gate().parent / "r.rules"
    manager.put(DLQ, [order(5), order(0)])
    shown = dlq("--dry-run")
    gate(SUITE.replace("min_value: 1, why", "min_value: 6, why"))
    plan = shown["plan"]
    mqops_here("dlq", "act", plan["run"], "-m", "QM1", "--approve", plan["digest"])
    assert (manager.depth(DLQ), manager.depth("ORDERS"), manager.depth("ORDERS.BAD")) == (0, 1, 1)
    run = RunFolder.at(lake, "QM1", plan["run"])
    before = run.gated.read_bytes()
    with pytest.raises(PlanChanged, match="is being acted on"):  # its decide task is cleared
        decide_with_spark(["--run", str(run.path), "--rules", str(rules)])
    assert run.gated.read_bytes() == before


def test_a_gate_of_backout_queues_is_no_replay_and_has_their_quarantine(manager, gate, mqops_here):
    gate(workflow="backout_reprocess", more=", quarantine: MQOPS.QUARANTINE", gate="")
    bodies = [b'{"amount": 5}', b'{"amount": 0}']
    manager.put("ORDERS.BOQ", [({}, body) for body in bodies])
    done = mqops_here("backout", "run", "-m", "QM1", "--json", text="ACTION(RETRY)\n")
    summary = json.loads(done.stdout)
    assert {one["rule_key"]: one["moved"] for one in summary["rules"] if one["rule_line"] is None} == {
        "gate:orders:amount": 1
    }
    assert (manager.bodies("IN"), manager.bodies("MQOPS.QUARANTINE")) == ([bodies[0]], [bodies[1]])


def test_a_suite_of_one_queue_says_nothing_of_an_equal_message_on_another(manager, gate, mqops_here):
    gate(
        SUITE.replace("suite: orders", "suite: orders\nqueues: [ORDERS.BOQ]"),
        workflow="backout_reprocess",
        more=", quarantine: MQOPS.QUARANTINE",
    )
    same = {"MsgId": b"m".ljust(24, b"\0"), "PutDate": b"20260102", "PutTime": b"03040506"}
    for queue in ("B2", "ORDERS.BOQ"):
        manager.put(queue, [(same, b'{"amount": 0}')], options=CMQC.MQOO_SET_ALL_CONTEXT)
    for _ in range(2):  # what is in quarantine stays there, although IN3 has it as its backout queue
        mqops_here("backout", "run", "-m", "QM1", text="ACTION(RETRY)\n")
        depths = {name: manager.depth(name) for name in ("B2", "ORDERS.BOQ", "ORDERS.BAD", "IN", "IN2", "IN3")}
        assert depths == {"B2": 0, "ORDERS.BOQ": 0, "ORDERS.BAD": 1, "IN": 0, "IN2": 1, "IN3": 0}


@pytest.mark.parametrize("quarantine", [DLQ, "BY.ALIAS"])
def test_a_quarantine_that_messages_are_taken_from_is_refused(manager, gate, dlq, quarantine):
    gate(gate=f"quarantine: {quarantine}")
    manager.put(DLQ, [order(0)])
    error = dlq("--once", expect=1)["error"]["message"]
    assert "orders.yaml:4: amount: on_failure is quarantine, and the workflow takes messages from that queue, " in error
    assert manager.depth(DLQ) == 1


def test_without_a_valid_suite_nothing_is_moved(manager, gate, dlq, tmp_path):
    gate(gate="")
    manager.put(DLQ, [order(5)])
    error = dlq("--once", expect=1)["error"]
    assert f"{tmp_path / 'orders.yaml'}:4: amount: on_failure is quarantine, and the gate names no queue" in str(error)
    gate(SUITE.replace("between", "betwen"))
    assert (
        "orders.yaml:4: expectations.0.expect: there is no expectation" in dlq("--once", expect=1)["error"]["message"]
    )
    assert manager.depth(DLQ) == 1


@pytest.fixture
def of_manager(gate):
    """An estate whose queue manager has the gate, for the workflows that have no section there."""
    gate(workflow="gate")


def planned(done) -> dict[str, object]:
    return json.loads(done.stdout.splitlines()[-1])["plan"]


def test_chosen_messages_pass_the_gate_of_the_queue_manager(manager, of_manager, mqops_here):
    manager.put("IN", [({}, b'{"amount": 5}'), ({}, b'{"amount": 0}'), ({"ReplyToQ": "OTHER"}, b'{"amount": 7}')])
    ids = [md["MsgId"].hex() for md, _body in manager.messages("IN")]
    chosen = planned(mqops_here("message", "move", "IN", ids[0], "--to", "ORDERS", "-m", "QM1", "--dry-run", "--json"))
    assert (chosen["actions"], chosen["gate"]) == ({"FWD": 1, "IGNORE": 2}, [])  # the others are not looked at
    copies = planned(mqops_here("message", "copy", "IN", "--all", "--to", "ORDERS", "-m", "QM1", "--dry-run", "--json"))
    assert copies["actions"] == {"COPY": 1, "GATED": 2}
    mqops_here("message", "move", "IN", "--all", "--to", "ORDERS", "-m", "QM1", "--yes", expect=1)
    assert manager.bodies("ORDERS") == [b'{"amount": 5}']
    assert manager.bodies("ORDERS.BAD") == [b'{"amount": 0}']
    assert manager.depth("IN") == 1
    mqops_here("message", "discard", "IN", "--all", "-m", "QM1", "--yes")  # puts nothing anywhere
    out = mqops_here("message", "move", "ORDERS.BAD", "--all", "--to", "OTHER", "-m", "QM1", "--dry-run", "--json")
    assert planned(out)["actions"] == {"FWD": 1}
    assert "gate: ORDERS.BAD is its quarantine: what is taken out of it is not checked again" in planned(out)["remarks"]


def test_a_stop_is_about_chosen_messages_only(manager, gate, mqops_here):
    gate(SUITE.replace(", on_failure: quarantine", ""), workflow="gate")
    manager.put(DLQ, [order(5), order(0)])
    good, bad = [md["MsgId"].hex() for md, _body in manager.messages(DLQ)]
    error = json.loads(
        mqops_here("message", "replay", DLQ, bad, "-m", "QM1", "--dry-run", "--json", expect=1).stdout.splitlines()[-1]
    )["error"]
    assert error["code"] == "GateStopped"
    assert "is not met by 1 of 1 message" in error["message"]
    mqops_here("message", "replay", DLQ, good, "-m", "QM1", "--yes")
    assert (manager.bodies("ORDERS"), manager.depth(DLQ)) == ([b'{"amount": 5}'], 1)


def test_messages_of_a_file_that_fail_are_not_loaded(manager, gate, mqops_here, tmp_path):
    path = gate(workflow="gate")
    path.write_text(path.read_text() + f"    reveal: {{system: [{getpass.getuser()}]}}\n")
    manager.put("IN", [({}, b'{"amount": 5}'), ({}, b'{"amount": 0}')])
    file = tmp_path / "messages.txt"
    mqops_here("message", "export", "IN", str(file), "-m", "QM1")
    mqops_here("message", "load", str(file), "OTHER", "-m", "QM1", "--run", "--yes", expect=1)
    assert (manager.bodies("OTHER"), manager.depth("ORDERS.BAD")) == ([b'{"amount": 5}'], 0)


def loop(manager: Manager, bodies: list[bytes]) -> None:
    """Messages on IN that a program has backed out once."""
    manager.put("IN", [({}, body) for body in bodies])
    manager.back_out("IN", messages=len(bodies))


def test_what_loops_goes_to_quarantine_in_place_of_its_backout_queue(manager, of_manager, mqops_here):
    loop(manager, [b'{"amount": 5}', b'{"amount": 0}'])
    mqops_here("backout", "guard", "IN", "-m", "QM1", "--yes")
    assert (manager.bodies("ORDERS.BOQ"), manager.bodies("ORDERS.BAD")) == ([b'{"amount": 5}'], [b'{"amount": 0}'])


def test_the_gate_of_a_workflow_holds_in_place_of_that_of_the_queue_manager(manager, gate, dlq):
    path = gate(gate="quarantine: OTHER")
    path.write_text(path.read_text() + "    gate: {suites: [orders.yaml], quarantine: ORDERS.BAD}\n")
    manager.put(DLQ, [order(0)])
    assert [one["dest_q"] for one in dlq("--dry-run")["plan"]["counts"]] == ["OTHER"]
    path.write_text(path.read_text().replace("    gate: {suites", "    gate: {suite"))
    assert "suite" in dlq("--dry-run", expect=1)["error"]["message"]  # nobody knows which gate it would be


def test_a_quarantine_that_is_the_deadq_by_another_name_is_told_by_estate_check(manager, gate, mqops_here):
    for workflow in ("dlq_rules", "gate"):
        path = gate(workflow=workflow, gate="quarantine: BY.ALIAS")
        if workflow == "gate":
            path.write_text(path.read_text() + "    dlq_rules: {rules: r.rules}\n")
        done = mqops_here("estate", "check", str(path), "--live", expect=1)
        assert "the workflow takes messages from that queue, BY.ALIAS" in " ".join((done.stdout + done.stderr).split())
        listed = json.loads(mqops_here("estate", "status", str(path), "--json", expect=1).stdout)["QM1"]
        (wrong,) = [one["text"] for one in listed["needs_a_person"] if "A gate cannot be used: " in one["text"]]
        assert "amount: on_failure is quarantine, and the workflow takes messages from that queue, BY.ALIAS" in wrong


def test_suites_that_look_at_no_queue_of_the_run_are_one_line(manager, gate, dlq, tmp_path):
    path = gate()
    for number in range(5):
        (tmp_path / f"s{number}.yaml").write_text(SUITE.replace("suite: orders", f"suite: s{number}\nqueues: [IN]"))
    path.write_text(path.read_text().replace("orders.yaml]", ", ".join(f"s{number}.yaml" for number in range(5)) + "]"))
    manager.put(DLQ, [order(0)])
    (told,) = dlq("--dry-run")["plan"]["remarks"]
    assert told == "gate: 5 suites look at no queue of this run: s0, s1, s2 and 2 more"


def test_no_plan_is_made_where_the_gate_of_a_run_was_not_asked(manager, gate, dlq, lake):
    """A way to a plan that forgets the gate is refused: here what the gate found is taken away."""
    gate()
    manager.put(DLQ, [order(0)])
    run = RunFolder.at(lake, "QM1", dlq("--dry-run")["plan"]["run"])
    assert gated_by(run) is not None
    for found in (run.path / "gated.json", run.gated):
        found.unlink()
    with pytest.raises(PlanChanged, match=f"Run {run.run} has a gate that has not looked at its messages: start a new"):
        gated_by(run)


def test_a_suite_that_is_missing_is_told_before_the_run_by_its_place_in_the_estate(manager, gate, dlq, mqops_here):
    path = gate()
    (path.parent / "orders.yaml").unlink()
    manager.put(DLQ, [order(0)])
    assert (
        f"{path.parent / 'orders.yaml'}: the suite cannot be read: it is not there"
        in dlq("--once", expect=1)["error"]["message"]
    )
    listed = json.loads(mqops_here("estate", "status", str(path), "--json", expect=1).stdout)["QM1"]
    place = f"A gate cannot be used: {path}:5: queue_managers.QM1.dlq_rules.gate.suites.0: there is no file "
    assert any(one["text"].startswith(place) for one in listed["needs_a_person"])
    assert manager.depth(DLQ) == 1


def test_a_quarantine_that_refuses_beside_a_destination_that_does_is_told_and_loses_nothing(manager, gate, mqops_here):
    """The gate has no line of a rule: its failures are sorted with those of rules, and said in words."""
    gate()
    manager.mqsc("ALTER QLOCAL(ORDERS) PUT(DISABLED)\nALTER QLOCAL(ORDERS.BAD) MAXDEPTH(1)\n")
    manager.put(DLQ, [order(5), order(0), order(0)])
    done = mqops_here("dlq", "run", DLQ, "QM1", "--once", text="ACTION(RETRY)\n", expect=None)
    assert "1 message could not be put on ORDERS.BAD by the gate: MQRC_Q_FULL (2053)" in done.stderr
    assert "1 message could not be put on ORDERS@QM1 by the rule at line 1: MQRC_PUT_INHIBITED (2051)" in done.stderr
    assert (manager.depth(DLQ), manager.depth("ORDERS.BAD")) == (2, 1)


def test_a_guard_that_is_stopped_says_that_the_messages_go_on_looping(manager, gate, mqops_here):
    gate(SUITE.replace(", on_failure: quarantine", ""), workflow="gate")
    loop(manager, [b'{"amount": 0}'])
    error = json.loads(mqops_here("backout", "guard", "IN", "-m", "QM1", "--json", "--yes", expect=1).stdout)["error"]
    assert error["code"] == "GateStopped"
    assert "is not met by 1 of 1 message" in error["message"]
    assert "these messages go on looping" in error["message"]
    assert (manager.depth("IN"), manager.depth("ORDERS.BOQ")) == (1, 0)
