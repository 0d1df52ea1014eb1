"""The command line of spark-submit, as an Airflow connection of type `spark` has it.

The connection's fields are those of Airflow's Spark provider, which is not needed: it asks for `pyspark-client`, and
that overwrites files of pyspark with those of another version.
"""

from __future__ import annotations

import base64
import binascii
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mqops.errors import SettingsError
from mqops_airflow.spark.job_environment import SECRET

BINARIES = ("spark-submit", "spark2-submit", "spark3-submit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What an Airflow connection says of Spark.

    Parameters: `master` as spark-submit takes it; `binary` the program; `queue` of YARN; `namespace` of Kubernetes;
    `principal` and `keytab` (the file's bytes) for Kerberos. "" and b"" leave it to Spark.
    """

    master: str
    binary: str = BINARIES[0]
    queue: str = ""
    namespace: str = ""
    principal: str = ""
    keytab: bytes = field(default=b"", repr=False)

    def command(
        self,
        name: str,
        conf: Mapping[str, str],
        application: str,
        arguments: Sequence[str],
        *,
        properties: str | None,
        keytab: Path | None,
    ) -> list[str]:
        """The command line; the driver runs where it is called (deploy mode client).

        Parameters: `name` of the Spark application; `properties` a file of Spark's; `keytab` where the keytab is.

        Raises:
            SettingsError: there is no such program.
        """
        settings = dict(conf) | ({"spark.kubernetes.namespace": self.namespace} if self.namespace else {})
        options = {
            "--properties-file": properties or "",
            "--keytab": str(keytab or ""),
            "--principal": self.principal,
            "--queue": self.queue,
        }
        return [
            *(self._program(), "--master", self.master, "--deploy-mode", "client", "--name", name),
            *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
            *(word for option, value in options.items() if value for word in (option, value)),
            *(application, *arguments),
        ]

    def _program(self) -> str:
        """Where the program is: on PATH, else beside Python, as in an environment that is not activated."""
        beside = Path(sys.executable).parent / self.binary
        found = shutil.which(self.binary) or (str(beside) if beside.is_file() else None)
        if found is None:
            raise SettingsError(
                f"there is no {self.binary} on PATH: put Spark's bin folder there, or install `mqops[spark]` on the "
                "machines that run tasks"
            )
        return found


def submission(conn_id: str, connection: Any) -> Submission:
    """What an Airflow connection says.

    Raises:
        SettingsError: a field has a value that cannot be used.
    """
    extra = connection.extra_dejson
    if extra.get("deploy-mode") == "cluster":
        raise SettingsError(
            f"Spark connection {conn_id!r} has deploy mode cluster; mqops needs client, because the driver gets the MQ "
            "credentials from its own environment"
        )
    binary = extra.get("spark-binary") or BINARIES[0]
    if binary not in BINARIES:
        raise SettingsError(
            f"Spark connection {conn_id!r} has spark-binary {binary!r}; it may be {', '.join(BINARIES)}, found on PATH"
        )
    try:
        keytab = base64.b64decode(extra.get("keytab") or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise SettingsError(f"Spark connection {conn_id!r} has a keytab that is not in base64") from error
    return Submission(
        master=master_of(connection),
        binary=binary,
        queue=extra.get("queue") or "",
        namespace=extra.get("namespace") or "",
        principal=extra.get("principal") or "",
        keytab=keytab,
    )


def master_of(connection: Any) -> str:
    """The master that a connection names: its host, whole (`local[*]`, `yarn`, `k8s://https://host`), and its port.

    A connection that was given as a URI has the scheme as its type: `spark://host:7077`. Airflow knows the type `spark`
    only where its Spark provider is installed: `generic` stands for it.
    """
    host, kind = connection.host or "", "spark" if connection.conn_type == "generic" else connection.conn_type
    whole = kind == "spark" and host and ("://" in host or not connection.port)
    master = host if whole else f"{kind}://{host}"
    return f"{master}:{connection.port}" if connection.port else master


def shown(command: Sequence[str]) -> str:
    """A command line for a log: the values of settings that may be secret are not in it."""
    words = [
        f"{word.partition('=')[0]}=******" if before == "--conf" and SECRET.search(word.partition("=")[0]) else word
        for before, word in zip(("", *command), command, strict=False)
    ]
    return " ".join(words)
