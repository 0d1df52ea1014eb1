"""Any MQSC text and any PCF parameters: documented answers only, whatever they contain."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqlite.administration.engine_administration import EngineAdministration
from mqlite.cli import creation
from mqlite.commands import run
from mqlite.conditions import CommandError
from mqlite.mqsc.parser import NOUNS, VERBS
from mqlite.mqsc.runner import run_script
from mqlite.pcf.commands import PCF_COMMANDS
from mqlite.pcf.requests import request_of
from mqlite.pcf.responses import answer, refusal
from mqwire import constants as c
from mqwire import pcf

EXAMPLES = int(os.environ.get("MQLITE_FUZZ", "300"))
NAME = st.sampled_from(["A", "'a b'", "*", "SYSTEM.*", "X" * 49, "", "SYSTEM.DEFAULT.LOCAL.QUEUE", "SYSTEM.DEF.SENDER"])
WORDS = [
    "MAXDEPTH",
    "PUT",
    "TRIGGER",
    "NOTRIGGER",
    "REPLACE",
    "LIKE",
    "WHERE",
    "ALL",
    "CHLTYPE",
    "TYPE",
    "NAMES",
    "DESCR",
]
VALUE = st.sampled_from(
    ["5", "-1", "DISABLED", "'x''y'", "A,B", "MAXDEPTH GT 1", "(", "SDR", "HANDLE", "", "'", "é", "\0"]
)
PARAMETER = st.one_of(
    st.sampled_from(WORDS), st.builds("{}({})".format, st.sampled_from(WORDS), VALUE), st.text(max_size=8)
)
COMMAND = st.builds(
    lambda verb, noun, name, rest: f"{verb} {noun}({name}) {' '.join(rest)}",
    st.sampled_from(sorted(VERBS)),
    st.sampled_from(sorted(NOUNS)),
    NAME,
    st.lists(PARAMETER, max_size=4),
)
LINES = st.lists(st.one_of(COMMAND, st.text(max_size=60)), max_size=4)
SELECTORS = st.one_of(
    st.sampled_from([c.MQCA_Q_NAME, c.MQIA_Q_TYPE, c.MQIACF_Q_ATTRS, c.MQIA_MAX_Q_DEPTH, c.MQCACH_CHANNEL_NAME]),
    st.sampled_from([c.MQIACH_CHANNEL_TYPE, c.MQIACF_REPLACE, c.MQCA_NAMES, c.MQIACF_Q_STATUS_TYPE, c.MQCA_Q_DESC]),
    st.integers(0, 9000),
)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.one_of(st.sampled_from(["A", "*", "SYSTEM.*", "not a name", "X" * 60, ""]), st.text(max_size=10))
PARAMETERS = st.one_of(
    st.builds(pcf.MQCFIN, parameter=SELECTORS, value=st.one_of(st.integers(0, 7), NUMBERS)),
    st.builds(pcf.MQCFST, parameter=SELECTORS, value=TEXTS),
    st.builds(pcf.MQCFIL, parameter=SELECTORS, value=st.lists(NUMBERS, max_size=3).map(tuple)),
    st.builds(pcf.MQCFSL, parameter=SELECTORS, value=st.lists(TEXTS, max_size=3).map(tuple)),
    st.builds(pcf.MQCFBS, parameter=SELECTORS, value=st.binary(max_size=24)),
    st.builds(pcf.MQCFIF, parameter=SELECTORS, operator=st.integers(0, 30), value=NUMBERS),
    st.builds(pcf.MQCFSF, parameter=SELECTORS, operator=st.integers(0, 30), value=TEXTS),
)
MESSAGES = st.builds(
    pcf.Message,
    header=st.builds(pcf.MQCFH, command=st.one_of(st.sampled_from(sorted(PCF_COMMANDS)), st.integers(0, 300))),
    parameters=st.lists(PARAMETERS, max_size=5).map(tuple),
)


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineAdministration]:
    """A queue manager for all examples: commands may do with it what they want."""
    before = os.environ.get("MQLITE_HOME")
    home: Path = tmp_path_factory.mktemp("home")
    os.environ["MQLITE_HOME"] = str(home)
    made = EngineAdministration(creation.create("QM1"))
    yield made
    made.close()
    if before is None:
        del os.environ["MQLITE_HOME"]
    else:
        os.environ["MQLITE_HOME"] = before


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines=LINES)
def test_any_script_is_answered_line_by_line(admin: EngineAdministration, lines: list[str]) -> None:
    output: list[str] = []
    tally = run_script(admin, lines, output.append)
    assert output[-3].endswith(" read.")
    assert tally.exit_code in {0, 10}


@settings(max_examples=EXAMPLES, deadline=None)
@given(message=MESSAGES)
def test_any_pcf_command_is_done_or_refused_with_a_reason(admin: EngineAdministration, message: pcf.Message) -> None:
    number = message.header.command
    try:
        command, request = request_of(message, "unix", "QM1")
        responses = answer(number, command, run(admin, request))
    except CommandError as error:
        responses = refusal(number, error)
    for response in responses:
        assert pcf.encode(response, ccsid=1208)
        assert (response.header.comp_code == c.MQCC_OK) is (response.header.reason == c.MQRC_NONE)
