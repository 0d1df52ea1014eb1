"""A lake that a neighbour on the machine made before us, or can write to: nothing is read from it or written to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mq_support import DLQ, dead_letter

from mqops.errors import LakeError
from mqops.lake.files import make_durable, make_folder, read_json, refuse_foreign, write_json
from mqops.lake.run import RunFolder, folder_of
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of


@pytest.fixture
def manager(queue_manager):
    return queue_manager(mqsc="DEFINE QLOCAL(A)\n")


@pytest.mark.parametrize("below", [".", "QM1", "QM1/runs", "QM1/ledger"])
def test_a_folder_that_others_can_write_to_ends_the_command_with_what_to_do(manager, mqops_here, lake, below):
    manager.put(DLQ, [dead_letter("A", b"1")])
    folder = lake / below
    make_folder(folder)
    folder.chmod(0o777)
    refused = mqops_here("dlq", "run", "--once", DLQ, "QM1", text="ACTION(RETRY)", expect=1)
    assert f"mqops: Other users can write to {folder}: `chmod go-w {folder}`" in refused.stderr
    assert (manager.depth(DLQ), manager.depth("A")) == (1, 0)
    folder.chmod(0o755)
    mqops_here("dlq", "run", "--once", DLQ, "QM1", text="ACTION(RETRY)")
    assert manager.depth("A") == 1


@pytest.mark.parametrize("below", [".", "QM1", "QM1/runs", "QM1/ledger"])
def test_a_link_in_place_of_a_folder_is_refused(lake, tmp_path, below):
    make_folder(lake.parent / "elsewhere")
    make_folder((lake / below).parent)
    (lake / below).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LakeError, match="is not a folder, or it is a link to one"):
        folder_of(lake, "QM1")
    assert not any((tmp_path / "elsewhere").iterdir())


def test_a_folder_of_another_user_is_refused(lake, monkeypatch):
    make_folder(lake)
    if os.geteuid() == 0:
        os.chown(lake, 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 65533)  # who is not root cannot give a folder away
    with pytest.raises(LakeError, match=f"belongs to user .* `chown -R .* {lake}`"):
        RunFolder.at(lake, "QM1", "cli-1")


def test_a_run_is_looked_at_again_when_it_is_acted_on(lake):
    run = RunFolder.at(lake, "QM1", "cli-1").create()
    run.path.parent.chmod(0o777)
    with pytest.raises(LakeError, match="Other users can write to"), run.lock():
        pass


def test_no_file_is_written_through_a_link(lake, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    precious.chmod(0o644)
    file = LedgerFile(folder_of(lake, "QM1"), str)
    make_folder(file.folder)
    file.path.symlink_to(precious)
    with pytest.raises(LakeError, match="The lake failed at"), writer_of(file):
        pass
    (lake / f".x.json.{os.getpid()}").symlink_to(precious)  # the draft has a name that nobody knows before
    write_json(lake / "x.json", {})
    assert read_json(lake / "x.json") == {"format": 1}
    Path(file.folder, "part").symlink_to(precious)
    with pytest.raises(LakeError, match="The lake failed at"):
        make_durable(file.folder)
    assert (precious.read_text(), precious.stat().st_mode & 0o777) == ("precious", 0o644)


def test_what_is_not_there_yet_is_no_danger(lake):
    refuse_foreign(lake, lake / "QM1")
