"""What the commands print fits the terminal; to a pipe nothing is folded."""

from __future__ import annotations

import json
import shlex

import pytest
from mq_support import DLQ, dead_letter

LONG = "PAYMENTS.REPAIR.OF.THE.LONG.NAME.DEPARTMENT.Q001"
"""A name as long as IBM MQ lets it be."""
TABLE = f"""\
DESTQ(A) ACTION(RETRY)
DESTQ(NOWHERE) ACTION(FWD) FWDQ(NOT.THERE)
ACTION(FWD) FWDQ({LONG}) HEADER(NO)
"""
MQSC = f"""\
DEFINE QLOCAL(A)
DEFINE QLOCAL(MQOPS.QUARANTINE)
DEFINE QLOCAL({LONG})
DEFINE QLOCAL({LONG[:-3]}TRG) TRIGGER TRIGTYPE(FIRST) PROCESS({LONG}) INITQ(SYSTEM.DEFAULT.INITIATION.QUEUE)
"""
COMMANDS = (
    ("dlq", "run", "--dry-run", DLQ, "QM1"),
    ("dlq", "anatomy", "-m", "QM1"),
    ("dlq", "run", "--once", DLQ, "QM1"),
    ("undo", "RUN", "--dry-run"),
    ("ledger", "outcomes", "RUN"),
    ("ledger", "show", "414d51"),
    ("ledger", "verify"),
    ("rules", "diff", "TABLE", "OTHER", "--snapshot", "RUN"),
    ("rules", "keywords"),
    ("rules", "keywords", "MAXREPLAY"),
    ("trigger", "explain", f"{LONG[:-3]}TRG", "QM1"),
    ("trigger", "audit", "QM1"),
    ("expiry", "scan", "-m", "QM1", "--all"),
    ("expiry", "forecast", "-m", "QM1"),
    ("expiry", "age-out", "A", "--older-than", "7d", "--dry-run", "-m", "QM1"),
    ("snapshot", LONG, "-m", "QM1"),
    ("undo", "RUN", "--yes"),
    ("runs",),
    ("run", "show", "RUN"),
    ("message", "find", "A", "-m", "QM1"),
    ("message", "show", DLQ, "414d51", "--position", "0", "-m", "QM1"),
    ("doctor", "QM1"),
    ("backout", "run", LONG, "-m", "QM1", "--dry-run"),
    ("quality", "vocabulary"),
)


@pytest.fixture
def manager(queue_manager):
    made = queue_manager(mqsc=MQSC)
    letters = [dead_letter(where, b"x" * 90) for where in ("A", "A", "NOWHERE", LONG) for _ in range(3)]
    made.put(DLQ, [*letters, *(dead_letter(LONG, b"x", dest_q_mgr=LONG, reason=2085) for _ in range(2))])
    return made


def test_no_line_is_wider_than_the_terminal(manager, mqops_here, tmp_path):
    table, other = tmp_path / "table.rules", tmp_path / "other.rules"
    table.write_text(TABLE)
    other.write_text("ACTION(DISCARD)\n")
    runs = tmp_path / "lake" / "QM1" / "runs"
    names = {"TABLE": str(table), "OTHER": str(other)}
    wide: list[str] = []
    for words in COMMANDS:
        if "RUN" in words and "RUN" not in names:
            names["RUN"] = next(path.name for path in runs.iterdir() if (path / "summary.json").exists())
        done = mqops_here(*(names.get(word, word) for word in words), text=TABLE, expect=None, COLUMNS="80")
        assert done.stdout
        assert done.exit_code < 2, done.output
        lines = [line for line in done.stdout.splitlines() if len(line) > 80]
        # Left whole: a word that is too long (a path, a digest), and MQSC, which is copied.
        wide += [one for one in lines if max(map(len, one.split())) < 52 and "DEFINE PROCESS" not in one]
    assert wide == []
    folded = mqops_here("ledger", "show", "414d51", COLUMNS="80").stdout
    to_a_pipe = mqops_here("ledger", "show", "414d51", COLUMNS="").stdout  # no terminal
    assert to_a_pipe.split() == folded.split()
    assert len(to_a_pipe.splitlines()) < len(folded.splitlines())
    found = mqops_here("message", "find", DLQ, "-m", "QM1", COLUMNS="").stdout
    ids = [md["MsgId"].hex() for md, _body in manager.messages(DLQ)]
    assert ids
    assert all(any(one in line.lower() for line in found.splitlines()) for one in ids)


def test_help_says_of_each_command_its_whole_first_sentence(mqops_here):
    for words in ((), ("dlq",), ("ledger",), ("message",), ("recover",), ("rules",), ("trigger",)):
        said = mqops_here(*words, "--help", COLUMNS="80").stdout
        commands = said[said.index("Commands:") :]
        assert "..." not in commands
        assert max(map(len, commands.splitlines())) <= 80


def test_a_command_that_is_folded_can_be_pasted_as_it_stands(manager, mqops_here):
    said = mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=TABLE, COLUMNS="80").stdout
    begun = said[said.index("    mqops dlq act") :]
    pasted = begun[: begun.index("dry run:")]
    assert pasted.count("\\\n") >= 1
    command, *words = shlex.split(pasted.replace(" \\\n", " "))  # as a shell joins the lines
    assert command == "mqops"
    assert json.loads(mqops_here(*words, "--json", expect=1).stdout)["balanced"] is True


def test_what_is_folded_stands_below_its_text(manager, mqops_here):
    said = mqops_here("dlq", "run", "--dry-run", DLQ, "QM1", text=TABLE, COLUMNS="60").stdout.splitlines()
    begins = next(number for number, line in enumerate(said) if line.startswith("       3  line 3: FWD to"))
    assert said[begins + 1 : begins + 3] == [f"{'':10}{LONG}", f"{'':10}(MQRC_Q_FULL"]
