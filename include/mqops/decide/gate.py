"""The gate in a run's folder: its setting, what it found, and what it says of which message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqops.decide.core.gate import GateFound, GateSetting, Verdict, remarks
from mqops.decide.core.summary import RuleCount
from mqops.errors import PlanChanged
from mqops.lake.files import read_json_lines, write_json_lines
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.ledger.core.identity import MessageOnQueue

SETTING = RunFile("gate.json", GateSetting)
FOUND = RunFile("gated.json", GateFound)


def write_setting(run: RunFolder, setting: GateSetting | None) -> None:
    """Write RUN/gate.json where there is a gate; the run's folder is made if it is missing. Raises `LakeError`."""
    if setting is not None:
        run.create()
        SETTING.write(run, setting)


def write_found(run: RunFolder, found: GateFound, verdicts: Mapping[MessageOnQueue, Verdict]) -> None:
    """Write what the gate found. Parameters: `verdicts` what it says of which message. Raises `LakeError`."""
    write_json_lines(run.gated, ({"queue": of[0], "msg_key": of[1], **one._asdict()} for of, one in verdicts.items()))
    FOUND.write(run, found)


def verdicts_of(run: RunFolder) -> dict[MessageOnQueue, Verdict]:
    """What the gate says of which message; empty where the run has no gate. Raises `LakeError`."""
    if not run.gated.exists():
        return {}
    return {
        (row["queue"], row["msg_key"]): Verdict(row["rule_key"], row["quarantine"])
        for row in read_json_lines(run.gated)
    }


def found_by(run: RunFolder) -> GateFound | None:
    """What the gate of a run found; None where it has none. Raises `LakeError`.

    Raises:
        PlanChanged: the run has a gate, and nobody has asked it: no plan is made.
    """
    found = FOUND.find(run)
    if found is None and SETTING.exists(run):
        raise PlanChanged(f"Run {run.run} has a gate that has not looked at its messages: start a new run")
    return found


def remarks_of(found: GateFound | None, rules: Iterable[RuleCount]) -> tuple[str, ...]:
    """What an approver reads of the gate. Parameters: `rules` of the plan."""
    decided: dict[str, int] = {}
    for rule in rules:
        decided[rule.rule_key or ""] = decided.get(rule.rule_key or "", 0) + rule.messages
    return tuple(remarks(found, decided)) if found else ()
