"""Deciders and keywords of another distribution, found by its entry points; errors name it. Checks: tests/spark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from outside_support import install, installed

DOCUMENT = (Path(__file__).parents[3] / "docs" / "adding_a_decider.md").read_text()
KEYWORD = """\
from mqops.rules.keyword import compared

GROUPSEQ = compared(
    "GROUPSEQ", column="msg_seq_number", meaning="MQMD.MsgSeqNumber", noun="sequence number", example=">1"
)
"""
POINTS = """\
[mqops.deciders]
park_large = bank_deciders:PARK_LARGE

[mqops.keywords]
GROUPSEQ = bank_keywords:GROUPSEQ
"""
RULES = "* MQOPS EXTENSIONS\nGROUPSEQ(>1) ACTION(DISCARD)\nACTION(IGNORE)\n"


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(APP.IN)\nDEFINE QLOCAL(APP.PARKED)\n")


def decider() -> str:
    found = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found
    return found[1]


def test_a_distributions_decider_and_keyword_are_used_and_doctor_lists_them(manager, mqops_here, tmp_path):
    files = {"bank_deciders.py": decider(), "bank_keywords.py": KEYWORD}
    table = tmp_path / "t.rules"
    table.write_text(RULES)
    manager.put("APP.IN", [({}, b"short"), ({}, b"l" * 50)])
    with installed(install(tmp_path / "site", files, POINTS)):
        assert "--most-bytes" in mqops_here("park_large", "--help").stdout
        assert "park_large" in " ".join(mqops_here("--help").stdout.split())
        ask = ("park_large", "APP.IN", "--most-bytes", "12", "-m", "QM1", "--json")
        done = json.loads(mqops_here(*ask).stdout)
        assert (done["workflow"], done["moved"], done["left"], done["balanced"]) == ("park_large", 1, 1, True)
        assert manager.bodies("APP.PARKED") == [b"l" * 50]
        undone = json.loads(mqops_here("undo", done["run"], "--yes", "-m", "QM1", "--json").stdout)
        assert (undone["moved"], undone["balanced"]) == (1, True)
        assert "valid" in mqops_here("rules", "check", str(table)).stdout
        assert "MQMD.MsgSeqNumber" in mqops_here("rules", "keywords", "groupseq").stdout
        table.write_text(RULES.partition("\n")[2])
        refused = mqops_here("rules", "check", str(table), expect=1).output
        assert "GROUPSEQ is an extension that IBM's handler does not know" in refused
        row = outside_row(mqops_here)
        assert row["state"] == "holds"
        assert row["found"] == "mqops.deciders park_large of bank-mq 1.2; mqops.keywords GROUPSEQ of bank-mq 1.2"
    assert "not a keyword" in mqops_here("rules", "check", str(table), expect=1).output
    shown = mqops_here("run", "show", done["run"], "-m", "QM1").stdout  # where it is not installed any more
    assert "park_large" in shown


def outside_row(mqops_here):
    """What `mqops doctor` says of other distributions."""
    said = mqops_here("doctor", "QM1", "--json", expect=None)
    assert said.stdout, said.output
    checks = json.loads(said.stdout)["checks"]
    (row,) = [one for one in checks if one["check"] == "from outside"]
    return row


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({}, "cannot be loaded: ModuleNotFoundError: No module named 'bank", id="no module"),
        pytest.param(
            {"bank_deciders.py": "1 / 0", "bank_keywords.py": "1 / 0"},
            "cannot be loaded: ZeroDivisionError: division by zero",
            id="raises",
        ),
        pytest.param(
            {"bank_deciders.py": "PARK_LARGE = 1", "bank_keywords.py": "GROUPSEQ = 1"},
            "is a int, and must be a",
            id="type",
        ),
        pytest.param(
            {
                "bank_deciders.py": decider().replace('name="park_large"', 'name="other"'),
                "bank_keywords.py": KEYWORD.replace('"GROUPSEQ",', '"OTHER",'),
            },
            "has another name, '",
            id="name",
        ),
        pytest.param(
            {
                "bank_deciders.py": decider().replace("form=(", 'dag="each",\n    form=('),
                "bank_keywords.py": KEYWORD
                + "from dataclasses import replace\nfrom mqops.rules.keyword import Entry\n"
                + "GROUPSEQ = replace(GROUPSEQ, entry=Entry.ACTION)\n",
            },
            ") ",
            id="no place for it",
        ),
    ],
)
def test_what_cannot_be_used_names_the_distribution_and_stops_nothing_else(mqops_here, tmp_path, files, said):
    table = tmp_path / "t.rules"
    table.write_text(RULES)
    with installed(install(tmp_path / "site", files, POINTS)):
        refused = mqops_here("park_large", "APP.IN", "-m", "QM1", expect=1).output
        assert "park_large of bank-mq 1.2 (entry point mqops.deciders, bank_deciders:PARK_LARGE)" in refused
        assert said in refused
        refused = mqops_here("rules", "check", str(table), expect=1).output
        assert ":2:1: " in refused
        assert "GROUPSEQ of bank-mq 1.2 (entry point mqops.keywords, bank_keywords:GROUPSEQ)" in refused
        assert said in refused
        assert "GROUPSEQ of bank-mq 1.2" in mqops_here("rules", "keywords", "GROUPSEQ", expect=1).output
        table.write_text(RULES.replace("GROUPSEQ", "PRIORITY"))
        assert "valid" in mqops_here("rules", "check", str(table)).stdout


def test_two_distributions_with_one_name_and_a_name_of_mqops(mqops_here, tmp_path):
    folder = install(tmp_path / "site", {"bank_deciders.py": decider(), "bank_keywords.py": KEYWORD}, POINTS)
    install(folder, {}, POINTS.replace("bank_deciders", "other") + "AGE = bank_keywords:GROUPSEQ\n", name="other-mq")
    with installed(folder):
        refused = mqops_here("park_large", "APP.IN", "-m", "QM1", expect=1).output
        assert "is brought by bank-mq 1.2, other-mq 1.2: uninstall all but one" in refused
        assert "is brought by bank-mq 1.2, other-mq 1.2" in " ".join(mqops_here("--help").stdout.split())
        row = outside_row(mqops_here)
    assert row["state"] == "fails"
    assert "AGE of other-mq 1.2: mqops has this name itself" in row["found"]


def test_a_keyword_of_a_column_that_no_snapshot_has(manager, mqops_here, tmp_path):
    files = {"bank_deciders.py": decider(), "bank_keywords.py": KEYWORD.replace("msg_seq_number", "amount")}
    manager.put("APP.IN", [({}, b"x")])
    with installed(install(tmp_path / "site", files, POINTS)):
        said = mqops_here("dlq", "run", "APP.IN", "QM1", "--dry-run", text=RULES, expect=1).output
        assert "keyword GROUPSEQ: amount is not a column with integers" in said
        assert "amount is not a column" in outside_row(mqops_here)["found"]
