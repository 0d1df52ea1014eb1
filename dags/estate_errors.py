"""Has no DAG. What is wrong with the estate file is the import error of this file, so that Airflow's UI shows it."""

from __future__ import annotations

from mqops.errors import SettingsError
from mqops_airflow.runs.workplace import estate_file

if PROBLEMS := estate_file().problems:
    raise SettingsError(*PROBLEMS)
