"""`make test` sees to the browser: root on Debian gets it installed, everybody else is told what to install."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = 'NAME="Debian GNU/Linux"\nID=debian\n'
UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n'
INSTALLS = """#!/bin/sh
echo "$@" >> {log}
case "$*" in *install*) for one in {programs}; do printf '#!/bin/sh\\n' > {bin}/$one; chmod +x {bin}/$one; done;; esac
"""
CHROMIUM = "chromium chromedriver"
TOLD = (
    "browser: no chromium and no chromedriver; the browser tests need them. "
    "On Debian: apt-get install chromium chromium-driver\n"
)


class Machine:
    """A machine of which the test says what it is: its programs lie in a folder of the test's."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = importlib.util.spec_from_file_location("browser", ROOT / "include" / "setup" / "browser.py")
        assert spec
        assert spec.loader
        self.setup: ModuleType = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.setup)
        self.programs, self.log = folder / "bin", folder / "log"
        self.programs.mkdir()
        self.log.touch()
        self.monkeypatch = monkeypatch
        monkeypatch.setenv("PATH", f"{self.programs}:/no/such/folder")
        self.setup.OS_RELEASE = folder / "os-release"
        self.is_a(DEBIAN, user=0)

    def is_a(self, system: str, *, user: int) -> None:
        self.setup.OS_RELEASE.write_text(system)
        self.monkeypatch.setattr(os, "geteuid", lambda: user)

    def program(self, name: str, text: str = "#!/bin/sh\n") -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def apt_get(self, programs: str = CHROMIUM, *, ends_with: int = 0) -> None:
        """An apt-get that installs these programs and notes how it was called."""
        text = INSTALLS.format(log=self.log, bin=self.programs, programs=programs).replace("chmod", "/bin/chmod")
        self.program("apt-get", f"{text}exit {ends_with}\n")

    def calls(self) -> list[str]:
        return [line.split("Timeout=300 ")[1] for line in self.log.read_text().splitlines()]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_root_on_debian_gets_the_browser(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.apt_get()
    machine.setup.main()
    assert machine.calls() == ["update", "install --yes --no-install-recommends chromium chromium-driver"]
    assert capsys.readouterr() == ("browser: installing chromium and chromium-driver\n", "")


def test_only_what_is_missing_is_installed(machine: Machine) -> None:
    machine.program("chromium")
    machine.apt_get("chromedriver")
    machine.setup.main()
    assert machine.calls()[-1].endswith("recommends chromium-driver")


def test_nothing_is_installed_where_the_browser_is(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    for name in CHROMIUM.split():
        machine.program(name)
    machine.apt_get()
    machine.setup.main()
    assert not machine.calls()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("system", "user"), [(UBUNTU, 0), (DEBIAN, 1000)])
def test_everybody_else_is_told_what_to_install(
    machine: Machine, capsys: pytest.CaptureFixture[str], system: str, user: int
) -> None:
    machine.is_a(system, user=user)
    machine.apt_get()
    machine.setup.main()
    assert not machine.calls()
    assert capsys.readouterr() == ("", TOLD)


def test_an_installation_that_fails_is_told_and_ends_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.apt_get("", ends_with=100)
    machine.setup.main()
    assert machine.calls() == ["update"]
    assert capsys.readouterr().err == f"browser: apt-get failed:\nended with 100\n{TOLD}"
