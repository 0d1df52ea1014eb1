"""Message groups and order of a plan as column expressions (`mqops.decide.core.message_groups` has the rules)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from mqops.actions import ACTED, PUTS, Action
from mqops.decide.core.message_groups import COLUMNS, NO_ID
from mqops.decide.core.protected import PREFIXES, rules_that_ask_messages
from mqops.decide.spark.gate import gated
from mqops.decide.spark.schema import PLAN
from mqops.lake.files import refuse_newer_lines
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import BOUND
from mqops.observe.replays import count_once
from mqops.plan_row import left
from mqops.rules import Rule, Table
from mqops.spark_job import cached

_PUTS_BEFORE = "msg_key string, puts int, last string"
_WIDE = ("properties",)
_IDENTIFIERS = {"CORRELID": "correl_id", "GROUPID": "group_id"}


def asked_by(table: Table) -> list[str]:
    """The wide columns of a snapshot that rule 2 needs."""
    return [*_WIDE] if any(rule.order not in ("", *_IDENTIFIERS) for rule in table.rules) else []


def puts_of(spark: SparkSession, run: RunFolder, table: Table, backoff: Sequence[int]) -> DataFrame | None:
    """How often each message was put before and when last, from RUN/replays.jsonl; None if none was, or no rule has
    MAXREPLAY or BACKOFF. Parameters: `backoff` seconds, for rules without BACKOFF."""
    if not (backoff or any(rule.max_replay or rule.backoff for rule in table.rules)):
        return None
    count_once(run)
    if run.replays.stat().st_size == 0:
        return None
    refuse_newer_lines(run.replays)
    return spark.read.schema(_PUTS_BEFORE).json(str(run.replays), mode="FAILFAST")


def bound(
    plan: DataFrame,
    messages: DataFrame,
    snapshot: DataFrame,
    table: Table,
    puts: DataFrame | None,
    *,
    kept: ExitStack,
    may_have_groups: bool = True,
    verdicts: DataFrame | None = None,
    waits: DataFrame | None = None,
    backoff: Sequence[int] = (),
) -> DataFrame:
    """The rows of a plan. Rows that must be left because of other messages or of earlier runs are changed.

    Parameters: `messages` the plan's, columns of the snapshot and `row`; `snapshot` all of them; `puts` as `puts_of`
    gives it; `kept` ends what Spark has cached of the plan, when the plan is written; `waits` as
    `mqops.decide.spark.decide.waiting` does; `backoff` seconds, for rules without BACKOFF;
    `may_have_groups` False where it is known that no message is in a group; `verdicts` of the gate as
    `mqops.decide.spark.gate.verdicts_of` gives them. A table without MAXREPLAY, BACKOFF and
    ORDER, and messages without groups, cost one query at most: whether there are groups.
    """
    capping = [rule for rule in table.rules if rule.max_replay]
    ordering = [rule for rule in table.rules if rule.order]
    has_groups = may_have_groups and bool(messages.where(_is_bound()).take(1))
    if ordering or has_groups:
        bound_by = messages.withColumn("_bound", _is_bound()).select("row", "group_id", "_bound", *asked_by(table))
        plan = plan.join(bound_by, "row")
    if ordering:
        plan = plan.withColumn("order_key", F.when(_puts(), _order_key(ordering, "rule_key")).otherwise(""))
        plan = _with_place(plan, ordering, waits)
    if puts is not None:
        plan = plan.join(puts, "msg_key", "left").join(messages.select("row", "observed_at"), "row")
        plan = _changed(plan, _is_capped(capping), Action.REPLAYED)
        plan = _changed(plan, _is_not_due(table.rules, backoff), Action.LATER)
    if asking := rules_that_ask_messages(table):
        plan = _changed(plan, _is_protected(asking), Action.PROTECTED)
    if verdicts is not None:
        plan = gated(plan, verdicts)
    if has_groups:
        members = snapshot.where(_is_bound()).select("position", *COLUMNS)
        outside = members.join(messages.select("queue", "position"), ["queue", "position"], "left_anti")
        plan = _judged(plan, outside.select("queue", "group_id") if outside.take(1) else None)
    if ordering:
        plan = _in_order(plan, kept, has_groups=has_groups)
    return plan.select(*[field.name for field in PLAN.fields])


def _is_bound() -> Column:
    return F.col("msg_flags").bitwiseAND(F.lit(BOUND)) != 0


def _puts() -> Column:
    return F.col("action").isin(*PUTS)


def _is_capped(rules: Sequence[Rule]) -> Column:
    """Rule 1."""
    most = F.lit(None).cast("int")
    for rule in rules:
        most = F.when(F.col("rule_key") == rule.key, F.lit(rule.max_replay)).otherwise(most)
    return _puts() & F.coalesce(F.coalesce("puts", F.lit(0)) >= most, F.lit(False))


def _is_not_due(rules: Sequence[Rule], backoff: Sequence[int]) -> Column:
    """BACKOFF (`mqops.decide.core.backoff`). Parameters: `backoff` seconds, for rules without it."""
    wait = F.lit(None).cast("int")
    for rule in rules:
        if waits := rule.backoff or backoff:
            after = F.get(F.array(*map(F.lit, waits)), F.least("puts", F.lit(len(waits))) - 1)
            wait = F.when(F.col("rule_key") == rule.key, after).otherwise(wait)
    due = F.unix_micros(F.col("last").cast("timestamp")) + wait.cast("long") * 1_000_000
    return _puts() & F.coalesce(due > F.unix_micros("observed_at"), F.lit(False))


def _is_protected(asking: Collection[str]) -> Column:
    """Rule 1 of `mqops.decide.core.protected`. Parameters: `asking` keys of the rules whose messages name the queue."""
    protected = [F.col("dest_q").startswith(prefix) for prefix in PREFIXES]
    return _puts() & F.coalesce(F.col("rule_key").isin(*asking), F.lit(False)) & reduce(or_, protected)


def _order_key(rules: Sequence[Rule], of_rule: str) -> Column:
    """Rule 2. Parameters: `of_rule` the column with the key of the rule that counts."""
    key = F.lit("")
    for rule in rules:
        if rule.order in _IDENTIFIERS:
            identifier = F.col(_IDENTIFIERS[rule.order])
            value = F.when(identifier != F.lit(NO_ID), F.lower(F.hex(identifier)))
        else:
            value = F.element_at(F.from_json("properties", "map<string,string>"), F.lit(rule.order))
        named = F.coalesce(F.concat(F.lit(f"{rule.order}:"), value), F.lit(""))
        key = F.when(F.col(of_rule) == rule.key, named).otherwise(key)
    return key


def _with_place(plan: DataFrame, ordering: Sequence[Rule], waits: DataFrame | None) -> DataFrame:
    """Rule 5: `_place` in the order, by a row's own rule, else by one before that, whose tries are used up."""
    own = F.when(F.col("order_key") != "", F.concat_ws("\0", "unit_group", "order_key"))
    if waits is None:
        return plan.withColumn("_place", own)
    is_before = F.col("rule_line").isNull() | (F.col("waits_line") < F.col("rule_line"))
    key = F.when(is_before, _order_key(ordering, "waits_key")).otherwise("")
    before = F.when(key != "", F.concat_ws("\0", F.col("waits_at"), key))
    joined = plan.join(waits, "row", "left")
    return joined.withColumn("_place", F.coalesce(own, before)).drop("waits_line", "waits_key", "waits_at")


def _in_order(plan: DataFrame, kept: ExitStack, *, has_groups: bool) -> DataFrame:
    """Rule 5. What is left for it leaves its group, and that again what is behind the others of the group.

    Each round asks whether anything is behind. Without a cache each would read all messages and decide anew. What
    applications wrote has given the order keys by now, and is not cached.
    """
    plan = kept.enter_context(cached(plan.drop(*_WIDE)))
    stays = F.col("_place").isNotNull() & ~F.col("action").isin(*ACTED)
    if not plan.where(stays).take(1):
        return plan
    of_place = Window.partitionBy(F.coalesce("_place", F.col("row").cast("string")))
    first = F.min(F.when(stays, F.col("row"))).over(of_place)
    while True:
        behind = (F.col("order_key") != "") & F.coalesce(F.col("row") > first, F.lit(False))
        marked = plan.withColumn("_behind", behind)
        if has_groups:
            marked = marked.withColumn("_behind", F.max("_behind").over(_of_group()))
        if not marked.where("_behind").take(1):
            return plan
        marked = marked.withColumn("together", F.when(F.col("_behind"), F.col("row")).otherwise(F.col("together")))
        plan = _changed(marked, F.col("_behind"), Action.BEHIND).drop("_behind")
        if not has_groups:
            return plan


def _of_group() -> WindowSpec:
    bound_to = F.when(F.col("_bound"), F.concat_ws(" ", "queue", F.hex("group_id")))
    return Window.partitionBy(F.coalesce(bound_to, F.col("row").cast("string")))


def _changed(plan: DataFrame, condition: Column, action: Action) -> DataFrame:
    """What is left where the condition holds; it is looked at before anything changes."""
    columns = {
        name: F.when(F.col("_left"), F.lit(value)).otherwise(F.col(name)) for name, value in left(action).items()
    }
    return plan.withColumn("_left", condition).withColumns(columns).drop("_left")


def _judged(plan: DataFrame, outside: DataFrame | None) -> DataFrame:
    """Rules 3 and 4. Parameters: `outside` queue and group_id of messages that are in a group and not in the plan."""
    of_group = _of_group()
    decision = F.concat_ws(" ", "action", "unit_group")
    split = F.col("_bound") & (F.min(decision).over(of_group) != F.max(decision).over(of_group))
    plan = plan.withColumns({"_split": split, "together": F.min("row").over(of_group), "_outside": F.lit(False)})
    if outside is not None:
        marked = outside.distinct().withColumn("_outside", F.lit(True))
        plan = plan.drop("_outside").join(marked, ["queue", "group_id"], "left")
    lacking = F.col("_bound") & F.coalesce("_outside", F.lit(False)) & _puts() & ~F.col("_split")
    plan = plan.withColumn("_lacking", lacking)
    together = F.when(F.col("_split") | F.col("_lacking"), F.col("row")).otherwise(F.col("together"))
    plan = plan.withColumn("together", together)
    return _changed(_changed(plan, F.col("_split"), Action.SPLIT), F.col("_lacking"), Action.INCOMPLETE)
