"""`mqops rules`: check a rules table, and explain what it does with given messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

import click

from mqops.rules import Control, Parsed, Problem, Rule, matching, parse
from mqops.rules.keywords import PATTERN_KEYWORDS, Kind

_FILE = click.File("rb")


@click.group()
def rules() -> None:
    """Work with rules tables of the dead-letter queue handler."""


@rules.command()
@click.argument("file", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.option("--strict", is_flag=True, help="Refuse everything that IBM's own handler does not know.")
@click.pass_context
def check(ctx: click.Context, file: IO[bytes], as_json: bool, strict: bool) -> None:
    """Check the rules table FILE (- is standard input): every error and warning, with line, column and a caret."""
    parsed = _parsed(file, strict=strict)
    if as_json:
        click.echo(json.dumps(check_document(parsed), ensure_ascii=True))
    else:
        _tell(parsed)
    ctx.exit(0 if parsed.table else 1)


@rules.command()
@click.argument("file", type=_FILE)
@click.option("--messages", type=_FILE, required=True, help="JSON lines: one message each, keys are pattern keywords.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line per message instead of text.")
@click.option("--strict", is_flag=True, help="Refuse everything that IBM's own handler does not know.")
@click.pass_context
def explain(ctx: click.Context, file: IO[bytes], messages: IO[bytes], as_json: bool, strict: bool) -> None:
    """Tell, for each message, which rules of FILE match it, in order, and what each does.

    A message is a JSON object such as {"DESTQ": "PAYMENTS.IN", "REASON": 2053}; a missing keyword is blank or 0.
    """
    parsed = _parsed(file, strict=strict)
    table = parsed.table
    if table is None:
        if as_json:
            click.echo(json.dumps(check_document(parsed), ensure_ascii=True))
        else:
            _tell(parsed)
        ctx.exit(1)
    for number, message in _messages(messages):
        found = matching(table, message)
        if as_json:
            click.echo(json.dumps({"matches": [_match(rule) for rule in found]}))
        else:
            click.echo(_account(number, found))


def check_document(parsed: Parsed) -> dict[str, Any]:
    """What `rules check --json` prints (DESIGN section 8)."""
    table = parsed.table
    return {
        "ok": table is not None,
        "control": control_document(table.control) if table else {},
        "rules": [rule_document(rule) for rule in table.rules] if table else [],
        "errors": [_problem(problem) for problem in parsed.errors],
        "warnings": [_problem(problem) for problem in parsed.warnings],
    }


def control_document(control: Control) -> dict[str, Any]:
    """Control data by keyword, defaults filled in."""
    return {
        "INPUTQ": control.inputq,
        "INPUTQM": control.inputqm,
        "RETRYINT": control.retryint,
        "WAIT": control.wait,
    }


def rule_document(rule: Rule) -> dict[str, Any]:
    """One rule: its line, the patterns that were written, and the action with its defaults filled in."""
    action: dict[str, Any] = {"ACTION": rule.action, "RETRY": rule.retry}
    if rule.action == "FWD":
        action |= {"FWDQ": rule.fwdq, "FWDQM": rule.fwdqm, "HEADER": "YES" if rule.header else "NO"}
    if rule.action in ("FWD", "RETRY"):
        action["PUTAUT"] = rule.putaut
    return {"line": rule.line, "patterns": dict(rule.patterns), "action": action}


def _problem(problem: Problem) -> dict[str, Any]:
    return {"line": problem.line, "column": problem.column, "message": problem.message}


def _parsed(file: IO[bytes], *, strict: bool) -> Parsed:
    text = file.read().decode("utf-8", "surrogateescape")
    return parse(text, source=getattr(file, "name", "<stdin>"), strict=strict)


def _tell(parsed: Parsed) -> None:
    for kind, problems in (("error: ", parsed.errors), ("warning: ", parsed.warnings)):
        for problem in problems:
            shown = f"{parsed.source}:{problem.render(kind)}"
            click.echo(shown.encode("utf-8", "backslashreplace").decode())
    table, warned = parsed.table, len(parsed.warnings)
    if table is None:
        click.echo(f"{parsed.source}: {len(parsed.errors)} errors, the table is not valid")
    else:
        click.echo(f"{parsed.source}: valid, {len(table.rules)} rules, {warned} warnings")


def _messages(file: IO[bytes]) -> Iterator[tuple[int, Mapping[str, str | int]]]:
    """The messages of a JSON-lines file with their line numbers; a bad line is a usage error."""
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            yield number, message_from(json.loads(line))
        except ValueError as error:
            raise click.UsageError(f"{getattr(file, 'name', '<stdin>')}:{number}: {error}") from error


def message_from(document: object) -> dict[str, str | int]:
    """A message as the matcher takes it.

    Raises ValueError for anything but an object whose keys are pattern keywords, with a number for a numeric one and a
    text no longer than the field for the others.
    """
    if not isinstance(document, dict):
        raise ValueError("a message is a JSON object")
    message: dict[str, str | int] = {}
    for name, value in document.items():
        keyword = PATTERN_KEYWORDS.get(name.upper())
        if keyword is None:
            raise ValueError(f"{name!r} is not a pattern keyword")
        wanted = int if keyword.kind is Kind.NUMBER else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"{name} is a {'number' if wanted is int else 'text'}, not {json.dumps(value)}")
        if isinstance(value, str) and len(value.rstrip(" ")) > keyword.length:
            raise ValueError(f"{name} is longer than its field of {keyword.length}")
        message[keyword.name] = value
    return message


def _match(rule: Rule) -> dict[str, Any]:
    return {"line": rule.line, "action": rule.action, "tries": rule.retry}


def _account(number: int, found: list[Rule]) -> str:
    """A message's fate in words, rules behind an IGNORE marked as hidden."""
    lines = [f"message {number}:"]
    hidden = ""
    for rule in found:
        target = f" to {rule.fwdq}{'@' + rule.fwdqm if rule.fwdqm else ''}" if rule.action == "FWD" else ""
        tries = "" if rule.action == "IGNORE" else f", {rule.retry} {'try' if rule.retry == 1 else 'tries'}"
        lines.append(f"  line {rule.line}: {rule.action}{target}{tries}{hidden}")
        if rule.action == "IGNORE" and not hidden:
            hidden = f" (never: hidden by the IGNORE of line {rule.line})"
    if not hidden:
        lines.append("  then: left on the queue" if found else "  no rule matches: left on the queue")
    return "\n".join(lines)
