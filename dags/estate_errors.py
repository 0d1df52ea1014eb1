"""Has no DAG. What is wrong with the estate file is the import error of this file, so that Airflow's UI shows it."""

from mqops_airflow.dag_files import estate_errors

globals().update(estate_errors.dags())
