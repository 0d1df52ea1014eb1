"""What Airflow renders as Markdown has no link and no picture but ours, whatever text of others stands in it.

Airflow's UI renders with react-markdown and remark-gfm, HTML left off. Here markdown-it does, with GitHub's tables,
strike-through and links of bare addresses, and with HTML, which is stricter.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mqops.decide.core import PlanCount, PlanSummary, Sample
from mqops.decide.core.preflight import Finding, Preflight
from mqops.errors import SettingsError
from mqops.estate_workflows import (
    Approval,
    AutoApprove,
    BackoutReprocess,
    DlqRules,
    ExpiryScan,
    SnapshotQuality,
    TriggerMonitor,
)
from mqops.expiry.core.outcome import DeadLetterQueue, ExpirySummary
from mqops.model import RunSummary
from mqops.printable import printable
from mqops.trigger.core import FAILS, UNKNOWN, Condition, Explanation
from mqops_airflow.approval import plan_text
from mqops_airflow.approval.answer import Answer
from mqops_airflow.notices import notes, outcome_text
from mqops_airflow.operators import expiry, quality, start_runs, trigger_explain
from mqops_airflow.pages.render import is_own_page, of_markdown
from mqops_airflow.ui.markdown import Markdown, code, joined, link, md, shortened, table, without_paths, words
from mqops_airflow.ui.table import PREFIX
from mqops_airflow.workflows import documentation

PLUGINS = Path(__file__).parents[2] / "plugins" / "mqops_airflow"
EXAMPLES = int(os.environ.get("MQOPS_MARKUP_EXAMPLES", "60"))
EVIL = (
    "![](/api/v2/auth/logout)",
    "[sign in](http://evil.example)",
    "http://evil.example/x",
    "see www.evil.example/x",
    "a@evil.example",
    "<http://evil.example>",
    "<img src=x onerror=alert(1)>",
    "`](http://evil.example)",
    "`` ![](x) ``",
    "` ![](x)",
    "\\`![](x)\\`",
    "x\n\n[x]: http://evil.example\n\n[x]",
    "x | ![](y) | `",
    "\n# ![](x)\n",
    "~~~\n![](x)",
    "[^1]\n\n[^1]: http://evil.example",
    "  ![](x)  ",
    "\u2028![](x)\x00\u202e",
    "{0}{x}%s$x",
)
OURS = "/mqops/plan?dag_id=d&run_id=r"


class Links(HTMLParser):
    """The links and pictures of a page, and where they lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"a", "img", "script", "svg", "iframe", "input"}:
            self.found.append(f"{tag} {dict(attrs).get('href') or dict(attrs).get('src')}")


AIRFLOW = MarkdownIt("gfm-like")
AIRFLOW.linkify.set({"fuzzy_link": True, "fuzzy_email": True})
AIRFLOW.linkify.tlds(["example"], True)


def links(text: str) -> list[str]:
    return Links(AIRFLOW.render(text)).found


def test_the_renderer_finds_what_there_is_to_find() -> None:
    assert [text for text in EVIL[:7] if not links(text)] == []


def plan(evil: str) -> tuple[PlanSummary, Preflight]:
    sample = Sample(row=0, msg_id=evil, put_at=evil, put_appl_name=evil, bytes=1, shape=evil)
    one = PlanCount(
        **{"rule_line": 1, "rule_key": evil, "action": evil, "reason": 1, "symbol": evil, "origin_q": evil},
        **{"origin_q_mgr": evil, "dest_q": evil, "dest_q_mgr": evil, "messages": 1, "bytes": 1, "oldest": evil},
        samples=(sample,),
    )
    made = PlanSummary(
        **{"run": evil, "workflow": "dlq_rules", "queue_manager": evil, "queue": evil, "table_source": evil},
        **{"table_digest": evil, "table_text": evil, "digest": evil, "observed": 1, "rows": 1, "bytes": 1},
        **{"rules": (), "counts": (one,), "counts_left_off": 0, "remarks": (evil,)},
    )
    wrong = [Finding(severity=kind, destination=evil, what=evil, remedy=evil) for kind in ("problem", "warning")]
    return made, Preflight(plan=evil, checked_at=evil, destinations=1, findings=tuple(wrong), remarks=(evil,))


def questions(evil: str) -> Iterator[str]:
    made, found = plan(evil)
    run = SimpleNamespace(run_id=evil, dag_id=evil, triggering_user_name=evil)
    _subject, body = plan_text.question(made, found, {"dag_run": run})  # Airflow shows the subject as text
    yield body
    yield plan_text.body(replace(made, workflow="undo", table_source=f"undo of run {evil}"), found)


@pytest.mark.parametrize("name", ["_PAY_", "__PAY.IN__", "A_B_C", "*PAY*", "MQRC_Q_FULL"])
def test_a_name_stands_whole_in_a_question(name: str) -> None:
    """Airflow renders the body as Markdown, which makes italics of what stands between underscores, and shows the
    subject as it is."""
    made, found = plan(name)
    run = SimpleNamespace(run_id=name, dag_id=name, triggering_user_name=name)
    subject, body = plan_text.question(made, found, {"dag_run": run})
    assert subject == f"{name}: do nothing (of 1 message of {name})?"
    shown = AIRFLOW.render(re.sub(r"\]\([^)]*\)", "]()", body))
    assert "<em>" not in shown
    assert shown.count(name) > 10
    assert name not in re.sub(r"<code>.*?</code>", "", shown)


def documents(evil: str) -> Iterator[str]:
    approval = Approval.model_construct(
        required=True, timeout=timedelta(1), auto_approve=AutoApprove.model_construct(actions=(evil,), max_messages=1)
    )
    common: dict[str, Any] = {"rules": evil, "queue": evil, "approval": approval, "unit_of_work": 1}
    yield documentation.dlq_rules_page(evil, DlqRules.model_construct(**common))
    backout = {**common, "queues": (evil,), "replay_cap": 1, "quarantine": evil}
    yield documentation.backout_reprocess_page(evil, BackoutReprocess.model_construct(**backout))
    yield documentation.snapshot_quality_page(evil, SnapshotQuality.model_construct(queues=(evil,), suites=(evil,)))
    scan = ExpiryScan.model_construct(queues=(evil,), interval=timedelta(1), recheck=timedelta(1))
    yield documentation.expiry_scan_page(evil, scan)
    monitor = TriggerMonitor.model_construct(queues=(evil,), unchanged_runs=2)
    yield documentation.trigger_monitor_page(evil, monitor, [evil])


def told(evil: str) -> Iterator[Markdown]:
    """The words of each kind of run for its note."""
    summary = RunSummary(run=evil, workflow="dlq_rules", queue_manager=evil, queue=evil, plan=evil, planned=1, left=1)
    for approved in (True, False):
        answer = Answer(approved=approved, by_id=evil, by=evil, at=evil)
        for acted in ("success", "skipped"):
            yield outcome_text.outcome_text(outcome_text.Ending(acted=acted, approved=evil, answer=answer), summary)
    for ending in ({"acted": evil, "stops": (evil,)}, {"acted": "skipped", "stopped_by_plan": evil}, {"acted": evil}):
        yield outcome_text.outcome_text(outcome_text.Ending(approved=evil, **ending), summary)
    names = {"run": evil, "queue_manager": evil, "queue": evil}
    dead = DeadLetterQueue(name=evil, before=0, after=3)
    yield expiry.in_words(ExpirySummary(**names, found=0, done=0, left=0, dead_letters=dead, by=evil))
    yield start_runs.Pass([evil], [evil], [evil], [SettingsError(evil)]).in_words()
    mends: Any = SimpleNamespace(mqsc=f"{evil}\n{evil}")
    failed = (Condition("T01", FAILS, evil, (mends,)), Condition("T02", UNKNOWN, evil))
    states = dict.fromkeys(("would_trigger", "stuck", "waiting", "at_work", "depth_type"), False)
    yield trigger_explain.answer(Explanation(queue=evil, queue_manager=evil, verdict=evil, conditions=failed, **states))


def places(evil: str) -> Iterator[str]:
    yield from questions(evil)
    yield from documents(evil)
    for text in told(evil):
        yield text
        yield shortened(without_paths(text), notes.LONGEST)


def foreign(text: str, own: str) -> list[str]:
    return [one for one in links(text) if not one.startswith(own)]


@pytest.mark.parametrize("evil", EVIL)
def test_no_place_of_text_of_others_makes_a_link_or_a_picture(evil: str) -> None:
    found = list(places(evil))
    assert len(found) > 25
    assert [text for text in found if foreign(text, f"a {PREFIX}/plan?dag_id=")] == []
    assert any(links(text) for text in found), "our own link is there"


TEXTS = st.lists(st.sampled_from(EVIL) | st.sampled_from("`|[]()!<>\\*_~# \n") | st.text(max_size=5), max_size=6).map(
    "".join
)


@settings(max_examples=EXAMPLES, deadline=None)
@example(texts=["![](/api/v2/auth/logout)a@evil.example["], longest=43)
@given(texts=st.lists(TEXTS, min_size=1, max_size=4), longest=st.integers(10, 300))
def test_code_stays_code_in_sentences_in_tables_and_where_it_is_cut(texts: list[str], longest: int) -> None:
    sentence = md("{}: {}. {} and {}", joined(", ", texts), code(texts[0]), link("The plan", OURS), words(texts[-1]))
    rows = table(("a", "b"), [(text, md("{}{}", text, text)) for text in texts])
    whole = md("{}\n\n{}", sentence, rows)
    for text in (sentence, rows, whole, shortened(whole, longest), without_paths(whole)):
        assert foreign(text, f"a {OURS}") == []
    assert links(sentence) == [f"a {OURS}"]
    assert len(shortened(whole, longest)) <= max(longest, 3)
    page = AIRFLOW.render(rows)
    assert page.count("<td>") == 2 * len(texts), "no text ends a cell or a row"


def test_words_and_numbers_stay_as_they_are_and_nothing_else_does() -> None:
    assert words("Dry run: 1,200 messages; 3 left") == "Dry run: 1,200 messages; 3 left"
    for text in ("a.b", "www.x.de", "a@b", "a_b", "1. x", "- x", "x ", "a:b", "é", "", *EVIL):
        assert words(text) == code(text)
    assert code("a`b|c") == "`a'b¦c`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`/srv/lake/QM1/runs/r/plan.json cannot be read`", "`…/plan.json cannot be read`"),
        ("`file:/srv/lake/x.parquet`", "`…/x.parquet`"),
        ("(/srv/lake) and '/etc/a/b'", "(…/lake) and '…/b'"),
        ("[Its plan](/mqops/plan?dag_id=d) and [x](http://a.b/mqops/plan)", None),
        ("3 of 4 and/or `DEFINE QLOCAL(A/B)` 2026/11/21 spark://host:7077", None),
    ],
)
def test_a_note_names_no_file_by_its_absolute_path(text: str, shown: str | None) -> None:
    assert without_paths(Markdown(text)) == (shown or text)


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


def of_ours(node: ast.expr) -> bool:
    """Whether it is a text that stands in the code: a constant, or the name of one."""
    match node:
        case ast.Constant(value=str() as text):
            return not re.search(r"`[^`\n]*\{[^`\n]*`", text)
        case ast.Name(id=name):
            return name.isupper()
        case ast.IfExp():
            return of_ours(node.body) and of_ours(node.orelse)
    return False


OF_OURS = {"md": 1, "joined": 1, "link": 1, "number": 3}
"""Function → which of its first arguments are words of ours."""


def test_markdown_is_made_of_constants_and_in_one_file() -> None:
    wrong, seen = [], 0
    for path in sorted(PLUGINS.rglob("*.py")):
        if path.name == "markdown.py":
            continue
        for name, node in calls(path):
            if name == "Markdown" and path.name != "notes.py":  # which reads what keep_for_note has written
                wrong.append(f"{path.name}:{node.lineno}")
            arguments = node.args[1:3] if name == "number" else node.args[: OF_OURS.get(name, 0)]
            seen += len(arguments)
            wrong += [f"{path.name}:{node.lineno}" for one in arguments if not of_ours(one)]
    assert wrong == []
    assert seen > 100


def test_a_log_has_no_link_of_others() -> None:
    log = re.compile(r"https?://[\w.-]+", re.ASCII)  # as Airflow's UI looks for them
    for evil in ("http://evil.example", "x(https://evil.example/)", "HTTP://x http://http://y"):
        assert not log.search(printable(evil))
    assert printable("spark://host:7077 at 10:00") == "spark://host:7077 at 10:00"


@pytest.mark.parametrize(
    "url",
    [
        *("/mqops/../api/v2/auth/logout", "/mqops/plan/../../x", "//evil.example/mqops/plan", "/mqops//evil.example"),
        *("/mqops/%2e%2e/x", "/mqops/plan/%2E%2E/%2e./x", "/mqops/plan/..%2f..%2fx", "/mqops/\\evil.example"),
        *("/mqops/plan/%5c%5cevil", "/mqops/%252e%252e/x", "/mqops/plan/.", "/mqops/plan/\t../x", "/mqops/", "/mqops"),
        *(
            "/mqops/unheard.of",
            "/mqopsx/plan",
            "http://evil.example/mqops/plan",
            "javascript:alert(1)",
            "/mqops/plan%00",
        ),
    ],
)
def test_a_note_on_our_pages_links_to_our_pages_only(url: str) -> None:
    assert not is_own_page(url)
    for text in (f"[x]({url})", f"[x](<{url}>)", f"<{url}>", f"[x]\n\n[x]: {url}"):
        assert Links(of_markdown(text)).found == []


def test_a_note_on_our_pages_keeps_the_links_to_them() -> None:
    run_id = "manual__2026-11-25T00%3A00%3A00%2B00%3A00"
    for url in (OURS, "/mqops/run", f"/mqops/data_docs/qm1_snapshot_quality/{run_id}/index.html", "/mqops/estate#a"):
        assert is_own_page(url)
        assert Links(of_markdown(f"[x]({url})")).found == [f"a {url}"]


def test_the_quality_note_has_our_link_alone() -> None:
    told: Any = SimpleNamespace(
        **{"failed": {EVIL[0]: 1}, "messages": {EVIL[0]: 1}, "balanced": True, "queues": (), "unseen": ()},
        not_checked=0,
        checks=[SimpleNamespace(suite=one, skipped=one, met=False) for one in EVIL],
        told=EVIL,
    )
    text = quality.in_words(told, "http://airflow.example/mqops/data_docs/d/r/index.html")
    assert links(text) == ["a http://airflow.example/mqops/data_docs/d/r/index.html"]
