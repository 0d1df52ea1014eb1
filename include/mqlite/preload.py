"""Make the embedded library answer programs that know nothing of it (`import pymqi; pymqi.connect("QM1")`).

A .pth file imports this at every interpreter start, so it is small: it only puts a finder in front, which loads the
library when `pymqi`, `pymqe` or `ibmmq` is first imported. The file of the library is found by its SONAME from then on.
$MQLITE_PREFIX names another build; $MQLITE_OFF leaves the machine's own IBM MQ client alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

CLIENTS = frozenset({"pymqi", "pymqe", "ibmmq"})
ENGINE = ("mqlite.c_interface.calls", "mqlite.pcf.server")
"""What the library runs, the command server with it."""


class Finder:
    """Loads the library before the first client package; finds no module itself."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in CLIENTS:
            sys.meta_path.remove(cls)
            from mqlite.c_interface import bridge  # noqa: PLC0415

            bridge.load()
        return None


def import_engine() -> None:
    """Import what the library will run, where it stands for the MQ client. The library is not loaded, and no thread is
    started: a process can do this before it forks others, which then need not import it."""
    if Finder in sys.meta_path:
        for name in ENGINE:
            import_module(name)


if not os.environ.get("MQLITE_OFF") and Finder not in sys.meta_path:
    sys.meta_path.insert(0, Finder)
