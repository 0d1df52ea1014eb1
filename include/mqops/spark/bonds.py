"""The bonds of a plan's messages as column expressions (`mqops.plan.bonds` has the rules, and the same in Python)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from mqops.plan.bonds import BOUND, IN_GROUP, INCOMPLETE, NO_ID, PUTS, REPLAYED, SPLIT, left
from mqops.rules import Rule, Table
from mqops.spark.schema import PLAN
from mqops.store.replays import count_once
from mqops.store.run import RunFolder
from mqwire import constants as c
from mqwire.structures import MQDLH_LAYOUT

_PUTS_BEFORE = "msg_key string, puts int"
_IDENTIFIERS = {"CORRELID": "correl_id", "GROUPID": "group_id"}
_OF_GROUP = ("group_id", "msg_seq_number", "msg_offset", "msg_flags", "dlh_encoding")


def asked_by(table: Table) -> list[str]:
    """The wide columns of a snapshot that rule 2 needs."""
    return ["properties"] if any(rule.order not in ("", *_IDENTIFIERS) for rule in table.rules) else []


def puts_of(spark: SparkSession, run: RunFolder, table: Table) -> DataFrame | None:
    """How often which message was put before, from RUN/replays.jsonl; None where none was or nobody asks."""
    if not any(rule.max_replay for rule in table.rules):
        return None
    count_once(run)
    if run.replays.stat().st_size == 0:
        return None
    return spark.read.schema(_PUTS_BEFORE).json(str(run.replays), mode="FAILFAST")


def bound(plan: DataFrame, messages: DataFrame, table: Table, puts: DataFrame | None) -> DataFrame:
    """The rows of a plan, those that must be left for the sake of others or of their past changed.

    Parameters: `messages` columns of the snapshot and `row`; `puts` as `puts_of` gives it. A table without MAXREPLAY
    and ORDER, and messages without groups, cost no more than a look whether there are any groups.
    """
    capping = [rule for rule in table.rules if rule.max_replay]
    ordering = [rule for rule in table.rules if rule.order]
    grouped = messages.where(F.col("msg_flags").bitwiseAND(F.lit(BOUND)) != 0)
    has_groups = bool(grouped.take(1))
    if ordering or has_groups:
        plan = plan.join(messages.select("row", *_OF_GROUP, *asked_by(table)), "row")
    if ordering:
        plan = plan.withColumn("order_key", F.when(_puts(), _order_key(ordering)).otherwise(""))
    if capping and puts is not None:
        plan = _changed(plan.join(puts, "msg_key", "left"), _is_capped(capping), REPLAYED)
    return (_judged(plan) if has_groups else plan).select(*[field.name for field in PLAN.fields])


def _puts() -> Column:
    return F.col("action").isin(*PUTS)


def _is_capped(rules: Sequence[Rule]) -> Column:
    """Rule 1."""
    most = F.lit(None).cast("int")
    for rule in rules:
        most = F.when(F.col("rule_key") == rule.key, F.lit(rule.max_replay)).otherwise(most)
    return _puts() & F.coalesce(F.coalesce("puts", F.lit(0)) >= most, F.lit(False))


def _order_key(rules: Sequence[Rule]) -> Column:
    """Rule 2."""
    key = F.lit("")
    for rule in rules:
        if rule.order in _IDENTIFIERS:
            identifier = F.col(_IDENTIFIERS[rule.order])
            value = F.when(identifier != F.lit(NO_ID), F.lower(F.hex(identifier)))
        else:
            value = F.element_at(F.from_json("properties", "map<string,string>"), F.lit(rule.order))
        named = F.coalesce(F.concat(F.lit(f"{rule.order}:"), value), F.lit(""))
        key = F.when(F.col("rule_key") == rule.key, named).otherwise(key)
    return key


def _changed(plan: DataFrame, condition: Column, action: str) -> DataFrame:
    """What is left where the condition holds; it is looked at before anything changes."""
    columns = {
        name: F.when(F.col("_left"), F.lit(value)).otherwise(F.col(name)) for name, value in left(action).items()
    }
    return plan.withColumn("_left", condition).withColumns(columns).drop("_left")


def _judged(plan: DataFrame) -> DataFrame:
    """Rules 3 and 4."""
    bound_to = F.when(
        F.col("msg_flags").bitwiseAND(F.lit(BOUND)) != 0, F.concat_ws(" ", "queue", F.hex("group_id"))
    ).otherwise(F.concat(F.lit("row "), F.col("row")))
    fate = F.concat_ws(" ", "action", "unit_group")
    of_group = Window.partitionBy("_bound_to")
    plan = (
        plan.withColumns({"_bound_to": bound_to, "_fate": fate})
        .withColumn("_fits", _fits())
        .withColumns(
            {
                "_split": F.min("_fate").over(of_group) != F.max("_fate").over(of_group),
                "_whole": F.min("_fits").over(of_group),
                "together": F.min("row").over(of_group),
            }
        )
    )
    is_bound = F.col("_bound_to").startswith("row ") == F.lit(False)
    plan = plan.withColumn("_incomplete", is_bound & ~F.col("_split") & ~F.col("_whole") & _puts())
    plan = plan.withColumn(
        "together", F.when(F.col("_split") | F.col("_incomplete"), F.col("row")).otherwise(F.col("together"))
    )
    return _changed(_changed(plan, F.col("_split"), SPLIT), F.col("_incomplete"), INCOMPLETE)


def _fits() -> Column:
    """Whether a member follows the one before it, or begins the group, and ends it where none is behind it."""
    in_order = Window.partitionBy("_bound_to").orderBy("msg_seq_number", "msg_offset", "row")
    header = F.when(F.col("dlh_encoding").isNotNull(), MQDLH_LAYOUT.size).otherwise(0)
    seq, offset = F.col("msg_seq_number"), F.col("msg_offset")
    ends_message = _has(c.MQMF_LAST_SEGMENT) | ~_has(c.MQMF_SEGMENT)
    ends_group = ends_message & (~_has(IN_GROUP) | _has(c.MQMF_LAST_MSG_IN_GROUP))

    def before(column: Column) -> Column:
        return F.lag(column).over(in_order)

    next_message = (seq == before(seq) + 1) & (offset == 0)
    next_segment = (seq == before(seq)) & (offset == before(offset + F.col("body_length") - header))
    follows = ~before(ends_group) & F.when(before(ends_message), next_message).otherwise(next_segment)
    begins = F.when(before(F.col("row")).isNull(), (seq == 1) & (offset == 0)).otherwise(follows)
    ends = F.when(F.lead("row").over(in_order).isNull(), ends_group).otherwise(F.lit(True))
    return reduce(and_, (begins, ends))


def _has(flags: int) -> Column:
    return F.col("msg_flags").bitwiseAND(F.lit(flags)) != 0
