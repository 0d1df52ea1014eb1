"""A process that ends with one command or one job: hardly anything that it makes is garbage before it ends."""

from __future__ import annotations

import atexit
import gc
import os

NEW_OBJECTS = 200_000
"""Python looks for cycles after so many new objects, not after each 700: most of them are what was imported."""


def collect_seldom() -> None:
    """Spare this process most of Python's garbage collections, and the ones at its end, which go through all that was
    imported: together a seventh of the processor time of a dry run. What ends with its last reference is not concerned.
    """
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)


def without_plugins() -> None:
    """Spare this process pydantic's search for plugins, which reads the entry points of every installed distribution
    before the first value is checked. mqops uses none. Source: pydantic, "Plugins"."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
