"""Decide: the rules table on a run's snapshot gives the plan, its digest and its summary.

The text of the table is read once and kept in the plan, so a pass never mixes two versions (D07). Only the narrow
columns of the snapshot are read; the body is looked at for the few masked samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from mqops.actions import OF_NOBODY, PUTS, Action
from mqops.backout.core.origin import Setting
from mqops.backout.core.origin_table import questions_of
from mqops.counted import counted
from mqops.decide import ambiguous, no_text
from mqops.decide import backout_setting as backout
from mqops.decide.core import PlanSummary, backoff
from mqops.decide.core.message_groups import WAY_OUT, keepers, remarks
from mqops.decide.core.pacing import NO_LIMITS, Pacing, covered
from mqops.decide.gate import found_by, remarks_of
from mqops.decide.message_groups import waiting_until
from mqops.decide.recorded import PLAN as PLAN_SUMMARY
from mqops.decide.recorded import refuse_begun
from mqops.decide.spark import message_groups
from mqops.decide.spark.backout import replays_of, settled, with_origins
from mqops.decide.spark.conditions import with_answers
from mqops.decide.spark.gate import verdicts_of
from mqops.decide.spark.rules import chosen_rule, compared, or_empty
from mqops.decide.spark.schema import PLAN
from mqops.decide.spark.totals import totals_of
from mqops.errors import RulesError, SettingsError
from mqops.lake.files import make_durable, refuse_newer_lines, written_anew
from mqops.lake.parquet import SPARK_FORMAT, SPARK_ROW_GROUPS
from mqops.lake.row_groups import bounds
from mqops.lake.run import RunFolder
from mqops.lake.step import Step
from mqops.model import ObserveSummary
from mqops.observe.core import expired
from mqops.observe.core.answers import columns_for
from mqops.observe.core.columns import NAME_COLUMNS, PATTERN_COLUMNS
from mqops.observe.recorded import OBSERVED
from mqops.observe.spark.sealed import read_snapshot
from mqops.rules import Table, parse
from mqops.workflow import Workflow
from mqwire.constants import MQ_MSG_ID_LENGTH

JIT_LIMIT = 8000
"""Bytes of code the JVM compiles at most in one method. A table that would need more is evaluated outside whole-stage
code, in several methods: slower than one compiled method, far faster than one that is interpreted."""

ROWS_A_PARTITION = 20_000
"""Of a shuffle. Spark's 200 partitions are more tasks than few rows are worth."""

_TRIES = "msg_key string, tries map<string, int>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to decide: `table_text` of a rules table and where it came from; `limit` and `message_ids` (24 bytes each)
    narrow the set, None and empty mean everything; `pacing` what the run asks for besides the rules."""

    folder: RunFolder
    table_text: str
    table_source: str = "<rules>"
    workflow: str = Workflow.DLQ_RULES
    limit: int | None = None
    message_ids: tuple[bytes, ...] = ()
    pacing: Pacing = NO_LIMITS


def decide(spark: SparkSession, request: Request) -> PlanSummary:
    """Read RUN/snapshot, choose an action for each message, and write RUN/plan and RUN/plan.json.

    Raises:
        RulesError: the table is not valid; the message has every error with its place.
        PlanChanged: this run's plan is being acted on already.
        LakeError: the snapshot is missing, or a file cannot be written.
    """
    folder = request.folder
    refuse_begun(folder)
    where = backout.read_setting(folder)
    table = valid_table(request.table_text, request.table_source, origins=where is not None)
    observed = OBSERVED.read(folder)
    PLAN_SUMMARY.path(folder).unlink(missing_ok=True)
    spark.conf.set("spark.sql.codegen.hugeMethodLimit", str(JIT_LIMIT))
    spark.conf.set("spark.sql.shuffle.partitions", str(2 + observed.messages // ROWS_A_PARTITION))
    tries = _tries(spark, folder)
    with ExitStack() as kept:
        plan, messages = _planned(spark, request, table, where, tries=tries, observed=observed.messages, kept=kept)
        with Step(folder, "decide", observed.messages) as told, written_anew(folder.plan) as place:
            told.tell()  # Spark decides, and says nothing before its last row
            noted = plan.withMetadata(PLAN.names[0], SPARK_FORMAT)  # known: to ask Spark for it is to analyze twice
            noted.write.options(**SPARK_ROW_GROUPS).parquet(str(place))
    make_durable(folder.plan)
    summary = _summary(spark, request, table, observed)
    used_up = _used_up(spark.read.schema(PLAN).parquet(str(folder.plan)), messages, table, tries)
    pacing, gate = request.pacing.of_table(table.rules), found_by(folder)
    summary = replace(
        summary,
        digest=covered(summary.digest, pacing.to_json()),
        handling=pacing.to_json(),
        used_up=sum(used_up.values()),
        unseen=where.unseen if where else (),
        gate=gate.checks if gate else (),
        remarks=(
            *expired.remarks(observed),
            *remarks_of(gate, summary.rules),
            *(where.remarks() if where else ()),
            *no_text.remarks(folder, table),
            *(ambiguous.remarks(folder, where) if where else ()),
            *remarks(summary.actions, used_up),
            *backoff.remarks(waiting_until(folder, table, backout.backoff(where))),
            *([WAY_OUT] if used_up else []),
            *pacing.remarks(),
        ),
    )
    PLAN_SUMMARY.write(folder, summary)
    return summary


def _planned(
    spark: SparkSession,
    request: Request,
    table: Table,
    where: Setting | None,
    *,
    tries: DataFrame | None,
    observed: int,
    kept: ExitStack,
) -> tuple[DataFrame, DataFrame]:
    """The rows of the plan, and the messages that it is for.

    Parameters: `observed` messages in the snapshot; `kept` as for `message_groups.bound`.
    """
    folder = request.folder
    origins = questions_of(where.origins) if where is not None else ()
    asked = [*columns_for((*table.questions, *origins)), *message_groups.asked_by(table)]
    snapshot = read_snapshot(spark, folder.snapshot, asked)
    positions, queues, flags = bounds(folder.snapshot, "position", "queue", "msg_flags")
    one_queue = queues is not None and queues[0] == queues[1]
    messages = frozen_set(snapshot, request, asked, is_numbered=one_queue and positions == (0, observed - 1))
    if where is not None:
        messages = with_origins(messages, where)
    plan = plan_rows(messages, table, tries)
    if where is not None:
        plan = settled(plan, where, replays_of(spark, folder))
    plan = message_groups.bound(
        plan,
        messages,
        snapshot,
        table,
        message_groups.puts_of(spark, folder, table, backout.backoff(where)),
        kept=kept,
        waits=waiting(messages, table, tries),
        backoff=backout.backoff(where),
        may_have_groups=flags != (0, 0),
        verdicts=verdicts_of(spark, folder),
    )
    return plan, messages


def valid_table(text: str, source: str, *, origins: bool = False) -> Table:
    """The table of a text (`origins` as in `parse`). Raises RulesError with every error of it."""
    parsed = parse(text, source=source, origins=origins, lint=False)
    if parsed.table is None:
        lines = [line for problem in parsed.errors for line in f"{source}:{problem.render()}".split("\n")]
        raise RulesError(f"The rules table is not valid ({counted(len(parsed.errors), 'error')}):", *lines)
    return parsed.table


def message_id(digits: str) -> bytes:
    """A MsgId from its 48 hex digits. Raises SettingsError."""
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        found = b""
    if len(found) != MQ_MSG_ID_LENGTH:
        raise SettingsError(f"{digits!r} is not a message id: 48 hex digits are needed")
    return found


_WIDE = frozenset({"md", "body", "text_decoded", "properties"})
"""Columns that nothing asks for but extended rules."""


def frozen_set(snapshot: DataFrame, request: Request, asked: Sequence[str], *, is_numbered: bool) -> DataFrame:
    """The messages the plan is for, numbered from 0 in browse order (`row`).

    Parameters: `asked` columns that rules ask for; of those that may be wide no others need to be there;
    `is_numbered` whether `position` numbers the whole snapshot, since it has one queue.
    """
    wanted = snapshot
    if request.message_ids:
        wanted = wanted.where(F.col("msg_id").isin([bytearray(msg_id) for msg_id in request.message_ids]))
    if is_numbered and not request.message_ids:
        numbered = wanted.withColumn("row", F.col("position"))
    else:
        narrow = wanted.select(*[c for c in wanted.columns if c not in _WIDE - set(asked)])
        numbered = narrow.orderBy("queue", "position").zipWithIndex("row")
    return numbered if request.limit is None else numbered.where(F.col("row") < request.limit)


def _tries(spark: SparkSession, folder: RunFolder) -> DataFrame | None:
    if not folder.tries.exists() or folder.tries.stat().st_size == 0:
        return None
    refuse_newer_lines(folder.tries)
    return spark.read.schema(_TRIES).json(str(folder.tries), mode="FAILFAST")


def plan_rows(messages: DataFrame, table: Table, tries: DataFrame | None) -> DataFrame:
    """One row of `PLAN` a message.

    Parameters: `messages` snapshot columns and `row`; `tries` msg_key → failed tries per rule key, None if none failed.
    """
    values = _values(table, tried=tries is not None)
    resolved = chosen(messages, table, tries, _SOURCES).select("*", *[v.alias(name) for name, v in values.items()])
    grouped = resolved.withColumns({"unit_group": _unit_group(), "order_key": F.lit(""), "together": F.col("row")})
    return grouped.select(*[F.col(field.name).cast(field.dataType) for field in PLAN.fields])


def waiting(messages: DataFrame, table: Table, tries: DataFrame | None) -> DataFrame | None:
    """`row` of messages that had tries, with `waits_line`, `waits_key` and `waits_at` of the ORDER rule that may have
    used these up: its line, key and the `unit_group` it puts to; None if there are none.

    Parameters: as for `plan_rows`.
    """
    if tries is None or not any(rule.order for rule in table.rules):
        return None
    values = _values(table, tried=False)
    found = chosen(_tried(messages, tries), keepers(table), None, _SOURCES).select(
        "*", *[v.alias(name) for name, v in values.items()]
    )
    names = [F.col("rule_line").alias("waits_line"), F.col("rule_key").alias("waits_key")]
    return found.where(F.col("action").isin(*PUTS)).select("row", *names, _unit_group().alias("waits_at"))


def _tried(messages: DataFrame, tries: DataFrame) -> DataFrame:
    return messages.join(tries.select("msg_key"), "msg_key", "left_semi")


def _used_up(plan: DataFrame, messages: DataFrame, table: Table, tries: DataFrame | None) -> dict[int, int]:
    """Line of a rule → messages ignored that it matches first, and that have used up its tries."""
    if tries is None:
        return {}
    first = chosen(_tried(messages, tries), table, None, ("row", "dlh_error"))
    line = _of_rule([rule.line for rule in table.rules]).alias("line")
    ignored = plan.where((F.col("action") == Action.IGNORE) & F.col("rule_line").isNull()).select("row")
    found = first.where(F.col("_rule").isNotNull()).select("row", line).join(ignored, "row").groupBy("line").count()
    return {row["line"]: row["count"] for row in found.collect()}


def chosen(messages: DataFrame, table: Table, tries: DataFrame | None, columns: Sequence[str]) -> DataFrame:
    """These columns of each message, and `_rule`: the index of its rule, null where no rule is chosen.

    Parameters: as for `plan_rows`; `columns` include dlh_error. A message without an MQDLH gets no rule (D05).
    """
    if tries is not None:
        messages = messages.join(tries.withColumnRenamed("tries", "_tries"), "msg_key", "left")
        columns = (*columns, "_tries")
    names = {name: f"_{name}" for name in compared(table)}
    never_null = [or_empty(PATTERN_COLUMNS[name]).alias(alias) for name, alias in names.items()]
    asked = {question.key: f"_answer_{number}" for number, question in enumerate(table.questions)}
    messages = with_answers(messages, table.questions, asked)
    tried = None if tries is None else F.col("_tries")
    index = chosen_rule(table, {name: F.col(alias) for name, alias in (names | asked).items()}, tried)
    rule = F.when(F.col("dlh_error").isNull(), index).alias("_rule")
    return messages.select(*columns, *never_null, *asked.values()).select(*columns, rule)


_SOURCES = (
    *("row", "queue", "msg_key", "msg_id", "correl_id", "put_date", "put_time", "body_sha256", "body_length"),
    *("dlh_error", "dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "put_appl_name"),
    *("reply_to_q", "reply_to_q_mgr", "user_identifier"),
)


def _values(table: Table, *, tried: bool) -> Mapping[str, Column]:
    """The columns that follow from the rule that was chosen."""
    rules = table.rules
    action = F.coalesce(_of_rule([rule.action for rule in rules]), F.lit(Action.IGNORE))
    key = _of_rule([rule.key for rule in rules])
    user = F.when(F.col("user_identifier") == "", OF_NOBODY).otherwise(F.col("user_identifier"))
    by_context = _of_rule([rule.action.puts and rule.putaut == "CTX" for rule in rules])
    return {
        "rule_line": _of_rule([rule.line for rule in rules]),
        "rule_key": key,
        "action": F.when(F.col("dlh_error").isNotNull(), F.lit(Action.ERROR)).otherwise(action),
        "dest_q": _destination(["&DESTQ" if rule.action is Action.RETRY else rule.fwdq for rule in rules]),
        "dest_q_mgr": _destination(["&DESTQM" if rule.action is Action.RETRY else rule.fwdqm for rule in rules]),
        "header": F.coalesce(_of_rule([rule.header for rule in rules]), F.lit(False)),
        "putaut": F.coalesce(_of_rule([rule.putaut if rule.action.puts else "" for rule in rules]), F.lit("")),
        "alternate_user": F.when(by_context, user).otherwise(""),
        "tries": F.coalesce(F.element_at("_tries", key), F.lit(0)) if tried else F.lit(0),
    }


def _of_rule(values: Sequence[str | int | bool]) -> Column:
    """The value for the chosen rule, null if no rule is chosen. Parameters: `values` one for each rule, in order."""
    return F.get(F.array(*[F.lit(value) for value in values]), F.col("_rule"))


def _destination(names: Sequence[str]) -> Column:
    """The name in the chosen rule, an &-name resolved; empty if no rule is chosen."""
    name = resolved = _of_rule(names)
    for ampersand in sorted(NAME_COLUMNS.keys() & set(names)):
        resolved = F.when(name == ampersand, F.col(NAME_COLUMNS[ampersand])).otherwise(resolved)
    return F.coalesce(resolved, F.lit(""))


def _unit_group() -> Column:
    """What one unit of work must not mix: `queue@queue manager`, and `!user` where PUTAUT(CTX) puts it by that user."""
    user = F.when(F.col("alternate_user") == "", "").otherwise(F.concat(F.lit("!"), F.trim("alternate_user")))
    target = F.concat("dest_q", F.lit("@"), "dest_q_mgr", user)
    return F.when(F.col("action").isin(*PUTS), target).otherwise(F.col("action"))


def _summary(spark: SparkSession, request: Request, table: Table, observed: ObserveSummary) -> PlanSummary:
    folder = request.folder
    totals = totals_of(spark, folder, observed.messages)
    return PlanSummary(
        run=folder.run,
        workflow=request.workflow,
        queue_manager=observed.queue_manager,
        queue=",".join(one.queue for one in observed.queues),
        table_source=request.table_source,
        table_digest=table.digest,
        table_text=request.table_text,
        digest=totals.digest,
        observed=observed.messages,
        rows=sum(rule.messages for rule in totals.rules),
        bytes=sum(rule.bytes for rule in totals.rules),
        rules=totals.rules,
        counts=totals.counts,
        counts_left_off=totals.left_off,
        limit=request.limit,
        message_ids=tuple(msg_id.hex() for msg_id in request.message_ids),
    )
