"""`make docs`: the tables of the documentation that are made from the code. They stand between
`<!-- made by `make docs`: NAME -->` and `<!-- end -->`; `TABLES` has the names.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from click.testing import CliRunner

from mqops.cli import main as main_command
from mqops.quality.columns import COLUMNS, Source
from mqops.rules.keyword import Entry
from mqops.rules.keywords import KEYWORDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/rules_extensions.md", "docs/snapshots.md", "include/expectations/README.md")
MADE = re.compile(r"(<!-- made by `make docs`: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rows_of(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (heading, ["---"] * len(heading), *rows))


def keywords(entry: Entry) -> str:
    """The extensions that may stand in a part of a rules table, a row for each way to write them."""
    wanted = [one for one in KEYWORDS.values() if one.entry is entry and one.extension]
    rows = ([f"`{one.name}`", form.written, form.meaning] for one in wanted for form in one.forms)
    return rows_of(["keyword", "in its brackets", "meaning"], rows)


def snapshot_columns() -> str:
    """What `mqops snapshot columns` prints."""
    told = json.loads(CliRunner().invoke(main_command, ["snapshot", "columns", "--json"]).stdout)["columns"]
    return rows_of([*told[0]], ([f"`{row['column']}`", *[*row.values()][1:]] for row in told))


def suite_columns(heading: str, *sources: Source) -> str:
    """The columns that suites may name. Parameters: `sources` that they come from."""
    wanted = (one for one in COLUMNS.values() if one.source in sources)
    return rows_of([heading, "holds", "meaning"], ([f"`{one.name}`", one.kind.value, one.meaning] for one in wanted))


TABLES: Mapping[str, Callable[[], str]] = {
    "patterns": partial(keywords, Entry.PATTERN),
    "actions": partial(keywords, Entry.ACTION),
    "columns of a snapshot": snapshot_columns,
    "columns of the body": partial(suite_columns, "found by reading the body", Source.BODY),
    "derived columns": partial(suite_columns, "derived", Source.DERIVED),
    "columns of the snapshot": partial(suite_columns, "of the snapshot", Source.SNAPSHOT, Source.HEX),
}


def page(text: str) -> str:
    """The page with its tables made anew."""
    return MADE.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def main() -> None:
    for name in PAGES:
        path = ROOT / name
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
