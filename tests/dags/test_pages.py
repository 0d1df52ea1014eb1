"""The pages on Airflow's real API application: who may see them, headers, and hostile names in them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mq_support import DLQ, Manager, create, dead_letter

from mqops_airflow.roles import ROLES
from mqops_airflow.ui.table import PAGES

ASK = Path(__file__).with_name("pages_by_hand.py")
HOSTILE = "<script>alert(1)</script>"
ESTATE = """\
lake: lake
queue_managers:
  QM1: {connection: mq_test, dlq_rules: {rules: qm1.rules}, snapshot_quality: {suites: [s.yaml]}}
  GONE: {connection: mq_gone, dlq_rules: {rules: qm1.rules}}
  FILE: {connection: mq_FILE, dlq_rules: {rules: qm1.rules}}
"""
WITHOUT_LAKE = ("triggers",)
"""Pages that read nothing of the lake: they are shown where it cannot be read."""
SILENT = [f"SILENT{number}" for number in range(10)]
"""Queue managers whose command servers do not answer: each question to them takes many seconds."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, airflow_database: Path) -> dict[str, Any]:
    """What Airflow answers to everybody, asked by one process."""
    folder = tmp_path_factory.mktemp("pages")
    manager = create(folder / "queue_managers", "QM1", f"ALTER QLOCAL({DLQ}) MAXDEPTH(3)\nDEFINE QLOCAL(A)\n")
    manager.put(DLQ, [dead_letter("A", b"x")] * 3)
    silent = "".join(f"  {name}: {{connection: mq_{name}, dlq_rules: {{rules: qm1.rules}}}}\n" for name in SILENT)
    (folder / "estate.yaml").write_text(ESTATE + silent)
    (folder / "qm1.rules").write_text("ACTION(RETRY)\n")
    (folder / "airflow").mkdir()
    shutil.copy(airflow_database, folder / "airflow" / "airflow.db")
    runs = folder / "lake" / "QM1" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    (folder / "lake").chmod(0o700)
    (folder / "lake" / "QM1").chmod(0o700)
    run = runs / "hostile"
    run.mkdir(mode=0o700)
    observed = {"run": "hostile", "queue_manager": "QM1", "observed_at": "2026-01-02T03:04:05Z"}
    observed |= {"messages": 7, "bytes": 7, "queues": [{"queue": HOSTILE, "messages": 7, "bytes": 7}]}
    (run / "observe.json").write_text(json.dumps(observed))
    (folder / "lake" / "FILE").write_text("a file where the folder should be")
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "MQOPS_ESTATE": str(folder / "estate.yaml"),
        "AIRFLOW__CORE__AUTH_MANAGER": "mqops_airflow.roles.RolesAuthManager",
        **{
            f"AIRFLOW_CONN_MQ_{of}": json.dumps(
                {"conn_type": "mq", "extra": {"queue_manager": name, "home": str(manager.home)}}
            )
            for of, name in (("TEST", "QM1"), *((name, name) for name in ("FILE", *SILENT)))
        },
    }
    environment.pop("MQOPS_LAKE", None)
    for name in ("FILE", *SILENT):
        shutil.copytree(manager.home / "QM1", manager.home / name)
    for name in SILENT:
        quiet = "ALTER QLOCAL(SYSTEM.ADMIN.COMMAND.QUEUE) GET(DISABLED)\n"
        Manager(name, manager.home).mqsc(quiet)
    done = subprocess.run([sys.executable, str(ASK)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found: dict[str, Any] = json.loads((folder / "airflow" / "answers.json").read_text())
    return found


def test_every_route_wants_a_login(answers: dict[str, Any]) -> None:
    assert {f"/mqops{page.path}" for page in PAGES} <= set(answers["routes"])
    assert {path: answers["nobody"][path]["status"] for path in answers["routes"]} == dict.fromkeys(
        answers["routes"], 401
    )


@pytest.mark.parametrize("role", ROLES)
def test_each_role_sees_every_page(answers: dict[str, Any], role: str) -> None:
    """What is about a run or a message answers 404 or 422 where the address names none."""
    seen = {path: answers[role][path]["status"] for path in answers["routes"]}
    alone = {f"/mqops/{page.name}" for page in PAGES if page.in_menu} | {"/mqops/estate/live"}
    assert {path: seen[path] for path in alone} == dict.fromkeys(alone, 200)
    assert set(seen.values()) <= {200, 307, 404, 422}


def test_a_page_without_anything_to_show_says_so(answers: dict[str, Any]) -> None:
    said = {path: answer["text"] for path, answer in answers["viewer"].items() if path.endswith("=GONE")}
    assert len(said) == sum(page.in_menu for page in PAGES)
    for path, text in said.items():
        told = 'class="empty"' in text or "does not answer: " in text or "Hits are those of 0 runs" in text
        assert told, f"{path}: where nothing is known of a queue manager, a page says so, by the macro `empty`"


def test_a_page_that_cannot_be_made_says_why(answers: dict[str, Any]) -> None:
    for path, answer in answers["viewer"].items():
        if path.endswith("=FILE"):
            name = path.removeprefix("/mqops/").partition("?")[0]
            told = "FILE is not a folder, or it is a link to one" in answer["text"] or name in WITHOUT_LAKE
            assert told, f"{path}: a page whose lake cannot be read says why, or is one of WITHOUT_LAKE"
            assert answer["status"] == (200 if name in ("estate", *WITHOUT_LAKE) else 503), path
    incomplete = answers["viewer"]["/mqops/messages/one"]
    assert incomplete["status"] == 422
    assert "This address is not complete" in incomplete["text"]
    assert "msg_id: Field required" in incomplete["text"]


def test_without_the_right_every_page_refuses(answers: dict[str, Any]) -> None:
    pages = [path for path in answers["routes"] if "/static/" not in path and path != "/mqops/"]
    assert {path: answers["none"][path]["status"] for path in pages} == dict.fromkeys(pages, 403)
    assert answers["viewer"]["/mqops/estate?queue_manager=OTHER"]["status"] == 403


def test_the_browser_is_told_what_it_may_do(answers: dict[str, Any]) -> None:
    for role in ("nobody", "none", "viewer"):
        for path, answer in answers[role].items():
            policy = answer["headers"]["content-security-policy"]
            assert "default-src 'none'" in policy, path
            assert "unsafe-inline" not in policy or "data_docs" in path, path
            assert answer["headers"]["x-content-type-options"] == "nosniff", path
            assert "no-store" in answer["headers"]["cache-control"] or "/static/" in path, path


def test_the_estate_says_what_is_wrong(answers: dict[str, Any]) -> None:
    text = answers["viewer"]["/mqops/estate"]["text"]
    assert f"{DLQ} is 100 % full" in text
    assert f"{DLQ}, the dead-letter queue, has 3 messages" in text
    assert "The queue manager does not answer: there is no Airflow connection &#39;mq_gone&#39;" in text
    gone = answers["viewer"]["/mqops/estate?queue_manager=GONE"]["text"]
    assert 'There is no run yet. Start one from <a href="/dags?tags=' in gone
    assert "No figures are known: the queue manager has not answered so far." in gone


def test_the_first_run_is_started_from_the_page_that_it_fills(answers: dict[str, Any]) -> None:
    text = answers["operator"]["/mqops/dead_letters?queue_manager=QM1"]["text"]
    assert "No run has looked at the dead-letter queue of QM1 yet" in text
    assert "it reads the queue, moves nothing, and takes 20 seconds to a minute" in text
    assert 'data-starts="qm1_dlq_rules"' in text


def test_without_a_quality_run_the_page_starts_one_or_says_what_is_missing(answers: dict[str, Any]) -> None:
    text = answers["operator"]["/mqops/quality?queue_manager=QM1"]["text"]
    assert "No quality run has checked messages of QM1 yet." in text
    assert 'href="/dags/qm1_snapshot_quality"' in text
    assert 'data-starts="qm1_snapshot_quality"' in text
    text = answers["viewer"]["/mqops/quality?queue_manager=GONE"]["text"]
    assert "the estate has no snapshot_quality for it" in text
    assert "data-starts" not in text


def test_ten_queue_managers_that_do_not_answer_delay_nothing(answers: dict[str, Any]) -> None:
    text = answers["first"]["text"]
    for name in SILENT:
        lines = [part for part in text.split('<li class="problem note">') if f">{name}</a>" in part.split("</li>")[0]]
        assert any("has not answered yet: it was asked" in one for one in lines)  # and not what its call says at last
        assert not re.search(f'<li class="problem bad">[^<]*<a[^>]*>{name}</a>', text)  # it may answer yet
    assert "The queue manager has not answered yet: it was asked" in answers["silent triggers"]["text"]
    assert "data-awaited" in answers["silent triggers"]["text"]  # so that the page asks again


def test_a_lake_that_cannot_be_read_is_a_problem_of_its_queue_manager(answers: dict[str, Any]) -> None:
    text = answers["viewer"]["/mqops/estate"]["text"]
    assert "The lake cannot be read, so nothing may act: " in text
    assert "FILE is not a folder, or it is a link to one: remove it" in text
    assert "What expires cannot be told" not in text  # one cause is one problem


def test_names_of_others_are_text(answers: dict[str, Any]) -> None:
    text = answers["viewer"]["/mqops/estate?queue_manager=QM1"]["text"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for answer in answers["viewer"].values():
        assert HOSTILE not in answer["text"]


def test_the_menu_entry_and_the_tabs_lead_to_routes(answers: dict[str, Any]) -> None:
    views = answers["views"]
    assert {view["destination"] for view in views} >= {"nav", "dag", "dag_run", "task_instance"}
    assert {view["href"].partition("?")[0] for view in views} <= set(answers["routes"])
    for view in views:
        if icon := view.get("icon"):
            assert answers["viewer"][icon]["status"] == 200
