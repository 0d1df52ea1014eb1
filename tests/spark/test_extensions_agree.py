"""Extended rules: the plain matcher and Spark's expressions choose the same rule, whatever the messages hold."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import functions as F

from mqops.rules import choose, parse
from mqops.snapshot.answers import answers
from mqops.snapshot.columns import PATTERN_COLUMNS, SNAPSHOT_COLUMNS
from mqops.snapshot.decode import row_maker
from mqops.spark.conditions import with_answers
from mqops.spark.rules import chosen_rule
from mqops.spark.schema import SNAPSHOT

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))
import extension_grammar as grammar

TABLES, MESSAGES, TOGETHER = 120, 1200, 12
"""Tables, messages, and how many tables are held against their share of the messages in one Spark job."""
NAMES = [name for name, _kind, _null in SNAPSHOT_COLUMNS]


def generated(strategy, count):
    found = []

    @given(strategy)
    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(example):
        found.append(example)

    collect()
    return found


def chosen_by_spark(spark, tables, rows):
    questions = sorted({question for table in tables for question in table.questions})
    asked = {question.key: f"answer_{number}" for number, question in enumerate(questions)}
    columns = {keyword: F.coalesce(F.col(name), F.lit("")) for keyword, name in PATTERN_COLUMNS.items()}
    columns["REASON"] = F.coalesce(F.col("dlh_reason"), F.lit(0))
    columns |= {key: F.col(name) for key, name in asked.items()}
    messages = with_answers(spark.createDataFrame(rows, SNAPSHOT), questions, asked)
    choices = [chosen_rule(table, columns).alias(f"table_{number}") for number, table in enumerate(tables)]
    return messages.select(*choices, *asked.values()).collect(), questions


def test_spark_and_the_plain_matcher_agree_about_extended_rules(spark):
    texts, messages = generated(grammar.tables(), TABLES), generated(grammar.messages(), MESSAGES)
    indexes, held = Counter(), Counter()
    make = row_maker("QM1", "DLQ", grammar.OBSERVED)
    parts = len(texts) // TOGETHER
    for part in range(parts):
        tables = [parse(text).table for text in texts[part::parts]]
        rows = [make(0, *message) for message in messages[part::parts]]
        chosen, questions = chosen_by_spark(spark, tables, rows)
        for row, answer in zip(rows, chosen, strict=True):
            message = dict(zip(NAMES, row, strict=True))
            plain = answers(questions, message)
            for question, by_spark in zip(questions, answer[len(tables) :], strict=True):
                assert by_spark == plain[question.key], (question, message["body"])
            fields = {keyword: message[name] for keyword, name in PATTERN_COLUMNS.items()} | plain
            for table, index in zip(tables, answer, strict=False):
                rule = choose(table, fields, {})
                assert index == (None if rule is None else rule.index), (table.rules, plain)
                indexes[index] += 1
                held.update({(one.question.keyword, one.question.language) for one in rule.extensions} if rule else ())
    assert sum(indexes.values()) >= 10_000
    assert min(indexes[index] for index in (None, 0, 1, 2)) > 200, indexes
    # rules of every kind of condition were chosen
    assert len(held) == 8, held
    assert min(held.values()) > 20, held
