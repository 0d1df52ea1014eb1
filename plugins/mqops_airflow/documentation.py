"""The pages that stand behind the DAGs in Airflow's UI, each with its own settings in it."""

from __future__ import annotations

from mqops.estate import Approval, BackoutReprocess, DlqRules, ExpiryScan, SnapshotQuality

DLQ_RULES = """
### Dead-letter queue rules of {queue_manager}

Each pass applies the rules table `{rules}` to {queue}: messages are tried again (RETRY), forwarded (FWD),
discarded (DISCARD) or left (IGNORE), first matching rule first.

| task | does |
|---|---|
| check | settings, rules table, queue manager, lake; ends the run here if the queue is empty |
| observe | copies every message, whole, into the lake |
| decide | makes the plan: one rule a message, counts, digest |
| route | looks whether the destinations can take it all; dry runs and empty plans go to *prove*; {policy} |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer within {timeout} is a Reject |
| act | moves exactly the messages of the approved plan, {unit_of_work} in a unit of work; refuses any other plan |
| prove | planned = moved + discarded + left + gone, by the ledger and the queue; fails if not |

A run is **dry** unless its form says otherwise or the schedule started it. Nothing is lost if a task fails or is
killed: clear it, and it goes on where it stopped. Messages that arrive after *observe* are not touched. A run asks
about one plan: where it was made anew since, start a new run. Marking *approve* as success approves nothing.
"""


def dlq_rules_page(name: str, section: DlqRules) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    return DLQ_RULES.format(
        queue_manager=name,
        rules=section.rules,
        queue=f"queue `{section.queue}`" if section.queue else "its dead-letter queue (DEADQ)",
        policy=policy_of(section.approval),
        timeout=section.approval.timeout,
        unit_of_work=section.unit_of_work,
    )


def policy_of(approval: Approval) -> str:
    """What the policy does with plans that move something, in words."""
    if not approval.required:
        policy = "every other plan goes to *act*"
    elif approval.auto_approve is None:
        policy = "every other plan goes to *approve*"
    else:
        automatic = approval.auto_approve
        policy = (
            f"scheduled plans of at most {automatic.max_messages} messages with only {', '.join(automatic.actions)}, "
            "to destinations without a problem, go to *act*, every other one to *approve*"
        )
    return policy


SNAPSHOT_QUALITY = """
### Data quality on {queue_manager}

Copies the messages of {queues} into the lake, changing nothing, and runs suites of expectations on the copy:
{suites}.

| task | does |
|---|---|
| check | suites, queue manager, queues; ends the run here if no queue has a message |
| observe | copies every message, whole, into the lake |
| quality | Great Expectations on Spark: which messages fail which expectation |
| report | the summary; **fails if a critical expectation failed**, tells warnings |

The run's folder then has `quality/failures/` (Parquet: one row a message and failed expectation, without payload),
`quality/docs/` (Data Docs) and `quality/quality.json`. How suites are written is in `include/expectations/README.md`;
`mqops quality suite FILE` checks one.
"""


def snapshot_quality_page(name: str, section: SnapshotQuality) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    return SNAPSHOT_QUALITY.format(
        queue_manager=name,
        queues=", ".join(f"`{pattern}`" for pattern in section.queues),
        suites=", ".join(f"`{suite}`" for suite in section.suites),
    )


BACKOUT_REPROCESS = """
### Backout queues of {queue_manager}

Deals with messages that applications have backed out too often, on {queues}: the rules table `{rules}` says what
becomes of each. `ACTION(RETRY)` puts it back on the queue it came from: the one that names the backout queue as
BOQNAME, and where several do, the one of them in its MQRFH2 (`jms/Dst`). A message whose origin is ambiguous is counted
as AMBIGUOUS and left, unless a rule names a queue for it.

A message (same MsgId and body) that was put back {replay_cap} times goes to `{quarantine}` instead.

| task | does |
|---|---|
| check | finds the backout queues, tells what is set up wrongly; ends the run here if they are empty |
| observe | copies every message, whole, into the lake |
| decide | makes the plan: origin, rule, replays so far, digest |
| route | looks whether the destinations can take it all; dry runs and empty plans go to *prove*; {policy} |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer within {timeout} is a Reject |
| act | moves exactly the messages of the approved plan, {unit_of_work} in a unit of work; refuses any other plan |
| prove | planned = moved + discarded + left + gone, by the ledger and the queues; fails if not |

A run is **dry** unless its form says otherwise or the schedule started it. A run asks about one plan: where it was made
anew since, start a new run. Marking *approve* as success approves nothing. The order of messages on a queue is kept
where all of them go back; it is not where some wait on the queue already.
"""


def backout_reprocess_page(name: str, section: BackoutReprocess) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    named = ", ".join(f"`{queue}`" for queue in section.queues or ())
    return BACKOUT_REPROCESS.format(
        queue_manager=name,
        queues=named or "every queue that another one names as its BOQNAME",
        rules=section.rules,
        replay_cap=section.replay_cap,
        quarantine=section.quarantine,
        policy=policy_of(section.approval),
        timeout=section.approval.timeout,
        unit_of_work=section.unit_of_work,
    )


EXPIRY_SCAN = """
### Expired messages on {queue_manager}

{when} looks for queues among {queues} that may hold expired messages, and browses those to their end: the queue manager
then discards what has expired and sends the reports that were asked for. Nothing else is touched, and it is the queue
manager that decides what has expired.

| task | does |
|---|---|
| check | depths by PCF, and what earlier scans taught: which queues are worth a scan; none: the run ends here |
| scan | browses them on Spark, a task a queue, without their data |
| report | per queue: how many there were, discarded, left, and when the next expires |

A queue is looked at after {recheck} in any case. To have queues scanned now, whatever is known: `mq_refresh_expiry`.
"""


def expiry_scan_page(name: str, section: ExpiryScan) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    return EXPIRY_SCAN.format(
        queue_manager=name,
        when=f"Every {section.interval}" if section.interval else "Started by hand, it",
        queues=", ".join(f"`{pattern}`" for pattern in section.queues),
        recheck=section.recheck,
    )


REFRESH_EXPIRY = """
### Discard expired messages now

`REFRESH QMGR TYPE(EXPIRY) NAME(...)` where the queue manager's platform has it (z/OS); on others the same by browsing
the queues. The log and the XCom say per queue how many there were, discarded, left, and when the next expires.
"""


UNDO = """
### Undo a run

Puts back what a run moved and discarded, byte for byte, with all context and the lifetime that is left, on the queue it
was taken from. A discarded message comes from its copy in the lake (RESTORE); a moved one is taken from where it went
and put back in the same unit of work (RETURN). What cannot be proved to be absent elsewhere is refused and counted:
CONSUMED (no longer where it went), HIDDEN (a unit of work of somebody else may have it, or the queue it was taken from,
which nobody can look at now: try again when that has ended), UNPROVABLE (it went where nobody can look), CONFIRMS
(taking it would confirm its delivery to the sender), EXPIRED, PARTED (others of its MQ group cannot be put back).
PRESENT and UNDONE need nothing: nothing is undone twice. A queue that is shut or gone holds back its own
messages alone.

| task | does |
|---|---|
| plan | looks where each message is now and whether the queues can take them; copies the originals; makes the plan |
| route | dry runs and plans that move nothing go to *prove*, all others to *approve* |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer in time is a Reject |
| act | does exactly what the plan says; cleared, it goes on where it stopped |
| prove | planned = put back + left + gone, by the ledger and the queues; fails if not |

The form takes the run's name in the lake. A run is **dry** unless the form says otherwise. It asks about one plan:
where that was made anew since, start a new run. Marking *approve* as success approves nothing. `mqops undo RUN` does
the same.
"""


STOP = """
### Stop acting, or go on

The kill switch. **stop** makes every process that acts on the run end after the unit of work it is in, on every machine
that shares the lake; without a run it holds for everything of the queue manager, and no act begins. Nothing is undone
and nothing is lost: what was done is in the ledger, and *prove* of the stopped run counts it; the rest is where it was.

**resume** takes the stop back. Then clear the task *act* of the stopped run: it does the rest, each message once.
`mqops stop` and `mqops resume` do the same.
"""
