"""Monitoring, accounting and statistics parameter identifiers."""

from __future__ import annotations

from typing import Final

# MQMON
MQMON_NOT_AVAILABLE: Final = -1
MQMON_OFF: Final = 0
