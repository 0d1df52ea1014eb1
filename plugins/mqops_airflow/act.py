"""The task that has Spark act on a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqops_airflow.permission import permission
from mqops_airflow.spark import MqSparkSubmitOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class PlanActOperator(MqSparkSubmitOperator):
    """Submits the job that acts, for the plan that the run has permission for; without one it submits nothing.

    :param four_eyes: whether the person who started the run may not be the one who approved it.
    """

    def __init__(self, *, four_eyes: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.four_eyes = four_eyes

    def execute(self, context: Context) -> dict[str, Any]:
        found = permission(context, four_eyes=self.four_eyes)
        self.application_args = [
            *(self.application_args or ()),
            f"--plan-digest={found.digest}",
            f"--requested-by={found.requested_by}",
            f"--approved-by={found.approved_by}",
        ]
        return super().execute(context)
