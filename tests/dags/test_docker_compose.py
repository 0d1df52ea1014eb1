"""docker-compose.yml as far as it can be checked without a Docker engine: structure, references, files, commands."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from airflow.configuration import retrieve_configuration_description
from airflow.sdk import Connection

from mqops.spark_private import EVERYWHERE
from mqops_airflow.connections.hook import connection_settings
from mqops_airflow.spark.connect import server_of
from mqops_demo import airflow_home

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MADE = "var/docker/"  # what make_secrets.py makes; checked apart
DOCKERFILE = (ROOT / "include" / "docker" / "Dockerfile").read_text()

TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}
SERVICE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["image"],
    "properties": {
        "image": TEXT,
        "build": {
            "type": "object",
            "additionalProperties": False,
            "required": ["context", "dockerfile"],
            "properties": {
                **{"context": TEXT, "dockerfile": TEXT},
                "args": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
        "network_mode": {"type": "string", "pattern": "^service:[a-z-]+$"},
        "hostname": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
        "env_file": TEXTS,
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
        "command": TEXTS,
        "ports": {"type": "array", "items": {"type": "string", "pattern": r"^127\.0\.0\.1:\d+:\d+$"}},
        "volumes": {"type": "array", "items": {"type": "string", "pattern": r"^[^:]+:/[^:]+(:ro)?$"}},
        "secrets": {"type": "array"},
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["condition"],
                "properties": {
                    "condition": {"enum": ["service_started", "service_healthy", "service_completed_successfully"]},
                    "restart": {"type": "boolean"},
                },
            },
        },
        "healthcheck": {
            "type": "object",
            "additionalProperties": False,
            "required": ["test"],
            "properties": {
                "test": {**TEXTS, "prefixItems": [{"const": "CMD"}]},
                "interval": {"type": "string", "pattern": r"^\d+s$"},
                "start_period": {"type": "string", "pattern": r"^\d+s$"},
                "retries": {"type": "integer", "minimum": 1},
            },
        },
    },
}
WHOLE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["services"],
    "patternProperties": {"^x-": {}},
    "properties": {
        "services": {"type": "object", "additionalProperties": SERVICE},
        "volumes": {"type": "object", "additionalProperties": {"type": "null"}},
        "secrets": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file"],
                "properties": {"file": TEXT},
            },
        },
    },
}


def test_structure() -> None:
    jsonschema.Draft202012Validator(WHOLE).validate(COMPOSE)


def test_the_asked_for_services_are_there() -> None:
    airflow = {"airflow-init", "api-server", "scheduler", "dag-processor", "triggerer"}
    assert airflow | {
        *("postgresql", "spark-master", "spark-connect", "spark-worker-1", "spark-worker-2", "mq", "mq-trust")
    } == set(SERVICES)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_references_resolve(name: str) -> None:
    service = SERVICES[name]
    for other, wanted in service.get("depends_on", {}).items():
        assert other in SERVICES
        if wanted["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other], other
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        assert (ROOT / source).exists() if source.startswith("./") else source in COMPOSE["volumes"], source
    for secret in service.get("secrets", []):
        assert (secret if isinstance(secret, str) else secret["source"]) in COMPOSE["secrets"]
    if "build" in service:
        assert (ROOT / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_every_volume_and_secret_is_used() -> None:
    volumes = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert {volume for volume in volumes if not volume.startswith("./")} == set(COMPOSE["volumes"])
    used = {
        s if isinstance(s, str) else s["source"] for service in SERVICES.values() for s in service.get("secrets", [])
    }
    assert used == set(COMPOSE["secrets"])


def command(name: str) -> list[str]:
    """What a service runs for good: where that is a shell, the last command that it starts."""
    words: list[str] = SERVICES[name]["command"]
    return shlex.split(words[2].rpartition("&& exec ")[2]) if words[:2] == ["sh", "-c"] else words


def test_commands_exist_in_the_locked_packages() -> None:
    commands = {name: command(name) for name, service in SERVICES.items() if "command" in service}
    for name, (program, *_arguments) in commands.items():
        assert shutil.which(program, path=str(Path(sys.executable).parent)), name
    given = [arguments for program, *arguments in commands.values() if program == "airflow"]
    assert len(given) > 1
    from airflow.cli.cli_parser import get_parser  # noqa: PLC0415

    for arguments in given:
        get_parser().parse_args(arguments)  # exits where Airflow has no such command or option


def test_the_mqsc_mounted_into_mq_is_the_demonstrations() -> None:
    mounted = [volume.split(":")[0] for volume in SERVICES["mq"]["volumes"] if volume.endswith(".mqsc:ro")]
    own = [f"./include/docker/qm1_{name}.mqsc" for name in ("access", "tls")]
    assert mounted == ["./include/mqsc/QM1.mqsc", *own]
    provisioned = (ROOT / mounted[0]).read_text()
    (channel,) = set(re.findall(r"CHLAUTH\(([A-Z.]+)\)", (ROOT / mounted[1]).read_text()))
    assert f"DEFINE CHANNEL({channel}) CHLTYPE(SVRCONN)" in provisioned


def test_mounts_lie_where_the_image_looks() -> None:
    targets = {v.split(":")[1] for v in SERVICES["scheduler"]["volumes"]}
    environment = SERVICES["scheduler"]["environment"]
    assert {environment["AIRFLOW__CORE__DAGS_FOLDER"], environment["AIRFLOW__CORE__PLUGINS_FOLDER"]} <= targets
    assert environment["MQOPS_LAKE"] in targets
    assert all(path in DOCKERFILE for path in ("/opt/mqops/include", "/opt/mqops/plugins", "/opt/airflow/logs"))
    spark = {v.split(":")[1] for v in SERVICES["spark-worker-1"]["volumes"]}
    assert {environment["MQOPS_LAKE"], "/opt/mqops/include"} <= spark


def mounted(name: str) -> dict[str, str]:
    """Folder in the container → the volume that is mounted there to be written to."""
    volumes = (volume.split(":") for volume in SERVICES[name].get("volumes", []))
    return {parts[1]: parts[0] for parts in volumes if len(parts) == 2}


def folders_made() -> set[str]:
    """The folders that the image makes for the user it runs as, whom volumes take over with them."""
    (line,) = re.findall(r"&& install -d -o mqops -g mqops -m 0700 (.*)", DOCKERFILE.replace("\\\n", ""))
    return {str(Path("/opt/mqops") / folder) for folder in line.split()}


def test_airflow_can_write_its_passwords_file() -> None:
    """SimpleAuthManager opens it with "a+" and "r+": a file of its own user in a volume, never the secret itself."""
    path = Path(SERVICES["api-server"]["environment"]["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"])
    folder = str(path.parent)
    assert not path.is_relative_to("/run/secrets")
    assert mounted("api-server")[folder] == mounted("airflow-init")[folder]
    assert folder in folders_made()
    copy = SERVICES["airflow-init"]["command"][2].split(" && ")[0]
    assert shlex.split(copy) == ["install", "-m", "600", "/run/secrets/airflow_passwords", str(path)]
    assert SERVICES["airflow-init"]["secrets"] == ["airflow_passwords"]
    assert SERVICES["api-server"]["depends_on"]["airflow-init"]["condition"] == "service_completed_successfully"
    assert not [name for name in ("scheduler", "dag-processor", "triggerer") if folder in mounted(name)]


def test_connections_are_tested_only_where_somebody_asks_for_it() -> None:
    for name in ("api-server", "scheduler"):
        setting = SERVICES[name]["environment"]["AIRFLOW__CORE__TEST_CONNECTION"]
        assert setting == "${MQOPS_TEST_CONNECTION:-Disabled}"


def test_the_copy_of_the_passwords_is_made_anew_and_airflow_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The composed command on folders of this machine, twice as after a second `docker compose up`."""
    secret, made = tmp_path / "airflow_passwords", tmp_path / "passwords.json"
    secret.write_text('{"admin": "made up"}')
    secret.chmod(0o444)
    path = SERVICES["api-server"]["environment"]["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]
    copy = SERVICES["airflow-init"]["command"][2].split(" && ")[0]
    copy = copy.replace("/run/secrets/airflow_passwords", str(secret)).replace(path, str(made))
    for _ in range(2):
        subprocess.run(["sh", "-c", copy], check=True)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", str(made))
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", "admin:admin")
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager  # noqa: PLC0415

    SimpleAuthManager().init()
    assert SimpleAuthManager.get_passwords() == {"admin": "made up"}


def test_volumes_belong_to_the_user_of_the_image() -> None:
    """A named volume takes over the owner of the folder it is first mounted on; one not made there is root's."""
    for name, service in SERVICES.items():
        if service["image"] == "mqops":
            assert set(mounted(name)) <= folders_made(), name


def test_files_that_the_image_copies_exist() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    assert copied
    for sources in copied:
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in ignore


def steps() -> list[str]:
    """The shell commands of the Dockerfile's RUN instructions."""
    return re.findall(r"^RUN (.*)$", DOCKERFILE.replace("\\\n", ""), re.MULTILINE)


def run_step(word: str, variables: dict[str, str], **places: str) -> subprocess.CompletedProcess[str]:
    """Run the first step that names a word, its paths being places of this machine."""
    step = next(step for step in steps() if word in step)
    for old, new in places.items():
        step = step.replace(PLACES[old], new)
    return subprocess.run(
        ["sh", "-c", step], env={"PATH": os.environ["PATH"]} | variables, capture_output=True, text=True
    )


PLACES = {"archive": "/tmp/mqc.tar.gz", "target": "/opt/mqm"}


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({}, 1),
        ({"MQ_CLIENT_UNCHECKED": "no"}, 1),  # what docker-compose.yml says by default
        ({"MQ_CLIENT_UNCHECKED": "yes"}, 0),
        ({"MQ_CLIENT_SHA256": "1234"}, 0),  # whether it is right, the next step says
    ],
)
def test_an_image_with_an_unchecked_client_is_asked_for_explicitly(variables: dict[str, str], code: int) -> None:
    done = run_step("MQ_CLIENT_UNCHECKED", variables | {"MQ_CLIENT_VERSION": "9.4"})
    assert done.returncode == code
    assert ("Set MQ_CLIENT_SHA256 to the SHA-256 digest of IBM's client 9.4" in done.stderr) is bool(code)


def test_images_of_others_are_named_with_a_digest_or_nothing_starts() -> None:
    asked = {"PYTHON_IMAGE": SERVICES["scheduler"]["build"]["args"]["PYTHON_IMAGE"]}
    asked |= {"POSTGRES_IMAGE": SERVICES["postgresql"]["image"], "MQ_IMAGE": SERVICES["mq"]["image"]}
    assert {service["image"] for service in SERVICES.values()} - set(asked.values()) == {"mqops"}
    text = (ROOT / "docker-compose.yml").read_text()
    for name, value in asked.items():
        assert re.fullmatch(rf"\$\{{{name}:\?[^}}]+ digest[^}}]+\}}", value)
        assert re.search(rf"^#   {name}=[a-z0-9./-]+:[a-z0-9.-]+@sha256:\.\.\.$", text, re.MULTILINE)
    assert re.findall(r"^FROM (.*)$", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"]


def test_the_image_gets_the_locked_packages_and_nothing_else(tmp_path: Path) -> None:
    """With the flags of the Dockerfile, in a folder without pyproject.toml, as there: uv asks for no other package."""
    (line,) = re.findall(r"uv (pip install [^&]*)/tmp/requirements.lock", DOCKERFILE)
    assert "--require-hashes" in line
    here = ["--dry-run", "--offline", "--python", sys.executable]
    command = [str(ROOT / ".tools" / "bin" / "uv"), *line.split(), str(ROOT / "requirements.lock"), *here]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (0, ["Would make no changes"]), done.stderr


def test_each_setting_of_airflow_is_an_option_of_the_installed_one(tmp_path: Path) -> None:
    made_in(tmp_path, "--accept-mq-licence")
    files = [(tmp_path / MADE / file.name).read_text() for file in (tmp_path / MADE).glob("*.env")]
    given = {line.split("=")[0] for text in files for line in text.splitlines()}
    given |= {name for service in SERVICES.values() for name in service.get("environment", {})}
    home = airflow_home.home(tmp_path / "var")
    home.prepare()
    with home.chosen_port():
        given |= home.environment().keys() - os.environ.keys()
    described = retrieve_configuration_description(include_providers=True)
    options = {f"{section}.{name}".lower() for section, found in described.items() for name in found["options"]}
    settings = {
        name for name in given if name.startswith("AIRFLOW_") and not name.startswith(("AIRFLOW_HOME", "AIRFLOW_CONN_"))
    }
    assert len(settings) > 20
    unknown = [name for name in settings if name.removeprefix("AIRFLOW__").replace("__", ".", 1).lower() not in options]
    assert unknown == []


def test_the_digest_and_the_waiver_reach_the_image() -> None:
    arguments = dict(SERVICES["scheduler"]["build"]["args"])
    del arguments["PYTHON_IMAGE"]
    assert arguments == {
        "MQ_CLIENT_SHA256": "${MQ_CLIENT_SHA256:-}",
        "MQ_CLIENT_UNCHECKED": "${MQ_CLIENT_UNCHECKED:-no}",
    }
    assert all(f"ARG {name}=" in DOCKERFILE for name in arguments)


@pytest.mark.parametrize("right", [True, False])
def test_only_the_client_with_the_digest_is_unpacked(tmp_path: Path, right: bool) -> None:
    """With a `curl` that gives an archive of this test's."""
    (tmp_path / "licence").write_text("of the client")
    made, target, programs = tmp_path / "made.tar.gz", tmp_path / "target", tmp_path / "bin"
    subprocess.run(["tar", "-czf", made, "-C", tmp_path, "licence"], check=True)
    programs.mkdir()
    (programs / "curl").write_text(f'#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\ncp "{made}" "$2"\n')
    (programs / "curl").chmod(0o755)
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "MQ_CLIENT_SHA256": hashlib.sha256(made.read_bytes() if right else b"").hexdigest(),
    }
    done = run_step("curl --fail", variables, archive=str(tmp_path / "mqc.tar.gz"), target=str(target))
    assert (done.returncode == 0, (target / "licence").exists()) == (right, right), done.stderr


SPARK = ("spark-master", "spark-worker-1", "spark-worker-2")
SPARK_CONF = "/run/secrets/spark_conf"


def made_spark_conf(folder: Path) -> dict[str, str]:
    """The Spark properties that make_secrets.py makes."""
    made_in(folder, "--accept-mq-licence")
    return dict(line.split() for line in (folder / MADE / "spark.conf").read_text().splitlines())


def test_spark_lets_in_who_knows_the_secret_and_encrypts(tmp_path: Path) -> None:
    made = made_spark_conf(tmp_path / "one")
    assert (made["spark.authenticate"], made["spark.network.crypto.enabled"]) == ("true", "true")
    assert made["spark.network.crypto.saslFallback"] == made["spark.master.rest.enabled"] == "false"
    assert re.fullmatch(r"[0-9a-f]{64}", made["spark.authenticate.secret"])
    assert made_spark_conf(tmp_path / "two")["spark.authenticate.secret"] != made["spark.authenticate.secret"]


def test_the_cluster_and_the_drivers_have_the_secret_and_nobody_else() -> None:
    assert {name for name, service in SERVICES.items() if "spark_conf" in service.get("secrets", ())} == {
        *SPARK,
        "scheduler",
        "spark-connect",
    }
    assert COMPOSE["secrets"]["spark_conf"] == {"file": f"{MADE}spark.conf"}
    assert SERVICES["scheduler"]["environment"]["MQOPS_SPARK_PROPERTIES"] == SPARK_CONF
    for name in (*SPARK, "spark-connect"):
        arguments = command(name)
        assert arguments[arguments.index("--properties-file") + 1] == SPARK_CONF


@pytest.mark.parametrize("name", SPARK)
def test_the_pages_of_spark_are_for_inside_the_container_only(name: str) -> None:
    """The web page listens on SPARK_LOCAL_IP; what master and workers say to each other on --host."""
    assert SERVICES[name]["environment"]["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert "ports" not in SERVICES[name]
    arguments = command(name)
    assert arguments[arguments.index("--host") + 1] in (SERVICES[name]["hostname"], "$$HOSTNAME")


def test_each_container_of_spark_has_a_name_of_its_own() -> None:
    assert len({SERVICES[name]["hostname"] for name in SPARK}) == len(SPARK)


@pytest.mark.parametrize("name", SPARK)
def test_what_spark_writes_is_for_its_user_only(name: str) -> None:
    assert SERVICES[name]["command"][2].startswith("umask 077 && exec spark-class ")


def test_no_secret_stands_in_the_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert not re.search(r"(?i)(password|secret_key|fernet_key|jwt_secret)\s*[:=]\s*['\"]?[A-Za-z0-9+/_-]{8,}", text)
    assert "POSTGRES_PASSWORD" not in text


def made_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of make_secrets.py that belongs to a project of its own."""
    script = folder / "include" / "docker" / "make_secrets.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "include" / "docker" / "make_secrets.py", script)
    return subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True)


def test_make_secrets_makes_every_file_that_compose_names(tmp_path: Path) -> None:
    assert made_in(tmp_path, "--accept-mq-licence").returncode == 0
    named = {secret["file"] for secret in COMPOSE["secrets"].values()}
    named |= {file for service in SERVICES.values() for file in service.get("env_file", [])}
    assert named
    assert {str(path.relative_to(tmp_path)) for path in (tmp_path / MADE).iterdir()} == named
    assert stat.S_IMODE((tmp_path / MADE).stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in (tmp_path / MADE).glob("*.env"))


def test_the_mq_connection_uses_the_password_that_mq_gets(tmp_path: Path) -> None:
    made_in(tmp_path, "--accept-mq-licence")
    lines = (tmp_path / MADE / "airflow.env").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines)
    connection = json.loads(values["AIRFLOW_CONN_MQ_QM1"])
    assert connection["password"] == (tmp_path / MADE / "mq_app_password").read_text()
    assert connection["host"] in SERVICES
    assert connection["extra"]["queue_manager"] == SERVICES["mq"]["environment"]["MQ_QMGR_NAME"]


def test_the_mq_connection_has_the_tls_that_the_channel_asks_for(tmp_path: Path) -> None:
    """As far as it can be seen without IBM MQ: both ends have the same CipherSpec, and the client's key repository is
    there, wherever a program of ours connects, before it starts."""
    made_in(tmp_path, "--accept-mq-licence")
    lines = (tmp_path / MADE / "airflow.env").read_text().splitlines()
    fields = json.loads(dict(line.split("=", 1) for line in lines)["AIRFLOW_CONN_MQ_QM1"])
    extra = json.dumps(fields.pop("extra"))
    settings = connection_settings("mq_qm1", Connection(conn_id="mq_qm1", extra=extra, **fields))
    channel = (ROOT / "include" / "docker" / "qm1_tls.mqsc").read_text().replace("*", "")
    assert f"ALTER CHANNEL({settings.channel}) CHLTYPE(SVRCONN) SSLCIPH({settings.tls_cipher}) SSLCAUTH(OPT" in channel
    folder, trust = str(Path(settings.tls_key_repository).parent), SERVICES["mq-trust"]
    assert trust["command"][3] == settings.tls_key_repository
    assert f"trust:{folder}" in trust["volumes"]
    connects = ("api-server", "scheduler", "dag-processor", "triggerer", "spark-connect", "spark-worker-1")
    for name in connects:
        assert f"trust:{folder}:ro" in SERVICES[name]["volumes"], name
        if name != "spark-connect":  # it waits for the scheduler, which does
            assert SERVICES[name]["depends_on"]["mq-trust"] == {"condition": "service_completed_successfully"}, name
    assert not [name for name, one in SERVICES.items() if f"trust:{folder}" in one.get("volumes", []) and one != trust]


def test_queue_manager_and_client_get_the_two_ends_of_one_certificate(tmp_path: Path) -> None:
    made_in(tmp_path, "--accept-mq-licence")
    given = {one["target"]: COMPOSE["secrets"][one["source"]]["file"] for one in SERVICES["mq"]["secrets"]}
    key, certificate, authority = (
        tmp_path / given[f"/etc/mqm/pki/keys/qm1/{name}"] for name in ("tls.key", "tls.crt", "ca.crt")
    )
    assert (tmp_path / COMPOSE["secrets"]["mq_authority"]["file"]) == authority
    context = ssl.create_default_context(cafile=str(authority))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    context.check_hostname = False  # as IBM's client, which compares no name unless SSLPEER is set
    here, there = socket.socketpair()
    with ThreadPoolExecutor(1) as other, here, there:
        accepted = other.submit(server.wrap_socket, there, server_side=True)
        with context.wrap_socket(here) as client:
            found = client.getpeercert()
        accepted.result().close()
    assert found["subject"] != found["issuer"]  # IBM's image takes no other one
    named = {value for part in found["subject"] for name, value in part if name == "commonName"}
    assert named == {SERVICES["mq"]["environment"]["MQ_QMGR_NAME"]}
    assert not [path for path in (tmp_path / MADE).iterdir() if "PRIVATE" in path.read_text() and path != key]


def test_the_key_repository_trusts_the_authority_alone(tmp_path: Path) -> None:
    """With a `runmqakm` that writes what it is asked for, twice as after a second `docker compose up`."""
    asked, repository = tmp_path / "asked", tmp_path / "trust" / "key"
    repository.parent.mkdir()
    runmqakm = tmp_path / "runmqakm"
    runmqakm.write_text(
        f'#!/bin/sh\necho "$@" >> {asked}; test ! -e {repository}.kdb -o "$1" = -cert && touch {repository}.kdb\n'
    )
    runmqakm.chmod(0o700)
    program, script = SERVICES["mq-trust"]["command"][:2]
    source = (ROOT / Path(script).relative_to("/opt/mqops")).read_text().replace("/opt/mqm/bin/runmqakm", str(runmqakm))
    for _ in range(2):
        subprocess.run([program, "-c", source, "authority.crt", str(repository)], check=True)
    made = re.sub("-pw [^ ]{32} ", "-pw ? ", asked.read_text()).splitlines()
    assert made == 2 * [
        f"-keydb -create -db {repository}.kdb -pw ? -type cms -stash",
        f"-cert -add -db {repository}.kdb -stashed -label mqops authority -file authority.crt -format ascii",
    ]
    assert len(set(re.findall("-pw ([^ ]+)", asked.read_text()))) == 2


def test_tasks_are_clients_of_the_connect_server_that_is_in_front_of_the_cluster(tmp_path: Path) -> None:
    """It shares the scheduler's network, where it listens on the loopback address: the plugin takes it without TLS."""
    made_in(tmp_path, "--accept-mq-licence")
    lines = (tmp_path / MADE / "airflow.env").read_text().splitlines()
    fields = json.loads(dict(line.split("=", 1) for line in lines)["AIRFLOW_CONN_SPARK_DEFAULT"])
    server = server_of("spark_default", Connection(conn_id="spark_default", **fields))
    assert f"SPARK_CONNECT_AUTHENTICATE_TOKEN={server.token}\n" == (tmp_path / MADE / "spark_connect.env").read_text()
    service, words = SERVICES["spark-connect"], command("spark-connect")
    assert service["network_mode"] == "service:scheduler"
    settings = dict(word.split("=") for word in words if word.startswith("spark.") and "=" in word)
    assert settings["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert int(settings["spark.connect.grpc.binding.port"]) == server.port
    assert settings["spark.driver.host"] == SERVICES["scheduler"]["hostname"]
    assert EVERYWHERE.items() <= settings.items()
    assert words[words.index("--master") + 1] in command("spark-worker-1")


def test_make_secrets_changes_nothing_the_second_time(tmp_path: Path) -> None:
    made_in(tmp_path, "--accept-mq-licence")
    before = {path.name: path.read_text() for path in (tmp_path / MADE).iterdir()}
    assert "nothing changed" in made_in(tmp_path, "--accept-mq-licence").stdout
    assert {path.name: path.read_text() for path in (tmp_path / MADE).iterdir()} == before


def test_make_secrets_asks_for_the_licence(tmp_path: Path) -> None:
    result = made_in(tmp_path)
    assert (result.returncode, (tmp_path / MADE).exists()) == (2, False)
    assert "--accept-mq-licence" in result.stderr


def test_no_session_of_a_task_leaves_a_large_process_behind() -> None:
    """Spark keeps the parent of a session's Python workers. One that has imported much suits tasks that share a
    session only, and these do not."""
    shared = "session_id" in (ROOT / "include" / "docker" / "make_secrets.py").read_text()
    assert shared == ("mqops.spark_daemon" in str(COMPOSE["services"]["spark-connect"]["command"]))
