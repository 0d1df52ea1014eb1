"""The plan in Arrow's terms."""

from __future__ import annotations

import pyarrow as pa

PLAN = pa.schema(
    [
        pa.field(name, kind, nullable=name in {"dlh_reason", "dlh_dest_q", "dlh_dest_q_mgr", "rule_line", "rule_key"})
        for name, kind in (
            ("row", pa.int64()),
            *((name, pa.string()) for name in ("queue", "msg_key")),
            *((name, pa.binary()) for name in ("msg_id", "correl_id")),
            *((name, pa.string()) for name in ("put_date", "put_time")),
            ("body_sha256", pa.binary()),
            ("body_length", pa.int64()),
            ("dlh_reason", pa.int32()),
            *((name, pa.string()) for name in ("dlh_dest_q", "dlh_dest_q_mgr", "put_appl_name")),
            ("rule_line", pa.int32()),
            *((name, pa.string()) for name in ("rule_key", "action", "dest_q", "dest_q_mgr")),
            ("header", pa.bool_()),
            *((name, pa.string()) for name in ("putaut", "alternate_user")),
            ("tries", pa.int32()),
            ("unit_group", pa.string()),
            ("order_key", pa.string()),
            ("together", pa.int64()),
        )
    ]
)
