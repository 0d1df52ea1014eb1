"""The plan in Spark's terms: what decide gives to act."""

from __future__ import annotations

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)


def _fields(kind: DataType, names: str, *, nullable: bool = False) -> list[StructField]:
    return [StructField(name, kind, nullable) for name in names.split()]


PLAN = StructType(
    [
        *_fields(LongType(), "row"),
        *_fields(StringType(), "queue msg_key"),
        *_fields(BinaryType(), "msg_id correl_id"),
        *_fields(StringType(), "put_date put_time"),
        *_fields(BinaryType(), "body_sha256"),
        *_fields(LongType(), "body_length"),
        *_fields(IntegerType(), "dlh_reason", nullable=True),
        *_fields(StringType(), "dlh_dest_q dlh_dest_q_mgr", nullable=True),
        *_fields(StringType(), "put_appl_name"),
        *_fields(IntegerType(), "rule_line", nullable=True),
        *_fields(StringType(), "rule_key", nullable=True),
        *_fields(StringType(), "action dest_q dest_q_mgr"),
        *_fields(BooleanType(), "header"),
        *_fields(StringType(), "putaut alternate_user"),
        *_fields(IntegerType(), "tries"),
        *_fields(StringType(), "unit_group order_key"),
        *_fields(LongType(), "together"),
    ]
)
"""One row a message of the frozen set, in browse order. `rule_line` is null where no rule was chosen; texts that do not
apply to the action are empty. `order_key` is what its rule's ORDER keeps in order, empty without; `together` the row
number of the first message of its MQ group, its own without (`mqops.decide.core.message_groups`)."""
