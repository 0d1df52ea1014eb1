"""Load libmqm_r.so into this process and point its function table at the engine. Once per process."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from pathlib import Path

from mqlite.c_interface.build import CLIENT_NAME, LIBRARY
from mqlite.c_interface.signatures import CALLS

BUILD = "`mqlite build`, or in the sources `make setup`"
_kept: list[object] = []


def prefix() -> Path:
    """Where the library was built: $MQLITE_PREFIX, else the folder `mqlite` of the Python environment."""
    return Path(os.environ.get("MQLITE_PREFIX") or Path(sys.prefix) / "mqlite")


def load() -> None:
    """Load the library and fill its table; does nothing the second time.

    Raises:
        ImportError: the library or its bridge has not been built; the message says how.
    """
    if _kept:
        return
    place = prefix()
    try:
        library = ctypes.CDLL(str(place / "lib64" / LIBRARY), mode=ctypes.RTLD_GLOBAL)
        _kept.append(ctypes.CDLL(str(place / "lib64" / CLIENT_NAME), mode=ctypes.RTLD_GLOBAL))
        sys.path.insert(0, str(place / "bridge"))
        try:
            bridge = importlib.import_module("_mqbridge")
        finally:
            sys.path.remove(str(place / "bridge"))
    except (OSError, ImportError) as error:
        raise ImportError(f"The MQ library is missing or cannot be loaded ({error}): run {BUILD}") from error
    from mqlite.c_interface.calls import callbacks  # noqa: PLC0415
    from mqlite.pcf import hook as pcf_server  # noqa: PLC0415

    pcf_server.install()

    table = (ctypes.c_void_p * len(CALLS))()
    if library.mqlite_calls() != len(CALLS):
        raise ImportError(f"{place / 'lib64' / LIBRARY} is of another version: run {BUILD}")
    functions = callbacks(bridge.ffi)
    for position, name in enumerate(CALLS):
        bridge.ffi.def_extern(name=f"py_{name}")(functions[name])
        table[position] = int(bridge.ffi.cast("uintptr_t", getattr(bridge.lib, f"py_{name}")))
    library.mqlite_install.argtypes = [ctypes.c_void_p]
    library.mqlite_install.restype = ctypes.c_void_p
    library.mqlite_install(ctypes.addressof(table))
    _kept.extend([library, table, functions])
