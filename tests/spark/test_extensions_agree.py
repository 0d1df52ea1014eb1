"""Extended rules: the plain matcher and Spark's expressions choose the same rule, whatever the messages hold."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from pyspark.sql import functions as F
from toy_keyword import toy

from mqops.decide.in_process import decide
from mqops.decide.spark.conditions import holds, with_answers
from mqops.decide.spark.decide import Request
from mqops.decide.spark.decide import decide as decide_with_spark
from mqops.decide.spark.rules import chosen_rule, like
from mqops.observe.core.answers import answers
from mqops.observe.core.columns import PATTERN_COLUMNS
from mqops.observe.core.decode import Browsed, snapshot_row
from mqops.observe.spark.schema import SNAPSHOT
from mqops.rules import choose, parse
from mqops.rules.keywords import KEYWORDS
from mqwire.rfh2 import MQRFH2

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "property"))
import extension_grammar as grammar
from dead_letters import dead, headless
from examples import TIMES, generated

SELDOM = (
    f"{grammar.HEADER}BODY(JSON '$.a' = '*') ACTION(FWD) FWDQ(A)\n"
    "BODY(XPATH '/a' = '*') ACTION(FWD) FWDQ(A)\nPROP('usr.a' = '*') ACTION(FWD) FWDQ(A)\n"
)
"""A table with conditions that hold for few of the generated messages."""
TABLES, MESSAGES, TOGETHER = 36 * TIMES, 1200 * TIMES, 12
"""Tables, messages, and how many tables are held against their share of the messages in one Spark job."""


def by_spark(spark, rows, tables, conditions):
    """A list a message: the index of the rule of each table, whether each condition holds, each question's answer."""
    questions = [question for table in tables for question in table.questions]
    asked = {question.key: f"answer_{number}" for number, question in enumerate(dict.fromkeys(questions))}
    columns = {keyword: F.coalesce(F.col(name), F.lit("")) for keyword, name in PATTERN_COLUMNS.items()}
    columns["REASON"] = F.coalesce(F.col("dlh_reason"), F.lit(0))
    columns |= {key: F.col(name) for key, name in asked.items()}
    messages = with_answers(spark.createDataFrame(rows, SNAPSHOT), list(dict.fromkeys(questions)), asked)
    chosen = [chosen_rule(table, columns).alias(f"table_{number}") for number, table in enumerate(tables)]
    met = [holds(one, columns[one.question.key], like).alias(f"condition_{n}") for n, one in enumerate(conditions)]
    selected = messages.select(F.array(chosen), F.array(met), *asked.values())
    return [(row[0], row[1], dict(zip(asked, row[2:], strict=True))) for row in selected.collect()]


def test_spark_and_the_plain_matcher_agree_about_extended_rules(spark):
    texts, messages = generated(grammar.tables(), TABLES), generated(grammar.messages(), MESSAGES)
    indexes, held = Counter(), Counter()
    browsed = Browsed(queue_manager="QM1", queue="DLQ", observed_at=grammar.OBSERVED)
    parts = len(texts) // TOGETHER
    for part in range(parts):
        tables = [parse(text).table for text in (*texts[part::parts], SELDOM)]
        conditions = list({one for table in tables for rule in table.rules for one in rule.extensions})
        rows = [snapshot_row(browsed, 0, *message) for message in messages[part::parts]]
        for message, (chosen, met, answered) in zip(rows, by_spark(spark, rows, tables, conditions), strict=True):
            plain = answers([question for table in tables for question in table.questions], message)
            assert answered == plain, message["body"]
            for condition, by_column in zip(conditions, met, strict=True):
                assert by_column == condition.holds(plain[condition.question.key]), (condition, plain)
                held[condition.question[:2]] += by_column
            fields = {keyword: message[name] for keyword, name in PATTERN_COLUMNS.items()} | plain
            for table, index in zip(tables, chosen, strict=True):
                rule = choose(table, fields, {})
                assert index == (None if rule is None else rule.index), (table.rules, plain)
                indexes[index] += 1
    assert sum(indexes.values()) >= 10_000
    assert min(indexes[index] for index in (None, 0, 1)) > 100, indexes
    # conditions of every kind held: AGE, SIZE, PROP, three of BODY, and each keyword that compares a number
    assert len(held) == 6 + len(grammar.COMPARED), held
    assert min(held.values()) > 20, held


TABLE = """\
* MQOPS EXTENSIONS
AGE(<1h) ACTION(RETRY)
SIZE(>=1K) ACTION(FWD) FWDQ(LARGE)
BACKOUT(=2) ACTION(FWD) FWDQ(TIRED)
PRIORITY(>7) ACTION(FWD) FWDQ(URGENT)
PROP('usr.a' = 'D*') ACTION(FWD) FWDQ(PROPERTY)
BODY('*needle*') ACTION(DISCARD)
BODY(JSON '$.a' = '7') ACTION(FWD) FWDQ(JSON)
BODY(XPATH '/a/@b' = '7') ACTION(FWD) FWDQ(XML)
ACTION(IGNORE)
"""
OLD = {"dlh_put_time": "08000000"}
RFH2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><a>DE</a></usr>").pack()
WANTED = [
    (dead(0, dlh_put_time="11000100"), 2),
    (dead(1, dlh_put_time="11000099"), 10),
    (dead(2, text=b"x" * 1024, **OLD), 3),
    (dead(3, backout_count=2, **OLD), 4),
    (dead(4, priority=8, **OLD), 5),
    (dead(5, text=RFH2 + b"x", dlh_format="MQHRF2", **OLD), 6),
    (dead(6, text="a needle é".encode("cp500"), dlh_coded_char_set_id=500, **OLD), 7),
    (dead(7, text=b'{"a":7}', **OLD), 8),
    (dead(8, text="<a b='7'/>".encode("utf-16-be"), dlh_coded_char_set_id=1201, **OLD), 9),
    (dead(9, text=b"a needle \xff", **OLD), 10),
    (headless(10, **{"priority": 9}), None),
    (dead(11, dlh_put_time="110001"), 2),  # without hundredths
    (dead(12, dlh_put_date="", dlh_put_time="", put_date="20261121", put_time="11000100"), 2),  # by the MQMD
    (dead(13, dlh_put_date="2026/01/", put_date="20261121", put_time="080000"), 10),
]


def test_the_plans_of_an_extended_table_are_the_same(spark, make_run):
    folder = make_run([message for message, _line in WANTED])
    lines = []
    for chosen in ((), tuple(message[0][48:72] for message, _line in WANTED[::-2])):
        summary = decide_with_spark(spark, Request(folder=folder, table_text=TABLE, message_ids=chosen))
        rows = spark.read.parquet(str(folder.plan)).orderBy("row").collect()
        lines.append([row["rule_line"] for row in rows])
        if not chosen:
            assert decide(folder, parse(TABLE).table, text=TABLE, source="<rules>").digest == summary.digest
    assert lines[0] == [line for _message, line in WANTED]
    assert lines[1] == lines[0][::-2][::-1]  # numbered anew, so that the plan's rows are sorted


def test_a_keyword_that_is_added_to_the_table_is_evaluated_equally(spark, make_run, monkeypatch):
    monkeypatch.setitem(KEYWORDS, "MSGSEQ", toy())
    text = "* MQOPS EXTENSIONS\nMSGSEQ(>2) ACTION(RETRY)\nMSGSEQ(=1) ACTION(FWD) FWDQ(FIRST)\nACTION(DISCARD)\n"
    folder = make_run([dead(number, msg_seq_number=number) for number in (1, 2, 3)])
    summary = decide_with_spark(spark, Request(folder=folder, table_text=text))
    rows = spark.read.parquet(str(folder.plan)).orderBy("row").collect()
    assert [row["rule_line"] for row in rows] == [3, 4, 2]
    assert decide(folder, parse(text).table, text=text, source="<rules>").digest == summary.digest
