"""include/kubernetes as far as it can be checked without a cluster: the files, the code and the page agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from copy import deepcopy
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


WHOLE = [Path(path) for path in (os.environ.get("MQOPS_CHART_SCHEMA"),) if path]
"""A values.schema.json as the chart has it: 0.8 MB of another project, so it is not here."""
CHARTS = [
    {"$comment": f"{path}:"} | json.loads(path.read_text())
    for path in (*sorted((ROOT / "tests" / "data" / "airflow_chart").glob("*.json")), *WHOLE)
]
"""What values.schema.json of the oldest and the newest chart says of the keys that we set, and of Kubernetes' types."""


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, but that a key which it does not name is refused at each level: Helm takes some in silence."""
    keys = schema.get("properties")
    if not keys:
        return schema
    return {"additionalProperties": False, **schema, "properties": {name: closed(one) for name, one in keys.items()}}


def of_kubernetes(name: str, chart: dict[str, Any]) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator({"$ref": f"#/definitions/io.k8s.api.{name}", "definitions": chart["definitions"]})


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart["$comment"].split(":")[0].split()[-1])
class TestTheChart:
    def test_takes_the_values(self, chart: dict[str, Any]) -> None:
        jsonschema.Draft7Validator.check_schema(chart)
        jsonschema.Draft7Validator(closed(chart)).validate(VALUES)

    @pytest.mark.parametrize(
        ("path", "value", "told"),
        [
            (["triggerer", "enabled"], "yes", "not of type 'boolean'"),
            (["volume"], [], "unexpected"),
            (["executor"], "kubernetes", "does not match"),
            (["airflowVersion"], 3.3, "not of type 'string'"),
            (["securityContexts", "pod", "fsGroup"], "50500", "not of type"),
            (["securityContexts", "pod", "fsgroup"], 50500, "unexpected"),
            (["volumes", 0, "persistentVolumeClaim", "claimname"], "mqops-lake", "unexpected"),
            (["volumeMounts", 0, "readonly"], True, "unexpected"),
            (["workers", "kubernetes", "resource"], {}, "unexpected"),
            (["images", "airflow", "version"], "0.2.0", "unexpected"),
        ],
    )
    def test_refuses_a_wrong_type_and_a_misspelt_key(
        self, chart: dict[str, Any], path: list[Any], value: object, told: str
    ) -> None:
        values = deepcopy(VALUES)
        place = values
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(jsonschema.ValidationError, match=told):
            jsonschema.Draft7Validator(closed(chart)).validate(values)

    def test_types_of_kubernetes_take_the_objects(self, chart: dict[str, Any]) -> None:
        executor = OBJECTS["Pod/executor-pod"]["spec"]
        for pod in (SERVER, executor):
            of_kubernetes("core.v1.PodSecurityContext", chart).validate(pod["securityContext"])
            for container in pod["containers"]:
                of_kubernetes("core.v1.Container", chart).validate(container)
        for volume in SERVER["volumes"]:
            of_kubernetes("core.v1.Volume", chart).validate(volume)
        of_kubernetes("core.v1.PersistentVolumeClaimSpec", chart).validate(
            OBJECTS["PersistentVolumeClaim/mqops-lake"]["spec"]
        )
        for name, policy in OBJECTS.items():
            if name.startswith("NetworkPolicy/"):
                rules = [*policy["spec"].get("ingress", ()), *policy["spec"].get("egress", ())]
                for peer in (one for rule in rules for side in ("from", "to") for one in rule.get(side, ())):
                    of_kubernetes("networking.v1.NetworkPolicyPeer", chart).validate(peer)
                for port in (one for rule in rules for one in rule.get("ports", ())):
                    of_kubernetes("networking.v1.NetworkPolicyPort", chart).validate(port)


def test_texts_in_the_values_are_lists_of_kubernetes() -> None:
    assert [one["name"] for one in yaml.safe_load(VALUES["extraEnv"])] == ["SPARK_LOCAL_HOSTNAME"]
    assert yaml.safe_load(VALUES["extraEnvFrom"]) == [{"secretRef": {"name": "mqops-connections"}}]
    assert {one["name"] for one in VALUES["volumes"]} == {one["name"] for one in VALUES["volumeMounts"]}
    assert VALUES["executor"] == "KubernetesExecutor"


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
