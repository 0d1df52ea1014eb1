"""The DAGs whose form names the queue manager: all that are not of one queue manager's section in the estate."""

from __future__ import annotations

from typing import NamedTuple


class DagForAll(NamedTuple):
    """Parameters: `acts` whether it carries out the plan of a decider: real runs on the same queue wait for it."""

    dag_id: str
    acts: bool = False


TABLE = (
    DagForAll("mq_recover", acts=True),
    DagForAll("mq_refresh_expiry"),
    DagForAll("mq_stop"),
    DagForAll("mq_trigger_explain"),
    DagForAll("mq_undo", acts=True),
)
FOR_ALL = tuple(one.dag_id for one in TABLE)
"""They tell who may see a queue manager that has no DAG of its own, and `make up` waits for them."""
THAT_ACT = tuple(one.dag_id for one in TABLE if one.acts)
