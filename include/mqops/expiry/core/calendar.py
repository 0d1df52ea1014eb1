"""When people are at work: the days, hours and holidays of a calendar file, and the next time that work begins. Pure.

1. Work begins at the same time of day, by the calendar's time zone, on each of its days of the week.
2. On a holiday nobody works, whatever day of the week it is.
3. Without a calendar file work begins at 08:00 UTC every day (`EVERY_MORNING`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import IntEnum
from types import MappingProxyType


class Weekday(IntEnum):
    """The days of the week, as `date.weekday` counts them."""

    MONDAY = 0
    TUESDAY = 1
    WEDNESDAY = 2
    THURSDAY = 3
    FRIDAY = 4
    SATURDAY = 5
    SUNDAY = 6


MOST_DAYS = 366
"""So many days are looked at for one on which people work."""
NEAR = timedelta(days=6)
"""So far away a day of the week names a day without doubt."""
MOST_NAMED = 3
"""Holidays that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """When people are at work.

    Parameters: `zone` of the times, `zone_name` its name as people are told it; `begins` and `ends` the working hours;
    `days` on which people work; `holidays` day → its name.
    """

    zone: tzinfo = UTC
    zone_name: str = "UTC"
    begins: time = time(8)
    ends: time = time(18)
    days: frozenset[Weekday] = frozenset(Weekday)
    holidays: Mapping[date, str] = field(default_factory=lambda: MappingProxyType({}))

    def is_working_day(self, day: date) -> bool:
        """Whether people work on a day (rules 1 and 2)."""
        return Weekday(day.weekday()) in self.days and day not in self.holidays

    def next_begin(self, now: datetime) -> datetime:
        """The next time that work begins, in the calendar's zone.

        Parameters: `now` with time zone. A calendar on which nobody works for a year has the end of that year.
        """
        today = now.astimezone(self.zone).date()
        days = (today + timedelta(days=number) for number in range(MOST_DAYS))
        begins = (self._at(day, self.begins) for day in days if self.is_working_day(day))
        return next((at for at in begins if at > now), self._at(today + timedelta(days=MOST_DAYS), self.begins))

    def end_of_work(self, now: datetime) -> datetime | None:
        """When the work of today ends, None where nobody is at work now."""
        today = now.astimezone(self.zone).date()
        at_work = self.is_working_day(today) and self._at(today, self.begins) <= now < self._at(today, self.ends)
        return self._at(today, self.ends) if at_work else None

    def free_days(self, now: datetime, until: datetime) -> Iterator[date]:
        """The days before `until` on which nobody works, from today on."""
        first, last = (at.astimezone(self.zone).date() for at in (now, until))
        days = (first + timedelta(days=number) for number in range((last - first).days))
        return (day for day in days if not self.is_working_day(day))

    def _at(self, day: date, hour: time) -> datetime:
        return datetime.combine(day, hour, tzinfo=self.zone)


EVERY_MORNING = Calendar()
"""Rule 3."""


def in_words(calendar: Calendar, at: datetime, now: datetime) -> str:
    """A time to come, as people say it: `08:00 on Monday`, `08:00 on Tuesday 29 December (after Christmas Day)`.

    Without a calendar file the zone is named, since nobody has chosen it: `08:00 UTC on Monday`.
    """
    local, today = at.astimezone(calendar.zone), now.astimezone(calendar.zone).date()
    hour = f"{local:%H:%M}" if calendar is not EVERY_MORNING else f"{local:%H:%M} UTC"
    return f"{hour} {_day(local.date(), today)}{_after(calendar, now, at)}"


def _day(day: date, today: date) -> str:
    if day == today:
        return "today"
    return f"on {_named(day)}" if day - today <= NEAR else f"on {_named(day)} {day.day} {_MONTHS[day.month - 1]}"


def _after(calendar: Calendar, now: datetime, at: datetime) -> str:
    """The holidays that are before that time."""
    names = dict.fromkeys(name for day in calendar.free_days(now, at) if (name := calendar.holidays.get(day, "")))
    if not names:
        return ""
    *first, last = list(names)[:MOST_NAMED]
    return f" (after {', '.join(first)} and {last})" if first else f" (after {last})"


def _named(day: date) -> str:
    """English, whatever the locale."""
    return Weekday(day.weekday()).name.capitalize()


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
