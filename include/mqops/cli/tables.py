"""Rules tables for people and scripts: read from a file, as a JSON document, with their errors and warnings as text."""

from __future__ import annotations

from dataclasses import replace
from typing import IO, Any

import click

from mqops.actions import Action
from mqops.as_json import JsonObject, json_object
from mqops.cli.outcome import show_line, show_text
from mqops.counted import counted
from mqops.given_file import content_of, opener, read_errors
from mqops.rules import Control, Parsed, Problem, Rule, parse


class GivenFile(click.File):
    """A file that is named on the command line, `-` for standard input: opened for bytes, without a wait for whoever
    may write to a named pipe."""

    def __init__(self) -> None:
        super().__init__("rb")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The open file. It is closed with the command."""
        if not isinstance(value, str) or value == "-":
            return super().convert(value, param, ctx)
        try:
            stream = open(value, "rb", opener=opener)  # noqa: SIM115 - the context closes it
        except OSError as error:
            self.fail(f"{click.format_filename(value)!r}: {error.strerror}", param, ctx)
        if ctx is not None:
            ctx.call_on_close(stream.close)
        return stream


def check_document(parsed: Parsed) -> JsonObject:
    """What `rules check --json` prints (docs/command_line.md)."""
    table = parsed.table
    return {
        "ok": table is not None,
        "control": control_document(table.control) if table else {},
        "rules": [rule_document(rule) for rule in table.rules] if table else [],
        "errors": [_problem(problem) for problem in parsed.errors],
        "warnings": [_problem(problem) for problem in parsed.warnings],
    }


def control_document(control: Control) -> JsonObject:
    """Control data by keyword, defaults filled in."""
    queue: JsonObject = {"INPUTQ": control.inputq, "INPUTQM": control.inputqm}
    return queue | {"RETRYINT": control.retryint, "WAIT": control.wait}


def rule_document(rule: Rule) -> JsonObject:
    """One rule: its line, the patterns that were written, and the action with its defaults filled in.

    A pattern of IBM's is one value, one of an extension a list of what stood in its brackets.
    """
    action: JsonObject = {"ACTION": rule.action, "RETRY": rule.retry}
    if rule.action == Action.FWD:
        action |= {"FWDQ": rule.fwdq, "FWDQM": rule.fwdqm, "HEADER": "YES" if rule.header else "NO"}
    if rule.action.puts:
        action["PUTAUT"] = rule.putaut
    extensions: JsonObject = {
        "CANARY": rule.canary,
        "PACE": rule.pace,
        "MAXREPLAY": rule.max_replay,
        "BACKOFF": ",".join(f"{seconds}s" for seconds in rule.backoff),
        "ORDER": rule.order,
    }
    action |= {name: value for name, value in extensions.items() if value}
    extended: dict[str, list[str]] = {}
    for condition in rule.extensions:
        extended.setdefault(condition.question.keyword, []).append(str(condition))
    patterns = json_object(rule.patterns) | json_object(extended)
    return {"line": rule.line, "patterns": patterns, "action": action}


def _problem(problem: Problem) -> JsonObject:
    return {"line": problem.line, "column": problem.column, "message": problem.message}


def parsed_from(file: IO[bytes], *, strict: bool = False, origins: bool = False) -> Parsed:
    """What `parse` makes of a file."""
    return parse(text_from(file), source=getattr(file, "name", "<stdin>"), strict=strict, origins=origins)


def text_from(file: IO[bytes]) -> str:
    """The text of a table's file; bytes that are not UTF-8 are kept. Raises `SettingsError`: it cannot be read."""
    with read_errors(getattr(file, "name", "the table")):
        return content_of(file).decode("utf-8", "surrogateescape")


def with_warnings(parsed: Parsed, warnings: list[Problem], text: str) -> Parsed:
    """The same with more warnings, in the order of the text."""
    lines = text.split("\n")
    shown = [replace(one, text=lines[one.line - 1].removesuffix("\r")) for one in warnings]
    every = sorted([*parsed.warnings, *shown], key=lambda one: (one.line, one.column))
    return replace(parsed, warnings=tuple(every))


def show_check(parsed: Parsed) -> None:
    """Print every error and warning, with its line and a caret, and the verdict."""
    for kind, problems in (("error: ", parsed.errors), ("warning: ", parsed.warnings)):
        for problem in problems:
            shown = f"{parsed.source}:{problem.render(kind)}"
            show_text(shown.encode("utf-8", "backslashreplace").decode())
    table, warned = parsed.table, len(parsed.warnings)
    if table is None:
        show_line(f"{parsed.source}: {counted(len(parsed.errors), 'error')}, the table is not valid")
    else:
        show_line(f"{parsed.source}: valid, {counted(len(table.rules), 'rule')}, {counted(warned, 'warning')}")
