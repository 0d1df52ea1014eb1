"""`mqops rules`: check a rules table, and explain what it does with given messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click

from mqops.cli.outcome import connection_to, error_document, show_json, show_text
from mqops.cli.rules_snapshot import diff, test
from mqops.cli.tables import check_document, parsed_from, tell, text_from, with_warnings
from mqops.decide.core.answers import body_answers
from mqops.errors import MqopsError
from mqops.rules import Problem, Rule, Table, matching, parse
from mqops.rules.conditions import Answer, Question
from mqops.rules.documents import kind_of
from mqops.rules.keywords import PATTERN_KEYWORDS, Kind

_FILE = click.File("rb")


@click.group()
def rules() -> None:
    """Work with rules tables of the dead-letter queue handler."""


rules.add_command(diff)
rules.add_command(test)


@rules.command()
@click.argument("file", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.option("--strict", is_flag=True, help="Refuse everything that IBM's own handler does not know.")
@click.option("--backout", is_flag=True, help="The table is one for backout queues: FWDQ may be &ORIGQ.")
@click.option(
    "--qmgr",
    default=None,
    help="Warn of every FWDQ that this queue manager has not, or that the table reads there ('': default).",
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Warn of rules that match no message of the runs recorded below this folder (LAKE/QM1/runs).",
)
def check(
    *,
    file: IO[bytes],
    as_json: bool,
    strict: bool,
    backout: bool,
    qmgr: str | None,
    runs: Path | None,
) -> None:
    """Check the rules table FILE (- is standard input): every error and warning, with line, column and a caret.

    Exit codes: 0 the table is valid, whatever the warnings; 1 it is not; 2 usage, or the table is valid, and the queue
    manager or the runs that were named could not be looked at.
    """
    text = text_from(file)
    missed: list[MqopsError] = []
    parsed = parse(text, source=getattr(file, "name", "<stdin>"), strict=strict, origins=backout)
    if parsed.table is not None:
        found, missed = _from_outside(parsed.table, qmgr, runs, backout=backout)
        parsed = with_warnings(parsed, found, text)
    if as_json:
        show_json(check_document(parsed) | (error_document(missed[0]) if missed else {}))
    else:
        tell(parsed)
    for error in missed:
        show_text(f"mqops: {error}", err=True)
    sys.exit(2 if missed else 0 if parsed.table else 1)


def _from_outside(
    table: Table, qmgr: str | None, runs: Path | None, *, backout: bool
) -> tuple[list[Problem], list[MqopsError]]:
    """What a queue manager and recorded runs say of a table, where they were named, and why they could not be asked."""
    if qmgr is None and runs is None:
        return [], []
    from mqops.decide.rules_check import unmatched_rules, wrong_queues  # noqa: PLC0415

    found: list[Problem] = []
    missed: list[MqopsError] = []
    looks: list[Callable[[], list[Problem]]] = [
        lambda: wrong_queues(table, connection_to(qmgr.strip()), backout=backout) if qmgr is not None else [],
        lambda: unmatched_rules(table, runs, backout=backout) if runs is not None else [],
    ]
    for look in looks:
        try:
            found += look()
        except MqopsError as error:
            missed.append(error)
    return found, missed


@rules.command()
@click.argument("file", type=_FILE)
@click.option("--messages", type=_FILE, required=True, help="JSON lines: one message each, keys are pattern keywords.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line per message instead of text.")
@click.option("--strict", is_flag=True, help="Refuse everything that IBM's own handler does not know.")
@click.pass_context
def explain(ctx: click.Context, file: IO[bytes], messages: IO[bytes], as_json: bool, strict: bool) -> None:
    """Tell, for each message, which rules of FILE match it, in order, and what each does.

    A message is a JSON object such as {"DESTQ": "PAYMENTS.IN", "REASON": 2053}; a missing keyword is blank or 0. For
    extensions: "AGE" in seconds, "SIZE" in bytes, "BACKOUT", "PRIORITY", "PROP": {"usr.country": "DE"}, "BODY" as text;
    what is missing of these matches nothing.
    """
    parsed = parsed_from(file, strict=strict)
    table = parsed.table
    if table is None:
        if as_json:
            show_json(check_document(parsed))
        else:
            tell(parsed)
        ctx.exit(1)
    for number, message in _messages(messages, table.questions):
        found = matching(table, message)
        if as_json:
            show_json({"matches": [_match(rule) for rule in found]})
        else:
            show_text(_account(number, found))


def _messages(file: IO[bytes], questions: Sequence[Question]) -> Iterator[tuple[int, Mapping[str, Answer]]]:
    """The messages of a JSON-lines file with their line numbers; a bad line is a usage error."""
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            yield number, message_from(json.loads(line), questions)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise click.UsageError(f"{getattr(file, 'name', '<stdin>')}:{number}: {why}") from error


def message_from(document: object, questions: Sequence[Question] = ()) -> dict[str, Answer]:
    """A message as the matcher takes it, with its answers to the `questions` of extended rules.

    Raises ValueError for anything but an object whose keys are pattern keywords, with a number for a numeric one and a
    text no longer than the field for the others; PROP is an object of texts.
    """
    if not isinstance(document, dict):
        raise ValueError("a message is a JSON object")
    message: dict[str, Answer] = {}
    properties: dict[str, str] = {}
    for written, value in document.items():
        name = written.upper()
        if name == "PROP":
            properties = _properties(value)
        elif name in _NUMBERS:
            message[name] = _of(int, written, value)
        elif name == "BODY":
            message[name] = _of(str, written, value)
        elif name in PATTERN_KEYWORDS:
            message[name] = _field(written, value)
        else:
            raise ValueError(f"{written!r} is not a pattern keyword")
    message |= {one.key: properties.get(one.subject) for one in questions if one.keyword == "PROP"}
    body = message.pop("BODY", None)
    kind = kind_of(body) if isinstance(body, str) else None
    asked = [one for one in questions if one.keyword == "BODY"]
    return message | body_answers(asked, str(body), kind) if kind else message


_NUMBERS = frozenset({"AGE", "SIZE", "BACKOUT", "PRIORITY"})


def _of(wanted: type[int] | type[str], name: str, value: object) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise ValueError(f"{name} is a {'number' if wanted is int else 'text'}, not {json.dumps(value)}")
    return value


def _field(name: str, value: object) -> str | int:
    keyword = PATTERN_KEYWORDS[name.upper()]
    found: str | int = _of(int if keyword.kind is Kind.NUMBER else str, name, value)
    if isinstance(found, str) and len(found.rstrip(" ")) > keyword.length:
        raise ValueError(f"{name} is longer than its field of {keyword.length}")
    return found


def _properties(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"PROP is an object of names and texts, not {json.dumps(value)}")
    return {name: _of(str, f"PROP {name}", text) for name, text in value.items()}


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
