"""Which environment variables a submitted job gets."""

from __future__ import annotations

import pytest

from mqops_airflow.spark.job_environment import job_environment


@pytest.mark.parametrize(
    ("name", "also", "mq", "passed"),
    [
        ("PATH", (), False, True),
        ("LC_ALL", (), False, True),
        ("SPARK_LOCAL_IP", (), False, True),
        ("KUBERNETES_SERVICE_HOST", (), False, True),
        ("PATHOLOGY", (), True, False),  # a name is not a beginning
        ("HTTPS_PROXY", (), True, False),  # may hold a password
        ("HTTPS_PROXY", ("HTTPS_PROXY",), False, True),
        ("AWS_REGION", ("AWS_*",), False, True),
        ("AWS_SECRET_ACCESS_KEY", ("AWS_*",), False, False),  # a secret must be named in full
        ("AWS_SECRET_ACCESS_KEY", ("AWS_*", "AWS_SECRET_ACCESS_KEY"), False, True),
        ("SPARK_CONNECT_AUTHENTICATE_TOKEN", (), True, False),
        ("MQSSLKEYR", (), True, True),
        ("MQSSLKEYR", (), False, False),
        ("MQLITE_HOME", (), True, True),
        ("MQOPS_CONNECTION", (), True, False),  # the operator gives the one of its task
        ("AIRFLOW_CONN_MQ_QM1", ("A*", "AIRFLOW_CONN_MQ_QM1"), True, False),
        ("_AIRFLOW_PROCESS_CONTEXT", ("_*",), True, False),
    ],
)
def test_what_is_passed_on(name: str, also: tuple[str, ...], mq: bool, passed: bool) -> None:
    assert (name in job_environment({name: "value"}, also=also, mq=mq)) is passed
