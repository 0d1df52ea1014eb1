"""What is found in parts of a snapshot adds up (`mqops.quality.one_pass`), for each check that Spark tasks make."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest
from random_suites import FLAGS, NUMBERS, TEXTS, random_check

from mqops.quality.evaluate import answer, computed_by_rows
from mqops.quality.suite import Check
from mqops.quality.suite_file import load_suites
from mqops.quality.vocabulary import EXPECTATIONS
from mqops.quality.where import chosen

VALUES = {
    **dict.fromkeys(NUMBERS, (4, 4, 4, -1, 60, 2053, 10, None, *range(100, 140))),
    **dict.fromkeys(TEXTS, ("MQSTR", "MQSTR", "", "json", "AB0", None)),
    **dict.fromkeys(FLAGS, (True, True, False, None)),
    "queue": ("A", "X.DEAD.Y"),
}
BY_ROWS = [name for name, one in EXPECTATIONS.items() if one.of_rows and not (one.by or one.between)]


def check_of(name: str, chance: random.Random, folder: Path) -> Check:
    path = folder / "s.json"
    path.write_text(json.dumps({"suite": "s", "expectations": [random_check(1, name, chance)]}))
    ((check,),) = (suite.checks for suite in load_suites([path]))
    return check


@pytest.mark.parametrize("name", BY_ROWS)
def test_the_parts_of_a_snapshot_fail_what_the_whole_fails(name: str, tmp_path: Path) -> None:
    differs = False
    for seed in range(30):
        chance = random.Random(seed)
        check = check_of(name, chance, tmp_path)
        parts = []
        for _ in range(3):  # each has values of its own
            some = {
                column: chance.sample(ones, min(len(ones), chance.choice((2, 40)))) for column, ones in VALUES.items()
            }
            parts.append(pa.table({column: [chance.choice(ones) for _ in range(20)] for column, ones in some.items()}))
        typed = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
        whole = answer(typed, check, chosen(typed, check.where))
        failing, checked = [], 0
        for place in range(0, 60, 20):
            part = typed.slice(place, 20).combine_chunks()
            found = answer(part, check, chosen(part, check.where))
            assert found.rows is not None
            failing += [place + row for row in found.rows.to_pylist()]
            checked += found.checked
        assert whole.rows is not None
        same = (failing, checked) == (whole.rows.to_pylist(), whole.checked)
        assert same or not computed_by_rows(check), seed
        differs |= not same
    assert differs or computed_by_rows(check)  # those that need the others do need them
