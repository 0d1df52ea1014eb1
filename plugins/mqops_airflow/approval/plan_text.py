"""A plan as the approver reads it, in Markdown. Text of others is always shown as code (`ui.markdown`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from mqops.actions import DISCARDS
from mqops.counted import counted
from mqops.decide.core import PlanCount, PlanSummary
from mqops.decide.core.preflight import MOST_SHOWN, SEVERITIES, Preflight, same_said
from mqops.decide.core.staying import staying
from mqops.look.words.fates import check_in_words
from mqops.look.words.planned import NO_EARLIER_PLAN, title
from mqops.model import Destination
from mqops.printable import printable
from mqops.rules.lines import rule_texts
from mqops_airflow.runs.plan_files import undone_run
from mqops_airflow.runs.requester import requester
from mqops_airflow.ui.markdown import NOTHING, Markdown, code, joined, link, md, number, table, thousands, words
from mqops_airflow.ui.table import PREFIX
from mqops_airflow.ui.views import airflow_path

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mqops.look.compared import Compared

TO_THE_MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:")
GROUPS_SHOWN = 60
SAMPLED_GROUPS = 10
"""Groups of which one message is shown; RUN/plan.json has more of them."""
SHAPE_SHOWN = 24
"""Characters of a masked text."""
NAMED = 6
"""Destinations that a folded warning names."""
THIS_PLAN_ONLY = "An approval is for exactly this plan. Messages that came later are not touched."
"""What an approver is told, in the question and on the page of the plan."""


def question(
    plan: PlanSummary, found: Preflight | None, context: Context, compared: Compared | None = None, undone: str = ""
) -> tuple[str, Markdown]:
    """Subject and body of the question of a DAG run. The same files always give the same text. Parameters: `undone` as
    of `subject`."""
    run = context["dag_run"]
    page = plan_page(run.dag_id, run.run_id)
    asked = md("Asked by DAG run {} of {}, which {} started.", run.run_id, run.dag_id, requester(context))
    return subject(plan, found, undone=undone), md(
        "{}\n\n{} {}", body(plan, found, compared, undone), asked, link("The whole plan on its page", page)
    )


def plan_page(dag_id: str, run_id: str) -> str:
    """The path of the plan's page in Airflow's UI."""
    query = urlencode({"dag_id": dag_id, "run_id": run_id}, quote_via=quote)
    return f"{airflow_path()}{PREFIX}/plan?{query}"


def subject(plan: PlanSummary, found: Preflight | None = None, *, said: str = "{}?", undone: str = "") -> str:
    """One line: what is to be approved. Parameters: `found` counts for this plan only: what its destinations would not
    take; `said` how it is told, with `{}` for what the plan does; `undone` the name of the run that the plan of an undo
    undoes, "" where the key must do."""
    stay = staying(found, plan.digest).messages
    return printable(str(title(plan, said, undone=undone or undone_run(plan), stay=stay)))


def body(
    plan: PlanSummary, found: Preflight | None = None, compared: Compared | None = None, undone: str = ""
) -> Markdown:
    """What a person needs for the decision, most important first: problems, what is new, counts per rule and
    destination, warnings, the digest that the approval is for, a few masked samples.

    Parameters: `found` and `compared` count for this plan only; `undone` as of `subject`.
    """
    found = found if found and found.plan == plan.digest else None
    compared = compared if compared and compared.plan == plan.digest else None
    actions = joined(", ", (_action(action, count) for action, count in sorted(plan.actions.items())))
    key = undone_run(plan)
    parts = [
        md(
            "{}**{}** ({}) of {} on {}: {}.",
            md("Undoes {}: ", undone or key) if key else NOTHING,
            number(plan.rows, "message"),
            number(plan.bytes, "byte"),
            plan.queue,
            plan.queue_manager,
            actions or md("nothing to do"),
        ),
        problems(found),
        joined("\n", (md("- {}", remark) for remark in (*plan.remarks, *(found.remarks if found else ())))),
        beside_last(compared),
        groups(plan, compared),
        warnings(found),
        md(
            "{} {}Run: {}. Digest: {}",
            md(THIS_PLAN_ONLY),
            md("It undoes run {}. ", key) if key else md("Rules: {}. ", plan.table_source),
            plan.run,
            plan.digest,
        ),
        samples(plan.counts[:SAMPLED_GROUPS]),
    ]
    return joined("\n\n", (part for part in parts if part))


def problems(found: Preflight | None) -> Markdown:
    """What is wrong with the destinations, worst first; `found` None where nobody has looked at this plan's."""
    if found is None:
        return md("**Pre-flight: the destinations were not looked at.**")
    at_time = md("of {} at {}", number(found.destinations, "destination"), found.checked_at)
    severities = [one.severity for one in found.findings]
    counts = joined(", ", (words(counted(severities.count(one), one)) for one in SEVERITIES if one in severities))
    doubts = found.doubts
    if not doubts:
        return md("Pre-flight {}: {}.", at_time, counts or md("nothing found"))
    rows = [(words(one.severity), one.destination, one.what, one.remedy) for one in doubts[:MOST_SHOWN]]
    more = len(doubts) - len(rows)
    left_off = md("\n\n… and {}", number(more, "more finding")) if more else NOTHING
    shown = table(("", "goes to", "what", "to do"), rows)
    return md("**Pre-flight {}: {}.**\n\n{}{}", at_time, counts, shown, left_off)


def warnings(found: Preflight | None) -> Markdown:
    """A line for all destinations of which the same is said."""
    same = same_said(one for one in (found.findings if found else ()) if one.severity == "warning")
    lines = []
    for (_severity, what, remedy), destinations in list(same.items())[:MOST_SHOWN]:
        named = joined(", ", [*destinations[:NAMED], *([md("…")] if len(destinations) > NAMED else [])])
        to_do = md(". {}", remedy) if remedy else NOTHING
        lines.append(md("- warning: {}: {}: {}{}", number(len(destinations), "destination"), what, named, to_do))
    more = len(same) - len(lines)
    return joined("\n", [*lines, *([md("- … and {}", number(more, "more warning"))] if more else [])])


def _action(action: str, messages: int) -> Markdown:
    """An action and its messages: what discards them stands out."""
    return md("**{} {}**" if action in DISCARDS else "{} {}", words(action), thousands(messages))


def beside_last(compared: Compared | None) -> Markdown:
    """What is new beside the last plan of the same workflow for the same queue."""
    if compared is None:
        return NOTHING
    if compared.error:
        return md("The last plan of this queue was not compared with this one: {}", compared.error)
    if not compared.last:
        return md(NO_EARLIER_PLAN)
    last = md("Last plan of this queue, {}: {}.", minute(compared.at), number(compared.messages, "message"))
    if not compared.comparable:
        return md("{} One of the two has too many groups to say which are new.", last)
    new = md("**{}**" if compared.new else "{}", number(compared.new, "new group"))
    return md("{} {}, {} gone.", last, new, number(compared.gone, "group"))


def groups(plan: PlanSummary, compared: Compared | None = None) -> Markdown:
    """The largest groups first, those that are ignored last, each with its rule's own text; what is left off is
    counted. Parameters: `compared` what
    the last plan had of each group: a column of its own."""
    texts = rule_texts(plan.table_text)
    then = compared.before if compared and compared.compares else None
    rows = [
        (
            thousands(count.messages),
            *(() if then is None else (md("**new**") if then[at_row] is None else thousands(then[at_row] or 0),)),
            md("**{}**" if count.action in DISCARDS else "{}", words(count.action)),
            joined(" ", filter(None, (at(count.origin_q, count.origin_q_mgr), count.symbol))),
            at(count.dest_q, count.dest_q_mgr),
            ruled(count, texts),
            minute(count.oldest),
        )
        for at_row, count in enumerate(plan.counts[:GROUPS_SHOWN])
    ]
    last = () if then is None else ("last plan",)
    headings = ("messages", *last, "action", "was for, reason", "goes to", "rule", "oldest")
    more = len(plan.counts) - len(rows) + plan.counts_left_off
    return md("{}{}", table(headings, rows), md("\n\n… and {}", number(more, "more group")) if more else NOTHING)


def ruled(count: PlanCount, texts: Mapping[int, str]) -> Markdown:
    """The rule's line, and its own text."""
    text = texts.get(count.rule_line or 0, "")
    return joined(" ", filter(None, (line_of(count), code(text) if count.rule_line else "")))


def samples(counts: Iterable[PlanCount]) -> Markdown:
    """A message of each of the largest groups, its text masked (letters x, digits 9)."""
    rows = [
        (line_of(count), minute(sample.put_at), sample.put_appl_name, sample.msg_id, sample.shape[:SHAPE_SHOWN])
        for count in counts
        for sample in count.samples[:1]
    ]
    if not rows:
        return NOTHING
    return md("Samples, masked:\n\n{}", table(("rule", "put", "by", "MsgId", "text"), rows))


def line_of(count: PlanCount) -> Markdown:
    if check := check_in_words(count.rule_key):
        return md("{}", check)
    return md("line {}", count.rule_line) if count.rule_line else md("none")


def minute(moment: str) -> str:
    """A moment (ISO 8601, UTC) to its minute: the plan's files have the rest."""
    return moment[:16].replace("T", " ") if TO_THE_MINUTE.match(moment) else moment


def at(queue: str | None, queue_manager: str | None) -> str:
    """`queue@queue manager`; only one of them if the other is blank."""
    return str(Destination(queue or "", queue_manager or ""))
