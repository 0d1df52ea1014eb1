"""The options that say which messages are looked for. The command gets them as `wanted`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from mqops.cli.times import since_option, until_option
from mqops.look.core.criteria import Criteria, criteria
from mqops.mqsc import quoted

_WORDS = (
    ("reason", "REASON", "REASON", "The Reason of the MQDLH, such as MQRC_Q_FULL."),
    ("application", "APPLNAME", "NAME", "The PutApplName of the MQMD; * and ?."),
    ("user", "USERID", "USER", "The UserIdentifier of the MQMD; * and ?."),
)
"""Option, the keyword of a rules table that it stands for, metavar, help."""
_OTHERS = ("since", "until", "md_format", "destination", "text", "hex_bytes")
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
    click.option(
        "--msg-id",
        default="",
        metavar="HEX",
        help="The MsgId, or the beginning of it; behind an MQXQH also the one that the application knows.",
    ),
    click.option("--correl-id", default="", metavar="HEX", help="The CorrelId, or the beginning of it, as --msg-id."),
    click.option("--group-id", default="", metavar="HEX", help="The GroupId, or the beginning of it, as --msg-id."),
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
    click.option(
        "--destination",
        default="",
        metavar="QUEUE",
        help="The MQDLH, or the MQXQH of a transmission queue, says that it was to go to this queue; * and ?.",
    ),
    click.option(
        "--text",
        default="",
        metavar="TEXT",
        help="The data behind all headers, as text, has this in it; * and ?. NULs and bytes that are no "
        "text may stand beside it.",
    ),
    click.option(
        "--hex",
        "hex_bytes",
        default="",
        metavar="HEX",
        help="These bytes stand somewhere in the message, headers included.",
    ),
    since_option,
    until_option,
    click.option(
        "--failed",
        default="",
        metavar="SUITE[:CHECK]",
        help="It failed this suite, or this check of it, when the suite was checked last.",
    ),
)


def criteria_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options. A message has to fit all that are given."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        identifiers = {name: given.pop(name) for name in ("msg_id", "correl_id", "group_id")}
        others = {name: given.pop(name) for name in _OTHERS}
        failed = given.pop("failed")
        wanted = criteria(_patterns(given), **identifiers, **others)
        if failed:
            wanted = _of_failed(wanted, failed, given)
        command(wanted=wanted, **given)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _of_failed(wanted: Criteria, failed: str, given: dict[str, Any]) -> Criteria:
    """Parameters: `given` the command's other options. Raises `click.UsageError`: as `with_failed`, in its words."""
    from mqops.cli.run_argument import snapshot_folder  # noqa: PLC0415
    from mqops.errors import MqopsError  # noqa: PLC0415
    from mqops.observe import snapshot as store  # noqa: PLC0415
    from mqops.quality.failed_keys import with_failed  # noqa: PLC0415

    lake, snapshot = given["lake"], given.get("snapshot")
    try:
        run = store.find(snapshot_folder(lake, snapshot))[0] if snapshot else None
        return with_failed(wanted, failed, lake, given["queue_manager"].strip(), run)
    except MqopsError as error:
        raise click.UsageError(str(error)) from error


def _patterns(given: dict[str, Any]) -> str:
    """The options as patterns of a rules table; they are taken from `given`."""
    found = [given.pop("where")]
    for name, keyword, _metavar, _help in _WORDS:
        if text := given.pop(name):
            found.append(f"{keyword}({quoted(text)})")
    for name, keyword, _metavar, _help in _COMPARED:
        if text := given.pop(name):
            found.append(f"{keyword}({text})")
    for text in given.pop("properties"):
        name, is_there, value = text.partition("=")
        if not is_there:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--property")
        found.append(f"PROP({quoted(name.strip())} = {quoted(value or ' ')})")
    return " ".join(filter(None, found))
