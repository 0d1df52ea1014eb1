"""What a dead-letter queue is made of: counts, growth, and OpenMetrics text that a strict reader accepts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import commands
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import openmetrics_grammar
from mq_support import DLQ
from snapshots import OBSERVED, dead_letter, recorded

from mqops.cli import main
from mqops.observe.core.anatomy import OTHERS, Cell, Group, QueueAnatomy, folded, grown, openmetrics
from mqops.observe.core.openmetrics import Gauge, text_of
from mqwire.structures import MQDLH

MESSAGES = [
    dead_letter("PAY.IN", b"x", PutApplName="billing"),
    *[dead_letter('A"B\\C', b"y" * 10, PutApplName="a\nb")] * 2,
    dead_letter("ORDERS", b"z", reason=265, dest_q_mgr="QM7"),
    ({"PutApplName": "billing"}, b"no header"),
]


def anatomy(*arguments):
    result = CliRunner().invoke(main, ["dlq", "anatomy", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_run_keeps_its_anatomy_as_json_and_openmetrics(tmp_path):
    run = recorded(tmp_path, MESSAGES)
    (queue,) = json.loads(run.path.joinpath("anatomy.json").read_text())["queues"]
    assert [queue[name] for name in ("queue_manager", "queue", "run", "observed_at", "messages", "oldest")] == [
        *("QM1", "DLQ", "run1", OBSERVED, 5, "2026010203040500"),
    ]
    assert queue["cells"][0] == {
        **{"reason": "MQRC_Q_FULL", "origin_q": 'A"B\\C', "origin_q_mgr": "QM1", "application": "a\nb"},
        **{"age": "<1d", "messages": 2, "bytes": 364},
    }
    families = openmetrics_grammar.read(run.path.joinpath("anatomy.prom").read_text())
    place = {"queue_manager": "QM1", "queue": "DLQ"}
    cells = {
        (labels["reason"], labels["origin_queue"], labels["origin_queue_manager"], labels["application"]): value
        for found, value in families["mqops_dlq_messages"].samples.items()
        if (labels := dict(found)) and labels.items() >= place.items()
    }
    assert cells == {
        ("MQRC_Q_FULL", "PAY.IN", "QM1", "billing"): 1,
        ("MQRC_Q_FULL", 'A"B\\C', "QM1", "a\nb"): 2,
        ("MQFB_APPL_CANNOT_BE_STARTED", "ORDERS", "QM7", ""): 1,
        ("no MQDLH", "", "", "billing"): 1,
    }
    assert sum(families["mqops_dlq_size_bytes"].samples.values()) == 173 + 364 + 173 + 9
    assert families["mqops_dlq_size_bytes"].unit == "bytes"
    assert families["mqops_dlq_depth"].samples == {frozenset(place.items()): 5}
    assert families["mqops_dlq_oldest_age_seconds"].samples == {frozenset(place.items()): 86400}
    assert families["mqops_dlq_observed_timestamp_seconds"].samples == {frozenset(place.items()): 1767409445}
    assert "mqops_dlq_growth" not in families  # there is nothing to compare with


@pytest.mark.parametrize(
    ("observed_at", "age"),
    [
        ("2026-01-02T03:04:05+00:00", "<1h"),  # the MQDLH was written at 03:04:05.06: the clocks differ
        ("2026-01-02T04:04:05+00:00", "<1h"),
        ("2026-01-02T04:04:06+00:00", "<1d"),
        ("2026-01-03T03:04:06+00:00", "<7d"),
        ("2026-01-09T04:04:06+01:00", "<30d"),
        ("2026-02-01T03:04:06Z", ">=30d"),
    ],
)
def test_the_age_is_the_time_since_the_header_was_written(tmp_path, observed_at, age):
    run = recorded(tmp_path, [dead_letter("A", b"x")], observed_at=observed_at)
    (queue,) = json.loads(run.path.joinpath("anatomy.json").read_text())["queues"]
    assert [cell["age"] for cell in queue["cells"]] == [age]


@pytest.mark.parametrize(
    ("of_dlh", "age", "by_md"),
    [
        (("20260102", "03040506"), "<1h", 0),
        (("20260102", "030405"), "<1h", 0),  # without hundredths
        (("        ", "        "), "<1d", 1),
        (("\0" * 8, "\0" * 8), "<1d", 1),
        (("2026/01/", "02 03:04"), "<1d", 1),
        (("20260230", "03040506"), "<1d", 1),
        (("02012026", "03040506"), "<1d", 1),
    ],
)
def test_without_a_valid_time_in_the_mqdlh_the_age_is_by_the_mqmd_and_that_is_said(tmp_path, of_dlh, age, by_md):
    header = MQDLH(reason=2053, dest_q_name="A", format="MQSTR", put_date=of_dlh[0], put_time=of_dlh[1]).pack()
    said = {"Format": "MQDEAD", "CodedCharSetId": 1208, "PutDate": "20260102", "PutTime": "01000000"}
    run = recorded(tmp_path, [(said, header + b"x")] * 2, observed_at="2026-01-02T04:04:05+00:00")
    (queue,) = json.loads(run.path.joinpath("anatomy.json").read_text())["queues"]
    assert [(cell["age"], cell["messages"]) for cell in queue["cells"]] == [(age, 2)]
    assert queue["aged_by_md"] == 2 * by_md
    told = "2 messages have no valid put date and time in the MQDLH: their age is that of the MQMD"
    assert (told in " ".join(anatomy("--snapshot", run.path).split())) == bool(by_md)


def test_growth_is_told_since_the_last_run(tmp_path):
    recorded(tmp_path, MESSAGES)
    more = [MESSAGES[0]] * 3 + MESSAGES[3:]
    second = recorded(tmp_path, more, run="run2", observed_at="2026-01-04T00:00:00+00:00")
    (queue,) = json.loads(second.path.joinpath("anatomy.json").read_text())["queues"]
    assert queue["since"] == {"run": "run1", "observed_at": OBSERVED}
    assert {(grown["origin_q"], grown["messages"]) for grown in queue["growth"]} == {("PAY.IN", 2), ('A"B\\C', -2)}
    families = openmetrics_grammar.read(second.path.joinpath("anatomy.prom").read_text())
    assert sorted(families["mqops_dlq_growth"].samples.values()) == [-2, 2]
    emptied = recorded(tmp_path, [], run="run3", observed_at="2026-01-05T00:00:00+00:00")
    assert "5 messages" not in anatomy("--snapshot", emptied.path)
    families = openmetrics_grammar.read(emptied.path.joinpath("anatomy.prom").read_text())
    assert sum(families["mqops_dlq_growth"].samples.values()) == -5
    assert list(families["mqops_dlq_depth"].samples.values()) == [0]


def test_a_run_that_looks_again_after_a_crash_is_not_compared_with_itself(tmp_path):
    """It ended between the record of the queue and observe.json, and makes its snapshot anew."""
    for run, crashed_with, messages, since, growth in (
        ("run1", MESSAGES[:3], MESSAGES, "", {}),
        ("run2", [*MESSAGES, *MESSAGES[3:]], [MESSAGES[0]] * 3 + MESSAGES[3:], "run1", {"PAY.IN": 2, 'A"B\\C': -2}),
        ("run3", MESSAGES, MESSAGES, "run2", {"PAY.IN": -2, 'A"B\\C': 2}),
    ):
        recorded(tmp_path, crashed_with, run=run).path.joinpath("observe.json").unlink()
        (queue,) = json.loads(recorded(tmp_path, messages, run=run).path.joinpath("anatomy.json").read_text())["queues"]
        assert (queue["since"]["run"], queue["messages"]) == (since, len(messages))
        assert {grown["origin_q"]: grown["messages"] for grown in queue["growth"]} == growth


def test_a_record_of_a_crashed_look_gives_way_to_that_of_the_next(tmp_path):
    crashed = recorded(tmp_path, MESSAGES)
    crashed.path.joinpath("observe.json").unlink()
    again = recorded(tmp_path, [])
    (queue,) = json.loads(again.path.joinpath("anatomy.json").read_text())["queues"]
    assert (queue["messages"], queue["growth"]) == (0, [])


@pytest.mark.parametrize("at", ["0000000000000000", "2026023103040506", "0000010103040506", "2026010224000000"])
def test_what_is_no_time_is_not_the_time_of_a_message(tmp_path, at):
    fields, body = dead_letter("A", b"x")
    fields |= {"PutDate": at[:8], "PutTime": at[8:]}  # nor does the MQMD have one
    odd = (fields, body[:156] + at.encode() + body[172:])  # the date and time of the MQDLH
    run = recorded(tmp_path, [odd, dead_letter("A", b"x"), odd])
    (queue,) = json.loads(run.path.joinpath("anatomy.json").read_text())["queues"]
    assert {cell["age"]: cell["messages"] for cell in queue["cells"]} == {"<1d": 1, "unknown": 2}
    assert queue["oldest"] == "2026010203040506"
    families = openmetrics_grammar.read(run.path.joinpath("anatomy.prom").read_text())
    assert list(families["mqops_dlq_oldest_age_seconds"].samples.values()) == [86400]


def test_the_oldest_message_of_a_queue_is_by_the_mqmd_and_one_without_a_time_is_passed_over(tmp_path):
    """RUN/observe.json has the time of the MQMD as it is, also where an MQDLH has another one."""
    there = [(at, dead_letter("A", b"x")) for at in ("2026010203040500", "", "2026010103040500")]
    messages = [({**fields, "PutDate": at[:8], "PutTime": at[8:]}, body) for at, (fields, body) in there]
    run = recorded(tmp_path, [*messages, ({}, b"no header")])
    (queue,) = json.loads(run.path.joinpath("observe.json").read_text())["queues"]
    found = [queue[name] for name in ("messages", "bytes", "with_dlh", "without_dlh", "oldest")]
    assert found == [4, 3 * 173 + 9, 3, 1, "2026010103040500"]
    (anatomy,) = json.loads(run.path.joinpath("anatomy.json").read_text())["queues"]
    assert anatomy["oldest"] == "2026010203040500"


def test_queues_without_dead_letters_have_no_anatomy(tmp_path):
    run = recorded(tmp_path, [({}, b"an order")], queue="ORDERS")
    assert not run.path.joinpath("anatomy.json").exists()
    assert not (tmp_path / "QM1" / "anatomy").exists()


def test_the_command_on_a_recorded_run(tmp_path):
    run = recorded(tmp_path, MESSAGES)
    said = anatomy("--snapshot", run.path, "--format", "openmetrics")
    assert said == run.path.joinpath("anatomy.prom").read_text()
    kept = json.loads(run.path.joinpath("anatomy.json").read_text())
    assert {"format": 1} | json.loads(anatomy("--snapshot", run.snapshot, "--json")) == kept
    lines = anatomy("--snapshot", run.path).splitlines()
    assert lines[:5] == [
        f"DLQ of QM1, {OBSERVED}: 5 messages, no run to compare with",
        "reason, origin, application",
        "    messages   growth     <1h     <1d     <7d    <30d   >=30d unknown",
        'MQRC_Q_FULL  A"B\\C@QM1  a\ufffdb',
        "           2       +0       .       2       .       .       .       .",
    ]
    assert max(map(len, lines)) <= 80


def test_the_command_on_a_snapshot_without_an_anatomy(tmp_path):
    run = recorded(tmp_path, MESSAGES)
    before = json.loads(run.path.joinpath("anatomy.json").read_text())
    run.path.joinpath("anatomy.json").unlink()
    assert {"format": 1} | json.loads(anatomy("--snapshot", run.path, "--json")) == before
    assert json.loads(anatomy("OTHER", "--snapshot", run.path, "--json")) == {"queues": []}


def test_the_largest_groups_have_names_and_nothing_is_left_out():
    cells = [Cell(Group("R", f"Q{number}", "", ""), "<1h", number, 10 * number) for number in range(1, 6)]
    cells.append(Cell(Group("R", "Q1", "", ""), "<1d", 7, 1))
    small = folded(cells, most=2)
    assert {cell.group.origin_q for cell in small} == {"Q1", "Q5", "(others)"}
    assert sum(cell.messages for cell in small) == sum(cell.messages for cell in cells)
    assert sum(cell.bytes for cell in small) == sum(cell.bytes for cell in cells)


groups = st.builds(Group, st.sampled_from("AB"), st.sampled_from("CD"), st.just(""), st.sampled_from("EF"))
cells = st.lists(st.builds(Cell, groups, st.sampled_from(["<1h", "<1d"]), st.integers(1, 9), st.integers(0, 99)))
looks = st.tuples(cells, st.integers(1, 9)).map(
    lambda given: QueueAnatomy(
        queue_manager="QM", queue="Q", observed_at=OBSERVED, cells=folded(given[0], most=given[1])
    )
)


@settings(deadline=None)
@given(looks, looks)
def test_growth_adds_up_whatever_was_folded(now, before):
    growth = grown(now, before)
    assert sum(growth.values()) == now.messages - before.messages
    if OTHERS not in now.groups() and OTHERS not in before.groups():
        assert growth == {g: n for g in now.groups() | before.groups() if (n := now.groups()[g] - before.groups()[g])}
    assert QueueAnatomy.from_json(json.loads(json.dumps(now.to_json()))) == now


texts = st.text(st.characters(exclude_categories=()), max_size=8)


@settings(deadline=None)
@given(
    st.dictionaries(st.tuples(texts, texts), st.integers() | st.floats(allow_nan=False, allow_infinity=False)), texts
)
def test_any_label_value_is_openmetrics_text(samples, words):
    plain = {tuple(map(readable, labels)): (dict(zip("ab", labels, strict=True)), v) for labels, v in samples.items()}
    family = Gauge(name="family_bytes", help=words, unit="bytes", samples=tuple(plain.values()))
    text = text_of([family])
    text.encode()
    found = openmetrics_grammar.read(text)
    assert set(found) == ({"family_bytes"} if samples else set())
    if samples:
        assert found["family_bytes"].help == readable(words)
        assert found["family_bytes"].samples == {
            frozenset(zip("ab", labels, strict=True)): float(value) for labels, (_given, value) in plain.items()
        }


def readable(text: str) -> str:
    """A text with U+FFFD for what UTF-8 cannot say."""
    return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in _joined(text))


def _joined(text: str) -> str:
    """High and low surrogates side by side are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# EOF",
        "a 1\n# EOF\n",  # no TYPE
        "# TYPE a gauge\na 1\n",
        '# TYPE a gauge\na{b="\\x"} 1\n# EOF\n',
        '# TYPE a gauge\na{b="""} 1\n# EOF\n',
        '# TYPE a gauge\na{b="1",b="2"} 1\n# EOF\n',
        '# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n# EOF\n',
        "# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n",
        "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\na 2\n# EOF\n",
        "# TYPE a gauge\na 1\n\n# EOF\n",
    ],
)
def test_the_reader_is_strict(text):
    with pytest.raises(AssertionError):
        openmetrics_grammar.read(text)


def test_openmetrics_of_no_queue_is_its_end():
    assert openmetrics([]) == "# EOF\n"


def test_a_fresh_look_counts_the_queue_and_keeps_nothing(queue_manager, tmp_path):
    manager, lake = queue_manager(mqsc="DEFINE QLOCAL(A)\n"), tmp_path / "lake"
    manager.put(DLQ, [dead_letter("A", b"x")] * 3)

    def mqops(*arguments, text=""):
        environment = {**manager.environment, "MQOPS_LAKE": str(lake)}
        command = [sys.executable, "-m", "mqops.cli", "dlq", *arguments]
        return commands.run(command, input=text, env=environment, text=True, capture_output=True, check=True).stdout

    (queue,) = json.loads(mqops("anatomy", "", "QM1", "--format", "json"))["queues"]
    assert (queue["queue"], queue["messages"], queue["since"]["run"], queue["run"]) == (DLQ, 3, "", "")
    assert not lake.exists()
    mqops("run", DLQ, "QM1", "--dry-run", text="ACTION(RETRY)\n")
    (prom,) = lake.glob("QM1/runs/*/anatomy.prom")
    assert sum(openmetrics_grammar.read(prom.read_text())["mqops_dlq_messages"].samples.values()) == 3
    manager.put(DLQ, [dead_letter("A", b"x")])
    families = openmetrics_grammar.read(mqops("anatomy", DLQ, "QM1", "--format", "openmetrics"))
    assert list(families["mqops_dlq_growth"].samples.values()) == [1]
    assert list(families["mqops_dlq_messages"].samples.values()) == [4]
    assert len(os.listdir(lake / "QM1" / "runs")) == 1


def test_dynamic_queues_are_one_group_for_each_prefix():
    """Names that end in 16 digits, as IBM MQ makes them of a prefix with an asterisk; and others that do not."""
    names = [f"AMQ.{0x674A1B2C00000000 + number:016X}" for number in range(400)]
    names += [f"REPLY.{number:016X}" for number in range(50)] + ["ORDERS.IN", "AMQ.1234", "DEADBEEF"]
    cells = [Cell(Group("MQRC_Q_DELETED", name, "QM1", "app"), "<1h", 1, 10) for name in names]
    found = {cell.group.origin_q: cell.messages for cell in folded(cells)}
    assert found == {"AMQ.*": 400, "REPLY.*": 50, "ORDERS.IN": 1, "AMQ.1234": 1, "DEADBEEF": 1}
    anatomy = QueueAnatomy(queue_manager="QM1", queue="DLQ", observed_at="2026-01-01T00:00:00Z", cells=folded(cells))
    assert sum(line.startswith("mqops_dlq_messages{") for line in openmetrics([anatomy]).splitlines()) == 5
