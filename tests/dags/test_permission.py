"""What permits act: every verdict with every decision."""

from __future__ import annotations

from typing import Any

import pytest

from mqops_airflow.permission import NotAllowed, Permission, permitted

ACT, ASK, STOP = ({"way": way, "why": "a reason", "digest": "d1"} for way in ("act", "ask", "stop"))
AGAIN = "clear the task approve and what is behind it to ask"


def decision(by: str, *, approved: bool = True, digest: str = "d1") -> dict[str, Any]:
    return {"approved": approved, "by": by, "digest": digest}


@pytest.mark.parametrize(
    ("verdict", "answer", "four_eyes", "approved_by"),
    [
        (ACT, None, True, "the policy of the estate"),
        (ACT, decision("bob", digest="d0"), True, "the policy of the estate"),  # of an earlier plan, which was asked
        (ASK, decision("bob"), True, "bob"),
        (ASK, decision("alice"), False, "alice"),
    ],
)
def test_permitted(verdict: dict[str, Any], answer: dict[str, Any] | None, four_eyes: bool, approved_by: str) -> None:
    found = permitted(verdict, answer, requested_by="alice", four_eyes=four_eyes)
    assert found == Permission(digest="d1", requested_by="alice", approved_by=approved_by)


@pytest.mark.parametrize(
    ("verdict", "answer", "four_eyes", "text"),
    [
        (None, decision("bob"), False, "the task route has no verdict on the plan: clear it and what is behind it"),
        (STOP, decision("bob"), False, "this run is to move nothing (a reason): start another one"),
        (ASK, None, False, f"nobody has approved plan d1: the task approve has no answer; {AGAIN}"),
        (ASK, decision("bob", approved=False), False, f"plan d1 was rejected by bob; {AGAIN} again"),
        (
            *(ASK, decision("bob", digest="d0"), False),
            "bob approved plan d0, the plan is d1 now: start a new run to ask",
        ),
        (
            *(ASK, decision("alice"), True),
            f"alice started this run; the estate asks for another person's approval: {AGAIN} again",
        ),
    ],
)
def test_not_allowed(verdict: dict[str, Any] | None, answer: dict[str, Any] | None, four_eyes: bool, text: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        permitted(verdict, answer, requested_by="alice", four_eyes=four_eyes)
    assert str(caught.value) == text
