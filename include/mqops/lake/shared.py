"""The lake is one folder for every process that works with it: what is said where it is not."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from mqops.errors import LakeError

MOUNT = (
    'Mount the same folder of one shared file system there, at the same path (docs/kubernetes.md, "Which folder every '
    'pod must see"). To repeat the task does not help before that'
)


def not_shared(what: Path, made_by: str) -> str:
    """The sentences that this process does not see what another one made. Parameters: `what` is missing; `made_by` who
    made it."""
    return f"{socket.gethostname()} does not see {what}, which {made_by} made: the lake is not shared. {MOUNT}"


def refuse_unseen(folder: Path, *, made_by: str) -> None:
    """Refuse to work in a process that does not see a folder of the lake, or that may not write to it: Spark's
    executors, or its Connect server, on other machines than the task. Asked before a message is read or moved.

    Parameters: `made_by` who made the folder.

    Raises:
        LakeError: the text says what to do.
    """
    try:
        seen = folder.is_dir()
    except PermissionError:
        seen = True
    if not seen:
        raise LakeError(not_shared(folder, made_by))
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        own = next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK, effective_ids=True))
        raise LakeError(
            f"User {os.geteuid()} on {socket.gethostname()} may not write to {folder}, which {made_by} made as user "
            f"{own.stat().st_uid}. Run both as one user: runAsUser of the pods in Kubernetes, those of Spark's "
            "executors or of its Connect server included. Nothing was moved"
        )
