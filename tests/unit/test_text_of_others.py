"""No text of others reaches a shell, a terminal or a log but through the functions for it: all source files looked at.

What these functions do is tested where it is seen (`mqops/test_hostile_text.py`); here, that nothing goes round them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mqops.cli import COMMANDS
from mqops.deciders.registry import DECIDERS

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for folder in ("include", "plugins", "dags", "spark_jobs") for path in ROOT.glob(f"{folder}/**/*.py")
)
LEVELS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
PRINTERS = {
    "include/mqops/cli/outcome.py": "click.echo",
    "include/mqlite/cli/show.py": "click.echo",
    "include/mqops/spark_job.py": "print",
}
"""The only places of the products' own packages that print."""

HOLE = "\0"
MQOPS = (*COMMANDS, *DECIDERS)
MQLITE = ("create", "delete", "start", "end", "list", "mqsc", "user", "put", "get", "browse")
AIRFLOW = ("dags", "tasks", "connections", "db", "config", "variables")
COMMAND = re.compile(
    rf"\b(?:mqops (?:{'|'.join(MQOPS)})|mqlite (?:{'|'.join(MQLITE)})|airflow (?:{'|'.join(AIRFLOW)})|runmqsc)\b"
    rf"[^`;,:]*?(?:{HOLE}|%s|%\(|(?<!\$)\{{\w)"
)
"""A command of ours in a text, in which something is put in before the command ends."""


parsed = cache(ast.parse)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every string that is put together, with a hole for each value that is put in."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values),
            )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Constant):
            yield node.lineno, f"{node.left.value}{HOLE}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def unquoted(source: str) -> list[int]:
    """Lines with a command that is put together without `mqops.command.command`."""
    return [line for line, text in texts(parsed(source)) if COMMAND.search(text)]


def shown(node: ast.expr) -> bool:
    """Whether a value of `%s` cannot be text of others: our own words, a name in the code, hexadecimal, printable()."""
    match node:
        case ast.Constant() | ast.Call(func=ast.Name(id="printable")) | ast.Call(func=ast.Attribute(attr="hex")):
            return True
        case ast.Call(func=ast.Name(id="counted"), args=[_, *nouns]):
            return all(isinstance(noun, ast.Constant) for noun in nouns)
        case ast.Attribute(attr="__name__"):
            return True
        case ast.IfExp():
            return shown(node.body) and shown(node.orelse)
    return False


def raw(source: str) -> list[int]:
    """Lines of log calls in which a `%s` gets something that was not made printable."""
    found = []
    for node in ast.walk(parsed(source)):
        if not isinstance(node, ast.Call) or not is_log(node.func) or not node.args:
            continue
        wanted = re.findall(r"%[sdr]", str(getattr(node.args[0], "value", "%r")))
        values = [one for one in node.args[1:] if not isinstance(one, ast.Starred)]
        if len(values) == len(node.args) - 1:
            values = [one for one, kind in zip(values, wanted, strict=False) if kind == "%s"]
        if "%r" in wanted or sum(map(shown, values)) < wanted.count("%s"):
            found.append(node.lineno)
    return found


def is_log(called: ast.expr) -> bool:
    """`self.log.info`, `_log.warning`, `getattr(log, level)`, `(log.info if ... else log.warning)`."""
    match called:
        case ast.IfExp():
            return is_log(called.body)
        case ast.Call(func=ast.Name(id="getattr"), args=[of, *_]):
            return ast.unparse(of).endswith("log")
        case ast.Attribute(value=of, attr=name):
            return name in LEVELS and ast.unparse(of).split(".")[-1] in {"log", "_log", "logger"}
    return False


def of(*folders: str) -> list[Path]:
    return [path for path in SOURCES if str(path.relative_to(ROOT)).startswith(folders)]


def test_every_command_that_is_told_to_type_is_quoted():
    assert len(SOURCES) > 300
    assert {str(path): lines for path in SOURCES if (lines := unquoted(path.read_text()))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "f'to go on: mqops resume {run}'",
        "f'`mqops ledger drain -m {manager} --orphan x`'",
        "'`mqops undo %s` does it' % run",
        "'`mqlite start {name}`'.format(name=name)",
        "'mqops stop ' + run",
        "f'airflow tasks clear {dag}'",
    ],
)
def test_the_look_finds_a_command_that_is_not(text):
    assert unquoted(text) == [1]


@pytest.mark.parametrize("text", ["f'`mqops stop` takes it back from {run}'", "f'`{command(1)}`: mqops: {error}'"])
def test_the_look_leaves_other_text_alone(text):
    assert unquoted(text) == []


def test_every_value_in_a_log_line_is_printable():
    paths = of("plugins", "include/mqops/", "dags", "spark_jobs")  # mqlite: one formatter for its one log
    assert {str(path): lines for path in paths if (lines := raw(path.read_text()))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "log.info('%s', queue)",
        "self.log.warning(f'{queue}')",
        "getattr(self.log, x)('%s %d', why, 1)",
        "_log.error('%r', q)",
    ],
)
def test_the_look_finds_a_value_that_is_not(text):
    assert raw(text) == [1]


def test_the_commands_print_in_one_place():
    found = {}
    for path in of("include/mqops/", "include/mqlite/", "plugins"):
        for node in ast.walk(parsed(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"click.echo", "click.secho", "print"}:
                inner = ast.unparse(node.args[0]) if node.args else ""
                if inner != "ctx.get_help()":
                    found.setdefault(str(path.relative_to(ROOT)), set()).add(ast.unparse(node.func))
    assert found == {path: {printer} for path, printer in PRINTERS.items()}


def test_no_console_takes_text_for_markup():
    made = [
        (path.name, {word.arg: ast.unparse(word.value) for word in node.keywords})
        for path in SOURCES
        for node in ast.walk(parsed(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Console"
    ]
    assert sorted(name for name, _ in made) == ["columns.py", "run.py"]
    assert all((words.get("markup"), words.get("emoji")) == ("False", "False") for _, words in made)
