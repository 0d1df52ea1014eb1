"""The commands of README and pages work as they stand, in their order; their links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from mq_support import Manager, dead_letter

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = {
    path.relative_to(ROOT): path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}
BLOCKS = [
    block.strip().splitlines()
    for name in ("docs/command_line.md", "docs/mqlite.md")
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", PAGES[Path(name)], re.DOTALL | re.MULTILINE)
    if not language
]
COMMANDS = [[line for line in block if not line.startswith(("make ", ". "))] for block in BLOCKS]


@pytest.mark.parametrize("commands", [block for block in COMMANDS if block], ids=lambda block: block[0][:20])
def test_commands(commands: list[str], tmp_path: Path) -> None:
    manager = Manager("QM1", tmp_path)
    manager.mqlite("create", "QM1")
    manager.mqsc((ROOT / "include" / "mqsc" / "QM1.mqsc").read_text())
    manager.put("SYSTEM.DEAD.LETTER.QUEUE", [dead_letter("CARDS.AUTH", b"x")])
    environment = {**manager.environment, "MQOPS_LAKE": str(tmp_path / "lake")}
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=environment, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def _with_its_exit_code(line: str) -> str:
    """The pass on the demonstration's messages ends with 1, as the README says: a queue there is full."""
    command, moves, _comment = line.partition("#")
    return f"{command}|| test $? = 1" if moves and "ends with 1" in line else line


def test_commands_of_the_readme_in_their_order_from_nothing(tmp_path: Path) -> None:
    """But for Airflow itself, which tests/e2e start."""
    blocks = re.findall(r"^```\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("make up")]
    assert [line.split()[1] for line in lines[:2]] == ["demo", "down"]
    environment = {name: value for name, value in os.environ.items() if name not in ("MQLITE_HOME", "MQOPS_LAKE")}
    done = subprocess.run(
        ["bash", "-e"], cwd=ROOT, env=environment | {"MQOPS_VAR": str(tmp_path)}, text=True, capture_output=True,
        input="\n".join(map(_with_its_exit_code, lines)), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2,330 messages on SYSTEM.DEAD.LETTER.QUEUE of QM1" in done.stdout
    assert "Start Airflow with `make up`" in done.stdout
    assert "qm1_dlq_rules          the dead-letter queue" in done.stdout
    assert "lines, unbroken" in done.stdout


TARGETS = {target for text in PAGES.values() for target in re.findall(r"^make (\w+)|`make (\w+)`", text, re.MULTILINE)}


@pytest.mark.parametrize("target", sorted({"".join(target) for target in TARGETS}))
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}\b.*:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("target", ["up", "demo", "down", "run", "test", "quick"])
def test_the_readme_names_what_everybody_needs(target: str) -> None:
    assert re.search(rf"`?make {target}\b", README)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 100
    own = README.partition("## In your own Airflow\n")[2].partition("\n## ")[0]
    assert 0 < len(own.strip().splitlines()) <= 10


LINKS = sorted({(page, link) for page, text in PAGES.items() for link in re.findall(r"\]\(([^)#:]+)\)", text)})


@pytest.mark.parametrize(("page", "link"), LINKS, ids=str)
def test_links_lead_to_files(page: Path, link: str) -> None:
    assert (ROOT / page).parent.joinpath(link).exists()
