"""The row of a plan: one message of the frozen set and its action.

The class is the table of the plan's columns. Their order is that of the files and of the digest
(`mqops.decide.core.canonical`). Arrow's and Spark's schema follow from it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args, get_type_hints

from mqops.actions import Action

ColumnType: TypeAlias = Literal["string", "binary", "long", "integer", "boolean", "timestamp"]
Text: TypeAlias = Annotated[str, "string"]
Word: TypeAlias = Annotated[Action, "string"]
Bytes: TypeAlias = Annotated[bytes, "binary"]
Long: TypeAlias = Annotated[int, "long"]
Integer: TypeAlias = Annotated[int, "integer"]
Flag: TypeAlias = Annotated[bool, "boolean"]


class PlanRow(NamedTuple):
    """One row. A tuple, because a plan can have a million.

    Parameters: `row` its number, from 0 in the order of the snapshot; `msg_key` the frozen identity of the message;
    `body_length` in bytes (MQDLH included); the columns `dlh_*` are None where there is no MQDLH; `rule_line` and
    `rule_key` are None where no rule was chosen; `header` whether the MQDLH goes along; `alternate_user` the user whose
    authority puts the message (PUTAUT(CTX)); `tries` that failed so far, and of a RESTORE how many messages with the
    same identity may be on the queue before it; `unit_group` the destination, or the action where nothing is put;
    `order_key` what its rule's ORDER keeps in order; `together` the number of the first row of its MQ group, its own
    without. Texts that do not apply to the action are empty.
    """

    row: Long
    queue: Text
    msg_key: Text
    msg_id: Bytes
    correl_id: Bytes
    put_date: Text
    put_time: Text
    body_sha256: Bytes
    body_length: Long
    dlh_reason: Integer | None
    dlh_dest_q: Text | None
    dlh_dest_q_mgr: Text | None
    put_appl_name: Text
    rule_line: Integer | None
    rule_key: Text | None
    action: Word
    dest_q: Text
    dest_q_mgr: Text
    header: Flag
    putaut: Text
    alternate_user: Text
    tries: Integer
    unit_group: Text
    order_key: Text
    together: Long


COLUMNS = PlanRow._fields
"""The names of the columns, in order."""


class Column(NamedTuple):
    """A column as files have it."""

    name: str
    type: ColumnType
    nullable: bool


def _column(name: str, hint: Any) -> Column:
    nullable = type(None) in get_args(hint)
    annotated = get_args(hint)[0] if nullable else hint
    return Column(name, annotated.__metadata__[0], nullable)


def columns_of(row: type) -> tuple[Column, ...]:
    """The columns of a table, in order. Parameters: `row` the class of its rows, whose fields have types as above."""
    return tuple(_column(name, hint) for name, hint in get_type_hints(row, include_extras=True).items())


PLAN_COLUMNS = columns_of(PlanRow)
"""The columns of `PlanRow`, in its order."""


class Disposal(TypedDict):
    """The columns that say what is done with a message and where it goes."""

    action: Action
    dest_q: str
    dest_q_mgr: str
    header: bool
    putaut: str
    alternate_user: str
    unit_group: str
    order_key: str


class RuleDecision(Disposal):
    """`Disposal` with the rule that was chosen, and the number of its tries that failed for the message."""

    rule_line: int | None
    rule_key: str | None
    tries: int


def left(action: Action) -> Disposal:
    """The columns of a message that is left where it is, or that is put nowhere."""
    return {
        "action": action,
        "dest_q": "",
        "dest_q_mgr": "",
        "header": False,
        "putaut": "",
        "alternate_user": "",
        "unit_group": action.value,
        "order_key": "",
    }


def without_rule(action: Action) -> RuleDecision:
    """The decision about a message that no rule is chosen for, and that is put nowhere."""
    return {**left(action), "rule_line": None, "rule_key": None, "tries": 0}
