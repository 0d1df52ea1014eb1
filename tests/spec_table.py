"""Print every statement of tests/spec/SPEC.md with the tests whose names carry its id (`make spec`).

The column "by" says who proves a statement: the embedded queue manager (qm), the operations (ops), or each on its own
(both). A test is one of the operations where its module imports them or drives Airflow, else one of the queue manager.
A statement that lacks a test of one of them is a gap. Exit 1 with `--strict` where there is a gap. Reads names only:
whether the tests pass is pytest's word.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parent
ROW = re.compile(r"^\| ([PTKED]\d\d[a-c]?) \| (.+?) \|(?: (\w+) \|)?$")
NAMED = re.compile(r"^def test_\w*[PTKED]\d\d", re.MULTILINE)
ID = re.compile(r"(?<![A-Za-z0-9])([PTKED]\d\d[a-c]?)(?![A-Za-z0-9])")
SIDES = {"qm": ("qm",), "ops": ("ops",), "both": ("qm", "ops")}
NO_COLUMN = {"T": "both", "D": "ops"}
"""Tables that say above their rows who proves all of them."""
OPERATIONS = {"mqops", "mqops_airflow", "mqops_demo", "act_support", "explain_support"}


class Statement(NamedTuple):
    """A row of the specification; `sides` of which it needs a test."""

    text: str
    sides: tuple[str, ...]


def statements() -> dict[str, Statement]:
    """Spec id → statement, in the document's order."""
    lines = (TESTS / "spec" / "SPEC.md").read_text(encoding="utf-8").splitlines()
    found = [match for line in lines if (match := ROW.match(line))]
    return {row[1]: Statement(row[2], SIDES[row[3] or NO_COLUMN[row[1][0]]]) for row in found}


def tests() -> Iterator[tuple[str, str, str]]:
    """(spec id, side, test) for each test function whose name carries the id, e.g. `test_P01_P02_unknown_queue`."""
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if not NAMED.search(text):
            continue
        module = ast.parse(text)
        name = path.relative_to(TESTS)
        side = "ops" if name.parts[0] in {"e2e", "dags"} or OPERATIONS & set(_imports(module)) else "qm"
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for word in node.name.split("_"):
                    if ID.fullmatch(word):
                        yield word, side, f"{name}::{node.name}"


def _imports(module: ast.Module) -> Iterator[str]:
    """The packages that a module imports."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def main() -> int:
    proofs: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for spec_id, side, test in tests():
        proofs[spec_id][side].append(test)
    rows = statements()
    gaps = []
    for spec_id, row in rows.items():
        print(f"{spec_id:5} {row.text}")
        for side in ("qm", "ops"):
            for test in proofs[spec_id][side]:
                print(f"        {side:3} {test}")
            if side in row.sides and not proofs[spec_id][side]:
                print(f"        {side:3} -- no test")
                gaps.append(f"{spec_id} ({side})")
    whole = len(rows) - len({gap.split()[0] for gap in gaps})
    print(f"\n{len(rows)} statements, {whole} with the tests they need, {len(gaps)} gaps: {', '.join(gaps) or 'none'}")
    unknown = sorted(set(proofs) - set(rows))
    if unknown:
        print(f"ids that the specification does not have: {' '.join(unknown)}")
    return 1 if unknown or (gaps and "--strict" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
