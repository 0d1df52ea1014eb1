"""Every statement of the specification has a test of each side that it asks for (`make spec`)."""

from __future__ import annotations

import sys

import pytest
import spec_table


def test_no_statement_lacks_a_test(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["spec_table.py", "--strict"])
    assert spec_table.main() == 0, capsys.readouterr().out.splitlines()[-1]


def test_a_statement_that_both_sides_prove_needs_a_test_of_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"E11": spec_table.Statement("A program preserves the expiry", spec_table.SIDES["both"])}
    monkeypatch.setattr(sys, "argv", ["spec_table.py", "--strict"])
    monkeypatch.setattr(spec_table, "statements", lambda: rows)
    monkeypatch.setattr(spec_table, "tests", lambda: iter([("E11", "qm", "spec/test_expiry.py::test_E11_x")]))
    assert spec_table.main() == 1
    assert "1 gaps: E11 (ops)" in capsys.readouterr().out
