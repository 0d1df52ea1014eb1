"""The options that say which messages are looked for. The command gets them as `wanted`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from mqops.cli.times import since_option, until_option
from mqops.look.core.criteria import criteria

_WORDS = (
    ("destination", "DESTQ", "QUEUE", "The MQDLH says that it was to go to this queue; * and ? as in a rules table."),
    ("reason", "REASON", "REASON", "The Reason of the MQDLH, such as MQRC_Q_FULL."),
    ("application", "APPLNAME", "NAME", "The PutApplName of the MQMD; * and ?."),
    ("user", "USERID", "USER", "The UserIdentifier of the MQMD; * and ?."),
    ("text", "BODY", "TEXT", "The data behind all headers, as text, has this in it; * and ?."),
)
"""Option, the keyword of a rules table that it stands for, metavar, help."""
_COMPARED = (
    ("age", "AGE", ">15m", "The age, compared: '>15m', '<2h', '>=7d'."),
    ("size", "SIZE", ">64K", "The size in bytes, compared: '>64K', '<=100'."),
)
_OPTIONS = (
    click.option(
        "--where",
        default="",
        metavar="PATTERNS",
        help="Patterns as in a rules table, extensions too: "
        "\"REASON(MQRC_Q_FULL) PROP('usr.country' = 'DE')\". `mqops rules keywords` lists them.",
    ),
    click.option("--msg-id", default="", metavar="HEX", help="The MsgId, or the beginning of it."),
    click.option("--correl-id", default="", metavar="HEX", help="The CorrelId, or the beginning of it."),
    click.option("--group-id", default="", metavar="HEX", help="The GroupId, or the beginning of it."),
    *(click.option(f"--{name}", default="", metavar=metavar, help=text) for name, _keyword, metavar, text in _WORDS),
    *(click.option(f"--{name}", default="", metavar=metavar, help=text) for name, _keyword, metavar, text in _COMPARED),
    click.option(
        "--property",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="A property in an MQRFH2, such as usr.country=DE; * and ? in the value; may be repeated.",
    ),
    click.option("--md-format", "md_format", default="", metavar="NAME", help="The Format of the MQMD; * and ?."),
    since_option,
    until_option,
)


def criteria_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options. A message has to fit all that are given."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        identifiers = {name: given.pop(name) for name in ("msg_id", "correl_id", "group_id")}
        others = {name: given.pop(name) for name in ("since", "until", "md_format")}
        wanted = criteria(_patterns(given), **identifiers, **others)
        command(wanted=wanted, **given)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _patterns(given: dict[str, Any]) -> str:
    """The options as patterns of a rules table; they are taken from `given`."""
    found = [given.pop("where")]
    for name, keyword, _metavar, _help in _WORDS:
        if text := given.pop(name):
            found.append(f"{keyword}({_quoted(f'*{text}*' if keyword == 'BODY' else text)})")
    for name, keyword, _metavar, _help in _COMPARED:
        if text := given.pop(name):
            found.append(f"{keyword}({text})")
    for text in given.pop("properties"):
        name, is_there, value = text.partition("=")
        if not is_there:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--property")
        found.append(f"PROP({_quoted(name.strip())} = {_quoted(value or ' ')})")
    return " ".join(filter(None, found))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
