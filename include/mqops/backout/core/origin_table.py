"""The estate's table of origins: conditions on a message on a backout queue → the queue that it came from.

1. A row counts on the backout queue that it names; one that names none, on that which its own queue names as BOQNAME.
   So a row for one backout queue decides no message of another.
2. The first row that counts and whose conditions hold decides.
3. The conditions are the patterns and extensions of a rules table that ask the message itself
   (`mqops.rules.parse_conditions`). FORMAT is that of the MQMD.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mqops.mqsc import quoted
from mqops.observe.core.answers import answers
from mqops.observe.core.columns import SnapshotRow, pattern_values
from mqops.rules import Rule, matches, misses, parse_conditions
from mqops.rules.conditions import Answer, Question
from mqops.rules.keyword import CONDITIONS
from mqops.rules.keywords import KEYWORDS

SECTION = "backout_reprocess.origins"
"""Where the estate has the table."""
SUGGESTED: Mapping[str, str] = {"APPLNAME": "put_appl_name", "FORMAT": "format", "REPLYQ": "reply_to_q"}
"""Patterns that a suggested row has, and the columns that they ask. None of them can show what a message says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRow:
    """One row. Parameters: `when` the conditions as they are written; `queue` where a message came from for which they
    hold; `backout_queue` the only queue whose messages the row decides, blank as in rule 1."""

    when: str
    queue: str
    backout_queue: str = ""

    @property
    def written(self) -> str:
        """The row as a line of the estate file."""
        only = f", backout_queue: {self.backout_queue}" if self.backout_queue else ""
        return f"- {{when: {json.dumps(self.when, ensure_ascii=False)}, queue: {self.queue}{only}}}"


@lru_cache(maxsize=64)
def rules_of(rows: tuple[OriginRow, ...]) -> tuple[Rule, ...]:
    """The conditions of the rows, in their order; that of a row which is not valid never matches, and is not there."""
    found = (parse_conditions(row.when, index=number)[0] for number, row in enumerate(rows))
    return tuple(rule for rule in found if rule is not None)


def questions_of(rows: tuple[OriginRow, ...]) -> tuple[Question, ...]:
    """The questions of all conditions, each once."""
    return tuple(sorted({one.question for rule in rules_of(rows) for one in rule.extensions}))


def known_of(rows: tuple[OriginRow, ...], message: SnapshotRow) -> Mapping[str, Answer]:
    """What the conditions are compared with. Parameters: `message` column of the snapshot → value."""
    asked: SnapshotRow = {**message, "dlh_format": message["format"]}
    return pattern_values(asked) | answers(questions_of(rows), message)


def first_that_holds(rows: tuple[OriginRow, ...], counting: Sequence[int], message: SnapshotRow) -> int | None:
    """The number of the row that decides, from 0; None if none does. Parameters: `counting` numbers of the rows that
    count on the message's queue."""
    if not counting:
        return None
    known = known_of(rows, message)
    return next((rule.index for rule in rules_of(rows) if rule.index in counting and matches(rule, known)), None)


def why_not(rows: tuple[OriginRow, ...], counting: Sequence[int], message: SnapshotRow) -> Iterator[str]:
    """For each row that counts: which conditions do not hold. What a message says is not among the words (law 9)."""
    known = known_of(rows, message)
    for rule in rules_of(rows):
        if rule.index not in counting:
            continue
        missed = []
        for one in misses(rule, known):
            text = one.keyword in KEYWORDS and KEYWORDS[one.keyword].kind in CONDITIONS
            found = "" if text else f", not {one.found if one.found else 'blank'}"
            missed.append(f"{one.keyword}({one.wanted}){found}")
        yield f"{SECTION}.{rule.index} wants {' '.join(missed)}"


def suggested(message: SnapshotRow, queue: str, backout_queue: str = "") -> OriginRow:
    """A row that decides for this message and all like it: same program, format, reply queue and JMS destination."""
    fields = {name: str(value).rstrip(" ") for name, column in SUGGESTED.items() if (value := message.get(column))}
    told = [f"{name}({quoted(text)})" for name, text in fields.items() if text and text.isprintable()]
    sent_to = message["jms_destination"]
    if sent_to and sent_to.isprintable():
        told.append(f"PROP('jms.Dst' = {quoted(sent_to)})")
    return OriginRow(when=" ".join(told) or "FORMAT(' ')", queue=queue, backout_queue=backout_queue)
