"""A distribution that another one has installed: a package and its entry points, as pip lays them into a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqops import outside
from mqops.deciders import registry
from mqops.quality import vocabulary
from mqops.rules import keywords


def install(folder: Path, files: Mapping[str, str], entry_points: str, *, name: str = "bank-mq") -> Path:
    """Lay a distribution of version 1.2 into a folder of `sys.path`; returns the folder.

    Parameters: `files` name → text; `entry_points` the text of entry_points.txt.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for one, text in files.items():
        (folder / one).write_text(text)
    about = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(entry_points)
    return folder


def _forget() -> None:
    outside.brought.cache_clear()
    registry._brought.cache_clear()
    vocabulary.expectation_named.cache_clear()
    keywords.not_loaded.cache_clear()
    for name in [name for name in keywords.KEYWORDS if name not in keywords.OWN_KEYWORDS]:
        del keywords.KEYWORDS[name]


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """This process, as one that is begun where the folder's distributions are installed."""
    modules = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setattr(sys, "dont_write_bytecode", True)  # the next test's file may be as old to the second
        _forget()
        try:
            yield
        finally:
            _forget()
            for name in set(sys.modules) - modules:
                if (Path(folder) / f"{name}.py").exists():
                    del sys.modules[name]
