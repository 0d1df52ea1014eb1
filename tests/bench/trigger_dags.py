"""DAGs of bench_trigger_start.py: what a trigger message starts, and a sensor that polls a queue and starts as much."""

from __future__ import annotations

from datetime import UTC, datetime

import pymqi
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, task

with DAG("started_by_message", schedule=None, max_active_runs=100):
    EmptyOperator(task_id="done")

with DAG("started_by_sensor", schedule=None, max_active_runs=100):
    EmptyOperator(task_id="done")

with DAG("sensor", schedule="@continuous", start_date=datetime(2026, 1, 1, tzinfo=UTC), max_active_runs=1):

    @task.sensor(poke_interval=5, timeout=3600, mode="poke")
    def polls() -> bool:
        manager = pymqi.QueueManager(None)
        manager.connect_with_options("QM1", opts=0)
        queue = pymqi.Queue(manager, "POLLED")
        try:
            queue.get()
        except pymqi.MQMIError as error:
            if error.reason != pymqi.CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return False
        finally:
            queue.close()
            manager.disconnect()
        return True

    polls() >> TriggerDagRunOperator(task_id="start", trigger_dag_id="started_by_sensor")
