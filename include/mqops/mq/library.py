"""The client of IBM MQ for Python: pymqi, else IBM's own `ibmmq`. Only this file knows which.

1. Both have the same classes (QueueManager, Queue, MD, CD, SCO, PCFExecute ...): `library` gives the package.
2. Below them each has a module of C with the calls. `calls` gives it. MQOPEN, MQGET, MQPUT, MQCLOSE, MQCMIT and MQBACK
   are alike; MQINQ and MQSET of `ibmmq` take several selectors, and `_OneSelector` makes of them what pymqi has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from mqops.errors import SettingsError
from mqops.parts import missing_part
from mqwire import constants as c


@lru_cache(maxsize=1)
def library() -> Any:
    """The package: `pymqi` or `ibmmq`.

    Raises:
        SettingsError: neither is installed, or the MQ library under it cannot be loaded.
    """
    try:
        import pymqi  # noqa: PLC0415
    except ImportError as error:
        missing = missing_part(error)
        if missing is None:  # pymqi tells last that its module of C is nowhere, and before that why
            before = error.__context__
            raise _cannot_be_loaded(before if isinstance(before, ImportError) else error) from error
        try:
            import ibmmq  # noqa: PLC0415
        except ImportError as other:
            if other.name == "ibmmq":
                raise missing from error
            raise _cannot_be_loaded(other) from other  # "No module named 'ibmmqc'": IBM's C library is not found
        return ibmmq
    return pymqi


def package() -> str:
    """The name of the package that `library` gives, or would give if it were installed. Nothing is loaded."""
    return "ibmmq" if find_spec("pymqi") is None and find_spec("ibmmq") else "pymqi"


def _cannot_be_loaded(error: BaseException) -> SettingsError:
    return SettingsError(
        f"The MQ library cannot be loaded ({error}): install the IBM MQ client, and put its lib64 in LD_LIBRARY_PATH, "
        "or for embedded queue managers run `mqlite build`"
    )


@lru_cache(maxsize=1)
def calls() -> Any:
    """The module with the calls. Raises `SettingsError` as `library`."""
    found = library()
    return found.pymqe if hasattr(found, "pymqe") else _OneSelector(found)


class _OneSelector:
    """The calls of `ibmmq`, as pymqi has them. Parameters: `package` ibmmq."""

    def __init__(self, package: Any) -> None:
        module = self._module = package.ibmmqc
        self._length_of: Callable[[int], int] = package.mqinq.get_attr_length
        self.MQOPEN: Callable[..., Any] = module.MQOPEN
        self.MQCLOSE: Callable[..., Any] = module.MQCLOSE
        self.MQGET: Callable[..., Any] = module.MQGET
        self.MQPUT: Callable[..., Any] = module.MQPUT
        self.MQCMIT: Callable[..., Any] = module.MQCMIT
        self.MQBACK: Callable[..., Any] = module.MQBACK

    def MQINQ(self, connection: int, handle: int, selector: int) -> tuple[int | bytes, int, int]:
        """The value of one attribute, a number or text; completion and reason code."""
        is_number = c.MQIA_FIRST <= selector <= c.MQIA_LAST
        room = 0 if is_number else self._length_of(selector)  # behind the value the buffer is not cleared
        numbers, text, comp, reason = self._module.MQINQ(
            connection, handle, [selector], [], int(is_number), int(not is_number), room
        )
        value = (numbers[0] if numbers else 0) if is_number else text
        return value, comp, reason

    def MQSET(self, connection: int, handle: int, selector: int, value: int) -> tuple[int, int]:
        """Set one attribute that is a number; completion and reason code."""
        comp, reason = self._module.MQSET(connection, handle, [selector], [value], b"")
        return comp, reason
