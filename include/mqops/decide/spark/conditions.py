"""The questions and conditions of extended rules as native column expressions (see `mqops.observe.core.answers`).

An answer is null if the message has none, and then no condition holds. JSON and XML are read by Spark's own functions,
but only from texts that the snapshot marks as JSON or XML: so their own leniency does not matter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from mqops.rules.conditions import Condition, Question
from mqops.rules.keyword import ValueKind
from mqops.rules.keywords import KEYWORDS
from mqwire.structures import MQDLH_LAYOUT

_COMPARISONS: Mapping[str, Callable[[Column, int], Column]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}
_COMPARABLE = ("STRING", "BIGINT", "BOOLEAN")
"""What a JSON value is as a variant, if it can be compared (`mqops.rules.documents`)."""
_TEXT, _JSON, _PROPERTIES = "_text", "_json", "_properties"


def with_answers(messages: DataFrame, questions: Sequence[Question], names: Mapping[str, str]) -> DataFrame:
    """The messages (columns of the snapshot and others), and the answers.

    Parameters: `names` key of a question → the column its answer goes to. The text, and the JSON
    in it, are made once for all questions.
    """
    if not questions:
        return messages
    texts = _texts(questions)
    for name, made in texts.items():
        messages = messages.withColumn(name, made)
    return messages.withColumns({names[question.key]: _answer(question) for question in questions}).drop(*texts)


def _texts(questions: Sequence[Question]) -> dict[str, Column]:
    """The columns that answers are made of."""
    found = {}
    if any(question.kind is ValueKind.PROPERTY for question in questions):
        found[_PROPERTIES] = F.from_json("properties", "map<string,string>")
    if any(question.kind is ValueKind.BODY for question in questions):
        bytes_of_text = F.substring(F.col("body"), F.col("text_offset") + 1, F.col("body_length").cast("int"))
        whole = F.coalesce(F.col("text_decoded"), bytes_of_text.cast("string"))
        found[_TEXT] = F.when(F.col("text_kind").isNotNull(), whole)
    if any(question.language == "JSON" for question in questions):
        found[_JSON] = F.try_parse_json(F.when(F.col("text_kind") == "json", F.col(_TEXT)))
    return found


def _answer(question: Question) -> Column:
    _keyword, language, subject = question
    if language == "JSON":
        value = F.try_variant_get(_JSON, subject, "variant")
        return F.when(F.schema_of_variant(value).isin(*_COMPARABLE), F.try_variant_get(_JSON, subject, "string"))
    if language == "XPATH":
        found = F.xpath_string(F.col(_TEXT), F.lit(f"concat(boolean({subject}), {subject})"))
        value = F.when(F.col("text_kind") == "xml", found)
        return F.when(value.startswith("true"), F.substring(value, 5, 2**31 - 1))
    if question.kind is ValueKind.PROPERTY:
        return F.element_at(_PROPERTIES, F.lit(subject))
    return F.col(_TEXT) if question.kind is ValueKind.BODY else _number(question)


def _number(question: Question) -> Column:
    if question.kind is ValueKind.AGE:
        return _age()
    if question.kind is ValueKind.SIZE:
        return F.col("body_length") - F.when(_has_dlh(), MQDLH_LAYOUT.size).otherwise(0)
    (column,) = KEYWORDS[question.keyword].columns
    return F.col(column)


def _has_dlh() -> Column:
    """Whether the message itself has an MQDLH; what stands for one in a backout run has no encoding."""
    return F.col("dlh_encoding").isNotNull()


def _age() -> Column:
    """Whole seconds; null where neither the MQDLH nor the MQMD has a valid time (`mqops.observe.core.put_time`)."""
    of_dlh = F.when(_has_dlh(), _second("dlh_put_date", "dlh_put_time"))
    put = F.coalesce(of_dlh, _second("put_date", "put_time"))
    return F.unix_seconds(F.col("observed_at")) - F.unix_seconds(put)


def _second(put_date: str, put_time: str) -> Column:
    """Null where date and time are not digits as `put_time.DIGITS` that are a time from year 1 on."""
    date, time = F.col(put_date), F.rtrim(F.col(put_time), F.lit(" "))
    valid = date.rlike(r"\A[0-9]{8}\z") & time.rlike(r"\A([0-9]{6}|[0-9]{8})\z") & (date >= "00010101")
    text = F.when(valid, F.concat(date, F.substring(time, 1, 6), F.lit("+0000")))
    return F.try_to_timestamp(text, F.lit("yyyyMMddHHmmssxx"))


def holds(condition: Condition, answer: Column, like: Callable[[Column, str], Column]) -> Column:
    """Whether the condition holds, never null.

    Parameters: `like` whether a column without trailing blanks matches a pattern, without padding.
    """
    if isinstance(condition.value, int):
        found = _COMPARISONS[condition.comparison](answer, condition.value)
    else:
        found = answer.isNotNull() & like(F.rtrim(answer, F.lit(" ")), condition.value)
    return F.coalesce(found, F.lit(False))
