"""The pages Dead letters, Messages and Triggers: routes on Airflow's own login, over the lake of genuine runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pymqi
import pytest
from click.testing import CliRunner
from ledger_opened import observe, prove
from mq_support import DLQ, Manager, create, dead_letter, one_file_a_message, until
from page_text import compared
from process_ended import ended
from pymqi import CMQC
from runs_on_pages import said_of, words_of

from mqops.cli import main
from mqops.counted import counted
from mqops.decide.in_process import decide
from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.deciders.undo import UNDO, UndoRequest
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder
from mqops.look.core.laid_out import laid_out
from mqops.look.estate import expiring
from mqops.look.history import history
from mqops.message_checks import NOTHING, CheckResult, QualitySummary, QueueQuality
from mqops.mq import connection
from mqops.quality.results import keep
from mqops.quality.trend import quality_runs
from mqops.rules import parse
from mqops_airflow.pages import answers, estate, managers_now, message_one, messages, rules, searches, shared, triggers
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2

MARKUP = "<script>alert(1)</script>"
RULES = f"DESTQ(FULL) ACTION(RETRY) RETRY(2)\nDESTQ(PAY*) ACTION(FWD) FWDQ(A)\n* {MARKUP}\n"
RULES += "DESTQ(NEVER.SEEN) +\n      ACTION(RETRY)\n"
ADDRESSES = (
    "/dead_letters",
    "/messages",
    "/messages?reason=MQRC_Q_FULL",
    "/triggers",
    "/triggers?queue=TRIGGERED",
    "/rules",
    "/expiry",
)
OF_ALL = ("dead_letters", "triggers", "expiry", "quality")
"""Pages that show all queue managers where none is named."""
ROLES = ("viewer", "operator", "approver", "admin")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, airflow_database: Path) -> Any:
    """A client of the pages, over a lake with two runs and a message whose every text is markup."""
    with pytest.MonkeyPatch.context() as patch:
        yield _site(tmp_path_factory.mktemp("pages"), patch)


def _site(base: Path, patch: pytest.MonkeyPatch) -> Any:
    home, lake = base / "queue_managers", base / "lake"
    home.mkdir()
    (base / "t.rules").write_text(RULES)
    (base / "back.rules").write_text("DESTQ(B*) ACTION(FWD) FWDQ(&ORIGQ)\n")
    backout = {"rules": "back.rules", "quarantine": "Q"}
    section = {
        **{"connection": "mq_qm1", "reveal": ["viewer"]},
        **{"dlq_rules": {"rules": "t.rules"}, "backout_reprocess": backout},
    }
    managers = {"QM1": section, "QM2": {"connection": "mq_qm2"}}
    (base / "estate.yaml").write_text(json.dumps({"lake": str(lake), "queue_managers": managers}))
    patch.setenv("MQLITE_HOME", str(home))
    patch.setenv("MQOPS_ESTATE", str(base / "estate.yaml"))
    patch.setenv("MQOPS_LAKE", str(lake))
    for name in managers:
        patch.setenv(f"AIRFLOW_CONN_MQ_{name}", json.dumps({"conn_type": "mq", "extra": {"queue_manager": name}}))
    create(home, "QM2", mqsc="DEFINE QLOCAL(POISONED)\n").put(DLQ, [dead_letter("A", b"x")])
    patch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "mqops_airflow.roles.RolesAuthManager")
    patch.setattr(answers, "WAIT", 60.0)  # a page has every answer, however busy the machine is
    patch.setenv(
        "AIRFLOW__API_AUTH__JWT_SECRET",
        "a secret of this test, which is long enough for a signature by HMAC and SHA-512",
    )
    manager = create(
        home,
        mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(FULL) PUT(DISABLED)\nDEFINE QLOCAL(TRIGGERED) TRIGGER INITQ(NONE)\n",
    )
    usr = folder("usr", {"note": MARKUP, "country": "DE"})
    dry = None
    mcd = "<mcd content='properties onfocus=alert(2)'><Msd>jms_text</Msd></mcd>"
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(usr, mcd, "<<jms>")
    hostile = header.pack() + MARKUP.encode()
    manager.put(DLQ, [dead_letter("FULL", b"IBAN DE89"), dead_letter("PAY.IN", b"moved"), ({"Expiry": 36000}, b"soon")])
    for text in (RULES, "DESTQ(FULL) ACTION(RETRY)\n", RULES):
        request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text)
        run, plan = plan_run(DEAD_LETTERS, request)
        if not dry:
            dry = prove(manager.connection, run)  # as the last task of a dry run
            continue
        carry_out(DEAD_LETTERS, request, run, plan)
        names = {"inner": ("MQHRF2", 546, 1208), "PutApplName": MARKUP[:28], "UserIdentifier": "<b>u</b>"}
        manager.put(DLQ, [dead_letter("<img src=x>", hostile, dest_q_mgr="<b>QM</b>", **names)])
    manager.put(DLQ, [dead_letter("FULL", b"after all runs")])
    assert dry
    assert dry.planned == 3
    from airflow.api_fastapi.app import create_auth_manager, get_auth_manager  # noqa: PLC0415
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415
    from fastapi.testclient import TestClient  # noqa: PLC0415

    from mqops_airflow.pages.routes import application  # noqa: PLC0415

    create_auth_manager()
    _quality(lake, run.run)
    client = TestClient(application(), raise_server_exceptions=False)

    def ask(address: str, role: str = "viewer", name: str = "", *, method: str = "GET", **form: str) -> Any:
        """What a page answers. Parameters: `form` that is sent to it, field → text."""
        headers = {}
        if role:
            user = SimpleAuthManagerUser(username=name or role, role=role)
            headers["Authorization"] = f"Bearer {get_auth_manager().generate_jwt(user)}"
        if address.lstrip("/") in OF_ALL:  # of one queue manager where a test names none
            address += "?queue_manager=QM1"
        return compared(client.request("POST" if form else method, address, headers=headers, data=form or None))

    return ask


def _quality(lake: Path, run: str) -> None:
    """The summary and the table of failures of a quality run, as one writes them."""
    folder_of = lake / "QM1" / "runs" / run / "quality"
    (folder_of / "failures").mkdir(parents=True)
    row = {"queue_manager": "QM1", "queue": DLQ, "position": 0, "msg_key": "k", "msg_id": "00" * 24, "suite": "s"}
    row |= {"expectation": "e", "severity": "critical", "tolerated": False, "observed": MARKUP}
    old = {"expectation": "old", "severity": "info", "observed": "1731600.0"}
    rows = [row, *({**row, **old, "msg_id": f"{number:048x}"} for number in range(1, 205))]
    pq.write_table(pa.Table.from_pylist(rows), folder_of / "failures" / "part.parquet")
    check = CheckResult(
        suite="s",
        expectation="e",
        expect="column_values_to_be_in_set",
        why="nobody knows",
        columns=("format",),
        severity="critical",
        met=False,
        checked=3,
        failed=1,
    )
    length = replace(
        check, expectation="long", expect="column_value_lengths_to_be_between", limits="at least 1", met=True, failed=0
    )
    unseen = replace(length, expectation="unseen", checked=0, where="dlh_valid = true", why="")
    none = {"expectation": "none", "expect": "column_max_to_be_between", "failed": None}
    aggregate = replace(unseen, **none, limits="5")  # as Great Expectations says it of no messages
    typo = replace(unseen, expectation="typo", met=False, failed=None, skipped="looked at no message: no queue fits")
    old = replace(check, expectation="old", severity="info", expect="column_values_to_be_between")
    old = replace(old, columns=("age_seconds",), failed=204, why="")
    checks = (replace(check, limits="MQSTR, MQDEAD"), length, unseen, replace(aggregate, observed="None"), typo, old)
    failed = {"critical": 1, "warning": 0, "info": 0}
    summary = QualitySummary(
        run=run, queue_manager="QM1", queue=DLQ, found=3, done=2, left=1, failed=failed, checks=checks,
        failures=str(folder_of / "failures"), checked_at="2026-01-01T00:00:00+00:00", suites=("s",),
        told=("suite s: no queue fits PAYMNTS.*",), not_checked=1,
        queues=(QueueQuality(queue="NOT.LOOKED.AT", found=5, done=4, left=0, not_checked=1),),
    )  # fmt: skip
    (folder_of / "quality.json").write_text(json.dumps(summary.to_json()))
    other = replace(
        summary, check="20260102T000000.000000-00000000", suites=("t",), checks=(replace(length, suite="t"),),
        failed=dict(NOTHING), failures="", checked_at="2026-01-02T00:00:00+00:00", queues=(), not_checked=0, told=(),
    )  # fmt: skip
    run_folder = RunFolder.at(lake, "QM1", run)
    (run_folder.quality_checks / other.check).mkdir(parents=True)
    (run_folder.quality_checks / other.check / "quality.json").write_text(json.dumps(other.to_json()))
    keep(run_folder, other)


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_route_wants_a_login_and_a_right(site: Any, address: str) -> None:
    assert site(address, "").status_code == 401
    assert site(address, "nobody").status_code == 403
    assert [site(address, role).status_code for role in ROLES] == [200] * 4
    assert site(f"{address}{'&' if '?' in address else '?'}queue_manager=OTHER").status_code == 403


def test_dead_letters_are_shown_by_group_with_what_the_table_would_do(site: Any) -> None:
    text = site("/dead_letters").text.replace("<wbr>", "")
    assert "line 1</a>: RETRY to FULL@QM1" in text
    assert "no rule" in text
    assert "<svg" in text
    assert 'data-starts="qm1_dlq_rules"' in site("/dead_letters", "operator").text
    assert "You may not start qm1_dlq_rules" in text


def test_dead_letters_of_a_run_stand_beside_those_of_now(site: Any) -> None:
    text = site("/dead_letters").text
    assert "<strong>4</strong> messages then" in text
    assert "<strong>5</strong> now" in text
    text = site("/dead_letters?queue_manager=QM2").text
    assert "No run has looked at the dead-letter queue of QM2, and the estate has no dlq_rules for it" in text
    assert f">{DLQ}</strong> has 1 message." in text


def test_dead_letters_of_before_a_run_are_not_those_of_now(site: Any) -> None:
    """The run that took the snapshot has moved 1 of the 4 messages since."""
    text = re.sub(r"<[^>]*>", "", site("/dead_letters").text)
    assert re.search(
        r"Since then: run &#34;dead letters of QM1, [^;]+&#34; cli-\S+ moved 1 message, discarded 0 and left 3\.", text
    )
    assert "Below is what these runs have left. What came to the queue since" in text
    assert "What it is made of" in text
    assert "3 of them left by runs" in text
    assert "PAY." not in text
    assert "FULL@QM1" in text
    assert "Growth" not in text
    assert "the run of" not in text


def test_dead_letters_come_in_as_soon_as_a_run_has_looked(site: Any) -> None:
    assert "No run has looked" in site("/dead_letters/live?queue_manager=QM2").text
    page = site("/dead_letters?queue_manager=QM2").text
    assert 'data-live="/dead_letters/live?queue_manager=QM2"' in page
    lake = Path(os.environ["MQOPS_LAKE"])
    manager = Manager("QM2", Path(os.environ["MQLITE_HOME"]))
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(RULES).table, text=RULES)
    first, _second = (plan_run(DEAD_LETTERS, request)[0] for _ in range(2))
    try:
        until(lambda: "No run has looked" not in site("/dead_letters/live?queue_manager=QM2").text)
        text = site("/dead_letters/live?queue_manager=QM2").text
    finally:
        for path in (lake / "QM2" / "anatomy").glob("*"):
            path.unlink()
    assert "<h2>What it is made of</h2>" in text
    assert re.search(f'as many as in <a href="/run[^"]*run={first.run}">the run of <time', text)
    assert ">Growth</th>" in text
    assert "<html" not in text


@pytest.fixture
def fuller(tmp_path: Path, estate_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    """A queue manager whose REALLY.DEAD.QUEUE, as a quality run saw it last, is fuller than its dead-letter queue. The
    rules table moves all to it."""
    manager = create(tmp_path / "home", "QM1", "DEFINE QLOCAL(REALLY.DEAD.QUEUE)\n")
    monkeypatch.setenv("MQLITE_HOME", str(tmp_path / "home"))
    connection = {"conn_type": "mq", "extra": {"queue_manager": "QM1"}}
    monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps(connection))
    text = (estate_folder / "qm1.rules").read_text()
    table = parse(text).table
    assert table
    request = DeadLetterRequest(connection=manager.connection, lake=estate_folder / "lake", table=table, text=text)
    for queue, number in (("REALLY.DEAD.QUEUE", 2), (DLQ, 1)):
        manager.put(queue, [dead_letter("A", b"x")] * number)
        plan_run(DEAD_LETTERS, replace(request, queue=queue))
    return manager


def test_dead_letters_are_those_of_the_dead_letter_queue_though_another_is_fuller(
    client: Any, fuller: Manager, estate_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def preset(**query: str) -> str:
        page = client("/dead_letters", "operator", queue_manager="QM1", **query).text
        (field,) = re.findall('name="queue" value="([^"]*)"', page)
        assert f'<p>Queue <strong class="name">{field}</strong>' in page
        return str(field)

    until(lambda: preset() == DLQ)
    assert preset(queue="REALLY.DEAD.QUEUE") == "REALLY.DEAD.QUEUE"
    with monkeypatch.context() as patch:  # nothing has ever answered: the queue of the newest dead-letter run
        patch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps({"conn_type": "mq", "extra": {"queue_manager": "ELSE"}}))
        patch.setattr(estate.ANSWERS, "kept", 0.0)
        (estate_folder / "lake" / "QM1" / "last_seen.json").unlink(missing_ok=True)
        assert preset() == DLQ
    (estate_folder / "lake" / "QM1" / "anatomy").rename(estate_folder / "away")
    until(lambda: "No run has looked" in client("/dead_letters", queue_manager="QM1").text)
    for query in ({}, {"queue": DLQ}):  # as the menu leads there, and as a problem of the estate does
        page = client("/dead_letters", "operator", queue_manager="QM1", **query).text
        assert '<a href="#handle">Make a dry run</a>' in page
        assert '<h2 id="handle">' in page
        assert f'name="queue" value="{DLQ}"' in page


def test_growth_is_written_as_all_numbers_are(client: Any, fuller: Manager, estate_folder: Path) -> None:
    manager, text = fuller, (estate_folder / "qm1.rules").read_text()
    manager.put(DLQ, [dead_letter("A", b"x")] * 1200)
    table = parse(text).table
    assert table
    plan_run(
        DEAD_LETTERS,
        DeadLetterRequest(connection=manager.connection, lake=estate_folder / "lake", table=table, text=text),
    )
    page = client("/dead_letters", queue_manager="QM1", queue=DLQ).text
    assert "<strong>1,200</strong> more than in <a " in page
    assert '<td class="number">+1,200</td>' in page


def test_groups_that_are_gone_are_counted_and_have_no_row(client: Any, fuller: Manager, estate_folder: Path) -> None:
    manager, text = fuller, (estate_folder / "qm1.rules").read_text()
    table = parse(text).table
    assert table
    lake = estate_folder / "lake"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=table, text=text)
    manager.mqsc(f"CLEAR QLOCAL({DLQ})\n")
    manager.put(DLQ, [dead_letter(name, b"x") for name in ("B", "C", "C")])
    plan_run(DEAD_LETTERS, request)
    manager.mqsc(f"CLEAR QLOCAL({DLQ})\n")
    manager.put(DLQ, [dead_letter("C", b"x")])
    plan_run(DEAD_LETTERS, request)
    page = client("/dead_letters", queue_manager="QM1", queue=DLQ).text
    assert "<strong>2</strong> fewer than in <a " in page
    assert "<p>1 group is gone since then: 1 message.</p>" in page
    assert len(re.findall('<tr><th scope="row">', page)) == 1


def test_a_rule_that_moves_to_the_queue_it_takes_from_says_so(client: Any, fuller: Manager) -> None:
    said = "messages come back to the queue they are taken from. Name another queue (FWDQ) in a rule for them"
    assert said in client("/dead_letters", queue_manager="QM1", queue="REALLY.DEAD.QUEUE").text
    assert said not in client("/dead_letters", queue_manager="QM1", queue=DLQ).text


def test_text_of_messages_never_becomes_markup(site: Any) -> None:
    (link,) = [
        unescape(one.split('"')[0])
        for one in site("/messages", where="DESTQ('<img*')").text.split('href="')
        if one.startswith("/messages/one")
    ]
    for address in (
        "/dead_letters",
        "/messages",
        "/rules",
        link,
        ("/messages", {"text": "<script>"}),
        ("/messages", {"where": "<script>"}),
    ):
        answer = site(address) if isinstance(address, str) else site(address[0], **address[1])
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert "<b>" not in answer.text
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    shown = site(link).text
    assert "&lt;img src=x&gt;" in shown
    assert "alert(1)" not in shown  # it is payload, which is masked
    assert 'aria-label="Folder mcd content=&#34;properties onfocus=alert(2)&#34;"' in shown
    assert "Folder jms at offset " in shown
    assert "is not valid, so it has no properties" in shown


def test_a_message_is_whole_with_rules_and_history_and_its_payload_masked(site: Any) -> None:
    text = site("/messages?dest_q=FULL").text
    link = unescape(next(one for one in text.split('href="') if one.startswith("/messages/one")).split('"')[0])
    shown = site(link).text
    for part in (
        "MQDLH",
        "MQRC_Q_FULL",
        "chosen",
        "DESTQ wants PAY*, the message has FULL",
        "MQRC_PUT_INHIBITED",
        "xxxx xx99",
        "By its MQDLH, where it was to go, and why it is here: queue <",
        f'UTC</time> on <span class="name">{DLQ}</span> by run',
        ": it was there, and still at <time",
        "</time>, when a try to move it failed.",
        "failed MQRC_PUT_INHIBITED",
    ):
        assert part in shown.replace("<wbr>", ""), part
    assert re.search(r'at <strong class="name">[0-9-]{10} [0-9:]{8}</strong>', shown)
    assert "DE89" not in shown
    assert "Text and hexadecimal are of the first" not in shown
    assert shown.index("Last seen") > shown.index("<h2>History</h2>")
    assert "acted" not in shown
    assert "--reveal" in shown
    assert 'data-copy="' in shown
    (fixed,) = re.findall('data-starts="mq_recover" data-fixed="([^"]*)"', site(link, "operator").text)
    assert json.loads(unescape(fixed)).keys() == {"queue_manager", "dry_run", "queue", "message_ids"}
    moved = unescape(next(one for one in site("/messages?dest_q=PAY*").text.split('href="') if "msg_id=" in one))
    moved = moved.split('"')[0]
    assert "<td>moved </td>" in site(moved).text
    assert "data-starts" not in site(moved, "operator").text  # it is there no longer
    refused = site(link, "operator").text
    said = "You may not see the data. The setting reveal of QM1 in the estate does not name you (operator). It is for "
    said += "viewer; no role gives this right, that of an administrator neither. Ask one of them, or the administrator"
    assert said in unescape(refused)
    assert os.environ["MQOPS_ESTATE"] not in refused
    assert "--reveal" not in refused
    assert 'id="reveal"' not in refused


HOSTILE = b"<script>alert(1)</script>\0\x1b[2J\xe2\x80\xae" + b"y" * 70_000


@pytest.fixture
def letter(site: Any, request: pytest.FixtureRequest) -> dict[str, str]:
    """A message of QM1 with hostile data that a run has recorded and that is on its queue: the fields of its form."""
    manager, lake = Manager("QM1", Path(os.environ["MQLITE_HOME"])), Path(os.environ["MQOPS_LAKE"])
    queue = f"R.{abs(hash(request.node.name)) % 10**8}"
    manager.mqsc(f"DEFINE QLOCAL({queue})\n")
    (msg_id,) = manager.put(queue, [({"Format": "MQSTR", "CodedCharSetId": 1208}, HOSTILE)])
    run = RunFolder.at(lake, "QM1", f"of-{queue}")
    observe(manager.connection, run, [queue])
    found = {"queue_manager": "QM1", "run": run.run, "queue": queue, "msg_id": msg_id.hex()}
    yield {**found, "why": "a customer <b>asks</b>"}
    shutil.rmtree(run.path)


def revealed(msg_id: str) -> list[tuple[str, str, str, str, str]]:
    """What the ledger says of who has seen a message."""
    found = history(Path(os.environ["MQOPS_LAKE"]), msg_id).events
    return [(one.action, one.requested_by, one.comment, one.queue, one.run) for one in found]


@pytest.mark.parametrize("source", ["run", "queue"])
def test_a_message_is_revealed_with_a_reason_that_stands_in_the_ledger(site: Any, letter: Any, source: str) -> None:
    """Issue 37 B4: ledger first, then the text; escaped; never cached; a browse takes nothing."""
    manager = Manager("QM1", Path(os.environ["MQLITE_HOME"]))
    shown = site("/messages/one/reveal", **letter, **{"from": source})
    assert (shown.status_code, shown.headers["Cache-Control"]) == (200, "private, no-store")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\ufffd\ufffd[2J\ufffd" in shown.text
    assert "<script>alert" not in shown.text
    assert "3c736372 6970743e 616c6572 74283129  &lt;script&gt;alert(1)" in shown.text
    assert f"first 65,536 of {counted(len(HOSTILE), 'byte')}" in shown.text
    assert "its data was shown: a customer &lt;b&gt;asks&lt;/b&gt;" in shown.text
    run = letter["run"] if source == "run" else ""
    line = ("REVEAL", "viewer", letter["why"], letter["queue"], run)
    assert revealed(letter["msg_id"]) == [line]
    whole = site("/messages/one/download", **letter, **{"from": source})
    assert (whole.content, whole.headers["Cache-Control"]) == (HOSTILE, "private, no-store")
    assert whole.headers["Content-Disposition"] == f'attachment; filename="{letter["msg_id"]}.bin"'
    assert revealed(letter["msg_id"]) == [line, ("DOWNLOAD", *line[1:])]
    assert manager.depth(letter["queue"]) == 1
    assert "yyyy" not in site(f"/messages/one?{urlencode({**letter, 'why': ''})}").text  # a look reveals nothing


@pytest.mark.parametrize("what", ["reveal", "download"])
def test_nothing_is_revealed_without_right_reason_or_post(site: Any, letter: Any, what: str) -> None:
    path, ledger = f"/messages/one/{what}", Path(os.environ["MQOPS_LAKE"]) / "QM1" / "ledger" / "ledger.jsonl"
    before = ledger.read_bytes()
    answers = [
        (401, site(path, "", **letter)),
        (403, site(path, "nobody", **letter)),
        *((403, site(path, role, **letter)) for role in ("operator", "approver", "admin")),
        (403, site(path, **{**letter, "queue_manager": "QM2"})),
        (403, site(path, **{**letter, "queue_manager": "OTHER"})),
        (400, site(path, **{**letter, "why": " "})),
        (400, site(path, **{**letter, "why": "x" * 501})),
        *((400, site(path, **{**letter, "why": one})) for one in ("-", "\u200b", "a\u202eb", "a\0b", "a\x1b[2J")),
        (400, site(path, **{**letter, "msg_id": ""})),
        (404, site(path, **{**letter, "msg_id": "ab" * 24})),
        (404, site(path, **{**letter, "msg_id": "ab" * 24, "from": "queue"})),
        (404, site(path, **{**letter, "run": "none"})),
        (404, site(path, **{**letter, "run": "none", "from": "queue"})),
        (400, site(path, **{**letter, "position": "\u0661"})),
        (400, site(path, **{**letter, "run": ""})),
        (400, site(path, **{**letter, "queue": "", "from": "queue"})),
        (405, site(f"{path}?{urlencode(letter)}")),
    ]
    assert [(status, one.status_code) for status, one in answers] == [(status,) * 2 for status, _one in answers]
    assert not any("yyyy" in one.text for _status, one in answers)
    assert "no role gives this right" in answers[2][1].text
    assert "A reason is needed" in answers[7][1].text
    assert ledger.read_bytes() == before


def test_of_two_messages_with_one_msg_id_the_recorded_one_is_revealed(site: Any, letter: Any) -> None:
    """On the queue now; where it is gone, and another one has its MsgId, the page says so."""
    manager, live = Manager("QM1", Path(os.environ["MQLITE_HOME"])), {**letter, "from": "queue"}
    same = {"Format": "MQSTR", "MsgId": bytes.fromhex(letter["msg_id"])}
    key = re.findall('name="msg_key" value="([^"]*)"', site(f"/messages/one?{urlencode(letter)}").text)
    manager.put(letter["queue"], [({**same, "CorrelId": b"c" * 24}, b"another")])
    without = site("/messages/one/reveal", **live)
    assert (without.status_code, "2 messages of" in without.text) == (404, True)
    shown = site("/messages/one/reveal", **live, msg_key=key[0])
    assert "alert(1)" in shown.text
    assert "not the message that the run recorded" not in shown.text
    assert site("/messages/one/download", **live, msg_key=key[0]).content == HOSTILE
    with manager.connected() as queue_manager:
        pymqi.Queue(queue_manager, letter["queue"]).get(70_100)
    shown = site("/messages/one/reveal", **live, msg_key=key[0])
    assert "This is not the message that the run recorded" in shown.text
    assert f'name="msg_key" value="{key[0]}"' in shown.text
    manager.put(letter["queue"], [(same, b"a third")])
    none = site("/messages/one/reveal", **live, msg_key=key[0])
    assert (none.status_code, "None is the one that was recorded" in none.text) == (404, True)


def test_a_message_that_no_run_has_recorded_is_revealed_on_its_queue(site: Any, letter: Any, monkeypatch: Any) -> None:
    """A whole MsgId and a queue are enough; what the browse has to discard is told."""
    manager = Manager("QM1", Path(os.environ["MQLITE_HOME"]))
    (msg_id,) = manager.put(letter["queue"], [({"Format": "MQSTR"}, b"came since")])
    address = f"/messages?{urlencode({'queue_manager': 'QM1', 'queue': letter['queue'], 'msg_id': msg_id.hex()})}"
    assert 'id="on-queue"' in site(address).text
    assert 'id="on-queue"' not in site(address, "operator").text
    assert 'id="on-queue"' not in site(address[:-1]).text
    monkeypatch.setattr(message_one, "told_before_look", lambda *_of: ("<b>5</b> messages expire",))
    asked = {"queue_manager": "QM1", "queue": letter["queue"], "msg_id": msg_id.hex(), "why": "a test", "from": "queue"}
    shown = site("/messages/one/reveal", **asked)
    assert (shown.status_code, "came since" in shown.text) == (200, True)
    assert "No run is named that has recorded it" in shown.text
    assert "&lt;b&gt;5&lt;/b&gt; messages expire" in shown.text
    assert '<option value="run">' not in shown.text
    assert revealed(msg_id.hex()) == [("REVEAL", "viewer", "a test", letter["queue"], "")]
    assert site("/messages/one/download", **asked).content == b"came since"
    assert site("/messages/one/reveal", "operator", **asked).status_code == 403


def test_no_more_of_long_data_is_made_text_and_hex_than_the_page_shows(
    site: Any, letter: Any, monkeypatch: Any
) -> None:
    made = []
    monkeypatch.setattr(message_one, "laid_out", lambda body, most: made.append(body) or laid_out(body, most))
    for source in ("run", "queue"):
        assert site("/messages/one/reveal", **{**letter, "from": source}).status_code == 200
    assert [(len(one.hex), len(one.text or ""), one.length) for one in made] == [
        (2 * 65_536, len(HOSTILE[:65_536].decode()), len(HOSTILE))
    ] * 2


def test_nothing_is_shown_where_the_ledger_cannot_be_written(site: Any, letter: Any, monkeypatch: Any) -> None:
    ledger = Path(os.environ["MQOPS_LAKE"]) / "QM1" / "ledger" / "ledger.jsonl"
    kept = ledger.read_bytes()
    ledger.write_bytes(kept + b'{"v": 1}\n')
    try:
        answer = site("/messages/one/reveal", **letter)
    finally:
        ledger.write_bytes(kept)
    assert answer.status_code == 503
    assert "alert(1)" not in answer.text


def test_of_a_snapshot_that_was_removed_nothing_can_be_revealed(site: Any, letter: Any) -> None:
    run = RunFolder.at(Path(os.environ["MQOPS_LAKE"]), "QM1", letter["run"])
    shutil.rmtree(run.snapshot)
    answer = site("/messages/one/reveal", **letter)
    assert answer.status_code == 404
    assert "has no snapshot: it was removed, or never made" in answer.text
    assert "alert(1)" in site("/messages/one/reveal", **letter, **{"from": "queue"}).text  # it is on the queue still


def test_masked_data_that_is_cut_says_so(site: Any) -> None:
    manager, lake = Manager("QM2", Path(os.environ["MQLITE_HOME"])), Path(os.environ["MQOPS_LAKE"])
    manager.mqsc("DEFINE QLOCAL(LONG)\n")
    manager.put("LONG", [({}, b"x" * 600)])
    observe(manager.connection, RunFolder.at(lake, "QM2", "long"), ["LONG"])
    (link,) = re.findall('href="(/messages/one[^"]*)"', site("/messages?queue_manager=QM2&run=long").text)
    assert "Text and hexadecimal are of the first 48 of 600 bytes." in site(unescape(link)).text


def test_a_message_that_no_table_judges_says_why(site: Any) -> None:
    def message(queue_manager: str, run: str = "") -> str:
        found = site(f"/messages?queue_manager={queue_manager}&run={run}").text
        links = re.findall('href="(/messages/one[^"]*)"', found)
        return "".join(site(unescape(one)).text for one in links)

    assert message("QM1").count("No rules table judges this message: it has no MQDLH.") == 1
    manager = Manager("QM2", Path(os.environ["MQLITE_HOME"]))
    observe(manager.connection, RunFolder.at(Path(os.environ["MQOPS_LAKE"]), "QM2", "letters"), [DLQ])
    assert "the estate names none for the dead-letter queue of QM2." in message("QM2", "letters")


@pytest.mark.parametrize(
    "form",
    [
        {"text": "IBAN"},
        {"hex": "49 42 41 4E"},
        {"property": "usr.country", "value": "DE"},
        {"where": "BODY('*IBAN*')"},
    ],
)
def test_a_search_in_payload_needs_the_right_to_reveal(site: Any, form: dict[str, str]) -> None:
    assert "/messages/one?" in site("/messages", **form).text
    refused = site("/messages", "operator", **form)
    assert refused.status_code == 403
    assert "/messages/one?" not in refused.text
    assert "The setting reveal of QM1" in unescape(refused.text)
    assert "It is for viewer; no role" in refused.text


def test_bytes_are_looked_for_and_what_a_search_passed_over_is_told(site: Any) -> None:
    """On a queue whose messages have text beside a packed number, no text, and an MQXQH's destination."""
    manager, lake = Manager("QM1", Path(os.environ["MQLITE_HOME"])), Path(os.environ["MQOPS_LAKE"])
    run = RunFolder.at(lake, "QM1", "bytes")
    manager.mqsc("DEFINE QLOCAL(BYTES)\n")
    sent = [
        ({"Format": "MQSTR"}, b"Meier\0\x12\x3c"),
        ({"Format": "MQSTR"}, bytes(range(128, 256))),
        dead_letter("B", b""),
    ]
    ids = [one.hex() for one in manager.put("BYTES", sent)]
    observe(manager.connection, run, ["BYTES"])

    def found(**form: str) -> tuple[list[str], str]:
        text = site("/messages", run="bytes", queue="BYTES", **form).text
        return re.findall("msg_id=([0-9a-f]{48})", text), text

    shown, text = found(hex="12 3C")
    assert (shown, "passed over" in text) == (ids[:1], False)
    assert 'name="hex" value="12 3C"' in text
    shown, text = found(text="Meier")
    assert shown == ids[:1]
    assert "passed over: 1 message: it is not text in CCSID 1208" in text
    assert "These bytes are not pairs of hex digits" in found(hex="123")[1]
    assert site("/messages?hex=123c").status_code == 400  # payload stands in no address


def test_the_name_of_a_queue_is_resolved_and_told(site: Any) -> None:
    manager = Manager("QM1", Path(os.environ["MQLITE_HOME"]))
    manager.mqsc(
        f"DEFINE QALIAS(BY.ALIAS) TARGET({DLQ})\nDEFINE QALIAS(TO.T) TARGET(TRIGGERED)\nDEFINE QLOCAL(UNCOM)\n"
    )
    text = site("/messages?queue=BY.ALIAS").text
    assert f"BY.ALIAS is an alias of {DLQ}, which is looked at" in text
    assert len(re.findall('href="/messages/one', text)) == 3  # the run has moved the fourth
    assert "The list is without those that runs have taken since, by their proofs." in text
    assert len(re.findall('href="/messages/one', site("/messages?queue=BY.ALIAS&there=all").text)) == 4
    text = unescape(site("/messages?queue=triggered").text)
    assert "triggered: it is not there, TRIGGERED is: names of queues are case-sensitive" in text
    assert "nothing.here: there is no queue of that name: define it" in unescape(
        site("/dead_letters?queue=nothing.here").text
    )
    assert "TO.T is an alias of TRIGGERED, which is looked at" in site("/triggers?queue=TO.T").text
    assert "TRIGGERED is: names of queues are case-sensitive" in site("/triggers?queue=triggered").text
    with manager.connected() as connection:
        pymqi.Queue(connection, "UNCOM").put(b"x", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        told = "UNCOM has 1 message (CURDEPTH) and open units of work (UNCOM); the oldest unit of work "
        until(lambda: told in unescape(site("/messages?queue=UNCOM").text))
        assert "no run has recorded messages of" in site("/messages?queue=UNCOM").text
        until(lambda: told in unescape(site("/estate/live").text))


@pytest.mark.parametrize("more", ["MQRC_Q_FULL) BODY('*IBAN*'", "*) PROP('usr.country' = 'DE'", '0) BODY("*IBAN*"'])
def test_no_question_about_payload_comes_in_with_a_reason_which_stands_in_addresses(site: Any, more: str) -> None:
    page = site(f"/messages?reason={quote(more)}")
    assert "A reason is a name or a number" in page.text
    assert "/messages/one?" not in page.text


def test_messages_of_a_run_are_chosen_by_what_it_planned_for_them(site: Any) -> None:
    assert '<option value="FWD">FWD: 1</option>' in site("/messages").text
    text = site("/messages?action=FWD").text
    assert '<option value="FWD" selected>FWD: 1</option>' in text
    assert len(re.findall('href="/messages/one[^"]*"', text)) == 1
    assert "PAY.IN" in text.replace("<wbr>", "")
    assert "No message fits. 4 messages looked at." in site("/messages?action=DISCARD").text
    assert "No message fits. 4 messages looked at." in site("/messages?action=FWD&dest_q=FULL").text
    assert "no run has recorded messages of" in site("/messages?action=FWD&queue=A").text


def test_messages_are_chosen_by_the_plan_of_now(site: Any) -> None:
    """A task decide that is tried again makes another plan."""
    manager, lake = Manager("QM2", Path(os.environ["MQLITE_HOME"])), Path(os.environ["MQOPS_LAKE"])
    run = RunFolder.at(lake, "QM2", "decided")
    manager.mqsc("DEFINE QLOCAL(THREE)\n")
    manager.put("THREE", [dead_letter(name, b"x") for name in ("A", "B", "A")])
    observe(manager.connection, run, ["THREE"])
    one_file_a_message(run.snapshot)

    def found(action: str) -> list[str]:
        text = site(f"/messages?queue_manager=QM2&run=decided&action={action}").text
        return re.findall('href="/messages/one[^"]*position=([^"]*)"', text)

    assert found("DISCARD") == []
    for text, places in (
        ("DESTQ(B) ACTION(DISCARD)\n", [["1"], []]),
        ("DESTQ(A) ACTION(FWD) FWDQ(B)\n", [[], ["0", "2"]]),
    ):
        table = parse(text).table
        assert table
        decide(run, table, text=text, source="t.rules")
        assert [found("DISCARD"), found("FWD")] == places


def test_an_undo_is_told_by_what_it_does_to_each_queue_and_message(site: Any) -> None:
    """It takes messages from where they are without their MQDLH: they are others there."""
    manager, lake = Manager("QM2", Path(os.environ["MQLITE_HOME"])), Path(os.environ["MQOPS_LAKE"])
    manager.mqsc("DEFINE QLOCAL(TARGET)\n")
    moved, _ = manager.put(DLQ, [dead_letter("TARGET", b"moved", dest_q_mgr="QM2"), dead_letter("NO.RULE", b"left")])
    text = "DESTQ(TARGET) ACTION(RETRY)\n"
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(text).table, text=text)
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    assert moved.hex() not in site(f"/messages?queue_manager=QM2&run={run.run}&there=now").text
    by_msg_id = site(f"/messages?queue_manager=QM2&run={run.run}&there=now&msg_id={moved.hex().upper()}").text
    assert f"msg_id={moved.hex()}" in by_msg_id  # its whole MsgId finds it, wherever it is now
    by_operator = site(f"/messages?queue_manager=QM2&run={run.run}&there=now&msg_id={moved.hex()}", "operator").text
    assert re.search(r"<td>moved <time [^>]*>[^<]*</time> to <[^>]*>TARGET@QM2</", by_operator.replace("<wbr>", ""))
    assert "data-starts" not in by_operator  # it is there no longer
    both = site(f"/messages?queue_manager=QM2&run={run.run}&there=all", "operator").text
    assert (
        len(re.findall(r'value="([0-9a-f]{48})" data-listed', both)) == len(re.findall('href="/messages/one', both)) - 1
    )
    manager.put("TARGET", [dead_letter("ELSE", b"own")])
    plan_run(DEAD_LETTERS, replace(request, queue="TARGET"))
    undoing = UndoRequest(connection=manager.connection, lake=lake, undoes=run)
    undo, plan = plan_run(UNDO, undoing)
    try:
        page = site(f"/messages?queue_manager=QM2&run={undo.run}&action=RETURN").text
        carry_out(UNDO, undoing, undo, plan)
        texts = {
            queue: words_of(site(f"/dead_letters?queue_manager=QM2&queue={queue}").text) for queue in (DLQ, "TARGET")
        }
    finally:
        for path in (lake / "QM2" / "anatomy").glob("*"):
            path.unlink()
    assert f"{said_of(run)} moved 1 message, discarded 0 and left " in texts[DLQ]
    assert f"{said_of(undo)} put back 1 message (an undo)." in texts[DLQ]
    assert f"{said_of(undo)} took back 1 message (an undo)." in texts["TARGET"]
    assert '<option value="RETURN" selected>RETURN: 1</option>' in page
    assert len(re.findall('href="/messages/one[^"]*"', page)) == 1


def test_a_word_is_looked_for_anywhere_in_a_field_and_a_pattern_is_one(site: Any) -> None:
    def found(dest_q: str) -> int:
        return len(re.findall('href="/messages/one', site(f"/messages?dest_q={dest_q}").text))

    assert [found(text) for text in ("AY.I", "PAY*", "AY.I*", "PAY.I?", "pay")] == [1, 1, 0, 1, 0]
    assert [found(f"&there=all&queue={text}") for text in (DLQ, f"{DLQ[:9]}*", "*", "system*", "*.X", DLQ[:9])] == [
        4,
        4,
        4,
        0,
        0,
        0,
    ]
    assert [found(f"&format={text}") for text in ("MQDEAD", "DEA", "MQSTR", "*")] == [3, 3, 0, 4]
    of_data = site("/messages", where="FORMAT(*)").text  # of the data behind the MQDLH
    assert len(re.findall('href="/messages/one', of_data)) == 4
    assert 'name="application" value="" placeholder="contains, or billing*"' in site("/messages").text
    assert "<p>4 of 4 messages looked at. This is the last page.</p>" in site("/messages").text


def test_the_snapshot_of_an_undo_is_not_shown_unasked(client: Any, fuller: Manager, estate_folder: Path) -> None:
    lake, text = estate_folder / "lake", "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)\n"
    table = parse(text).table
    assert table
    request = DeadLetterRequest(connection=fuller.connection, lake=lake, table=table, text=text)
    run, plan = plan_run(DEAD_LETTERS, request)
    carry_out(DEAD_LETTERS, request, run, plan)
    undo, _plan = plan_run(UNDO, UndoRequest(connection=fuller.connection, lake=lake, undoes=run))
    page = client("/messages", queue_manager="QM1", queue=DLQ).text
    assert f'<option value="{run.run}" selected>' in page
    assert f'<option value="{undo.run}">' in page


def test_the_choice_of_a_run_counts_its_queues_where_it_has_several(
    client: Any, fuller: Manager, estate_folder: Path
) -> None:
    run = RunFolder.at(estate_folder / "lake", "QM1", "of-two")
    observe(fuller.connection, run, [DLQ, "REALLY.DEAD.QUEUE"])
    page = client("/messages", queue_manager="QM1", run="of-two").text
    (option,) = re.findall('<option value="of-two" selected>([^<]*)</option>', page)
    assert ": 2 queues, " in option


def test_a_pattern_that_no_recorded_queue_fits_is_not_said_to_be_an_empty_queue(client: Any, fuller: Manager) -> None:
    fuller.mqsc("DEFINE QLOCAL(PAY.LATER)")
    fuller.put("PAY.LATER", [({}, b"x")])
    assert f"{DLQ} has " in words_of(client("/messages", queue_manager="QM1", queue=DLQ).text)
    page = words_of(client("/messages", queue_manager="QM1", queue="PAY*").text)
    assert "No message fits." in page
    assert "PAY* has 0 messages now" not in page


def test_what_an_undo_put_back_and_the_last_record_has_not_is_told(
    client: Any, fuller: Manager, estate_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "KEPT", 0.0)
    lake, text = estate_folder / "lake", "ACTION(FWD) FWDQ(REALLY.DEAD.QUEUE)\n"
    table = parse(text).table
    assert table
    request = DeadLetterRequest(connection=fuller.connection, lake=lake, table=table, text=text)
    run, plan = plan_run(DEAD_LETTERS, request)
    number = carry_out(DEAD_LETTERS, request, run, plan).moved
    fuller.put(DLQ, [dead_letter("A", b"x")])
    carry_out(DEAD_LETTERS, request, *plan_run(DEAD_LETTERS, request))
    none = "These runs have left none of the messages that were there then."
    assert f"{none}</p>" in client("/dead_letters", queue_manager="QM1", queue=DLQ).text
    undo = UndoRequest(connection=fuller.connection, lake=lake, undoes=run)
    carry_out(UNDO, undo, *plan_run(UNDO, undo))
    back = f"The {counted(number, 'message')} that an undo put back were recorded by an earlier run: a dry run shows"
    neither = "Neither is what an undo put back, unless the run of <time"
    assert neither in client("/dead_letters", queue_manager="QM1", queue=DLQ).text
    assert f"{none} {back} what they are.</p>" in client("/dead_letters", queue_manager="QM1", queue=DLQ).text
    ledger = lake / "QM1" / "ledger" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"{", b"x"))
    broken = client("/messages", queue_manager="QM1", queue=DLQ).text
    (every,) = re.findall('<a href="/messages[?]([^"]*)">Look at all that were recorded</a>', broken)
    shown = client(f"/messages?{unescape(every)}").text
    assert ('class="problem"' in broken, shown.count('href="/messages/one')) == (True, 1)


def test_a_quote_in_what_is_looked_for_ends_nothing(site: Any) -> None:
    """Behind it more conditions would stand."""
    for text in ("O'Brien", "' SIZE(>0) APPLNAME('*"):
        found = site(f"/messages?application={quote(text)}")
        assert "No message fits. " in found.text, text
        assert "Problem" not in found.text, text


@pytest.mark.parametrize(
    ("granted", "seen"),
    [
        ({"qm1_dlq_rules": {"", "RUN", "TASK_LOGS"}}, {"QM1": 200, "QM2": 403}),
        ({"mq_recover": {"", "RUN", "TASK_LOGS"}}, {"QM1": 403, "QM2": 200}),  # QM2 has no DAG of its own
        ({"qm1_dlq_rules": {"", "RUN"}}, {"QM1": 403, "QM2": 403}),  # the page has payload's shape: as logs have
    ],
)
def test_a_person_sees_the_queue_managers_of_the_dags_that_he_may_read_so(
    site: Any, monkeypatch: pytest.MonkeyPatch, granted: dict[str, set[str]], seen: dict[str, int]
) -> None:
    """Under an auth manager with rights by DAG, as FAB and Keycloak have."""
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415

    def may(*, details: Any = None, access_entity: Any = None, **_more: Any) -> bool:
        return bool(details and (access_entity.name if access_entity else "") in granted.get(details.id, ()))

    monkeypatch.setattr(get_auth_manager(), "is_authorized_dag", may)
    assert {name: site(f"/messages?queue_manager={name}").status_code for name in seen} == seen


def test_a_dag_that_he_may_read_in_another_way_alone_shows_nothing(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.api_fastapi.app import get_auth_manager  # noqa: PLC0415

    granted = {"qm1_backout_reprocess": {"", "RUN", "TASK_LOGS"}, "qm1_dlq_rules": {""}}

    def may(*, details: Any = None, access_entity: Any = None, **_more: Any) -> bool:
        return bool(details and (access_entity.name if access_entity else "") in granted.get(details.id, ()))

    monkeypatch.setattr(get_auth_manager(), "is_authorized_dag", may)
    dags = ("qm1_backout_reprocess", "qm1_dlq_rules")
    assert [site(f"/estate?dag_id={dag_id}").status_code for dag_id in dags] == [200, 403]


def test_a_page_that_is_broken_has_the_headers_of_every_page(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = site("/rules?queue_manager=QM1")
    monkeypatch.setattr(rules, "_text", lambda *_given: 1 // 0)
    broken = site("/rules?queue_manager=QM1")
    assert (whole.status_code, broken.status_code) == (200, 500)
    for name in ("content-security-policy", "x-content-type-options"):
        assert broken.headers[name] == whole.headers[name]


def test_a_search_is_paged_and_its_mistakes_are_told(site: Any) -> None:
    assert "This is the last page" in site("/messages").text
    assert "No message fits. " in site("/messages?dest_q=NOTHING").text
    assert "No message fits. " in site("/messages?group_id=ff").text
    assert "/messages/one?" in site("/messages?group_id=00").text
    text = site("/messages", where="REASON(").text
    assert "<strong>Problem:</strong> these conditions are not valid; column " in text
    assert "\N{REPLACEMENT CHARACTER}" not in text
    assert "Problem" in site("/messages?msg_id=xyz").text
    for run in ("..%2F..%2Fx", "nothing"):
        page = site(f"/messages?run={run}&action=FWD")
        assert page.status_code == 200
        assert "Problem" in page.text
        assert "Recorded by run" in page.text
    assert site("/messages/one?queue_manager=QM1&run=../../x&queue=Q&msg_id=00&position=0").status_code == 404
    assert site("/messages/one?queue_manager=QM1&run=nothing&queue=Q&msg_id=00&position=0").status_code == 404


def test_a_search_that_takes_too_long_is_ended_and_told_as_a_command(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "KEPT", 0.0)  # it is searched again
    form = {"where": "DESTQ(FULL) AGE(>=0s)", "queue": DLQ, "format": "MQDEAD"}
    (found,) = set(re.findall("msg_id=([0-9a-f]{48})", site("/messages", **form).text))
    held = psutil.Process(messages.SEARCHES._idle[-1].pid)
    held.suspend()
    monkeypatch.setattr(searches, "SECONDS", 0.1)
    page = site("/messages", **form).text
    assert "This search is too slow here" in page
    assert "/messages/one?" not in page
    assert ended(held)
    (command,) = re.findall('<pre id="command"[^>]*>([^<]*)</pre>', page)
    done = CliRunner().invoke(main, shlex.split(unescape(command))[1:], prog_name="mqops")
    assert (done.exit_code, found in done.output) == (0, True), done.output


def test_messages_of_a_run_whose_snapshot_was_removed_are_missed_in_words(site: Any) -> None:
    runs = Path(os.environ["MQOPS_LAKE"]) / "QM1" / "runs"
    older = re.findall(r'<option value="(cli-[^"]*)"', site("/messages").text)[1]
    (runs / older / "snapshot").rename(runs / older / "away")
    try:
        page = site(f"/messages?run={older}")
    finally:
        (runs / older / "away").rename(runs / older / "snapshot")
    assert page.status_code == 200
    assert f"Run {older} of QM1 has no snapshot: it was removed, or never made." in page.text
    assert "Recorded by run" in page.text  # another one can be chosen


def test_triggers_are_explained_with_the_mqsc_that_mends(site: Any) -> None:
    text = site("/triggers?queue=TRIGGERED").text
    assert "fails</span>" in text
    assert "holds</span>" in text
    assert "DEFINE QLOCAL(NONE)" in text
    assert 'data-copies="mqsc"' in text
    assert "broken</span>" in text
    assert "<h2>All queues" not in text  # the table says it
    assert "<span>All queues with triggering</span>" in text


def test_any_queue_is_explained_and_why_another_name_cannot_be(site: Any) -> None:
    assert 'name="queue" value="" maxlength="48"' in site("/triggers").text
    assert '<option value="TRIGGERED">' in site("/triggers").text
    text = site("/triggers?queue=%20A").text  # without TRIGGER and without an initiation queue
    assert '<h2 id="explained" class="name">A</h2>' in text
    assert "fails</span>" in text
    assert "<code>ALTER QLOCAL(A) " in text
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085)" in site("/triggers?queue=ELSEWHERE").text
    for wrong in ("%3Cimg%3E", "A" * 49, "%C3%A9"):
        text = site(f"/triggers?queue={wrong}").text
        assert "is no name of a queue: 1 to 48 letters, digits and . _ / %." in text
        assert "<img" not in text
    assert "data-starts" not in site("/triggers?queue=ELSEWHERE", "operator").text


def test_many_queues_are_asked_about_in_one_thread(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes minutes where the queue manager does not answer, and a reader can make up names without end."""
    until(lambda: 'name="queue"' in site("/triggers?queue_manager=QM2").text)
    before, answers_again = _asking(), threading.Event()

    def hangs(*_given: Any) -> Any:
        answers_again.wait()
        raise SettingsError("it answers again")

    monkeypatch.setattr(connection, "connect", hangs)
    monkeypatch.setattr(answers, "WAIT", 0.001)
    monkeypatch.setattr(triggers.ANSWERS, "kept", 3600.0)
    try:
        texts = [site(f"/triggers?queue_manager=QM2&queue=MADE.UP.{number}").text for number in range(100)]
        assert len(_asking() - before) == 1
    finally:
        answers_again.set()
    assert sum("The queue manager was asked 1 s ago" in text for text in texts) == answers.MOST_WAITING + 1
    assert sum("Too many queues are asked about just now" in text for text in texts) == 99 - answers.MOST_WAITING
    until(lambda: not _asking() - before)


def _asking() -> set[threading.Thread]:
    """The threads themselves: a new one may have the number of one that has ended."""
    return {one for one in threading.enumerate() if one.name == answers.THREAD}


def test_triggers_are_those_of_the_last_audit_where_nothing_answers(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    until(lambda: "broken</span>" in site("/triggers").text)  # an audit may take longer than readers wait
    monkeypatch.setenv("AIRFLOW_CONN_MQ_QM1", json.dumps({"conn_type": "mq", "extra": {"queue_manager": "ELSE"}}))
    monkeypatch.setattr(triggers.ANSWERS, "kept", 0.0)
    until(lambda: "does not answer: " in site("/triggers").text)
    text = site("/triggers").text
    assert "does not answer: Airflow connection &#39;mq_qm1&#39; is for queue manager ELSE" in text
    assert " ago is shown." in text
    assert "broken</span>" in text


def test_rules_show_lint_hits_and_what_versions_differ_in(site: Any) -> None:
    text = site("/rules").text
    assert "DESTQ(FULL) ACTION(RETRY) RETRY(2)" in text
    assert "the table of now" in text
    assert '<p class="name">t.rules: 0 errors' in text  # not where it lies on this machine
    assert "Hits are those of 2 runs that acted; dry runs do not count." in text
    assert "A message that a run left is counted again by the next run that reads it." in text
    assert "not hit in 1 run</span>" in text  # of the other, the table did not have this rule
    assert '<code class="line">      ACTION(RETRY)</code>' in text  # the style keeps the spaces
    digest = text.split("old=")[1].split("#")[0]
    assert "workflow=dlq_rules&amp;old=" in text
    diff = site(f"/rules?old={digest}").text
    assert "FWD to A (line 2)" in diff
    assert site("/rules?old=nothing").status_code == 404
    assert "in the table of no run yet" not in text
    file = Path(os.environ["MQOPS_ESTATE"]).with_name("t.rules")
    file.write_text(f"{RULES}DESTQ(NEW) ACTION(RETRY)\n")
    try:
        assert site("/rules").text.count("in the table of no run yet</span>") == 1
    finally:
        file.write_text(RULES)
    text = site("/rules?workflow=backout_reprocess").text
    assert "DESTQ(B*) ACTION(FWD) FWDQ(&amp;ORIGQ)" in text
    assert '<p class="name">back.rules: 0 errors' in text
    assert 'aria-current="page">backout_reprocess</a>' in text
    assert site("/rules?workflow=expiry_scan").status_code == 404


def test_the_estate_tells_of_poison_that_comes_back_and_who_has_a_queue_open(site: Any) -> None:
    manager = Manager("QM2", Path(os.environ["MQLITE_HOME"]))
    manager.put("POISONED", [({}, b"x")])
    with manager.connected() as queue_manager:
        handle = pymqi.Queue(queue_manager, "POISONED", CMQC.MQOO_INPUT_SHARED)
        for _ in range(3):
            handle.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            queue_manager.backout()
        lake = Path(os.environ["MQOPS_LAKE"])
        observe(manager.connection, RunFolder.at(lake, "QM2", "poison"), ["POISONED"])

        def opened_by() -> str:
            """The programs in its row, once an inquiry after the queue was opened has answered."""
            row = site("/estate?queue_manager=QM2").text.replace("<wbr>", "").partition("POISONED</a></th>")[2]
            found = re.search(r'<div class="quiet">([^<]*) reads</div></td>', row.split("</tr>")[0])
            return found[1] if found else ""

        until(opened_by)
        program = opened_by()
        text = site("/estate?queue_manager=QM2").text.replace("<wbr>", "")
        handle.close()
    assert "Poison on POISONED: 1 message came back up to 3 times, and BOTHRESH is 0" in text
    assert " of " in program  # and its user


def test_expiry_tells_what_ends_before_a_time(site: Any) -> None:
    text = site("/expiry").text.replace("<wbr>", "")
    assert DLQ in text
    assert "before 08:00" in text
    later = (datetime.now(UTC) + timedelta(hours=3)).strftime("%H:%M")
    assert 'A</th><td class="number">1</td><td>No run has looked at all of it yet.</td>' in text
    assert "<strong>1</strong> message expires before" in site(f"/expiry?before={later}").text
    assert site("/expiry?before=x").status_code == 422


def test_the_estate_tells_what_expires_before_the_morning(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = site("/estate?queue_manager=QM1").text
    assert "No figures are known" not in text
    later = (datetime.now(UTC) + timedelta(hours=3)).time()
    monkeypatch.setattr(expiring, "MORNING", later)
    monkeypatch.setattr(estate, "MORNING", later)
    monkeypatch.setattr(shared, "KEPT", 0.0)
    monkeypatch.setattr(managers_now.EXPIRING, "kept", 0.0)  # what was counted above is for another time
    said = f'<a href="/expiry?queue_manager=QM1#unrecorded">1 before {later:%H:%M}; 2 not looked at</a>'
    until(lambda: said in site("/estate?queue_manager=QM1").text)  # the looks of before are shown for a second


def test_quality_shows_checks_and_links_the_messages_that_fail(site: Any) -> None:
    text = site("/quality").text
    assert "not met</span>" in text
    said = "is one of MQSTR, MQDEAD"
    assert f'<span class="name">Format</span>: {said}<div class="quiet">nobody knows</div>' in text
    assert ": has a length of at least 1</td>" in text  # it is met: what a failure means is not said
    assert ": has a length of at least 1, where the body begins with a valid MQDLH</td>" in text
    unlooked = 'not looked at</span> no message has a value</td><td class="number"[^>]*>–</td>'
    assert len(re.findall(unlooked, text)) == 2
    assert "1 of 3" in text
    assert "0 of 0" not in text
    assert f"msg_id={'00' * 24}" in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert 'bad">not in order</span> 1 critical check is not met; 1 message is not checked, on NOT.LOOKED.AT.' in text
    assert site("/quality?run=nothing").status_code == 404
    assert re.search('not met</span> looked at no message: no queue fits</td><td class="number"[^>]*>–</td>', text)
    assert "suite s: no queue fits PAYMNTS.*</li>" in text.replace("<wbr>", "")
    assert 'NOT.LOOKED.AT</th><td class="number">1 of 5</td>' in text.replace("<wbr>", "")
    assert "1,731,600 s (20 d 1 h)</td>" in text


def test_quality_shows_every_failure_page_by_page(site: Any) -> None:
    def listed(address: str) -> list[str]:
        text = site(address).text
        return re.findall(r"msg_id=(\w{48})", text[text.index("Messages that fail</h2>") :])

    def more(address: str) -> str:
        (link,) = re.findall(r'<a href="([^"]*)">[\d,]+ more failures?</a>', site(address).text)
        return link.replace("&amp;", "&")

    first = "/quality?queue_manager=QM1"
    second = more(first)
    third = more(second)
    assert [len(listed(one)) for one in (first, second, third)] == [100, 100, 5]
    assert len({*listed(first), *listed(second), *listed(third)}) == 205
    assert "more failure" not in site(third).text
    assert "The failures before these" in site(third).text
    assert site(f"{first}&after=-1").status_code == 422
    live = second.replace("/quality?", "/quality/live?")
    assert listed(live) == listed(second)


def test_quality_shows_every_check_of_the_snapshot(site: Any) -> None:
    text = site("/quality?queue_manager=QM1").text.replace("<wbr>", "")
    assert "Checks of this snapshot, the newest first:" in text
    (other,) = re.findall(r'<a href="([^"]*&amp;check=2026[^"]*)"', text)
    assert "t.long</th>" in text  # the trend has the suite that a person checked, too
    shown = site(other.replace("&amp;", "&")).text
    assert 'good">in order</span> 1 check is met' in shown
    assert "No message of this run fails a check." in shown
    assert site("/quality?queue_manager=QM1&run=nothing&check=x").status_code == 404


def _choices(text: str) -> list[tuple[dict[str, Any], str]]:
    """What the form below a list offers besides the ticked messages: fields of mq_recover, and the words."""
    found = re.findall(r'<option value="(\{.*?\})">(.*?)</option>', text)
    return [(json.loads(unescape(fields)), words) for fields, words in found]


def test_from_a_list_of_messages_those_that_are_chosen_are_recovered(site: Any) -> None:
    """Issue 37 B3. The right to start mq_recover is asked; a search in payload is no field of Airflow's."""
    assert 'data-starts="mq_recover"' not in site("/messages").text
    text = site("/messages", "operator").text
    assert len(re.findall('name="message_ids" value="[0-9A-Fa-f]{48}" data-listed', text)) == 3
    assert _choices(text) == [
        ({"queue": DLQ, "all_messages": True}, f"all messages of {DLQ} (3 in the list, by its snapshot)")
    ]
    fixed = re.findall(r'data-starts="mq_recover" data-fixed="(.*?)"', text)
    assert [json.loads(unescape(one)) for one in fixed] == [{"queue_manager": "QM1", "dry_run": True}]
    text = site("/messages?reason=MQRC_Q_FULL&dest_q==FULL&since=2026-01-01T00:00", "operator").text
    ((fields, _words),) = _choices(text) or [({}, "")]
    assert fields.get("since") == "2026-01-01T00:00:00+00:00"
    assert "DESTQ('FULL')" in fields.get("where", "")
    assert "mq_recover has no field" in site("/messages?format=MQDEAD", "operator").text
    text = site("/messages?dest_q==", "operator").text  # "" would be any queue
    assert "Destination queue: = stands before a whole name" in text
    assert _choices(text) == []


def test_a_group_of_dead_letters_leads_to_its_messages(site: Any) -> None:
    links = re.findall(r'href="(/messages\?[^"]*dest_q=[^"]*)"', site("/dead_letters").text)
    (full,) = [unescape(one) for one in links if "%3DFULL" in one]
    text = site(full, "operator").text
    assert len(re.findall('href="/messages/one', text)) == 1
    assert [words for _fields, words in _choices(text)] == [
        f"all messages of {DLQ} that fit (1 in the list, by its snapshot)"
    ]


def test_names_of_queues_are_offered_with_their_depth_and_checked(site: Any) -> None:
    offered = site("/queue_names?queue_manager=QM1", "operator").text
    assert re.search(f'<option value="{DLQ}">[0-9]+ of [0-9,]+ messages</option>', offered)
    assert '<option value="A">' in offered
    told = {
        name: site(f"/queue_names/check?queue_manager=QM1&queue={quote(name)}", "operator").json()["problem"]
        for name in ("A", "a", "NO.SUCH.QUEUE", "not a name")
    }
    assert told["A"] == ""
    assert "A is: names of queues are case-sensitive" in told["a"]
    assert "define it, or correct the name" in told["NO.SUCH.QUEUE"]
    assert "is no name of a queue" in told["not a name"]


def test_messages_that_fail_a_check_are_chosen_by_it(site: Any) -> None:
    text = site("/quality", "operator").text
    assert {"queue": DLQ, "failed": "s:e"} in [fields for fields, _words in _choices(text)]
    assert 'data-queue="SYSTEM.DEAD.LETTER.QUEUE" aria-label="Choose ' in text


def test_what_fails_a_check_is_not_chosen_by_it_where_the_suite_was_checked_again(site: Any) -> None:
    """mq_recover would take the messages of the newer result."""
    lake = Path(os.environ["MQOPS_LAKE"])
    (shown,) = [one for one in quality_runs(lake, "QM1") if one.failures]
    again = replace(shown, check="20260103T000000.000000-00000000", checked_at="2026-01-03T00:00:00+00:00")
    folder_of = RunFolder.at(lake, "QM1", shown.run).quality_checks / again.check
    folder_of.mkdir()
    (folder_of / "quality.json").write_text(json.dumps(again.to_json()))
    try:
        text = site("/quality?queue_manager=QM1&after=1", "operator").text  # no page that was made a moment ago
        assert ("Messages that fail</h2>" in text, _choices(text)) == (True, [])
    finally:
        shutil.rmtree(folder_of)


@pytest.mark.parametrize("page", OF_ALL)
def test_a_page_without_a_queue_manager_has_a_row_for_each(site: Any, page: str) -> None:
    """Issue 37 A1: the row leads to the page of one, and the chooser has all."""
    text = site(f"/{page}?queue_manager=").text
    assert "of all queue managers" in text
    for name in ("QM1", "QM2"):
        assert f'href="/{page}?queue_manager={name}">{name}</a>' in text
    assert '<option value="" selected>all</option>' in text or '<option value="">all</option>' in text
    live = site(f"/{page}/live?queue_manager=").text
    assert "<h1>" not in live
    assert live.count("<li>") + live.count('<th class="name" scope="row">') == 2


@pytest.mark.parametrize(
    ("queue", "told"),
    [
        ("DEAD.ALIAS", f"DEAD.ALIAS is an alias of {DLQ}"),
        ("DEAD.REMOTE", "DEAD.REMOTE: it is a remote queue"),
        ("DEAD.ABSENT", "DEAD.ABSENT: there is no queue of that name: define it, or correct the name"),
    ],
)
def test_dead_letters_of_all_are_of_the_queue_behind_the_name_in_the_estate(site: Any, queue: str, told: str) -> None:
    """An alias is not an empty queue, and neither is a remote or an absent one."""
    estate, manager = Path(os.environ["MQOPS_ESTATE"]), Manager("QM2", Path(os.environ["MQLITE_HOME"]))
    before = estate.read_text()
    manager.mqsc(f"DEFINE QALIAS(DEAD.ALIAS) TARGET({DLQ}) REPLACE\n")
    manager.mqsc("DEFINE QREMOTE(DEAD.REMOTE) RNAME(A) RQMNAME(ELSEWHERE) REPLACE\n")
    changed = json.loads(before)
    changed["queue_managers"]["QM2"]["dlq_rules"] = {"rules": "t.rules", "queue": queue}
    estate.write_text(json.dumps(changed))
    try:
        text = " ".join(re.sub(r"<[^>]+>", " ", site("/dead_letters?queue_manager=").text.replace("<wbr>", "")).split())
        row = re.split(r"(?=QM\d )", text.partition(" Queue manager ")[2])
        assert any(f"{DLQ} {told}" in line for line in row if line.startswith("QM2 ")), row  # the DEADQ has messages
    finally:
        estate.write_text(before)
        manager.mqsc("DELETE QALIAS(DEAD.ALIAS)\nDELETE QREMOTE(DEAD.REMOTE)\n")
