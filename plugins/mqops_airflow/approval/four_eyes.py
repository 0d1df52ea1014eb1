"""Whether Airflow can tell people apart, which four eyes rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import conf

from mqops.errors import SettingsError
from mqops_airflow.approval.policy import unattended

if TYPE_CHECKING:
    from airflow.sdk import Context

NOBODY = frozenset({"", "anonymous"})
"""Names that stand for no person: SimpleAuthManager gives the second one to everybody where all are administrators."""
WAY_OUT = "or set four_eyes to false in the estate. Nothing was looked at, nothing was moved"


def same_person(one: str, other: str) -> bool:
    """Whether two names may mean one person; directories do not tell small letters from capitals."""
    return one.casefold() == other.casefold()


def must_tell_people_apart(context: Context) -> None:
    """Refuse a run that four eyes could not watch.

    Raises:
        SettingsError: everybody is the same user in Airflow, or Airflow does not know who started the run.
    """
    manager = conf.get("core", "auth_manager")
    if manager.endswith((".SimpleAuthManager", ".RolesAuthManager")) and conf.getboolean(
        "core", "simple_auth_manager_all_admins"
    ):
        raise SettingsError(
            "The estate asks for four eyes, but everybody is the same administrator in this Airflow. Set [core] "
            f"simple_auth_manager_all_admins to False and give each person a user, {WAY_OUT}"
        )
    run = context["dag_run"]
    kind = str(run.run_type.value)
    if kind == "backfill":
        raise SettingsError(
            "The estate asks for four eyes, but a backfill may give a run another form and keeps the name of the "
            f"person who started it first. Start a run by hand, {WAY_OUT}"
        )
    if not unattended(run) and str(run.triggering_user_name or "").casefold() in NOBODY:
        raise SettingsError(
            f"The estate asks for four eyes, but Airflow does not say who started this run ({kind}). Start it under "
            f"a user of your own, {WAY_OUT}"
        )
