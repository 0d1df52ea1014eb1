"""Acting with care on the command line: what asks first, what a plan may be carried out with, what can be undone at
once, and what a check finds before anything is begun."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pymqi
import pytest
from click.testing import CliRunner
from mq_support import DLQ, dead_letter, let_expire, until
from pymqi import CMQC

from mqops.cli import main
from mqops.cli.exit_code import MEANING, ExitCode
from mqops.decide import counts
from mqops.decide.core.message_groups import WAY_OUT
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.look.runs_to_undo import runs_since
from mqops.prove.records import SESSION, PassOf

TABLE = "ACTION(RETRY)\n"
QUEUES = "DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc=QUEUES)


def test_age_out_asks_first(manager, mqops_here):
    manager.put("A", [({}, b"x")] * 2)
    age_out = ["expiry", "age-out", "A", "-m", "QM1", "--older-than", "1s"]
    until(lambda: _old(mqops_here, age_out))
    refused = mqops_here(*age_out, text="n\n", expect=1)
    assert "Discard these messages? [y/N]: n" in refused.stdout
    assert "nothing of this plan was moved" in refused.stderr
    assert "       2  " in refused.stdout
    assert manager.depth("A") == 2
    assert "--json cannot ask for confirmation" in mqops_here(*age_out, "--json", expect=2).stderr
    assert "2 discarded" in mqops_here(*age_out, text="y\n").stdout
    assert "Discard these messages?" not in mqops_here(*age_out).stdout  # there is nothing to ask about
    manager.put("B", [({}, b"x")])
    assert json.loads(mqops_here("expiry", "age-out", "B", "-m", "QM1", "--older-than", "1d", "--yes", "--json").stdout)


def _old(mqops_here, age_out: list[str]) -> bool:
    """Whether both messages are old enough."""
    plan = json.loads(mqops_here(*age_out, "--dry-run", "--json").stdout)["plan"]
    return plan["actions"] == {"EXPIRE": 2}


def test_a_plan_is_carried_out_more_carefully_than_it_says(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(4)])
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=TABLE).stdout)["plan"]
    act = ["dlq", "act", planned["run"], "--approve", planned["digest"], "--json"]
    summary = json.loads(mqops_here(*act, "--canary", "1", "--canary-wait", "0", "--pace", "1000", expect=1).stdout)
    assert (summary["moved"], summary["left_because"]) == (1, {"no program has read the canary": 3})
    assert any(line.startswith("pace: 1,000 messages a second") for line in summary["remarks"])
    again = mqops_here(*act, "--pace", "5", expect=1)
    assert "was begun: how it is carried out cannot be changed any more" in again.stderr


def test_care_takes_nothing_from_what_was_planned(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(4)])
    careful = ["--in-flight", "2", "--patience", "0"]
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", *careful, text=TABLE).stdout)
    plan = planned["plan"]
    act = ["dlq", "act", plan["run"], "--approve", plan["digest"], "--in-flight", "50", "--patience", "0", "--json"]
    summary = json.loads(mqops_here(*act, expect=1).stdout)
    assert (summary["moved"], summary["left"]) == (2, 2)


def passes(manager, mqops_here, *bodies: bytes) -> list[str]:
    """Runs of handlers that each end when the queue is empty."""
    runs = []
    for body in bodies:
        manager.put(DLQ, [dead_letter("A", body)])
        done = mqops_here("dlq", "run", "--json", DLQ, "QM1", text=f"WAIT(NO)\n{TABLE}")
        runs += [json.loads(line)["run"] for line in done.stdout.splitlines()]
    return runs


def test_runs_since_a_time_are_undone_newest_first(manager, mqops_here, tmp_path):
    (first,) = passes(manager, mqops_here, b"before")
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    while datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") == since:
        pass
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    second, third = passes(manager, mqops_here, b"x", b"y")
    assert "--since needs the queue manager" in mqops_here("undo", "--since", since, expect=2).stderr
    assert "Name a run" in mqops_here("undo", first, "--since", since, "-m", "QM1", expect=2).stderr
    assert "Name a run" in mqops_here("undo", expect=2).stderr
    told = mqops_here("undo", "--since", since, "-m", "QM1", "--dry-run").stdout
    assert told.startswith(f"2 runs to undo: {third}, {second}\n")
    elsewhere = datetime.fromisoformat(since).astimezone(timezone(timedelta(hours=5)))
    assert [one.run.run for one in runs_since(tmp_path / "lake", "QM1", elsewhere).runs] == [third, second]
    done = mqops_here("undo", "--since", since, "-m", "QM1", "--yes", "--json").stdout
    assert [json.loads(line)["moved"] for line in done.splitlines()] == [1, 1]
    assert manager.bodies("A") == [b"before"]


def test_a_run_that_cannot_be_read_keeps_only_those_from_their_undo_that_may_depend_on_it(
    manager, mqops_here, tmp_path
):
    """From DLQ to A, then three of other queues, then from A to C: the last cannot be read, and the first depends on
    it. That the index never had a run means that every earlier run may."""
    manager.mqsc("DEFINE QLOCAL(C)\nDEFINE QLOCAL(FIVE)\nDEFINE QLOCAL(SIX)\n")
    since = ("undo", "--since", "2020-01-01", "-m", "QM1")
    (first,) = passes(manager, mqops_here, b"x")
    manager.put("B", [({}, b"y")])
    beside = moved(mqops_here, "B", "FIVE")
    onward = moved(mqops_here, "FIVE", "SIX")
    damaged = moved(mqops_here, "A", "C")
    last = moved(mqops_here, "C", "B")
    assert mqops_here("runs").exit_code == 0
    summary = tmp_path / "lake" / "QM1" / "runs" / damaged / "summary.json"
    whole = summary.read_bytes()
    RunFile("summary.json", dict).write(RunFolder(summary.parent), {"nothing": 1})
    done = mqops_here(*since, "--yes", expect=1)
    why = f"{summary} is not what mqops wrote: run: Field required. Restore it from a copy of the lake"
    assert done.stderr.startswith(f"mqops: Run {damaged} of QM1 cannot be read: {why}")
    assert f"not undone: {damaged}: it cannot be read" in done.stderr
    later = "is later, was not undone, and may have moved its messages on"
    assert f"not undone: {first}: run {damaged} {later}" in done.stderr
    assert done.stdout.startswith(f"4 runs to undo: {last}, {onward}, {beside}, {first}\n")
    assert [manager.bodies(queue) for queue in (DLQ, "A", "B", "C", "FIVE", "SIX")] == [[], [], [b"y"], [b"x"], [], []]
    (tmp_path / "lake" / "QM1" / "runs.sqlite").unlink()
    told = mqops_here(*since, "--dry-run", "--json", expect=1)
    assert [json.loads(line)["run"] for line in told.stdout.splitlines()] == [damaged]
    assert told.stderr.count(later) == 4  # its folder changed when it was damaged
    summary.write_bytes(whole)
    summary.parent.touch()
    mqops_here(*since, "--yes", expect=None)
    assert (len(manager.bodies(DLQ)), manager.bodies("A"), manager.bodies("C")) == (1, [], [])


def test_a_run_whose_plan_cannot_be_read_is_found_when_its_undo_is_planned(manager, mqops_here, tmp_path):
    """The index reads plan.json, and not the rows of the plan."""
    first, second = passes(manager, mqops_here, b"x", b"y")
    (part,) = (tmp_path / "lake" / "QM1" / "runs" / second / "plan").glob("*.parquet")
    part.write_bytes(b"nothing")
    done = mqops_here("undo", "--since", "2020-01-01", "-m", "QM1", "--yes", expect=1)
    assert f"Run {second} of QM1 cannot be read: " in done.stderr
    assert f"not undone: {first}: run {second} is later" in done.stderr
    assert len(manager.bodies("A")) == 2


def test_a_run_whose_plan_does_not_say_all_of_its_queues_waits_for_one_that_cannot_be_read(
    manager, mqops_here, tmp_path, monkeypatch
):
    """A plan names its largest groups only: here one, of the queue A."""
    monkeypatch.setattr(counts, "MOST_GROUPS", 1)
    manager.mqsc("DEFINE QLOCAL(C)\n")
    manager.put(DLQ, [dead_letter(queue, b"x") for queue in ("A", "A", "B")])
    done = mqops_here("dlq", "run", "--json", DLQ, "QM1", text=f"WAIT(NO)\n{TABLE}")
    first = json.loads(done.stdout)["run"]
    damaged = moved(mqops_here, "B", "C")
    assert mqops_here("runs").exit_code == 0
    RunFile("summary.json", dict).write(RunFolder(tmp_path / "lake" / "QM1" / "runs" / damaged), {"nothing": 1})
    told = mqops_here("undo", "--since", "2020-01-01", "-m", "QM1", "--yes", expect=1)
    assert f"not undone: {first}: run {damaged} is later" in told.stderr
    assert (manager.bodies(DLQ), len(manager.bodies("A"))) == ([], 2)


def test_an_undo_that_cannot_be_read_is_none_of_the_runs_to_undo_and_in_the_way_of_none(manager, mqops_here, tmp_path):
    passes(manager, mqops_here, b"x")
    manager.mqsc("DEFINE QLOCAL(C)\n")
    undone = mqops_here("undo", moved(mqops_here, "A", "C"), "--yes", "--json")
    undo = tmp_path / "lake" / "QM1" / "runs" / json.loads(undone.stdout)["run"]
    RunFile("summary.json", dict).write(RunFolder(undo), {"nothing": 1})
    done = mqops_here("undo", "--since", "2020-01-01", "-m", "QM1", "--yes", expect=None)
    assert done.stdout.startswith("2 runs to undo: ")
    assert "not undone" not in done.stderr
    assert (len(manager.bodies(DLQ)), manager.bodies("A")) == (1, [])


def moved(mqops_here, queue: str, to: str) -> str:
    """The run that moved all messages of a queue."""
    done = mqops_here("message", "move", queue, "--to", to, "--all", "-m", "QM1", "--yes", "--json")
    return json.loads(done.stdout)["run"]


def test_who_says_no_leaves_one_run_and_is_asked_about_the_next(manager, mqops_here):
    first, second = passes(manager, mqops_here, b"x", b"y")
    since = ("undo", "--since", "2020-01-01", "-m", "QM1")
    broken_off = mqops_here(*since, text="n\n", expect=1)  # at the second question
    assert f"not undone: {second}: the answer was no" in broken_off.stderr
    done = mqops_here(*since, text="n\ny\n", expect=1)
    assert done.stdout.count("Undo this? [y/N]") == 2
    assert done.stderr.endswith(f"mqops: not undone: {second}: the answer was no\n")
    assert manager.bodies("A") == [b"y"]
    ended = mqops_here(*since, text="", expect=1)  # no answer at all, as Ctrl-C
    assert ended.stdout.count("Undo this?") == 1
    assert "not undone" not in ended.stderr
    assert f"{first}" not in ended.stderr


def test_the_session_of_a_handler_is_undone_as_a_whole(manager, mqops_here, tmp_path):
    """SHUT makes the first pass fail for one message, whose second try is a pass of its own."""
    manager.mqsc("DEFINE QLOCAL(SHUT) PUT(DISABLED)\n")
    manager.put(DLQ, [dead_letter("A", b"x"), dead_letter("SHUT", b"y")])
    table = "RETRYINT(1) WAIT(NO)\nDESTQ(SHUT) ACTION(RETRY)\nDESTQ(SHUT) ACTION(FWD) FWDQ(B)\nACTION(RETRY)\n"
    done = mqops_here("dlq", "run", "--json", DLQ, "QM1", text=table).stdout
    runs = [json.loads(line)["run"] for line in done.splitlines()]
    assert len(runs) == 2
    other = passes(manager, mqops_here, b"another session")
    told = mqops_here("undo", runs[0], "--session", "--yes").stdout
    assert told.startswith(f"2 runs to undo: {runs[1]}, {runs[0]}\n")
    assert (manager.depth("B"), manager.bodies("A"), manager.depth(DLQ)) == (0, [b"another session"], 2)
    assert json.loads(mqops_here("undo", other[0], "--session", "--dry-run", "--json").stdout)["plan"]["rows"] == 1
    plan = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=TABLE).stdout)["plan"]
    planned = RunFolder.at(tmp_path / "lake", "QM1", plan["run"])
    SESSION.write(planned, PassOf(session=planned.run))  # a pass that was refused, or killed, before it began
    asked = ("--yes", "--json")
    alone = json.loads(mqops_here("undo", planned.run, *asked).stdout)
    whole = json.loads(mqops_here("undo", planned.run, "--session", *asked).stdout)
    assert (whole["moved"], whole["actions"]) == (alone["moved"], alone["actions"])


ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq
    storage: [PARKED, MANY.*]
    dlq_rules:
      rules: t.rules
      queue: OTHER.DLQ
      schedule: "{schedule}"
    backout_reprocess:
      rules: t.rules
      quarantine: NO.QUARANTINE
"""


@pytest.mark.parametrize("schedule", ["5 * * * *", "@daily"])
def test_a_schedule_that_is_one_is_taken(manager, mqops_here, tmp_path, schedule):
    (tmp_path / "t.rules").write_text(TABLE)
    (tmp_path / "e.yaml").write_text(ESTATE.format(schedule=schedule))
    mqops_here("estate", "check", str(tmp_path / "e.yaml"))


@pytest.mark.parametrize("schedule", ["61 * * * *", "x y z a b", "* * * * mondays", "5/ * * * *", "* * *"])
def test_a_schedule_that_is_none_is_refused(manager, mqops_here, tmp_path, schedule):
    (tmp_path / "t.rules").write_text(TABLE)
    (tmp_path / "e.yaml").write_text(ESTATE.format(schedule=schedule))
    refused = mqops_here("estate", "check", str(tmp_path / "e.yaml"), expect=1).stdout
    assert "schedule" in refused
    assert f"must be five cron fields or one of @hourly @daily @weekly @monthly (found '{schedule}')" in refused


def test_live_names_the_queues_that_are_missing(manager, mqops_here, tmp_path):
    (tmp_path / "t.rules").write_text(f"{TABLE.strip()} RETRY(2)\nACTION(FWD) FWDQ(NO.TARGET)\n")
    (tmp_path / "e.yaml").write_text(ESTATE.format(schedule="5 * * * *"))
    check = ["estate", "check", str(tmp_path / "e.yaml"), "--live", "--json"]
    errors = json.loads(mqops_here(*check, expect=1).stdout)["errors"]
    names = ["OTHER.DLQ", "NO.QUARANTINE", "PARKED"]
    assert [error.split()[1].strip(",") for error in errors[:3]] == names
    assert errors[0] == (
        "QM1: OTHER.DLQ, which is not there, and dlq_rules.queue names it: define it as a local queue, or correct the "
        "name"
    )
    assert errors[3] == ("QM1: t.rules:2: FWDQ NO.TARGET does not exist on QM1: MQRC_UNKNOWN_OBJECT_NAME (2085)")
    manager.mqsc("".join(f"DEFINE QLOCAL({name})\n" for name in [*names, "NO.TARGET"]))
    assert json.loads(mqops_here(*check).stdout)["errors"] == []


def test_live_a_row_of_the_table_of_origins_names_queues_that_are_there(manager, mqops_here, tmp_path):
    (tmp_path / "t.rules").write_text("ACTION(RETRY)\n")
    row = "{when: FORMAT(A), queue: NO.ORIGIN, backout_queue: NO.BOQ}"
    backout = f"backout_reprocess: {{rules: t.rules, quarantine: PAY, origins: [{row}]}}"
    (tmp_path / "e.yaml").write_text(f"lake: lake\nqueue_managers:\n  QM1:\n    connection: mq\n    {backout}\n")
    manager.mqsc("DEFINE QLOCAL(PAY)\n")
    check = ["estate", "check", str(tmp_path / "e.yaml"), "--live", "--json"]
    errors = json.loads(mqops_here(*check, expect=1).stdout)["errors"]
    assert [" ".join(error.split()[1:9]) for error in errors] == [
        f"{queue}, which is not there, and backout_reprocess.origins names" for queue in ("NO.ORIGIN", "NO.BOQ")
    ]
    manager.mqsc("DEFINE QLOCAL(NO.ORIGIN)\nDEFINE QLOCAL(NO.BOQ)\n")
    assert json.loads(mqops_here(*check).stdout)["errors"] == []


def test_live_a_suite_that_fits_no_queue_is_an_error(manager, mqops_here, tmp_path):
    suite = "suite: s\nexpectations: [{id: a, expect: column_values_to_not_be_null, column: format}]\nqueues: "
    (tmp_path / "s.yaml").write_text(f"{suite}['PAYMNTS.*']\n")
    (tmp_path / "e.yaml").write_text(
        "lake: lake\nqueue_managers:\n  QM1: {connection: mq, snapshot_quality: {suites: [s.yaml]}}\n"
    )
    check = ["estate", "check", str(tmp_path / "e.yaml"), "--live", "--json"]
    assert json.loads(mqops_here(*check, expect=1).stdout)["errors"] == [
        "QM1: suite s would look at no message: no queue that its workflow looks at fits PAYMNTS.*; correct its "
        "queues, or define the queue"
    ]
    (tmp_path / "s.yaml").write_text(f"{suite}['PAYMNTS.*', 'PAYMENTS.*']\n")
    manager.mqsc("DEFINE QLOCAL(PAYMENTS.IN)\n")
    said = json.loads(mqops_here(*check).stdout)
    assert said["errors"] == []
    assert "QM1: suite s: no queue that its workflow looks at fits PAYMNTS.*" in said["warnings"]


def test_explain_takes_symbolic_names_and_says_what_is_hidden(manager, mqops_here, tmp_path):
    table, messages = tmp_path / "t.rules", tmp_path / "m.jsonl"
    table.write_text("REASON(MQRC_Q_FULL) ACTION(IGNORE)\nACTION(RETRY)\n")
    messages.write_text('{"REASON": "MQRC_Q_FULL", "FEEDBACK": "MQFB_EXPIRATION"}\n{"REASON": "2085"}\n')
    explain = ["rules", "explain", str(table), "--messages", str(messages)]
    told = mqops_here(*explain).stdout
    assert "  line 2: RETRY, 1 try (never: hidden by the IGNORE at line 1)" in told
    first, second = (json.loads(line)["matches"] for line in mqops_here(*explain, "--json").stdout.splitlines())
    assert [(one["line"], one.get("hidden_by")) for one in first] == [(1, None), (2, 1)]
    assert [(one["line"], one.get("hidden_by")) for one in second] == [(2, None)]
    messages.write_text('{"REASON": "MQRC_Q_FUL"}\n')
    refused = mqops_here(*explain, "--json", expect=2)
    assert (
        "REASON: 'MQRC_Q_FUL' is neither a number nor a symbolic name MQRC_*"
        in json.loads(refused.stdout)["error"]["message"]
    )
    assert "did you mean MQRC_Q_FULL?" in refused.stderr


def runs_in(tmp_path) -> list[str]:
    return [path.name for path in (tmp_path / "lake").glob("QM1/runs/*")]


@pytest.mark.parametrize("more", [["--dry-run"], ["--once"], ["--dry-run", "--json"]])
def test_an_empty_queue_makes_no_run_and_offers_no_approval(manager, mqops_here, tmp_path, more):
    said = mqops_here("dlq", "run", DLQ, "QM1", *more, text=TABLE).stdout
    if "--json" in more:
        assert (json.loads(said)["planned"], json.loads(said)["run"]) == (0, "")
    else:
        assert said == f"nothing to do: {DLQ} of QM1 is empty\n"
    manager.put("A", [({}, b"x")])
    assert mqops_here("expiry", "age-out", "B", "-m", "QM1", "--older-than", "1d", "--yes").stdout == (
        "nothing to do: B of QM1 is empty\n"
    )
    assert runs_in(tmp_path) == []


def test_a_pass_whose_messages_all_expired_makes_no_run(manager, mqops_here, tmp_path):
    manager.put(DLQ, [dead_letter("A", b"x", Expiry=1)])
    let_expire(1)
    said = mqops_here("dlq", "run", "--once", DLQ, "QM1", text=TABLE).stdout.splitlines()
    assert said == [
        f"{DLQ}: the queue manager discarded 1 expired message when the queue was browsed",
        f"nothing to do: {DLQ} of QM1 is empty",
    ]
    assert runs_in(tmp_path) == []


def test_a_rehearsal_that_moves_nothing_offers_no_approval(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", b"x")])
    said = mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text="ACTION(IGNORE)\n").stdout
    assert "to carry it out" not in said
    document = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text="ACTION(IGNORE)\n").stdout)
    assert "carry_out" not in document


def test_a_pass_that_fails_before_it_is_begun_leaves_no_run(manager, mqops_here, tmp_path):
    manager.mqsc("ALTER QLOCAL(A) GET(DISABLED)\n")
    manager.put("A", [({}, b"x")])
    mqops_here("expiry", "age-out", "A", "-m", "QM1", "--older-than", "1d", "--yes", expect=1)
    mqops_here("snapshot", "A", "-m", "QM1", expect=1)
    assert runs_in(tmp_path) == []
    manager.put(DLQ, [dead_letter("B", b"x")])
    (run,) = [json.loads(mqops_here("dlq", "run", "--once", "--json", DLQ, "QM1", text=TABLE).stdout)["run"]]
    mqops_here("undo", run, text="n\n", expect=1)
    assert runs_in(tmp_path) == [run]


def test_a_put_by_the_authority_of_a_message_names_the_user_and_the_queue(manager, mqops_here):
    users = {"UserIdentifier": "alice", "PutApplType": 6, "PutApplName": "p", "PutDate": "20250101", "PutTime": "0" * 8}
    messages = [dead_letter("A", b"x", **users), dead_letter("A", b"y", **users)]
    manager.put(DLQ, messages, options=CMQC.MQOO_SET_ALL_CONTEXT)
    done = mqops_here("dlq", "run", "--once", "--json", DLQ, "QM1", text="ACTION(RETRY) PUTAUT(CTX)\n", expect=1)
    summary = json.loads(done.stdout)
    assert summary["reasons"] == {"MQRC_NOT_AUTHORIZED": 2}
    assert summary["remarks"][-1] == (
        "user alice needs PUT and PASSALL on A@QM1 for 2 messages (PUTAUT(CTX)), and the user of the connection needs "
        "ALTUSR on the queue manager"
    )


def test_a_group_that_the_table_would_split_stays_and_this_is_told(manager, mqops_here):
    group = {"GroupId": b"G" * 24, "MsgFlags": CMQC.MQMF_MSG_IN_GROUP}
    messages = [dead_letter(queue, b"x", MsgSeqNumber=number, **group) for number, queue in enumerate("AB", start=1)]
    manager.put(DLQ, messages)
    table = "DESTQ(A) ACTION(RETRY)\nACTION(FWD) FWDQ(B)\n"
    stays = f"mqops: 2 messages stay on {DLQ}: the table sends messages of one MQ group to different queues. runmqdlq"
    assert stays in mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=table).stderr
    done = mqops_here("dlq", "run", "--once", DLQ, "QM1", text=table)
    assert stays in done.stderr
    assert "2 planned = 0 moved" in done.stdout
    alone = mqops_here("dlq", "run", "--once", "--split-groups", DLQ, "QM1", text=table)
    assert "stay on" not in alone.stderr
    assert (manager.depth("A"), manager.depth("B"), manager.depth(DLQ)) == (1, 1, 0)


MISSING = "ACTION(FWD) FWDQ(LATER.ON) HEADER(NO)\n"


def test_exit_codes_say_what_is_left(manager, mqops_here):
    """The table of docs/command_line.md."""
    run = ("dlq", "run", "--once", DLQ, "QM1")
    manager.put(DLQ, [dead_letter("A", b"a"), dead_letter("NOT.THERE", b"b")])
    half = mqops_here(*run, text="ACTION(RETRY) RETRY(2)\n", expect=1)
    assert "1 moved, 0 discarded, 1 left" in half.stdout
    all_failed = mqops_here(*run, text=MISSING, expect=1)
    assert "no try is left, they stay on the queue" in all_failed.stderr
    assert WAY_OUT in all_failed.stderr
    manager.mqsc("DEFINE QLOCAL(LATER.ON)")
    again = mqops_here(*run, text=MISSING, expect=1)
    assert "no try of the rule on line 1 is left" in again.stdout
    assert WAY_OUT in again.stdout
    more = mqops_here(*run, text=MISSING.replace("\n", " RETRY(2)\n"))
    assert "1 moved" in more.stdout
    assert manager.bodies("LATER.ON") == [b"b"]
    mqops_here(*run, text=MISSING)  # nothing to do
    manager.put(DLQ, [dead_letter("A", b"c")])
    assert "IGNORE" in mqops_here(*run, text="ACTION(IGNORE)\n").stdout  # as the rule says


def test_the_exit_code_of_an_approved_plan_and_the_run_that_took_its_messages(manager, mqops_here):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(3)])
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=TABLE).stdout)["plan"]
    other = json.loads(mqops_here("dlq", "run", "--once", "--json", DLQ, "QM1", text=TABLE).stdout)["run"]
    act = ("dlq", "act", planned["run"], "--approve", planned["digest"])
    assert f"3 messages that are gone: run {other} took them" in mqops_here(*act).stdout
    manager.put(DLQ, [dead_letter("NOT.THERE", b"x")])
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=TABLE).stdout)["plan"]
    mqops_here("dlq", "act", planned["run"], "--approve", planned["digest"], expect=1)


def test_a_confirmation_shows_first_what_will_move(manager, mqops_here):
    manager.put("A", [({}, b"stays")] * 3)
    [first, *_rest] = [md["MsgId"].hex() for md, _body in manager.messages("A")]
    asked = mqops_here("message", "move", "A", first, "-m", "QM1", "--to", "B", text="n\n", expect=1).stdout
    assert asked.index("FWD to B") < asked.index("IGNORE") < asked.index("Move these messages?")


def test_a_message_that_a_unit_of_work_has_is_not_said_to_be_got(manager, mqops_here):
    manager.put("A", [({}, b"x")])
    [(md, _body)] = manager.messages("A")
    mqops_here("snapshot", "A", "-m", "QM1")
    with manager.connected() as program:
        pymqi.Queue(program, "A", CMQC.MQOO_INPUT_SHARED).get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
        mqops_here("snapshot", "A", "-m", "QM1")
        told = mqops_here("ledger", "show", md["MsgId"].hex()).stdout
        program.backout()
    assert "not seen at " in told
    assert "a unit of work that was not committed may have had it then, and it may come back" in told
    assert "gone at" not in told


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("MQRC_UNKNOWN_OBJECT", "MQRC_UNKNOWN_OBJECT_NAME"),
        ("MQRC_QUEUE_FULL", "MQRC_Q_FULL"),
        ("MQRC_UNAUTHORIZED", "MQRC_NOT_AUTHORIZED"),
        ("MQRC_NO_MESSAGE_AVAILABLE", "MQRC_NO_MSG_AVAILABLE"),
        ("MQRC_Q_FUL", "MQRC_Q_FULL"),
        ("MQRC_QUEUE_NOT_FOUND", "MQRC_UNKNOWN_OBJECT_NAME"),
        ("MQRC_NO_SUCH_QUEUE", "MQRC_UNKNOWN_OBJECT_NAME"),
        ("MQRC_OBJECT_UNKNOWN", "MQRC_UNKNOWN_OBJECT_NAME"),
        ("MQRC_PUT_DISABLED", "MQRC_PUT_INHIBITED"),
        ("MQRC_UNKNOWN_QMGR", "MQRC_UNKNOWN_OBJECT_Q_MGR"),
    ],
)
def test_a_name_that_is_nearly_right_is_known_by_its_words(written, meant):
    table = f"REASON({written}) ACTION(RETRY)\n"
    refused = CliRunner().invoke(main, ["rules", "check", "-"], input=table)
    assert refused.exit_code == 1
    assert f"did you mean {meant}?" in refused.output


def test_the_documented_table_of_exit_codes_is_that_of_the_code():
    text = (Path(__file__).resolve().parents[3] / "docs" / "command_line.md").read_text(encoding="utf-8")
    for code, meaning in MEANING.items():
        assert f"| {code} | {meaning} |" in text
    assert len(MEANING) == len(ExitCode)
