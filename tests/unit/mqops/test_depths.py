"""Depths over the day: samples that pages and commands leave, and no more than a day's of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mqops.lake.files import write_json
from mqops.look.depths import FILE, MOST, Sample, depths, note_depths
from mqops.observe.samples import MOST_SAMPLES

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def time(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def at(minutes: float) -> str:
    return time(minutes).isoformat()


def test_a_sample_is_left_each_quarter_of_an_hour_and_queues_without_messages_have_none_in_it(tmp_path: Path) -> None:
    for minutes, depth in ((0, 5), (1, 6), (14.9, 7), (15, 8), (31, 0)):
        note_depths(tmp_path, at(minutes), {"A": depth})
    assert [(one.at, one.of("A")) for one in depths(tmp_path, time(31))] == [(at(0), 5), (at(15), 8), (at(31), 0)]
    assert depths(tmp_path, time(31))[0].of("NEW") == 0


def test_the_file_stays_small_however_long_it_is_written_to(tmp_path: Path) -> None:
    queues = {f"Q{number:04}": number for number in range(1, 3 * MOST)}
    sizes = []
    for number in range(MOST_SAMPLES + 4):
        note_depths(tmp_path, at(15 * number), queues)
        sizes.append((tmp_path / FILE).stat().st_size)
    last = time(15 * (MOST_SAMPLES + 3))
    assert len(depths(tmp_path, last)) == MOST_SAMPLES
    assert {*sizes[MOST_SAMPLES - 1 :]} == {sizes[-1]}
    newest = depths(tmp_path, last)[-1]
    assert (len(newest.depths), newest.of("Q0599"), newest.of("Q0001")) == (MOST, 599, None)  # it may have some


@pytest.mark.parametrize(
    "there",
    [
        pytest.param("{", id="torn"),
        pytest.param('{"format": 99, "samples": []}', id="of a newer version"),
        pytest.param('{"samples": [{"at": "noon", "depths": {"A": 1}}]}', id="with no time"),
        pytest.param('{"samples": [{"at": "2099-01-01T00:00:00+00:00", "depths": {"A": 1}}]}', id="of a wrong clock"),
    ],
)
def test_a_file_that_says_nothing_is_made_anew(tmp_path: Path, there: str) -> None:
    (tmp_path / FILE).write_text(there)
    note_depths(tmp_path, at(0), {"A": 3})
    assert depths(tmp_path, NOW) == (Sample(at=at(0), depths={"A": 3}),)


def test_samples_of_yesterday_are_forgotten(tmp_path: Path) -> None:
    write_json(tmp_path / FILE, {"samples": [{"at": at(-24 * 60), "depths": {"A": 1}}]})
    note_depths(tmp_path, at(0), {"A": 2})
    assert [one.of("A") for one in depths(tmp_path, NOW)] == [2]
    assert depths(tmp_path, time(24 * 60)) == ()  # also where no look has come since
