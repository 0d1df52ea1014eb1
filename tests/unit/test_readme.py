"""The README's commands work as they stand, in their order, and every link of a document leads to a file."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from mq_support import Manager, dead_letter

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "include" / "expectations" / "README.md"]
BLOCKS = [block.strip().splitlines() for block in re.findall(r"^```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)]
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


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^make (\w+)", README, re.MULTILINE))))
def test_make_targets_exist(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def links(page: Path) -> set[Path]:
    """The files that a page's links lead to."""
    found = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    return {(page.parent / link).resolve() for link in found if "://" not in link}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    assert [str(link) for link in sorted(links(page)) if not link.exists()] == []


def test_the_readme_names_every_document() -> None:
    assert set(PAGES) - {ROOT / "README.md"} <= links(ROOT / "README.md")
