"""The page of all runs: each run by what it is, filters in the address, pages that cost no more than their rows."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from ledger_opened import act, prove
from runs_on_pages import letters, planned

from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunLine
from mqops.look.runs import Runs, count_runs, list_runs
from mqops.look.runs_index import RECENT_NS, RunsIndex
from mqops.look.runs_page import PageOfRuns, Place, WantedRuns, page_of_runs
from mqops.look.words.run_name import name_of
from mqops.look.words.runs import just_begun, table, took
from mqops.look.words.state import RunState
from mqops_airflow.pages import shared

ESTATE = """\
lake: lake
queue_managers:
  QM1: {connection: mq_qm1, dlq_rules: {rules: qm1.rules}}
  QM2: {connection: mq_qm2, dlq_rules: {rules: qm1.rules}}
"""
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
RUNS = int(os.environ.get("MQOPS_RUNS", "60"))


def made(lake: Path, key: str, at: float, *, name: str = "QM1", **plan: Any) -> RunFolder:
    """A run with a plan, as long ago as one likes. Parameters: `plan` what its plan says besides; `by` what its DAG
    handed on."""
    run = RunFolder.at(lake, name, key).create()
    by = plan.pop("by", None)
    if by:
        found = {"acts": plan.pop("acts", False), "requested_by": by}
        write_json(run.path / "handed_on.json", {"dag_id": "d", "run_id": key, "found": found})
    write_json(run.plan_json, {"queue": "DLQ", "rows": 3, "workflow": "dlq_rules", **plan})
    os.utime(run.plan_json, (at, at))
    return run


def old(lake: Path) -> None:
    """Make the runs so old that the index does not ask for their state."""
    for path in lake.glob("*/runs/*"):
        os.utime(path, ns=(time.time_ns() - 2 * RECENT_NS,) * 2)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many") / "lake"
    for number in range(RUNS):
        kind = {"by": ("alice", "bob", "scheduled")[number % 3], "acts": number % 2 == 0, "queue": f"Q{number % 4}"}
        made(place, f"r{number:06}", DAY + 60 * number, **kind)
    made(
        place, "of-qm2", DAY + 86400, name="QM2", workflow="backout_reprocess", queue="B.BOQ,C.BOQ", requested_by="eve"
    )
    asked = {"dag_id": "d", "run_id": "asks", "digest": "d", "text": "t"}
    waits = made(place, "asks", DAY + 2 * 86400)
    write_json(waits.path / "approval.json", {"question": asked, "task_instance": "i", "answer": None})
    done = made(place, "approved", DAY + 3 * 86400, requested_by="carol@desk")
    answer = {"approved": True, "by": "dave", "by_id": "dave", "at": "2026-03-04T12:01:00Z"}
    write_json(done.path / "approval.json", {"question": asked, "task_instance": "i", "answer": answer})
    old(place)
    page_of_runs(place, ["QM1", "QM2"], WantedRuns(), most=1)  # the index has them
    return place


@pytest.fixture
def lake(estate_folder: Path, many: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake of a test's own, which the pages show."""
    monkeypatch.setattr(shared, "KEPT", 0.0)
    (estate_folder / "estate.yaml").write_text(ESTATE)
    return shutil.copytree(many, estate_folder / "lake")


def keys(page: PageOfRuns) -> list[str]:
    return [line.run for line in page.runs]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (WantedRuns(), ["approved", "asks", "of-qm2"]),
        (WantedRuns(queue="C.BOQ"), ["of-qm2"]),
        (WantedRuns(workflow="backout_reprocess"), ["of-qm2"]),
        (WantedRuns(state=RunState.WAITING), ["asks"]),
        (WantedRuns(state=RunState.APPROVED), ["approved"]),
        (WantedRuns(person="dave"), ["approved"]),
        (WantedRuns(person="carol@desk", queue="DLQ"), ["approved"]),
        (WantedRuns(person="eve", queue="DLQ"), []),
        (WantedRuns(person="eve", state=RunState.DONE), []),
        (WantedRuns(day=datetime(2026, 3, 2).date()), ["of-qm2"]),
        (WantedRuns(day=date.max), []),  # no day is behind it
        (WantedRuns(queue="Q1", person="bob"), ["r000049", "r000037", "r000025"]),
    ],
)
def test_which_runs_fit(many: Path, wanted: WantedRuns, found: list[str]) -> None:
    if RUNS < 100:  # with more, others fit, too
        assert keys(page_of_runs(many, ["QM1", "QM2"], wanted, most=3)) == found


def test_pages_have_every_run_once_and_a_new_run_moves_none(lake: Path) -> None:
    seen, behind = [], None
    for number in range(RUNS + 3):
        page = page_of_runs(lake, ["QM1", "QM2"], WantedRuns(), most=7, behind=behind)
        seen += keys(page)
        behind = Place.of(str(page.behind or ""))
        if behind is None:
            break
        made(lake, f"new{number}", DAY + 9 * 86400)
    assert sorted(seen) == sorted([*(f"r{number:06}" for number in range(RUNS)), "of-qm2", "asks", "approved"])
    assert seen[:3] == ["approved", "asks", "of-qm2"]
    assert seen[3:] == sorted(seen[3:], reverse=True)


@pytest.mark.parametrize(
    "wanted",
    [
        *(WantedRuns(), WantedRuns(queue="Q1"), WantedRuns(person="alice"), WantedRuns(workflow="dlq_rules")),
        *(WantedRuns(state=RunState.PLANNED), WantedRuns(day=datetime(2026, 3, 1).date())),
    ],
    ids=["all", "queue", "person", "workflow", "state", "day"],
)
def test_a_page_reads_no_more_of_the_index_than_its_rows(many: Path, wanted: WantedRuns, monkeypatch) -> None:
    """Lines that are read, and nothing sorted: what costs where there are 100,000 runs (`make full`)."""
    read: list[str] = []
    genuine, plans = RunsIndex.line, list[str]()
    rows = RunsIndex.rows

    def explained(self: RunsIndex, statement: str, values: Any = ()) -> Any:
        if "ORDER BY" in statement and "run.line" in statement:
            plans.extend(str(row[3]) for row in rows(self, f"EXPLAIN QUERY PLAN {statement}", values))
        return rows(self, statement, values)

    monkeypatch.setattr(RunsIndex, "line", lambda self, run, *more: (read.append(run), genuine(self, run, *more))[1])
    monkeypatch.setattr(RunsIndex, "rows", explained)
    began = time.perf_counter()
    page = page_of_runs(many, ["QM1"], wanted, most=5, behind=Place("2026-03-01T13:00:00Z", "r"))
    print(f"{wanted}, {RUNS:,} runs: {1000 * (time.perf_counter() - began):.0f} ms")
    assert len(page.runs) == 5
    assert len(read) == 6
    assert [one for one in plans if "TEMP B-TREE" in one and "RIGHT PART" not in one and "LAST" not in one] == []


QUESTIONS: dict[str, Callable[[Runs], object]] = {
    "begun": Runs.begun,
    "not_begun": lambda runs: runs.not_begun({"r000001", "of no run"}),
    "queues": Runs.queues,
    "newest_of_each": Runs.newest_of_each,
    "that_ask": Runs.that_ask,
    "that_took": lambda runs: runs.that_took("2026-03-01T00:00:00Z"),
    "of a queue": lambda runs: runs.newest(5, queue="Q1", workflow="dlq_rules"),
    "put_on": lambda runs: runs.put_on(5),
    "undos_of": lambda runs: runs.undos_of(["r000001"]),
    "proved_since": lambda runs: runs.proved_since("2026-03-01T00:00:00Z"),
    "proved_last": lambda runs: runs.proved_last(20),
    "begun_since": lambda runs: runs.begun_since("2026-03-01T00:00:00Z"),
    "of_session": lambda runs: runs.of_session("r000001"),
    "before": lambda runs: runs.before(runs.newest(1)[0], 5, workflow="dlq_rules"),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_that_a_page_asks_looks_at_no_row_of_every_run(many: Path, question: Any, monkeypatch: Any) -> None:
    """Of 100,000 runs one that does takes 30 to 90 ms. To count what stands in an index alone takes 7."""
    plans, rows = list[str](), RunsIndex.rows

    def explained(self: RunsIndex, statement: str, values: Any = ()) -> Any:
        if "SELECT" in statement:
            plans.extend(str(row[3]) for row in rows(self, f"EXPLAIN QUERY PLAN {statement}", values))
        return rows(self, statement, values)

    runs = Runs(many, "QM1").caught_up()
    monkeypatch.setattr(RunsIndex, "rows", explained)
    question(runs)
    assert plans
    # the entries alone; an index of few runs; as many as are asked for
    few = ("COVERING", "who_ask", "who_moved", "by_proof_of_moves")
    of_other_queues = "by_workflow (workflow=? AND at<?)"
    assert [one for one in plans if one.startswith("SCAN run") and not any(name in one for name in few)] == []
    assert [one for one in plans if of_other_queues in one] == []


def test_the_list_and_the_number_of_the_others_read_no_more_than_they_show(many: Path, monkeypatch) -> None:
    """`mqops runs --queue Q1 --state planned`: a state that no time changes is counted by the index alone."""
    read, statements = list[str](), list[str]()
    genuine, rows = RunsIndex.line, RunsIndex.rows
    monkeypatch.setattr(RunsIndex, "line", lambda self, run, *more: (read.append(run), genuine(self, run, *more))[1])
    monkeypatch.setattr(
        RunsIndex,
        "rows",
        lambda self, asked, values=(): (
            statements.extend(
                str(row[3]) for row in rows(self, f"EXPLAIN QUERY PLAN {asked}", values) if "SEL" in asked
            ),
            rows(self, asked, values),
        )[1],
    )
    such = {"queue_manager": "QM1", "queue": "Q1", "states": [RunState.PLANNED]}
    assert len(list_runs(many, limit=5, **such)) == 5
    assert count_runs(many, most=100, **such) > 5
    assert count_runs(many, most=7, **such) == 7
    assert len(read) == 5
    assert [one for one in statements if "TEMP B-TREE" in one] == []


def test_the_page_says_what_each_run_is_and_who_asked(lake: Path, client: Any) -> None:
    page = unescape(client("/runs").text)
    assert "<h1>Runs</h1>" in page
    assert ">dead letters of QM1, 2026-03-04 12:00, real, by carol@desk</a>" in page
    assert ">backed-out messages of QM2, 2026-03-02 12:00, dry run, by eve</a>" in page
    first = client("/runs", queue_manager="QM1", person="its schedule").text
    assert "<h1>Runs on QM1</h1>" in first
    assert "by its schedule</a>" in first
    assert "by alice" not in first
    assert 'value="its schedule"' in first
    assert '<span class="badge good">approved</span>' in client("/runs", queue="DLQ", state="approved").text
    assert "No run fits." in client("/runs", queue="NONE").text
    only = client("/runs", person="dave").text
    assert only.count("<tr>") == 2


def test_a_run_of_very_many_queues_names_the_first_ones(lake: Path, client: Any) -> None:
    made(lake, "wide", DAY + 9 * 86400, queue=",".join(f"W{number}" for number in range(500)))
    page = re.sub("<[^>]+>", "", client("/runs", queue="W499").text)
    assert "W0 and 499 others" in page
    assert "W4," not in page


def test_the_form_keeps_the_kind_of_a_decider_of_another_distribution(lake: Path, client: Any) -> None:
    made(lake, "ours", DAY, workflow="park_large")
    page = client("/runs", workflow="park_large").text
    assert re.search(r'<option value="park_large" selected(="")?>park_large</option>', page)
    assert "run=ours" in page
    assert "park_large" not in client("/runs", workflow="dlq_rules").text


def test_another_queue_manager_keeps_the_filter_and_the_page_says_how_many_runs_it_has(lake: Path, client: Any) -> None:
    """Issue 37 A2: the chooser of queue managers sends the filter along; "fits" is said of a filter."""
    page = client("/runs", queue_manager="QM1", queue="Q1", state="done").text
    chooser = page.partition('class="chooser"')[2].partition("</form>")[0]
    assert re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', chooser) == [("queue", "Q1"), ("state", "done")]
    assert '<p class="empty" role="status">No run fits.</p>' in page
    assert re.search(r'role="status">(The newest )?[\d,]+ runs\.</p>', client("/runs").text)
    shutil.rmtree(lake / "QM2")
    assert "There is no run on QM2 yet." in client("/runs", queue_manager="QM2").text


def test_the_address_of_the_next_page_has_the_filter(lake: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from mqops_airflow.pages import runs  # noqa: PLC0415

    monkeypatch.setattr(runs, "MOST", 4)
    seen: list[str] = []
    query: dict[str, str] = {"queue_manager": "QM1", "queue": "Q1", "state": "", "day": ""}
    while query:
        text = client("/runs", **query).text
        seen += re.findall(r'href="/run\?queue_manager=QM1&amp;run=(r\d+)"', text)
        older = re.search(r'<a href="/runs\?([^"]*)">Older runs', text)
        assert bool(seen[4:]) == ("Newest runs" in text)
        query = dict(parse_qsl(unescape(older[1]))) if older else {}
        assert not query or (query["queue_manager"], query["queue"]) == ("QM1", "Q1")
    assert seen == [f"r{number:06}" for number in range(RUNS - 1, -1, -1) if number % 4 == 1]


def test_the_runs_that_dealt_with_a_message_are_found_by_its_msgid(manager, estate_folder: Path, client: Any) -> None:
    lake = estate_folder / "lake"
    letters(manager, "A")
    acted = planned(manager, lake)
    act(manager.connection, acted)
    prove(manager.connection, acted)
    (msg_id,) = (md["MsgId"].hex() for md, _body in manager.messages("A"))
    letters(manager, "A")
    other = planned(manager, lake)
    assert keys(page_of_runs(lake, ["QM1"], WantedRuns(), most=9)) == [other.run, acted.run]
    assert keys(page_of_runs(lake, ["QM1"], WantedRuns(msg_id=msg_id), most=9)) == [acted.run]
    page = client("/runs", msg_id=msg_id[:20].upper()).text
    assert f"run={acted.run}" in page
    assert f"run={other.run}" not in page
    assert "No run fits." in client("/runs", msg_id="0" * 40).text


@pytest.mark.parametrize("query", [{"msg_id": "xyz"}, {"day": "yesterday"}, {"state": "nice"}, {"queue": "x" * 300}])
def test_a_field_that_is_no_such_thing_is_told(lake: Path, client: Any, query: dict[str, str]) -> None:
    answer = client("/runs", **query)
    assert answer.status_code == 422
    assert "This address is not complete" in answer.text


def test_the_next_page_begins_behind_a_run_with_the_longest_key(lake: Path, client: Any, monkeypatch) -> None:
    from mqops_airflow.pages import runs  # noqa: PLC0415

    monkeypatch.setattr(runs, "MOST", 1)
    made(lake, "k" * 200, DAY + 9 * 86400)
    older = re.search(r'<a href="/runs\?([^"]*)">Older runs', client("/runs").text)
    assert older is not None
    page = client("/runs", **dict(parse_qsl(unescape(older[1]))))
    assert page.status_code == 200
    assert "by carol@desk</a>" in page.text


def test_runs_that_cannot_be_read_take_no_others_away(lake: Path, client: Any) -> None:
    (lake / "QM2").chmod(0o777)
    page = client("/runs").text
    assert 'The runs of <span class="name">QM2</span> cannot be shown: Other users can write to' in page
    assert "by carol@desk" in page
    assert client("/runs", queue_manager="QM2").status_code == 503
    assert client("/runs", queue_manager="QM9").status_code == 403


def test_a_run_that_cannot_be_read_is_named_and_takes_no_other_away(lake: Path, client: Any) -> None:
    write_json(made(lake, "hurt", DAY + 9 * 86400).path / "summary.json", {"nothing": 1})
    page = unescape(client("/runs", queue_manager="QM1").text)
    assert 'Run <span class="key">hurt</span> of <span class="name">QM1</span> cannot be shown: ' in page
    assert "summary.json is not what mqops wrote: run: Field required. Restore it from a copy of the lake" in page
    assert "by carol@desk" in page
    assert "run=hurt" not in page


def test_a_run_of_today_has_the_time_alone_and_a_proved_one_says_how_long_it_took(many: Path) -> None:
    (line,) = page_of_runs(many, ["QM1"], WantedRuns(state=RunState.APPROVED), most=1).runs
    assert name_of(line, "2026-03-04T23:00:00Z", "operator") == "dead letters of QM1, 12:00, real, by operator"
    assert name_of(line, "2026-03-04T23:00:00Z", "operator", seconds=True).startswith("dead letters of QM1, 12:00:00,")
    ends = ("2026-03-04T12:00:41Z", "2026-03-04T12:03:05Z", "2026-03-04T14:03:05Z", "2026-03-07T12:00:00Z", "")
    assert [took(replace(line, proved_at=end)) for end in ends] == ["41 s", "3 min 05 s", "2 h 03 min", "3 days", ""]


def test_a_run_that_has_just_begun_is_at_work_where_airflow_says_so() -> None:
    begun, ended = (RunLine(run=key, queue_manager="QM1") for key in ("begun", "ended"))
    assert list(just_begun([begun, ended, replace(ended, state=RunState.BEGUN)])) == [
        ("QM1", "begun"),
        ("QM1", "ended"),
    ]
    states = [row[1] for row in table([begun, ended], "", {}, working={("QM1", "begun")}).rows]
    assert [(one.parts[0].said, one.parts[0].kind) for one in states] == [("at work", "note"), ("incomplete", "warn")]
