"""Which environment variables a submitted Spark job gets: those on a list, and those that the estate adds.

Airflow's own environment holds secrets of other systems: the key of its tokens, its database's address and password,
every connection in AIRFLOW_CONN_*. A job needs none of them, and its environment can be read by its Python code, by
libraries, and in /proc by every process of the same user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

EVERY_JOB = (
    *("HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "TZ", "USER"),
    *("JAVA_HOME", "LD_LIBRARY_PATH", "PYTHON*", "VIRTUAL_ENV"),
    *("PYSPARK_*", "SPARK_*"),
    *("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME", "YARN_CONF_DIR", "KRB5CCNAME", "KRB5_CONFIG"),
    *("KUBECONFIG", "KUBERNETES_SERVICE_*"),
)
"""A name, or its beginning and `*`."""
WITH_QUEUE_MANAGER = ("AMQ_*", "GMQ_*", "MQ*")
"""What the IBM MQ client and the embedded queue manager read (MQCHLLIB, MQSSLKEYR, MQ_FILE_PATH, MQLITE_HOME ...)."""
SECRET = re.compile(r"(?i)secret|password|token|access.?key")
"""What Spark takes for a secret (spark.redaction.regex): not passed on unless the estate names it in full."""
OURS = re.compile(r"AIRFLOW|_AIRFLOW|MQOPS_")


def job_environment(environment: Mapping[str, str], *, also: Iterable[str], mq: bool) -> dict[str, str]:
    """The variables of `environment` that a job gets. Airflow's own are never among them.

    Parameters: `also` further names, or beginnings and `*`; `mq` whether the job talks to a queue manager.
    """
    named = set(also)
    patterns = (*EVERY_JOB, *(WITH_QUEUE_MANAGER if mq else ()), *named)
    return {
        name: value
        for name, value in environment.items()
        if not OURS.match(name)
        and any(_fits(name, pattern) for pattern in patterns)
        and (name in named or not SECRET.search(name))
    }


def _fits(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
