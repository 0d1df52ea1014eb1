"""Whatever a message, a run, a note or a field of a page says, no page breaks."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mq_support import DLQ, create, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import plan_run
from mqops.errors import SettingsError
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, stop
from mqops.look.core.criteria import criteria
from mqops.rules import parse
from mqops_airflow.pages.render import line_of_markdown, of_markdown
from mqops_airflow.pages.shown import dated, moment, since
from mqops_airflow.ui.table import PAGES

EXAMPLES = int(os.environ.get("MQOPS_PAGES_EXAMPLES", "8"))
EARLY, LATE = "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"
"""Times that no clock shows in UTC."""
TEXTS = st.one_of(
    st.sampled_from(
        [
            *(
                EARLY,
                LATE,
                f"x {EARLY}",
                "0000-00-00T00:00:00Z",
                "9999-99-99T99:99:99+99:99",
                "\u0662\u0660\u0662\u0666",
            ),
            *("", "-1", "1e999", "nan", "9" * 400, "{", "{0}", "%s", "%", "[x](/mqops/../x)", "<svg onload=x>", "\x00"),
            *("`", "|", "\u2028", "\U0001f600", "AGE(>999999999999999999d)", "2026-11-26T00:00:00Z"),
        ]
    ),
    st.text(max_size=20),
)
FIELD = re.compile(r"(?:at|why|by|run|remarks|table_source|symbol|origin_q|dest_q|oldest|put_appl_name|shape|msg_id)")


@pytest.fixture
def run(tmp_path: Path, estate_folder: Path) -> RunFolder:
    """A run of the lake, planned on a message whose destination is no time."""
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter(EARLY, b"x"), dead_letter("A", b"y")])
    text = "ACTION(RETRY)\n"
    table = parse(text).table
    assert table
    made, _plan = plan_run(
        DEAD_LETTERS,
        DeadLetterRequest(
            connection=manager.connection, lake=estate_folder / "lake", table=table, text=text, queue=DLQ
        ),
    )
    return made


def pages(run: RunFolder) -> list[tuple[str, dict[str, str]]]:
    """The pages that show a run or its messages, and the estate."""
    of_run = {"queue_manager": "QM1", "run": run.run}
    return [("/estate", {}), ("/run", of_run), ("/run/live", of_run), ("/plan", of_run), ("/messages", of_run)]


def statuses(client: Any, asked: list[tuple[str, dict[str, str]]]) -> dict[str, int]:
    return {path: client(path, "operator", **query).status_code for path, query in asked}


def test_a_time_that_is_none_in_a_message_or_a_reason_of_a_stop_is_shown_as_it_is(run: RunFolder, client: Any) -> None:
    stop(run.lake_folder, Stop(by="carol", at="2026-11-21T12:00:00Z", why=f"since {EARLY}"))
    assert set(statuses(client, pages(run)).values()) == {200}
    assert EARLY in re.sub(r"<[^>]*>", "", client("/plan", queue_manager="QM1", run=run.run).text)
    assert f"since {EARLY}" in client("/estate", queue_manager="QM1").text


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
@example(text=EARLY)
@example(text=LATE)
def test_every_filter_of_the_pages_takes_every_text(text: str) -> None:
    assert text.strip() == "" or str(dated(text))
    for shown in (moment, since, of_markdown, line_of_markdown):
        shown(text)


def replaced(value: Any, text: str) -> Any:
    """A JSON value with the text in place of what came with a message or from a person."""
    if isinstance(value, dict):
        return {
            name: text if isinstance(one, str) and FIELD.fullmatch(name) else replaced(one, text)
            for name, one in value.items()
        }
    return [replaced(one, text) for one in value] if isinstance(value, list) else value


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS, at=st.sampled_from(["why", "by"]))
def test_any_text_in_a_run_or_a_stop_breaks_no_page(run: RunFolder, client: Any, text: str, at: str) -> None:
    kept = run.path.parent.parent / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(run.path, kept)
    try:
        plan = json.loads(run.plan_json.read_text())
        write_json(run.plan_json, {**plan, "counts": replaced(plan["counts"], text), "remarks": [text]})
        words = {"by": "carol", "why": "", at: text}
        stop(run.lake_folder, Stop(at="2026-11-21T12:00:00Z", **words))
        assert max(statuses(client, pages(run)).values()) < 500
    finally:
        shutil.rmtree(run.path)
        kept.rename(run.path)


FIELDS = ("queue", "run", "after", "where", "since", "until", "msg_id", "property", "value", "text", "format", "before")
PATHS = sorted({page.path for page in PAGES})


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS, field=st.sampled_from(FIELDS))
@example(text=EARLY, field="since")
@example(text=LATE, field="until")
def test_any_text_in_a_field_of_a_page_breaks_no_page(run: RunFolder, client: Any, text: str, field: str) -> None:
    asked = [
        (path, {"queue_manager": "QM1", **({"run": run.run} if path == "/messages" else {}), field: text})
        for path in PATHS
    ]
    assert max(statuses(client, asked).values()) < 500


@pytest.mark.parametrize("text", [EARLY, LATE])
def test_a_filter_by_a_time_that_is_none_in_UTC_is_refused(text: str) -> None:
    from datetime import datetime  # noqa: PLC0415

    with pytest.raises(SettingsError, match="in UTC: give another time"):
        criteria(since=datetime.fromisoformat(text))
