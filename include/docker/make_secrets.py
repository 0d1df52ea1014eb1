"""Make the secrets that docker-compose.yml reads, once, below var/docker/. Standard library, and `openssl`.

    python3 include/docker/make_secrets.py --accept-mq-licence

IBM MQ Advanced for Developers starts only for those who accept its licence (https://ibm.biz/mqdevlicense).
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DAYS = 3650
TLS = {"tls_cipher": "ANY_TLS12_OR_HIGHER", "tls_key_repository": "/opt/mqops/var/trust/key"}
"""As include/docker/qm1_tls.mqsc and the service mq-trust have it."""
FOLDER = Path(__file__).resolve().parents[2] / "var" / "docker"


def write(name: str, text: str, *, mode: int = 0o600) -> None:
    """Write one file with its final mode from the first byte on; the folder around it is for its owner only."""
    with open(os.open(FOLDER / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)


def environment(values: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


def make_certificate(openssl: str) -> None:
    """A certificate for QM1, its key, and the authority that signed it, whose own key is not kept.

    The image takes no certificate that signed itself (mq-container, "Supplying TLS certificates"). Its user reads the
    key, hence 0644, as below.
    """
    with tempfile.TemporaryDirectory() as folder:
        authority, request = Path(folder, "authority.key"), Path(folder, "request")
        certificate = FOLDER / "mq_authority.crt"
        new = ["req", "-newkey", "rsa:3072", "-sha256", "-noenc"]
        days = ["-days", str(DAYS)]
        signed = ["-CA", str(certificate), "-CAkey", str(authority), "-CAcreateserial", "-CAserial", f"{folder}/serial"]
        for arguments in (
            [
                *new,
                "-x509",
                "-subj",
                "/O=mqops/CN=authority",
                *days,
                "-keyout",
                str(authority),
                "-out",
                str(certificate),
            ],
            [*new, "-subj", "/O=mqops/CN=QM1", "-keyout", str(FOLDER / "mq.key"), "-out", str(request)],
            ["x509", "-req", "-sha256", "-in", str(request), *days, *signed, "-out", str(FOLDER / "mq.crt")],
        ):
            subprocess.run([openssl, *arguments], check=True, capture_output=True)
    for name in ("mq_authority.crt", "mq.crt", "mq.key"):
        (FOLDER / name).chmod(0o644)


def make(openssl: str) -> None:
    """Make every file that docker-compose.yml names."""
    FOLDER.mkdir(parents=True, mode=0o700)
    make_certificate(openssl)
    database, application = secrets.token_hex(16), secrets.token_hex(16)
    connection = {
        "conn_type": "mq",
        "host": "mq",
        "port": 1414,
        "login": "app",
        "password": application,
        "extra": {"queue_manager": "QM1", "channel": "MQOPS.SVRCONN"} | TLS,
    }
    token = secrets.token_urlsafe(24)
    spark_connection = {"conn_type": "spark_connect", "host": "localhost", "port": 15002, "password": token}
    write("postgresql.env", environment({"POSTGRES_PASSWORD": database}))
    write(
        "airflow.env",
        environment(
            {
                "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://airflow:{database}@postgresql/airflow",
                "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
                "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(48),
                "AIRFLOW__API__SECRET_KEY": secrets.token_urlsafe(32),
                "AIRFLOW_CONN_MQ_QM1": json.dumps(connection),
                "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark_connection),
            }
        ),
    )
    write("spark_connect.env", environment({"SPARK_CONNECT_AUTHENTICATE_TOKEN": token}))
    write("mq.env", environment({"LICENSE": "accept"}))
    # The password of MQ travels from Spark's driver to its executors: nobody else may join in, or listen.
    spark = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(32),
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.authEngineVersion": "2",
        "spark.network.crypto.cipher": "AES/GCM/NoPadding",
        "spark.network.crypto.saslFallback": "false",
        "spark.master.rest.enabled": "false",
    }
    # Read by the containers' own users, hence 0644; on this machine the folder's 0700 keeps others out.
    write("airflow_passwords.json", json.dumps({"admin": secrets.token_urlsafe(9)}), mode=0o644)
    write("spark.conf", "".join(f"{key} {value}\n" for key, value in spark.items()), mode=0o644)
    write("mq_app_password", application, mode=0o644)
    write("mq_admin_password", secrets.token_hex(16), mode=0o644)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept-mq-licence", action="store_true", help="you accept IBM's licence for MQ")
    chosen = parser.parse_args()
    if FOLDER.exists():
        print(f"{FOLDER} is there already: nothing changed")
        return 0
    if not chosen.accept_mq_licence:
        print(__doc__, file=sys.stderr)
        return 2
    openssl = shutil.which("openssl")
    if openssl is None:
        print("openssl is not there: install it, it makes the certificate of IBM MQ's channel", file=sys.stderr)
        return 1
    make(openssl)
    print(f"made {FOLDER}; Airflow's login is in {FOLDER / 'airflow_passwords.json'}; next steps: docker-compose.yml")
    return 0


if __name__ == "__main__":
    sys.exit(main())
