"""What the estate and its rules tables name of a queue manager: does it have that. Also `mqops estate check --live`."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.backout.core.origin import backout_queues
from mqops.backout.core.origin_table import SECTION as ORIGINS
from mqops.decide.rules_check import wrong_queues
from mqops.doctor.needs import EVERYTHING, UsedQueues, profile_of
from mqops.errors import SettingsError
from mqops.estate import EstateFile
from mqops.estate_sections import QueueManager
from mqops.estate_workflows import BackoutReprocess, MovingWorkflow, PoisonGuard, RulesWorkflow
from mqops.given_file import table_text
from mqops.ledger.queue import NAME as LEDGER
from mqops.mq.connection import MqConnection
from mqops.mq.inquire import dead_letter_queue, queue_definitions
from mqops.mq.named_queue import usable_dead_letter_queue, wrong_name
from mqops.mq.session import Session
from mqops.rules import Table, parse
from mqops.trigger.core.definitions import wanted
from mqops.workflow import Workflow
from mqwire.constants import MQTT_DEPTH


def missing_objects(session: Session, file: EstateFile, name: str) -> Iterator[str]:
    """A sentence for each queue that is named and that the queue manager does not have. Raises `MQError`."""
    for queue, where in _named(file, name):
        wrong = wrong_name(session, queue)
        if wrong and not (wrong.instead and wrong.there):  # an alias of a local queue is taken
            yield f"{queue}, {wrong.why}, and {where} names it: define it as a local queue, or correct the name"
    settings = file.estate.queue_managers[name]
    if settings.dlq_rules and not settings.dlq_rules.queue:
        try:
            usable_dead_letter_queue(session)
        except SettingsError as error:
            yield str(error)


def _named(file: EstateFile, name: str) -> dict[tuple[str, str], None]:
    """The queues that are named whole, each with who names it, in the order of the file."""
    settings = file.estate.queue_managers[name]
    found: dict[tuple[str, str], None] = {}
    if any(settings.workflows(MovingWorkflow)):
        found[LEDGER, "every workflow that moves messages"] = None
    if settings.dlq_rules and settings.dlq_rules.queue:
        found[settings.dlq_rules.queue, "dlq_rules.queue"] = None
    found |= {(queue, "dlq_rules.also"): None for queue in (settings.dlq_rules.also if settings.dlq_rules else ())}
    if settings.backout_reprocess:
        found |= {(queue, "backout_reprocess.queues"): None for queue in settings.backout_reprocess.queues or ()}
        found[settings.backout_reprocess.quarantine, "backout_reprocess.quarantine"] = None
        for row in settings.backout_reprocess.origins:
            found |= {(queue, ORIGINS): None for queue in (row.queue, row.backout_queue) if queue}
    for place, gate in settings.gates():
        if gate.quarantine:
            found[gate.quarantine, ".".join((*place, "quarantine"))] = None
    if settings.poison_guard:
        found |= {(queue, "poison_guard.queues"): None for queue in settings.poison_guard.queues or ()}
    for section, each in (
        (Workflow.SNAPSHOT, settings.snapshot),
        (Workflow.SNAPSHOT_QUALITY, settings.snapshot_quality),
        (Workflow.EXPIRY_SCAN, settings.expiry_scan),
    ):
        found |= {(queue, f"{section}.queues"): None for queue in (each.queues if each else ()) if "*" not in queue}
    for key, queues in (("storage", settings.storage), ("reset_statistics", settings.reset_statistics)):
        found |= {(queue, key): None for queue in queues if "*" not in queue}
    return found


def patterns_of(file: EstateFile, name: str) -> tuple[str, ...]:
    """The patterns of queues that the workflows of a queue manager look at."""
    settings = file.estate.queue_managers[name]
    sections = (settings.snapshot, settings.snapshot_quality, settings.expiry_scan)
    patterns = dict.fromkeys(one for section in sections if section for one in section.queues if "*" in one)
    return tuple({**patterns, **({"*": None} if _looks_at_all(settings) else {})})


def _looks_at_all(settings: QueueManager) -> bool:
    """Whether a workflow finds its queues among the definitions of all."""
    found = (settings.backout_reprocess, settings.poison_guard)
    told = settings.expiry_scan is not None and settings.expiry_scan.tell_from is not None
    return told or any(section is not None and not section.queues for section in found)


def wrong_targets(connection: MqConnection, file: EstateFile, name: str) -> Iterator[str]:
    """A line for each rule whose FWDQ the queue manager cannot put to. Raises `MqopsError`."""
    for workflow, table in _tables(file, name):
        problems = wrong_queues(table, connection, backout=workflow.names_origins)
        yield from (f"{workflow.rules}:{problem.line}: {problem.message}" for problem in problems)


def used_queues(session: Session | None, file: EstateFile | None, name: str) -> UsedQueues:
    """The queues that mqops uses on a queue manager, as far as they are known before a message comes.

    Where RETRY puts a dead letter, the message says. The dead-letter queue is always among the queues that are worked
    on. Backout queues, and the queues that messages came from, are those of the queue manager's definitions.

    Parameters: `session` None where the queue manager cannot be asked.

    Raises:
        MQError: the queue manager cannot be inquired.
        SettingsError: a rules table cannot be read.
    """
    dead_letters = _dead_letter_queue(session)
    worked = dict.fromkeys(filter(None, (dead_letters,)))
    settings = file.estate.queue_managers.get(name) if file else None
    if file is None or settings is None:
        return UsedQueues(worked=tuple(worked))
    if settings.dlq_rules and settings.dlq_rules.queue:
        worked[settings.dlq_rules.queue] = None
    worked |= dict.fromkeys(settings.dlq_rules.also if settings.dlq_rules else ())
    if settings.backout_reprocess:
        worked |= dict.fromkeys(_backed_out(session, settings.backout_reprocess))
    if settings.poison_guard:
        worked |= dict.fromkeys(_guarded(session, settings.poison_guard))
    for _, table in _tables(file, name):
        worked |= {rule.fwdq: None for rule in table.rules if rule.fwdq and not rule.fwdq.startswith("&")}
    sections = (settings.snapshot, settings.snapshot_quality, settings.expiry_scan)
    looked_at = {profile_of(pattern): None for section in sections if section for pattern in section.queues}
    if settings.expiry_scan and settings.expiry_scan.tell_from:
        looked_at |= {profile_of(pattern): None for pattern in _waited_on(session, settings)}
    wants = wanted(name, settings, dead_letter_queue=dead_letters)
    return UsedQueues(
        worked=tuple(queue for queue in worked if queue != LEDGER),
        looked_at=tuple(queue for queue in looked_at if queue != LEDGER),
        shown=(EVERYTHING,) if _looks_at_all(settings) else (),
        initiation=wants.initiation_queues,
        switched=tuple(one.queue for one in wants.triggers if one.queue and one.type == MQTT_DEPTH),
        counted=tuple(profile_of(pattern) for pattern in settings.reset_statistics),
    )


def _dead_letter_queue(session: Session | None) -> str:
    """The one of the queue manager, "" if it names none; the one that every queue manager has if it is not known."""
    if session is None:
        return "SYSTEM.DEAD.LETTER.QUEUE"
    try:
        return dead_letter_queue(session)
    except SettingsError:
        return ""


def _waited_on(session: Session | None, settings: QueueManager) -> Iterator[str]:
    """The backout and storage queues, whose messages wait for a person: names and patterns. Raises `MQError`."""
    yield from backout_queues(queue_definitions(session) if session else ())
    yield from settings.storage


def _guarded(session: Session | None, section: PoisonGuard) -> Iterator[str]:
    """The input queues, and the queues that they name as BOQNAME. Raises `MQError`."""
    definitions = queue_definitions(session) if session else ()
    apart = backout_queues(definitions)
    found = (one for one in definitions if one.kind == "local" and one.threshold and one.name not in apart)
    named = section.queues or tuple(one.name for one in found if not one.name.startswith(("SYSTEM.", "MQOPS.")))
    yield from named
    yield from (one.backout_queue for one in definitions if one.name in named and one.backout_queue)


def _backed_out(session: Session | None, section: BackoutReprocess) -> Iterator[str]:
    """The backout queues, the queues that their messages came from, and the quarantine queue. Raises `MQError`."""
    definitions = queue_definitions(session) if session else ()
    named = section.queues or backout_queues(definitions)
    yield from named
    yield from (one.name for one in definitions if one.backout_queue in named)
    yield section.quarantine
    yield from (row.queue for row in section.origins)


def _tables(file: EstateFile, name: str) -> Iterator[tuple[RulesWorkflow, Table]]:
    """The rules tables of a queue manager that are valid."""
    for _, workflow in file.estate.queue_managers[name].workflows(RulesWorkflow):
        text = table_text(file.rules(workflow.rules))
        if table := parse(text, source=workflow.rules, origins=workflow.names_origins, lint=False).table:
            yield workflow, table
