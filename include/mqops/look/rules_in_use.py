"""A rules table as runs have used it: what each rule was chosen for, its versions, and what two of them differ in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mqops.decide.on_snapshot import Recorded, SnapshotDecision
from mqops.decide.recorded import PLAN
from mqops.kept import kept
from mqops.lake.run import RunFolder, folder_of
from mqops.lake.run_file import RunFile, T
from mqops.look.core.run_state import RunLine
from mqops.look.runs import list_runs
from mqops.look.words.state import RunState
from mqops.prove.records import SUMMARY
from mqops.rules import Rule, Table, parse

MOST_RUNS = 50
"""Newest runs that are looked at."""
MOST_COMPARED = 50_000
"""Messages that are compared one by one where a table asks for what is in them."""


class RuleHits(NamedTuple):
    """A rule and the messages that it was chosen for. Parameters: `by_run` in the order of `RulesInUse.runs`; `runs` of
    these whose table had the rule."""

    rule: Rule
    messages: int
    by_run: tuple[int, ...]
    runs: int


class Version(NamedTuple):
    """A table as runs read it. Parameters: `at` and `run` of its newest use; `runs` that used it."""

    digest: str
    text: str
    at: str
    run: str
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesInUse:
    """Parameters: `workflow` of `queue_manager` whose table it is; `runs` that acted and were proved, oldest first;
    `hits` of each rule, in the order of the table; `versions` the newest first."""

    queue_manager: str
    workflow: str
    runs: tuple[RunLine, ...]
    hits: tuple[RuleHits, ...]
    versions: tuple[Version, ...]


class Difference(NamedTuple):
    """Messages with the same old and new decision, and the lines of the rules (None: no rule)."""

    old: SnapshotDecision
    old_line: int | None
    new: SnapshotDecision
    new_line: int | None
    messages: int


def rules_in_use(lake: Path, queue_manager: str, workflow: str, table: Table) -> RulesInUse:
    """What the newest runs of a workflow tell of its table. Rules are known again by their keys.

    Raises:
        LakeError: a file of a run cannot be read.
    """
    lines = list_runs(lake, queue_manager=queue_manager, workflow=workflow, limit=MOST_RUNS)
    proved = tuple(reversed([one for one in lines if one.proved_at and _acted(one)]))
    folder = folder_of(lake, queue_manager) / "runs"
    counts = [_hits(*_written(RunFolder(folder / one.run), SUMMARY)) for one in proved]
    had = [_keys(*_table(*_written(RunFolder(folder / one.run), PLAN))) for one in proved]
    hits = []
    for rule in table.rules:
        by_run = tuple(count.get(rule.key, 0) for count in counts)
        hits.append(RuleHits(rule, sum(by_run), by_run, sum(rule.key in keys for keys in had)))
    return RulesInUse(
        queue_manager=queue_manager,
        workflow=workflow,
        runs=proved,
        hits=tuple(hits),
        versions=_versions(folder, lines),
    )


def _acted(line: RunLine) -> bool:
    """Whether a run was carried out. A dry run counts the same messages that the next run counts again."""
    stopped = line.state is RunState.STOPPED and line.moved + line.discarded > 0
    return stopped or line.state in {RunState.DONE, RunState.UNBALANCED, RunState.UNFINISHED}


def differences(run: RunFolder, old: Table, new: Table) -> tuple[int, tuple[Difference, ...]]:
    """How many messages of a run's snapshot were compared, and those that two tables handle differently, largest first.

    Where a table asks for what is in the messages, no more than the first `MOST_COMPARED` are compared.

    Raises:
        SettingsError: the run has no snapshot.
        LakeError: it cannot be read.
    """
    recorded = Recorded.of(run.path)
    by_old, by_new = recorded.decision_by(old), recorded.decision_by(new)
    found: Counter[tuple[SnapshotDecision, int | None, SnapshotDecision, int | None]] = Counter()
    compared = 0
    for one in recorded.alike(*old.questions, *new.questions, most=MOST_COMPARED):
        compared += one.messages
        before, after = by_old(one.message), by_new(one.message)
        if before[0] != after[0]:
            found[(*before, *after)] += one.messages
    return compared, tuple(Difference(*key, number) for key, number in found.most_common())


def _versions(folder: Path, lines: Sequence[RunLine]) -> tuple[Version, ...]:
    found: dict[str, Version] = {}
    for line in lines:
        digest, text = _table(*_written(RunFolder(folder / line.run), PLAN))
        before = found.get(digest)
        if before is None:
            found[digest] = Version(digest, text, line.at, line.run, 1)
        else:
            found[digest] = before._replace(runs=before.runs + 1)
    return tuple(found.values())


def _written(run: RunFolder, file: RunFile[T]) -> tuple[RunFolder, int]:
    """A run, and when a file of it was written."""
    try:
        return run, file.path(run).stat().st_mtime_ns
    except FileNotFoundError:
        return run, 0


@kept(most=1024)
def _hits(run: RunFolder, _at: int) -> Mapping[str, int]:
    """Rule key → messages that it was chosen for."""
    found: Counter[str] = Counter()
    summary = SUMMARY.find(run)
    for rule in summary.rules if summary else ():
        found[rule.rule_key] += rule.planned
    return found


@kept(most=1024)
def _table(run: RunFolder, _at: int) -> tuple[str, str]:
    plan = PLAN.find(run)
    return (plan.table_digest, plan.table_text) if plan else ("", "")


@kept(most=64)
def _keys(_digest: str, text: str) -> frozenset[str]:
    """The keys of the rules of a table that a run has used."""
    table = parse(text, origins=True, lint=False).table
    return frozenset(rule.key for rule in table.rules) if table else frozenset()
