"""PING, RESET and RESOLVE CHANNEL: what a command does to a channel that is not running."""

from __future__ import annotations

from mqlite.channels import sync
from mqlite.channels.binding import ANSWERING, bind, channel_values
from mqlite.channels.engine_port import EnginePort
from mqlite.channels.partner import PartnerMissing
from mqlite.channels.port import Refused
from mqlite.channels.sync import IN_DOUBT, RECEIVE, SEND, Journal, Record
from mqlite.conditions import CommandError, Condition
from mqlite.objects.manager import Manager


def ping(manager: Manager, name: str) -> None:
    """Connect both ends and disconnect. Raises CommandError if the partner is not there."""
    try:
        bind(manager, name).close()
    except (PartnerMissing, Refused) as missing:
        raise CommandError(Condition.PARTNER_MISSING, name=str(missing)) from missing


def reset(manager: Manager, name: str, number: int) -> None:
    """The next message has this number. A sender takes its partner along, if that is there; a receiver is alone, and
    a sender that starts with another number finds the difference (IBM MQ, "RESET CHANNEL").
    """
    if channel_values(manager, name)["CHLTYPE"] in ANSWERING:
        _reset_receiver(manager, name, number)
    else:
        _reset_sender(manager, name, number)


def _reset_receiver(manager: Manager, name: str, number: int) -> None:
    """For every sender that has sent something. The batch stays known: a sender in doubt asks for it."""
    port = EnginePort(manager, name)
    try:
        for journal in sync.receivers(port, name):
            before = journal.read(RECEIVE) or Record()
            journal.replace(RECEIVE, Record(batch=before.batch, number=number - 1))
        port.commit()
    finally:
        port.close()


def _reset_sender(manager: Manager, name: str, number: int) -> None:
    port = EnginePort(manager, name)
    try:
        journal = Journal(port, name)
        if journal.read(IN_DOUBT) is not None:
            raise CommandError(Condition.CHANNEL_IN_DOUBT, name=name)
        before = journal.read(SEND) or Record()
        journal.replace(SEND, Record(batch=before.batch, number=number - 1))
        port.commit()
    finally:
        port.close()
    try:
        ends = bind(manager, name)
    except (PartnerMissing, Refused):
        return
    try:
        theirs = Journal(ends.receiver, name, manager.name)
        before = theirs.read(RECEIVE) or Record()
        theirs.replace(RECEIVE, Record(batch=before.batch, number=number - 1))
        ends.receiver.commit()
    finally:
        ends.close()


def resolve(manager: Manager, name: str, *, commit: bool) -> None:
    """Decide a batch in doubt: `commit` removes its messages, else they stay to be sent again."""
    port = EnginePort(manager, name)
    try:
        journal = Journal(port, name)
        doubt = journal.read(IN_DOUBT)
        if doubt is None:
            return
        if commit:
            sync.settle(port, journal, doubt, str(channel_values(manager, name)["XMITQ"]))
        else:
            journal.remove(IN_DOUBT)
            port.commit()
    finally:
        port.close()
