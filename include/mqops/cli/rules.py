"""`mqops rules`: check a rules table, and explain what it does with given messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click

from mqops.actions import Action
from mqops.as_json import JsonObject
from mqops.cli.group import Group
from mqops.cli.outcome import connection_to, error_document, lake_option, show_json, show_text
from mqops.cli.rules_keywords import keywords
from mqops.cli.rules_snapshot import diff, test
from mqops.cli.run_argument import completed_runs, snapshot_folder
from mqops.cli.tables import GivenFile, check_document, parsed_from, show_check, text_from, with_warnings
from mqops.cli.user_option import connecting_options
from mqops.errors import MqopsError
from mqops.given_file import lines_of, why_unread
from mqops.observe.core.answers import body_answers
from mqops.rules import Problem, Rule, Table, matching, parse
from mqops.rules.conditions import Answer, Question
from mqops.rules.documents import kind_of
from mqops.rules.keyword import Entry, Keyword, ValueKind
from mqops.rules.keywords import KEYWORDS
from mqops.rules.values import BadValue, number_of

_FILE = GivenFile()


@click.group(cls=Group, short_help="Check, explain, compare and test rules tables.")
def rules() -> None:
    """Work with rules tables of the dead-letter queue handler."""


rules.add_command(keywords)
rules.add_command(diff)
rules.add_command(test)


@rules.command()
@click.argument("file", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.option("--strict", is_flag=True, help="Refuse everything that IBM's own handler does not know.")
@click.option("--backout", is_flag=True, help="The table is one for backout queues: FWDQ may be &ORIGQ.")
@click.option(
    "--queue-manager",
    "-m",
    "--qmgr",
    "qmgr",
    default=None,
    help="Warn of each FWDQ that this queue manager does not have, or that is the queue the table reads there "
    "('': the default queue manager).",
)
@connecting_options
@click.option(
    "--runs",
    metavar="RUN|FOLDER",
    multiple=True,
    shell_complete=completed_runs,
    help="Warn of rules that match no message of this run (its key or the beginning of it), or of the runs recorded "
    "below this folder (LAKE/QM1/runs); may be repeated.",
)
@lake_option
def check(
    *,
    file: IO[bytes],
    as_json: bool,
    strict: bool,
    backout: bool,
    qmgr: str | None,
    runs: tuple[str, ...],
    lake: Path,
) -> None:
    """Check the rules table FILE (- is standard input): every error and warning, with line, column and a caret.

    Exit codes: 0 the table is valid, whatever the warnings; 1 it is not; 2 usage, or the table is valid, but the
    queue manager or the runs that were named cannot be read.
    """
    text = text_from(file)
    missed: list[MqopsError] = []
    parsed = parse(text, source=getattr(file, "name", "<stdin>"), strict=strict, origins=backout)
    if parsed.table is not None:
        found, missed = _from_outside(parsed.table, qmgr, runs, lake, backout=backout)
        parsed = with_warnings(parsed, found, text)
    if as_json:
        show_json(check_document(parsed) | (error_document(missed[0]) if missed else {}))
    else:
        show_check(parsed)
    for error in missed:
        show_text(f"mqops: {error}", err=True)
    sys.exit(2 if missed else 0 if parsed.table else 1)


def _from_outside(
    table: Table, qmgr: str | None, runs: Sequence[str], lake: Path, *, backout: bool
) -> tuple[list[Problem], list[MqopsError]]:
    """Warnings from the queue manager and the recorded runs that were named, and errors if these cannot be read."""
    if qmgr is None and not runs:
        return [], []
    from mqops.decide.rules_check import unmatched_rules, wrong_queues  # noqa: PLC0415

    found: list[Problem] = []
    missed: list[MqopsError] = []
    looks: list[Callable[[], list[Problem]]] = [
        lambda: wrong_queues(table, connection_to(qmgr.strip()), backout=backout) if qmgr is not None else [],
        lambda: unmatched_rules(table, [snapshot_folder(lake, one) for one in runs], backout=backout) if runs else [],
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
    """List, for each message, the rules of FILE that match it, in order, and what each does.

    A message is a JSON object such as {"DESTQ": "PAYMENTS.IN", "REASON": "MQRC_Q_FULL"}; a number may have its symbolic
    name. A missing keyword is blank or 0. For extensions: a number ("AGE" in seconds, "SIZE" in bytes), "PROP":
    {"usr.country": "DE"}, "BODY" as text; a missing one of these matches nothing.
    """
    parsed = parsed_from(file, strict=strict)
    table = parsed.table
    if table is None:
        if as_json:
            show_json(check_document(parsed))
        else:
            show_check(parsed)
        ctx.exit(1)
    for number, message in _messages(messages, table.questions):
        found = matching(table, message)
        if as_json:
            show_json({"matches": [_match(rule, line) for rule, line in _with_hidden(found)]})
        else:
            show_text(_account(number, found))


def _messages(file: IO[bytes], questions: Sequence[Question]) -> Iterator[tuple[int, Mapping[str, Answer]]]:
    """The messages of a JSON-lines file with their line numbers; a bad line is a usage error."""
    number, name = 0, getattr(file, "name", "<stdin>")
    try:
        for number, line in enumerate(lines_of(file), start=1):
            if line.strip():
                yield number, message_from(json.loads(line), questions)
    except OSError as error:
        raise click.UsageError(f"{name} cannot be read: {why_unread(error)}") from error
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise click.UsageError(f"{name}:{number}: {why}") from error


def message_from(document: object, questions: Sequence[Question] = ()) -> dict[str, Answer]:
    """A message as the matcher takes it, with its answers to the `questions` of extended rules.

    Raises ValueError for anything but an object whose keys are pattern keywords, with a number for a numeric one and a
    text no longer than the field for the others; PROP is an object of texts.
    """
    if not isinstance(document, dict):
        raise ValueError("a message is a JSON object")
    message: dict[str, Answer] = {}
    properties: dict[str, str] = {}
    body: str | None = None
    for written, value in document.items():
        keyword = KEYWORDS.get(written.upper())
        if keyword is None or keyword.entry is not Entry.PATTERN:
            raise ValueError(f"{written!r} is not a pattern keyword")
        if keyword.kind is ValueKind.PROPERTY:
            properties = _properties(value)
        elif keyword.kind is ValueKind.BODY:
            body = _of(str, written, value)
        else:
            message[keyword.name] = _number_or_text(keyword, written, value)
    message |= {one.key: properties.get(one.subject) for one in questions if one.kind is ValueKind.PROPERTY}
    kind = None if body is None else kind_of(body)
    asked = [one for one in questions if one.kind is ValueKind.BODY]
    return message | body_answers(asked, str(body), kind) if kind else message


def _of(wanted: type[int] | type[str], name: str, value: object) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise ValueError(f"{name} is a {'number' if wanted is int else 'text'}, not {json.dumps(value)}")
    return value


def _number_or_text(keyword: Keyword, name: str, value: object) -> str | int:
    if keyword.prefixes and isinstance(value, str):
        try:
            return number_of(keyword, value)
        except BadValue as error:
            raise ValueError(f"{name}: {error}") from None
    found: str | int = _of(str if keyword.kind is ValueKind.WILD else int, name, value)
    if isinstance(found, str) and len(found.rstrip(" ")) > keyword.length:
        raise ValueError(f"{name} is longer than its field of {keyword.length:,}")
    return found


def _properties(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"PROP is an object of names and texts, not {json.dumps(value)}")
    return {name: _of(str, f"PROP {name}", text) for name, text in value.items()}


def _match(rule: Rule, hidden_by: int) -> JsonObject:
    hidden: JsonObject = {"hidden_by": hidden_by} if hidden_by else {}
    return {"line": rule.line, "action": rule.action, "tries": rule.retry, **hidden}


def _with_hidden(found: Sequence[Rule]) -> Iterator[tuple[Rule, int]]:
    """Each rule, and the line of the IGNORE before it that hides it, 0 if none does."""
    hidden_by = 0
    for rule in found:
        yield rule, hidden_by
        if rule.action == Action.IGNORE and not hidden_by:
            hidden_by = rule.line


def _account(number: int, found: list[Rule]) -> str:
    """What the rules do with a message, in words; rules behind an IGNORE are marked as hidden."""
    lines = [f"message {number}:"]
    ends = any(rule.action == Action.IGNORE for rule in found)
    for rule, line in _with_hidden(found):
        target = f" to {rule.fwdq}{'@' + rule.fwdqm if rule.fwdqm else ''}" if rule.action == Action.FWD else ""
        hidden = f" (never: hidden by the IGNORE at line {line})" if line else ""
        tries = "" if rule.action == Action.IGNORE else f", {rule.retry} {'try' if rule.retry == 1 else 'tries'}"
        lines.append(f"  line {rule.line}: {rule.action}{target}{tries}{hidden}")
    if not ends:
        lines.append("  then: left on the queue" if found else "  no rule matches: left on the queue")
    return "\n".join(lines)
