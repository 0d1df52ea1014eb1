"""What `mqops lake prune` has removed of a run: RUN/pruned.json, which says so before anything is removed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mqops.errors import LakeError
from mqops.lake.files import size_of
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedRun:
    """Parameters: `parts` names of the folders of the run that were removed, `bytes` that they had; `at` ISO 8601 UTC;
    `by` whom."""

    parts: tuple[str, ...]
    bytes: int
    at: str
    by: str

    def sentence(self, of: str, part: str = "") -> str:
        """What is said of it, without a full stop. Parameters: `of` the run, in words; `part` that it is
        about, "" for all of them."""
        what, was = part or " and the ".join(self.parts), "was" if part or len(self.parts) == 1 else "were"
        return f"The {what} of {of} {was} removed by `mqops lake prune` at {self.at}, for {self.by}"


PRUNED = RunFile("pruned.json", PrunedRun)


def has_removed(pruned: PrunedRun | None, part: Path) -> bool:
    """Whether a folder of a run was removed. Parameters: `pruned` what was removed of the run, None for nothing."""
    return pruned is not None and part.name in pruned.parts


def going(part: Path) -> Path:
    """The name that a folder of a run has while it is removed: a reader has all of it or none."""
    return part.with_name(f".removed-{part.name}")


def there_of(part: Path) -> int:
    """Bytes of a folder of a run (`size_of`), or of what a pass that was killed has left of it: at least 1, and 0 where
    there is neither. Raises `LakeError`."""
    here = next((one for one in (part, going(part)) if one.is_dir()), None)
    return max(1, size_of(here)) if here else 0


def removed(part: Path) -> str:
    """What is said of a folder of a run that is not there; "" unless `mqops lake prune` has removed it."""
    run = RunFolder(part.parent)
    try:
        found = PRUNED.find(run)
    except LakeError:
        return ""
    return found.sentence(f"run {run.run}", part.name) if found and has_removed(found, part) else ""
