"""Fixtures of the tests of the embedded queue manager."""

from __future__ import annotations

from mqlite_support import application, clerk, home

__all__ = ["application", "clerk", "home"]
