"""The task that has Spark act on a plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mqops.ledger.core.marker import VARIABLE
from mqops_airflow.approval.permission import permission
from mqops_airflow.spark.submit import MqSparkSubmitOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.estate_workflows import Approval
    from mqops_airflow.runs.run_folder import XCom


class PlanActOperator(MqSparkSubmitOperator):
    """Submits the job that acts, for the plan that the run has permission for; without one it submits nothing.

    :param folder: the run's folder (templated).
    :param approval: the estate's policy.
    """

    template_fields = (*MqSparkSubmitOperator.template_fields, "folder")

    def __init__(self, *, folder: str, approval: Approval, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder
        self.approval = approval
        self._about: dict[str, str] = {}

    def execute(self, context: Context) -> XCom:
        found = permission(context, self.folder, self.approval)
        self.application_args = [*self.application_args, f"--plan-digest={found.digest}"]
        self._about = found.about
        return super().execute(context)

    def _environment(self, also: Sequence[str]) -> dict[str, str]:
        """With the people and the comment, which stand neither in arguments nor in rendered fields."""
        return super()._environment(also) | {VARIABLE: json.dumps(self._about)}
