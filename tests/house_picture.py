"""`make docs`: the pictures of the rooms in docs/architecture.md, made from the imports of the code.

An arrow says that a room imports another one. An arrow that other arrows already imply is left out (A to C, where A
imports B and B imports C). The order from top to bottom is that of `.importlinter`.
"""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
CONTRACTS = {
    "mqops": "importlinter:contract:rooms",
    "mqlite": "importlinter:contract:mqlite-rooms",
    "mqops_airflow": "importlinter:contract:airflow-rooms",
}
MADE = re.compile(r"(<!-- made by `make docs` from the imports of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def layers(package: str) -> list[list[str]]:
    """The rooms of a package from top to bottom, those of one layer together."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    lines = contracts[CONTRACTS[package]]["layers"].split("\n")
    return [[room.strip() for room in line.split("|")] for line in lines if line.strip()]


def imports(package: str) -> dict[str, set[str]]:
    """Room → the rooms that it imports."""
    graph = grimp.build_graph(package)
    rooms = {child.removeprefix(f"{package}."): child for child in graph.find_children(package)}
    for child in rooms.values():
        graph.squash_module(child)
    modules = {module: room for room, module in rooms.items()}
    return {
        room: {
            modules[found] for found in graph.find_modules_directly_imported_by(module) - {module} if found in modules
        }
        for room, module in rooms.items()
    }


def implied(room: str, target: str, direct: Mapping[str, set[str]]) -> bool:
    """Whether another import of the room leads to the target."""
    open_rooms, seen = [other for other in direct[room] if other != target], set()
    while open_rooms:
        at = open_rooms.pop()
        if at == target:
            return True
        if at not in seen:
            seen.add(at)
            open_rooms += direct[at]
    return False


def picture(package: str) -> Iterator[str]:
    """The lines of a Mermaid flowchart."""
    direct = imports(package)
    yield "```mermaid"
    yield "flowchart TB"
    for number, rooms in enumerate(layers(package)):
        if len(rooms) > 1:
            yield f"  subgraph l{number}[ ]"
            yield from (f"    {room}" for room in rooms)
            yield "  end"
        else:
            yield f"  {rooms[0]}"
    for rooms in layers(package):
        for room in rooms:
            yield from (
                f"  {room} --> {target}" for target in sorted(direct[room]) if not implied(room, target, direct)
            )
    yield "```"


def page(text: str) -> str:
    """The page with its pictures made anew."""
    return MADE.sub(lambda found: found[1] + "\n".join(picture(found[2])) + "\n" + found[3], text)


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
