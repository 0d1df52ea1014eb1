"""What the form of the page `messages` asks for, in the language of rules tables, and what of it stands in an address.

What is looked for in bodies and properties is payload: it is sent in the body of a form, and in no address, because
servers and proxies write addresses to their logs, and browsers to their histories. The rest may be sent to colleagues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from mqops.command import command
from mqops.look.core.criteria import IDENTIFIERS
from mqops.look.search_process import Wanted
from mqops.mqsc import quoted

FIELDS = {
    "reason": ("REASON", "Reason", "MQRC_Q_FULL"),
    "dest_q": ("", "Destination queue", "contains, =whole, or PAY*"),
    "application": ("APPLNAME", "Application", "contains, or billing*"),
    "user": ("USERID", "User", "contains"),
    "format": ("", "Format (MQMD)", "contains"),
}
"""Field of the form → keyword of the rules language, its label, an example. A text without wildcards is looked for
anywhere in the field, one behind = as the whole of it; a reason is a whole name. The format is that of the MQMD, which
is shown, and the destination queue that of the MQDLH or of an MQXQH: these have no keyword."""
MORE = (*IDENTIFIERS, "since", "until", "property", "value", "hex", "where")
"""The fields that are shown on demand, but for `MSG_ID_FIELD`, which people have in hand."""
MSG_ID_FIELD = "msg_id"
PAYLOAD = frozenset({"text", "property", "value", "hex", "where"})
"""The fields that can have payload in them."""
LONGEST = 4000
"""Characters of a field."""
_REASON = re.compile(r"[^()'\"]*")
"""A reason stands in no quotes, and in addresses: no other condition, which could ask for payload, may stand in it."""


def wanted_of(asked: Mapping[str, str]) -> Wanted:
    """The search of a form. Parameters: `asked` field → text. Raises `ValueError`."""
    _refuse(asked)
    parts = [
        f"{keyword}({_quoted_value(key, asked[key])})"
        for key, (keyword, *_) in FIELDS.items()
        if keyword and asked.get(key)
    ]
    if asked.get("property"):
        parts.append(f"PROP({quoted(asked['property'])} = {quoted(asked.get('value') or '*')})")
    if asked.get("where"):
        parts.append(asked["where"])
    ids = {key: asked[key] for key in IDENTIFIERS if asked.get(key)}
    return Wanted(
        where=" ".join(parts),
        md_format=_anywhere(asked.get("format", "")),
        destination=_anywhere(asked.get("dest_q", "")),
        text=asked.get("text", ""),
        hex_bytes=asked.get("hex", ""),
        since=asked.get("since", ""),
        until=asked.get("until", ""),
        ids=ids,
    )


def command_of(wanted: Wanted, run: Path, queues: tuple[str, ...], limit: int) -> str:
    """The command that makes a search without bounds of time and memory. Parameters: `run` its folder."""
    options = {
        "--where": wanted.where,
        "--md-format": wanted.md_format,
        "--destination": wanted.destination,
        "--text": wanted.text,
        "--hex": wanted.hex_bytes,
        "--since": wanted.since,
        "--until": wanted.until,
        **{f"--{name.replace('_', '-')}": text for name, text in wanted.ids.items()},
    }
    given = [word for name, text in options.items() if text for word in (name, text)]
    return command("mqops", "message", "find", *queues, "--snapshot", run.name, *given, "--limit", limit)


def chooses_in_airflow(asked: Mapping[str, str]) -> dict[str, object] | None:
    """The fields of mq_recover that choose the messages of a search; None where it has no such fields: what is looked
    for in messages must not stand in Airflow, and not every field of the search is one of its form.

    Parameters: `asked` field → text. Raises `ValueError` as `wanted_of`."""
    others = {*MORE, "format", "action", "text"} - {"since", "until"}
    if any(asked.get(name) for name in others):
        return None
    wanted = wanted_of(asked)
    to = f"DESTQ({quoted(wanted.destination)})" if wanted.destination else ""
    where = " ".join(filter(None, (wanted.where, to)))
    times: dict[str, object] = {name: _utc(text) for name in ("since", "until") if (text := asked.get(name, ""))}
    fields: dict[str, object] = ({"where": where} if where else {}) | times
    return fields or {"all_messages": True}


def _utc(text: str) -> str:
    """A time of the form, which is UTC, as Airflow takes it. Raises `ValueError`."""
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def _refuse(asked: Mapping[str, str]) -> None:
    """Raises `ValueError`: a field is too long, a reason has another condition in it, or a = has no name behind it."""
    for name, text in asked.items():
        if len(text) > LONGEST:
            raise ValueError(f"{name} has more than {LONGEST} characters")
    for name in ("dest_q", "format"):  # blank is any for the search
        if asked.get(name, "").startswith("=") and not _anywhere(asked[name]).strip():
            raise ValueError(
                f"{FIELDS[name][1]}: = stands before a whole name. Write the name, or leave the field empty"
            )
    if not _REASON.fullmatch(asked.get("reason", "")):
        raise ValueError("A reason is a name or a number, such as MQRC_Q_FULL; other conditions have their own fields")


def _quoted_value(key: str, text: str) -> str:
    return text if key == "reason" else quoted(_anywhere(text))


def _anywhere(text: str) -> str:
    """A pattern as it is; a text without wildcards becomes a pattern that finds the text anywhere in the field, or the
    whole of it where = stands before it."""
    if text.startswith("="):
        return text.removeprefix("=")
    return f"*{text}*" if text and "*" not in text and "?" not in text else text
