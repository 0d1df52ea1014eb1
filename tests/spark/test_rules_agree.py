"""The plain matcher and Spark's expression choose the same rule, on over 10,000 pairs of table and message.

MQOPS_RULES_PAIRS raises the number of pairs (`make full`: 100,000).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from hypothesis import strategies as st
from pyspark.sql import functions as F

from mqops.decide.spark import rules
from mqops.decide.spark.rules import chosen_rule
from mqops.rules import choose, parse
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import PATTERN_KEYWORDS

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))
import rule_grammar as grammar
from examples import generated

SCHEMA = ", ".join(
    [f"{name} {'int' if keyword.kind is ValueKind.NUMBER else 'string'}" for name, keyword in PATTERN_KEYWORDS.items()]
    + ["tries map<string, int>"]
)
PAIRS, MESSAGES, TOGETHER = int(os.environ.get("MQOPS_RULES_PAIRS", "12000")), 10, 24
"""Pairs; messages made near to each table; how many tables are held against all their messages in one Spark job."""
TABLES = PAIRS // (MESSAGES * TOGETHER) // TOGETHER * TOGETHER


@st.composite
def cases(draw):
    """A table, and messages near to its patterns, some with failed tries."""
    meant = draw(grammar.tables)
    table = parse(draw(grammar.written(meant))).table
    tries = st.none() | st.dictionaries(st.sampled_from([rule.key for rule in table.rules]), st.integers(1, 3))
    return table, [(draw(grammar.messages(meant)), draw(tries)) for _ in range(MESSAGES)]


def padding():
    """A table that is hardly ever generated: its `?` stands before a blank, and is no blank of the padding itself."""
    table = parse("DESTQ('A? *') ACTION(RETRY)\n").table
    blank = {name: 0 if keyword.kind is ValueKind.NUMBER else "" for name, keyword in PATTERN_KEYWORDS.items()}
    return table, [({**blank, "DESTQ": name}, None) for name in ("A", "AB", "A B", "AB C", "AB  C")]


def chosen_by_spark(spark, tables, messages):
    rows = [(*[message[name] for name in PATTERN_KEYWORDS], tried) for message, tried in messages]
    columns = {name: F.col(name) for name in PATTERN_KEYWORDS}
    choices = [chosen_rule(table, columns, F.col("tries")).alias(f"table_{n}") for n, table in enumerate(tables)]
    return spark.createDataFrame(rows, SCHEMA).select(choices).collect()


def test_D01_D02_D03_D04_spark_and_the_plain_matcher_agree_on_10000_pairs(spark, monkeypatch):
    found = [padding(), *generated(cases(), TABLES - 1)]
    indexes = Counter()
    for first in range(0, len(found), TOGETHER):
        monkeypatch.setattr(rules, "SHARED", 2 + first // TOGETHER % 2)  # generated tables are short
        tables = [table for table, _ in found[first : first + TOGETHER]]
        messages = [pair for _, pairs in found[first : first + TOGETHER] for pair in pairs]
        answers = chosen_by_spark(spark, tables, messages)
        for (message, tried), row in zip(messages, answers, strict=True):
            for table, index in zip(tables, row, strict=True):
                rule = choose(table, message, tried or {})
                assert index == (None if rule is None else rule.index), (table.rules, message, tried)
                indexes[index] += 1
    assert sum(indexes.values()) >= 10_000
    # of every kind: nothing chosen, the first rule, later ones
    assert min(indexes[index] for index in (None, 0, 1, 2)) > PAIRS // 200, indexes
