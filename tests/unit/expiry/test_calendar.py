"""When people are at work: weekends, holidays, time zones, and the calendar file with the line of each error."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner

from mqops.cli import main
from mqops.errors import SettingsError
from mqops.expiry.calendar_file import calendar_of
from mqops.expiry.core.calendar import EVERY_MORNING, Calendar, Weekday, in_words

BERLIN = Calendar(
    zone=ZoneInfo("Europe/Berlin"),
    zone_name="Europe/Berlin",
    days=frozenset(tuple(Weekday)[:5]),
    holidays={
        **{date(2026, 4, 3): "Good Friday", date(2026, 4, 6): "Easter Monday"},
        **{date(2026, 12, 25): "Christmas Day", date(2027, 1, 1): "New Year's Day"},
    },
)
FILE = "time_zone: Europe/Berlin\nhours: 08:00-17:30\nholidays:\n  2026-12-25: Christmas Day\n"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("calendar", "now", "begins", "words"),
    [
        # Friday afternoon: over the weekend
        (BERLIN, "2026-11-27T15:00+00:00", "2026-11-30T07:00+00:00", "08:00 on Monday"),
        (BERLIN, "2026-11-30T02:00+00:00", "2026-11-30T07:00+00:00", "08:00 today"),  # 03:00 on a Monday
        (BERLIN, "2026-11-30T07:00+00:00", "2026-12-01T07:00+00:00", "08:00 on Tuesday"),  # work has begun
        (BERLIN, "2026-11-29T23:30+00:00", "2026-11-30T07:00+00:00", "08:00 today"),  # 00:30 of Monday there
        # Maundy Thursday: over Easter, and summer time
        (
            BERLIN,
            "2026-04-02T16:00+00:00",
            "2026-04-07T06:00+00:00",
            "08:00 on Tuesday (after Good Friday and Easter",
        ),
        (BERLIN, "2026-12-24T16:00+00:00", "2026-12-28T07:00+00:00", "08:00 on Monday (after Christmas Day)"),
        (BERLIN, "2026-03-27T16:00+00:00", "2026-03-30T06:00+00:00", "08:00 on Monday"),  # summer time begins meanwhile
        (EVERY_MORNING, "2026-11-28T09:00+00:00", "2026-11-29T08:00+00:00", "08:00 UTC on Sunday"),
        (EVERY_MORNING, "2026-11-28T07:59+00:00", "2026-11-28T08:00+00:00", "08:00 UTC today"),
    ],
)
def test_work_begins_again(calendar: Calendar, now: str, begins: str, words: str) -> None:
    found = calendar.next_begin(at(now))
    assert found.astimezone(UTC) == at(begins)
    assert in_words(calendar, found, at(now)).startswith(words)


def test_a_day_that_is_far_away_has_its_date() -> None:
    everywhere = {date(2026, 12, day): "Works holiday" for day in range(21, 32)}
    closed = Calendar(days=frozenset(tuple(Weekday)[:5]), holidays=everywhere)
    now = at("2026-12-18T17:00+00:00")
    assert in_words(closed, closed.next_begin(now), now) == "08:00 on Friday 1 January (after Works holiday)"


def test_a_calendar_on_which_nobody_works_ends_after_a_year() -> None:
    assert Calendar(days=frozenset()).next_begin(at("2026-01-01T00:00+00:00")) == at("2027-01-02T08:00+00:00")


@pytest.mark.parametrize(
    ("now", "ends"),
    [
        ("2026-11-27T15:00+00:00", "2026-11-27T18:00+01:00"),
        ("2026-11-27T06:59+00:00", None),  # not yet
        ("2026-11-27T17:00+00:00", None),  # not any more
        ("2026-11-28T12:00+00:00", None),  # Saturday
        ("2026-12-25T12:00+00:00", None),  # holiday
    ],
)
def test_when_the_work_of_today_ends(now: str, ends: str | None) -> None:
    assert BERLIN.end_of_work(at(now)) == (at(ends) if ends else None)


def test_a_calendar_file_says_when_people_work(tmp_path: Path) -> None:
    path = tmp_path / "calendar.yaml"
    path.write_text(FILE)
    found = calendar_of(path)
    assert (found.zone_name, found.begins, found.ends) == ("Europe/Berlin", time(8), time(17, 30))
    assert found.days == frozenset(tuple(Weekday)[:5])
    assert dict(found.holidays) == {date(2026, 12, 25): "Christmas Day"}
    path.write_text(FILE + "days: [Sun, Mon]\n")
    assert calendar_of(path).days == {Weekday.SUNDAY, Weekday.MONDAY}


@pytest.mark.parametrize(
    ("text", "line", "field", "what"),
    [
        ("hours: 08:00-17:00\n", 1, "time_zone", "is required"),
        ("time_zone: Europe/Nowhere\nhours: 08:00-17:00\n", 1, "time_zone", "such as Europe/Berlin"),
        ("time_zone: ../../etc/passwd\nhours: 08:00-17:00\n", 1, "time_zone", "such as Europe/Berlin"),
        ("time_zone: UTC\nhours: 18:00-08:00\n", 2, "hours", "the first one earlier"),
        ("time_zone: UTC\nhours: 8\n", 2, "hours", "two times of day"),
        ("time_zone: UTC\nhours: 08:00-24:30\n", 2, "hours", "two times of day"),
        (FILE + "days: [Mon, Caturday]\n", 5, "days.1", "must be one of Mon, Tue"),
        (FILE + "days: []\n", 5, "days", "must name a day"),
        (FILE + "  25.12.2027: Christmas\n", 5, "holidays.25.12.2027", "must be a date such as"),
        (FILE + "  2027-12-25: 7\n", 5, "holidays.2027-12-25", "must be a name"),
        (FILE + "  2026-12-25: Again\n", 5, "holidays.2026-12-25", "a second time"),
        (FILE + "  2026-02-30: None\n", 5, "", "not a valid value"),
        (FILE + "holiday: {}\n", 5, "holiday", "did you mean 'holidays'?"),
    ],
)
def test_an_error_of_a_calendar_names_file_line_and_field(
    tmp_path: Path, text: str, line: int, field: str, what: str
) -> None:
    path = tmp_path / "calendar.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError) as refused:
        calendar_of(path)
    (told,) = refused.value.args
    assert told.startswith(f"{path}:{line}: {field}{': ' if field else ''}")
    assert what in told


def test_estate_check_tells_what_is_wrong_with_the_calendar(tmp_path: Path) -> None:
    estate = tmp_path / "estate.yaml"
    estate.write_text("lake: lake\ncalendar: calendar.yaml\nqueue_managers:\n  QM1: {connection: mq_qm1}\n")

    def check() -> tuple[int, str]:
        done = CliRunner().invoke(main, ["estate", "check", str(estate)])
        return done.exit_code, done.output

    code, told = check()
    assert (code, f"{estate}:2: calendar: there is no file" in told) == (1, True)
    (tmp_path / "calendar.yaml").write_text(FILE.replace("Berlin", "Bern"))
    code, told = check()
    assert (code, f"{tmp_path / 'calendar.yaml'}:1: time_zone: must be a time zone" in told) == (1, True)
    (tmp_path / "calendar.yaml").write_text(FILE)
    assert check()[0] == 0
