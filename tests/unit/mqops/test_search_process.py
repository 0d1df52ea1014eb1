"""The process that searches for a page: what it reads and writes in lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from snapshot_support import browsed, written_snapshot

from mqops.lake.run import RunFolder
from mqops.look.search_process import Answer, Search, Wanted
from mqops.type_adapter import adapter_of
from mqwire.structures import MQMD

SECRET = "s3cret-of-the-bodies"


def answered(*lines: bytes, **variables: str) -> tuple[list[Answer], str]:
    """The answers to these lines, and what else the process says."""
    done = subprocess.run(
        [sys.executable, "-m", "mqops.look.search_process"],
        input=b"".join(line + b"\n" for line in lines),
        capture_output=True,
        env={**os.environ, **variables},
    )
    there, *answers = done.stdout.splitlines()
    assert there == b"{}"
    return [adapter_of(Answer).validate_json(one) for one in answers], done.stderr.decode()


def test_what_is_looked_for_is_the_same_in_every_locale(tmp_path: Path) -> None:
    md = MQMD(format="MQSTR", coded_char_set_id=1208).pack()
    of, run = browsed("IN", datetime(2026, 11, 21, 12, tzinfo=UTC)), RunFolder.at(tmp_path / "lake", "QM1", "r")
    search = Search(run=written_snapshot(run, of, [(md, "5 €".encode())]).path, wanted=Wanted(text="*€*"), limit=10)
    for encoding in ("utf-8", "latin-1", "ascii"):
        (answer,), said = answered(adapter_of(Search).dump_json(search), PYTHONIOENCODING=encoding)
        assert answer.found, said
        assert len(answer.found.messages) == 1, encoding


def test_a_line_that_is_not_understood_is_told_without_what_it_has(tmp_path: Path) -> None:
    """As where mqops was upgraded below a server that runs, or the server was killed while it wrote."""
    other = {"run": str(tmp_path), "wanted": Wanted(), "most": 10, "passwords": {"bodies": SECRET}}
    whole = json.dumps(other).encode()
    answers, said = answered(whole, whole.removesuffix(b"}}"))
    assert SECRET not in said
    assert [one.problem.split(": ")[1] for one in answers] == ["limit", "the line"]
    assert "Traceback" not in said
