"""The Data Docs of a check in one process: what was expected, what was found, and some of the messages that fail.

They are what Great Expectations' pages are once everything that needs a network is taken away, and need neither GX nor
pictures. Each text of others is put in as text.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mqops.message_checks import CheckResult
from mqops.printable import visible
from mqops.quality.docs_text import LONGEST
from mqops.quality.failed_rows import Failed
from mqops.quality.offline_pages import INDEX, index_of, whole_page
from mqops.quality.suite import Check, Suite

SAMPLES = 10
"""Messages of a failed check that are shown on its page."""


def write_pages(
    folder: Path, title: str, suites: Iterable[Suite], results: Sequence[CheckResult], failed: Iterable[Failed]
) -> str:
    """Write a page a suite, and the first page, whose name is returned."""
    rows = {(one.result.suite, one.result.expectation): one for one in failed}
    by_check = {(one.suite, one.expectation): one for one in results}
    for suite in suites:
        place = folder / "validations" / suite.name
        place.mkdir(parents=True)
        checks = "".join(
            _check(check, by_check[suite.name, check.id], rows.get((suite.name, check.id))) for check in suite.checks
        )
        about = f"<h4>{_text(suite.name)}</h4><p>{_text(suite.description)}</p>"
        back = f'<a href="../../{INDEX}">all suites</a>'
        (place / "checks.html").write_text(
            whole_page(title, f"{back}{about}<table>{_HEADING}{checks}</table>"), "utf-8"
        )
    (folder / INDEX).write_text(whole_page(title, index_of(folder, title, results)), "utf-8")
    return INDEX


_HEADING = "<tr><th>met</th><th>check</th><th>checked</th><th>failed</th><th>found</th><th>some that fail</th></tr>"


def _check(check: Check, result: CheckResult, failed: Failed | None) -> str:
    mark = '<i class="fa-check-circle text-success"></i>' if result.met else '<i class="fa-times text-danger"></i>'
    some: list[Mapping[str, str]] = failed.rows.slice(0, SAMPLES).to_pylist() if failed else []
    samples = "".join(
        f"<li>{_text(one['queue'])} {_text(one['msg_id'])}: {_text(one['observed'])}</li>" for one in some
    )
    cells = (
        mark,
        _text(check.sentence()) + (f"<br>{_text(', '.join(result.columns))}" if result.columns else ""),
        f"{result.checked:,}",
        "" if result.failed is None else f"{result.failed:,}",
        _text(result.skipped or ("" if result.observed == "None" else result.observed)),
        f"<ul>{samples}</ul>" if samples else "",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _text(text: str) -> str:
    shown = visible(text)
    return html.escape(shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…")
