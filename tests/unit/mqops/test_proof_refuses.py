"""The proof says no: what contradicts itself, what nothing explains, and what is still under way, by command."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pymqi
import pytest
from act_support import after_commits, planned
from ledger_opened import act, act_undo, look, prove
from mq_support import DLQ, Manager, dead_letter
from pymqi import CMQC

from mqops.act.mover_port import MoverPort
from mqops.decide.core import PlanSummary
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.errors import InProgress, PlanChanged, SettingsError, Stopped, TransientMQError, Unbalanced
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.seal import LINE
from mqops.ledger.file import LedgerFile
from mqops.ledger.queue import NAME
from mqops.ledger.writer import writer_of
from mqops.prove import prove as proving
from mqops.rules import parse
from mqops.undo.in_process import plan_undo

SOMEBODY = Stop(by="carol@desk", at="2026-11-21T12:00:00Z", why="lunch")


@pytest.fixture
def manager(queue_manager: Any) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n")


@pytest.fixture
def plan(manager: Manager, lake: Any) -> tuple[RunFolder, PlanSummary]:
    """A plan to put four messages on A, made with --dry-run."""
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(4)])
    parsed = parse("ACTION(RETRY)")
    assert parsed.table
    what = DeadLetterRequest(
        connection=manager.connection, lake=lake, table=parsed.table, text="ACTION(RETRY)", requested_by="al"
    )
    return plan_run(DEAD_LETTERS, what)


def is_lane_token(body: bytes) -> bool:
    return bool(json.loads(body)["kind"] == "ticket")


def identity(run: RunFolder) -> PlanIdentity:
    document = read_json(run.plan_json)
    return PlanIdentity(run=document["run"], digest=document["digest"])


def record(run: RunFolder, *markers: Marker) -> None:
    """Add lines to the ledger as the project writes them."""
    with writer_of(LedgerFile(run.lake_folder, lambda: "2026-11-22T12:00:00.000000Z")) as writer:
        assert writer.add(markers) == len(markers)


def acted(run: RunFolder) -> Marker:
    """The marker of the only unit of work."""
    (marker,) = (one for one in LedgerFile(run.lake_folder, str).markers(plan=identity(run)) if one.kind == "acted")
    return marker


@pytest.fixture
def contradicted(manager: Manager, plan: Any) -> tuple[RunFolder, PlanSummary]:
    """A run whose ledger says twice that its messages were moved."""
    run, summary = plan
    act(manager.connection, run)
    assert prove(manager.connection, run).balanced
    record(run, replace(acted(run), unit="ab" * 24))
    return run, summary


TWICE = "row 0 was recorded as acted on twice"


def test_law5_a_second_record_of_the_same_move_does_not_balance(manager, contradicted, mqops_here):
    run, plan = contradicted
    refused = mqops_here("dlq", "act", run.run, "--approve", plan.digest, "-m", "QM1", "--json", expect=1)
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "Unbalanced"
    assert error["message"].startswith(f"Run {run.run} does not balance: ")
    assert TWICE in error["message"]
    summary = read_json(run.path.joinpath("summary.json"))
    assert (summary["balanced"], TWICE in summary["problems"]) == (False, True)
    assert manager.depth("A") == 4


@pytest.mark.parametrize("command", [("undo", "--yes"), ("undo", "--dry-run"), ("ledger", "outcomes")])
def test_law5_nothing_is_undone_or_told_of_a_run_that_contradicts_itself(manager, contradicted, mqops_here, command):
    run, _plan = contradicted
    refused = mqops_here(*command, run.run, "-m", "QM1", "--json", expect=1)
    error = json.loads(refused.stdout)["error"]
    assert (error["code"], TWICE in error["message"]) == ("Unbalanced", True)
    assert (manager.depth("A"), manager.depth(DLQ)) == (4, 0)


class ForgetfulPort(MoverPort):
    """A mover's port whose marker forgets the last row of its unit of work."""

    def put_marker(self, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
        marker = Marker.unpack(body)
        super().put_marker(msg_id, correl_id, replace(marker, rows=marker.rows[:-1]).pack())


def test_law5_a_message_that_no_marker_names_is_unexplained_and_the_command_says_no(manager, plan, mqops_here):
    run, summary = plan
    act(manager.connection, run, port=ForgetfulPort)
    refused = mqops_here("dlq", "act", run.run, "--approve", summary.digest, "-m", "QM1", expect=1)
    assert "1 of 4 planned messages are unexplained" in refused.output
    assert "do not name 1 of its rows" in refused.output
    document = read_json(run.path.joinpath("summary.json"))
    counts = [document[name] for name in ("planned", "moved", "left", "gone", "unexplained", "balanced")]
    assert counts == [4, 3, 0, 0, 1, False]
    assert [rule["unexplained"] for rule in document["rules"]] == [1]


@pytest.mark.parametrize(("messages", "others"), [(9, ""), (30, "; and 21 more")])
def test_law5_an_error_names_ten_problems_and_counts_the_others(manager, lake, messages, others):
    manager.put(DLQ, [dead_letter("A", b"%d" % number) for number in range(messages)])
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    prove(manager.connection, run)
    record(run, replace(acted(run), unit="ab" * 24))
    with pytest.raises(Unbalanced) as raised:
        prove(manager.connection, run)
    problems = read_json(run.path.joinpath("summary.json"))["problems"]
    assert len(problems) == messages + 1  # of each message one, and one of the unit of work
    assert str(raised.value).endswith(f": {'; '.join(problems[:10])}{others}")


def test_only_users_of_PUTAUT_CTX_are_told_to_lack_authority(manager, lake):
    manager.mqlite("user", "add", "QM1", "app", text="secret\n")
    authority = "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ,SETALL,ALTUSR)\n"
    for queue, rights in ((DLQ, "GET,BROWSE,INQ"), (NAME, "GET,BROWSE,INQ,PUT,SETID"), ("A", "INQ")):
        authority += f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD({rights})\n"
    manager.mqsc(authority)
    by = {"UserIdentifier": "alice"}
    messages = [dead_letter("A", b"x", **by), dead_letter("A", b"y", reason=2085, **by)]
    manager.put(DLQ, messages, options=CMQC.MQOO_SET_ALL_CONTEXT)
    run, _plan = planned(manager, lake, "REASON(2085) ACTION(RETRY)\nACTION(RETRY) PUTAUT(CTX)\n")
    app = replace(manager.connection, user="app", password="secret")
    act(app, run)
    summary = prove(app, run)
    assert (summary.failed, summary.reasons) == (2, {"MQRC_NOT_AUTHORIZED": 2})
    assert summary.remarks == (
        "user alice needs PUT and PASSALL on A@QM1 for 1 message (PUTAUT(CTX)), and the user of the connection needs "
        "ALTUSR on the queue manager",
    )


def signed(text: bytes, run: RunFolder) -> bytes:
    """A line of the ledger up to its hash, with a right hash and the signature of a holder of the key."""
    digest, key = hashlib.sha256(text).hexdigest(), LedgerFile(run.lake_folder, str).keys.newest()
    end = f',"hash":"{digest}","key":"{key.id}","hmac":"{key.hmac(LINE, digest.encode())}"}}\n'
    return text + end.encode()


def test_a_ledger_line_written_anew_by_a_holder_of_the_key_is_seen_at_the_next(manager, plan, mqops_here):
    run, _summary = plan
    act(manager.connection, run, unit_size=2)
    prove(manager.connection, run)
    path = LedgerFile(run.lake_folder, str).path
    first, second, third = path.read_bytes().splitlines(keepends=True)
    text = second.replace(b'"RETRY"', b'"FORGE"').rpartition(b',"hash":"')[0]
    forged = signed(text, run)
    assert len(forged) == len(second)
    path.write_bytes(first + forged + third)
    for command in (("verify", "QM1"), ("export", "-m", "QM1"), ("show", "00")):
        result = mqops_here("ledger", *command, expect=1)
        assert "Line 3 of the ledger does not follow the one before" in result.output, command


def test_a_ledger_line_with_another_number_is_seen(manager, plan, mqops_here):
    run, _summary = plan
    act(manager.connection, run, unit_size=2)
    prove(manager.connection, run)
    path = LedgerFile(run.lake_folder, str).path
    first, second, third = path.read_bytes().splitlines(keepends=True)
    text = third.replace(b',"seq":3,', b',"seq":9,').rpartition(b',"hash":"')[0]
    path.write_bytes(first + second + signed(text, run))
    result = mqops_here("ledger", "verify", "QM1", expect=1)
    assert "Line 3 of the ledger does not follow the one before" in result.output


@contextmanager
def somebody_at_work(manager: Manager, run: RunFolder, lane: int = 0) -> Iterator[None]:
    """While another connection has a lane's token, as a worker in the middle of a unit of work."""
    with manager.connected() as connection:
        queue = pymqi.Queue(connection, NAME, CMQC.MQOO_INPUT_SHARED)
        md = pymqi.MD(Version=CMQC.MQMD_VERSION_2, CorrelId=identity(run).lane_token_id(lane))
        options = pymqi.GMO(Version=2, Options=CMQC.MQGMO_SYNCPOINT, MatchOptions=CMQC.MQMO_MATCH_CORREL_ID)
        assert is_lane_token(queue.get(None, md, options))
        yield
        connection.backout()
        queue.close()


def stopped_after(manager: Manager, run: RunFolder, units: int) -> None:
    """Act on a plan, and stop behind so many units of work of one message."""

    def halt(number: int) -> None:
        if number == units:
            stop(run.path, SOMEBODY)

    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=1, port=after_commits(halt))
    lift(run.path)


def test_law5_nothing_is_proved_or_undone_while_a_worker_has_a_lane_token(manager, plan, mqops_here, lake):
    run, _summary = plan
    stopped_after(manager, run, 1)
    with somebody_at_work(manager, run):
        with pytest.raises(InProgress, match=rf"Run {run.run}: another process is at work on 1 of 1 lane"):
            prove(manager.connection, run)
        for command in (("undo", "--yes"), ("ledger", "outcomes")):
            result = mqops_here(*command, run.run, "-m", "QM1", "--json", expect=1)
            assert json.loads(result.stdout)["error"]["code"] == "InProgress", command
    assert not run.path.joinpath("summary.json").exists()
    assert prove(manager.connection, run).moved == 1


def test_law5_an_undo_waits_for_whoever_holds_the_run_that_it_undoes(manager, plan, lake, monkeypatch):
    run, _summary = plan
    act(manager.connection, run)
    folder = RunFolder.at(lake, "QM1", "undo1")
    undo = plan_undo(manager.connection, run, folder)
    with run.lock(), pytest.raises(InProgress, match=f"Another process acts on run {run.run}"):
        act_undo(manager.connection, folder, approved=undo.digest)
    assert (manager.depth("A"), manager.depth(DLQ)) == (4, 0)


def test_law5_a_marker_that_comes_while_the_proof_looks_makes_it_look_again(manager, plan, monkeypatch):
    """A worker of Spark, which holds no lock of the run, does a unit of work and leaves the lane token again."""
    run, _summary = plan
    stopped_after(manager, run, 1)
    look, looks = proving._on_queues, []

    def then_a_worker_goes_on(*what: Any, **how: Any) -> Any:
        seen = look(*what, **how)
        looks.append(seen)
        if len(looks) == 1:
            with monkeypatch.context() as unlocked:
                unlocked.setattr(RunFolder, "lock", lambda _run: nullcontext())
                stopped_after(manager, run, 1)
        return seen

    monkeypatch.setattr(proving, "_on_queues", then_a_worker_goes_on)
    summary = prove(manager.connection, run)
    assert (summary.planned, summary.moved, summary.left, summary.balanced) == (4, 2, 2, True)
    assert manager.depth("A") == 2


def test_law5_a_proof_gives_up_where_somebody_acts_all_the_time(manager, plan, monkeypatch):
    run, _summary = plan
    act(manager.connection, run)
    monkeypatch.setattr(proving, "drain", lambda *_what: 1)
    with pytest.raises(InProgress, match=f"Run {run.run} is being acted on by another process"):
        prove(manager.connection, run)


def test_law1_markers_and_lane_tokens_survive_a_restart_of_the_queue_manager(manager, plan):
    """They are persistent whatever the queue's default is: IBM MQ discards nonpersistent ones at a restart."""
    run, _summary = plan
    manager.mqsc(f"ALTER QLOCAL({NAME}) DEFPSIST(NO)")
    stopped_after(manager, run, 2)
    messages = manager.messages(NAME)
    assert [is_lane_token(body) for _md, body in messages].count(True) == 1
    assert len(messages) == 4  # issued, two units of work, the lane token
    assert {md["Persistence"] for md, _body in messages} == {CMQC.MQPER_PERSISTENT}


def test_law1_a_unit_of_work_that_fails_leaves_no_marker_and_no_second_lane_token(manager, plan):
    run, _summary = plan
    stopped_after(manager, run, 1)
    before = manager.bodies(NAME)
    during = []

    class Port(MoverPort):
        def commit(self) -> None:
            during.append(manager.bodies(NAME))
            raise TransientMQError(2, CMQC.MQRC_RESOURCE_PROBLEM, verb="MQCMIT")

    with pytest.raises(TransientMQError, match="MQRC_RESOURCE_PROBLEM"):
        act(manager.connection, run, unit_size=1, port=Port)
    assert during == [[body for body in before if not is_lane_token(body)]]
    assert manager.bodies(NAME) == before
    assert (manager.depth("A"), manager.depth(DLQ)) == (1, 3)
    assert act(manager.connection, run).moved == 3


@pytest.mark.parametrize("change", [("dest_q", "B"), ("action", "DISCARD"), ("alternate_user", "alice"), ("row", 7)])
def test_law2_rows_that_were_changed_since_the_plan_was_made_are_not_acted_on(manager, plan, mqops_here, change):
    run, summary = plan
    name, value = change
    (part,) = run.plan.glob("*.parquet")
    table = pq.read_table(part)
    field = table.schema.field(name)
    changed = pa.array([value, *table.column(name).to_pylist()[1:]], field.type)
    pq.write_table(table.set_column(table.column_names.index(name), field, changed), part)
    with pytest.raises(PlanChanged, match="its files were changed; make a new run for a new plan"):
        act(manager.connection, run, approved=summary.digest)
    refused = mqops_here("dlq", "act", run.run, "--approve", summary.digest, "-m", "QM1", "--json", expect=1)
    assert json.loads(refused.stdout)["error"]["code"] == "PlanChanged"
    assert (manager.depth("A"), manager.depth(DLQ)) == (0, 4)


def test_law1_nobody_acts_beside_a_worker_that_has_the_lane_token(manager, plan, monkeypatch):
    run, _summary = plan
    stopped_after(manager, run, 1)
    monkeypatch.setattr("mqops.act.in_process.PATIENCE", 1)
    refused = rf"Another process is at work on 1 lane of run {run.run}. Wait for it to end, then act again"
    with somebody_at_work(manager, run), pytest.raises(InProgress, match=refused):
        act(manager.connection, run)
    assert (manager.depth("A"), manager.depth(DLQ)) == (1, 3)
    assert act(manager.connection, run).moved == 3


def test_law1_a_run_that_died_before_it_noted_its_lane_tokens_gets_no_second_ones(manager, plan):
    run, summary = plan
    stopped_after(manager, run, 2)
    noted = read_json(run.issued_json)
    run.issued_json.unlink()
    assert prove(manager.connection, run).moved == 2  # takes the marker that says so from the queue
    assert read_json(run.issued_json) == noted
    assert (noted["run"], noted["plan"], noted["lanes"]) == (run.run, summary.digest, [4])
    assert act(manager.connection, run).moved == 2
    assert (manager.depth("A"), manager.depth(DLQ)) == (4, 0)
    assert prove(manager.connection, run).balanced


def test_a_run_is_looked_into_on_its_own_queue_manager_only(manager, plan, queue_manager, lake):
    run, _summary = plan
    act(manager.connection, run)
    other = queue_manager(name="QM2")
    refused = f"Run {run.run} is one of QM1, this is QM2"
    with pytest.raises(SettingsError, match=refused):
        look(other.connection, run)
    with pytest.raises(SettingsError, match=refused):
        plan_undo(other.connection, run, RunFolder.at(lake, "QM1", "undo1"))


def test_law4_nothing_is_undone_where_the_snapshot_lacks_a_message(manager, plan, mqops_here):
    run, _summary = plan
    act(manager.connection, run)
    (part,) = run.snapshot.glob("*.parquet")
    pq.write_table(pq.read_table(part).slice(1), part)
    observed = read_json(run.path.joinpath("observe.json"))
    write_json(run.path.joinpath("observe.json"), observed | {"files": {part.name: part.stat().st_size}})
    refused = mqops_here("undo", "--yes", run.run, "-m", "QM1", "--json", expect=1)
    error = json.loads(refused.stdout)["error"]
    assert (error["code"], "lacks 1 of the messages of its plan" in error["message"]) == ("LakeError", True)
    assert (manager.depth("A"), manager.depth(DLQ)) == (4, 0)
