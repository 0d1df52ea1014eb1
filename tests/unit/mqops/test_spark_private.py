"""The temporary folder of a Spark process: private, kept while its owner lives, removed by the next start."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqops.errors import LakeError
from mqops.spark_private import SHORT_JOBS, first_jars, scratch, scratch_parent, settings, short_job_options

# Makes a folder with a file in it, hands the lock to a child where asked to, and says where; ends when it is killed.
OWNER = """
import subprocess, sys, time
from pathlib import Path
from mqops.spark_private import scratch
with scratch(Path(sys.argv[1])) as place:
    (place.folder / "blockmgr").mkdir()
    (place.folder / "blockmgr" / "shuffle_0_0_0.data").write_text("secret")
    if sys.argv[2] == "child":
        child = subprocess.Popen(["sleep", "1000"], pass_fds=(place.descriptor,), stdout=subprocess.DEVNULL)
        print(child.pid, flush=True)
    print(place.folder, flush=True)
    time.sleep(1000)
"""


@contextmanager
def owner(parent: Path, how: str = "alone") -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A process with a temporary folder, and what it printed."""
    command = [sys.executable, "-c", OWNER, str(parent), how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, umask=0o022)
    assert process.stdout is not None
    try:
        yield process, [process.stdout.readline().strip() for _ in range(2 if how == "child" else 1)]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_folder_is_private_and_is_removed_in_the_end(tmp_path: Path) -> None:
    parent = tmp_path / "lake" / ".spark"
    before = os.umask(0o022)
    try:
        with scratch(parent) as place:
            made = [parent, *parent.rglob("*")]
            assert place.folder in made
            assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    finally:
        os.umask(before)
    assert list(parent.iterdir()) == []


def test_the_next_start_removes_what_a_killed_process_left_and_nothing_that_is_in_use(tmp_path: Path) -> None:
    with owner(tmp_path) as (dead, (abandoned,)), owner(tmp_path) as (_alive, (used,)):
        dead.kill()
        dead.wait()
        assert Path(abandoned, "blockmgr", "shuffle_0_0_0.data").exists()
        with scratch(tmp_path):
            assert not Path(abandoned).parent.exists()
            assert Path(used, "blockmgr", "shuffle_0_0_0.data").exists()


def test_a_process_that_inherited_the_lock_keeps_the_folder(tmp_path: Path) -> None:
    """As Java does when Airflow's task is killed first."""
    with owner(tmp_path, "child") as (task, (child, folder)):
        try:
            task.kill()
            task.wait()
            with scratch(tmp_path):
                assert Path(folder, "blockmgr").exists()
        finally:
            os.kill(int(child), 9)


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    """Names that a neighbour may have made beforehand: a link to another folder, a folder without a lock."""
    other = tmp_path / "other"
    (other / "files").mkdir(parents=True)
    (other / "lock").touch()
    parent = tmp_path / "spark"
    parent.mkdir()
    (parent / "mqops-spark-link").symlink_to(other)
    (parent / "mqops-spark-empty").mkdir()
    (parent / "mqops-spark-trap").mkdir()
    (parent / "mqops-spark-trap" / "lock").symlink_to(other / "lock")
    with scratch(parent):
        pass
    assert (other / "files").is_dir()
    assert sorted(path.name for path in parent.iterdir()) == [f"mqops-spark-{n}" for n in ("empty", "link", "trap")]


def test_the_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with owner(tmp_path) as (dead, (abandoned,)):
        dead.kill()
        dead.wait()
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)  # as if this process were somebody else's
        with scratch(tmp_path):
            assert Path(abandoned).exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(LakeError, match=re.escape(f"The lake failed at {tmp_path / 'file'}")),
        scratch(tmp_path / "file" / ".spark"),
    ):
        pass


def test_where_the_folders_are_made(tmp_path: Path) -> None:
    assert scratch_parent(tmp_path, {}) == tmp_path / ".spark"
    assert scratch_parent(tmp_path, {"SPARK_LOCAL_DIRS": "/fast, /slow"}) == Path("/fast")


def test_the_environment_names_the_folder_to_spark_java_and_python(tmp_path: Path) -> None:
    with scratch(tmp_path / "with space") as place:
        made = place.environment({"A": "b", "SPARK_SUBMIT_OPTS": "-Djava.io.tmpdir=/theirs"})
    assert made == {
        "A": "b",
        "SPARK_LOCAL_DIRS": str(place.folder),
        "TMPDIR": str(place.folder),
        "SPARK_SUBMIT_OPTS": f'-Djava.io.tmpdir="{place.folder}" -Djava.io.tmpdir=/theirs',  # the last one counts
    }


@pytest.mark.parametrize(
    ("master", "local"),
    [
        ("local", True),
        ("local[*]", True),
        ("local[2,3]", True),
        ("local-cluster[2,1,1024]", False),  # wants a secret in its configuration, as a cluster
        ("spark://host:7077", False),
        ("yarn", False),
        ("k8s://https://h:1", False),
    ],
)
def test_every_master_gets_encryption_and_local_ones_a_secret(master: str, local: bool) -> None:
    found = settings(master)
    assert found["spark.io.encryption.enabled"] == "true"
    assert ("spark.authenticate" in found) is local


def test_a_job_of_seconds_starts_java_for_it(tmp_path):
    archive = tmp_path / "spark.jsa"
    assert short_job_options(None) == short_job_options(archive) == SHORT_JOBS  # none was made
    archive.write_bytes(b"classes")
    assert short_job_options(archive) == f"{SHORT_JOBS} -XX:SharedArchiveFile={archive} -Xshare:auto"


def test_sparks_own_jars_stand_before_the_others(tmp_path):
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    for name in ("avro-1.jar", "spark-sql_2.13-4.jar", "spark-core_2.13-4.jar", "spark-sql-api_2.13-4.jar"):
        (jars / name).touch()
    here = first_jars({"SPARK_HOME": str(jars.parent)}).split(":")
    assert here == [str(jars / f"spark-{name}_2.13-4.jar") for name in ("core", "sql", "sql-api")]
    installed = [Path(one).name for one in first_jars({}).split(":")]  # PySpark's
    assert len(installed) == 6
    assert installed[0].startswith("spark-catalyst_")
