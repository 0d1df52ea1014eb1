"""The folder of Data Docs: what is somebody else's stays as it is, and no link is followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mqops.errors import SettingsError
from mqops.quality.docs_folder import MARKER, new_docs


def build(folder: Path, *names: str) -> None:
    with new_docs(folder) as made:
        for name in names:
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text("ours")


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("there", [False, True])
def test_a_new_or_an_empty_folder_is_taken_and_made_again(tmp_path: Path, there: bool) -> None:
    docs = tmp_path / "a" / "docs"
    if there:
        docs.mkdir(parents=True)
    build(docs, "index.html", "validations/s/1.html")
    assert files(docs) == [MARKER, "index.html", "validations/s/1.html"]
    build(docs, "index.html", "validations/s/2.html")
    assert files(docs) == [MARKER, "index.html", "validations/s/2.html"]
    assert os.stat(docs).st_mode & 0o077 == 0
    assert [path.name for path in docs.parent.iterdir()] == ["docs"]


def test_a_folder_with_anything_of_others_is_refused_and_stays(tmp_path: Path) -> None:
    site, ours = tmp_path / "site", tmp_path / "ours"
    (site / "deep").mkdir(parents=True)
    (site / "deep" / "page.html").write_text("theirs")
    with pytest.raises(SettingsError, match=r"site has what mqops did not make, such as deep/page.html.*new folder"):
        build(site, "index.html")
    build(ours, "index.html")
    (ours / "notes.txt").write_text("theirs")
    with pytest.raises(SettingsError, match=r"such as notes\.txt"):
        build(ours, "index.html")
    (site / MARKER).write_text("")
    with pytest.raises(SettingsError, match=r"such as deep/page\.html"):
        build(site, "index.html")
    assert (site / "deep" / "page.html").read_text() == (ours / "notes.txt").read_text() == "theirs"


def test_no_link_is_followed(tmp_path: Path) -> None:
    victim, docs = tmp_path / "victim", tmp_path / "docs"
    victim.mkdir()
    (victim / "page.html").write_text("theirs")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(SettingsError, match="link is a link or a file: name a new folder"):
        build(tmp_path / "link", "index.html")
    build(docs, "index.html")
    (docs / "index.html").unlink()
    (docs / "index.html").symlink_to(victim / "page.html")  # a name of ours
    with pytest.raises(SettingsError, match=r"such as index\.html"):
        build(docs, "index.html")
    (docs / "index.html").unlink()
    (docs / "more").symlink_to(victim)
    with pytest.raises(SettingsError, match="such as more"):
        build(docs, "index.html")
    (docs / "more").unlink()
    (docs / MARKER).unlink()
    (docs / MARKER).symlink_to(victim / "page.html")
    with pytest.raises(SettingsError, match=f"such as {MARKER}"):
        build(docs, "index.html")
    assert (victim / "page.html").read_text() == "theirs"


def test_what_comes_while_the_pages_are_made_is_not_lost(tmp_path: Path) -> None:
    docs = tmp_path / "docs"

    def meanwhile() -> None:
        with new_docs(docs) as made:
            (made / "index.html").write_text("ours")
            docs.mkdir()
            (docs / "late.html").write_text("theirs")

    with pytest.raises(SettingsError, match=r"such as late\.html"):
        meanwhile()
    assert files(tmp_path) == ["docs/late.html"]
