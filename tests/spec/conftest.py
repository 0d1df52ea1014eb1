"""Fixtures of the tests of the embedded queue manager."""

from __future__ import annotations

from mqlite_support import application, home
from trigger_support import monitor, other

__all__ = ["application", "home", "monitor", "other"]
