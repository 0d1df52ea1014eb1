"""What is recorded of a run's snapshot: its summary, once it is durable, and what its queues were made of."""

from __future__ import annotations

from mqops.lake.run_file import RunFile
from mqops.model import ObserveSummary
from mqops.observe.core.anatomy import AnatomyJson

OBSERVED = RunFile("observe.json", ObserveSummary)
ANATOMY = RunFile("anatomy.json", AnatomyJson)
