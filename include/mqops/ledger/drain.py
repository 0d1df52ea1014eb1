"""Markers move from the ledger queue to the ledger file. RUN/issued.json notes that a plan's lane tokens are issued."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mqops.command import command
from mqops.counted import counted
from mqops.errors import SettingsError
from mqops.lake.run import RunFolder, queue_manager_of
from mqops.ledger.core.marker import Marker
from mqops.ledger.core.received import Stranger, StrangerKind, plan_of, put_by, receive
from mqops.ledger.core.seal import BadSignature, Seal, read_message
from mqops.ledger.kept_head import note_head, put_head
from mqops.ledger.keys import VARIABLE
from mqops.ledger.opened import OpenLedger
from mqops.ledger.queue import NAME, LedgerQueue, batches
from mqops.ledger.set_aside import SetAside
from mqops.ledger.writer import writer_of
from mqops.mq.session import RawMessage, Session


def drain(session: Session, ledger: OpenLedger) -> int:
    """Move a plan's markers from the ledger queue to the ledger; returns the number of lines added.

    A marker is committed off the queue when its line is on disk, in the unit of work that puts the ledger's new head
    there (`mqops.ledger.kept_head`); a message that is not a marker of this lake, when it
    is set aside (`mqops.ledger.set_aside`). If an unknown key signed it, it stays while it may be genuine
    (`is_in_doubt`). RUN/issued.json is written before the "issued" marker is got.

    Raises:
        SettingsError: an unknown key signed messages that may be genuine, so the ledger may not have all of the plan.
        MqopsError: call again; nothing is recorded twice.
    """
    check_signer(ledger)
    queue = LedgerQueue(session, ledger.keys)
    try:
        _note_issue(queue, ledger)
        added = _recorded(session, queue, ledger)
        if found := _foreign(queue, ledger):
            if ledger.run is not None and is_in_doubt(ledger):
                raise SettingsError(wrong_key(ledger.run, found))
            _recorded(session, queue, ledger, foreign=True)
    finally:
        queue.close()
    return added


def _recorded(session: Session, queue: LedgerQueue, ledger: OpenLedger, *, foreign: bool = False) -> int:
    """Record a plan's markers and set strangers aside, all in one look; returns the number of lines added.

    Parameters: `foreign` whether those signed by an unknown key are set aside, too; else they stay.
    """
    added = 0
    with writer_of(ledger.file) as writer:
        for batch in batches(_taken(queue, ledger, foreign=foreign)):
            markers, strangers = sorted_out(batch, ledger.keys)
            added += writer.add(markers)
            writer.set_aside(strangers)
            put = bool(markers) and put_head(session, ledger.file, writer)
            session.commit()
            if put:
                note_head(ledger.file, writer)
    return added


def _taken(queue: LedgerQueue, ledger: OpenLedger, *, foreign: bool) -> Iterator[RawMessage]:
    for got in queue.browse_of(ledger.plan.markers()):
        if (foreign or not is_foreign(got, ledger.keys)) and (mine := queue.take_browsed()) is not None:
            yield mine


def _foreign(queue: LedgerQueue, ledger: OpenLedger) -> int:
    return sum(is_foreign(got, ledger.keys) for got in queue.browse_of(ledger.plan.markers()))


def is_foreign(got: RawMessage, seal: Seal) -> bool:
    """Whether a message is signed, by a key that the lake does not have."""
    try:
        read_message(seal, got.body)
    except BadSignature as error:
        return error.foreign
    return False


def is_in_doubt(ledger: OpenLedger) -> bool:
    """Whether messages of a plan that an unknown key signed may be genuine: the plan was begun, and the ledger does not
    have all of it. Before a plan is begun nothing is moved; of a plan that is complete in the ledger nothing is
    missing.

    Raises `LakeError`, `LedgerBroken`.
    """
    return ledger.issued is not None and not ledger.is_complete()


def wrong_key(run: RunFolder, markers: int) -> str:
    """The text about a run whose markers may be genuine and cannot be verified."""
    number = counted(markers, "marker")
    return (
        f"{number} of run {run.run} on {NAME} are signed with a key that this lake does not have. They stay there, "
        f"and the run is not proved without them: the process that acted may have had another key. Look at {VARIABLE} "
        "of all processes, and put the right key file back, or add that key to it before the last one. Where none of "
        "your processes signed them, they are forged: docs/ledger_trust.md says how a person sets them aside"
    )


def _note_issue(queue: LedgerQueue, ledger: OpenLedger) -> None:
    if ledger.run is None or ledger.issued is not None:
        return
    if (marker := queue.marker(ledger.plan.issued_id())) is not None:
        ledger.note_issued(marker.lanes, queue.key_id)


def sorted_out(batch: Iterable[RawMessage], seal: Seal) -> tuple[list[Marker], list[SetAside]]:
    """The markers among messages of the ledger queue, each with who put it, and the others."""
    markers: list[Marker] = []
    strangers: list[SetAside] = []
    for got in batch:
        try:
            found = receive(got.md, got.body, seal)
            if not isinstance(found, Marker):
                raise Stranger(StrangerKind.COPIED, "a lane token with the CorrelId of markers", plan_of(found))
            markers.append(replace(found, put=put_by(got.md)))
        except Stranger as stranger:
            strangers.append(SetAside(md=got.md, body=got.body, stranger=stranger))
    return markers, strangers


def check_signer(ledger: OpenLedger) -> None:
    """Refuse to work on a plan that was begun without signatures, or with a key that the key file does not have.

    Raises `SettingsError`.
    """
    refuse_unsigned(ledger)
    key = ledger.issued.key if ledger.issued else ""
    if key and ledger.keys.find(key) is None and not ledger.is_complete():
        ledger.keys.check(key)


def refuse_unsigned(ledger: OpenLedger) -> None:
    """Refuse a run that an earlier version of mqops began and did not finish.

    That version did not sign its messages on the ledger queue, so they could be forged.

    Raises:
        SettingsError: it is such a run. Nothing of it was touched.
        LedgerBroken, LakeError: the ledger or RUN/issued.json cannot be read.
    """
    if ledger.noted is None or ledger.noted.signed:
        return
    if not ledger.is_complete():
        raise SettingsError(
            f"Run {ledger.plan.run} was begun by a version of mqops that did not sign its messages on {NAME}; nothing "
            f"of it was touched. A person who answers for them finishes it: `{_adopt(ledger)}`"
        )


def _adopt(ledger: OpenLedger) -> str:
    """The command that takes an unsigned run over (`mqops.ledger.adopt`)."""
    lake_folder = ledger.file.folder.parent
    words = ("run", "adopt", ledger.plan.run, "-m", queue_manager_of(lake_folder), "--lake", lake_folder.parent)
    return command("mqops", *words, "--dry-run")
