"""Where a quality check reads and writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mqops.clock import utc
from mqops.errors import SettingsError
from mqops.lake.handed_on import HANDED_ON, NO_DAG_RUN, HandedOn
from mqops.lake.run import RunFolder
from mqops.model import ObserveSummary
from mqops.observe.recorded import OBSERVED
from mqops.quality.results import RESULT, new_check
from mqops.quality.scope import QueuesSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityFiles:
    """Where a quality run reads and writes.

    Attributes:
        snapshot: folder of the snapshot's Parquet files.
        of_run: the run's folder, or that of the Parquet files where they are of no run.
        observed: what `observe.json` says of the snapshot, empty where there is none.
        found: what the run's first task found on the queue manager, empty where there was none.
        folder: what is written lies below it, and nothing else.
        check: the name of this check; empty where a person named the folder, and it is no result of the run.
        docs: whether, and where, Data Docs are built: in a new folder, an empty one, or one that mqops made.
        by_workflow: whether the workflow that made the run checks it.
    """

    snapshot: Path
    of_run: RunFolder
    folder: Path
    check: str = ""
    docs: Path | None = None
    observed: ObserveSummary | None
    found: HandedOn = NO_DAG_RUN
    by_workflow: bool = False

    @classmethod
    def of(
        cls, snapshot: Path, *, folder: Path | None = None, docs: Path | None = None, by_workflow: bool = False
    ) -> QualityFiles:
        """The files for a run's folder or for the folder of a snapshot.

        Raises:
            SettingsError: there is no snapshot, or a result lies in `folder` already.
            LakeError: observe.json or handed_on.json cannot be read.
        """
        run = RunFolder(snapshot.parent if snapshot.name == "snapshot" else snapshot)
        observed = OBSERVED.find(run)
        files = run.snapshot if observed else snapshot
        if not files.is_dir() or not any(files.glob("*.parquet")):
            raise SettingsError(f"There is no snapshot in {snapshot}: name a run's folder, or one of Parquet files")
        if folder is not None and (folder / RESULT).exists():
            raise SettingsError(f"{folder} has the result of another check, which is kept: name another folder")
        check = "" if folder else new_check(utc())
        return cls(
            snapshot=files,
            of_run=run,
            folder=folder or run.quality_checks / check,
            check=check,
            docs=docs and docs.absolute(),
            observed=observed,
            found=HANDED_ON.find(run) or NO_DAG_RUN,
            by_workflow=by_workflow,
        )

    @property
    def run(self) -> str:
        """The run's name."""
        return self.of_run.run

    @property
    def spark_log(self) -> Path:
        """Spark's own log, of all checks of the run."""
        return (self.of_run.quality_json.parent if self.check else self.folder) / "spark.log"

    @property
    def own_docs(self) -> Path:
        """Folder for Data Docs that belong to this check."""
        return self.folder / "docs"

    @property
    def failures(self) -> Path:
        """Folder of the table of failures."""
        return self.folder / "failures"

    @property
    def quality_json(self) -> Path:
        """The summary."""
        return self.folder / RESULT

    def seen(self, found: Iterable[str]) -> QueuesSeen:
        """The queues of the snapshot. Parameters: `found` those that it has messages of, or was to have."""
        looked_at = {*found, *self.found.names("empty")}
        unread, unseen = (self.found.names(name) for name in ("inhibited", "unseen"))
        return QueuesSeen(looked_at=tuple(sorted(looked_at)), unread=unread, unseen=unseen, aliases=self.aliases)

    @property
    def aliases(self) -> dict[str, str]:
        """Aliases that the run's first task resolved → their queues."""
        return self.found.aliases
