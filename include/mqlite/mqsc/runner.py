"""A script of MQSC commands run like runmqsc: numbered echo, messages, summary, exit code 0 or 10."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mqlite.administration.protocol import Administration
from mqlite.commands import CommandError, Response, Row, run
from mqlite.mqsc.display import columns
from mqlite.mqsc.parser import Statement, SyntaxProblem, parse
from mqlite.mqsc.requests import CommandErrorAt, request_of
from mqlite.mqsc.script import Command, commands

SYNTAX = {
    "AMQ8405I": "AMQ8405I: Syntax error detected at or near end of command segment below:-",
    "AMQ8411E": "AMQ8411E: Duplicate Keyword Error.",
    "AMQ8424E": "AMQ8424E: Error detected in a name keyword.",
}
_UNREADABLE = re.compile("[\0\udc80-\udcff]")
"""What stands for a byte of a script that is not UTF-8 (`surrogateescape`), and the NULs of UTF-16."""


@dataclass(slots=True)
class Tally:
    """How many commands were read, were not MQSC, and could not be done."""

    read: int = 0
    syntax_errors: int = 0
    failed: int = 0

    @property
    def exit_code(self) -> int:
        """0: all done. 10: at least one was not."""
        return 10 if self.syntax_errors or self.failed else 0

    def lines(self) -> list[str]:
        """The three summary lines of runmqsc."""
        syntax = f"{_count(self.syntax_errors, 'MQSC command')} {'has' if self.syntax_errors == 1 else 'have'}"
        return [
            f"{_count(self.read, 'MQSC command')} read.",
            f"{syntax if self.syntax_errors else 'No commands have'} a syntax error.",
            f"{_count(self.failed, 'valid MQSC command')} could not be processed."
            if self.failed
            else "All valid MQSC commands were processed.",
        ]


def _count(number: int, noun: str) -> str:
    words = {0: "No", 1: "One"}
    return f"{words.get(number, number)} {noun}{'' if number == 1 else 's'}"


def run_script(admin: Administration, lines: Iterable[str], write: Callable[[str], None]) -> Tally:
    """Run every command of the script until END or its end; `write` gets each line of output without its line end."""
    tally = Tally()
    write(f"Starting MQSC for queue manager {admin.queue_manager}.")
    write("")
    write("")
    for command in commands(lines):
        ended = _one(admin, command, write, tally)
        if ended:
            break
    for line in tally.lines():
        write(line)
    return tally


def _one(admin: Administration, command: Command, write: Callable[[str], None], tally: Tally) -> bool:
    """Echo and do one command; True if it was END."""
    number = f"{tally.read + 1:>6} : " if command.text is not None else "       : "
    for line in command.lines:
        write(number + _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", line))
        number = "       : "
    if command.text is None:
        return False
    if unreadable := _UNREADABLE.search(command.text):
        tally.read += 1
        tally.syntax_errors += 1
        write(SYNTAX["AMQ8405I"])
        write(command.text[: unreadable.start()])
        write(f"The byte X'{ord(unreadable[0]) & 0xFF:02X}' behind it is not text in UTF-8: save the script as UTF-8.")
        return False
    try:
        statement = parse(command.text)
    except SyntaxProblem as problem:
        tally.read += 1
        tally.syntax_errors += 1
        write(SYNTAX[problem.message])
        write(problem.segment)
        return False
    if statement.verb == "END":
        return True
    tally.read += 1
    _answer(admin, statement, write, tally)
    return False


def _answer(admin: Administration, statement: Statement, write: Callable[[str], None], tally: Tally) -> None:
    try:
        response = run(admin, request_of(statement, admin.platform))
    except CommandError as error:
        segment = statement.segment(error.at if isinstance(error, CommandErrorAt) else None).rstrip()
        for line in error.message(segment).splitlines():
            write(line)
        if error.condition.value.syntax:
            tally.syntax_errors += 1
        else:
            tally.failed += 1
        return
    for line in answer_lines(response):
        write(line)


def answer_lines(response: Response) -> list[str]:
    """What a command prints when it has been done."""
    lines: list[str] = []
    for row in response.rows:
        lines.append(row.shown.value.message)
        lines += columns(_items(row))
    lines += response.notes
    if response.done is not None and response.done.value.message:
        lines.append(response.done.value.message)
    return lines


def _items(row: Row) -> list[str]:
    named = [part.type.display(part.keyword, value) for part, value in row.identity]
    shown = sorted(row.values.items())
    return named + [row.rows[keyword].type.display(keyword, value) for keyword, value in shown]
