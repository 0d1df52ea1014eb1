"""What a plan adds up to: per rule, and per rule × reason × origin × destination, with three masked samples each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from mqops.plan import PlanCount, RuleCount, Sample
from mqops.plan.mask import masked, put_instant
from mqops.plan.summary import reason_symbol
from mqwire.constants import MQDLH_LENGTH_1

MOST_GROUPS = 1000
"""Groups in a summary; with &REPLYQ there may be one a message."""
SAMPLED_GROUPS = 50
SAMPLES = 3

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
    samples = _samples(plan, snapshot, [row for group in largest[:SAMPLED_GROUPS] for row in group["rows"]])
    return (
        tuple(sorted((_rule_count(rule) for rule in rules), key=_table_order)),
        tuple(_plan_count(group, samples) for group in largest),
        number - len(largest),
    )


def _groups(plan: DataFrame) -> DataFrame:
    """One row a group; `rows` are its first messages.

    The first aggregation keeps numbers only, and as many first rows as there are samples: so it is hashed, not sorted.
    """
    instant = F.concat("put_date", "put_time").try_cast("long").alias("oldest")
    narrow = plan.select(*_GROUP, "row", "body_length", instant)
    parts = narrow.groupBy(*_GROUP, F.pmod("row", F.lit(SAMPLES)).alias("part")).agg(
        F.count("*").alias("messages"),
        F.sum("body_length").alias("bytes"),
        F.min("oldest").alias("oldest"),
        F.min("row").alias("first"),
    )
    return parts.groupBy(*_GROUP).agg(*_sums(), F.sort_array(F.collect_list("first")).alias("rows"))


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


def _plan_count(row: Row, samples: dict[int, Sample]) -> PlanCount:
    reason = row["dlh_reason"]
    return PlanCount(
        **{name: row[name] for name in (*_RULE, "dest_q", "dest_q_mgr", "messages", "bytes")},
        reason=reason,
        symbol=reason_symbol(reason),
        origin_q=row["dlh_dest_q"],
        origin_q_mgr=row["dlh_dest_q_mgr"],
        oldest=_oldest(row["oldest"]),
        samples=tuple(samples[number] for number in row["rows"] if number in samples),
    )


def _samples(plan: DataFrame, snapshot: DataFrame, rows: Iterable[int]) -> dict[int, Sample]:
    """The samples of these rows. Bodies are read by position, so that only the files' parts with samples are read."""
    chosen = plan.where(F.col("row").isin(list(rows))).select("row", "msg_key", "queue").collect()
    keys = {row["msg_key"]: row["row"] for row in chosen}
    places = snapshot.where(F.col("msg_key").isin(list(keys))).select("position").collect()
    messages = (
        snapshot.where(F.col("position").isin([place["position"] for place in places]))
        .where(F.col("msg_key").isin(list(keys)))
        .select(*_SAMPLED, *_text())
        .collect()
    )
    return {keys[message["msg_key"]]: _sample(keys[message["msg_key"]], message) for message in messages}


_SAMPLED = ("msg_key", "msg_id", "put_date", "put_time", "put_appl_name", "body_length")
_TEXT_BYTES = 64


def _text() -> list[Any]:
    """The first bytes behind the MQDLH, or of the whole body where there is none, with their CCSID and encoding."""
    behind = F.col("dlh_error").isNull()
    return [
        F.substring("body", F.when(behind, MQDLH_LENGTH_1 + 1).otherwise(1), F.lit(_TEXT_BYTES)).alias("text"),
        F.when(behind, F.col("dlh_ccsid")).otherwise(F.col("ccsid")).alias("text_ccsid"),
        F.when(behind, F.col("dlh_encoding")).otherwise(F.col("encoding")).alias("text_encoding"),
    ]


def _sample(number: int, message: Row) -> Sample:
    return Sample(
        row=number,
        msg_id=bytes(message["msg_id"]).hex(),
        put_at=put_instant(message["put_date"], message["put_time"]),
        put_appl_name=message["put_appl_name"],
        bytes=message["body_length"],
        shape=masked(bytes(message["text"]), message["text_ccsid"], message["text_encoding"]),
    )
