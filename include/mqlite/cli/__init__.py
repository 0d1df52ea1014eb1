"""The `mqlite` command: queue managers made, started, administered and looked at by people and scripts.

Exit codes: 0 done; 1 the answer is no; 2 usage; `mqsc` has runmqsc's own: 10 a command failed, 20 there is no such
queue manager.
"""

from __future__ import annotations

from mqlite.cli.commands import main

__all__ = ["main"]
