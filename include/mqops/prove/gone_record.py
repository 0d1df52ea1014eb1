"""RUN/gone.json: which messages of a plan were gone when the run was proved. The summary has their number only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from mqops.lake.files import read_json, write_json
from mqops.lake.run import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Parameters: `at` when the run was proved, ISO 8601 UTC; `because` row of the plan → evidence, as
    `RunSummary.gone_because` has it; `settled` queues that had no uncommitted messages then, so that what was not seen
    there was not hidden by a unit of work."""

    at: str = ""
    because: Mapping[int, str] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()


def write_gone(run: RunFolder, at: str, gone: Mapping[str, Sequence[int]], settled: Collection[str] = ()) -> None:
    """Write the record; none where nothing is gone. Parameters: `gone` evidence → rows; `settled` as of `Gone`. Raises
    `LakeError`."""
    if gone or run.gone_json.exists():
        rows = {why: list(numbers) for why, numbers in sorted(gone.items())}
        write_json(run.gone_json, {"at": at, "rows": rows, "settled": sorted(settled)})


def read_gone(run: RunFolder) -> Gone:
    """What the record says; nothing for a run that was not proved, or that an earlier version proved. Raises
    `LakeError`."""
    if not run.gone_json.exists():
        return Gone()
    found = read_json(run.gone_json)
    because = {row: why for why, rows in found["rows"].items() for row in rows}
    return Gone(at=found["at"], because=because, settled=frozenset(found.get("settled", ())))
