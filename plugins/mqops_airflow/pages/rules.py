"""The page `rules`: a table with lint marks, what each rule was chosen for, and what two versions differ in.

A queue manager has a table for each workflow that decides by one: dead letters, backout queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from mqops.errors import SettingsError
from mqops.estate_workflows import RulesWorkflow
from mqops.given_file import table_text
from mqops.lake.run import RunFolder
from mqops.look.rules_in_use import MOST_COMPARED, RulesInUse, differences, rules_in_use
from mqops.look.runs import MOST_LOOKED_AT, Runs
from mqops.look.words import rules as words
from mqops.look.words.text import NOTHING, Label, OfRun, Table, Text, said
from mqops.rules import Parsed, parse
from mqops.rules import Table as Rules
from mqops_airflow.pages.render import render_page
from mqops_airflow.pages.security import Reader, reader
from mqops_airflow.pages.shared import shared
from mqops_airflow.runs.workplace import lake
from mqops_airflow.ui.table import Page


def router(page: Page) -> APIRouter:
    """The routes of the page."""
    routes, sees = APIRouter(), reader(page.right)

    @routes.get(page.path)
    def whole(
        request: Request, queue_manager: str = "", workflow: str = "", old: str = "", who: Reader = sees
    ) -> HTMLResponse:
        name = who.queue_manager(queue_manager)
        tables = dict(who.estate.estate.queue_managers[name].workflows(RulesWorkflow))
        if workflow and workflow not in tables:
            raise HTTPException(404, "The estate has no rules table for this workflow.")
        chosen = workflow or next(iter(tables), "")
        text, source, problem = _text(who, tables.get(chosen))
        origins = chosen in tables and tables[chosen].names_origins
        parsed, used = None, None
        if source and not problem:
            parsed, used = _used(lake(who.estate), name, chosen, text, source, origins=origins)
        diff = None
        if old and parsed and parsed.table and used:
            diff = _diff(lake(who.estate), used, old, parsed.table)
        return render_page(
            *(request, page, who, name),
            tables=tables,
            workflow=chosen,
            old=old,
            problem=problem,
            parsed=parsed,
            lines=words.lines(text, _marks(parsed), used) if parsed else None,
            used=used,
            versions=words.versions(used, parsed.table.digest) if used and parsed and parsed.table else None,
            diff=diff,
        )

    return routes


class _Diff(NamedTuple):
    """What an earlier version of the table would decide otherwise about the newest snapshot. Parameters: `none` the
    sentence where there are no `changes`."""

    compared: Text
    changes: Table
    none: str


@shared
def _used(
    place: Path, name: str, workflow: str, text: str, source: str, *, origins: bool
) -> tuple[Parsed, RulesInUse | None]:
    """A parsed table, and the use that runs made of it; None for a table that is not valid."""
    parsed = parse(text, source=source, origins=origins)
    return parsed, rules_in_use(place, name, workflow, parsed.table) if parsed.table else None


def _text(who: Reader, section: RulesWorkflow | None) -> tuple[str, str, str]:
    """The table of the estate: its text, its path as the estate has it, and why it cannot be read."""
    if section is None:
        return (
            "",
            "",
            "The estate has no rules table for this queue manager: dlq_rules and backout_reprocess of it name one",
        )
    path = who.estate.rules(section.rules)
    try:
        return table_text(path), section.rules, ""
    except SettingsError as error:
        return "", section.rules, str(error)


def _marks(parsed: Parsed) -> Mapping[int, list[Text]]:
    """Line → what the linter says of it."""
    marks: dict[int, list[Text]] = {}
    for kind, problems in (("error", parsed.errors), ("warning", parsed.warnings)):
        for one in problems:
            mark = Label(kind, "bad" if kind == "error" else "warn")
            marks.setdefault(one.line, []).append(said("{} column {}: {}", mark, str(one.column), one.message))
    return marks


def _diff(place: Path, used: RulesInUse, old: str, new: Rules) -> _Diff:
    """Raises `HTTPException` 404: no run has used this version."""
    version = next((one for one in used.versions if one.digest == old), None)
    if version is None:
        raise HTTPException(404, "None of the newest runs used this version of the table.")
    table = parse(version.text, source="the version", origins=True, lint=False).table
    run = next(
        (
            found
            for one in Runs(place, used.queue_manager).newest(MOST_LOOKED_AT, workflow=used.workflow)
            if any((found := RunFolder.at(place, used.queue_manager, one.run)).snapshot.glob("*.parquet"))
        ),
        None,
    )
    if table is None or run is None:
        return _Diff(NOTHING, words.changes(()), words.NOT_COMPARED)
    messages, changes = differences(run, table, new)
    compared = words.compared(
        version.digest, OfRun(run.queue_manager, run.run), messages, first_only=messages == MOST_COMPARED
    )
    return _Diff(compared, words.changes(changes), words.SAME)
