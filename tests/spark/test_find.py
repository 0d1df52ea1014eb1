"""`mqops message find` in a large snapshot: Spark counts, and what is found is the same as without Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

from mqops.cli import main
from mqops.errors import LakeError
from mqops.lake.parquet import chunks
from mqops.look import find
from mqops.look.core.criteria import criteria
from mqops.look.find import CountsOf, FoundPage, find_recorded
from mqops.look.spark_counts import spark_counts
from mqops.observe.arrow import SNAPSHOT
from mqops.observe.core.decode import Browsed, snapshot_row
from mqwire.structures import MQMD

sys.path.insert(0, str(Path(__file__).parents[1]))
from examples import TIMES, generated

QUEUES, USERS = ("A", "B"), ("u0", "u1", "u2")
TEXTS = (b"hay", b"a needle", b"much more hay than before is in it")
WHERE = ("", "USERID(u1)", "BODY('*needle*')", "SIZE(> 20) USERID(u2)", "APPLNAME(nobody)")
SEARCHES = st.tuples(st.sampled_from(WHERE), st.sampled_from([(), ("A",), ("B", "nothing")]), st.sampled_from([0, 25]))


@pytest.fixture
def small(monkeypatch):
    """The limits of a large snapshot, for one of 100 messages."""
    for name, value in {"NEAR": 10, "LARGE": 60, "CHUNK": 14, "FIRST_STEP": 20}.items():
        monkeypatch.setattr(find, name, value)


@pytest.fixture
def snapshot(make_run):
    """100 messages in three files, at most 5 in a row group, some of them alike."""
    folder = make_run([]).snapshot
    for part in folder.glob("*.parquet"):
        part.unlink()
    dice = Random(17)
    chosen = [(dice.choice(QUEUES), dice.choice(USERS), dice.choice(TEXTS)) for _ in range(100)]
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    rows = []
    for position, (queue, user, body) in enumerate(chosen):
        of = Browsed(queue_manager="QM1", queue=queue, observed_at=at)
        md = MQMD(format="MQSTR", coded_char_set_id=1208, user_identifier=user, msg_id=bytes([position] * 24))
        rows.append(snapshot_row(of, position, md.pack(), body))
    for number, part in enumerate((rows[:45], rows[45:50], rows[50:])):
        table = pa.Table.from_pylist(part, schema=SNAPSHOT)
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=5)
    return folder


def pages(snapshot: Path, where: str, queues: Sequence[str], limit: int, counts: CountsOf | None) -> list[FoundPage]:
    """All pages of a search."""
    found = [find_recorded(snapshot, criteria(where), queues=queues, limit=limit, counts=counts)]
    while found[-1].next:
        after = found[-1].next
        found.append(find_recorded(snapshot, criteria(where), queues=queues, limit=limit, after=after, counts=counts))
    return found


def test_spark_finds_what_one_process_finds(spark, snapshot, small):
    assert [one.rows for one in chunks(snapshot, find.CHUNK)] == 4 * [10] + [5] + [5] + 5 * [10]
    for where, queues, limit in generated(SEARCHES, 4 * TIMES):
        counts = partial(spark_counts, spark, snapshot, criteria(where), queues)
        with_spark = pages(snapshot, where, queues, limit, counts)
        assert with_spark == pages(snapshot, where, queues, limit, None), (where, queues, limit)


def test_only_chunks_that_have_some_are_read_here_and_a_full_page_ends_the_search(spark, snapshot, small):
    asked = []

    def counts(these):
        asked.append(sum(chunk.rows for chunk in these))
        return spark_counts(spark, snapshot, criteria(), (), these)

    assert len(find_recorded(snapshot, criteria(), limit=9, counts=counts).messages) == 9
    assert asked == [], "the first messages are looked at here"
    assert len(find_recorded(snapshot, criteria(), limit=20, counts=counts).messages) == 20
    assert asked == [20], "no more than what the page needs"
    asked.clear()
    (one,) = find_recorded(snapshot, criteria(msg_id="63" * 24), counts=counts).messages
    assert one.position == 99
    assert sum(asked) == 100 - 10


def test_a_file_that_is_not_whole_is_named_by_the_worker(spark, snapshot, small):
    groups = chunks(snapshot, find.CHUNK)
    (snapshot / "part-1.parquet").write_bytes(b"PAR1 no more PAR1")
    with pytest.raises(LakeError, match=r"part-1\.parquet is not a whole Parquet file"):
        spark_counts(spark, snapshot, criteria(), (), groups)


def test_the_command_tells_how_far_spark_is_and_shows_the_same(spark, snapshot, small, monkeypatch):
    words = ["message", "find", "--snapshot", str(snapshot), "--where", "BODY('*needle*')", "--json"]
    helped = CliRunner().invoke(main, words)
    assert "mqops: the snapshot has 100 messages: Spark starts" in helped.stderr
    assert "mqops: 20 more looked at, " in helped.stderr
    monkeypatch.setattr(find, "LARGE", 100)
    alone = CliRunner().invoke(main, words)
    assert alone.stderr == ""
    assert (helped.stdout, helped.exit_code) == (alone.stdout, alone.exit_code) == (alone.stdout, 0)


def test_the_command_goes_on_alone_if_spark_fails(snapshot, small, monkeypatch):
    monkeypatch.setenv("SPARK_REMOTE", "no address")
    words = ["message", "find", "--snapshot", str(snapshot), "--where", "BODY('*needle*')", "--json"]
    helped = CliRunner().invoke(main, words)
    assert "mqops: Spark failed: " in helped.stderr
    assert "This process looks at the rest alone" in helped.stderr
    monkeypatch.setattr(find, "LARGE", 100)
    assert (helped.stdout, helped.exit_code) == (CliRunner().invoke(main, words).stdout, 0)
