"""A name in an MQSC command."""

from __future__ import annotations

import pytest

from mqops.mqsc import mqsc_name


@pytest.mark.parametrize(
    ("name", "written"),
    [("APP.IN_1", "APP.IN_1"), ("app", "'app'"), ("A/B", "'A/B'"), ("A%", "'A%'"), ("O'NEIL", "'O''NEIL'"), ("", "''")],
)
def test_a_name_is_written_so_that_mqsc_reads_the_same(name, written):
    assert mqsc_name(name) == written
