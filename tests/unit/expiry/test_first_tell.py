"""`--first-tell` of what scans, copies or moves: told and asked before a look, and who says no leaves the queues."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from mq_support import DLQ, Manager, dead_letter, time_goes_by
from pymqi import CMQC

from mqops.cli import main
from mqops.errors import NotLookedAt
from mqops.expiry import first_tell
from mqops.expiry.first_tell import left_by
from mqops.expiry.scan import Candidates
from mqops.mq.connection import connect
from mqops.mq.session import Session

MQSC = """\
DEFINE QLOCAL(PAY) BOTHRESH(3) BOQNAME(PAY.BOQ)
DEFINE QLOCAL(PAY.BOQ)
DEFINE QLOCAL(OTHER) BOTHRESH(3) BOQNAME(OTHER.BOQ)
DEFINE QLOCAL(OTHER.BOQ)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QLOCAL(REPORTS)
DEFINE QALIAS(PAY.ALIAS) TARGET(PAY)
"""
AT_STAKE = (DLQ, "PAY", "PAY.BOQ")
SOON = 3000
"""In tenths of a second. What expires within a quarter of an hour counts as expired: a look takes its time."""
LOOKS = {
    "dlq": ["dlq", "run", DLQ, "QM1", "--once", "--rules", "TABLE"],
    "dlq handler": ["dlq", "run", DLQ, "QM1", "--rules", "TABLE"],
    "dlq dry": ["dlq", "run", DLQ, "QM1", "--dry-run", "--rules", "TABLE"],
    "backout": ["backout", "run", "-m", "QM1", "--rules", "TABLE"],
    "guard": ["backout", "guard", "PAY", "-m", "QM1", "--watch", "0"],
    "move": ["message", "move", "PAY.ALIAS", "-m", "QM1", "--all", "--to", "REPORTS"],
    "replay": ["recover", "replay", DLQ, "-m", "QM1", "--all"],
    "undo": ["undo", "RUN", "-m", "QM1"],
    "age-out": ["expiry", "age-out", "PAY", "-m", "QM1", "--older-than", "1d"],
    "snapshot": ["snapshot", DLQ, "PAY", "-m", "QM1"],
}
Command = Callable[..., Result]


@pytest.fixture
def command(manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("MQLITE_HOME", str(manager.home))
    monkeypatch.setenv("MQOPS_LAKE", str(tmp_path / "lake"))
    (tmp_path / "table").write_text("ACTION(RETRY)\n")

    def run(*words: str, answer: str = "") -> Result:
        named = [str(tmp_path / "table") if word == "TABLE" else word for word in words]
        return CliRunner().invoke(main, named, input=answer, env={"COLUMNS": "300"})

    return run


def at_stake(manager: Manager, command: Command, expiry: int) -> dict[str, int]:
    """Queues with messages that expire and ask for a report, as a look has counted. Returns their depths."""
    report = {"Report": CMQC.MQRO_EXPIRATION, "ReplyToQ": "REPORTS", "Expiry": expiry}
    for queue in AT_STAKE:
        manager.put(queue, [(report, b"x")] * 2 + [({}, b"stays")])
    assert command("expiry", "scan", *AT_STAKE, "-m", "QM1", "--all").exit_code == 0
    return {queue: manager.depth(queue) for queue in (*AT_STAKE, "REPORTS")}


def test_E06_every_command_that_browses_tells_first_and_browses_nothing_where_the_answer_is_no(
    manager, command, monkeypatch
):
    for body in (b"moved", b"moved later"):
        manager.put(DLQ, [dead_letter("PAY", body)])
        done = command("message", "replay", DLQ, "-m", "QM1", "--all", "--yes")
        assert done.exit_code == 0, done.output
    run = done.stderr.split("mqops: run ")[1].split()[0].rstrip(":")  # of a line of progress, on a slow machine
    before = at_stake(manager, command, SOON)
    time_goes_by(monkeypatch, SOON)
    for name, words in LOOKS.items():
        refused = command(*[run if word == "RUN" else word for word in words], "--first-tell", answer="n\n")
        assert (refused.exit_code, "Look at these queues?" in refused.stdout) == (1, True), (name, refused.output)
        assert "a look discards up to 2 expired messages, 2 expiration reports are sent" in refused.stdout, name
        assert "a look discards" in refused.stderr, name  # what was not done, and why
        assert "none of their messages was moved" in " ".join(refused.stderr.split()), name
        assert {queue: manager.depth(queue) for queue in before} == before, name
    each = command("undo", "--since", "2020-01-01", "-m", "QM1", "--first-tell", answer="n\nn\n")
    assert (each.exit_code, each.stdout.count("Look at these queues?")) == (1, 2), each.output
    assert each.stderr.count(": the answer was no\n") == 2, each.output
    agreed = command("snapshot", DLQ, "PAY", "-m", "QM1", "--first-tell", answer="y\n")
    assert (agreed.exit_code, manager.depth("PAY"), manager.depth("REPORTS")) == (0, 3, 4)


def test_of_several_queues_those_at_stake_are_left_and_the_others_are_worked_on(manager, command, monkeypatch):
    asked: list[tuple[str, ...]] = []
    genuine = first_tell.candidates

    def counted(session: Session, lake: Path, queues: tuple[str, ...], *, all_filled: bool) -> Candidates:
        asked.append(queues)
        return genuine(session, lake, queues, all_filled=all_filled)

    monkeypatch.setattr(first_tell, "candidates", counted)
    before = at_stake(manager, command, SOON)
    manager.put("OTHER.BOQ", [({"Persistence": 0}, b"back")])
    manager.put("OTHER", [({"BackoutCount": 0, "Persistence": 0}, b"x")])
    command("expiry", "scan", "OTHER", "OTHER.BOQ", "-m", "QM1", "--all")
    guarded = command("backout", "guard", "-m", "QM1", "--watch", "0", "--first-tell", answer="n\n")
    assert (guarded.exit_code, "not looked at: PAY\n" in guarded.stderr) == (1, True), guarded.output
    done = command("backout", "run", "-m", "QM1", "--rules", "TABLE", "--first-tell", answer="n\n")
    assert (done.exit_code, "not looked at: PAY.BOQ, PAY\n" in done.stderr) == (1, True), done.output
    assert (manager.depth("OTHER.BOQ"), manager.depth("OTHER")) == (0, 2)
    assert {queue: manager.depth(queue) for queue in before} == before
    assert [len(queues) > 1 for queues in asked] == [True, True]  # once for each command, for all queues together


def test_what_was_agreed_is_not_asked_again_in_the_passes_of_a_handler(manager, command, tmp_path):
    at_stake(manager, command, SOON)
    (tmp_path / "table").write_text("RETRYINT(1) WAIT(1)\nACTION(IGNORE)\n")
    done = command("dlq", "run", DLQ, "QM1", "--rules", "TABLE", "--first-tell", answer="y\n")
    assert (done.stdout.count("Look at these queues?"), done.exit_code) == (1, 0), done.output


def test_one_signal_ends_a_handler_that_waits_for_the_answer(manager, command, tmp_path):
    before = at_stake(manager, command, SOON)
    words = ["mqops", "dlq", "run", DLQ, "QM1", "--rules", str(tmp_path / "table"), "--first-tell"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe) as handler:
        asked = b""
        while not asked.endswith(b"Look at these queues? [y/N]: ") and (more := handler.stdout.read(1)):
            asked += more
        handler.send_signal(signal.SIGTERM)
        told = handler.communicate(b"n\n")[1].decode()
    assert (handler.returncode, "Aborted!" in told) == (1, True), told
    assert {queue: manager.depth(queue) for queue in before} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dlq", "run", DLQ, "QM1", "--once"], "name the rules table by --rules FILE"),
        (["backout", "run", "-m", "QM1"], "name the rules table by --rules FILE"),
        (["dlq", "run", DLQ, "QM1", "--json", "--rules", "TABLE"], "cannot ask where a program reads the output"),
        (["snapshot", "PAY", "-m", "QM1", "--json"], "cannot ask where a program reads the output"),
    ],
    ids=["dlq", "backout", "dlq --json", "snapshot --json"],
)
def test_where_nobody_can_answer_it_is_refused(command, words, said):
    refused = command(*words, "--first-tell", answer="ACTION(RETRY)\n")
    assert (refused.exit_code, said in refused.stderr) == (2, True), refused.output


def test_what_leads_to_no_local_queue_has_nothing_at_stake(manager, tmp_path):
    manager.mqsc("DEFINE QREMOTE(AWAY) RNAME(Q) RQMNAME(OTHER)\nDEFINE QALIAS(LOST) TARGET(NOWHERE)\n")
    with connect(manager.connection) as session:
        assert left_by(lambda _told: False, session, tmp_path / "lake", ["AWAY", "LOST", "NEVER.THERE"]) == {}
    assert str(NotLookedAt()).startswith("Queues were not looked at")
