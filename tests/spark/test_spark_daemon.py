"""The process that forks Python workers of a Spark Connect server."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path


def test_it_serves_spark_whatever_a_package_does_that_is_imported_before(tmp_path: Path) -> None:
    """Spark reads the port from its standard output, and gets no worker from a daemon that has ended."""
    (tmp_path / "loud.py").write_text('def load():\n    print("loud", flush=True)\n    raise ValueError("broken")\n')
    distribution = tmp_path / "loud-1.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1\n")
    (distribution / "entry_points.txt").write_text("[mqops.before_fork]\nloud = loud:load\n")
    with subprocess.Popen(
        [sys.executable, "-m", "mqops.spark_daemon", "pyspark.worker"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as daemon:
        assert daemon.stdout is not None
        (port,) = struct.unpack("!i", daemon.stdout.read(4))
        _out, said = daemon.communicate(timeout=30)  # Spark closes its standard input: it ends
    assert 0 < port < 2**16
    assert b"ValueError: broken" in said
    assert b"loud" in said
