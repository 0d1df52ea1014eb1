"""What a plan adds up to: per rule, and per rule × reason × origin × destination, with three masked samples each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from mqops.actions import Action
from mqops.decide.core import PlanCount, RuleCount, Sample
from mqops.decide.core.summary import MOST_GROUPS, SAMPLES
from mqops.decide.samples import masked
from mqops.observe.core.put_time import put_instant
from mqops.observe.core.reasons import reason_symbol
from mqops.spark_job import cached

_RULE = ["rule_line", "rule_key", "action"]
_GROUP = [*_RULE, "dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "dest_q", "dest_q_mgr"]


def plan_counts(plan: DataFrame, snapshot: Path) -> tuple[tuple[RuleCount, ...], tuple[PlanCount, ...], int]:
    """Counts per rule in the order of the table; the `MOST_GROUPS` largest groups with masked samples, those
    that are ignored behind the others; the number of the other groups.

    Parameters: `plan` rows of `PLAN`; `snapshot` the folder that the texts of the samples are read from.

    Raises:
        LakeError: the snapshot cannot be read.
    """
    with cached(_groups(plan)) as groups:
        rules = groups.groupBy(*_RULE).agg(*_sums(), F.count("*").alias("groups")).collect()
        ignored = F.col("action") == Action.IGNORE.value
        largest = groups.orderBy(ignored, F.desc("messages"), *_GROUP).limit(MOST_GROUPS).collect()
    first = _first(plan, largest)
    shapes = masked(snapshot, [(bytes(row["msg_id"]), bytes(row["body_sha256"])) for row in first])
    samples: dict[Any, list[Sample]] = {}
    for row in first:
        samples.setdefault(_group_of(row), []).append(_sample(row, shapes))
    return (
        tuple(sorted((_rule_count(rule) for rule in rules), key=_table_order)),
        tuple(_plan_count(group, samples.get(_group_of(group), [])) for group in largest),
        sum(rule["groups"] for rule in rules) - len(largest),
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


_SAMPLED = ("row", "msg_id", "body_sha256", "put_date", "put_time", "put_appl_name", "body_length")


def _sample(row: Row, shapes: Mapping[tuple[bytes, bytes], str]) -> Sample:
    return Sample(
        row=row["row"],
        msg_id=bytes(row["msg_id"]).hex(),
        put_at=put_instant(row["put_date"], row["put_time"]),
        put_appl_name=row["put_appl_name"],
        bytes=row["body_length"],
        shape=shapes[bytes(row["msg_id"]), bytes(row["body_sha256"])],
    )
