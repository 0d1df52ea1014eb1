"""The DAG that the trigger messages of the soak start, and one that is paused: copied into its Airflow's DAG folder."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, get_current_context, task


def build(dag_id: str) -> DAG:
    with DAG(dag_id, schedule=None, catchup=False, max_active_runs=8) as dag:

        @task(retries=100, retry_delay=timedelta(seconds=2))
        def serve() -> int:
            from soak_application import serve as application  # noqa: PLC0415

            run = get_current_context()["dag_run"]
            return application(run.conf["mq_trigger"]["QName"], run.run_id)

        serve()
    return dag


soak, paused = build("soak"), build("soak_paused")
