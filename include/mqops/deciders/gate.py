"""Every plan passes the gate here: which one a run has, and its look at the messages of the snapshot.

A run has one where its decider can put messages on a queue (`Selection.gated`) and the estate names one for the
workflow or for the queue manager.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mqops.decide.core.gate import GateSetting
    from mqops.deciders.decider import Decider, Selection
    from mqops.estate import EstateFile
    from mqops.lake.run import RunFolder
    from mqops.mq.session import Session


def gate_of(
    file: EstateFile | None, queue_manager: str, decider: Decider[Any], session: Session, selection: Selection
) -> GateSetting | None:
    """The gate of a run; None where the estate names none, which costs nothing.

    Parameters: `file` None where there is no estate; `session` asked for aliases that suites name; `selection` of the
    run.

    Raises:
        SettingsError: what the estate has for the workflow is not valid, a suite cannot be a gate's, or the gate's
            quarantine is a queue that a table takes messages from.
        MQError: the connection is lost.
    """
    gate = file.gate_of(queue_manager, decider.name) if file and selection.gated else None
    if file is None or gate is None:
        return None
    from mqops.quality.gate_setting import setting_of  # noqa: PLC0415 - reads suites

    settings = file.queue_manager(queue_manager)
    section = getattr(settings, decider.section, None) if decider.by_rules else None
    taken_from = selection.queues if decider.reads_queues else ()
    return setting_of(file, gate, session, taken_from, by_rules=decider.by_rules, section=section)


def ask_gate(run: RunFolder, only: Collection[int] | None = None) -> None:
    """Have the gate of a run, if it has one, look at the messages of its snapshot. Every way to a plan comes by here
    before it is written. Parameters and errors: as of `mqops.quality.gate.judge`."""
    from mqops.decide.gate import SETTING  # noqa: PLC0415 - loads pyarrow

    if SETTING.exists(run):
        from mqops.quality.gate import judge  # noqa: PLC0415 - loads numpy, reads suites

        judge(run, only)
