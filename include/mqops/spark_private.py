"""What keeps the data of a Spark process private: a temporary folder of its own, a umask, and Spark settings.

For every process of Spark that mqops starts: the driver of a job, a Spark Connect server. It knows neither PySpark nor
Airflow, so that the process that starts Spark can use it.

1. Spark writes shuffle files, spilled rows, cached and broadcast blocks to disk: names of queues, actions, digests, and
   bodies of messages. By default they are readable by every user of the machine, in the system's temporary folder.
2. Each process gets a folder with mode 0700 instead, and the umask 077. Blocks are encrypted with a key that only the
   memory of the processes has (spark.io.encryption.enabled).
3. The folder is removed when the process has ended. After a crash or a `kill -9` the next start removes it.
4. The owner of a folder holds a lock (flock) on a file in it, which the operating system releases when the last process
   with that descriptor is gone. So a folder in use is never removed, and no process number is relied on.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from mqops.lake.files import lake_errors, make_folder
from mqops.lake.shared_folder import FOLDER, is_own, lock, opened, remove

UMASK = 0o077
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable, of Spark
TOKEN_FILE = "MQOPS_SPARK_TOKEN_FILE"  # noqa: S105 - the name of a variable
"""Names the private file in which a Spark Connect server of this machine has the token of its present start."""
RELEASE = "SPARK_CONNECT_RELEASE_SESSION_ON_EXIT"
"""Of PySpark: "true" where the session of a Spark Connect server ends with its client."""
EVERYWHERE = {
    "spark.io.encryption.enabled": "true",
    # Hadoop sets the mode of each file that Spark writes by its own umask, whatever that of the process is.
    "spark.hadoop.fs.permissions.umask-mode": "077",
    "spark.ui.enabled": "false",  # it shows names and counts to everybody who reaches its port
}
# The driver of a local master listens too: only for this machine, and only for who knows the secret that Spark makes.
ON_ONE_MACHINE = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
# Jobs of seconds are over before the second compiler pays; one collector thread is enough on two cores. The room that
# Java keeps for the first compiler alone, 48 MB, is full after some hundred queries: what is thrown out is made again.
SHORT_JOBS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
_FIRST_JARS = (
    *("spark-catalyst_", "spark-core_", "spark-sql_", "spark-sql-api_"),
    *("spark-common-utils_", "scala-library-"),
)
_JOB = "mqops-spark-"
_NEW = "new-mqops-spark-"
_LOCK = "lock"
_FILES = "files"


def settings(master: str) -> dict[str, str]:
    """The Spark settings that keep data private. A cluster's secret is its administrator's: docs/spark_security.md.

    Parameters: `master` as spark-submit takes it: `local[*]`, `spark://host:7077`, `yarn`, `k8s://...`.
    """
    return EVERYWHERE | (ON_ONE_MACHINE if re.match(r"local(\[|$)", master) else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """The temporary folder of one Spark process.

    Parameters: `folder` where its files go; `descriptor` of the locked file. A process that is to keep the folder when
    this one dies inherits it.
    """

    folder: Path
    descriptor: int

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """The environment of the Spark process: `given`, and this folder for whatever Spark, Java or Python write.

        A `-Djava.io.tmpdir=` in the SPARK_SUBMIT_OPTS given wins (a disk mounted `noexec` cannot hold the libraries
        that Java unpacks there).
        """
        java = f'-Djava.io.tmpdir="{self.folder}" {given.get("SPARK_SUBMIT_OPTS", "")}'.rstrip()
        return {**given, "SPARK_LOCAL_DIRS": str(self.folder), "TMPDIR": str(self.folder), "SPARK_SUBMIT_OPTS": java}


def short_job_options(archive: str | Path | None) -> str:
    """Java's options for a job of seconds. Parameters: `archive` of Java's classes, if there is one."""
    there = archive and Path(archive).is_file()
    return f"{SHORT_JOBS} -XX:SharedArchiveFile={archive} -Xshare:auto" if there else SHORT_JOBS


def first_jars(environment: Mapping[str, str]) -> str:
    """The driver's class path for short jobs (`spark.driver.extraClassPath`): Spark's own jars before the 270 others.

    With each query Spark reads classes as resources, and Java looks into one jar after the other until it finds them.
    An archive of Java's classes fits only the class path that it was made with.
    """
    package = find_spec("pyspark")
    places = package.submodule_search_locations if package else None
    home = environment.get("SPARK_HOME") or (places[0] if places else "")
    found = sorted(Path(home, "jars").glob("*.jar")) if home else []
    return os.pathsep.join(str(jar) for name in _FIRST_JARS for jar in found if jar.name.startswith(name))


def scratch_parent(lake: str | Path | None, environment: Mapping[str, str]) -> Path:
    """Where temporary folders are made: the first folder of SPARK_LOCAL_DIRS, else `.spark` in the lake.

    Without a lake it is the system's temporary folder, where other users may make files and folders as well.
    """
    given = environment.get("SPARK_LOCAL_DIRS", "").split(",")[0].strip()
    return Path(given or (Path(lake, ".spark") if lake else tempfile.gettempdir()))


@contextmanager
def scratch(parent: Path) -> Iterator[Scratch]:
    """Make a temporary folder below `parent`, and remove it in the end; first remove those that a crash left there.

    Raises:
        LakeError: the folder cannot be made or locked.
    """
    with lake_errors(parent):
        make_folder(parent)
        with opened(parent, FOLDER) as place:
            _remove_abandoned(place)
            name, job, descriptor = _locked_folder(parent, place)
    try:
        yield Scratch(folder=parent / name / _FILES, descriptor=descriptor)
    finally:
        with suppress(OSError), opened(parent, FOLDER) as place:
            _remove(job, name, place)
        os.close(job)
        os.close(descriptor)


def _locked_folder(parent: Path, place: int) -> tuple[str, int, int]:
    """A folder for one process: its name, its descriptor, and that of its lock. It has its name when it is locked."""
    draft = Path(tempfile.mkdtemp(prefix=_NEW, dir=parent)).name  # mode 0700, a name that nobody can foresee
    name = draft.replace(_NEW, _JOB)
    job = os.open(draft, FOLDER | os.O_NOFOLLOW, dir_fd=place)
    os.mkdir(_FILES, 0o700, dir_fd=job)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(_LOCK, flags, 0o600, dir_fd=job)
    lock(descriptor)
    os.rename(draft, name, src_dir_fd=place, dst_dir_fd=place)
    return name, job, descriptor


def _remove_abandoned(place: int) -> None:
    """Remove the folders whose owner is gone. Another user's folders, what is in use, and what this did not make, stay:
    where other users can rename it, a folder's name does not say whose it is."""
    for name in os.listdir(place):
        if not name.startswith(_JOB):
            continue
        # locked by its owner, or removed by another start at this moment, or no folder
        with suppress(OSError), opened(name, FOLDER | os.O_NOFOLLOW, within=place) as job:
            if not is_own(job) or not set(os.listdir(job)) <= {_FILES, _LOCK}:
                continue
            with opened(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, within=job) as descriptor:
                lock(descriptor)
                _remove(job, name, place)


def _remove(job: int, name: str, place: int) -> None:
    """Remove an open folder, the lock last: what an interruption leaves is still found by the next start."""
    shutil.rmtree(_FILES, ignore_errors=True, dir_fd=job)
    if _FILES not in os.listdir(job):
        remove(job, name, place)
