"""Checks of a queue manager: nothing is put on an application's queue, nothing got.

They open and inquire. Only the dead-letter queue and queues with BOTHRESH that have messages are browsed, their first
descriptors, and by that the queue manager discards those of them that have expired.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from mqops.act.sources import PROTECTION_ERRORS
from mqops.backout.core.origin import backout_queues
from mqops.backout.poison import looping
from mqops.command import command as shell_command
from mqops.counted import counted, first_named
from mqops.decide.ledger_queue import ledger_findings
from mqops.doctor.check import Check, State, fails, holds, summed_up, unknown
from mqops.doctor.estate_objects import missing_objects, used_queues, wrong_targets
from mqops.doctor.needs import (
    ALTERNATE_USER,
    COMMAND_QUEUE,
    LEDGER,
    MODEL_QUEUE,
    Authority,
    NeededQueue,
    authorities,
)
from mqops.errors import MQError, SettingsError
from mqops.estate import EstateFile
from mqops.ledger.access import AccessWarning, ledger_access
from mqops.ledger.file import LedgerFile
from mqops.ledger.kept_head import heads_there
from mqops.ledger.queue import NAME
from mqops.mq.authority import Grantee
from mqops.mq.clock import clock_ahead
from mqops.mq.connection import MqConnection
from mqops.mq.inquire import (
    command,
    dead_letter_queue,
    deadq,
    depth,
    inquire_queues,
    is_zos,
    opened,
    queue_definitions,
    queue_manager_attribute,
    queue_state,
    unseen_queues,
)
from mqops.mq.named_queue import mended_deadq, wrong_name
from mqops.mq.session import Session
from mqops.mqsc import mqsc_name
from mqops.observe.core.dead_letters import protected
from mqops.observe.dead_letters import first_kinds
from mqops.queue_names import not_seen
from mqwire import constants as c
from mqwire.names import lookup

LEAST_LEVEL = 710
"""Command level that the MQI calls of mqops need: IBM MQ 7.1, the first one whose clients and servers all have the
structures that it uses (MQPMO version 3, MQOD version 4, MQGMO version 4)."""
MOST_AHEAD = timedelta(seconds=5)
"""Difference of the clocks from which ages and lifetimes that mqops calculates are visibly wrong."""
MOST_NAMED = 5
OPENING = {
    "BROWSE": c.MQOO_BROWSE,
    "GET": c.MQOO_INPUT_SHARED,
    "INQ": c.MQOO_INQUIRE,
    "PUT": c.MQOO_OUTPUT,
    "PASSALL": c.MQOO_OUTPUT | c.MQOO_PASS_ALL_CONTEXT,
    "PASSID": c.MQOO_OUTPUT | c.MQOO_PASS_IDENTITY_CONTEXT,
    "SET": c.MQOO_SET,
    "SETALL": c.MQOO_OUTPUT | c.MQOO_SET_ALL_CONTEXT,
}
"""Authority → the MQOPEN that needs it (IBM MQ, "Authorizations for MQI calls")."""


def platform(session: Session) -> Check:
    """Platform and command level. Raises `MQError`."""
    kind = int(queue_manager_attribute(session, c.MQIA_PLATFORM))
    level = int(queue_manager_attribute(session, c.MQIA_COMMAND_LEVEL))
    name = (lookup("MQPL", kind) or str(kind)).removeprefix("MQPL_")
    found = f"{name}, command level {level}"
    if level < LEAST_LEVEL:
        return fails("platform", found, f"Use a queue manager of command level {LEAST_LEVEL} or later")
    return holds("platform", found)


def channel(session: Session, connection: MqConnection) -> Check:
    """The channel that the connection uses. Raises `MQError`."""
    if not connection.channel:
        how = "as MQSERVER or the channel table says" if connection.client else "local, without a channel"
        return holds("channel", how)
    protected = connection.tls_cipher or "without TLS"
    name = f"{connection.channel} to {connection.conn_name}, {protected}"
    asked: dict[int, object] = {
        c.MQCACH_CHANNEL_NAME: connection.channel.encode(),
        c.MQIACH_CHANNEL_TYPE: c.MQCHT_SVRCONN,
        c.MQIACF_CHANNEL_ATTRS: [c.MQCACH_CHANNEL_NAME, c.MQIACH_MAX_MSG_LENGTH],
    }
    try:
        rows = command(session, "MQCMD_INQUIRE_CHANNEL", asked, object_name=connection.channel)
    except MQError as error:
        error.raise_if_lost()
        return unknown("channel", f"{name}: its MAXMSGL is not known: {_reason(error)}", "Give the user DSP on it")
    lengths = [int(row[c.MQIACH_MAX_MSG_LENGTH]) for row in rows if c.MQIACH_MAX_MSG_LENGTH in row]
    most = int(queue_manager_attribute(session, c.MQIA_MAX_MSG_LENGTH))
    needed = min(most, longest.length) if (longest := _longest(session)) else most
    if lengths and lengths[0] < needed:
        return fails(
            "channel",
            f"{name}: MAXMSGL {lengths[0]}, and messages may have {counted(needed, 'byte')}: mqops could not get "
            "the longest (MQRC_DATA_LENGTH_ERROR)",
            f"ALTER CHANNEL({mqsc_name(connection.channel)}) CHLTYPE(SVRCONN) MAXMSGL({needed})",
        )
    return holds("channel", f"{name}, MAXMSGL {lengths[0] if lengths else 'not known'}")


def ledger_queue(session: Session, lake_folder: Path) -> tuple[Check, Check]:
    """The ledger queue, and the ledger behind it, as the pre-flight of a plan finds them. Raises `MqopsError`."""
    rows: dict[str, list[Check]] = {"ledger queue": [], "ledger": []}
    file = LedgerFile(lake_folder)
    for finding in ledger_findings(session, file):
        name = "ledger" if finding.destination == "the ledger" else "ledger queue"
        state = State.UNKNOWN if finding.severity == "unknown" else State.FAILS
        rows[name].append(Check(name=name, state=state, what=finding.what, remedy=finding.remedy))
    good = ""
    if not any(rows.values()):
        rows["ledger"] += _head(session, file)
    if not rows["ledger queue"]:
        rows["ledger queue"] += _attributes(session, LEDGER)
        queue = queue_state(session, LEDGER.name)
        good = (
            f"{LEDGER.name}: CURDEPTH {queue.depth:,} of {queue.max_depth:,}, MAXMSGL {queue.max_msg_length:,}, SHARE"
        )
    return (
        summed_up("ledger queue", rows["ledger queue"], good),
        summed_up("ledger", rows["ledger"], "every line is signed and whole"),
    )


def _head(session: Session, ledger: LedgerFile) -> Iterator[Check]:
    """A check that fails for a ledger that does not have what its head on the ledger queue names."""
    if why := heads_there(session, ledger).quick_alarm(ledger):
        verify = shell_command("mqops", "ledger", "verify", session.name)
        yield fails("ledger", why, f"`{verify}` reads every line (docs/ledger_trust.md, The head on {NAME})")


def _attributes(session: Session, needed: NeededQueue) -> Iterator[Check]:
    """A check that fails for the attributes that do not fit."""
    with opened(session, needed.name, c.MQOT_Q) as handle:
        found = {one.selector: int(session.inquire(handle, one.selector)) for one in needed.attributes}
    if wrong := needed.differences(found):
        words = " ".join(one.mqsc(found[one.selector]) for one in wrong)
        yield fails("ledger queue", f"{needed.name} has {words}", needed.change(wrong))


def others_may_put(session: Session, lake_folder: Path, own: Collection[str]) -> Check:
    """Who else may put on the ledger queue, and what was set aside. Raises `MQError`."""
    if is_zos(session):
        return unknown("ledger access", "z/OS has no authority records to ask for", "See the profiles of the ESM")
    checks = [_check_of(one) for one in ledger_access(session, lake_folder, own)]
    return summed_up("ledger access", checks, "only the user of mqops, and administrators, may put on MQOPS.LEDGER")


def _check_of(warning: AccessWarning) -> Check:
    if not warning.known:
        return unknown("ledger access", warning.text, "Let an administrator look")
    do = "Take PUT from them, and look at what was set aside (docs/ledger_trust.md)"
    return fails("ledger access", warning.text, do)


def dead_letters(session: Session) -> Check:
    """The queue manager's DEADQ: it is there, takes messages, and has room. Raises `MQError`."""
    name = "dead-letter queue"
    try:
        queue = dead_letter_queue(session)
    except SettingsError as error:
        return fails(name, str(error), "ALTER QMGR DEADQ(SYSTEM.DEAD.LETTER.QUEUE)")
    try:
        if wrong := wrong_name(session, queue):
            found = f"DEADQ names {queue}, {wrong.why}"
            local = ". IBM MQ wants a local queue there" if wrong.there else ""
            return fails(name, found + local, mended_deadq(queue, wrong))
        state = queue_state(session, queue)
    except MQError as error:
        error.raise_if_lost()
        return unknown(name, f"{queue} cannot be inquired: {_reason(error)}", "Give the user INQ on it")
    ones = []
    if not state.put_allowed:
        ones.append(fails(name, f"{queue} has PUT(DISABLED)", f"ALTER QLOCAL({mqsc_name(queue)}) PUT(ENABLED)"))
    if state.depth >= state.max_depth:
        full = f"{queue} is full (CURDEPTH {state.depth:,}, MAXDEPTH {state.max_depth:,})"
        ones.append(fails(name, full, "Deal with its messages (`mqops dlq run`), or raise MAXDEPTH"))
    longest = _longest(session)
    if longest and longest.length > state.max_msg_length:
        short = (
            f"{queue} has MAXMSGL {state.max_msg_length:,}, and {longest.queue} takes {counted(longest.length, 'byte')}"
        )
        ones.append(fails(name, short, f"ALTER QLOCAL({mqsc_name(queue)}) MAXMSGL({longest.length})"))
    return summed_up(name, ones, f"{queue}: CURDEPTH {state.depth:,} of {state.max_depth:,}")


def letters(session: Session) -> Check:
    """Reports, and messages that expire, among the first messages of the dead-letter queue. Raises `MQError`."""
    name = "dead letters"
    queue = deadq(session)
    try:
        kinds = first_kinds(session, queue) if queue else None
    except MQError as error:
        error.raise_if_lost()
        do = "Give the user BROWSE on it" if error.reason == c.MQRC_NOT_AUTHORIZED else ""
        return unknown(name, f"{queue} cannot be browsed: {_reason(error)}", do)
    if kinds is None:
        return unknown(name, "no dead-letter queue is known")
    expired = (kinds.expired.sentence(queue),) if kinds.expired.messages else ()
    seen = f"{queue}: {counted(kinds.counted.seen, 'message')} looked at"
    return holds(name, "; ".join((seen, *kinds.counted.sentences(), *expired)))


def protection_errors(session: Session, name: str) -> Check:
    """The second dead-letter queue, of Advanced Message Security. Parameters: `name` of the queue manager. Raises
    `MQError`."""
    what = "protection errors"
    try:
        messages = depth(session, PROTECTION_ERRORS)
    except MQError as error:
        error.raise_if_lost()
        if error.reason == c.MQRC_UNKNOWN_OBJECT_NAME:
            return holds(what, f"there is no {PROTECTION_ERRORS}")
        return unknown(what, f"{PROTECTION_ERRORS} cannot be inquired: {_reason(error)}", "Give the user INQ on it")
    if messages <= 0:
        return holds(what, f"{PROTECTION_ERRORS} is empty")
    do = f"Find the cause in the error log; `{shell_command('mqops', 'dlq', 'anatomy', PROTECTION_ERRORS, name)}`"
    return fails(what, protected(messages), do)


def poison(session: Session, name: str) -> Check:
    """Messages at or over BOTHRESH that a program gets again and again. Parameters: `name` of the queue manager.
    Raises `MQError`."""
    definitions = queue_definitions(session)
    apart = {*backout_queues(definitions), deadq(session)}
    found, not_browsed = looping(session, definitions, apart=apart, queue_manager=name)
    ones = [fails("poison", str(one), one.do) for one in found]
    if not_browsed:
        ones.append(unknown("poison", f"{', '.join(not_browsed)} could not be browsed", "Give the user BROWSE on them"))
    if unseen := unseen_queues(session, ["*"]):
        ones.append(
            unknown("poison", not_seen(unseen), "Give the user DSP, INQ and BROWSE on those that are to be seen")
        )
    return summed_up("poison", ones, "no message of a queue with BOTHRESH is at or over it")


def message_lengths(session: Session) -> Check:
    """MAXMSGL of the local queues against that of the queue manager. Raises `MQError`."""
    name = "MAXMSGL"
    most = int(queue_manager_attribute(session, c.MQIA_MAX_MSG_LENGTH))
    try:
        lengths = _lengths(session)
    except MQError as error:
        error.raise_if_lost()
        return unknown(name, f"the queues cannot be inquired: {_reason(error)}", "Give the user DSP on them")
    above = sorted(queue for queue, length in lengths.items() if length > most)
    if above:
        told = f"the queue manager has {most}, and these queues more: {first_named(above, MOST_NAMED)}"
        return fails(name, told, f"ALTER QMGR MAXMSGL({max(lengths.values())})")
    return holds(name, f"{most} of the queue manager; none of {counted(len(lengths), 'queue')} has more")


def _lengths(session: Session) -> dict[str, int]:
    rows = inquire_queues(session, "*", (c.MQIA_MAX_MSG_LENGTH,))
    return {str(row[c.MQCA_Q_NAME]): int(row.get(c.MQIA_MAX_MSG_LENGTH, 0)) for row in rows}


class LongestMessages(NamedTuple):
    """The queue that takes the longest messages, and their length in bytes."""

    queue: str
    length: int


def _longest(session: Session) -> LongestMessages | None:
    """The queue with the largest MAXMSGL, SYSTEM.* apart; None if the queue manager does not say."""
    try:
        lengths = {name: size for name, size in _lengths(session).items() if not name.startswith("SYSTEM.")}
    except MQError as error:
        error.raise_if_lost()
        return None
    return max((LongestMessages(*one) for one in lengths.items()), key=lambda one: one.length, default=None)


def needed_authorities(session: Session, file: EstateFile | None, name: str) -> list[Authority]:
    """The authorities that the user of mqops needs, on the queues that are known. Raises `MqopsError`."""
    return list(authorities(used_queues(session, file, name)))


def authority(session: Session, needed: Iterable[Authority], user: str) -> Check:
    """Whether the user has what it needs, tried by opening. Raises `MQError` where the connection is lost."""
    name = "authorities"
    ones: list[Check] = []
    missing: list[str] = []
    for one in needed:
        if "*" in one.profile:
            continue  # a profile is no object that can be opened
        if _is_missing(session, one):
            missing.append(one.profile)
        else:
            ones += _lacking(session, one, user)
    if missing:
        ones.append(unknown(name, f"not tried, because there is no such queue: {', '.join(missing)}"))
    return summed_up(name, ones, "the least authorities of docs/ledger_trust.md are there")


def _lacking(session: Session, needed: Authority, user: str) -> Iterator[Check]:
    """A check that fails for the words that are lacking on an object, one that is unknown for those that cannot be
    tried."""
    tried = {word: _may(session, needed, word, user) for word in needed.words}
    lacking = tuple(word for word, outcome in tried.items() if outcome is False)
    untried = [word for word, outcome in tried.items() if outcome is None]
    where = f"on {needed.profile}" if needed.profile else "on the queue manager"
    if lacking:
        give = [replace(needed, words=lacking)]
        give += [Authority(kind="QMGR", profile="", words=("SETALL",))] if "SETALL" in lacking else []
        commands = ". ".join(one.mqsc(Grantee("PRINCIPAL", user)) for one in give)
        yield fails("authorities", f"{', '.join(lacking)} {where} lacking", commands)
    if untried:
        yield unknown("authorities", f"{', '.join(untried)} {where} could not be tried")


def _is_missing(session: Session, needed: Authority) -> bool:
    if needed.kind != "QUEUE" or needed.profile in {COMMAND_QUEUE, MODEL_QUEUE}:
        return False
    try:
        with opened(session, needed.profile, c.MQOT_Q):
            return False
    except MQError as error:
        error.raise_if_lost()
        return error.reason == c.MQRC_UNKNOWN_OBJECT_NAME


def _may(session: Session, needed: Authority, word: str, user: str) -> bool | None:
    """Whether the user has an authority, by MQOPEN or by inquiry; None where that is not known."""
    if needed.kind == "QMGR":
        return _may_act_for(session, user) if word == ALTERNATE_USER else True  # the other checks need the rest
    if needed.profile in {COMMAND_QUEUE, MODEL_QUEUE}:
        return True  # the inquiries of the other checks need it
    try:
        if word == "DSP":
            return bool(inquire_queues(session, needed.profile, (c.MQIA_Q_TYPE,), kind=c.MQQT_ALL)) or None
        session.close(session.open(needed.profile, OPENING[word] | c.MQOO_FAIL_IF_QUIESCING))
    except MQError as error:
        error.raise_if_lost()
        if error.reason == c.MQRC_OPTION_NOT_VALID_FOR_TYPE:
            return True  # a remote queue: nothing can be got there
        return False if error.reason == c.MQRC_NOT_AUTHORIZED else None
    return True


def _may_act_for(session: Session, user: str) -> bool | None:
    """Whether the user has ALTUSR: it opens the ledger queue in its own name. None where that is refused: the channel
    may have given the connection another user."""
    options = c.MQOO_INQUIRE | c.MQOO_ALTERNATE_USER_AUTHORITY | c.MQOO_FAIL_IF_QUIESCING
    try:
        session.close(session.open(LEDGER.name, options, alternate_user=user))
    except MQError as error:
        error.raise_if_lost()
        return None
    return True


def clock(session: Session, now: Callable[[], datetime]) -> Check:
    """The difference between the clocks. Raises `MQError` where the connection is lost."""
    name = "clock"
    try:
        least, most = clock_ahead(session, now)
    except MQError as error:
        error.raise_if_lost()
        return unknown(name, f"the command server gave no answer with a put time: {_reason(error)}")
    middle = (least + most) / 2
    exact = (most - least).total_seconds() / 2
    ahead = "ahead of" if middle >= timedelta(0) else "behind"
    found = f"the queue manager's is {abs(middle.total_seconds()):.2f} s {ahead} this machine's (to {exact:.2f} s)"
    if least > MOST_AHEAD or most < -MOST_AHEAD:
        return fails(name, found, "Set both by NTP: ages, lifetimes and the times of the ledger are compared")
    return holds(name, found)


def queues_seen(session: Session, patterns: tuple[str, ...], name: str) -> Check:
    """Whether the user may inquire the queues that patterns of the estate stand for. Raises `MQError`."""
    unseen = unseen_queues(session, patterns)
    if unseen:
        words = f"`{shell_command('mqops', 'init', name, '--user', 'USER')}`"
        return fails("queues", not_seen(unseen), f"{words} has the authority records")
    return holds("queues", f"every queue that the estate's patterns stand for can be inquired: {', '.join(patterns)}")


def named_in_estate(session: Session, connection: MqConnection, file: EstateFile, name: str) -> Check:
    """Whether the queues are there that the estate and its rules tables name. Raises `MqopsError`."""
    lines = [*missing_objects(session, file, name), *wrong_targets(connection, file, name)]
    ones = [fails("estate", line, "Define it, or correct the name") for line in lines]
    return summed_up("estate", ones, f"{file.path}: all queues that it names are there")


def _reason(error: MQError) -> str:
    return f"{error.symbol} ({error.reason})"
