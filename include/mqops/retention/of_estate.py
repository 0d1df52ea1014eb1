"""The policy that the estate's `retention` says."""

from __future__ import annotations

from mqops.estate_sections import Retention, RetentionAges
from mqops.retention.core.due import Ages, Policy


def policy_of(section: Retention) -> Policy:
    """The policy of a section."""
    return Policy(
        ages=_ages(section),
        workflows={name: _ages(ages) for name, ages in section.workflows.items()},
        undo=section.undo,
        newest=section.newest,
        most_runs=section.most_runs or 0,
        most_bytes=section.most_size or 0,
    )


def _ages(section: RetentionAges) -> Ages:
    return Ages(snapshots=section.snapshots, plans=section.plans, runs=section.runs)
