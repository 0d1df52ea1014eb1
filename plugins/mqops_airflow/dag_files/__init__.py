"""The DAG files, one a workflow: schedules, forms, wiring. Each has `dags()`, which makes them from the estate.

The repository's `dags/` leads here. In your own Airflow `mqops_airflow.estate_dags` calls them.
"""
