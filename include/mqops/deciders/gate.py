"""Which gate a run has: the estate says it, for a workflow by rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mqops.decide.core.gate import GateSetting
    from mqops.estate import EstateFile
    from mqops.mq.session import Session


def gate_of(
    file: EstateFile | None, queue_manager: str, workflow: str, session: Session, queues: Iterable[str]
) -> GateSetting | None:
    """The gate of a workflow; None where the estate names none, which costs nothing.

    Parameters: `file` None where there is no estate; `session` asked for aliases that suites name;
    `queues` that the run takes messages from.

    Raises:
        SettingsError: what the estate has for the workflow is not valid, a suite cannot be a gate's, or the gate's
            quarantine is a queue that messages are taken from.
        MQError: the connection is lost.
    """
    section = file.gated(queue_manager, workflow) if file else None
    if file is None or section is None:
        return None
    from mqops.quality.gate_setting import setting_of  # noqa: PLC0415 - reads suites

    return setting_of(file, section, session, queues)
