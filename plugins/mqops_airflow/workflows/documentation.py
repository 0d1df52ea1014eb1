"""The documentation of the DAGs in Airflow's UI, each with its settings, as Markdown.

The DAG processor sends what a DAG has to its parent, and takes plain `str` only, no class that is derived from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqops.estate_sections import Retention
from mqops.estate_workflows import (
    Approval,
    BackoutReprocess,
    DlqRules,
    ExpiryScan,
    PoisonGuard,
    SnapshotQuality,
    Snapshots,
    TriggerMonitor,
)
from mqops_airflow.ui.markdown import Markdown, joined, md, number, words

DLQ_RULES = """
### Dead-letter queue rules of {queue_manager}

Each pass applies the rules table {rules} to {queue}: messages are tried again (RETRY), forwarded (FWD),
discarded (DISCARD) or left (IGNORE), first matching rule first.

| task | does |
|---|---|
| check | settings, rules table, queue manager, lake; ends the run here if the queue is empty |
| observe | copies every message, whole, into the lake |
| decide | makes the plan: one rule a message, counts, digest |
| route | checks whether the destinations can take all messages; dry runs and empty plans go to *prove*; {policy} |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer within {timeout} is a Reject |
| act | moves exactly the messages of the approved plan, {unit_of_work} in a unit of work; refuses any other plan |
| prove | planned = moved + discarded + left + gone, by the ledger and the queue; fails if not |

A run is **dry** unless its form says otherwise or the schedule started it. Nothing is lost if a task fails or is
killed: clear it, and it goes on where it stopped. Messages that arrive after *observe* are not touched. A run asks
for the approval of one plan: if the plan was made again since, start a new run. Marking *approve* as success
approves nothing. While a plan waits for its answer, dry runs and runs on other queues go on; another run of this DAG,
or of `mq_recover`, that would act on the same queue ends in its first task and says who is waited for.
"""


def dlq_rules_page(name: str, section: DlqRules) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    page = md(
        DLQ_RULES,
        queue_manager=name,
        rules=section.rules,
        queue=joined(", ", [_queue_of(section), *section.also]),
        policy=policy_of(section.approval),
        timeout=section.approval.timeout,
        unit_of_work=section.unit_of_work,
    )
    return str(page)


def _queue_of(section: DlqRules) -> Markdown:
    return md("queue {}", section.queue) if section.queue else md("its dead-letter queue (DEADQ)")


def policy_of(approval: Approval) -> Markdown:
    """What the policy does with plans that move something, in words."""
    if not approval.required:
        return md("every other plan goes to *act*")
    if approval.auto_approve is None:
        return md("every other plan goes to *approve*")
    automatic = approval.auto_approve
    return md(
        "scheduled plans of at most {} with only {}, to destinations without a problem, go to *act*, every other one "
        "to *approve*",
        number(automatic.max_messages, "message"),
        joined(", ", map(words, automatic.actions)),
    )


DAILY_NOTICE = """
### What needs a person

Asks every queue manager of the estate, and sends the list of what needs a person by the notifier of `notify`: one
message, the worst first. `mqops estate status --daily` shows it. A run by hand is **dry** unless its form says
otherwise: the message is in its log.
"""

SNAPSHOT = """
### Snapshot of {queue_manager}

Copies the messages of {queues} into the lake. It browses: the queue manager discards what has expired there. The
files are for everybody who may read the lake: their columns, readers, and the comparison of two snapshots are in
`docs/snapshots.md`.

| task | does |
|---|---|
| check | queue manager and queues; ends the run here if no queue has a message, and none had one before |
| observe | copies every message, whole, into the lake |

*check* fails if nothing is left to copy and a queue that is meant could not be seen.

The asset of *observe* has an event for each snapshot, with its summary as extra. What `retention` of the estate says
for the workflow `snapshot` removes old ones.
"""


def snapshot_page(name: str, section: Snapshots) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    return str(md(SNAPSHOT, queue_manager=name, queues=joined(", ", section.queues)))


SNAPSHOT_QUALITY = """
### Data quality on {queue_manager}

Copies the messages of {queues} into the lake and runs suites of expectations on the copy. It browses: the queue manager
discards what has expired there. The suites:
{suites}.

| task | does |
|---|---|
| check | suites, queue manager, queues; ends the run here if no queue has a message; fails if a suite expects one |
| observe | copies every message, whole, into the lake |
| quality | Great Expectations on Spark: which messages fail which expectation |
| report | the summary; **fails if a critical expectation failed**, reports warnings |

If no queue has a message, *check* itself says what that means for the suites: an expectation that there is a message
is not met, and fails the run. So does a critical expectation whose suite fits no queue: it has looked at nothing.

The run's folder then has `quality/checks/`, a folder for each check, with `failures/` (Parquet: one row for each
message and failed expectation, without payload), `docs/` (Data Docs) and `quality.json`. The link *Data Docs* on the
task report, and in the run's note, opens the pages; they need no network. How suites are written is in
`include/expectations/README.md`; `mqops quality suite FILE` checks one.
"""


def snapshot_quality_page(name: str, section: SnapshotQuality) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    page = md(
        SNAPSHOT_QUALITY, queue_manager=name, queues=joined(", ", section.queues), suites=joined(", ", section.suites)
    )
    return str(page)


BACKOUT_REPROCESS = """
### Backout queues of {queue_manager}

Processes messages that applications have backed out too often, on {queues}: the rules table {rules} says what
happens to each message. `ACTION(RETRY)` puts it back on the queue it came from: the queue that names the backout queue
as BOQNAME. If several queues name it, the estate's table `origins` decides ({origins}), else the MQRFH2 of the message
(`jms/Dst`). A message whose origin is
ambiguous is counted as AMBIGUOUS and left, unless a rule names a queue for it.

A message (same MsgId and body) that was put back {replays} goes to {quarantine} instead.

| task | does |
|---|---|
| check | finds the backout queues, reports what is set up wrongly; ends the run here if they are empty |
| observe | copies every message, whole, into the lake |
| decide | makes the plan: origin, rule, replays so far, digest |
| route | checks whether the destinations can take all messages; dry runs and empty plans go to *prove*; {policy} |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer within {timeout} is a Reject |
| act | moves exactly the messages of the approved plan, {unit_of_work} in a unit of work; refuses any other plan |
| prove | planned = moved + discarded + left + gone, by the ledger and the queues; fails if not |

A run is **dry** unless its form says otherwise or the schedule started it. A run asks for the
approval of one plan: if the plan was made again since, start a new run. Marking *approve* as success
approves nothing. While a plan waits for its answer, dry runs and runs on other queues go on; another run of this DAG,
or of `mq_recover`, that would act on the same queue ends in its first task and says who is waited for. The messages of
a queue keep their order if all of them go back and the queue is empty.
"""


def backout_reprocess_page(name: str, section: BackoutReprocess) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    named = joined(", ", section.queues or ())
    page = md(
        BACKOUT_REPROCESS,
        queue_manager=name,
        queues=named or md("every queue that another one names as its BOQNAME"),
        rules=section.rules,
        replays=number(section.replay_cap, "time"),
        quarantine=section.quarantine,
        origins=number(len(section.origins), "row"),
        policy=policy_of(section.approval),
        timeout=section.approval.timeout,
        unit_of_work=section.unit_of_work,
    )
    return str(page)


POISON_GUARD = """
### Messages that loop on {queue_manager}

Watches {queues} for {watch}: a message at or over BOTHRESH whose program does not look at BackoutCount is got and
backed out again and again, and keeps the others waiting. It goes where the attributes of its queue say: to BOQNAME;
where that cannot take it, it is discarded if its report options have MQRO_DISCARD_MSG, else it goes to the dead-letter
queue behind an MQDLH. The exception report that it asks for is sent. The messages of an MQ group go together. The queue
is not inhibited: its program goes on with the other messages.

| task | does |
|---|---|
| plan | who reads the queue, how fast BackoutCount rises, since when, what waits behind; copies the messages that \
loop into the lake; makes the plan; ends the run here if nothing loops |
| route | dry runs and empty plans go to *prove*; {policy} |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer within {timeout} is a Reject |
| act | moves exactly the messages of the approved plan; one that a program has in a unit of work is waited for, then \
left, and told as gone |
| prove | planned = moved + discarded + left + gone, by the ledger and the queues; fails if not |

In an emergency start a run by hand with the queue, and with *Dry run* off. The policy of the estate counts for it, too:
the form chooses no destination. A run is **dry** unless its form says otherwise or the schedule started it.
`mqops backout guard` does the same. `mq_undo` puts the messages back, with BackoutCount 0.
"""


def poison_guard_page(name: str, section: PoisonGuard) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    named = joined(", ", section.queues or ())
    page = md(
        POISON_GUARD,
        queue_manager=name,
        queues=named or md("every queue with BOTHRESH that is no backout queue"),
        watch=section.watch,
        policy=policy_of(section.approval),
        timeout=section.approval.timeout,
    )
    return str(page)


EXPIRY_SCAN = """
### Expired messages on {queue_manager}

{when} looks for queues among {queues} that may hold expired messages, and browses those to their end: the queue manager
then discards what has expired and sends the reports that were asked for. Nothing else is touched, and it is the queue
manager that decides what has expired.

| task | does |
|---|---|
| check | finds the queues that need a scan, by depth and by earlier scans; without any, the run ends here |
| scan | browses these queues on Spark, one task for each queue, without message data |
| report | for each queue: messages found, discarded and left, and when the next one expires |

The note of a run says what of dead-letter, backout and storage queues expires before people are at work again. A queue
that a queue-sharing group shares is left to the member that scanned it last, while that one looks for candidates.

Each queue is scanned at least every {recheck}. To scan queues now in any case, use `mq_refresh_expiry`.
"""


def expiry_scan_page(name: str, section: ExpiryScan) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    page = md(
        EXPIRY_SCAN,
        queue_manager=name,
        when=md("Every {}", section.interval) if section.interval else md("Started by hand, it"),
        queues=joined(", ", section.queues),
        recheck=section.recheck,
    )
    return str(page)


RETENTION = """
### What old runs no longer need

{when} removes from the lake the files of old runs, as `retention` of the estate says: snapshots {snapshots}, plans
{plans}, runs that moved nothing {runs}. The ledger stays, and so do the records of each run that moved or discarded
messages. A run that is not over, waits for an answer or does not balance keeps all of its files; so does one that moved
messages, for {undo}, in which it can be undone, and the newest of each workflow and queue.

The note of a run says how much was removed; its log, which runs keep their files, and why; the ledger, what was removed
of which run, when and why. A run by hand is **dry** unless its form says otherwise.

Airflow's own database and logs grow, too: `docs/a_year.md` has the `airflow db clean` that goes with it, and what to
leave out.
"""


def retention_page(section: Retention) -> str:
    """The DAG's page, with the ages of the estate in it."""
    ages = {"snapshots": section.snapshots, "plans": section.plans, "runs": section.runs}
    page = md(
        RETENTION,
        when=md("The schedule") if section.schedule else md("Started by hand, it"),
        undo=section.undo,
        **{name: md("after {}", age) if age else md("never by age") for name, age in ages.items()},
    )
    return str(page)


TRIGGER_MONITOR = """
### Trigger monitor of {queue_manager}

Serves the initiation queues {queues}. Each trigger message starts one run of the DAG that APPLICID of its process
names, if the estate allows it: {dags}. The run's conf has the message's fields under `mq_trigger`: data, which nothing
evaluates.

Airflow's triggerer has the initiation queues open as long as this DAG is not paused. A run of this DAG starts the runs,
and its note says which. A trigger message that can start nothing goes to the dead-letter queue with its reason: a DAG
that is missing, paused or not allowed, a queue whose process does not name that DAG, no valid trigger message, or a
queue that was left as it was by so many runs in a row: {unchanged_runs} (a closed loop). While so many runs are queued
for a queue: {queued_runs}, its other trigger messages wait on the initiation queue. If a run fails, nothing is lost:
clear it, or the next one makes up for it.
"""


def trigger_monitor_page(name: str, section: TriggerMonitor, dags: Sequence[str]) -> str:
    """The DAG's page, with this queue manager's settings in it."""
    page = md(
        TRIGGER_MONITOR,
        queue_manager=name,
        queues=joined(", ", section.queues),
        dags=joined(", ", dags) or md("none so far"),
        unchanged_runs=section.unchanged_runs,
        queued_runs=section.queued_runs,
    )
    return str(page)


REFRESH_EXPIRY = str(
    md("""
### Discard expired messages now

`REFRESH QMGR TYPE(EXPIRY) NAME(...)` if the queue manager's platform has it (z/OS); on other platforms the queues are
browsed, with the same effect. The log and the XCom say for each queue how many
messages were found, discarded and left, and when the next one expires.
""")
)


RECOVER = str(
    md("""
### Deal with chosen messages

Choose messages of one queue (ids, a filter, a time window, or all of them) and what is done with them: *replay* (where
the MQDLH says), *move*, *copy*, *park*, *discard*; or *restore* what a run did. Messages without an MQDLH can be moved
where you say. A part of an MQ group is left (SPLIT). A copy has the MsgId of its original, which stays.

| task | does |
|---|---|
| plan | checks the fields that concern each other; ends the run here if another run is to act on the queue; copies \
every message of the queue into the lake; makes the plan |
| route | dry runs and plans that move nothing go to *prove*, all others to *approve* |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer in time is a Reject |
| act | does exactly what the plan says; cleared, it goes on where it stopped |
| prove | planned = moved + discarded + left + gone, by the ledger and the queue; fails if not |

A run is **dry** unless the form says otherwise. `mq_undo` takes a run back. `mqops message move`, `copy`, `park`,
`discard` and `replay` do the same.
""")
)

UNDO = str(
    md("""
### Undo a run

Puts back what a run moved and discarded, byte for byte, with all context and the lifetime that is left, on the queue it
was taken from. A discarded message comes from its copy in the lake (RESTORE); a moved one is taken from where it went
and put back in the same unit of work (RETURN). If mqops cannot prove that a message is nowhere else, it refuses to put
the message back and counts it: CONSUMED (no longer where it went), HIDDEN (a unit of work of another program may have
it, or the queue that it was taken from cannot be browsed now: try again later), UNPROVABLE (it went to a queue that
mqops cannot browse), CONFIRMS (taking it would confirm its delivery to the sender), EXPIRED, PARTED (others of its MQ
group cannot be put back). PRESENT (still on its queue) and UNDONE (undone before) need no action: nothing is undone
twice. If a queue has GET(DISABLED) or does not exist any more, only the messages of this queue stay.

| task | does |
|---|---|
| plan | looks where each message is now and whether the queues can take them; copies the originals; makes the plan |
| route | dry runs and plans that move nothing go to *prove*, all others to *approve* |
| approve | waits for a person: Approve or Reject under *Required Actions*; no answer in time is a Reject |
| act | does exactly what the plan says; cleared, it goes on where it stopped |
| prove | planned = put back + left + gone, by the ledger and the queues; fails if not |

The form takes the run id that Airflow shows, or the name in the lake; the page Estate lists the runs.
A run is **dry** unless the form says otherwise. It asks for the approval of one plan: if the plan was made again since,
start a new run. Marking *approve* as success approves nothing. `mqops undo RUN` does the same.
""")
)


STOP = str(
    md("""
### Stop acting, or go on

The kill switch. **stop** makes every process that acts on the run end after the unit of work it is in, on every machine
that shares the lake. Without a run it stops all runs of the queue manager, and no new act begins. Nothing is undone
and nothing is lost: what was done is in the ledger, and *prove* of the stopped run counts it. The other messages are
where they were.

**resume** takes the stop back. Then the page of a stopped run has the button *Go on with this run*, which clears its
tasks *act* and *prove*: act does the rest, each message once. To clear them in Airflow is the same.
The form takes the run id that Airflow shows, or the run's name in the lake. `mqops stop` and `mqops resume`
do the same.
""")
)


TRIGGER_EXPLAIN = str(
    md("""
### Why does a queue trigger, or not?

Says whether the next message on a queue would make a trigger message. The task looks at each condition of IBM's page
"Conditions for a trigger event" by inquiry: nothing is put, got or changed. The note of the run has the verdict, a
table of the conditions that do not hold, and the MQSC commands that mend them. The log has all conditions, the XCom
what `mqops trigger explain QUEUE QMGR --json` prints.

The run succeeds whatever the answer is. `mqops trigger explain QUEUE QMGR --fix` runs the commands after an approval.
""")
)
