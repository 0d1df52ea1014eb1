"""Which tables and suites a run's form may name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mqops import form_files
from mqops.errors import SettingsError
from mqops.estate import EstateFile, load

ESTATE = """\
lake: lake
queue_managers:
  QM1:
    connection: mq_qm1
    dlq_rules: {rules: listed.txt}
    backout_reprocess: {rules: rules/back.rules, quarantine: Q}
    snapshot_quality: {suites: [listed.json]}
"""
FILES = ("listed.txt", "listed.json", "secret", "rules/back.rules", "rules/team/a.rules", "rules/notes.txt")


@pytest.fixture
def estate(tmp_path: Path) -> EstateFile:
    home = tmp_path / "home"
    for name in (*FILES, "expectations/a.yaml", "expectations/b.json", "expectations/README.md", "lake/x.rules"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    (tmp_path / "outside.rules").write_text("")
    os.mkfifo(home / "rules" / "pipe.rules")
    (home / "rules" / "folder.rules").mkdir()
    (home / "rules" / "out.rules").symlink_to(tmp_path / "outside.rules")
    (home / "rules" / "beside.rules").symlink_to(home / "secret")
    (home / "rules" / "inside.rules").symlink_to(home / "rules" / "notes.txt")
    (home / "estate.yaml").write_text(ESTATE)
    return load(home / "estate.yaml")


def test_what_a_form_may_name(estate: EstateFile) -> None:
    assert form_files.tables(estate) == ["listed.txt", "rules/back.rules", "rules/inside.rules", "rules/team/a.rules"]
    assert form_files.suites(estate) == ["expectations/a.yaml", "expectations/b.json", "listed.json"]
    assert form_files.table(estate, "listed.txt") == estate.path.parent / "listed.txt"
    assert form_files.suite(estate, "expectations/a.yaml") == estate.path.parent / "expectations" / "a.yaml"


@pytest.mark.parametrize(
    "name",
    [
        *("secret", "estate.yaml", "lake/x.rules", "rules/notes.txt", "rules/pipe.rules", "rules/folder.rules"),
        *("rules/out.rules", "rules/beside.rules", "rules/nothing.rules", "expectations/a.yaml"),
        *("/etc/passwd", "../outside.rules", "rules/../secret", "rules/./back.rules", "", "x\0y"),
    ],
)
def test_what_it_may_not_and_what_to_choose_instead(estate: EstateFile, name: str) -> None:
    with pytest.raises(SettingsError, match="may not be chosen") as caught:
        form_files.table(estate, name)
    assert str(caught.value).endswith(
        f"files *.rules in {estate.path.parent}/rules: "
        "listed.txt, rules/back.rules, rules/inside.rules, rules/team/a.rules"
    )


def test_suites_likewise(estate: EstateFile) -> None:
    with pytest.raises(SettingsError, match=r"suite rules/back.rules may not be chosen.* files \*.yaml or \*.json in"):
        form_files.suite(estate, "rules/back.rules")
