"""The calendar file that the estate names: when people are at work. Every error names file, line and field.

time_zone: Europe/Berlin
hours: 08:00-18:00
days: [Mon, Tue, Wed, Thu, Fri]
holidays:
  2026-12-25: Christmas Day
"""

from __future__ import annotations

from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field

from mqops.errors import SettingsError
from mqops.estate_block import Block
from mqops.expiry.core.calendar import EVERY_MORNING, Calendar, Weekday
from mqops.given_file import read_errors, text_of
from mqops.settings_file import read

if TYPE_CHECKING:
    from mqops.estate import EstateFile

MOST_NAME = 60
"""Characters of a holiday's name, which people are told in a sentence."""
_DAYS = {day.name[:3].capitalize(): day for day in Weekday}


def _zone(value: object) -> str:
    wrong = f"must be a time zone such as Europe/Berlin or UTC (found {value!r})"
    if not isinstance(value, str) or not value:
        raise ValueError(wrong)
    try:
        return ZoneInfo(value).key
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:  # a folder, a name that is no path, no zone
        raise ValueError(wrong) from error


def _hours(value: object) -> tuple[time, time]:
    wrong = f"must be two times of day such as 08:00-18:00, the first one earlier (found {value!r})"
    try:
        begins, ends = (datetime.strptime(one.strip(), "%H:%M").time() for one in str(value).split("-"))
    except ValueError as error:
        raise ValueError(wrong) from error
    if begins >= ends:
        raise ValueError(wrong)
    return begins, ends


def _day(value: object) -> Weekday:
    if isinstance(value, Weekday):
        return value
    if not isinstance(value, str) or value not in _DAYS:
        raise ValueError(f"must be one of {', '.join(_DAYS)} (found {value!r})")
    return _DAYS[value]


def _as_written(value: object) -> object:
    """The holidays with their days as the file has them, so that an error names them so."""
    if not isinstance(value, dict):
        return value
    return {key.isoformat() if isinstance(key, date) else str(key): name for key, name in value.items()}


def _one_day(value: object) -> date:
    try:
        return date.fromisoformat(str(value))
    except ValueError as error:
        raise ValueError(f"must be a date such as 2026-12-25 (found {value!r})") from error


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > MOST_NAME:
        raise ValueError(f"must be a name of at most {MOST_NAME} characters (found {value!r})")
    return value.strip()


def _some_day(days: tuple[Weekday, ...]) -> tuple[Weekday, ...]:
    if not days:
        raise ValueError("must name a day")
    return days


class CalendarFile(Block):
    """What stands in the file.

    Attributes:
        time_zone: IANA name of the zone of `hours` and `holidays`.
        hours: when people begin and end to work.
        days: days of the week on which they do.
        holidays: day → its name.
    """

    time_zone: Annotated[str, BeforeValidator(_zone)]
    hours: Annotated[tuple[time, time], BeforeValidator(_hours)]
    days: Annotated[
        tuple[Annotated[Weekday, BeforeValidator(_day)], ...], Field(strict=False), AfterValidator(_some_day)
    ] = tuple(Weekday)[:5]
    holidays: Annotated[
        dict[Annotated[date, BeforeValidator(_one_day)], Annotated[str, BeforeValidator(_name)]],
        BeforeValidator(_as_written),
        Field(default_factory=dict),
    ]

    def calendar(self) -> Calendar:
        """As the core has it."""
        begins, ends = self.hours
        return Calendar(
            zone=ZoneInfo(self.time_zone),
            zone_name=self.time_zone,
            begins=begins,
            ends=ends,
            days=frozenset(self.days),
            holidays=self.holidays,
        )


def calendar_of(path: Path) -> Calendar:
    """The calendar of a file.

    Raises:
        SettingsError: it cannot be read, or it is not valid; the text has a line `file:line: field: what` for each
            error.
    """
    with read_errors(f"calendar {path}"):
        text = text_of(path)
    document = read(text, source=str(path))
    found = document.check(CalendarFile)
    if found is None:
        raise SettingsError(*map(str, document.problems))
    return found.calendar()


def calendar_in(file: EstateFile | None) -> Calendar:
    """The calendar that an estate names; `EVERY_MORNING` where it names none. Raises as `calendar_of`."""
    named = file.calendar if file else None
    return calendar_of(named) if named else EVERY_MORNING


def calendar_problems(file: EstateFile) -> tuple[str, ...]:
    """What is wrong with the calendar file that an estate names, as `file:line: field: what`. A missing one is told by
    `EstateFile.missing_files`."""
    if file.calendar is None or not file.calendar.is_file():
        return ()
    try:
        calendar_of(file.calendar)
    except SettingsError as error:
        return tuple(map(str, error.args))
    return ()
