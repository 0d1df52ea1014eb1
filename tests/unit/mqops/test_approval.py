"""Approval on the command line: a dry run's plan is carried out as it stands, by its digest; the estate's four eyes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.cli import act, backout, dlq, expiry, passes, undo

TABLE = "DESTQ(A) ACTION(RETRY)\nDESTQ(B) ACTION(DISCARD)\n"
ESTATE = """\
lake: lake
queue_managers:
  {name}:
    connection: mq
    dlq_rules:
      rules: t.rules
      approval: {{four_eyes: {asks}}}
"""


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.fixture
def mqops(mqops_here, monkeypatch):
    """As a user."""

    def run(*arguments: str, user: str = "alice@host", **more: Any):
        for module in (act, backout, dlq, expiry, passes, undo):
            monkeypatch.setattr(module, "this_user", lambda: user)
        return mqops_here(*arguments, **more)

    return run


@pytest.fixture
def estate(tmp_path, monkeypatch):
    """Write an estate file that MQOPS_ESTATE names."""

    def write(text: str) -> Path:
        path = tmp_path / "estate.yaml"
        path.write_text(text)
        monkeypatch.setenv("MQOPS_ESTATE", str(path))
        return path

    return write


@pytest.fixture
def dry_run(manager, mqops):
    """A dry run by alice, as --json says it."""
    manager.put(DLQ, [dead_letter("A", b"1"), dead_letter("A", b"2"), dead_letter("B", b"3"), dead_letter("C", b"4")])
    return json.loads(mqops("dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=TABLE).stdout)


def test_a_dry_run_names_its_run_its_digest_and_the_command(manager, mqops, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"1")])
    said = mqops("dlq", "run", DLQ, "QM1", "--dry-run", text=TABLE).stdout.splitlines()
    command = said[-2].strip()
    run, digest = shlex.split(command)[3], shlex.split(command)[7]
    assert said[-3] == f"run {run} keeps this plan; to carry it out as it stands:"
    assert command == f"mqops dlq act {run} -m QM1 --approve {digest} --lake {tmp_path}/lake"
    assert said[0].endswith(f"plan {digest}")
    assert said[-1] == "dry run: nothing was moved"
    mqops(*shlex.split(command)[1:])
    assert manager.bodies("A") == [b"1"]


def test_law3_what_a_dry_run_planned_is_carried_out_and_nothing_else(manager, mqops, dry_run):
    manager.put(DLQ, [dead_letter("A", b"later")])
    command = shlex.split(dry_run["carry_out"])[1:]
    summary = json.loads(mqops(*command, "--json", user="bob@host").stdout)
    assert {name: summary[name] for name in ("planned", "moved", "discarded", "left", "gone", "arrived")} == {
        **{"planned": 4, "moved": 2, "discarded": 1, "left": 1, "gone": 0, "arrived": 1},
    }
    assert manager.bodies("A") == [b"1", b"2"]
    assert [body[172:] for body in manager.bodies(DLQ)] == [b"4", b"later"]
    events = [json.loads(line) for line in mqops("ledger", "export").stdout.splitlines()]
    assert {(event["requested_by"], event["approved_by"]) for event in events} == {("alice@host", "bob@host")}
    again = json.loads(mqops(*command, "--json").stdout)  # nothing is done twice
    assert (again["moved"], manager.depth("A"), manager.depth(DLQ)) == (2, 2, 2)


def test_the_same_messages_and_table_give_the_same_digest(mqops, dry_run):
    again = json.loads(mqops("dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=TABLE, user="bob@host").stdout)
    assert again["run"] != dry_run["run"]
    assert again["plan"]["digest"] == dry_run["plan"]["digest"]


def test_another_digest_is_refused_and_told_what_the_plan_is(manager, mqops, dry_run):
    command = shlex.split(dry_run["carry_out"])[1:]
    digest = command[6]
    command[6] = "0" * 64
    said = mqops(*command, expect=1).stderr
    assert f"has another plan: digest {digest}, 4 messages (2 RETRY, 1 DISCARD, 1 IGNORE). Look at that plan" in said
    assert (manager.depth(DLQ), manager.depth("A"), manager.depth("MQOPS.LEDGER")) == (4, 0, 0)


def test_a_plan_whose_files_were_changed_is_refused(manager, mqops, dry_run):
    path = Path(dry_run["run"], "plan.json")
    plan = json.loads(path.read_text())
    path.write_text(json.dumps(plan | {"handling": {"canary": 1}}))
    assert "its files were changed" in mqops(*shlex.split(dry_run["carry_out"])[1:], expect=1).stderr
    assert manager.depth(DLQ) == 4


def test_a_run_that_was_no_dry_run_is_refused(mqops, dry_run):
    path = Path(dry_run["run"], "plan.json")
    path.write_text(path.read_text().replace("alice@host", ""))
    said = mqops(*shlex.split(dry_run["carry_out"])[1:], expect=1).stderr
    assert "is not a dry run that can be carried out: make one with --dry-run" in said
    assert "has no run nothing of QM1" in mqops("dlq", "act", "nothing", "-m", "QM1", "--approve", "x", expect=1).stderr


def test_four_eyes_nobody_carries_out_what_he_asked_for(manager, mqops, dry_run, estate):
    path = estate(ESTATE.format(name="QM1", asks="true"))
    expected = (
        f"mqops: {path} asks for four eyes, and alice@host asked for this run: another person must approve it. "
        "Nothing was moved. Run the DAG "
    )
    for command in (["dlq", "run", DLQ, "QM1", "--once"], shlex.split(dry_run["carry_out"])[1:]):
        said = mqops(*command, text=TABLE, expect=1).stderr.splitlines()[-1]
        assert said == (
            f"{expected}qm1_dlq_rules in Airflow, where another person approves. Or: Plan it with --dry-run, and let "
            "another person run the command that the dry run shows"
        )
    said = mqops(*shlex.split(dry_run["carry_out"])[1:], user="alice@another-host", expect=1).stderr.splitlines()[-1]
    assert "alice@another-host asked for this run: another person must approve it. Nothing was moved" in said
    assert (manager.depth(DLQ), manager.depth("A")) == (4, 0)
    mqops(*shlex.split(dry_run["carry_out"])[1:], user="bob@host")
    assert manager.depth("A") == 2
    said = mqops("undo", Path(dry_run["run"]).name, "-m", "QM1", "--yes", expect=1).stderr
    assert said == f"{expected}mq_undo in Airflow, where another person approves\n"
    mqops("undo", Path(dry_run["run"]).name, "-m", "QM1", "--dry-run")
    assert manager.depth("A") == 2


@pytest.mark.parametrize(
    ("users", "code"),
    [
        (("alice@site@one", "alice@site@two"), 1),  # a user's name of a directory
        (("alice@one@host", "alice@two@host"), 0),
        (("alice", "alice"), 1),  # a plan whose requester is no user@host
        (("alice", "alice@host"), 1),
    ],
)
def test_four_eyes_are_of_users_whatever_their_hosts(manager, mqops, estate, users, code):
    asker, approver = users
    estate(ESTATE.format(name="QM1", asks="true"))
    manager.put(DLQ, [dead_letter("A", b"1")])
    planned = mqops("dlq", "run", DLQ, "QM1", "--dry-run", "--json", text=TABLE, user=asker)
    mqops(*shlex.split(json.loads(planned.stdout)["carry_out"])[1:], user=approver, expect=code)
    assert manager.depth("A") == 1 - code


def test_four_eyes_of_what_is_discarded_by_age(manager, mqops, estate):
    estate(ESTATE.format(name="QM1", asks="true"))
    old = {"PutDate": "20200101", "PutTime": "12000000"}
    manager.put("A", [(old, b"old")], options=CMQC.MQOO_SET_ALL_CONTEXT)
    manager.put("A", [({}, b"young")])
    age_out = ["expiry", "age-out", "A", "-m", "QM1", "--older-than", "7d"]
    said = mqops(*age_out, expect=1).stderr
    assert (
        "alice@host asked for this run: another person must approve it. Nothing was moved. Plan it with --dry-run"
        in said
    )
    carry_out = shlex.split(json.loads(mqops(*age_out, "--dry-run", "--json").stdout)["carry_out"])[1:]
    assert (
        "alice@host asked for this run: another person must approve it. Nothing was moved"
        in mqops(*carry_out, expect=1).stderr
    )
    assert manager.depth("A") == 2
    mqops(*carry_out, user="bob@host")
    assert manager.bodies("A") == [b"young"]
    [event] = [json.loads(line) for line in mqops("ledger", "export").stdout.splitlines()]
    assert (event["requested_by"], event["approved_by"]) == ("alice@host", "bob@host")


@pytest.mark.parametrize(("name", "asks"), [("QM1", "false"), ("QM2", "true")])
@pytest.mark.usefixtures("dry_run")
def test_an_estate_that_does_not_ask_changes_nothing(manager, mqops, estate, name, asks):
    estate(ESTATE.format(name=name, asks=asks))
    mqops("dlq", "run", DLQ, "QM1", "--once", text=TABLE)
    assert manager.depth("A") == 2


def test_an_estate_that_is_not_valid_stops_what_it_may_forbid(manager, mqops, dry_run, estate):
    path = estate("lake: lake\n")
    assert f"{path}:1: queue_managers: " in mqops("dlq", "run", DLQ, "QM1", "--once", text=TABLE, expect=1).stderr
    assert manager.depth("A") == 0


def test_an_undo_records_who_approved_it(manager, mqops, dry_run):
    mqops(*shlex.split(dry_run["carry_out"])[1:])
    mqops("undo", Path(dry_run["run"]).name, "-m", "QM1", "--yes", user="carol@host")
    events = [json.loads(line) for line in mqops("ledger", "export").stdout.splitlines()]
    put_back = {(event["requested_by"], event["approved_by"]) for event in events if event["run"].startswith("undo-")}
    assert put_back == {("carol@host", "carol@host")}
