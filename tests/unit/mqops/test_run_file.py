"""A JSON file of a run has a type: what fits is read, what does not is one error that names file and field."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from mqops.errors import LakeError
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """As a file of a run is declared."""

    plan: str
    lanes: tuple[int, ...] = ()
    key: str = ""


NOTE = RunFile("note.json", Note)


@pytest.fixture
def run(tmp_path) -> RunFolder:
    return RunFolder.at(tmp_path / "lake", "QM1", "r1").create()


def test_what_is_written_is_read(run):
    assert NOTE.find(run) is None
    NOTE.write(run, Note(plan="ab", lanes=(1, 0)))
    assert json.loads(NOTE.path(run).read_text()) == {"format": 1, "plan": "ab", "lanes": [1, 0], "key": ""}
    assert NOTE.find(run) == NOTE.read(run) == Note(plan="ab", lanes=(1, 0))


def test_files_of_other_versions_are_read(run):
    NOTE.path(run).write_text('{"plan": "ab", "of a later version": {"x": 1}}')  # and without what an earlier one lacks
    assert NOTE.read(run) == Note(plan="ab")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "plan: Field required"),
        ('{"plan": 7}', "plan: "),
        ('{"plan": "ab", "lanes": [1, "secret"]}', "lanes.1: "),
        ("[]", "the file: "),
        ("{", "is not JSON"),
    ],
)
def test_what_does_not_fit_is_one_error_that_says_what_to_do(run, content, said):
    NOTE.path(run).write_text(content)
    with pytest.raises(LakeError) as error:
        NOTE.read(run)
    assert str(NOTE.path(run)) in str(error.value)
    assert said in str(error.value)
    assert "secret" not in str(error.value)
    assert "JSON" in said or "Restore it from a copy" in str(error.value)


def test_a_fault_of_ours_is_not_told_as_a_file_that_cannot_be_read(run):
    """Who reads a file catches nothing but `LakeError`: a wrong name of a field stays what it is."""
    NOTE.write(run, Note(plan="ab"))
    with pytest.raises(AttributeError):
        NOTE.read(run).no_such_field  # noqa: B018
