"""RUN/handed_on.json: the DAG run that made a run's folder in Airflow, and what its first task found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mqops.lake.run_file import RunFile


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOn:
    """Parameters: `found` what the first task found for the tasks behind it, as it was put in XCom."""

    dag_id: str = ""
    run_id: str = ""
    found: Mapping[str, object] = field(default_factory=dict)

    def names(self, what: str) -> tuple[str, ...]:
        """The names that the first task found for `what`; none where it says nothing of it."""
        names = self.found.get(what)
        return tuple(map(str, names)) if isinstance(names, list) else ()

    @property
    def aliases(self) -> dict[str, str]:
        """Aliases that the first task resolved → their queues."""
        aliases = self.found.get("aliases")
        return {str(one): str(queue) for one, queue in aliases.items()} if isinstance(aliases, dict) else {}


HANDED_ON = RunFile("handed_on.json", HandedOn)
NO_DAG_RUN = HandedOn()
"""Of a run that Airflow did not make."""
