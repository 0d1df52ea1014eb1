"""Whether a person may see the payload of messages, and who may where that person may not."""

from __future__ import annotations

from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.look.reveal import NotRevealed, refuse_unless_named
from mqops.model import Account
from mqops_airflow.pages.security import Reader


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

    The text says how many logins have the right, and names neither them nor the estate file: both would help an
    attacker who is after payload. The keeper of the estate knows both.
    """
    managers = who.estate.estate.queue_managers
    number = len(managers[name].reveal.of(Account.AIRFLOW)) if name in managers else 0
    has = f"{counted(number, 'login')} of Airflow" if number else "no login of Airflow"
    ask = "Ask the person who keeps the estate file, or the administrator of Airflow."
    return (
        f"The setting reveal of {name} in the estate does not name you ({who.user.get_name()}). It names {has}; no "
        f"role gives this right, that of an administrator neither. {ask}"
    )
