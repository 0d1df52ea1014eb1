"""Print every statement of tests/spec/SPEC.md with the tests whose names carry its id (`make spec`).

Exit 1 with `--strict` where a statement has no test. Reads names only: whether the tests pass is pytest's word.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROW = re.compile(r"^\| ([PTKED]\d\d[a-c]?) \| (.+?) \|(?: (\w+) \|)?$")
ID = re.compile(r"(?<![A-Za-z0-9])([PTKED]\d\d[a-c]?)(?![A-Za-z0-9])")


def statements() -> dict[str, str]:
    """Spec id → text, in the document's order."""
    lines = (TESTS / "spec" / "SPEC.md").read_text(encoding="utf-8").splitlines()
    return {found[1]: found[2] for line in lines if (found := ROW.match(line))}


def tests() -> Iterator[tuple[str, str]]:
    """(spec id, test) for each test function whose name carries the id, e.g. `test_P01_P02_unknown_queue`."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for word in node.name.split("_"):
                    if ID.fullmatch(word):
                        yield word, f"{path.relative_to(TESTS)}::{node.name}"


def main() -> int:
    proofs: dict[str, list[str]] = defaultdict(list)
    for spec_id, test in tests():
        proofs[spec_id].append(test)
    rows = statements()
    for spec_id, text in rows.items():
        print(f"{spec_id:5} {text}")
        for test in proofs[spec_id]:
            print(f"        {test}")
        if not proofs[spec_id]:
            print("        -- no test")
    gaps = [spec_id for spec_id in rows if not proofs[spec_id]]
    print(f"\n{len(rows)} statements, {len(rows) - len(gaps)} with tests, {len(gaps)} without: {' '.join(gaps)}")
    unknown = sorted(set(proofs) - set(rows))
    if unknown:
        print(f"ids that the specification does not have: {' '.join(unknown)}")
    return 1 if unknown or (gaps and "--strict" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
