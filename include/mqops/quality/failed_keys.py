"""The messages that failed a suite, or one check of it, as something to look for: `--failed SUITE[:CHECK]`.

1. The newest result in which the suite was checked counts: of the queue manager, or of the snapshot that is searched.
2. Failures that `mostly` tolerates do not count.
3. A message is known by its identity in the lake (`msg_key`), so that it is found wherever it is browsed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from mqops.errors import LakeError, SettingsError
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder, queue_managers
from mqops.look.core.criteria import Criteria
from mqops.message_checks import QualitySummary
from mqops.quality.results import results
from mqops.quality.trend import checks_of, quality_runs


def with_failed(
    wanted: Criteria, failed: str, lake: Path, queue_manager: str, run: RunFolder | None = None
) -> Criteria:
    """What is looked for, of the messages that failed only.

    Parameters: `failed` SUITE or SUITE:CHECK; `queue_manager` "" where the lake has one only; `run` whose snapshot is
    searched, None for live queues.

    Raises:
        SettingsError: the suite was never checked, or has no such check, or the check names no message.
        LakeError: a result or its table of failures cannot be read, or the table is not there.
    """
    suite, _, check = failed.strip().partition(":")
    found = _newest(suite, lake, queue_manager, run)
    known = {one.expectation: one for one in found.checks if one.suite == suite}
    if check and check not in known:
        raise SettingsError(f"Suite {suite} has no check {check}; its checks are {', '.join(known)}")
    if check and known[check].failed is None and not known[check].met:
        raise SettingsError(
            f"Check {check} of suite {suite} is about all messages together, and names none that failed"
        )
    keys: set[str] = set()
    there = bool(found.failures) and Path(found.failures).is_dir()
    if not there and any(one.failed and not one.met for name, one in known.items() if check in ("", name)):
        raise LakeError(
            f"The table of failures {found.failures} of run {found.run} is not there; check the snapshot again"
        )
    if there:
        for batch in read_parquet(Path(found.failures), ("suite", "expectation", "tolerated", "msg_key")):
            own = pc.and_(pc.equal(batch["suite"], suite), pc.invert(batch["tolerated"]))
            own = pc.and_(own, pc.equal(batch["expectation"], check)) if check else own
            keys.update(batch["msg_key"].filter(own).to_pylist())
    return replace(
        wanted, keys=frozenset(keys), keys_of=f"failed {failed.strip()} in {found.run} at {found.checked_at}"
    )


def _newest(suite: str, lake: Path, queue_manager: str, run: RunFolder | None) -> QualitySummary:
    if run is not None:
        found, where = _by_suite(results(run)), run.run
    else:
        name = queue_manager or _only(lake)
        found, where = newest_by_suite(lake, name), f"a run of {name}"
    if suite not in found:
        raise SettingsError(f"Suite {suite or '?'} was not checked in {where}: `mqops quality check` checks it")
    return found[suite]


def newest_by_suite(lake: Path, queue_manager: str) -> Mapping[str, QualitySummary]:
    """Suite → its newest result on a queue manager (rule 1). Raises `LakeError`."""
    return _by_suite(one for each in quality_runs(lake, queue_manager) for one in checks_of(lake, each))


def _by_suite(found: Iterable[QualitySummary]) -> Mapping[str, QualitySummary]:
    newest: dict[str, QualitySummary] = {}
    for one in sorted(found, key=lambda one: one.checked_at, reverse=True):
        newest = dict.fromkeys(one.suites, one) | newest
    return newest


def _only(lake: Path) -> str:
    names = queue_managers(lake)
    if len(names) != 1:
        raise SettingsError("Name the queue manager whose checks are meant (-m QMGR)")
    return names[0]
