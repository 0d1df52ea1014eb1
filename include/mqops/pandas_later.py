"""Processes without the import of pandas, which costs about as much as all that a Spark job imports besides.

1. PySpark's Connect client names pandas in annotations, takes two functions of `pandas.api.types`, and compares its
   version. It calls something of pandas only for who gives it, or wants from it, a pandas.DataFrame.
2. PyArrow tries to import pandas once, with the first value that it converts, and does without if there is none: then
   it takes neither NaT nor NA among values, as long as the process lives. So only a process that is ours lets it fail.
3. Whoever imports pandas afterwards has it, PyArrow (but for rule 2) and PySpark included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_NAMES = ("pandas", "pandas.api", "pandas.api.types")


class WithoutPandas:
    """A finder of modules that keeps pandas out of a process: pyarrow imports it where it is installed, which is a
    quarter of the processor time of a dry run."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Refuse pandas, know no other module. Raises `ModuleNotFoundError`."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


class _Later(ModuleType):
    """Stands for a module of pandas in those modules that are imported while it is the one in `sys.modules`."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is not self:
            return getattr(import_module(self.__name__), name)
        if name.startswith("__"):
            raise AttributeError(name)

        def call(_class: type, *given: Any) -> Any:
            return getattr(import_module(self.__name__), name)(*given)

        return type(name, (), {"__new__": call})  # for an annotation, or to be called later


def arrow_without_pandas() -> None:
    """Let PyArrow's try fail (rule 2). Nothing changes where pandas was imported."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415

    sys.meta_path.insert(0, WithoutPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(WithoutPandas)


@contextmanager
def pandas_later() -> Iterator[None]:
    """What is imported in here does not import pandas. Nothing changes where it was imported, or is not installed.
    PyArrow may convert no value in here: it would keep what stands for pandas."""
    if "pandas" in sys.modules or not find_spec("pandas"):
        yield
        return
    sys.modules.update({name: _Later(name) for name in _NAMES})
    from importlib.metadata import version  # noqa: PLC0415 - a process that refuses pandas needs no version

    sys.modules["pandas"].__version__ = version("pandas")  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name in _NAMES:
            sys.modules.pop(name, None)
