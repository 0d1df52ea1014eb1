"""Make the key repository of the MQ client that docker-compose.yml's containers share: it trusts QM1's authority alone.

    make_key_repository.py CERTIFICATE REPOSITORY

CERTIFICATE is a PEM file, REPOSITORY a path without suffix: REPOSITORY.kdb and its stash file are made anew, by
`runmqakm` of IBM's client. There is no private key in it. Standard library only.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path

RUNMQAKM = "/opt/mqm/bin/runmqakm"
LABEL = "mqops authority"


def main(runmqakm: str = RUNMQAKM) -> int:
    certificate, repository = sys.argv[1:]
    for path in Path(repository).parent.glob(f"{Path(repository).name}.*"):
        path.unlink()  # of an earlier start: the authority may be another one
    where = ["-db", f"{repository}.kdb"]
    commands = (
        ["-keydb", "-create", *where, "-pw", secrets.token_urlsafe(24), "-type", "cms", "-stash"],
        ["-cert", "-add", *where, "-stashed", "-label", LABEL, "-file", certificate, "-format", "ascii"],
    )
    for command in commands:
        subprocess.run([runmqakm, *command], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
