"""Has no DAG. What is wrong with the estate file is the import error of this file, so that Airflow's UI shows it."""

from __future__ import annotations

from airflow.sdk import DAG

from mqops.errors import SettingsError
from mqops_airflow.runs.workplace import estate_file


def dags() -> dict[str, DAG]:
    """None.

    Raises:
        SettingsError: the estate file has errors; with every one of them.
    """
    if problems := estate_file().problems:
        raise SettingsError(*problems)
    return {}
