"""The gate of a plan as column expressions (`mqops.decide.core.gate` has the rules)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from mqops.actions import PUTS, Action
from mqops.backout.core.decision import to_quarantine
from mqops.decide.spark.schema import PLAN
from mqops.lake.files import refuse_newer_lines
from mqops.lake.run import RunFolder
from mqops.ledger.core.replays import CAPPED
from mqops.plan_row import left

_VERDICTS = "queue string, msg_key string, rule_key string, quarantine string"


def verdicts_of(spark: SparkSession, run: RunFolder) -> DataFrame | None:
    """`queue`, `msg_key`, `_check` (the rule key of a check) and `_quarantine` of the messages that the gate holds
    back, from RUN/gated.jsonl; None if it holds back none. Raises `LakeError`."""
    if not run.gated.exists() or run.gated.stat().st_size == 0:
        return None
    refuse_newer_lines(run.gated)
    lines = spark.read.schema(_VERDICTS).json(str(run.gated), mode="FAILFAST")
    return lines.withColumnsRenamed({"rule_key": "_check", "quarantine": "_quarantine"})


def gated(plan: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Rules 1 and 3. Parameters: `plan` columns of `PLAN` and others; `verdicts` as `verdicts_of` gives them."""
    there = (F.col("dest_q") == F.col("_quarantine")) & (F.col("dest_q_mgr") == "")
    capped = F.coalesce(F.col("rule_key") == CAPPED, F.lit(False))
    held = F.col("_check").isNotNull() & F.col("action").isin(*PUTS) & ~capped
    goes = F.col("_quarantine") != ""
    types = {field.name: field.dataType for field in PLAN.fields}
    stays = {**left(Action.GATED), "rule_line": None, "rule_key": F.col("_check")}
    parked = {
        **to_quarantine(""),
        "dest_q": F.col("_quarantine"),
        "unit_group": F.concat("_quarantine", F.lit("@")),
        "rule_key": F.col("_check"),
    }
    changed = {
        name: F.when(~F.col("_held"), F.col(name)).when(goes, _value(parked[name])).otherwise(_value(value))
        for name, value in stays.items()
    }
    joined = plan.join(verdicts, ["queue", "msg_key"], "left")
    marked = joined.withColumn("_held", F.coalesce(held & ~(goes & there), F.lit(False)))
    return marked.withColumns({name: value.cast(types[name]) for name, value in changed.items()}).drop(
        "_check", "_quarantine", "_held"
    )


def _value(value: object) -> Column:
    return value if isinstance(value, Column) else F.lit(value)
