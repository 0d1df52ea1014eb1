"""The values of the estate file: what each may be, checked and made the type that the sections have."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from croniter import CroniterBadDateError, croniter  # type: ignore[import-untyped]
from pydantic import BeforeValidator

QUEUE_PATTERN = re.compile(r"[A-Za-z0-9._/%]{1,48}|[A-Za-z0-9._/%]{0,47}\*")
MQ_NAME = re.compile(r"[A-Za-z0-9._/%]{1,48}")
CONNECTION_ID = re.compile(r"[\w.-]{1,200}")
DAG_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,249}")
"""Airflow's own grammar in ASCII, without a point or hyphen in front: no path and no option of a command."""
TRIGGER = re.compile(r"FIRST|EVERY|DEPTH\(([1-9][0-9]{0,8})\)")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
DURATION = re.compile(r"(\d{1,6})([smhd])")
SIZE = re.compile(r"([0-9]{1,9})([KMGT])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
CRON_PRESETS = ("@hourly", "@daily", "@weekly", "@monthly")
ANY_DAY = datetime(2000, 1, 1)
MAX_UNIT_OF_WORK = 4999  # MAXUMSGS is 10,000 by default, and each message is a get and a put, plus the marker


Action = Literal["RETRY", "FWD", "DISCARD", "DEADLETTER", "DISPOSE"]


def mq_name(value: object) -> str:
    """An MQ object name (48 characters of A-Z a-z 0-9 . _ / %; IBM: "Rules for naming IBM MQ objects")."""
    if not isinstance(value, str):
        raise ValueError(f"must be text (found {value!r}); put it in quotes")
    if not MQ_NAME.fullmatch(value):
        raise ValueError(f"is not an MQ name: at most 48 of the characters A-Z a-z 0-9 . _ / % (found {value!r})")
    return value


def connection_id(value: object) -> str:
    """The id of an Airflow connection."""
    if not isinstance(value, str) or not CONNECTION_ID.fullmatch(value):
        raise ValueError(f"is not an Airflow connection id: letters, digits, _ . - only (found {value!r})")
    return value


def duration(value: object) -> timedelta:
    """A length of time such as 90s, 30m, 8h or 2d."""
    if isinstance(value, timedelta):
        return value
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match or not int(match[1]):
        raise ValueError(f"must be a time such as 90s, 30m, 8h or 2d (found {value!r})")
    return timedelta(seconds=int(match[1]) * SECONDS[match[2]])


def size(value: object) -> int:
    """A number of bytes, such as 500M, 50G or 2T (of 1024)."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = SIZE.fullmatch(value) if isinstance(value, str) else None
    if not match or not int(match[1]):
        raise ValueError(f"must be a size such as 500M, 50G or 2T (found {value!r})")
    return int(match[1]) << 10 * ("KMGT".index(match[2]) + 1)


def cron(value: object) -> str:
    """A schedule: five cron fields (UTC) or one of `CRON_PRESETS`. One of a day that no month has, such as 30 February,
    is refused: Airflow's DAG processor would fail with every DAG of the file."""
    if isinstance(value, str):
        if value in CRON_PRESETS:
            return value
        if len(value.split()) == 5 and croniter.is_valid(value):
            if not _ever(value):
                raise ValueError(f"names a day that never comes (found {value!r})")
            return value
    raise ValueError(f"must be five cron fields or one of {' '.join(CRON_PRESETS)} (found {value!r})")


def next_time(schedule: str, now: datetime) -> datetime:
    """When a schedule (`cron`) comes next after a time."""
    found: datetime = croniter(schedule, now.astimezone(UTC)).get_next(datetime)
    return found


def _ever(fields: str) -> bool:
    """Whether valid cron fields name a time that comes."""
    try:
        croniter(fields, ANY_DAY).get_next()
    except CroniterBadDateError:
        return False
    return True


def not_empty(value: tuple[Action, ...]) -> tuple[Action, ...]:
    """At least one action."""
    if not value:
        raise ValueError("must not be empty")
    return value


def inside_file(value: object) -> str:
    """A path below the estate file's own folder."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be the path of a file (found {value!r})")
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError(f"must be a path below the estate file's folder (found {value!r})")
    return value


def queue_pattern(value: object) -> str:
    """Accept a queue name, or a generic name, which ends in `*`. Raises `ValueError`."""
    if not isinstance(value, str) or not QUEUE_PATTERN.fullmatch(value):
        raise ValueError(f"must be a queue's name, or its beginning and * (found {value!r})")
    return value


def user_name(value: object) -> str:
    """A user of the operating system or of Airflow, as they name him."""
    if not isinstance(value, str) or not value.strip() or value != value.strip() or not value.isprintable():
        raise ValueError(f"must be the name of a user (found {value!r})")
    return value


def dag_id(value: object) -> str:
    """The id of a DAG, as APPLICID of a process can have it (`mqops.trigger.core.trigger_message`)."""
    if not isinstance(value, str) or not DAG_ID.fullmatch(value):
        raise ValueError(f"must be a DAG id: letters, digits, _ . - only, first no . or - (found {value!r})")
    return value


def trigger_type(value: object) -> str:
    """When a queue triggers: TRIGTYPE, with TRIGDPTH in parentheses."""
    if not isinstance(value, str) or not TRIGGER.fullmatch(value):
        raise ValueError(f"must be FIRST, EVERY or DEPTH(number) (found {value!r})")
    return value


def some(value: tuple[str, ...]) -> tuple[str, ...]:
    """At least one, each once."""
    if not value:
        raise ValueError("must not be empty")
    if twice := next((one for number, one in enumerate(value) if one in value[:number]), None):
        raise ValueError(f"names {twice} twice")
    return value


MqName = Annotated[str, BeforeValidator(mq_name)]
ConnectionId = Annotated[str, BeforeValidator(connection_id)]
Duration = Annotated[timedelta, BeforeValidator(duration)]
Size = Annotated[int, BeforeValidator(size)]
Schedule = Annotated[str, BeforeValidator(cron)]
InsideFile = Annotated[str, BeforeValidator(inside_file)]
UserName = Annotated[str, BeforeValidator(user_name)]
QueuePattern = Annotated[str, BeforeValidator(queue_pattern)]
DagId = Annotated[str, BeforeValidator(dag_id)]
TriggerType = Annotated[str, BeforeValidator(trigger_type)]


def environment_name(value: object) -> str:
    """The name of an environment variable, or its beginning and `*`. Airflow's own hold secrets of other systems."""
    if not isinstance(value, str) or not ENVIRONMENT_NAME.fullmatch(value):
        raise ValueError(f"must be the name of an environment variable, or its beginning and * (found {value!r})")
    if value.startswith(("AIRFLOW", "_AIRFLOW", "MQOPS_")):
        raise ValueError(f"must not name a variable of Airflow or mqops: jobs do not get them (found {value!r})")
    return value


EnvironmentName = Annotated[str, BeforeValidator(environment_name)]
