"""What the estate and its rules tables name of a queue manager: does it have that. Also `mqops estate check --live`."""

from __future__ import annotations

from collections.abc import Iterator

from mqops.decide.rules_check import wrong_queues
from mqops.errors import MQError, SettingsError
from mqops.estate import EstateFile
from mqops.estate_sections import RulesWorkflow
from mqops.ledger.queue import NAME as LEDGER
from mqops.mq.connection import MqConnection
from mqops.mq.inquire import base_queue, dead_letter_queue
from mqops.mq.session import Session
from mqops.rules import Table, parse
from mqwire.constants import MQRC_UNKNOWN_OBJECT_NAME


def missing_objects(session: Session, file: EstateFile, name: str) -> Iterator[str]:
    """A sentence for each queue that is named and that the queue manager does not have. Raises `MQError`."""
    for queue, where in _named(file, name):
        try:
            base_queue(session, queue)
        except MQError as error:
            if error.reason != MQRC_UNKNOWN_OBJECT_NAME:
                raise
            yield f"{queue} is not there, and {where} names it: define it, or correct the name"
    settings = file.estate.queue_managers[name]
    if settings.dlq_rules and not settings.dlq_rules.queue:
        try:
            base_queue(session, dead_letter_queue(session))
        except SettingsError as error:
            yield str(error)
        except MQError as error:
            if error.reason != MQRC_UNKNOWN_OBJECT_NAME:
                raise
            yield f"{error.object_name} is not there, and DEADQ of the queue manager names it: define it"


def _named(file: EstateFile, name: str) -> dict[tuple[str, str], None]:
    """The queues that are named whole, each with who names it, in the order of the file."""
    settings = file.estate.queue_managers[name]
    found: dict[tuple[str, str], None] = {}
    if any(settings.workflows(RulesWorkflow)):
        found[LEDGER, "every workflow that moves messages"] = None
    if settings.dlq_rules and settings.dlq_rules.queue:
        found[settings.dlq_rules.queue, "dlq_rules.queue"] = None
    if settings.backout_reprocess:
        found |= {(queue, "backout_reprocess.queues"): None for queue in settings.backout_reprocess.queues or ()}
        found[settings.backout_reprocess.quarantine, "backout_reprocess.quarantine"] = None
    for section, each in (("snapshot_quality", settings.snapshot_quality), ("expiry_scan", settings.expiry_scan)):
        found |= {(queue, f"{section}.queues"): None for queue in (each.queues if each else ()) if "*" not in queue}
    return found | {(queue, "storage"): None for queue in settings.storage if "*" not in queue}


def wrong_targets(connection: MqConnection, file: EstateFile, name: str) -> Iterator[str]:
    """A line for each rule whose FWDQ the queue manager cannot put to. Raises `MqopsError`."""
    for workflow, table in _tables(file, name):
        problems = wrong_queues(table, connection, backout=workflow.origins)
        yield from (f"{workflow.rules}:{problem.line}: {problem.message}" for problem in problems)


def worked_queues(file: EstateFile, name: str) -> tuple[str, ...]:
    """The queues that the workflows of a queue manager take messages from or put them on, as far as they are named.

    Where RETRY puts, the messages say; the dead-letter queue is the queue manager's where the estate names none.
    Raises `SettingsError`.
    """
    settings = file.estate.queue_managers[name]
    found: dict[str, None] = {}
    if settings.dlq_rules and settings.dlq_rules.queue:
        found[settings.dlq_rules.queue] = None
    if settings.backout_reprocess:
        found |= dict.fromkeys((*(settings.backout_reprocess.queues or ()), settings.backout_reprocess.quarantine))
    for _, table in _tables(file, name):
        found |= {rule.fwdq: None for rule in table.rules if rule.fwdq and not rule.fwdq.startswith("&")}
    return tuple(queue for queue in found if queue != LEDGER)


def _tables(file: EstateFile, name: str) -> Iterator[tuple[RulesWorkflow, Table]]:
    """The rules tables of a queue manager that are valid."""
    for _, workflow in file.estate.queue_managers[name].workflows(RulesWorkflow):
        try:
            text = file.rules(workflow.rules).read_bytes().decode("utf-8", "surrogateescape")
        except OSError as error:
            raise SettingsError(f"rules table {workflow.rules} cannot be read: {error}") from error
        if table := parse(text, source=workflow.rules, origins=workflow.origins, lint=False).table:
            yield workflow, table
