"""Spark for tests that start jobs as processes of their own: small, local, and quick to start."""

from __future__ import annotations

import sys

from mqops_demo.spark_archive import driver_options

SETTINGS = {
    "spark.driver.extraJavaOptions": driver_options(),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}
_GIVEN = " ".join(f"--conf '{name}={value}'" for name, value in SETTINGS.items())

ENVIRONMENT = {
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": f"--master local[2] {_GIVEN} pyspark-shell",
}
"""What `python spark_jobs/....py` needs besides this process's environment."""
