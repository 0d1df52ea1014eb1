"""The gate that an estate has for a workflow, and what makes one unusable: told by `mqops estate check` and at a run's
begin, by file, line and field."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from mqops.counted import counted
from mqops.decide.core.gate import GateSetting
from mqops.errors import SettingsError
from mqops.estate_workflows import Gate, RulesWorkflow, TriggeredWorkflow
from mqops.message_checks import OnFailure
from mqops.quality.learned import LEARNED
from mqops.quality.queues import aliases_in
from mqops.quality.suite import Suite, columns_of
from mqops.quality.suite_file import load_suites, read_suite

if TYPE_CHECKING:
    from mqops.estate import EstateFile
    from mqops.mq.session import Session

Taken: TypeAlias = TriggeredWorkflow | None
"""The section of a workflow whose queues messages are taken from, if it has one."""
CHANGES = frozenset({"age_seconds", "expires_in_seconds", "expiry", "observed_at", "backout_count"})
"""Columns whose value for the same message is another one later."""


def setting_of(
    file: EstateFile, gate: Gate, session: Session, queues: Iterable[str], *, by_rules: bool, section: Taken = None
) -> GateSetting:
    """The gate of a workflow, checked.

    Parameters: `gate` as `EstateFile.gate_of` gives it; `session` asked for aliases that suites name, and what the
    gate's quarantine stands for; `queues` that the run takes messages from; `by_rules` whether a table decides: people
    may take messages out of the quarantine, a table would have them go round; `section` of the workflow, which names
    further queues.

    Raises:
        SettingsError: a suite is not valid, or cannot be a gate's, or would have messages go round.
        MQError: the connection is lost.
    """
    paths = [file.suite(one) for one in gate.suites]
    suites = load_suites(paths)
    quarantine = gate.quarantine or ""
    drained = drained_quarantine(session, quarantine, queues, section)
    refuse_unusable(suites, quarantine, drained if by_rules else ())
    return GateSetting(
        suites=tuple(str(path.absolute()) for path in paths),
        quarantine=quarantine,
        aliases=aliases_in(session, suites),
        changes=not CHANGES.isdisjoint(columns_of(suites)),
        from_quarantine=bool(drained) and not by_rules,
    )


def drained_quarantine(
    session: Session, quarantine: str, queues: Iterable[str] = (), section: Taken = None
) -> Collection[str]:
    """The quarantine, where it stands for a queue that messages are taken from; also the DEADQ is one.

    Parameters: as of `setting_of`. Raises `MQError`: the connection is lost.
    """
    if not quarantine:
        return ()
    from mqops.mq.inquire import base_queue_if_known, deadq, try_resolve_queue  # noqa: PLC0415 - loads the MQ library

    named = {*queues, *(section.trigger_queues(deadq(session)) if section else ())} - {""}
    found = {base_queue_if_known(session, one) for one in named}
    goes_to = try_resolve_queue(session, quarantine, "").queue or base_queue_if_known(session, quarantine)
    return {quarantine} if goes_to in found else ()


def refuse_unusable(suites: Iterable[Suite], quarantine: str, drained: Collection[str] = ()) -> None:
    """Raise `SettingsError` where suites cannot be those of a gate; a line for each check. Parameters: as of
    `unusable`."""
    if wrong := [line for suite in suites for line in unusable(suite, quarantine, drained)]:
        raise SettingsError(*wrong)


def unusable(suite: Suite, quarantine: str, drained: Collection[str] = ()) -> Iterator[str]:
    """Why a suite cannot be that of a gate, `file:line: check: what`. Parameters: `quarantine` queue of the gate;
    `drained` queues that the workflow takes messages from."""
    for check in suite.checks:
        place = f"{suite.source}:{check.line}: {check.id}"
        if check.expectation.gx:
            yield f"{place}: {check.expectation.name} needs Great Expectations, which a gate does without: take it out"
        if check.expectation.name in LEARNED:
            yield f"{place}: {check.expectation.name} learns from runs of snapshot_quality: a gate needs fixed bounds"
        if check.on_failure is OnFailure.QUARANTINE and not quarantine:
            yield f"{place}: on_failure is quarantine, and the gate names no queue for it: add `quarantine` to the gate"
        if check.on_failure is OnFailure.QUARANTINE and quarantine and quarantine in drained:
            yield (
                f"{place}: on_failure is quarantine, and the workflow takes messages from that queue, {quarantine}, so "
                "that they would go round: name another queue as `quarantine` of the gate"
            )


def gate_in_words(file: EstateFile, name: str, session: Session) -> Iterator[str]:
    """What a person has to mend before the gates of a queue manager can be used, in one sentence.

    Parameters and errors: as of `gate_problems`.
    """
    missing = map(str, file.missing_suites_of_gates(name))
    if wrong := [*missing, *gate_problems(file, {name: session})]:
        more = f" ({counted(len(wrong) - 1, 'more line')}: `mqops estate check --live`)" if len(wrong) > 1 else ""
        yield f"A gate cannot be used: {wrong[0]}{more}"


def gate_problems(file: EstateFile, live: Mapping[str, Session] = MappingProxyType({})) -> Iterator[str]:
    """What is wrong with the gates of an estate whose suites are there, `file:line: field: what`.

    Parameters: `live` queue manager → session that is asked which queues names stand for, the DEADQ among them; empty
    to look at the file alone. With it only these queue managers are looked at.

    Raises:
        MQError: a connection is lost.
    """
    for name, settings in file.estate.queue_managers.items():
        if live and name not in live:
            continue
        by_rules = dict(settings.workflows(RulesWorkflow))
        for place, gate in settings.gates():
            using = [section for workflow, section in by_rules.items() if place in {("gate",), (workflow, "gate")}]
            using = [one for one in using if one.gate in {None, gate}]
            quarantine = gate.quarantine or (using[0].own_quarantine if using and place != ("gate",) else "")
            drained = {queue for section in using for queue in section.trigger_queues("")}
            for section in using if live else ():
                drained |= set(drained_quarantine(live[name], quarantine, (), section))
            for index, relative in enumerate(gate.suites):
                path = file.suite(relative)
                suite, wrong = read_suite(path) if path.is_file() else (None, [])
                yield from wrong
                for line in unusable(suite, quarantine, drained) if suite else ():
                    yield str(file.problem_of_gate(name, place, line, "suites", str(index)))
