"""What a message answers to the questions of extended rules (on Spark: `mqops.decide.spark.conditions`).

1. AGE: whole seconds from the put date and time to the moment of the snapshot, both without their fractions. They are
   the MQDLH's, where these are valid, else the MQMD's (`mqops.observe.core.put_time`); if neither is, no answer.
2. SIZE: bytes of the message data without the MQDLH.
3. The text of the data is that of `mqops.observe.core.payload`; only JSON and XML have values at paths.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import itemgetter

from mqops.errors import SettingsError
from mqops.observe.core.columns import NUMBER_COLUMNS, SnapshotRow
from mqops.observe.core.put_time import dead_lettered
from mqops.rules.conditions import Answer, Question
from mqops.rules.documents import json_values, xml_values
from mqops.rules.keyword import COMPARED_NUMBERS, Keyword, ValueKind
from mqops.rules.keywords import KEYWORDS
from mqwire.structures import MQDLH_LAYOUT

_READERS = {"JSON": json_values, "XPATH": xml_values}
_KINDS = {"JSON": "json", "XPATH": "xml"}


def columns_for(questions: Iterable[Question]) -> list[str]:
    """The columns of the snapshot that the answers come from.

    Raises:
        SettingsError: a keyword of another distribution names a column that a snapshot does not have.
    """
    for question in (asked := list(questions)):
        refuse_unknown_column(KEYWORDS[question.keyword])
    return sorted({column for question in asked for column in KEYWORDS[question.keyword].columns})


def refuse_unknown_column(keyword: Keyword) -> None:
    """Refuse a keyword whose number no snapshot has. Raises `SettingsError`."""
    if keyword.kind is ValueKind.COMPARED and keyword.columns[0] not in NUMBER_COLUMNS:
        raise SettingsError(
            f"keyword {keyword.name}: {keyword.columns[0]} is not a column with integers; name one of "
            f"{', '.join(NUMBER_COLUMNS)}"
        )


def answers(questions: Sequence[Question], message: SnapshotRow) -> dict[str, Answer]:
    """Key of each question → the answer of a message (column → value); None if it has no such value."""
    found: dict[str, Answer] = dict.fromkeys(question.key for question in questions)
    properties: Mapping[str, str] | None = None
    for question in questions:
        if question.kind is ValueKind.PROPERTY:
            properties = json.loads(message["properties"] or "{}") if properties is None else properties
            found[question.key] = properties.get(question.subject)
        elif question.kind in COMPARED_NUMBERS:
            found[question.key] = _number(question, message)
    body = [question for question in questions if question.kind is ValueKind.BODY]
    if body and message["text_kind"] is not None:
        found |= body_answers(body, text_of(message), message["text_kind"])
    return found


def body_answers(questions: Sequence[Question], text: str, kind: str) -> dict[str, Answer]:
    """Key of each question about a body → its answer in `text`. A question about a path has none if the text is of
    another language.

    Parameters: `questions` of kind BODY; `kind` of the text (`mqops.rules.documents.kind_of`).
    """
    found: dict[str, Answer] = {question.key: text for question in questions if not question.language}
    for language, read in _READERS.items():
        asked = [question for question in questions if question.language == language]
        if asked and kind == _KINDS[language]:
            values = read(text, [question.subject for question in asked])
            found |= zip((question.key for question in asked), values, strict=True)
    return found


def text_of(message: SnapshotRow) -> str:
    """The text of the data of a message that has one."""
    decoded: str | None = message["text_decoded"]
    return decoded if decoded is not None else message["body"][message["text_offset"] :].decode()


def _number(question: Question, message: SnapshotRow) -> int | None:
    if question.kind is ValueKind.AGE:
        return _age(message)
    if question.kind is ValueKind.SIZE:
        return int(message["body_length"]) - (MQDLH_LAYOUT.size if message["dlh_encoding"] is not None else 0)
    (column,) = KEYWORDS[question.keyword].columns
    number: int | None = itemgetter(column)(message)
    return number


def _age(message: SnapshotRow) -> int | None:
    """Rule 1."""
    put = dead_lettered(message)
    if put is None:
        return None
    return (message["observed_at"].replace(microsecond=0) - put.second) // timedelta(seconds=1)
