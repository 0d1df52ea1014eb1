"""Roles for people who run the operations: viewer, operator, approver, admin. An auth manager for Airflow.

Airflow's SimpleAuthManager has no role that may start runs and may not write XComs, and none that may only answer. This
one is it with other roles: `[core] auth_manager = mqops_airflow.roles.RolesAuthManager`, and in `[core]
simple_auth_manager_users` a role of `ROLES` for each user. Like SimpleAuthManager it keeps passwords in a file as plain
text: it is for a demonstration and for trials. docs/airflow_security.md has the same roles for other auth managers.

1. All of them see DAGs, runs, plans, logs, XComs and assets.
2. `MORE` says what else operator and approver may do. Whoever approves may stop, too, and so may whoever starts runs.
3. An admin may do everything. Any other role may do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mqops_airflow.airflow_private.server import DagAccessEntity, SimpleAuthManagerUser
from mqops_airflow.airflow_private.simple_auth import SimpleAuthManager

if TYPE_CHECKING:
    from mqops_airflow.airflow_private.server import DagDetails, ResourceMethod

ROLES = ("viewer", "operator", "approver", "admin")
STOP = "mq_stop"
MORE: dict[str, frozenset[tuple[ResourceMethod, DagAccessEntity | None]]] = {
    "operator": frozenset(
        {
            ("POST", DagAccessEntity.RUN),  # start a run
            ("PUT", DagAccessEntity.RUN),  # mark it, clear it, write its note
            ("PUT", DagAccessEntity.TASK_INSTANCE),  # clear and mark tasks
            ("PUT", None),  # pause and unpause a DAG
        }
    ),
    "approver": frozenset({("PUT", DagAccessEntity.HITL_DETAIL)}),  # answer
}
"""Role → what it may do with DAGs besides looking."""


class RolesAuthManager(SimpleAuthManager):
    """SimpleAuthManager with the roles of this project."""

    def is_authorized_dag(
        self,
        *,
        method: ResourceMethod,
        user: SimpleAuthManagerUser,
        access_entity: DagAccessEntity | None = None,
        details: DagDetails | None = None,
    ) -> bool:
        """Whether a user may do this with a DAG."""
        if super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details):
            return True
        if (method, access_entity) in MORE.get(role_of(user), ()):
            return True
        stops = (method, access_entity) == ("POST", DagAccessEntity.RUN) and details is not None and details.id == STOP
        return stops and role_of(user) == "approver"

    @staticmethod
    def _is_admin(user: SimpleAuthManagerUser) -> bool:
        return role_of(user) == "admin"

    @staticmethod
    def _is_authorized(*, user: SimpleAuthManagerUser, **asked: Any) -> bool:
        """What SimpleAuthManager asks for everything: our roles are an administrator, a viewer or nobody to it."""
        known = {"admin": "ADMIN", **dict.fromkeys(("viewer", "operator", "approver"), "VIEWER")}.get(role_of(user))
        seen = SimpleAuthManagerUser(username=user.username, role=known, teams=user.teams)
        return bool(SimpleAuthManager._is_authorized(user=seen, **asked))


def role_of(user: SimpleAuthManagerUser) -> str:
    """The user's role, in small letters."""
    return (user.role or "").lower()
