"""The names of the workflows: on the command line, in Airflow, in plans and in the ledger.

A decider that another package brings has a name of its own, so what holds the name of any workflow is a text.
"""

from __future__ import annotations

from enum import StrEnum


class Workflow(StrEnum):
    """The workflows of mqops."""

    DLQ_RULES = "dlq_rules"  # dead letters go by a rules table
    BACKOUT_REPROCESS = "backout_reprocess"  # messages of backout queues go by a rules table
    POISON_GUARD = "poison_guard"  # messages that loop go where their queue and their report options say
    AGE_OUT = "age_out"  # messages without an expiry that are too old are discarded
    UNDO = "undo"  # what a run moved or discarded is put back
    RECOVER = "recover"  # messages that a person chooses are moved, copied, parked, discarded or tried again
    MESSAGE_LOAD = "message_load"  # the messages of a file are put on a queue
    EXPIRY_SCAN = "expiry_scan"  # the queue manager discards what has expired
    SNAPSHOT = "snapshot"  # the messages of queues are copied into the lake, for people and programs that read them
    SNAPSHOT_QUALITY = "snapshot_quality"  # suites check the messages of a snapshot


COPIES = frozenset({Workflow.UNDO, Workflow.MESSAGE_LOAD})
"""Workflows whose snapshots are copies of what was on queues before, or of a file."""
