"""What is said of a rules table: its hits, the versions that runs used, and what two versions do otherwise. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.words.text import NOTHING, Cell, Label, Lines, Link, OfRun, Table, Text, Trend, said
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.rules_in_use import Difference, RuleHits, RulesInUse

NOT_COMPARED = "The versions cannot be compared: no run has a snapshot, or the version is not a valid table any more."
SAME = "Both do the same with all of them."


def of_rule(run: RunLine, line: int | None, words: str) -> Text:
    """A rule with the link to its line in the table of now, which may be another than the run's: the page has the
    versions. Parameters: `line` None where no rule decided."""
    if line is None or run.workflow not in {Workflow.DLQ_RULES, Workflow.BACKOUT_REPROCESS}:
        return said("{}", words)
    query = {"queue_manager": run.queue_manager, "workflow": run.workflow}
    return said("{}", Link(words, "rules", query, f"line-{line}"))


def lines(rules: str, marks: Mapping[int, Sequence[Text]], used: RulesInUse | None) -> Table:
    """The lines of a table. Parameters: `rules` its text; `marks` line → what the linter says of it; `used` None for a
    table that is not valid."""
    of_line = {one.rule.line: one for one in used.hits} if used else {}
    rows: list[Sequence[Cell]] = []
    for number, line in enumerate(rules.removesuffix("\n").split("\n") if rules else (), 1):
        hit = of_line.get(number)
        trend = Trend("messages in each of the last runs, the newest at the right", list(hit.by_run) if hit else ())
        text = said("{:file_line}{}", line, Lines(marks.get(number, ())))
        rows.append(
            (number, text, _hits(hit, counted_any=bool(used and used.runs)), trend if _has_trend(hit) else None)
        )
    caption = "The table, with what the linter says and how many messages each rule was chosen for"
    headings = ["*Line|number", "!Text|text", "!Hits|number", "Over the runs"]
    return Table(caption, headings, rows, [f"line-{number}" for number in range(1, len(rows) + 1)])


def _has_trend(hit: RuleHits | None) -> bool:
    return hit is not None and bool(hit.messages) and len(hit.by_run) > 1


def _hits(hit: RuleHits | None, *, counted_any: bool) -> Text:
    """How many messages a rule was chosen for. Parameters: `hit` None for a line that is no rule; `counted_any` whether
    a run has acted."""
    if hit is None:
        return NOTHING
    if not counted_any or hit.messages:
        return said("{}", hit.messages)
    label = Label(f"not hit in {counted(hit.runs, 'run')}", "warn") if hit.runs else Label("in the table of no run yet")
    return said("{} {}", hit.messages, label)


def versions(used: RulesInUse, now: str) -> Table:
    """The versions of the table that runs used. Parameters: `now` the digest of the table of now."""
    of, rows = {"queue_manager": used.queue_manager, "workflow": used.workflow}, []
    for one in used.versions:
        digest = one.digest[:12]
        link = Link(f"compare {digest} with the table of now", "rules", of | {"old": one.digest}, "diff")
        compare = Label("the table of now", "note") if one.digest == now else link
        rows.append(
            (
                digest,
                said("{:time}, {}", one.at, OfRun(used.queue_manager, one.run, short=True)),
                str(one.runs),
                compare,
            )
        )
    return Table("Versions, the newest first", ["*SHA-256|mono", "Last used", "Runs|number", "Compare"], rows)


def compared(digest: str, run: OfRun, messages: int, *, first_only: bool) -> Text:
    """The messages on which two versions were compared. Parameters: `digest` of the earlier version; `first_only`
    whether only the first messages of the snapshot of `run` were."""
    first = " (the first ones only, because a table asks for what is in them)" if first_only else ""
    words = "Version {} and the table of now, on the snapshot of {}: {} compared{}."
    return said(words, digest[:12], run, counted(messages, "message"), first)


def changes(found: Sequence[Difference]) -> Table:
    """The messages that two versions handle differently."""
    rows = [(_decided(str(one.old), one.old_line), _decided(str(one.new), one.new_line), one.messages) for one in found]
    headings = ["Before|name", "Now|name", "Messages|number"]
    return Table("Messages that the two versions handle differently", headings, rows)


def _decided(what: str, line: int | None) -> Text:
    return said("{}{}", what, f" (line {line})" if line else "")
