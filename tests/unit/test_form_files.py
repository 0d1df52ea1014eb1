"""Which tables and suites a run's form may name."""

from __future__ import annotations

import os
import shutil
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


def config_map(folder: Path, files: dict[str, str], version: str) -> None:
    """Mount a ConfigMap as the kubelet does (its AtomicWriter): files in a folder of their own, a link `..data` to it,
    and a link through that for each name at the top."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / version / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / version / name).write_text(text)
        top = folder / name.partition("/")[0]
        if not top.is_symlink():
            top.symlink_to(Path("..data", top.name))
    (folder / "..data_tmp").symlink_to(version)
    (folder / "..data_tmp").rename(folder / "..data")


FIRST, SECOND = "..2026_11_26_10_11_12.1234567890", "..2026_11_27_08_00_00.1234567891"


@pytest.mark.parametrize("whole", [True, False], ids=["one ConfigMap", "one for each folder"])
def test_files_of_a_config_map_are_offered_once_and_are_read_as_they_are_now(tmp_path: Path, whole: bool) -> None:
    home = tmp_path / "home"
    files = {"estate.yaml": ESTATE, "rules/back.rules": "old", "rules/a.rules": "old", "expectations/a.yaml": "old"}

    def mount(version: str, text: str) -> None:
        new = {name: was if name == "estate.yaml" else text for name, was in files.items()}
        if whole:
            config_map(home, new, version)
            return
        for folder in ("", "rules", "expectations"):
            own = {name: kept for name, kept in new.items() if name.rpartition("/")[0] == folder}
            config_map(home / folder, {name.rpartition("/")[2]: kept for name, kept in own.items()}, version)

    mount(FIRST, "old")
    estate = load(home / "estate.yaml")
    assert form_files.tables(estate) == ["listed.txt", "rules/a.rules", "rules/back.rules"]
    assert form_files.suites(estate) == ["expectations/a.yaml", "listed.json"]
    named = form_files.table(estate, "rules/a.rules"), form_files.suite(estate, "expectations/a.yaml")
    listed = estate.rules("rules/back.rules")
    mount(SECOND, "new")
    for old in home.rglob(FIRST):
        shutil.rmtree(old)
    assert [path.read_text() for path in (*named, listed)] == ["new", "new", "new"]


def test_a_file_with_two_names_is_offered_once(estate: EstateFile) -> None:
    rules = estate.path.parent / "rules"
    (rules / "z.rules").symlink_to("team/a.rules")
    (rules / ".git").mkdir()
    for name in (".git/x.rules", ".#back.rules"):
        (rules / name).write_text("")
    (rules / "again.rules").symlink_to("back.rules")
    assert form_files.tables(estate) == ["listed.txt", "rules/back.rules", "rules/inside.rules", "rules/team/a.rules"]
