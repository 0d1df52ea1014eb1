"""The gate in front of a workflow that moves: its suites are checked on the run's snapshot, before anything is decided.

`mqops.decide.core.gate` has the rules. Everything is computed in this process, as for a small snapshot
(`mqops.quality.check_table`), with and without Spark: so a plan is the same either way. Only the columns that the
suites ask for are in memory, one value a message; bodies are read some at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mqops.command import command
from mqops.counted import counted
from mqops.decide import gate
from mqops.decide.core.gate import GateCheck, GateFound, Verdict, strictest
from mqops.decide.recorded import refuse_begun
from mqops.errors import GateStopped
from mqops.lake.run import RunFolder
from mqops.ledger.core.identity import MessageOnQueue
from mqops.message_checks import OF_MESSAGES, CheckResult, OnFailure
from mqops.observe.core.columns import BOUND
from mqops.observe.recorded import OBSERVED
from mqops.quality.check_table import result_here
from mqops.quality.frame_here import frame_here
from mqops.quality.gate_setting import refuse_unusable
from mqops.quality.history import History
from mqops.quality.scope import QueuesSeen, nothing_seen, queues_of, with_bases
from mqops.quality.suite import Check, Suite, asked_by, columns_of
from mqops.quality.suite_file import load_suites
from mqops.quality.summary import found_by

MOST_NAMED = 3
"""Messages that the reason of a run that is stopped names of each check."""
_ON_QUEUE = ("queue", "msg_key")
_OF_GROUPS = ("group_id", "msg_flags")


def judge(run: RunFolder, only: Collection[int] | None = None) -> None:
    """Check a run's snapshot against the suites of its gate, and write what is found into its folder. A run without a
    gate (RUN/gate.json) costs one look for that file.

    Parameters: `only` the places in the snapshot, from 0, of the messages that are looked at; None for all.

    Raises:
        GateStopped: a check with `on_failure: stop` fails, or one cannot be made. Nothing was moved.
        SettingsError: a suite is not valid any more, or cannot be a gate's.
        PlanChanged: this run's plan is being acted on already.
        LakeError: the snapshot cannot be read, or the disk refused.
    """
    setting = gate.SETTING.find(run)
    if setting is None:
        return
    refuse_begun(run)
    if setting.from_quarantine:
        gate.write_found(run, GateFound(quarantine=setting.quarantine, from_quarantine=True), {})
        return
    suites = with_bases(load_suites(setting.suites), setting.aliases)
    observed = OBSERVED.read(run)
    queues = tuple(one.queue for one in observed.queues)
    refuse_unusable(suites, setting.quarantine, queues)
    seen = QueuesSeen(looked_at=queues)
    about = tuple(one for one in suites if queues_of(one, queues))
    judged = _Judged(run, setting.quarantine)
    if about and observed.messages:
        table = frame_here(run.snapshot, {*columns_of(about), *_OF_GROUPS}, asked_by(about))
        table = table if only is None else table.take(pa.array(sorted(only), pa.int64()))
        judged.look(table, about, seen)
    found = GateFound(
        checks=tuple(judged.checks),
        passed=judged.passed,
        without_queue=tuple(one.name for one in suites if one not in about),
        checks_without_queue=tuple(
            f"{suite.name}:{check.id}" for suite in about for check in suite.checks if nothing_seen(suite, check, seen)
        ),
        quarantine=setting.quarantine,
    )
    gate.write_found(run, found, judged.verdicts)
    if judged.stops:
        what = f"The gate stopped run {run.run} of {run.queue_manager}. Nothing was moved:"
        raise GateStopped(what, *judged.stops)


@dataclass(slots=True)
class _Judged:
    """What was found so far.

    Attributes: `checks` that are not met; `passed` the number of those that are; `verdicts` what the gate says of
    which message; `stops` why the run is stopped, with what to do.
    """

    run: RunFolder
    quarantine: str
    checks: list[GateCheck] = field(default_factory=list)
    passed: int = 0
    verdicts: dict[MessageOnQueue, Verdict] = field(default_factory=dict)
    stops: list[str] = field(default_factory=list)

    def look(self, table: pa.Table, suites: Iterable[Suite], seen: QueuesSeen) -> None:
        history = History(self.run, "")
        for suite in suites:
            for check in suite.checks:
                if nothing_seen(suite, check, seen):
                    continue  # about other queues than those of this run
                result, rows = result_here(table, suite, check, seen, history)
                if result.met:
                    self.passed += 1
                else:
                    self._fails(table, check, suite, result, rows)
        self.verdicts = _of_groups(table, self.verdicts)

    def _fails(self, table: pa.Table, check: Check, suite: Suite, result: CheckResult, rows: pa.Array | None) -> None:
        one = GateCheck(
            suite=suite.name,
            check=check.id,
            severity=check.severity,
            on_failure=check.on_failure,
            failed=result.failed,
            columns=result.columns,
            observed=found_by(result),
            limits=result.limits,
            why=check.why,
            problem=result.skipped,
        )
        self.checks.append(one)
        could_not = check.on_failure in OF_MESSAGES and rows is None
        if check.on_failure is OnFailure.STOP or could_not:
            self.stops.append(_stop(one, result, f"{suite.source}:{check.line}", _named(table, rows, self.run)))
        elif check.on_failure in OF_MESSAGES:
            goes = self.quarantine if check.on_failure is OnFailure.QUARANTINE else ""
            verdict = Verdict(one.rule_key, goes)
            for of in zip(*(table[name].take(rows).to_pylist() for name in _ON_QUEUE), strict=True):
                self.verdicts[of] = strictest([self.verdicts.get(of, verdict), verdict])


def _of_groups(table: pa.Table, verdicts: Mapping[MessageOnQueue, Verdict]) -> dict[MessageOnQueue, Verdict]:
    """Rule 4: what holds for a message of a group holds for all of it."""
    rows = zip(*(table[name].to_pylist() for name in (*_ON_QUEUE, *_OF_GROUPS)), strict=True)
    members: dict[tuple[str, str], list[MessageOnQueue]] = {}
    for queue, key, group, flags in rows if verdicts else ():
        if flags & BOUND:
            members.setdefault((queue, group), []).append((queue, key))
    found = dict(verdicts)
    for group_members in members.values():
        if said := [verdicts[one] for one in group_members if one in verdicts]:
            found.update(dict.fromkeys(group_members, strictest(said)))
    return found


def _named(table: pa.Table, rows: pa.Array | None, run: RunFolder) -> Sequence[str]:
    """The commands that show the first messages of these rows."""
    first = table.select(["queue", "msg_id"]).take(rows[:MOST_NAMED]).to_pylist() if rows is not None else ()
    return [command("mqops", "message", "show", one["queue"], one["msg_id"], "-m", run.queue_manager) for one in first]


def _stop(one: GateCheck, result: CheckResult, where: str, shows: Sequence[str]) -> str:
    """Why a check stops the run, and what to do."""
    why = f", {one.why}" if one.why else ""
    what = f"{one} is not met by {result.failed:,} of {counted(result.checked, 'message')}" if result.failed else ""
    what = what or f"{one} is not met (found {one.observed})"
    if one.problem:
        what = f"{one} could not be made: {one.problem}"
    look = f". Look at them: {'; '.join(f'`{show}`' for show in shows)}" if shows else ""
    names = " or quarantine" if shows else ""
    return (
        f"{what}{why}{look}. Correct or move these messages and start again; or have the check say another on_failure "
        f"(warn{', leave' if names else ''}{names}) at {where}"
    )
