"""Words of pages, notes and the command line: copies, numbers, blanks between sentences, what is left off."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mq_support import create, dead_letter

from mqops.actions import moved_word
from mqops.cli.passes import show_summary
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.recover import RECOVER, Do, RecoverRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.look.figures import Figures
from mqops.look.run_row import run_line
from mqops.look.words.managers import oldest_figures
from mqops.rules import parse
from mqops_airflow.approval.policy import _would
from mqops_airflow.notices.outcome_text import Ending, outcome_text
from mqops_airflow.pages import charts, dead_letters, estate, shared
from mqops_airflow.pages.answers import Answer
from mqops_airflow.pages.queue_figures import SILENT, silence

MQSC = "DEFINE QLOCAL(IN)\nDEFINE QLOCAL(OUT)\nDEFINE QLOCAL(A)\n"
ESTATE = "lake: lake\nqueue_managers:\n  QM1:\n    connection: mq_test\n    dlq_rules: {rules: qm1.rules}\n"
TABLE = "ACTION(RETRY)\n"
BLOCKS = {
    "p",
    "div",
    "li",
    "td",
    "th",
    "h1",
    "h2",
    "h3",
    "summary",
    "label",
    "option",
    "caption",
    "button",
    "pre",
    "svg",
}
JOINED = re.compile(r"[a-z)][.:!?][A-Z][a-z]+ ")


class Visible(HTMLParser):
    """The text of a page as a reader sees it: a line for each block, none of names, code and drawings."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if self._hidden or tag in {"pre", "code", "svg", "script", "style"} or ("class", "name") in attrs:
            self._hidden += [tag] if tag not in {"wbr", "input", "br", "meta", "link", "path", "line", "rect"} else []
        elif tag in BLOCKS:
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            if tag in self._hidden:
                del self._hidden[len(self._hidden) - 1 - self._hidden[::-1].index(tag) :]
        elif tag in BLOCKS:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        self.text.append("" if self._hidden else data)


def visible(page: str) -> str:
    parser = Visible()
    parser.feed(page)
    return "".join(parser.text)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A queue manager without a dead-letter queue, and a copy of 3 messages that was proved."""
    folder = tmp_path_factory.mktemp("words")
    manager = create(folder / "home", "QM1", MQSC)
    manager.put("IN", [({}, b"x")] * 3)
    manager.put("SYSTEM.DEAD.LETTER.QUEUE", [dead_letter("A", b"x", reason=2053)] * 3)
    base: dict[str, Any] = {"connection": manager.connection, "lake": folder / "lake", "requested_by": "alice"}
    request = RecoverRequest(**base, do=Do.COPY, queue="IN", everything=True, to="OUT")
    run, plan = plan_run(RECOVER, request)
    summary = carry_out(RECOVER, request, run, plan)
    table = parse(TABLE, source="qm1.rules").table
    plan_run(DEAD_LETTERS, DeadLetterRequest(**base, table=table, text=TABLE, queue="SYSTEM.DEAD.LETTER.QUEUE"))
    manager.mqsc("ALTER QMGR DEADQ(' ')\n")
    return manager, folder, run, summary


@pytest.fixture
def site(made: Any, estate_folder: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    manager, folder, *_rest = made
    (estate_folder / "estate.yaml").write_text(ESTATE)
    monkeypatch.setenv("MQOPS_LAKE", str(folder / "lake"))
    reached = {"conn_type": "mq", "extra": {"queue_manager": "QM1", "home": str(manager.home)}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(reached))
    monkeypatch.setattr(estate.ANSWERS, "kept", 0.0)
    monkeypatch.setattr(shared, "KEPT", 0.0)
    return client


def test_a_copy_is_told_as_copied_everywhere(made: Any, site: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _manager, _folder, run, summary = made
    assert summary.moved == 3
    assert outcome_text(Ending(acted="success", approved="success"), summary).startswith(
        "Approved by the policy of the estate: 3 copied + 0 discarded + 0 left + 0 gone of 3 messages"
    )
    show_summary(summary)
    assert "3 planned = 3 copied + 0 discarded" in capsys.readouterr().out
    many = {"planned": 3334, "moved": 3334}
    show_summary(replace(summary, rules=(replace(summary.rules[0], **many),), **many))
    said = capsys.readouterr().out
    assert "3,334 planned = 3,334 copied" in said
    assert "3334" not in said
    assert run_line(run).moved_word == "copied"
    text = unescape(visible(site("/run", queue_manager="QM1", run=run.run).text))
    assert "= 3 copied" in text
    assert not re.search(r"\d moved|\bMoved\b|it moved", text), text
    assert ">3 copied</td>" in site("/estate").text
    assert _would({"COPY": 5}, 5, 0, 0) == "5 messages would be copied"
    assert (moved_word(["FWD", "DISCARD"]), moved_word(["COPY"]), moved_word([])) == ("moved", "copied", "moved")


def test_no_two_sentences_of_a_page_stand_without_a_blank_between_them(made: Any, site: Any) -> None:
    pages = [
        site("/estate").text,
        site("/run", queue_manager="QM1", run=made[2].run).text,
        site("/plan", queue_manager="QM1", run=made[2].run).text,
        *(site(path, queue_manager="QM1").text for path in ("/dead_letters", "/messages", "/rules", "/expiry")),
    ]
    for page in pages:
        assert len(visible(page)) > 100
        assert not (found := JOINED.findall(visible(page))), found


def test_a_queue_manager_without_a_dead_letter_queue_is_a_problem_of_the_estate(made: Any, site: Any) -> None:
    text = unescape(site("/estate").text)
    assert "The queue manager has no dead-letter queue, because DEADQ is blank" in text
    manager = made[0]
    manager.mqsc("ALTER QMGR DEADQ(NOT.THERE)\n")
    try:
        text = unescape(site("/estate").text)
        assert "because DEADQ names NOT.THERE, which is not there" in text
        manager.mqsc("ALTER QMGR DEADQ(OUT)\n")
        assert "has no dead-letter queue" not in site("/estate").text
    finally:
        manager.mqsc("ALTER QMGR DEADQ(' ')\n")


def test_what_a_chart_leaves_off_is_said(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = site("/dead_letters", queue_manager="QM1", queue="SYSTEM.DEAD.LETTER.QUEUE").text
    assert "The chart has the" not in page
    monkeypatch.setattr(dead_letters, "BARS", 0)
    page = site("/dead_letters", queue_manager="QM1", queue="SYSTEM.DEAD.LETTER.QUEUE").text
    assert "The chart has the 0 largest of 1 group; the table has all of them." in page


@pytest.mark.parametrize("largest", [9, 1234, 98_765, 1_000_000])
def test_the_numbers_of_an_axis_do_not_run_into_each_other(largest: int) -> None:
    """Also where a browser's letters are a third wider than those that Vega has measured."""
    drawn = charts.stacked([charts.Bar("line 1 RETRY", {"moved": largest})], of="rule", label="x")
    for figure in re.findall(r'<figure class="chart (?:broad|narrow)".*?</figure>', drawn, re.DOTALL):
        ticks = re.findall(r'transform="translate\(([0-9.]+),[0-9.]+\)"[^>]*?opacity="1">([0-9][0-9,]*)<', figure)
        assert len(ticks) >= 2, figure
        ends = [(float(x) - 4.6 * len(text), float(x) + 4.6 * len(text)) for x, text in ticks]
        assert all(one[1] < two[0] for one, two in pairwise(ends)), ticks


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (0.0, "others are asked before it"),
        (2.1, "it was asked 2 s ago"),
        (SILENT + 1, "no answer has come for 11 s"),
    ],
)
def test_a_late_answer_is_no_silence(asked: float, words: str) -> None:
    assert silence(Answer(waiting=SILENT + 2, asked=asked)) == words
    assert Figures(unreachable=words).awaited == (asked < SILENT)


def test_a_question_that_failed_is_not_told_as_one_that_waits_for_its_turn() -> None:
    words = silence(Answer(age=1.0))
    assert words == "the question failed, and the log of Airflow's API server says why"
    assert not Figures(unreachable=words).awaited


def test_the_age_of_figures_is_told_where_many_are_asked_in_turn() -> None:
    """Issue 37 A1: a figure that is older than some seconds says so; what is silent says it in its own row."""
    now = datetime.fromisoformat("2026-11-27T12:00:40+00:00")
    old, young = (Figures(seen_at=f"2026-11-27T12:00:{second}+00:00") for second in ("10", "35"))
    assert str(oldest_figures([young, old], now)).startswith(f"The oldest of these figures are {old.seen_at} old")
    assert not oldest_figures([young, replace(old, unreachable="no answer has come for 11 s")], now)
    assert not oldest_figures([Figures()], now)
