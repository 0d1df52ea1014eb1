"""What nobody would be told of otherwise, at the command line: a damaged ledger, messages that expire under a look."""

from __future__ import annotations

import json

import pymqi
import pytest
from mq_support import DLQ, dead_letter, let_expire, time_goes_by
from pymqi import CMQC

RETRY = "ACTION(RETRY)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.mark.parametrize("damage", ["changed", "cut off", "gone"])
def test_law5_nothing_is_moved_while_the_ledger_is_damaged(manager, mqops_here, tmp_path, damage):
    manager.put(DLQ, [dead_letter("A", b"x")])
    mqops_here("dlq", "run", "--once", DLQ, "QM1", text=RETRY)
    path = tmp_path / "lake" / "QM1" / "ledger" / "ledger.jsonl"
    whole = path.read_bytes()
    broken = {"changed": whole.replace(b'"RETRY"', b'"FWDXX"'), "cut off": whole.splitlines(keepends=True)[0]}
    manager.put(DLQ, [dead_letter("A", b"y")])
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=RETRY).stdout)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(broken[damage])
    run, digest = planned["plan"]["run"], planned["plan"]["digest"]
    for command in (["dlq", "run", "--once", DLQ, "QM1"], ["dlq", "act", run, "-m", "QM1", "--approve", digest]):
        refused = mqops_here(*command, text=RETRY, expect=1).stderr
        assert "Nothing was moved" in refused
        assert f"restore {path} from a copy" in refused
    found = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=RETRY).stdout)["preflight"]
    assert [one["severity"] for one in found["findings"] if one["destination"] == "the ledger"] == ["problem"]
    assert (manager.depth(DLQ), manager.depth("A"), manager.depth("MQOPS.LEDGER")) == (1, 1, 0)
    path.write_bytes(whole)
    assert "1 moved" in mqops_here("dlq", "run", "--once", DLQ, "QM1", text=RETRY).stdout


def expiring(manager, queue=DLQ, *, expired=3, live=1):
    """Messages whose lifetime is over but for some; nobody has looked at them yet."""
    manager.put(queue, [dead_letter("A", b"x", Expiry=1)] * expired + [dead_letter("A", b"y")] * live)
    let_expire(1)


THREE = f"{DLQ}: the queue manager discarded 3 expired messages when the queue was browsed"


def test_E03_what_expired_under_a_look_is_in_plan_and_summary(manager, mqops_here):
    expiring(manager)
    assert THREE in mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=RETRY).stdout.splitlines()
    expiring(manager, live=0)
    summary = json.loads(mqops_here("dlq", "run", "--once", "--json", DLQ, "QM1", text=RETRY).stdout)
    assert (summary["planned"], summary["remarks"][0]) == (1, THREE)


def test_E03_a_handler_that_waits_tells_what_expired(manager, mqops_here):
    expiring(manager, live=0)
    done = mqops_here("dlq", "run", "--json", DLQ, "QM1", text=f"WAIT(NO)\n{RETRY}")
    assert json.loads(done.stdout)["remarks"] == [THREE]
    assert f"mqops: {THREE}; 3 between passes so far\n" in done.stderr


@pytest.mark.parametrize(
    "command", [["snapshot", "-m", "QM1"], ["dlq", "anatomy", DLQ, "QM1"], ["expiry", "forecast", DLQ, "-m", "QM1"]]
)
def test_E03_every_command_that_browses_tells_what_expired(manager, mqops_here, command):
    expiring(manager)
    assert THREE in mqops_here(*command).output
    assert THREE not in mqops_here(*command).output


def test_E03_where_others_are_at_work_the_number_is_not_said_to_be_that_of_expired_messages(manager, mqops_here):
    expiring(manager)
    with manager.connected() as queue_manager:
        handle = pymqi.Queue(queue_manager, DLQ, CMQC.MQOO_INPUT_SHARED)
        said = mqops_here("snapshot", "-m", "QM1").stdout
        handle.close()
    assert f"{DLQ}: 3 messages are gone since the browse began: expired and discarded, or got by other programs" in said


def seen(mqops_here, msg_id):
    return json.loads(mqops_here("ledger", "show", msg_id.hex(), "--json").stdout)["seen"]


def test_ledger_show_says_when_a_planned_message_went(manager, mqops_here, monkeypatch):
    taken, expired, left = manager.put(
        DLQ, [dead_letter("A", b"t"), dead_letter("A", b"e", Expiry=6000), dead_letter("B", b"l")]
    )
    table = "DESTQ(A) ACTION(RETRY)\nACTION(IGNORE)\n"
    planned = json.loads(mqops_here("dlq", "run", "--dry-run", "--json", DLQ, "QM1", text=table).stdout)["plan"]
    (one,) = seen(mqops_here, taken)
    assert (one["became"], one["action"], one["run"], one["missed_at"]) == ("seen", "RETRY", planned["run"], "")
    said = mqops_here("ledger", "show", taken.hex()).stdout
    assert "it was there, and nobody has looked since" in said
    with manager.connected() as queue_manager:
        handle = pymqi.Queue(queue_manager, DLQ, CMQC.MQOO_INPUT_SHARED)
        handle.get(None, pymqi.MD(MsgId=taken), pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT))
        handle.close()
    time_goes_by(monkeypatch, 6000)
    (one,) = seen(mqops_here, expired)
    assert (one["became"], one["missed_at"]) == ("expired", "")
    assert one["ends_at"] > one["seen_at"]
    mqops_here("dlq", "act", planned["run"], "-m", "QM1", "--approve", planned["digest"])
    assert [one["became"] for msg_id in (taken, expired, left) for one in seen(mqops_here, msg_id)] == [
        "taken",
        "expired",
        "seen",
    ]
    (one,) = seen(mqops_here, taken)
    assert (one["missed_by"], one["missed_at"] >= one["seen_at"]) == (planned["run"], True)
    assert f"gone at {one['missed_at']} (run {planned['run']}): another program got it, or the queue was cleared" in (
        mqops_here("ledger", "show", taken.hex()[:47]).stdout
    )
    manager.mqsc(f"CLEAR QLOCAL({DLQ})\n")
    again = json.loads(mqops_here("snapshot", "-m", "QM1", "--json").stdout)["run"]
    (one,) = seen(mqops_here, left)
    assert (one["became"], one["missed_by"], one["action"]) == ("taken", again, "IGNORE")
    assert [one["missed_by"] for one in seen(mqops_here, taken)] == [planned["run"]]  # the first that missed it


def test_a_nonpersistent_message_that_is_gone_may_have_been_lost(manager, mqops_here):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"x", Persistence=0)])
    mqops_here("snapshot", "-m", "QM1")
    manager.mqsc(f"CLEAR QLOCAL({DLQ})\n")
    mqops_here("snapshot", "-m", "QM1", "--limit", "1")
    (one,) = seen(mqops_here, msg_id)
    assert (one["became"], one["action"]) == ("seen", "")  # a snapshot with a limit shows nothing of what it has not
    mqops_here("snapshot", "-m", "QM1")
    assert seen(mqops_here, msg_id)[0]["became"] == "unknown"


def test_what_the_ledger_tells_is_not_told_twice_and_nonsense_is_refused(manager, mqops_here):
    (msg_id,) = manager.put(DLQ, [dead_letter("A", b"x")])
    mqops_here("dlq", "run", "--once", DLQ, "QM1", text=RETRY)
    told = json.loads(mqops_here("ledger", "show", msg_id.hex(), "--json").stdout)
    assert (len(told["events"]), told["seen"]) == (1, [])
    assert "no ledger, plan or snapshot in" in mqops_here("ledger", "show", "ff" * 24, expect=1).stdout
    assert "is not the beginning of a MsgId in hex" in mqops_here("ledger", "show", "xyz", expect=2).output
