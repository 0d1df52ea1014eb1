"""What a failed task does next, by the class of its error.

An error of `FINAL` fails the task at once, one of `AGAIN` is tried again. For any other, Airflow's default holds: the
task is tried again, `RETRIES` times.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule

RETRIES = 2
DELAY = timedelta(seconds=20)

FINAL = (
    "mqops.errors.PermanentMQError",
    "mqops.errors.RulesError",
    "mqops.errors.SettingsError",
    "mqops.errors.LakeError",
    "mqops.errors.LedgerBroken",
    "mqops.errors.PlanChanged",
    "mqops.errors.GateStopped",
    "mqops.errors.Stopped",
    "mqops.errors.Unbalanced",
    "mqops.quality.summary.QualityFailed",
    "mqops_airflow.approval.permission.NotAllowed",
    "mqops_airflow.operators.prove.ActUnfinished",
)
AGAIN = (
    "mqops.errors.TransientMQError",
    "mqops.errors.OutcomeUnknown",
    "mqops.errors.InProgress",
    "mqops.errors.SparkUnreachable",
    "mqops.trigger.work.NotStarted",
)


def mq_retry_policy() -> ExceptionRetryPolicy:
    """The policy: errors that need a person fail the task at once, errors that may pass are tried again.

    Trying again is safe in every step: a plan is frozen, and each unit of work carries its own marker (law 1).
    """
    return ExceptionRetryPolicy(
        rules=[
            RetryRule(exception=list(FINAL), action=RetryAction.FAIL, reason="needs a change first"),
            RetryRule(exception=list(AGAIN), action=RetryAction.RETRY, retry_delay=DELAY, reason="may pass"),
        ]
    )


def default_args() -> dict[str, object]:
    """What every task of every DAG has, unless it says otherwise."""
    return {"retries": RETRIES, "retry_delay": DELAY, "retry_policy": mq_retry_policy()}
