"""Runs suites by Great Expectations on Spark and keeps, for each failed row expectation, GX's own condition.

1. GX is imported here, inside functions, and told to be quiet first: the import takes seconds and prints hundreds of
   lines (never at the parse of a DAG).
2. Which rows fail is GX's own answer: the Spark condition it counted by is taken from it, not written a second time.
3. What GX could not evaluate is an error. Left alone, it would be one more failed expectation.
4. Text of others does not come to GX's pages: see `mqops.quality.docs_text`.
5. Regular expressions do not come to Java: see `mqops.quality.regex`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mqops.errors import MqopsError, SettingsError
from mqops.lake.run import RunFolder
from mqops.message_checks import CheckResult
from mqops.quality.columns import is_payload
from mqops.quality.docs_text import DocsText, plain_name
from mqops.quality.evaluate import between_columns, compared
from mqops.quality.history import History
from mqops.quality.scope import QueuesSeen, has_value_sql, nothing_seen, on_nothing
from mqops.quality.suite import Check, Suite, as_gx
from mqops.quality.summary import NO_VALUE, result_of
from mqops.quality.vocabulary import Expectation
from mqops.quality.where import queues_sql, sql_of

if TYPE_CHECKING:
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
    from great_expectations.datasource.fluent.interfaces import Batch
    from great_expectations.validator.metric_configuration import MetricConfiguration

SITE = "mqops"
ID = "mqops_id"
_CORRECTED = ("column_pair_values_to_be_in_set", "column_quantile_values_to_be_between")
"""Expectations of GX that have a fault there (`gx_corrected`)."""
SAMPLES = 10  # values of a failed expectation that are shown on its page


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """The messages that do not satisfy a check, and what GX counted.

    Attributes: `fails` which of the rows do not satisfy it; None for all of them.
    """

    check: Check
    result: CheckResult
    rows: DataFrame
    fails: Column | None = None


def quiet_import() -> Any:
    """Import the module `great_expectations`; its loggers show warnings only.

    Raises:
        SettingsError: the program has no main module (`python -c`): PySpark takes it for a test of its own and exits.
    """
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    try:
        import great_expectations  # noqa: PLC0415
    except SystemExit as error:
        raise SettingsError(
            "Great Expectations with PySpark cannot run under python -c; put the program in a file"
        ) from error
    logging.getLogger("great_expectations.expectations.registry").setLevel(logging.ERROR)  # metrics that replace GX's
    import_module("mqops.quality.gx_metrics")

    return great_expectations


class Validator:
    """One in-memory GX context for the suites of one snapshot.

    :param queue_manager: names the data source on the pages.
    :param run: names the run on the pages, and says in which lake earlier ones are.
    :param now: ISO 8601.
    """

    def __init__(self, queue_manager: str, run: RunFolder, now: str) -> None:
        self._history = History(run, now)
        self._gx = quiet_import()
        from great_expectations.data_context.types.base import ProgressBarsConfig  # noqa: PLC0415

        self._run = plain_name(run.run)
        self._context: EphemeralDataContext = self._gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        self._source = self._context.data_sources.add_spark(plain_name(queue_manager), persist=False)

    def validate(self, frame: DataFrame, suite: Suite, seen: QueuesSeen) -> tuple[list[CheckResult], list[Failing]]:
        """The results of a suite's checks in their order, and the failing rows of those that have any.

        Parameters: `frame` with the suite's columns, cached: it is read many times; `seen` the snapshot's queues.

        Raises:
            MqopsError: GX could not evaluate an expectation.
        """
        queues = queues_sql(suite.queues)
        rows = frame.where(queues) if queues else frame
        messages, counts = _counts(rows, suite)
        if not messages and not any(check.expectation.between for check in suite.checks):
            return [on_nothing(suite, check, seen) for check in suite.checks], []
        unseen = {check.id: why for check in suite.checks if (why := nothing_seen(suite, check, seen))}
        no_value = {check.id for check in suite.checks if check.expectation.needs_values and not counts[check.id]}
        by_gx = [check for check in suite.checks if not check.expectation.between]
        evaluated = [check for check in by_gx if messages and check.id not in unseen and check.id not in no_value]
        batch, answers = self._answers(rows, suite, evaluated) if evaluated else (None, {})
        results, failing = [], []
        failed: list[tuple[Check, CheckResult]] = []
        for check in suite.checks:
            if check.id in unseen:
                results.append(result_of(suite, check, met=False, skipped=unseen[check.id]))
                continue
            if check.id in no_value:
                results.append(result_of(suite, check, met=True, skipped=NO_VALUE))
                continue
            if check.expectation.between:
                result, fails = _compared(frame, suite, check, seen, self._history)
                results.append(result)
                failing += [Failing(check=check, result=result, rows=fails)] if fails is not None else []
                continue
            if not messages:
                results.append(on_nothing(suite, check, seen))
                continue
            result = _read(suite, check, answers[check.id], counts[check.id])
            results.append(result)
            if result.failed:
                failed.append((check, result))
        return results, [*failing, *(_failing(batch, rows, failed) if batch is not None else ())]

    def _answers(
        self, rows: DataFrame, suite: Suite, checks: list[Check]
    ) -> tuple[Batch, Mapping[str, ExpectationValidationResult]]:
        from great_expectations.core.run_identifier import RunIdentifier  # noqa: PLC0415

        definition = self._source.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe(suite.name)
        expectations = [expectation_of(check) for check in checks]
        gx_suite = self._gx.ExpectationSuite(
            name=suite.name, expectations=expectations, notes=suite.description or None
        )
        gx_suite = self._context.suites.add(gx_suite)
        validation = self._gx.ValidationDefinition(name=suite.name, data=definition, suite=gx_suite)
        given = {"dataframe": rows}
        outcome = self._context.validation_definitions.add(validation).run(
            batch_parameters=given,
            result_format={"result_format": "BASIC", "partial_unexpected_count": SAMPLES},
            run_id=RunIdentifier(run_name=self._run),
        )
        answers = {
            answer.expectation_config.meta[ID]: answer for answer in outcome.results if answer.expectation_config
        }
        return definition.get_batch(given), answers

    def build_docs(self, folder: Path, suites: Iterable[Suite]) -> DocsText:
        """Build the Data Docs of everything validated so far into `folder`. Nothing can be validated behind it.

        Parameters: `suites` that were validated. Returns the texts that belong on the pages.
        """
        names = {name: suite.named(name) for suite in suites for check in suite.checks for name in check.columns}
        texts = DocsText()
        for kept in (self._context.validation_results_store, self._context.expectations_store):
            for key in map(kept.key_to_tuple, kept.list_keys()):
                backend: Any = kept.store_backend
                backend.set(key, texts.hidden(without_values(backend.get(key), names)))
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
        site: Any = {
            "class_name": "SiteBuilder",
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "store_backend": store,
        }
        self._context.add_data_docs_site(SITE, site)
        self._context.build_data_docs(site_names=[SITE])
        return texts


def _compared(
    frame: DataFrame, suite: Suite, check: Check, seen: QueuesSeen, history: History
) -> tuple[CheckResult, DataFrame | None]:
    """The result of a check that sees other messages or a file, and the rows that fail it; none where none does."""
    table = frame.select(*between_columns(check)).toArrow()
    result, rows = compared(table, suite, check, seen.looked_at, history)
    if rows is None or not len(rows):
        return result, None
    return result, frame.sparkSession.createDataFrame(table.take(rows))


COUNTS = ("element_count", "missing_count", "missing_percent", "unexpected_count", "unexpected_percent")


def without_values(document: str, names: Mapping[str, str]) -> str:
    """A JSON document of GX without what it found in payloads, but for counts.

    Parameters: `names` column → what people call it.
    """
    content = json.loads(document)
    for one in content.get("results", ()) if isinstance(content, dict) else ():
        given = one.get("expectation_config", {}).get("kwargs", {})
        about = [given.get(name) for name in ("column", "column_A", "column_B")] + list(given.get("column_list") or ())
        if any(isinstance(name, str) and is_payload(name) for name in about):
            one["result"] = {name: value for name, value in one["result"].items() if name in COUNTS}
    text = json.dumps(content)
    for name, shown in names.items():
        text = text.replace(json.dumps(name), json.dumps(shown)) if name != shown else text
    return text


def _class_of(expectation: Expectation) -> Any:
    """GX's class, or another distribution's. Raises `SettingsError` where that cannot be imported."""
    corrected = expectation.name in _CORRECTED
    package = "mqops.quality.gx_corrected" if corrected else "great_expectations.expectations"
    place = expectation.gx or f"{package}:{expectation.gx_class}"
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # whatever an import raises
        if not expectation.gx:
            raise
        raise SettingsError(f"expectation {expectation.name}: {expectation.gx} cannot be loaded: {error}") from error


def expectation_of(check: Check) -> Any:
    """The GX expectation of a check. Raises `SettingsError` where it is another distribution's and cannot be loaded."""
    quiet_import()
    from great_expectations.expectations.row_conditions import PassThroughCondition  # noqa: PLC0415

    sentence, check = check.sentence(), check.computed()
    arguments = {name: as_gx(value) for name, value in check.arguments.items()}
    condition = sql_of(check.where)
    if condition:
        arguments["row_condition"] = PassThroughCondition(pass_through_filter=condition)
    if check.expectation.of_rows:
        arguments["mostly"] = check.mostly
    return _class_of(check.expectation)(
        **check.domain(), **arguments, severity=check.severity, meta={ID: check.id}, description=sentence
    )


def _counts(rows: DataFrame, suite: Suite) -> tuple[int, Mapping[str, int]]:
    """Messages of the suite; and for each check those that it is about and that have a value in its columns."""
    columns = [F.count(F.lit(1)).alias("messages")]
    for index, check in enumerate(suite.checks):
        named = [f"{name} IS NOT NULL" for name in check.columns if check.expectation.needs_values]
        condition = " AND ".join([*named, *filter(None, [sql_of(check.where)])]) or "true"
        columns.append(F.count_if(F.expr(condition)).alias(str(index)))
    row = rows.agg(*columns).first()
    assert row is not None
    return row["messages"], {check.id: row[str(index)] for index, check in enumerate(suite.checks)}


def _read(suite: Suite, check: Check, answer: ExpectationValidationResult, count: int) -> CheckResult:
    raised = _raised(answer.exception_info)
    if raised is not None:
        raise MqopsError(f"Great Expectations could not evaluate {suite.name}.{check.id}: {raised}")
    found = answer.result
    if not check.expectation.of_rows:
        return result_of(suite, check, met=bool(answer.success), checked=count, observed=str(found["observed_value"]))
    checked = found["element_count"] - (found.get("missing_count") or 0)
    known = {"checked": checked, "failed": found["unexpected_count"], "skipped": "" if checked else NO_VALUE}
    return result_of(suite, check, met=bool(answer.success), **known)


def _raised(info: Mapping[str, object] | None) -> str | None:
    """What went wrong in GX in one line, or None. GX has one such entry, or one for each metric."""
    entries = [info or {}, *(value for value in (info or {}).values() if isinstance(value, Mapping))]
    for entry in entries:
        if entry.get("raised_exception"):
            return (str(entry.get("exception_message") or "").strip() or "no reason given").splitlines()[0]
    return None


def _failing(batch: Batch, rows: DataFrame, failed: Iterable[tuple[Check, CheckResult]]) -> Iterator[Failing]:
    """What GX's own conditions of these expectations pick among the rows of their suite.

    A condition that looks at one value of one row goes with the rows of the suite: all such checks take one pass.
    Another distribution's sees only the rows that its check is about: it may be a function in Python, which Spark calls
    for each row, whatever stands before it, and which may end in an error at any other row.
    """
    from great_expectations.core.metric_function_types import MetricPartialFunctionTypes  # noqa: PLC0415
    from great_expectations.expectations.registry import get_metric_provider  # noqa: PLC0415
    from great_expectations.validator.metrics_calculator import MetricsCalculator  # noqa: PLC0415

    engine = batch.data.execution_engine
    wanted = [(check, result, _condition(batch, check)) for check, result in failed]
    found, _aborted = MetricsCalculator(engine).compute_metrics([condition for _check, _result, condition in wanted])
    for check, result, metric in wanted:
        condition, domain, _accessor = found[metric.id]
        valued = has_value_sql(check) or "true"  # of several columns GX's fails a row that has none of the values
        _class, provider = get_metric_provider(metric.metric_name, engine)
        of_row = getattr(provider, "metric_fn_type", None) is MetricPartialFunctionTypes.MAP_CONDITION_FN
        if of_row and len(check.columns) == 1 and not check.expectation.gx:
            fails = F.expr(sql_of(check.where) or "true") & F.expr(valued) & condition
            yield Failing(check=check, result=result, rows=rows, fails=fails)
            continue
        failing = engine.get_domain_records(domain).withColumn("_fails", condition).where("_fails").drop("_fails")
        yield Failing(check=check, result=result, rows=failing.where(valued))


def _condition(batch: Batch, check: Check) -> MetricConfiguration:
    """The metric of GX that is the condition of an expectation."""
    from great_expectations.expectations.registry import get_metric_kwargs  # noqa: PLC0415
    from great_expectations.validator.metric_configuration import MetricConfiguration  # noqa: PLC0415

    expectation = expectation_of(check)
    configuration = expectation.configuration
    configuration.kwargs["batch_id"] = batch.id
    metric = f"{expectation.map_metric}.condition"
    arguments = get_metric_kwargs(metric, configuration=configuration)
    return MetricConfiguration(
        metric, arguments["metric_domain_kwargs"], metric_value_kwargs=arguments["metric_value_kwargs"]
    )
