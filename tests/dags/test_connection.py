"""Connection type `mq`: its form, its Test button, and every way in which a connection can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest

from mqops.errors import SettingsError
from mqops_airflow.connections.hook import MqHook, connection_name
from mqops_airflow.provider import get_provider_info


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Callable[..., MqHook]:
    """Makes an Airflow connection `mq_test` and its hook."""

    def make(conn_type: str = "mq", **fields: Any) -> MqHook:
        monkeypatch.setenv("AIRFLOW_CONN_MQ_TEST", json.dumps({"conn_type": conn_type, **fields}))
        return MqHook("mq_test")

    return make


def test_provider_info_is_what_airflow_expects() -> None:
    from airflow.providers_manager import _create_provider_info_schema_validator  # noqa: PLC0415

    _create_provider_info_schema_validator().validate(get_provider_info())


def test_the_entry_point_leads_to_it() -> None:
    (found,) = [point for point in entry_points(group="apache_airflow_provider") if point.dist.name == "mqops"]
    assert found.load() is get_provider_info


def test_the_form_has_a_field_for_every_setting() -> None:
    from mqops_airflow.connections.hook import FIELDS  # noqa: PLC0415

    (described,) = get_provider_info()["connection-types"]
    assert set(described["conn-fields"]) == FIELDS
    assert (described["connection-type"], described["hook-class-name"]) == (
        "mq",
        "mqops_airflow.connections.hook.MqHook",
    )
    assert {"schema", "extra"} == set(described["ui-field-behaviour"]["hidden-fields"])


def test_airflow_offers_the_type_with_a_test_button() -> None:
    from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime  # noqa: PLC0415

    hook = ProvidersManagerTaskRuntime().hooks["mq"]
    assert (hook.hook_name, hook.connection_testable) == ("IBM MQ", True)


def test_a_client_connection(connection: Callable[..., MqHook]) -> None:
    hook = connection(
        host="mq.example.com",
        port=1415,
        login="app",
        password="pass-word",
        extra={
            "queue_manager": "QM1",
            "channel": "MQOPS.SVRCONN",
            "tls_cipher": "ANY_TLS12",
            "tls_key_repository": "/k",
        },
    )
    found = hook.get_conn()
    assert (found.queue_manager, found.channel, found.conn_name) == ("QM1", "MQOPS.SVRCONN", "mq.example.com(1415)")
    assert (found.user, found.password) == ("app", "pass-word")
    assert (found.tls_cipher, found.tls_key_repository, dict(found.environment)) == ("ANY_TLS12", "/k", {})
    assert "pass-word" not in repr(found)


def test_a_connection_of_airflow_s_own_provider_for_ibm_mq_is_taken(connection: Callable[..., MqHook]) -> None:
    """Its fields as that provider's form has them."""
    extra = {"queue_manager": "QM1", "channel": "DEV.APP.SVRCONN", "open_options": "MQOO_INPUT_SHARED"}
    fields = {"host": "mq.example.com", "port": 1414, "login": "app", "password": "pass-word", "extra": extra}
    found = connection("ibmmq", **fields).get_conn()
    assert found == connection("mq", **fields).get_conn()
    assert (found.queue_manager, found.channel, found.conn_name) == ("QM1", "DEV.APP.SVRCONN", "mq.example.com(1414)")
    assert (found.user, found.password) == ("app", "pass-word")


def test_an_embedded_connection(connection: Callable[..., MqHook]) -> None:
    found = connection(extra={"queue_manager": "QM1", "home": "/somewhere"}).get_conn()
    assert (found.channel, found.conn_name, dict(found.environment)) == ("", "", {"MQLITE_HOME": "/somewhere"})


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [("h", None, "h(1414)"), ("h", 1500, "h(1500)"), ("a(1),b(2)", None, "a(1),b(2)"), ("", None, ""), (None, 7, "")],
)
def test_connection_name(host: str | None, port: int | None, expected: str) -> None:
    assert connection_name(host, port) == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"conn_type": "http", "host": "h"}, "is of type 'http', not 'mq' or 'ibmmq'"),
        ({"extra": {}}, "names no queue manager"),
        ({"host": "h", "extra": {"queue_manager": "QM1"}}, "has a host but no channel"),
        (
            {"host": "h", "extra": {"queue_manager": "QM1", "channel": "C", "home": "/x"}},
            "has both a host and an embedded home; keep one of them",
        ),
        ({"extra": {"queue_manager": "QM1", "colour": "red", "age": 1}}, "has unknown extra fields: age, colour"),
    ],
)
def test_errors_of_a_connection(connection: Callable[..., MqHook], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        connection(**fields).get_conn()
    assert message in str(caught.value)
    assert connection(**fields).test_connection() == (False, str(caught.value))


def test_a_connection_that_is_not_there(airflow_database: object) -> None:
    with pytest.raises(
        SettingsError, match=r"there is no Airflow connection 'nowhere': make one of type 'mq'.*NOWHERE"
    ):
        MqHook("nowhere").get_conn()


def test_the_button_says_who_answers(connection: Callable[..., MqHook], queue_manager: Any) -> None:
    manager = queue_manager()
    manager.put("SYSTEM.DEAD.LETTER.QUEUE", [({}, b"one"), ({}, b"two")])
    hook = connection(extra={"queue_manager": "QM1", "home": str(manager.home)})
    assert hook.test_connection() == (
        True,
        "QM1 answers; dead-letter queue SYSTEM.DEAD.LETTER.QUEUE, 2 messages",
    )


def test_the_button_tells_of_a_missing_dead_letter_queue(connection: Callable[..., MqHook], queue_manager: Any) -> None:
    manager = queue_manager(mqsc="ALTER QMGR DEADQ(' ')\n")
    hook = connection(extra={"queue_manager": "QM1", "home": str(manager.home)})
    ok, text = hook.test_connection()
    assert ok
    assert text.startswith("QM1 answers; but QM1 has no dead-letter queue")


def test_the_button_tells_why_nobody_answers(connection: Callable[..., MqHook], queue_manager: Any) -> None:
    manager = queue_manager()
    hook = connection(extra={"queue_manager": "QM9", "home": str(manager.home)})
    ok, text = hook.test_connection()
    assert not ok
    assert "MQCONNX on QM9 failed: MQRC_Q_MGR_NAME_ERROR (2058)" in text


def test_the_button_tells_of_a_wrong_password(connection: Callable[..., MqHook], queue_manager: Any) -> None:
    manager = queue_manager()
    manager.mqlite("user", "add", "QM1", "app", text="right-password\n")
    manager.mqsc("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKLOCL(REQUIRED)\n")
    manager.mqsc("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ)\n")
    manager.mqsc("SET AUTHREC PROFILE(SYSTEM.DEAD.LETTER.QUEUE) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(INQ)\n")
    extra = {"queue_manager": "QM1", "home": str(manager.home)}
    ok, text = connection(login="app", password="wrong-password", extra=extra).test_connection()
    assert not ok
    assert "MQRC_NOT_AUTHORIZED (2035)" in text
    assert "wrong-password" not in text
    assert connection(login="app", password="right-password", extra=extra).test_connection()[0]
