"""What a plan adds up to: per rule, and per rule × reason × origin × destination, with three masked samples each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from mqops.decide.core import PlanCount, RuleCount, Sample
from mqops.decide.core.mask import TEXT_COLUMNS, shape
from mqops.decide.core.summary import MOST_GROUPS, SAMPLES
from mqops.observe.core.put_time import put_instant
from mqops.observe.core.reasons import reason_symbol

_RULE = ["rule_line", "rule_key", "action"]
_GROUP = [*_RULE, "dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "dest_q", "dest_q_mgr"]


def counted(plan: DataFrame, snapshot: DataFrame) -> tuple[tuple[RuleCount, ...], tuple[PlanCount, ...], int]:
    """Counts per rule in the order of the table, the largest groups, and how many groups are left off."""
    groups = _groups(plan).persist()
    try:
        rules = groups.groupBy(*_RULE).agg(*_sums()).collect()
        largest = groups.orderBy(F.desc("messages"), *_GROUP).limit(MOST_GROUPS).collect()
        number = groups.count()
    finally:
        groups.unpersist()
    first = _first(plan, largest)
    shapes = _shapes(snapshot, {row["msg_key"] for row in first})
    samples: dict[Any, list[Sample]] = {}
    for row in first:
        samples.setdefault(_group_of(row), []).append(_sample(row, shapes))
    return (
        tuple(sorted((_rule_count(rule) for rule in rules), key=_table_order)),
        tuple(_plan_count(group, samples.get(_group_of(group), [])) for group in largest),
        number - len(largest),
    )


def _group_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _GROUP)


def _groups(plan: DataFrame) -> DataFrame:
    """One row a group; none of its first messages is behind the row `last`.

    The first aggregation keeps numbers only, so it is hashed, not sorted. It divides a group in as many parts as there
    are samples: where no part is empty, the group's first messages are not behind the first ones of the parts.
    """
    instant = F.concat("put_date", "put_time").try_cast("long").alias("oldest")
    narrow = plan.select(*_GROUP, "row", "body_length", instant)
    parts = narrow.groupBy(*_GROUP, F.pmod("row", F.lit(SAMPLES)).alias("part")).agg(
        F.count("*").alias("messages"),
        F.sum("body_length").alias("bytes"),
        F.min("oldest").alias("oldest"),
        F.min("row").alias("first"),
        F.max("row").alias("last"),
    )
    last = F.when(F.count("*") == SAMPLES, F.max("first")).otherwise(F.max("last")).alias("last")
    return parts.groupBy(*_GROUP).agg(*_sums(), last).withColumn("id", F.xxhash64(*_GROUP))


def _first(plan: DataFrame, groups: Sequence[Row]) -> list[Row]:
    """The first messages of each of these groups, in the order of their rows."""
    last = max((group["last"] for group in groups), default=0)
    early = plan.where((F.col("row") <= last) & F.xxhash64(*_GROUP).isin([group["id"] for group in groups]))
    number = F.row_number().over(Window.partitionBy(*_GROUP).orderBy("row"))
    first = early.withColumn("number", number).where(F.col("number") <= SAMPLES)
    return sorted(first.select(*_GROUP, *_SAMPLED).collect(), key=lambda row: row["row"])


def _sums() -> list[Any]:
    return [F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes"), F.min("oldest").alias("oldest")]


def _table_order(rule: RuleCount) -> tuple[bool, int, str]:
    return (rule.rule_line is None, rule.rule_line or 0, rule.action)


def _oldest(number: int | None) -> str:
    text = "" if number is None else f"{number:016}"
    return put_instant(text[:8], text[8:])


def _rule_count(row: Row) -> RuleCount:
    return RuleCount(
        **{name: row[name] for name in (*_RULE, "messages", "bytes")},
        oldest=_oldest(row["oldest"]),
    )


def _plan_count(row: Row, samples: Iterable[Sample]) -> PlanCount:
    reason = row["dlh_reason"]
    return PlanCount(
        **{name: row[name] for name in (*_RULE, "dest_q", "dest_q_mgr", "messages", "bytes")},
        reason=reason,
        symbol=reason_symbol(reason),
        origin_q=row["dlh_dest_q"],
        origin_q_mgr=row["dlh_dest_q_mgr"],
        oldest=_oldest(row["oldest"]),
        samples=tuple(samples),
    )


_SAMPLED = ("row", "msg_key", "msg_id", "put_date", "put_time", "put_appl_name", "body_length")
_TEXT_BYTES = 256
"""More than an MQDLH and what is shown of the text behind it."""


def _shapes(snapshot: DataFrame, keys: Iterable[str]) -> dict[str, str]:
    """msg_key → masked text. Bodies are read by position, so that only the files' parts with samples are read."""
    wanted = F.col("msg_key").isin(list(keys))
    places = snapshot.where(wanted).select("position").collect()
    begin = F.substring("body", 1, _TEXT_BYTES).alias("body")
    messages = (
        snapshot.where(F.col("position").isin([place["position"] for place in places]))
        .where(wanted)
        .select("msg_key", begin, *[name for name in TEXT_COLUMNS if name != "body"])
        .collect()
    )
    return {message["msg_key"]: shape({**message.asDict(), "body": bytes(message["body"])}) for message in messages}


def _sample(row: Row, shapes: Mapping[str, str]) -> Sample:
    return Sample(
        row=row["row"],
        msg_id=bytes(row["msg_id"]).hex(),
        put_at=put_instant(row["put_date"], row["put_time"]),
        put_appl_name=row["put_appl_name"],
        bytes=row["body_length"],
        shape=shapes[row["msg_key"]],
    )
