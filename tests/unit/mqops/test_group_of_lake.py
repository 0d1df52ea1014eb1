"""A lake with the modes that Kubernetes gives a volume (fsGroup): for mqops's own group, and for another user."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mqops.errors import LakeError, SettingsError
from mqops.lake import own_group
from mqops.lake.files import read_private, refuse_foreign
from mqops.lake.shared import refuse_unseen

POD = 53_000
"""User of the pod."""
GROUP = 53_500
"""fsGroup: no account of this machine is in it."""


IMPORTS = """
import importlib.metadata, os, pathlib  # the standard library may lie where the user of the pod cannot read
from mqops.lake.files import write_json
from mqops.lake.run import RunFolder, folder_of
from mqops.lake.shared import refuse_unseen
"""


@pytest.fixture
def volume() -> Iterator[Path]:
    """A mounted volume: of root, and for the group, as the kubelet leaves it. Other users can reach it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "volume")
        folder.mkdir()
        Path(place).chmod(0o755)
        kubelet(folder)
        folder.chmod(0o2775)
        yield folder


def kubelet(folder: Path) -> None:
    """What the kubelet does with a volume at each mount (`SetVolumeOwnership`): group, rw for it, setgid."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, -1, GROUP)
        path.chmod(path.stat().st_mode | (0o2770 if path.is_dir() else 0o660))


def in_pod(code: str, *, user: int = POD, groups: tuple[int, ...] = (GROUP,)) -> str:
    """Run Python as a user of a pod; gives what it printed, and the error that it ended with."""
    becomes = f"os.setgroups({list(groups)}); os.setgid({user}); os.setuid({user})\n"
    ledger = (
        "from mqops.ledger.file import LedgerFile\nfrom mqops.ledger.writer import writer_of\n"
        if "LedgerFile" in code
        else ""
    )
    command = [sys.executable, "-c", IMPORTS + ledger + becomes + code]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    return done.stdout + (done.stderr.splitlines()[-1] if done.returncode else "")


def test_a_lake_on_a_volume_of_the_own_group_works_and_works_again_after_the_next_mount(volume: Path) -> None:
    lake = volume / "lake"
    make = f"""
run = RunFolder.at(pathlib.Path({str(lake)!r}), "QM1", "r").create()
file = LedgerFile(run.lake_folder)
with run.lock(), writer_of(file):
    write_json(run.path / "x.json", {{}})
print(file.keys.newest().id)
"""
    first = in_pod(make)
    assert len(first.splitlines()) == 1
    assert "Error" not in first
    keys = lake / "QM1" / "ledger" / "keys.json"
    assert (lake.stat().st_mode & 0o777, keys.stat().st_mode & 0o777) == (0o700, 0o600)
    kubelet(volume)  # a further pod mounts it
    assert keys.stat().st_mode & 0o777 == 0o660
    assert in_pod(make) == first


@pytest.mark.parametrize(
    ("mode", "groups", "why"),
    [
        (0o2775, (), f"(in Kubernetes: fsGroup of the pod), but user {POD} is not in group {GROUP}"),
        (0o2777, (GROUP,), "Other users can write to"),
    ],
    ids=["not in the group", "the world"],
)
def test_a_lake_for_other_groups_or_the_world_is_refused(volume: Path, mode: int, groups: tuple, why: str) -> None:
    volume.chmod(mode)
    said = in_pod(f"folder_of(pathlib.Path({str(volume)!r}), 'QM1')", groups=groups)
    assert why in said
    assert f"`chmod go-w {volume}`, and look at what is in it" in said


def test_a_group_that_others_are_in_is_not_the_own_one(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of this machine's own lists, with the process in them."""
    monkeypatch.setattr(os, "getgroups", lambda: [GROUP])
    refuse_foreign(volume)
    accounts = [SimpleNamespace(pw_name=f"clerk{number}", pw_gid=GROUP, pw_uid=6000 + number) for number in range(5)]
    monkeypatch.setattr(own_group.pwd, "getpwall", lambda: accounts)
    with pytest.raises(LakeError, match=f"but others are in group {GROUP}, too: clerk0, clerk1, clerk2, ..."):
        refuse_foreign(volume)


@pytest.mark.parametrize(
    ("passwd", "said"),
    [
        ("files systemd", ""),
        ("files sss [NOTFOUND=return] systemd", ""),  # no SSSD runs here
        ("files ldap  # the bank's", "come from ldap, too, so nobody can list who is in group"),
    ],
)
def test_a_directory_of_accounts_cannot_be_listed(passwd: str, said: str, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "nsswitch.conf").write_text(f"# all\npasswd: {passwd}\ngroup: files\n")
    monkeypatch.setattr(own_group, "_SWITCH", tmp_path / "nsswitch.conf")
    monkeypatch.setattr(own_group, "_SSSD", tmp_path / "nss")
    monkeypatch.setattr(os, "getgroups", lambda: [GROUP])
    assert said in own_group.why_not_own(GROUP)
    assert bool(said) == bool(own_group.why_not_own(GROUP))


def test_a_key_that_a_group_reads_elsewhere_is_refused(volume: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "getgroups", lambda: [GROUP])
    for folder in (volume, tmp_path):
        (folder / "keys").write_text("{}")
        os.chown(folder / "keys", -1, GROUP)
        (folder / "keys").chmod(0o660)
    assert read_private(volume / "keys") == b"{}"
    with pytest.raises(SettingsError, match="Others may read or write the key file"):
        read_private(tmp_path / "keys")


def test_executors_of_another_user_or_with_another_disk_are_told_before_anything_is_moved(volume: Path) -> None:
    lake = volume / "lake"
    in_pod(f"RunFolder.at(pathlib.Path({str(lake)!r}), 'QM1', 'r').create()")
    run = lake / "QM1" / "runs" / "r"
    see = "refuse_unseen(pathlib.Path({!r}), made_by='the task')"
    assert in_pod(see.format(str(run))) == ""
    said = in_pod(see.format(str(run)), user=185)
    assert "LakeError: User 185 on " in said
    assert f"may not write to {run}, which the task made as user {POD}. Run both as one user: runAsUser" in said
    with pytest.raises(LakeError, match=f"does not see {run}x, which the task made: the lake is not shared. Mount"):
        refuse_unseen(Path(f"{run}x"), made_by="the task")
    kubelet(volume)  # members of the group can work in it then: nothing to refuse
    assert in_pod(see.format(str(run)), user=185) == ""
