"""`python -m mqlite.cli`."""

from __future__ import annotations

from mqlite.cli.commands import main

main()
