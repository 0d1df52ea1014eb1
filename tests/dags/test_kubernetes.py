"""include/kubernetes as far as it can be checked without a cluster: the files, the code and the page agree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any

import jsonschema
import pytest
import yaml
from airflow.sdk import Connection

from mqops.spark_private import EVERYWHERE, ON_ONE_MACHINE, settings
from mqops_airflow.spark.connect import server_of
from mqops_airflow.spark.spark_submit import submission

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "include" / "kubernetes"
PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
VALUES: dict[str, Any] = yaml.safe_load((FOLDER / "values.yaml").read_text())
OBJECTS = {
    f"{one['kind']}/{one['metadata'].get('name', path.stem)}": one
    for path in sorted(FOLDER.glob("*.yaml"))
    for one in yaml.safe_load_all(path.read_text())
    if "kind" in one
}
SERVER = OBJECTS["Deployment/mqops-spark-connect"]["spec"]["template"]["spec"]
PROPERTIES = dict(
    line.split(None, 1)
    for line in (FOLDER / "spark.properties").read_text().splitlines()
    if line and not line.startswith("#")
)


def closed(**keys: Any) -> dict[str, Any]:
    """An object with these keys at most."""
    return {"type": "object", "properties": keys, "additionalProperties": False}


def listed(**keys: Any) -> dict[str, Any]:
    return {"type": "array", "items": closed(**keys), "minItems": 1}


TEXT, TRUE, ANY = {"type": "string", "minLength": 1}, {"const": True}, {"type": "object"}
PATH = {"type": "string", "pattern": "^/"}
NAME_IN_CHART = {"type": "string", "pattern": "^[a-z0-9-]+$"}
CHART = closed(
    airflowVersion=TEXT,
    executor={"enum": ["KubernetesExecutor"]},
    images=closed(airflow=closed(repository=TEXT, tag=TEXT)),
    securityContexts=closed(pod=ANY),
    volumes=listed(name=NAME_IN_CHART, persistentVolumeClaim=closed(claimName=TEXT), configMap=ANY),
    volumeMounts=listed(
        name=NAME_IN_CHART, mountPath={"type": "string", "pattern": "^/"}, readOnly={"type": "boolean"}
    ),
    env=listed(name=TEXT, value=TEXT),
    extraEnv=TEXT,
    extraEnvFrom=TEXT,
    workers=closed(resources=closed(requests=ANY, limits=ANY)),
    dagProcessor=closed(enabled=TRUE),
    triggerer=closed(enabled=TRUE),
)
"""The keys that we set, with the types that values.schema.json of the chart (420 kB) gives them."""


def test_the_values_have_keys_of_the_chart() -> None:
    jsonschema.validate(VALUES, CHART)
    assert [one["name"] for one in yaml.safe_load(VALUES["extraEnv"])] == ["SPARK_LOCAL_HOSTNAME"]
    assert yaml.safe_load(VALUES["extraEnvFrom"]) == [{"secretRef": {"name": "mqops-connections"}}]
    assert {one["name"] for one in VALUES["volumes"]} == {one["name"] for one in VALUES["volumeMounts"]}


def scalars(value: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from scalars(inside, *path, str(key))
    elif isinstance(value, list):
        for inside in value:
            yield from scalars(inside, *path)
    else:
        yield path, value


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_no_secret_stands_in_a_file(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"(?i)AIRFLOW_CONN_\w+ *: |password *[:=]|://[^/ ]+:[^@/ ]+@", text)
    if path.suffix == ".yaml":
        for one in yaml.safe_load_all(text):
            assert one.get("kind") != "Secret"
    assert "spark.authenticate.secret" not in text


def test_all_pods_are_of_one_user_and_of_a_group_that_no_account_of_an_image_has() -> None:
    contexts = [
        VALUES["securityContexts"]["pod"],
        OBJECTS["Pod/executor-pod"]["spec"]["securityContext"],
        SERVER["securityContext"],
    ]
    assert contexts == [contexts[0]] * 3
    assert contexts[0]["fsGroup"] > 50_000
    assert "`fsGroup` with mode 2775" in PAGE
    assert f"({contexts[0]['runAsUser']} above)" in PAGE
    assert f"{contexts[0]['fsGroup']} above has no account" in PAGE


def test_all_pods_see_one_lake_at_one_path() -> None:
    claim = OBJECTS["PersistentVolumeClaim/mqops-lake"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    env = {one["name"]: one["value"] for one in VALUES["env"]}
    mounts = {one["name"]: one for one in VALUES["volumeMounts"]}
    claims = {one["name"]: one.get("persistentVolumeClaim", {}).get("claimName") for one in VALUES["volumes"]}
    volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.lake"
    (spark,) = (one for one in SERVER["containers"] if one["name"] == "spark")
    at = {one["name"]: one["mountPath"] for one in spark["volumeMounts"]}["lake"]
    variables = {one["name"]: one.get("value") for one in spark["env"]}
    places = [
        (claims["mqops-lake"], mounts["mqops-lake"]["mountPath"]),
        (PROPERTIES[f"{volume}.options.claimName"], PROPERTIES[f"{volume}.mount.path"]),
        (SERVER["volumes"][0]["persistentVolumeClaim"]["claimName"], at),
    ]
    assert places == [(claim["metadata"]["name"], env["MQOPS_LAKE"])] * 3
    assert variables["MQOPS_LAKE"] == env["MQOPS_LAKE"]
    assert PROPERTIES[f"{volume}.mount.readOnly"] == "false"
    assert not mounts["mqops-lake"].get("readOnly")
    for path in (env["SPARK_LOCAL_DIRS"], variables["SPARK_LOCAL_DIRS"]):
        assert not Path(path).is_relative_to(env["MQOPS_LAKE"])
    estate = Path(env["MQOPS_ESTATE"])
    assert str(estate.parent) == mounts["mqops-estate"]["mountPath"]
    (files,) = (one["configMap"]["items"] for one in VALUES["volumes"] if one["name"] == "mqops-estate")
    assert {one["key"]: one["path"] for one in files} == {
        "estate.yaml": estate.name,
        "dead_letters.rules": "rules/dead_letters.rules",
    }
    assert {one["key"] for one in files} == set(re.findall(r"--from-file=(\S+?\.\w+)", PAGE))


def test_one_image_for_all() -> None:
    image = "{repository}:{tag}".format(**VALUES["images"]["airflow"])
    (spark,) = (one["image"] for one in SERVER["containers"] if one["name"] == "spark")
    assert [spark, PROPERTIES["spark.kubernetes.container.image"]] == [image, image]


def test_spark_has_the_settings_without_which_the_manual_forbids_a_cluster() -> None:
    manual = (ROOT / "docs" / "spark_security.md").read_text()
    block = manual[manual.index("```properties") :].split("```")[1]
    wanted = dict(re.findall(r"^(spark\.\S+)\s+([^\s(]+)$", block, re.MULTILINE))
    assert "spark.authenticate" in wanted
    of_standalone = {"spark.master.rest.enabled"}
    assert {key: PROPERTIES.get(key) for key in wanted if key not in of_standalone} == {
        key: value for key, value in wanted.items() if key not in of_standalone
    }
    assert settings("k8s://https://kubernetes.default.svc:443") == EVERYWHERE  # the task adds them
    template = Path(PROPERTIES["spark.kubernetes.executor.podTemplateFile"])
    (spark,) = (one["mountPath"] for one in VALUES["volumeMounts"] if one["name"] == "mqops-spark")
    assert (str(template.parent), template.name) == (spark, "executor-pod.yaml")


def test_an_executor_starts_in_an_image_without_the_entry_point_of_spark(tmp_path: Path) -> None:
    """Spark names no command, and one argument, "executor"; it puts that behind what the template has."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\numask\nprintf "%s\\n" "$@"\n')
    java.chmod(0o700)
    given = {
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.1.2.3:7078",
        "SPARK_EXECUTOR_ID": "7",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_EXECUTOR_MEMORY": "2048m",
        "SPARK_APPLICATION_ID": "spark-1",
        "SPARK_EXECUTOR_POD_IP": "10.1.2.4",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "observe-exec-7",
        "SPARK_CONF_DIR": "/opt/spark/conf",
        **{f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number}" for number in (10, 9, 0)},
    }
    (container,) = OBJECTS["Pod/executor-pod"]["spec"]["containers"]
    assert container["command"][0] == "python"
    words = [sys.executable, *container["command"][1:], *container["args"], "executor"]
    ended = subprocess.run(
        words, env={"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path), **given}, capture_output=True, text=True
    )
    assert ended.stderr == ""
    (spark,) = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    backend = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    assert ended.stdout.split("\n")[:-1] == [
        *("0077", "-Dnumber=0", "-Dnumber=9", "-Dnumber=10", "-Xms2048m", "-Xmx2048m"),
        *("-cp", f"/opt/spark/conf:{spark}/jars/*", backend),
        *("--driver-url", "spark://CoarseGrainedScheduler@10.1.2.3:7078", "--executor-id", "7", "--cores", "2"),
        *("--app-id", "spark-1", "--hostname", "10.1.2.4", "--resourceProfileId", "0", "--podName", "observe-exec-7"),
    ]
    (jar,) = Path(spark, "jars").glob("spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as classes:
        names = classes.namelist()
        constants = classes.read("org/apache/spark/deploy/k8s/Constants$.class")
    assert f"{backend.replace('.', '/')}.class" in names
    assert [name for name in given if re.sub(r"\d+$", "", name).encode() not in constants] == []


def test_the_connect_server_listens_in_its_pod_only_and_is_private() -> None:
    (spark,) = (one for one in SERVER["containers"] if one["name"] == "spark")
    given = dict(re.findall(r"--conf (\S+?)=(\S+)", spark["args"][0]))
    private = EVERYWHERE | ON_ONE_MACHINE
    assert {key: given.get(key) for key in private} == private
    assert spark["args"][0].startswith("umask 077 && exec spark-submit --class")
    assert given["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert "ports" not in spark
    nginx = OBJECTS["ConfigMap/mqops-spark-connect-nginx"]["data"]["nginx.conf"]
    assert f"grpc_pass grpc://127.0.0.1:{given['spark.connect.grpc.binding.port']};" in nginx
    (port,) = OBJECTS["Service/mqops-spark-connect"]["spec"]["ports"]
    assert f"listen {port['port']} ssl;" in nginx


def test_the_connections_of_the_page_are_taken() -> None:
    uris = re.findall(r"`(spark\S*://\S+?)`", PAGE)
    local, cluster, connect = (Connection.from_uri(uri, conn_id="spark_default") for uri in uris)
    assert submission("spark_default", local).master == "local[*]"
    asked = submission("spark_default", cluster)
    assert asked.master == "k8s://https://kubernetes.default.svc:443"
    assert asked.namespace == PROPERTIES["spark.kubernetes.namespace"]
    server = server_of("spark_default", connect)
    assert (server.host, server.port, server.tls) == ("mqops-spark-connect", 15002, True)


def test_the_dag_file_of_the_page_makes_the_dags_of_an_estate_that_is_mounted_elsewhere(
    estate_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert os.environ["MQOPS_ESTATE"] == str(estate_folder / "estate.yaml")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    place: dict[str, Any] = {"__name__": "mq", "__file__": str(tmp_path_factory.mktemp("dags") / "mq.py")}
    exec(compile(dedent(code), place["__file__"], "exec"), place)
    assert "qm1_dlq_rules" in place


def test_network_policies_are_about_pods_that_there_are() -> None:
    labels = [
        OBJECTS["Deployment/mqops-spark-connect"]["spec"]["template"]["metadata"]["labels"],
        OBJECTS["Pod/executor-pod"]["metadata"]["labels"],
        {"tier": "airflow", "component": "worker"},  # of the chart's pod template
    ]
    policies = [one["spec"] for name, one in OBJECTS.items() if name.startswith("NetworkPolicy/")]
    chosen = [one["podSelector"]["matchLabels"] for one in policies if "matchLabels" in one["podSelector"]]
    sources = [
        of["podSelector"]["matchLabels"] for one in policies for rule in one.get("ingress", ()) for of in rule["from"]
    ]
    assert len(chosen) == 2
    assert all(one in labels for one in (*chosen, *sources))


def test_a_pod_that_reaches_no_queue_manager_reaches_the_pods_of_the_cluster() -> None:
    """Kubernetes: an ipBlock is for addresses outside of the cluster; DNS and the database may be pods."""
    (rule,) = OBJECTS["NetworkPolicy/mqops-no-queue-manager"]["spec"]["egress"]
    assert {"namespaceSelector": {}} in rule["to"]
    assert "ports" not in rule
