"""Backout reprocessing in front of and behind the rules, as column expressions (see `mqops.backout.core.decision`)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from mqops.actions import PUTS
from mqops.backout.core.decision import NOWHERE, to_quarantine
from mqops.backout.core.origin import JMS_QUEUE, Setting
from mqops.backout.core.origin_table import questions_of, rules_of
from mqops.decide.spark.conditions import with_answers
from mqops.decide.spark.rules import chosen_rule, or_empty
from mqops.decide.spark.schema import PLAN
from mqops.lake.files import refuse_newer_lines
from mqops.lake.run import RunFolder
from mqops.observe.core.columns import PATTERN_COLUMNS
from mqops.rules import Control, Table

_REPLAYS = "msg_key string, replays int"


def with_origins(messages: DataFrame, where: Setting) -> DataFrame:
    """Rule 1. Parameters: `messages` columns of the snapshot and others."""
    questions = questions_of(where.origins)
    names = {question.key: f"_origin_answer_{number}" for number, question in enumerate(questions)}
    messages = with_answers(messages, questions, names)
    headless = F.col("dlh_error").isNotNull()
    stood_in = headless | (F.col("queue") != where.dead_letter_queue)
    changed = {
        "dlh_reason": F.lit(0),
        "dlh_dest_q": F.when(headless, origin(where, names)).otherwise(""),
        "dlh_dest_q_mgr": F.lit(where.queue_manager),
        "dlh_format": F.col("format"),
    }
    replaced = {name: F.when(stood_in, value).otherwise(F.col(name)) for name, value in changed.items()}
    return messages.withColumns({**replaced, "dlh_error": F.lit(None).cast("string")}).drop(*names.values())


def origin(where: Setting, names: Mapping[str, str]) -> Column:
    """The queue a message without MQDLH came from, blank where that is ambiguous (`mqops.backout.core.origin`).

    Parameters: `names` key of a question of the table of origins → the column with its answer.
    """
    queue, destination = F.col("queue"), F.coalesce("jms_destination", F.lit(""))
    here = F.regexp_extract(destination, JMS_QUEUE, 1).isin("", where.queue_manager)
    said = F.when(here, F.regexp_extract(destination, JMS_QUEUE, 2)).otherwise("")
    said = F.coalesce(_looked_up(where.aliases, said), said)
    named = {name: queues for name, queues in where.named_by.items() if len(queues) > 1}
    possible = said.isin(list(where.local))
    for name, queues in named.items():
        possible = F.when(queue == name, said.isin(list(queues))).otherwise(possible)
    sole = {name: queues[0] for name, queues in where.named_by.items() if len(queues) == 1}
    by_jms = F.when((said != queue) & possible, said)
    return F.coalesce(_by_table(where, names), _looked_up(sole, queue), by_jms, F.lit(""))


def _by_table(where: Setting, names: Mapping[str, str]) -> Column:
    """The queue that the table of origins gives, null where no row decides."""
    columns = {name: or_empty(PATTERN_COLUMNS[name]) for name in PATTERN_COLUMNS}
    columns |= {"FORMAT": or_empty("format"), **{key: F.col(name) for key, name in names.items()}}
    found = F.lit(None).cast("string")
    for queue, counting in where.counting.items():
        rules = tuple(rule for rule in rules_of(where.origins) if rule.index in counting)
        if rules:
            number = chosen_rule(Table(control=Control(), rules=rules, digest=""), columns)
            target = F.get(F.array(*[F.lit(row.queue) for row in where.origins]), number)
            found = F.when(F.col("queue") == queue, target).otherwise(found)
    return found


def _looked_up(names: Mapping[str, str], column: Column) -> Column:
    """The name that stands for a column's value, null where none does."""
    if not names:
        return F.lit(None).cast("string")
    pairs = [F.lit(text) for pair in sorted(names.items()) for text in pair]
    return F.element_at(F.create_map(*pairs), column)


def settled(plan: DataFrame, where: Setting, replays: DataFrame | None) -> DataFrame:
    """Rule 2. Parameters: `plan` rows of `PLAN`; `replays` msg_key → number, None if nothing was ever put back."""
    counted = plan.withColumn("replays", F.lit(0)) if replays is None else plan.join(replays, "msg_key", "left")
    puts = F.col("action").isin(*PUTS)
    nowhere = puts & (F.col("dest_q") == "")
    capped = puts & (F.coalesce("replays", F.lit(0)) >= where.replay_cap)
    moved, left = to_quarantine(where.quarantine), NOWHERE
    columns = []
    for field in PLAN.fields:
        as_was = F.col(field.name)
        stays = F.lit(left.get(field.name)) if field.name in left else as_was
        parked = F.lit(moved.get(field.name)) if field.name in moved else as_was
        value = F.when(nowhere, stays).when(capped, parked).otherwise(as_was)
        columns.append(value.cast(field.dataType).alias(field.name))
    return counted.select(*columns)


def replays_of(spark: SparkSession, run: RunFolder) -> DataFrame | None:
    """RUN/replays.jsonl, None where no message of the snapshot was put back before."""
    if not run.replays.exists() or run.replays.stat().st_size == 0:
        return None
    refuse_newer_lines(run.replays)
    return spark.read.schema(_REPLAYS).json(str(run.replays), mode="FAILFAST")
