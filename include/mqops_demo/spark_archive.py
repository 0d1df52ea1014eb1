"""Quick starts for small Spark jobs on one machine: an archive of the JVM's classes, and the options that use it.

`make run`, `make up` and `make test` make the archive once (build/spark.jsa, 190 MB, about a minute on 2 cores);
without it, or where the Java has changed since, jobs run all the same and only start more slowly.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mqops.spark_private import SHORT_JOBS, first_jars, settings, short_job_options
from mqops_demo.estate import ROOT

ARCHIVE = ROOT / "build" / "spark.jsa"
MASTER = "local[2]"
JOB = Path(__file__).with_name("spark_warm_up.py")


def driver_settings(archive: Path = ARCHIVE) -> dict[str, str]:
    """The settings of Spark by which the driver's Java uses the archive."""
    return {
        "spark.driver.extraClassPath": first_jars(os.environ),
        "spark.driver.extraJavaOptions": short_job_options(archive),
    }


def write_properties(path: Path) -> None:
    """Write a Spark properties file with these options (MQOPS_SPARK_PROPERTIES names it to the operators)."""
    path.write_text("".join(f"{name} {value}\n" for name, value in driver_settings().items()))


def make(archive: Path = ARCHIVE) -> bool:
    """Make the archive by a job that uses what mqops' jobs use; returns whether this Java could."""
    draft = archive.with_suffix(".new")
    draft.unlink(missing_ok=True)
    archive.parent.mkdir(parents=True, exist_ok=True)
    command = ["spark-submit", "--master", MASTER]
    for name, value in {**settings(MASTER), "spark.driver.extraClassPath": first_jars(os.environ)}.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--driver-java-options", f"{SHORT_JOBS} -XX:ArchiveClassesAtExit={draft}", str(JOB)]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{JOB.name} failed, so the archive has too few classes:\n{done.stderr[-2000:]}", file=sys.stderr)
    if not draft.exists():
        return False
    draft.replace(archive)
    return True


if __name__ == "__main__":
    print(f"{ARCHIVE}: being made, once, so that Spark jobs start faster; it takes about a minute", flush=True)
    print(f"{ARCHIVE}: made" if make() else "this Java makes no class archive; Spark jobs start more slowly")
