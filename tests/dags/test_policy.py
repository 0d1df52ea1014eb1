"""Which way a plan goes: every row of the policy."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mqops.decide.core.preflight import Demand, Inquired, LocalQueue, Looked, Preflight
from mqops.estate_workflows import Approval, AutoApprove
from mqops_airflow.approval.policy import UNATTENDED, judge, unattended, verdict_on

ASK = Approval()
TWO = ("A: it is not there. Define it", "B: it is full")
NEVER = Approval(required=False)
SMALL_RETRIES = Approval(auto_approve=AutoApprove(actions=("RETRY",), max_messages=10))


@pytest.mark.parametrize(
    ("messages", "approval", "dry_run", "by_hand", "way", "why"),
    [
        ({"RETRY": 5}, ASK, True, True, "stop", "dry run: 5 messages would be moved or discarded; nothing was done"),
        ({"RETRY": 2270}, ASK, True, True, "stop", "dry run: 2,270 messages would be moved or discarded; nothing"),
        (
            {"FWD": 5, "ERROR": 2},
            ASK,
            True,
            True,
            "stop",
            "dry run: 5 messages would be moved or discarded, and the plan leaves 2;",
        ),
        ({"RETURN": 2, "RESTORE": 1, "UNDONE": 1}, ASK, True, True, "stop", "dry run: 3 messages would be put back; "),
        ({"WITHDRAW": 3}, ASK, True, True, "stop", "dry run: 3 copies would be taken away; nothing was done"),
        (
            {"WITHDRAW": 1, "RETURN": 1},
            *(ASK, True, True, "stop"),
            "dry run: 1 message would be put back, 1 copy would be taken away; nothing was done",
        ),
        ({"CONSUMED": 3}, ASK, True, True, "stop", "dry run: 0 messages would be put back; nothing was done"),
        ({"PRESENT": 3}, ASK, True, True, "stop", "dry run: 0 messages would be put back; nothing was done"),
        ({"RETRY": 5}, NEVER, True, True, "stop", "dry run"),  # dry beats everything for a run by hand
        ({"RETRY": 5}, NEVER, True, False, "act", "requires no approval"),  # the form's default is not for schedules
        ({"IGNORE": 5, "ERROR": 2}, ASK, False, True, "stop", "the plan moves nothing"),
        ({}, NEVER, False, False, "stop", "the plan moves nothing"),
        ({"DISCARD": 0, "IGNORE": 1}, NEVER, False, False, "stop", "the plan moves nothing"),
        ({"RETRY": 5}, ASK, False, True, "ask", "5 messages wait for approval"),
        ({"DISCARD": 5}, NEVER, False, True, "ask", "wait for approval"),  # no approval is for the schedule's own plan
        (
            {"RETRY": 5},
            SMALL_RETRIES,
            False,
            True,
            "ask",
            "wait for approval",
        ),  # a person started it: a person says yes
        ({"RETRY": 5}, ASK, True, False, "ask", "wait for approval"),
        ({"RETRY": 10, "IGNORE": 99}, SMALL_RETRIES, True, False, "act", "10 messages, RETRY: approved by the estate"),
        ({"RETRY": 11}, SMALL_RETRIES, True, False, "ask", "11 messages: more than the 10 approved automatically"),
        (
            {"RETRY": 1200},
            Approval(auto_approve=AutoApprove(actions=("RETRY",), max_messages=1000)),
            *(True, False, "ask"),
            "1,200 messages: more than the 1,000 approved automatically",
        ),
        ({"RETRY": 1, "FWD": 1, "DISCARD": 1}, SMALL_RETRIES, True, False, "ask", "DISCARD, FWD is not approved"),
    ],
)
def test_way(  # noqa: PLR0917 - a row of the table
    messages: dict[str, int], approval: Approval, dry_run: bool, by_hand: bool, way: str, why: str
) -> None:
    verdict = judge(messages=messages, approval=approval, dry_run=dry_run, by_hand=by_hand)
    assert verdict.way == way
    assert why in verdict.why


def test_doubts_about_destinations_need_a_person() -> None:
    small = {"messages": {"RETRY": 5}, "dry_run": False}
    verdict = judge(**small, approval=SMALL_RETRIES, by_hand=False, doubts=TWO)
    assert verdict.way == "ask"
    assert verdict.why == "5 messages wait for approval: the pre-flight found 2 problems"
    one = judge(messages={"RETRY": 1}, dry_run=False, approval=SMALL_RETRIES, by_hand=False, doubts=TWO[:1])
    assert one.why == "1 message waits for approval: the pre-flight found 1 problem"
    assert judge(**small, approval=NEVER, by_hand=False, doubts=TWO).way == "act"  # the estate asks nobody
    dry = judge(**small | {"dry_run": True}, approval=SMALL_RETRIES, by_hand=True, doubts=TWO)
    assert dry.way == "stop"
    found = "the pre-flight found 2 problems, which the plan has; the worst: A: it is not there. Define it"
    assert dry.why.endswith(f"moved or discarded; nothing was done; {found}")
    dry = judge(**small | {"dry_run": True}, approval=SMALL_RETRIES, by_hand=True, doubts=TWO[:1])
    assert dry.why.endswith("nothing was done; the pre-flight found 1 problem: A: it is not there. Define it")


@pytest.mark.parametrize(
    ("messages", "stay", "why"),
    [
        (
            {"RETRY": 3},
            1,
            "2 messages would be moved or discarded, 1 would stay, because its destination does not take it",
        ),
        ({"FWD": 3}, 3, "0 messages would be moved or discarded, 3 would stay, because their destinations do not take"),
        (
            {"WITHDRAW": 1, "RETURN": 3},
            2,
            "1 message would be put back, 2 would not be put back, because their destinations do not take them now, "
            "1 copy would be taken away",
        ),
    ],
)
def test_a_dry_run_does_not_count_what_no_destination_takes(messages: dict[str, int], stay: int, why: str) -> None:
    verdict = judge(messages=messages, approval=ASK, dry_run=True, by_hand=True, doubts=TWO[:1], stay=stay)
    assert verdict.why.startswith(f"dry run: {why}")
    assert verdict.why.endswith("; nothing was done; the pre-flight found 1 problem: A: it is not there. Define it")


def test_messages_that_nobody_has_chosen_are_not_said_to_be_left() -> None:
    found = {"messages": {"FWD": 3, "IGNORE": 4, "PROTECTED": 1}, "approval": ASK, "dry_run": True, "by_hand": True}
    assert "discarded, and the plan leaves 1; nothing was done" in judge(**found, others=4).why


def test_the_pre_flight_of_another_plan_says_nothing_of_what_would_stay() -> None:
    plan = SimpleNamespace(workflow="dlq_rules", digest="d1", actions={"RETRY": 5})
    context = {"params": {"dry_run": True}, "dag_run": SimpleNamespace(run_type="manual", conf={})}
    full = LocalQueue(name="A", depth=7, max_depth=10, max_msg_length=100)
    looked = (Looked(demand=Demand(queue="A", messages=5, bytes=5, longest=1), there=Inquired(queue=full)),)
    for digest, moved in (("d1", "3 messages"), ("d0", "5 messages")):
        found = Preflight(plan=digest, checked_at="", looked=looked)
        verdict = verdict_on(plan, found, approval=ASK, context=context)
        assert verdict.why.startswith(f"dry run: {moved} would be moved or discarded")
        assert ("2 would stay" in verdict.why) is (digest == "d1")


def test_a_plan_whose_destinations_nobody_looked_at_needs_a_person() -> None:
    plan = SimpleNamespace(workflow="dlq_rules", digest="d1", actions={"RETRY": 5})
    context = {"params": {"dry_run": True}, "dag_run": SimpleNamespace(run_type="scheduled")}
    for found, way in ((Preflight(plan="d1", checked_at=""), "act"), (Preflight(plan="d0", checked_at=""), "ask")):
        assert verdict_on(plan, found, approval=SMALL_RETRIES, context=context).way == way
    nobody_looked = verdict_on(plan, None, approval=SMALL_RETRIES, context=context)
    assert nobody_looked.way == "ask"
    assert nobody_looked.why == "5 messages wait for approval: the pre-flight found 1 problem"


def test_law2_only_what_nobody_starts_by_hand_is_not_dry_by_default() -> None:
    from airflow.utils.types import DagRunType  # noqa: PLC0415

    attended = {"manual", "operator_triggered", "asset_materialization", "backfill"}
    assert {kind.value for kind in DagRunType if kind not in UNATTENDED} == attended


@pytest.mark.parametrize(
    ("kind", "conf", "nobody"),
    [
        ("operator_triggered", {"mq_trigger": {"QName": "DLQ"}}, True),
        ("operator_triggered", {"mq_trigger": {}, "queue": "OTHER"}, False),  # a form came with it
        ("operator_triggered", {"dry_run": False}, False),
        ("operator_triggered", {}, False),
        ("operator_triggered", None, False),
        ("manual", {"mq_trigger": {}}, False),  # a person can write any conf
        ("scheduled", {}, True),
    ],
)
def test_law2_a_run_of_a_trigger_message_carries_no_form(
    kind: str, conf: dict[str, object] | None, nobody: bool
) -> None:
    assert unattended(SimpleNamespace(run_type=kind, conf=conf)) is nobody
