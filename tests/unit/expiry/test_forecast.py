"""The forecast: what a look counts, the sentences, the metrics, and what is told before a look. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import openmetrics_grammar
import pytest

from mqops.estate_values import next_time
from mqops.expiry.core.calendar import EVERY_MORNING, Calendar, Weekday
from mqops.expiry.core.candidates import Kind, Known, QueueNow, with_kinds, worth_scanning
from mqops.expiry.core.first_tell import at_stake
from mqops.expiry.core.forecast import Outlook, of_left, openmetrics, outlook, sentences
from mqops.expiry.core.histogram import MOST, Histogram, Lifetimes, Stake
from mqops.expiry.core.outcome import BUCKETS
from mqwire import constants as c

NOW = datetime(2026, 11, 27, 15, 7, 30, tzinfo=UTC)  # a Friday
WEEK = Calendar(days=frozenset(tuple(Weekday)[:5]))
MONDAY = datetime(2026, 11, 30, 8, tzinfo=UTC)
HOUR = 36_000
RECHECK = timedelta(hours=1)


def counted(*lifetimes: int, report: int = 0, persistence: int = 0) -> Histogram:
    found = Lifetimes()
    for tenths in lifetimes:
        found.add(tenths, report, persistence)
    return found.histogram(NOW)


def known(histogram: Histogram | None, **values: object) -> Known:
    depth = histogram.messages if histogram else 1
    return Known(**{"scanned_at": NOW.isoformat(), "depth": depth, "histogram": histogram, **values})  # type: ignore[arg-type]


def queue(name: str = "Q", depth: int = 1, kind: Kind = Kind.OTHER, **values: object) -> QueueNow:
    return QueueNow(**{"name": name, "depth": depth, "kind": kind, **values})  # type: ignore[arg-type]


def test_what_expires_until_a_full_quarter_of_an_hour_is_counted_exactly() -> None:
    until = int((MONDAY - NOW).total_seconds() * 10)
    found = counted(until, until + 10, -1, MOST * 10 + 1, 1)
    assert (found.until(MONDAY).messages, found.until(MONDAY, since=NOW).messages) == (2, 2)
    assert found.until(NOW + timedelta(minutes=1), since=NOW).messages == 1
    assert (found.later, found.never, found.messages, found.expiring) == (1, 1, 5, 4)
    assert found.until(NOW).messages == 0  # what is over has expired for certain


def test_a_histogram_of_any_number_of_messages_has_a_greatest_size() -> None:
    found = counted(*range(1, 20 * 864_000, 997))
    assert len(found.expire) <= MOST // 900 + 60 + 2
    assert found.messages == len(range(1, 20 * 864_000, 997))


@pytest.mark.parametrize(
    ("report", "wants"),
    [
        (c.MQRO_EXPIRATION, 1),
        (c.MQRO_EXPIRATION_WITH_DATA, 1),
        (c.MQRO_EXPIRATION_WITH_FULL_DATA, 1),
        (c.MQRO_EXCEPTION_WITH_FULL_DATA | c.MQRO_COA | c.MQRO_COD_WITH_FULL_DATA, 0),
        (c.MQRO_DISCARD_MSG, 0),
    ],
)
def test_E06_who_asked_for_a_report_of_expiry_is_counted(report: int, wants: int) -> None:
    assert counted(10, report=report).until(MONDAY) == Stake(1, wants, 0)


def test_the_kinds_of_queues() -> None:
    queues = [queue("APP", backout_queue="APP.BOQ"), *map(queue, ("APP.BOQ", "DEAD", "KEEP.1", "KEEP.2", "OTHER"))]
    found = with_kinds(queues, dead_letters={"DEAD", ""}, storage=("KEEP.*",))
    kinds = {one.name: one.kind for one in found}
    assert kinds == {
        **{"APP": Kind.OTHER, "APP.BOQ": Kind.BACKOUT, "DEAD": Kind.DEAD_LETTER},
        **{"KEEP.1": Kind.STORAGE, "KEEP.2": Kind.STORAGE, "OTHER": Kind.OTHER},
    }


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (None, ""),
        (2, ", 1 of them before the next run"),
        (0.5, ""),  # none before that run
        (90, ", 4 before the next run"),
        (66, ""),  # the same three
    ],
)
def test_what_a_run_has_left_is_told_until_work_begins_and_until_its_next_run(hours: float | None, said: str) -> None:
    left = {"DLQ": counted(HOUR, 10 * HOUR, 60 * HOUR, 80 * HOUR, -1), "KEPT": counted(-1)}
    next_run = None if hours is None else NOW + timedelta(hours=hours)
    work = Calendar(days=WEEK.days)
    assert list(of_left(left, Kind.DEAD_LETTER, now=NOW, calendar=work, next_run=next_run)) == [
        f"3 dead letters vanish before 08:00 on Monday: DLQ, 1 of them before 18:00 today{said}"
    ]
    later = {"B": counted(80 * HOUR)}
    found = list(of_left(later, Kind.BACKOUT, now=NOW, calendar=work, next_run=NOW + timedelta(hours=90)))
    assert found == ["1 backed-out message vanishes before the next run: B"]


def test_a_schedule_has_a_next_time() -> None:
    assert next_time("30 6 * * *", NOW) == datetime(2026, 11, 28, 6, 30, tzinfo=UTC)
    assert next_time("@daily", NOW) == datetime(2026, 11, 28, tzinfo=UTC)


def told(queues: list[QueueNow], taught: dict[str, Known], calendar: Calendar = WEEK, at: datetime = NOW) -> Outlook:
    return outlook("QM1", queues, taught, now=at, calendar=calendar)


def test_dead_letters_come_first_in_the_words_of_people() -> None:
    evening = int((NOW.replace(hour=17) - NOW).total_seconds() * 10)
    taught = {
        "DEAD": known(counted(*[evening] * 12, *[50 * HOUR] * 1300, -1)),
        "BOQ": known(counted(HOUR, HOUR, report=c.MQRO_EXPIRATION, persistence=1)),
        "KEEP": known(counted(-1, 200 * HOUR)),
        "APP": known(counted(*[HOUR] * 9)),
    }
    queues = [
        queue("APP", 9),
        queue("KEEP", 2, Kind.STORAGE),
        queue("NEW", 7),
        queue("BOQ", 2, Kind.BACKOUT),
        queue("DEAD", 1313, Kind.DEAD_LETTER),
        queue("EMPTY", 0),
    ]
    found = told(queues, taught)
    assert [one.queue for one in found.queues] == ["DEAD", "BOQ", "KEEP", "APP", "NEW"]
    assert list(sentences(found)) == [
        "1,312 dead letters vanish before 08:00 on Monday: DEAD, 12 of them before 18:00 today",
        "2 backed-out messages vanish before 08:00 on Monday: BOQ, 2 of them before 18:00 today, 2 ask for a report, "
        "2 are persistent",
        "9 messages expire before 08:00 on Monday on 1 other queue",
        "of 7 messages on 1 queue it is not known when they expire",
    ]
    assert found.waiting == 1314
    dead, *_rest = found.queues
    assert dead.within == {"6h": 12, "3d": 1300, "never": 1}
    assert (dead.before.messages + dead.later + dead.never, dead.today) == (1313, 12)


def test_nothing_that_waits_for_a_person_vanishes() -> None:
    dead, kept = queue("DEAD", 1, Kind.DEAD_LETTER), queue("KEEP", 2, Kind.STORAGE)
    found = told([dead], {"DEAD": known(counted(-1))}, EVERY_MORNING)
    assert list(sentences(found)) == ["no message of DEAD vanishes before 08:00 UTC on Saturday"]
    found = told([dead, kept], {"KEEP": known(counted(-1, -1))}, EVERY_MORNING)
    said = ["no message of KEEP vanishes before 08:00 UTC on Saturday"]
    assert list(sentences(found)) == [*said, "of 1 message on 1 queue it is not known when they expire"]
    assert list(sentences(told([dead], {}))) == ["of 1 message on 1 queue it is not known when they expire"]
    found = told([queue("DEAD", 3, Kind.DEAD_LETTER)], {"DEAD": known(counted(-1))}, EVERY_MORNING)
    said = "no message of DEAD that was counted vanishes before 08:00 UTC on Saturday"
    assert list(sentences(found)) == [said, "of 2 messages on 1 queue it is not known when they expire"]
    assert list(sentences(told([], {}))) == []
    found = told([dead, kept], {"KEEP": known(counted(-1)), "DEAD": known(counted(-1))}, EVERY_MORNING)
    said = ["no message of DEAD, KEEP that was counted vanishes before 08:00 UTC on Saturday"]
    assert list(sentences(found)) == [*said, "of 1 message on 1 queue it is not known when they expire"]
    over = known(Histogram(expire={int(NOW.timestamp()): 1}))  # it has expired, and vanishes when a program looks
    assert list(sentences(told([dead], {"DEAD": over}, EVERY_MORNING))) == []


@pytest.mark.parametrize(
    ("depth", "last_put", "at_most", "unknown"),
    [
        (3, "x", False, 0),
        (3, "", False, 0),  # MONQ(OFF)
        (2, "y", True, 0),  # one went
        (3, "y", True, 0),  # one went and one came
        (5, "y", False, 2),  # two came
    ],
)
def test_what_came_and_went_since_the_look(depth: int, last_put: str, at_most: bool, unknown: int) -> None:
    taught = {"DEAD": known(counted(HOUR, HOUR, -1), last_put="x")}
    (one,) = told([queue("DEAD", depth, Kind.DEAD_LETTER, last_put=last_put)], taught).queues
    assert (one.before.messages, one.at_most, one.unknown) == (2, at_most, unknown)


def test_the_clock_goes_on_and_the_queue_manager_may_have_discarded_what_is_over() -> None:
    taught = {"DEAD": known(counted(HOUR, 3 * HOUR))}
    two_hours_later = NOW + timedelta(hours=2)
    for depth in (2, 1):
        (one,) = told([queue("DEAD", depth, Kind.DEAD_LETTER)], taught, at=two_hours_later).queues
        assert (one.past.messages, one.before.messages, one.at_most) == (1, 1, False)


def test_metrics_are_openmetrics_text_whatever_the_labels_are() -> None:
    taught = {"DEAD": known(counted(HOUR, -1, persistence=1), next_expiry=MONDAY.isoformat())}
    families = openmetrics_grammar.read(openmetrics(told([queue("DEAD", 2, Kind.DEAD_LETTER), queue("N", 3)], taught)))
    labels = {"queue_manager": "QM1", "queue": "DEAD", "kind": "dead-letter queue"}
    assert families["mqops_expiry_messages"].samples == {
        frozenset({**labels, "within": "6h"}.items()): 1.0,  # to the quarter of an hour: a little more than 1 h
        frozenset({**labels, "within": "never"}.items()): 1.0,
    }
    assert families["mqops_expiry_messages_before_work"].samples[frozenset(labels.items())] == 1.0
    stake = families["mqops_expiry_messages_before_work_at_stake"].samples
    assert stake[frozenset({**labels, "why": "persistent"}.items())] == 1.0
    unknown = families["mqops_expiry_messages_unknown"].samples
    assert unknown[frozenset({"queue_manager": "QM1", "queue": "N", "kind": "queue"}.items())] == 3.0
    begins = families["mqops_expiry_work_begins_timestamp_seconds"].samples
    assert begins == {frozenset({("queue_manager", "QM1")}): MONDAY.timestamp()}
    openmetrics_grammar.read(openmetrics(told([], {})))


def test_what_a_look_lets_the_queue_manager_discard_is_told_where_something_is_at_stake() -> None:
    later = NOW + timedelta(hours=2)
    taught = {
        "REPORTS": known(counted(HOUR, HOUR, report=c.MQRO_EXPIRATION)),
        "PERSISTENT": known(counted(HOUR, persistence=1)),
        "PLAIN": known(counted(HOUR)),
        "DEAD": known(counted(HOUR, -1)),
        "LIVES": known(counted(9 * HOUR, report=c.MQRO_EXPIRATION, persistence=1)),
        "GREW": known(counted(-1)),
    }
    queues = [
        queue("REPORTS", 2),
        *map(queue, ("PERSISTENT", "PLAIN", "LIVES", "NEVER.SEEN")),
        queue("GREW", 4, Kind.BACKOUT),
        queue("DEAD", 2, Kind.DEAD_LETTER),
        queue("KEEP", 5, Kind.STORAGE),
    ]
    names = [one.name for one in queues]
    assert [one.sentence() for one in at_stake(queues, names, taught, now=later)] == [
        "DEAD (dead-letter queue): a look discards up to 1 expired message",
        "GREW (backout queue): a look discards what has expired of 3 messages that no look has counted",
        "KEEP (storage queue): a look discards what has expired of 5 messages that no look has counted",
        "PERSISTENT (queue): a look discards up to 1 expired message, 1 is persistent",
        "REPORTS (queue): a look discards up to 2 expired messages, 2 expiration reports are sent",
    ]
    assert [one.queue for one in at_stake(queues, ["PLAIN", "REPORTS"], taught, now=later)] == ["REPORTS"]
    assert [one.queue for one in at_stake(queues, ["REPORTS", "DEAD"], taught, now=NOW)] == []


# History


def history(*scans: Known, discarded: int = 0) -> Known:
    found: Known | None = None
    for one in scans:
        found = one.after(found, discarded=discarded)
    assert found is not None
    return found


def look(histogram: Histogram, **values: object) -> Known:
    some = histogram.expiring > 0
    return known(histogram, **{"looks": 1, "expiring": int(some), "shortest": 3600 if some else None, **values})


@pytest.mark.parametrize(
    ("taught", "now", "forecast", "worth"),
    [
        (history(look(counted(-1)), look(counted(-1))), {}, False, True),  # too few looks
        (history(*[look(counted(-1))] * 3), {}, False, False),  # never had a message with an expiry
        (history(*[look(counted(-1))] * 3), {}, True, False),
        (history(*[look(counted(-1))] * 3), {"kind": Kind.DEAD_LETTER}, False, True),  # somebody's messages wait there
        (history(*[look(counted(HOUR))] * 3), {"oldest": 3599}, False, False),  # younger than any lifetime
        (history(*[look(counted(HOUR))] * 3), {"oldest": 3599}, True, True),  # a forecast wants to know
        (history(*[look(counted(HOUR))] * 3), {"oldest": 3600}, False, True),
        (history(*[look(counted(HOUR))] * 3), {"oldest": None}, False, True),  # MONQ(OFF)
        (history(*[look(counted(HOUR))] * 3, discarded=1), {"oldest": 0}, False, True),  # shorter ones went unseen
        (history(*[look(counted(HOUR))] * 2), {"oldest": 0}, False, True),
    ],
)
def test_E16_history_and_the_oldest_message_leave_out_what_is_not_worth_a_scan(
    taught: Known, now: dict[str, object], forecast: bool, worth: bool
) -> None:
    later = NOW + timedelta(minutes=1)
    found = worth_scanning(
        [queue("Q", 2, **now)],
        {"Q": taught},
        now=later,
        recheck=RECHECK,
        forecast=forecast,  # type: ignore[arg-type]
    )
    assert bool(found) is worth
    rechecked = worth_scanning([queue("Q", 2, **now)], {"Q": taught}, now=NOW + RECHECK, recheck=RECHECK)  # type: ignore[arg-type]
    assert list(rechecked) == ["Q"]  # whatever history says


def test_E16_what_was_counted_before_it_expired_does_not_shorten_the_lifetimes() -> None:
    first = look(counted(HOUR))
    later = (NOW + timedelta(hours=2)).isoformat()
    assert look(counted(HOUR), scanned_at=later).after(first, discarded=1).shortest == 3600
    assert look(counted(HOUR), scanned_at=later).after(first, discarded=2).shortest == 0


def test_a_record_of_an_older_version_is_looked_at_for_a_forecast_and_else_holds() -> None:
    old = known(None)
    for forecast, why in ((True, {"Q": "no scan has counted its messages by expiry"}), (False, {})):
        found = worth_scanning([queue()], {"Q": old}, now=NOW, recheck=RECHECK, forecast=forecast)
        assert found == why
    (one,) = told([queue()], {"Q": old}).queues
    assert (one.unknown, one.before) == (1, Stake())


def test_every_bucket_is_longer_than_the_one_before() -> None:
    assert list(BUCKETS.values()) == sorted(BUCKETS.values())
