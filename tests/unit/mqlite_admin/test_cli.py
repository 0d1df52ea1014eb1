"""The `mqlite` command: queue managers, their service, users, messages."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pymqi
import pytest

from mqlite.security import users
from mqlite.storage import service_lock
from mqlite.storage.error_log import LOG_BYTES

if TYPE_CHECKING:
    from .conftest import Mqlite


def folder(name: str) -> Path:
    return Path(os.environ["MQLITE_HOME"]) / name


def listed(mqlite: Mqlite) -> dict[str, str]:
    return {row["name"]: row["status"] for row in json.loads(mqlite("list", "--json").output)}


@pytest.mark.parametrize(
    "words", [("create", "QM1"), ("list",), ("mqsc", "QM1"), ("put", "QM1", "Q", "x"), ("browse", "QM1", "Q")]
)
def test_without_a_folder_of_queue_managers(
    mqlite: Mqlite, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.delenv("MQLITE_HOME")
    told = mqlite(*words, code=1).output
    assert told == (
        "Error: MQRC_Q_MGR_NOT_AVAILABLE (2059): MQLITE_HOME is not set: name the folder of queue managers in it\n"
    )


def test_create_list_delete(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    mqlite("create", "MVS1", "--platform", "zos", "--ccsid", "1047")
    rows = {row["name"]: row for row in json.loads(mqlite("list", "--json").output)}
    assert (rows["QM1"]["platform"], rows["QM1"]["ccsid"]) == ("unix", 1208)
    assert (rows["MVS1"]["platform"], rows["MVS1"]["ccsid"]) == ("zos", 1047)
    assert "STATUS(service not running)" in mqlite("list").output
    assert "AMQ8110S" in mqlite("create", "QM1", code=1).output
    assert "is not a queue manager name" in mqlite("create", "no good", code=1).output
    mqlite("delete", "QM1")
    assert listed(mqlite) == {"MVS1": "service not running"}
    there_is_none = f"Error: MQRC_Q_MGR_NAME_ERROR (2058): there is no queue manager QM1 in {folder('')}\n"
    assert mqlite("delete", "QM1", code=1).output == there_is_none


def test_without_a_name_the_only_queue_manager_is_meant(mqlite: Mqlite) -> None:
    assert "there is no queue manager in" in mqlite("delete", "", code=1).output
    mqlite("create", "QM1")
    mqlite("create", "QM2")
    assert "several queue managers: name one of QM1, QM2" in mqlite("delete", "", code=1).output
    mqlite("delete", "QM2")
    mqlite("delete", "")
    assert listed(mqlite) == {}


def test_a_queue_manager_that_is_used_is_not_deleted(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    connected = pymqi.connect("QM1")
    refused = mqlite("delete", "QM1", code=1).output
    assert refused == f"Error: AMQ5610E: queue manager QM1 is running; process {os.getpid()} is connected: end it\n"
    connected.disconnect()
    mqlite("delete", "QM1")


def test_a_group_and_a_queue_manager_have_different_names(mqlite: Mqlite) -> None:
    mqlite("create", "MVS1", "--platform", "zos", "--group", "QSG1")
    assert "a queue-sharing group: choose another name" in mqlite("create", "QSG1", code=1).output
    refused = mqlite("create", "MVS2", "--platform", "zos", "--group", "MVS1", code=1).output
    assert "a queue manager: choose another name for the group" in refused


def test_files_are_private_to_their_owner(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    mqlite("start", "QM1")
    mqlite("user", "add", "QM1", "someone", stdin="secret\n")
    mqlite("end", "QM1")
    assert stat.S_IMODE(folder("QM1").stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder("QM1").iterdir()}
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


def test_no_queue_manager_is_made_where_another_user_can_change_it(mqlite: Mqlite, tmp_path: Path) -> None:
    home = Path(os.environ["MQLITE_HOME"])
    home.mkdir(exist_ok=True)
    home.chmod(0o777)
    assert "other users can write to MQLITE_HOME" in mqlite("create", "QM1", code=1).output
    home.rmdir()
    home.symlink_to(tmp_path)
    assert "is a link: name the folder itself" in mqlite("create", "QM1", code=1).output
    assert not folder("QM1").exists()
    home.unlink()
    mqlite("create", "QM1")


def test_no_queue_manager_is_used_where_another_user_can_change_it(mqlite: Mqlite) -> None:
    """The rights may have changed since `mqlite create`."""
    mqlite("create", "QM1")
    home = Path(os.environ["MQLITE_HOME"])
    home.chmod(0o720)
    assert "run chmod go-w on it" in mqlite("mqsc", "QM1", stdin="PING QMGR\n", code=1).output
    with pytest.raises(pymqi.MQMIError, match="MQRC_NOT_AUTHORIZED"):
        pymqi.connect("QM1")
    home.chmod(0o700)
    pymqi.connect("QM1").disconnect()


def test_a_log_that_begins_anew_is_private_too(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    (folder("QM1") / "errors.log").write_text("x" * LOG_BYTES)
    before = os.umask(0o022)
    try:
        mqlite("start", "QM1")
    finally:
        os.umask(before)
    mqlite("end", "QM1")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder("QM1").glob("errors.log*")}
    assert modes == {"errors.log": 0o600, "errors.log.1": 0o600}


def test_service_starts_once_and_ends(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    assert "started" in mqlite("start", "QM1").output
    assert listed(mqlite) == {"QM1": "running"}
    assert "running already" in mqlite("start", "QM1").output
    assert "its service runs: end it with `mqlite end`" in mqlite("delete", "QM1", code=1).output
    mqlite("end", "QM1")
    assert listed(mqlite) == {"QM1": "service not running"}
    assert "AMQ8146E" in mqlite("end", "QM1", code=1).output


def test_service_that_was_killed_is_seen_as_ended(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    mqlite("start", "QM1")
    os.kill(service_lock.holder(folder("QM1")), signal.SIGKILL)
    service_lock.wait_until_ended(folder("QM1"))
    assert listed(mqlite) == {"QM1": "service not running"}
    assert "started" in mqlite("start", "QM1").output
    mqlite("end", "QM1")


def test_service_in_the_foreground(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    process = subprocess.Popen([sys.executable, "-m", "mqlite.cli", "start", "QM1", "--foreground"])
    while service_lock.holder(folder("QM1")) != process.pid:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0


def test_password_is_stored_as_a_salted_hash_and_checked(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    mqlite("user", "add", "QM1", "app", stdin="pass word\n")
    mqlite("user", "add", "QM1", "other", stdin="pass word\n")
    text = (folder("QM1") / "users.json").read_text()
    assert "pass word" not in text
    stored = json.loads(text)
    assert stored["app"] != stored["other"]
    assert users.check(folder("QM1"), "app", "pass word")
    assert not users.check(folder("QM1"), "app", "pass")
    assert not users.check(folder("QM1"), "nobody", "pass word")
    mqlite("user", "add", "QM1", "app", stdin="new\n")
    assert not users.check(folder("QM1"), "app", "pass word")
    assert mqlite("user", "list", "QM1").output.split() == ["app", "other"]
    mqlite("user", "delete", "QM1", "app")
    assert not users.check(folder("QM1"), "app", "new")
    assert "has no user" in mqlite("user", "delete", "QM1", "app", code=1).output
    assert "password" in mqlite("user", "add", "QM1", "app", stdin="\n", code=1).output


def test_put_browse_and_get(mqlite: Mqlite) -> None:
    mqlite("create", "QM1")
    mqlite("mqsc", "QM1", stdin="DEFINE QLOCAL(Q)\n")
    mqlite("put", "QM1", "Q", "one", "two")
    mqlite("put", "QM1", "Q", stdin="three\nfour\n")
    assert mqlite("browse", "QM1", "Q").output.split() == ["one", "two", "three", "four"]
    (line,) = mqlite("browse", "QM1", "Q", "--limit", "1", "--json").output.splitlines()
    assert bytes.fromhex(json.loads(line)["body"]) == b"one"
    assert mqlite("get", "QM1", "Q").output == "one\n"
    assert mqlite("get", "QM1", "Q", "--all").output.split() == ["two", "three", "four"]
    mqlite("get", "QM1", "Q", code=1)
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085)" in mqlite("get", "QM1", "NONE", code=1).output


@pytest.mark.parametrize("arguments", [["create"], ["create", "Q", "--platform", "vms"], ["nothing"]])
def test_wrong_usage_ends_with_2(mqlite: Mqlite, arguments: list[str]) -> None:
    mqlite(*arguments, code=2)


def test_home_can_be_named_on_the_command_line(mqlite: Mqlite, tmp_path: Path) -> None:
    mqlite("--home", str(tmp_path / "other"), "create", "QM9")
    assert (tmp_path / "other" / "QM9" / "qm.db").exists()


@pytest.mark.parametrize(
    ("platform", "ccsid"),
    [
        ("unix", 12345),  # no CCSID
        ("unix", 1200),  # UTF-16
        ("unix", 300),  # double bytes only
        ("unix", 500),  # EBCDIC
        ("zos", 1208),
        ("zos", 12345),
    ],
)
def test_a_CCSID_that_names_cannot_be_in(mqlite: Mqlite, platform: str, ccsid: int) -> None:
    """IBM MQ, "CodedCharSetId": single bytes for the characters of names. With another one MQINQ and puts failed."""
    said = mqlite("create", "QM1", "--platform", platform, "--ccsid", str(ccsid), code=1).output
    assert f"CCSID {ccsid} cannot be that of a queue manager of platform {platform}: choose one" in said
    mqlite("create", "QM1", "--platform", platform)


@pytest.mark.parametrize(
    ("platform", "ccsid"), [("unix", 819), ("unix", 850), ("unix", 1252), ("unix", 5348), ("unix", 943), ("zos", 1047)]
)
def test_a_CCSID_that_names_can_be_in(mqlite: Mqlite, platform: str, ccsid: int) -> None:
    mqlite("create", "QM1", "--platform", platform, "--ccsid", str(ccsid))
    assert f"CCSID({ccsid})" in mqlite("mqsc", "QM1", stdin="DISPLAY QMGR CCSID").output
