"""Whether a group is the service's own: then what its members may write to, or read, is as private as mode 0700.

Kubernetes gives the folders of a volume to the group `fsGroup` of the pod, with group write and the bit setgid (2775),
and its files with mode 0660, at each mount (Kubernetes, "Configure volume permission and ownership change policy").

1. The process must be in the group.
2. No other account of this machine may be, besides root: neither as a member nor by its primary group.
3. If accounts come from a directory such as LDAP, nobody can list who has the group as primary one: it is refused.
"""

from __future__ import annotations

import grp
import os
import pwd
from contextlib import suppress
from pathlib import Path

MOST_NAMED = 3
"""Accounts that are named."""
_LISTED = frozenset({"files", "compat", "systemd", "altfiles", "myhostname"})
"""Sources of accounts (nsswitch.conf) that list all of them."""
_SWITCH = Path("/etc/nsswitch.conf")
_SSSD = Path("/var/lib/sss/pipes/nss")
"""The socket of SSSD: images have `sss` in nsswitch.conf without it."""


def why_not_own(group: int) -> str:
    """Why a group is not this process's own, in words; "" where it is. Parameters: `group` its number."""
    if group not in {os.getegid(), *os.getgroups()}:
        return f"user {os.geteuid()} is not in group {group}"
    if others := _others(group):
        more = ", ..." if len(others) > MOST_NAMED else ""
        return f"others are in group {group}, too: {', '.join(others[:MOST_NAMED])}{more}"
    if source := _directory():
        return f"accounts of this machine come from {source}, too, so nobody can list who is in group {group}"
    return ""


def _others(group: int) -> list[str]:
    """The accounts in a group, besides root and this process's user."""
    own = {0, os.geteuid()}
    found = {one.pw_name for one in pwd.getpwall() if one.pw_gid == group and one.pw_uid not in own}
    with suppress(KeyError):
        found |= {name for name in grp.getgrgid(group).gr_mem if _number(name) not in own}
    return sorted(found)


def _number(account: str) -> int:
    """The number of an account, -1 of one that is not there."""
    with suppress(KeyError):
        return pwd.getpwnam(account).pw_uid
    return -1


def _directory() -> str:
    """A source of accounts that does not list all of them; "" where there is none."""
    with suppress(OSError):
        for line in _SWITCH.read_text(errors="replace").splitlines():
            words = line.partition("#")[0].split()
            if words[:1] == ["passwd:"]:
                sources = [word for word in words[1:] if word not in _LISTED and not word.startswith("[")]
                return next((one for one in sources if one != "sss" or _SSSD.exists()), "")
    return ""
