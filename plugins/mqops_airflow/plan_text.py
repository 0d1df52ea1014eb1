"""A plan as the approver reads it: Markdown, in which nothing that came with a message can be more than text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mqops.decide.core import PlanCount, PlanSummary
from mqops.decide.core.preflight import MOST_SHOWN, SEVERITIES, Preflight
from mqops.printable import printable
from mqops_airflow.four_eyes import requester
from mqops_airflow.policy import MOVING

if TYPE_CHECKING:
    from airflow.sdk import Context

GROUPS_SHOWN = 60


def question(plan: PlanSummary, found: Preflight | None, context: Context) -> tuple[str, str]:
    """Subject and body of what a DAG run asks: the same whenever they are made from the same files."""
    run = context["dag_run"]
    asked = f"Asked by DAG run {code(run.run_id)} of {code(run.dag_id)}, which {code(requester(context))} started."
    return subject(plan), f"{body(plan, found)}\n\n{asked}"


def subject(plan: PlanSummary) -> str:
    """One line: what is to be approved."""
    moving = sum(count for action, count in plan.actions.items() if action in MOVING)
    return printable(f"{plan.queue_manager}: act on {moving:,} of {plan.rows:,} messages of {plan.queue}?")


def body(plan: PlanSummary, found: Preflight | None = None) -> str:
    """Counts per rule, reason and destination, what the pre-flight found, masked samples, and the digest that the
    approval is for."""
    actions = ", ".join(f"{action} {count:,}" for action, count in sorted(plan.actions.items()))
    parts = [
        f"**{plan.rows:,} messages** of {code(plan.queue)} on {code(plan.queue_manager)}: {actions}.",
        f"Rules: {code(plan.table_source)}",
        f"Run: {code(plan.run)}",
        "An approval is for exactly this plan. Messages that came later are not touched. Digest:",
        code(plan.digest),
        "\n".join(f"- {code(remark)}" for remark in (*plan.remarks, *(found.remarks if found else ()))),
        findings(found if found and found.plan == plan.digest else None),
        groups(plan),
        samples(plan.counts[:GROUPS_SHOWN]),
    ]
    return "\n\n".join(part for part in parts if part)


def findings(found: Preflight | None) -> str:
    """What is wrong with the destinations, worst first; `found` None where nobody has looked at this plan's."""
    if found is None:
        return "Pre-flight: the destinations were not looked at."
    at_time = f"of {found.destinations:,} destinations at {code(found.checked_at)}"
    if not found.findings:
        return f"Pre-flight {at_time}: nothing found."
    severities = [one.severity for one in found.findings]
    counts = ", ".join(
        f"{severity} {severities.count(severity):,}" for severity in SEVERITIES if severity in severities
    )
    rows = [
        (one.severity, code(one.destination), code(one.what), code(one.remedy)) for one in found.findings[:MOST_SHOWN]
    ]
    more = len(found.findings) - len(rows)
    left_off = f"\n\n… and {more:,} more findings" if more else ""
    return f"**Pre-flight {at_time}: {counts}.**\n\n{table(('', 'goes to', 'what', 'to do'), rows)}{left_off}"


def groups(plan: PlanSummary) -> str:
    """The largest groups first; what is left off is counted."""
    rows = [
        (
            line_of(count),
            count.action,
            code(count.symbol),
            code(at(count.origin_q, count.origin_q_mgr)),
            code(at(count.dest_q, count.dest_q_mgr)),
            f"{count.messages:,}",
            f"{count.bytes:,}",
            code(count.oldest),
        )
        for count in plan.counts[:GROUPS_SHOWN]
    ]
    headings = ("rule", "action", "reason", "was for", "goes to", "messages", "bytes", "oldest")
    more = len(plan.counts) - len(rows) + plan.counts_left_off
    return table(headings, rows) + (f"\n\n… and {more:,} smaller groups" if more else "")


def samples(counts: Iterable[PlanCount]) -> str:
    """A few messages of each group, their text masked (letters x, digits 9)."""
    rows = [
        (
            line_of(count),
            code(sample.put_at),
            code(sample.put_appl_name),
            code(sample.msg_id),
            f"{sample.bytes:,}",
            code(sample.shape),
        )
        for count in counts
        for sample in count.samples
    ]
    if not rows:
        return ""
    return "Samples, masked:\n\n" + table(("rule", "put", "by", "MsgId", "bytes", "text"), rows)


def line_of(count: PlanCount) -> str:
    return f"line {count.rule_line}" if count.rule_line else "none"


def at(queue: str | None, queue_manager: str | None) -> str:
    """`queue@queue manager`, or what there is of it."""
    return f"{queue or ''}@{queue_manager}" if queue_manager else queue or ""


def code(text: str) -> str:
    """Text as code, so that no part of it is Markdown or HTML; marks that could end the cell are replaced."""
    shown = printable(text).replace("`", "'").replace("|", "¦").strip()
    return f"`{shown}`" if shown else ""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
