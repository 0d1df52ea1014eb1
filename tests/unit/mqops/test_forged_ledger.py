"""An application that may put on MQOPS.LEDGER: it forges, copies and floods; no run believes it, none stops."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from act_support import after_commits, planned, proved, taken
from ledger_opened import act, prove
from mq_support import DLQ, Manager, dead_letter, read_lines
from pymqi import CMQC

from mqops.errors import InProgress, Stopped
from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, lift, stop
from mqops.ledger import queue
from mqops.ledger.core.chain import Head
from mqops.ledger.core.head_body import CORREL_ID, KeptHead, pack
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import LaneToken, Marker
from mqops.ledger.core.seal import Key, Keys, sign_message
from mqops.ledger.file import LedgerFile
from mqops.ledger.set_aside import counts
from mqops.ledger.signing import make_key
from mqops.ledger.writer import LedgerWriter
from mqops.mq.connection import connect
from mqops.mq.session import RawMessage, Session
from mqops.prove.recovery import drain_earlier_runs

LEDGER = "MQOPS.LEDGER"
NUL = bytes(24)
STRANGE_KEY = Keys([Key(id="0123456789abcdef", secret=b"the attacker's own key")])


@pytest.fixture
def mqops(mqops_here):
    return mqops_here


@pytest.fixture
def manager(queue_manager) -> Manager:
    return queue_manager(mqsc="DEFINE QLOCAL(A) MAXDEPTH(99999)\nDEFINE QLOCAL(B)\n")


def put(manager: Manager, msg_id: bytes, correl_id: bytes, body: bytes) -> None:
    manager.put(LEDGER, [({"MsgId": msg_id, "CorrelId": correl_id, "Format": "MQSTR"}, body)])


def on_ledger_queue(manager: Manager, correl_id: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """MsgId, CorrelId and body of the messages with this CorrelId, as any application can browse them."""
    return [(md["MsgId"], correl_id, body) for md, body in manager.messages(LEDGER) if md["CorrelId"] == correl_id]


def plan_of(run: RunFolder) -> PlanIdentity:
    return PlanIdentity(run=run.run, digest=read_json(run.plan_json)["digest"])


def letters(manager: Manager, number: int) -> None:
    manager.put(DLQ, [dead_letter("A", b"%d" % n) for n in range(number)])


def forged(plan: PlanIdentity, rows: int) -> list[tuple[bytes, bytes, bytes]]:
    """Markers that say that a plan was issued, approved by somebody and acted on to its end; then a lane token."""
    about = {"requested_by": "mallory", "approved_by": "the director", "queue": DLQ}
    common = {"run": plan.run, "plan": plan.digest, "at": "2026-01-01T00:00:00.000000Z"}
    issued = Marker(unit=plan.issued_id().hex(), kind="issued", lanes=(rows,), about=about, **common)
    acted = tuple((n, "k" * 64, f"{n:048x}", "RETRY", "rule", "A", "QM1", None, "ab" * 16) for n in range(rows))
    last = Marker(unit=plan.last_id(0).hex(), kind="acted", next=rows, last=True, rows=acted, **common)
    lane_token = LaneToken(run=plan.run, plan=plan.digest, lane=0, next=rows - 1)
    return [
        (plan.issued_id(), plan.markers(), issued.pack()),
        (plan.last_id(0), plan.markers(), last.pack()),
        (NUL, plan.lane_token_id(0), lane_token.pack()),
    ]


def signed(keys: Keys, messages: list[tuple[bytes, bytes, bytes]]) -> list[tuple[bytes, bytes, bytes]]:
    return [(msg_id, correl_id, sign_message(keys, body)) for msg_id, correl_id, body in messages]


def test_law2_forged_markers_of_a_plan_of_a_dry_run_are_set_aside_and_nothing_is_believed(manager, lake, mqops):
    letters(manager, 3)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    own = LedgerFile(lake / "QM1", str)
    make_key(own)
    guessed = Keys([Key(id=own.keys.newest().id, secret=b"guessed")])  # the id can be seen in any message
    attack = [*forged(plan, 3), *signed(STRANGE_KEY, forged(plan, 3)), *signed(guessed, forged(plan, 3))]
    for message in attack:
        put(manager, *message)
    drained = mqops("ledger", "drain", "-m", "QM1", "--lake", str(lake))
    assert drained.stdout == "QM1: 0 lines added\n"
    expected = f"9 messages on {LEDGER} did not come from mqops (9 forged) and were not acted on"
    assert expected in drained.stderr
    kept = read_lines(lake / "QM1" / "ledger" / "set_aside.jsonl")
    assert Counter(base64.b64decode(one["body"]) for one in kept) == Counter(body for *_ids, body in attack)
    assert {one["why"].split(":")[0] for one in kept} == {
        "not signed",
        "signed with key 0123456789abcdef, which this lake does not have",
        "forged",
    }
    assert {one["run"] for one in kept} == {run.run}
    assert all(len(bytes.fromhex(one["md"])) == 364 for one in kept)
    assert manager.depth(LEDGER) == 0
    shown = mqops("ledger", "show", "00", "--lake", str(lake), expect=1)
    assert "no ledger" in shown.stdout
    assert expected in shown.stderr
    assert not run.issued_json.exists()
    assert not run.path.joinpath("summary.json").exists()
    letters(manager, 1)
    other = mqops("dlq", "run", DLQ, "QM1", "--once", "--json", "--lake", str(lake), text="ACTION(RETRY)\n")
    assert json.loads(other.stdout)["moved"] == 4
    assert expected in other.stderr
    assert "the director" not in "".join(str(entry) for entry in own.entries())
    verified = mqops("ledger", "verify", "QM1", "--lake", str(lake))
    assert "QM1: 2 lines, unbroken\n" in verified.stdout
    assert expected in verified.stdout
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 3, "gone": 3}  # the other run moved them


def test_the_summary_of_a_run_has_the_plans_remarks_and_tells_of_what_claims_the_run(manager, lake):
    letters(manager, 2)
    run, plan = planned(manager, lake, in_flight=5)
    for message in [*forged(plan_of(run), 1)[:2], forged(PlanIdentity(run="other", digest="d"), 1)[0]]:
        put(manager, *message)
    with connect(manager.connection) as session:
        found = drain_earlier_runs(session, lake, "QM1")
    assert (found.lake, found.elsewhere, found.lines) == (lake, (), 0)
    assert counts(lake / "QM1") == {"forged": 3}
    act(manager.connection, run)
    in_flight, claimed = prove(manager.connection, run).remarks
    assert (in_flight,) == plan.remarks
    assert claimed.startswith(f"2 messages on {LEDGER} that claim run {run.run} did not come from mqops (2 forged)")
    letters(manager, 1)
    following, _plan = planned(manager, lake)
    act(manager.connection, following)
    assert prove(manager.connection, following).remarks == ()


def test_a_flood_of_markers_of_runs_that_are_not_here_is_told_in_a_few_lines(manager, lake, mqops):
    def flood(number: int) -> list[tuple[bytes, bytes, bytes]]:
        plans = [PlanIdentity(run=f"run{n:05}", digest="d") for n in range(number)]
        return [forged(plan, 1)[0] for plan in plans]

    def drain(*options: str):
        return mqops("ledger", "drain", "-m", "QM1", *options, "--lake", str(lake))

    for message in [*flood(20), *signed(STRANGE_KEY, flood(11))]:
        put(manager, *message)
    lines = drain().stderr.splitlines()
    assert [line[:26] for line in lines[:10]] == ["mqops: markers of run run0"] * 10
    assert lines[10:12] == [
        "mqops: and markers of 1 more run of other lakes on MQOPS.LEDGER",
        "mqops: Nobody has MQOPS.LEDGER open now",
    ]
    assert len(lines) == 13  # the last line is of what was set aside
    assert "--foreign" not in "".join(lines)
    assert counts(lake / "QM1") == {"forged": 20}  # nobody signed these, no lake does so
    assert manager.depth(LEDGER) == 11
    drain("--foreign", "run00003", "--why", "a flood")
    assert manager.depth(LEDGER) == 10
    drain("--foreign", "*", "--why", "a flood")
    assert manager.depth(LEDGER) == 0
    assert counts(lake / "QM1") == {"forged": 31}


def test_a_lane_token_of_another_lake_names_no_run_whose_markers_wait(manager, lake):
    """It stays where it is: its lake has the key. Only markers have to be recorded."""
    lane_token = forged(PlanIdentity(run="theirs", digest="d"), 1)[2]
    put(manager, *signed(STRANGE_KEY, [lane_token])[0])
    with connect(manager.connection) as session:
        found = drain_earlier_runs(session, lake, "QM1")
    assert (found.elsewhere, list(found.remarks()), manager.depth(LEDGER)) == ((), [], 1)


def test_forged_markers_do_not_keep_a_plan_from_being_acted_on(manager, lake):
    letters(manager, 5)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    for message in [*forged(plan, 5), *signed(STRANGE_KEY, forged(plan, 5))]:
        put(manager, *message)

    def again(number: int) -> None:
        for message in forged(plan, 5):
            put(manager, *message)

    act(manager.connection, run, unit_size=2, port=after_commits(again))
    summary = prove(manager.connection, run)
    assert (summary.moved, summary.balanced, summary.finished) == (5, True, True)
    assert any(f"that claim run {run.run} did not come from mqops" in remark for remark in summary.remarks)
    assert sorted(manager.bodies("A")) == [b"%d" % n for n in range(5)]
    assert on_ledger_queue(manager, plan.markers()) == []


HOSTILE = (
    b"",
    b"\xff\xfe",
    b'{"unit":' + b"[" * 100_000,
    b'{"v":1,"kind":"acted","unit":"%b","run":"r","plan":"p","at":"x","left":[]}' % (b"ab" * 24),
    b'{"v":1,"kind":"acted","unit":"%b","run":"r","plan":"p","at":"x","lane":Infinity}' % (b"ab" * 24),
    b'{"v":1,"kind":"ticket","run":"r","plan":"p","lane":0,"next":1e999}',
    b'{"v":1,"kind":"ticket","run":"","plan":"","lane":0,"next":0}',
    b'{"v":1,"kind":"ticket","run":"r","plan":"p","lane":-1,"next":' + b"9" * 5000 + b"}",
    b'{"kind":["ticket"],"v":{}}',
    b"[" * 3_000_000,
)


def test_no_body_stops_a_run(manager, lake):
    """Every hostile body under every identifier that the run looks for, before it and while it is at work."""
    letters(manager, 6)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    ids = [(NUL, plan.lane_token_id(0)), (plan.issued_id(), plan.markers()), (plan.last_id(0), NUL), (NUL, NUL)]

    def attack(number: int) -> None:
        if number == 2:
            manager.put(LEDGER, [({"MsgId": one, "CorrelId": two}, body) for one, two in ids for body in HOSTILE])

    attack(2)
    act(manager.connection, run, unit_size=2, port=after_commits(attack))
    assert proved(manager, run) == {"planned": 6, "moved": 6}
    with connect(manager.connection) as session:
        found = drain_earlier_runs(session, lake, "QM1")
    assert (found.lines, found.unfinished) == (0, ())
    begin_as_markers = 4  # of these it is told which run they claim
    sent = 2 * len(ids)
    assert counts(lake / "QM1") == {
        "forged": sent * begin_as_markers,
        "not a marker": sent * (len(HOSTILE) - begin_as_markers),
    }
    assert manager.depth(LEDGER) == 0
    assert len(list(LedgerFile(run.lake_folder, str).entries())) == 4


@pytest.fixture
def got(monkeypatch) -> Counter[str]:
    """Counts the MQGETs of mqops, by queue."""
    found: Counter[str] = Counter()
    get = Session.get

    def counted(session: Session, *arguments: Any, name: str = "", **more: Any) -> RawMessage | None:
        found[name] += 1
        return get(session, *arguments, name=name, **more)

    monkeypatch.setattr(Session, "get", counted)
    return found


def test_a_flood_of_lane_tokens_is_not_read_for_each_unit_of_work(manager, lake, got):
    letters(manager, 20)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    body = LaneToken(run=plan.run, plan=plan.digest, lane=0, next=0).pack()
    manager.put(LEDGER, [({"CorrelId": plan.lane_token_id(0)}, body)] * 100)
    assert act(manager.connection, run, unit_size=1).moved == 20
    assert got[LEDGER] < 5 * 100  # to begin, and to look whether all is done; not 20 times


def test_forged_markers_do_not_have_the_heads_read_each_time(manager, lake, got):
    """Heads that may be another lake's stay, so there can be many."""
    letters(manager, 1)
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    (kept,) = [pack(KeptHead(first="a" * 64, head=Head(seq=9, hash="a" * 64), end=9), STRANGE_KEY)]
    manager.put(LEDGER, [({"CorrelId": CORREL_ID}, kept)] * 200 + [({"CorrelId": plan_of(run).markers()}, b"x")] * 200)
    assert proved(manager, run) == {"planned": 1, "moved": 1}
    assert got[LEDGER] < 1000  # each 50 of the forged ones would have the 200 read again


def test_what_is_set_aside_at_once_is_bounded_by_its_bytes(manager, lake, monkeypatch):
    monkeypatch.setattr(queue, "ROOM", 10_000)
    at_once: list[int] = []
    keep = LedgerWriter.set_aside
    monkeypatch.setattr(
        LedgerWriter, "set_aside", lambda it, few: (at_once.append(sum(len(one.body) for one in few)), keep(it, few))
    )
    letters(manager, 1)
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    manager.put(LEDGER, [({"CorrelId": one}, bytes(6000)) for one in (NUL, plan_of(run).markers()) for _ in range(5)])
    assert proved(manager, run) == {"planned": 1, "moved": 1}
    with connect(manager.connection) as session:
        drain_earlier_runs(session, lake, "QM1")
    assert counts(lake / "QM1") == {"not a marker": 10}
    assert 0 < max(at_once) < 16_000


@pytest.fixture
def issued(manager, lake, monkeypatch) -> Callable[[int], RunFolder]:
    """Plans a run and issues its lane tokens; nothing is acted on, because another process holds the lane."""
    monkeypatch.setattr("mqops.lake.run.LANE_WAIT", 0)

    def make(number: int) -> RunFolder:
        letters(manager, number)
        run, _plan = planned(manager, lake)
        with run.lane_lock(0), pytest.raises(InProgress, match="Another process is at work on 1 lane"):
            act(manager.connection, run)
        return run

    return make


def test_a_marker_that_is_put_again_under_another_identifier_is_kept_aside_under_its_run(manager, lake, issued):
    run = issued(3)
    plan = plan_of(run)
    (_msg_id, correl_id, body) = on_ledger_queue(manager, plan.markers())[0]
    put(manager, b"another".ljust(24, b"\0"), correl_id, body)
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 3, "moved": 3}
    (kept,) = read_lines(lake / "QM1" / "ledger" / "set_aside.jsonl")
    assert (kept["kind"], kept["run"], kept["plan"]) == ("copied", run.run, plan.digest)
    assert counts(lake / "QM1", run=run.run) == {"copied": 1}


def test_law1_a_lane_token_that_is_put_again_while_its_lane_is_at_work_moves_nothing_twice(manager, lake, issued):
    run = issued(12)
    plan = plan_of(run)
    seen = on_ledger_queue(manager, plan.lane_token_id(0))

    def copy(number: int) -> None:
        seen.extend(on_ledger_queue(manager, plan.lane_token_id(0))[-1:])
        for message in seen:  # the lane token of now, and all those of before
            put(manager, *message)

    act(manager.connection, run, unit_size=3, port=after_commits(copy))
    assert len(set(seen)) >= 4
    assert proved(manager, run) == {"planned": 12, "moved": 12}
    assert sorted(manager.bodies("A")) == sorted(b"%d" % n for n in range(12))
    with connect(manager.connection) as session:
        assert drain_earlier_runs(session, lake, "QM1").unfinished == ()
    assert set(counts(lake / "QM1")) == {"copied"}
    assert manager.depth(LEDGER) == 0
    units = [entry["unit"] for entry in LedgerFile(run.lake_folder, str).entries()]
    assert len(units) == len(set(units)) == 5


@pytest.mark.parametrize("drained", [True, False])
def test_law1_an_old_lane_token_does_not_begin_a_stopped_lane_anew(manager, lake, issued, drained):
    """The markers of what it was for are in the ledger, and no longer on the queue; or on the queue alone."""
    run = issued(6)
    plan = plan_of(run)
    old = on_ledger_queue(manager, plan.lane_token_id(0))

    def halt(number: int) -> None:
        old.extend(on_ledger_queue(manager, plan.lane_token_id(0)))
        if number == 2:
            stop(run.path, Stop(by="carol", at="now"))

    with pytest.raises(Stopped):
        act(manager.connection, run, unit_size=2, port=after_commits(halt))
    if drained:
        with connect(manager.connection) as session:
            drain_earlier_runs(session, lake, "QM1")
    (current,) = on_ledger_queue(manager, plan.lane_token_id(0))
    markers = on_ledger_queue(manager, plan.markers())
    stale = [message for message in old if message[2] != current[2]]
    assert (len(stale), len(markers)) == (2, 0 if drained else 3)
    others = manager.heads()
    assert (len(others), len(taken(manager, LEDGER))) == (int(drained), 1 + len(markers) + len(others))
    for message in [*markers, *stale, current]:  # the old ones come first
        put(manager, *message)
    lift(run.path)
    rest = act(manager.connection, run, unit_size=2)
    assert (rest.moved, rest.absent, rest.units) == (2, 0, 1)
    assert proved(manager, run) == {"planned": 6, "moved": 6}
    assert sorted(manager.bodies("A")) == [b"%d" % n for n in range(6)]
    entries = list(LedgerFile(run.lake_folder, str).entries())
    assert [entry["first"] for entry in entries if entry["kind"] == "acted"] == [0, 2, 4]
    assert not any(entry.get("absent") for entry in entries)


def test_a_copy_after_the_end_names_no_run_as_unfinished_and_adds_no_line(manager, lake):
    letters(manager, 4)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    copies: list[tuple[bytes, bytes, bytes]] = []

    def note(number: int) -> None:
        copies.extend(on_ledger_queue(manager, plan.lane_token_id(0)))

    act(manager.connection, run, unit_size=2, port=after_commits(note))
    copies += on_ledger_queue(manager, plan.markers())
    assert proved(manager, run) == {"planned": 4, "moved": 4}
    before = LedgerFile(run.lake_folder, str).path.read_bytes()
    for msg_id, correl_id, body in copies:
        put(manager, msg_id, correl_id, body)
        put(manager, NUL, b"elsewhere".ljust(24, b"\0"), body)
    act(manager.connection, run)
    assert proved(manager, run) == {"planned": 4, "moved": 4}
    with connect(manager.connection) as session:
        found = drain_earlier_runs(session, lake, "QM1")
    assert (found.lines, found.unfinished, found.elsewhere) == (0, (), ())
    assert manager.depth(LEDGER) == 0
    assert LedgerFile(run.lake_folder, str).path.read_bytes() == before


def test_one_process_at_a_time_has_a_lane_although_its_lane_token_is_there_twice(manager, issued):
    run = issued(4)
    found: list[bool] = []

    def beside(number: int) -> None:
        put(manager, *on_ledger_queue(manager, plan_of(run).lane_token_id(0))[0])
        with run.lane_lock(0) as is_free:
            found.append(is_free)

    act(manager.connection, run, unit_size=2, port=after_commits(beside))
    assert found == [False, False]


def test_law5_nothing_is_proved_while_a_process_holds_a_lane_whose_lane_token_is_there(manager, issued):
    run = issued(4)
    with run.lane_lock(0), pytest.raises(InProgress, match="another process is at work on 1 of 1 lane"):
        prove(manager.connection, run)
    assert prove(manager.connection, run).left == 4


def test_a_line_says_who_put_the_marker_by_the_queue_managers_word(manager, lake):
    letters(manager, 1)
    run, _plan = planned(manager, lake)
    act(manager.connection, run)
    waiting = {md["MsgId"].hex(): md for md, _body in manager.messages(LEDGER)}
    prove(manager.connection, run)
    entries = list(LedgerFile(run.lake_folder, str).entries())
    assert entries
    for entry in entries:
        md = waiting[entry["unit"]]
        assert entry["put"] == {
            "user": md["UserIdentifier"].decode().strip(" \0"),
            "application": md["PutApplName"].decode().strip(" \0"),
            "application_type": str(md["PutApplType"]),
            "accounting_token": md["AccountingToken"].hex(),
            "date": md["PutDate"].decode(),
            "time": md["PutTime"].decode(),
        }


def test_a_run_that_a_version_without_signatures_began_is_left_to_that_version(manager, lake):
    letters(manager, 1)
    other, _plan = planned(manager, lake)
    act(manager.connection, other)
    prove(manager.connection, other)  # the ledger has all of a run, which is another one
    letters(manager, 3)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    issued, _last, _lane_token = forged(plan, 3)
    lane_token = LaneToken(run=plan.run, plan=plan.digest, lane=0, next=0)
    messages = [issued, (NUL, plan.lane_token_id(0), lane_token.pack())]
    for message in messages:
        put(manager, *message)
    write_json(run.issued_json, {"run": plan.run, "plan": plan.digest, "lanes": [3]})  # as that version notes it
    expected = f"Run {run.run} was begun by a version of mqops that did not sign its messages"
    with connect(manager.connection) as session:
        found = drain_earlier_runs(session, lake, "QM1")
    assert [line[: len(expected)] for line in found.remarks()] == [expected]
    for step in (act, prove):
        with pytest.raises(Exception, match=expected):
            step(manager.connection, run)
    assert Counter(manager.bodies(LEDGER)) == Counter(body for *_ids, body in messages)
    assert manager.depth(DLQ) == 3


def test_context_of_another_user_does_not_help(manager, lake):
    letters(manager, 1)
    run, _plan = planned(manager, lake)
    plan = plan_of(run)
    (msg_id, correl_id, body), *_rest = forged(plan, 1)
    fields = {"MsgId": msg_id, "CorrelId": correl_id, "UserIdentifier": "mqm"}
    manager.put(LEDGER, [(fields, body)], options=CMQC.MQOO_SET_ALL_CONTEXT)
    with connect(manager.connection) as session:
        drain_earlier_runs(session, lake, "QM1")
    (kept,) = read_lines(lake / "QM1" / "ledger" / "set_aside.jsonl")
    assert kept["put"]["user"] == "mqm"
    assert not LedgerFile(lake / "QM1", str).path.read_bytes()
