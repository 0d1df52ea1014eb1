"""Who may see the payload of a message, and the line of the ledger that says who has seen it (law 9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mqops.clock import utc_now
from mqops.counted import counted
from mqops.errors import MqopsError, SettingsError
from mqops.lake.run import folder_of
from mqops.ledger.core.identity import line_id
from mqops.ledger.core.marker import BODY_DIGITS, Marker, MarkerKind, MarkerRow
from mqops.ledger.file import LedgerFile
from mqops.ledger.writer import writer_of
from mqops.model import EVERYBODY, Account
from mqops.storage import estate_here

LINE_ROWS = 1000
"""Most messages in a line of the ledger."""
REVEAL = "REVEAL"
DOWNLOAD = "DOWNLOAD"
"""The words that stand as the action of such a line."""
MOST_WHY = 500
"""Characters of a reason."""


class NotRevealed(MqopsError):
    """You may not see the payload of this queue manager's messages; ask a user whom `reveal` in the estate names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reveal:
    """Who is to see the payload of a message. Parameters: `who` and `kind` as of `refuse_unless_named`; `why` as
    `why_of` gives it, "" for none; `action` REVEAL or DOWNLOAD; `most` bytes of the data as text and hex, None for
    all."""

    who: str
    kind: Account
    why: str
    action: str = REVEAL
    most: int | None = None

    def refuse_unless_named(self, queue_manager: str) -> None:
        """Raises `NotRevealed`, `SettingsError`: the estate does not let this person see it."""
        refuse_unless_named(queue_manager, self.who, self.kind)


def why_of(text: str) -> str:
    """The reason that a person gives, in one line, as it stands in the ledger.

    Raises:
        SettingsError: there is none, it has no letter and no digit, characters that cannot be seen (controls, marks of
            direction), or more than MOST_WHY characters. Nothing was shown.
    """
    why = " ".join(text.split())
    if not why.isprintable():
        raise SettingsError(
            "The reason has a character that cannot be seen, such as a control or a mark of direction. Write it "
            "without. Nothing was shown."
        )
    if not any(map(str.isalnum, why)):
        raise SettingsError("A reason is needed: it stands in the ledger beside your name. Nothing was shown.")
    if len(why) > MOST_WHY:
        raise SettingsError(
            f"The reason has {counted(len(why), 'character')}, and {MOST_WHY} at most are kept. Nothing was shown."
        )
    return why


KINDS = {Account.AIRFLOW: "login of Airflow", Account.SYSTEM: "account of this system"}


def refuse_unless_named(queue_manager: str, who: str, kind: Account) -> None:
    """Refuse a user whom the estate does not name under `reveal` of the queue manager.

    On the command line a queue manager that no estate names needs no entry: its own authority decides.

    Parameters: `who` a login of Airflow, which counts whole; or a system account as user@host, of which the user
    counts.

    Raises:
        NotRevealed: it does not name him. Nothing was shown.
        SettingsError: what the estate file has for the queue manager is not valid.
    """
    file = estate_here()
    found = file.queue_manager(queue_manager) if file else None
    if found is None and kind is Account.SYSTEM:
        return
    named = found.reveal.of(kind) if found else ()
    name = _account(who, kind)
    if name in named or (kind is Account.SYSTEM and EVERYBODY in named):
        return
    place = f"`reveal` of {queue_manager} in {file.path if file else 'an estate file'}, for {kind} accounts,"
    names = f"names {', '.join(named)}" if named else "names nobody"
    raise NotRevealed(
        f"{who} may not see the payload of messages of {queue_manager}: {place} {names}. Nothing was shown. "
        f"{'Ask one of them, or let' if named else 'Let'} your {KINDS[kind]} be added there: "
        f"reveal: {{{kind}: [{json.dumps(name, ensure_ascii=False)}]}}"
    )


def refuse_question(queue_manager: str, who: str, kind: Account) -> None:
    """Refuse a question about bodies or properties, whose answer tells parts of them, where the estate names users.

    Where it names nobody under `reveal`, such questions are free: there is no right that somebody could lack.

    Parameters: as of `refuse_unless_named`. Raises as that.
    """
    file = estate_here()
    found = file.queue_manager(queue_manager) if file else None
    if found and found.reveal.names_somebody:
        refuse_unless_named(queue_manager, who, kind)


def _account(who: str, kind: Account) -> str:
    """The name that is compared: a whole login; of user@host the user, whose name may have an @ of its own."""
    return who if kind is Account.AIRFLOW else who.rpartition("@")[0] or who


def record_reveals(
    lake: Path, queue_manager: str, queue: str, rows: Sequence[MarkerRow], *, run: str, who: str, why: str = ""
) -> None:
    """Write to the ledger that `who` sees messages of a queue; it is on disk when this returns. Show the messages after
    that only.

    Parameters: `rows` as `revealed_row` makes them; `run` whose snapshot has the messages, "" for a live queue;
    `why` as `why_of` gives it, "" for none.

    Raises:
        LakeError: the ledger cannot be written.
        LedgerBroken, SettingsError: the ledger or its key is damaged or missing.
    """
    at = utc_now()
    lines = []
    for first in range(0, len(rows), LINE_ROWS):
        part = tuple(rows[first : first + LINE_ROWS])
        lines.append(
            Marker(
                unit=line_id(MarkerKind.REVEALED, queue_manager, queue, part[0].msg_key, first, who, at),
                run=run,
                plan="",
                kind=MarkerKind.REVEALED,
                at=at,
                rows=part,
                about={"requested_by": who, "queue": queue} | ({"comment": why} if why else {}),
            )
        )
    with writer_of(LedgerFile(folder_of(lake, queue_manager))) as writer:
        writer.add(lines)


def revealed_row(number: int, *, msg_key: str, msg_id: bytes, body_sha256: bytes, action: str = REVEAL) -> MarkerRow:
    """The row for a message of a snapshot. Parameters: columns of the snapshot."""
    return MarkerRow(
        row=number,
        msg_key=msg_key,
        msg_id=msg_id.hex(),
        action=action,
        rule_key="",
        dest_q="",
        dest_q_mgr="",
        body=body_sha256.hex()[:BODY_DIGITS],
    )
