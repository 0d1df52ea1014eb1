"""Whether a person may see the payload of messages, and who may where that person may not."""

from __future__ import annotations

from mqops.counted import first_named
from mqops.errors import SettingsError
from mqops.look.reveal import NotRevealed, refuse_unless_named
from mqops.model import Account
from mqops_airflow.pages.security import Reader

MOST_NAMED = 10
"""Logins that are named."""


def why_masked(who: Reader, name: str) -> str:
    """Why this person may not see payload, "" if the person may. Parameters: `name` of the queue manager."""
    try:
        refuse_unless_named(name, who.user.get_name(), Account.AIRFLOW)
    except NotRevealed:
        return may_not_see(who, name)
    except SettingsError:
        return "The estate file has errors: nobody sees a payload before they are mended."
    return ""


def may_not_see(who: Reader, name: str) -> str:
    """Which right a person lacks, who has it, and whom the person can ask.

    The text names logins: who reads it may read task logs of the queue manager (`Page.right`), and asks a person. It
    does not name system accounts, nor where the estate file lies.
    """
    managers = who.estate.estate.queue_managers
    logins = sorted(managers[name].reveal.of(Account.AIRFLOW)) if name in managers else []
    has = f"It is for {first_named(logins, MOST_NAMED)}" if logins else "It names no login of Airflow"
    ask = "Ask one of them" if logins else "Ask the person who keeps the estate file"
    return (
        f"The setting reveal of {name} in the estate does not name you ({who.user.get_name()}). {has}; no role gives "
        f"this right, that of an administrator neither. {ask}, or the administrator of Airflow."
    )
