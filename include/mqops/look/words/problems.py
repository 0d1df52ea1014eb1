"""What the pre-flight of a plan found, once for all destinations with the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from mqops.decide.core.preflight import Finding, same_said


def folded(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Kind of each problem on a page (warn, bad) and its text."""
    return [
        ("warn" if severity == "warning" else "bad", f"{', '.join(names)}: {what}" + (f". {remedy}" if remedy else ""))
        for (severity, what, remedy), names in same_said(findings).items()
    ]
