"""What a running task says to its supervisor, and what the triggerer reads of a question: in these processes alone."""

from __future__ import annotations

from airflow.sdk.api.datamodels._generated import HITLDetailResponse
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import (
    CreateHITLDetailPayload,
    ErrorResponse,
    HITLDetailRequestResult,
    TriggerDagRun,
)
from airflow.sdk.execution_time.hitl import HITLUser, get_hitl_detail_content_detail
from airflow.sdk.observability import stats

__all__ = [
    "CreateHITLDetailPayload",
    "ErrorResponse",
    "HITLDetailRequestResult",
    "HITLDetailResponse",
    "HITLUser",
    "TriggerDagRun",
    "get_hitl_detail_content_detail",
    "stats",
    "task_runner",
]
