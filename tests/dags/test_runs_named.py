"""A run is called by what it is, on every page: its key stands back (`mqops_airflow.pages.told`)."""

from __future__ import annotations

import re
from html import unescape

import pytest
from ledger_opened import act, act_undo, observe, prove
from mq_support import DLQ
from runs_on_pages import letters, planned, words_of

from mqops.clock import utc_now
from mqops.deciders.run import plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.lake.run import RunFolder
from mqops.look.run_row import run_line
from mqops.look.words.run_name import name_of
from mqops_airflow.ui.table import PAGES

KEY = re.compile(r'<(span|div) class="key"[^>]*>.*?</\1>|<code>.*?</code>|<pre.*?</pre>', re.DOTALL)
"""Where the key of a run may stand: small, and in a command."""
ESTATE = """\
lake: lake
queue_managers:
  QM1: {connection: mq_test, dlq_rules: {rules: qm1.rules}}
"""
OF_A_RUN = ("run", "plan", "messages", "quality", "snapshot_diff")


def sentences_of(page: str) -> str:
    """What a page says, without the places where keys may stand."""
    return words_of(KEY.sub(" ", page.replace("<wbr>", "")))


@pytest.fixture
def runs(manager, estate_folder) -> list[RunFolder]:
    """A run that moved messages, its undo, a later run, and an undo that waits."""
    (estate_folder / "estate.yaml").write_text(ESTATE)
    (estate_folder / "qm1.rules").write_text("DESTQ(A) ACTION(RETRY)\n")
    lake = estate_folder / "lake"
    letters(manager, "A", "A", "NO")
    first = planned(manager, lake)
    act(manager.connection, first)
    prove(manager.connection, first)
    undo, _plan = plan_run(UNDO, UndoRequest(connection=manager.connection, lake=lake, undoes=first))
    act_undo(manager.connection, undo)
    prove(manager.connection, undo)
    later = planned(manager, lake)
    act(manager.connection, later)
    prove(manager.connection, later)
    waits, _plan = plan_run(UNDO, UndoRequest(connection=manager.connection, lake=lake, undoes=later))
    return [first, undo, later, waits]


def test_a_remark_calls_runs_by_what_they_are_and_queues_by_their_names(manager, estate_folder, client) -> None:
    """Also where the key of a run is the name of a queue."""
    (estate_folder / "estate.yaml").write_text(ESTATE)
    for key, queues in (("A", [DLQ, "A"]), ("B", [DLQ])):
        observe(manager.connection, RunFolder.at(estate_folder / "lake", "QM1", key), queues)
    page = words_of(client("/snapshot_diff", queue_manager="QM1", run="B", old="A").text)
    assert re.search(r'not compared, only the run "[^"]*" has looked at: A(?!\S)', page), page


def test_no_sentence_of_a_page_has_the_raw_key_of_a_run(runs, client) -> None:
    pages: dict[str, str] = {}
    for page in PAGES:
        pages[page.name] = client(page.path, queue_manager="QM1").text
        for run in runs if page.name in OF_A_RUN else ():
            pages[f"{page.name} {run.run}"] = client(page.path, queue_manager="QM1", run=run.run).text
    listed = (
        pages[f"messages {runs[0].run}"] + client("/messages", queue_manager="QM1", run=runs[0].run, there="all").text
    )
    for query in sorted(set(re.findall(r'/messages/one\?([^"#]+)"', listed))):
        of = dict(one.split("=", 1) for one in unescape(query).split("&"))
        pages[f"one {query}"] = client("/messages/one", **of).text
    digests = set(re.findall(r"[?&;]old=([0-9a-f]{64})", pages["rules"]))
    for digest in digests:
        pages[f"rules {digest}"] = client("/rules", queue_manager="QM1", old=digest, workflow="dlq_rules").text
    assert digests
    assert sum(one.startswith("one ") for one in pages) >= 3
    raw = {
        (page, run.run): text[max(0, text.index(run.run) - 60) :][:120]
        for page, html in pages.items()
        for run in runs
        if run.run in (text := sentences_of(html))
    }
    assert raw == {}
    first, undo, later, _waits = (f'"{name_of(run_line(run), utc_now())}"' for run in runs)
    said = {page: words_of(html) for page, html in pages.items()}
    assert f"It is undone by run {undo}" in said[f"run {runs[0].run}"]
    assert f"It undoes run {first}" in said[f"run {runs[1].run}"]
    assert f"run {later}" in said["dead_letters"].partition("Since then")[2]
    assert f"undo {name_of(run_line(runs[2]))!r}".replace("'", '"') in said[f"plan {runs[3].run}"]
    assert f'<span class="key" title="{runs[0].run}">' in pages[f"run {runs[1].run}"]
