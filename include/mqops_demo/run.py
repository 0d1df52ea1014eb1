"""`make run`: an incident on QM1, dealt with by the workflows under real Airflow and local Spark, and the proof.

Exit 0 only if all runs succeeded and balance. Everything made lies below `var/`; a later run works beside what an
earlier one left there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from mqops.actions import Action
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.ledger.core.account import account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.file import LedgerFile
from mqops.model import RuleBalance, RunSummary
from mqops.printable import printable
from mqops.prove.records import SUMMARY
from mqops_demo import airflow, airflow_home, airflow_processes, estate, workflows
from mqops_demo.airflow_client import AirflowClient, RunResult
from mqwire.names import reason_name

Causes: TypeAlias = Mapping[int | None, Mapping[str, int]]
DAG = "qm1_dlq_rules"
CONSOLE = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
"""Text of others is never markup: what is to be bold says so by its style."""


class Progress:
    """One line an event, with the seconds since the start."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    def __call__(self, text: str) -> None:
        CONSOLE.print(Text(f"{time.monotonic() - self.started:6.1f} s", "dim"), "", printable(text))


def show_text(text: str) -> None:
    """Print lines of a log."""
    for line in text.splitlines():
        CONSOLE.print(printable(line))


def show_question(question: Mapping[str, Any]) -> bool:
    """Print what the approval asks, as the Airflow UI shows it, and approve."""
    CONSOLE.rule(printable(question["subject"]))
    CONSOLE.print(Markdown(str(question.get("body") or "")))
    CONSOLE.rule()
    return True


def new_summary(lake: Path, before: set[Path]) -> RunSummary:
    """The summary that the run has written.

    Raises:
        RuntimeError: the run wrote none.
    """
    new = sorted(set(summaries(lake)) - before, key=lambda path: path.stat().st_mtime)
    if not new:
        raise RuntimeError("the run wrote no summary: see the log of its task `prove`")
    return SUMMARY.read(RunFolder(new[-1].parent))


def summaries(lake: Path) -> set[Path]:
    return set(lake.glob("QM1/runs/*/summary.json"))


def causes(lake: Path, summary: RunSummary) -> Causes:
    """Why each rule's messages stayed, as plan and ledger of the run have it: line of the rule → cause → messages."""
    run = RunFolder.at(lake, summary.queue_manager, summary.run)
    plan = PlanIdentity(run=run.run, digest=summary.plan)
    ledger = account(LedgerFile(run.lake_folder).markers(plan=plan))
    because = {row: f"failed with {reason_name(code)}" for row, code in ledger.failed.items()}
    because |= {row: f"not tried: {why}" for row, why in ledger.left.items()}
    found: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
    for batch in read_parquet(run.plan, ["row", "rule_line"]):
        for row, line in zip(*(batch.column(name).to_pylist() for name in ("row", "rule_line")), strict=True):
            if row in because:
                found[line][because[row]] += 1
    return found


def show(summary: RunSummary, why: Causes) -> None:
    """What was on the queue, what each rule did, what is left and why (see `causes`), and whether it balances."""
    columns = ("planned", "moved", "discarded", "left", "gone", "failed")
    table = Table(title=printable(f"{summary.queue} of {summary.queue_manager}: what each rule did"))
    table.add_column("rule")
    table.add_column("action")
    for name in columns:
        table.add_column(name, justify="right")
    for rule in summary.rules:
        where = f"line {rule.rule_line}" if rule.rule_line else "no MQDLH" if rule.action == Action.ERROR else "none"
        table.add_row(where, printable(rule.action), *(f"{getattr(rule, name):,}" for name in columns))
    table.add_section()
    table.add_row("all", "", *(f"{getattr(summary, name):,}" for name in columns))
    CONSOLE.print(table)
    CONSOLE.print(f"Left on the queue: {summary.left:,}")
    for rule in summary.rules:
        if rule.left:
            CONSOLE.print(f"  {rule.left:6,}  {printable(why_left(rule, why.get(rule.rule_line, {})))}")
    total = f"{summary.moved:,} moved + {summary.discarded:,} discarded + {summary.left:,} left + {summary.gone:,} gone"
    verdict = "balances" if summary.balanced else "DOES NOT BALANCE"
    CONSOLE.print(f"{summary.planned:,} planned = {total}:", Text(verdict, "bold"))
    for problem in summary.problems:
        CONSOLE.print(f"  problem: {printable(problem)}")


def why_left(rule: RuleBalance, why: Mapping[str, int]) -> str:
    """In words, why a rule's messages stayed: `why` has the rule's own causes, and how many messages each kept."""
    if rule.action == Action.ERROR:
        return "do not begin with an MQDLH: somebody has to look at them"
    if rule.action == Action.IGNORE:
        return f"ACTION(IGNORE) of line {rule.rule_line}" if rule.rule_line else "no rule matches"
    reasons = ", ".join(f"{count:,} {cause}" for cause, count in sorted(why.items())) or "neither tried nor dealt with"
    return f"line {rule.rule_line}, {rule.action}: {reasons}; tried again next time"


def workflow(client: AirflowClient, report: Progress) -> RunResult:
    """Start the DAG as a person does, not dry, and follow it to its end, approving its plan."""
    run_id = client.trigger(DAG, dry_run=False)
    report(f"Airflow run {run_id} of {DAG}: {client.home.address}/dags/{DAG}/runs/{run_id}")
    return client.follow(DAG, run_id, approve=show_question, report=report)


def end_earlier(client: AirflowClient, report: Progress) -> None:
    """Let unfinished runs end first, because a workflow has one run at a time; what they ask is answered with no."""
    for dag_id in (DAG, *workflows.OTHERS):
        for run_id in client.unfinished(dag_id):
            report(f"An earlier run of {dag_id} is not finished ({run_id}): its plan, if it asks, is rejected")
            client.follow(dag_id, run_id, approve=lambda _question: False, report=report)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was started is ended then, too
    report = Progress()
    home = airflow_home.home(MQOPS_SCHEDULES="off")
    os.environ["MQLITE_HOME"] = str(home.queue_managers)
    home.queue_managers.mkdir(parents=True, exist_ok=True, mode=0o700)
    up_before = bool(airflow_processes.running(home))
    try:
        good, rows = everything(home, report)
    finally:
        if not up_before:
            airflow_processes.stop(home, report)
            estate.end()
    if rows:
        CONSOLE.print(workflows.table(rows))
    return 0 if good else 1


def everything(home: airflow_home.AirflowHome, report: Progress) -> tuple[bool, list[workflows.Line]]:
    """The incident and the four workflows; returns whether all is as it has to be, and the lines of the table."""
    before = summaries(home.lake)
    airflow_processes.start(home, report)
    estate.create_and_start()
    from mqops_demo import incident, poison  # noqa: PLC0415 - pymqi is wanted only now

    incident.happen(report)
    poison.happen(report)
    client = airflow.up(home, report)
    end_earlier(client, report)
    first = workflow(client, report)
    if first.state != "success":
        show_text(client.failures(first))
        CONSOLE.print(f"the run ended with: {printable(first.state)}", style="bold")
        return False, []
    summary = new_summary(home.lake, before)
    show(summary, causes(home.lake, summary))
    results = [first, *workflows.run_others(client, show_question, report)]
    for result in results:
        if workflows.found_what_is_wrong(result):
            CONSOLE.print(f"{result.dag_id} failed, as it has to: its critical checks found the incident's messages.")
        elif result.state != "success":
            show_text(client.failures(result))
    rows = list(workflows.lines(client, results))
    good = all(map(workflows.good, results)) and all(row.balanced for row in rows)
    return good and summary.balanced and summary.finished, rows


if __name__ == "__main__":
    sys.exit(main())
