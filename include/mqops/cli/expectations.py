"""The results of expectations as text that a CI log shows, and as the JUnit XML that CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from mqops.cli.columns import show_folded
from mqops.cli.outcome import show_line
from mqops.counted import counted

if TYPE_CHECKING:
    from mqops.expect.check import Result

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def show_results(results: Sequence[Result], file: str) -> None:
    """Print a line `FILE:LINE: ok` or `FILE:LINE: FAILED` for each expectation, and their total.

    Below a failed expectation stand the messages that it selects and that do not fit.

    Parameters: `file` the name of the expectation file, as the lines shall show it.
    """
    from mqops.expect.check import result_line  # noqa: PLC0415

    for result in results:
        show_line(f"{file}:{result.expectation.line}: {'ok' if result.ok else 'FAILED'}: {result_line(result)}")
        for line in [] if result.ok else others(result):
            show_folded(f"    {line}", indent=8)
    failed = sum(not result.ok for result in results)
    show_line(f"{counted(len(results), 'expectation')}, {failed} failed")


def others(result: Result) -> list[str]:
    """The messages that do not fit, by decision, with the first few MsgIds."""
    return [
        f"{other.messages:,} {other.decision}: {', '.join(other.ids)}"
        + (", ..." if len(other.ids) < other.messages else "")
        for other in sorted(result.others.values(), key=lambda other: -other.messages)
    ]


def junit_xml(results: Sequence[Result], file: str) -> bytes:
    """The results as one JUnit test suite. A character that XML cannot hold becomes U+FFFD."""
    from mqops.expect.check import result_line  # noqa: PLC0415

    failed = sum(not result.ok for result in results)
    suite = ElementTree.Element(
        "testsuite", name=file, tests=str(len(results)), failures=str(failed), errors="0", skipped="0"
    )
    for result in results:
        name = result.expectation.entry.name or f"line {result.expectation.line}"
        case = ElementTree.SubElement(suite, "testcase", classname=file, name=_xml(name))
        if not result.ok:
            failure = ElementTree.SubElement(case, "failure", message=_xml(result_line(result)))
            failure.text = _xml("\n".join(others(result)))
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
