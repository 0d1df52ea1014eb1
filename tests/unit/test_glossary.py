"""The glossary explains each action that a plan can show, and names each decider."""

from __future__ import annotations

import re
from pathlib import Path

from mqops.actions import Action
from mqops.deciders.registry import DECIDERS

GLOSSARY = (Path(__file__).resolve().parents[2] / "docs" / "glossary.md").read_text()


def test_every_decider_stands_in_the_glossary() -> None:
    (row,) = re.findall(r"^\| decider \|(.*)\|$", GLOSSARY, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == [*DECIDERS], "docs/glossary.md, the row of deciders, as registry.py has them"


def test_every_action_of_a_plan_stands_in_the_glossary() -> None:
    actions = GLOSSARY.split("## Actions of a plan")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| ([A-Z]+) \|", actions, re.MULTILINE)) == sorted(map(str, Action))
