"""What the lake has of each step of a run, who did it, and which tries failed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqops.backout.core.misconfigured import MISCONFIGURED, TO_MEND
from mqops.look.words.text import Cell, Lines, Table, Text, Time, said, with_commands
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.core.question import Answer
    from mqops.look.run_story import RunStory


def steps(story: RunStory, *, asker: str, rules: Text, asks: bool, failed_proof: bool) -> Table:
    """The steps of a run, by the files of the lake.

    Parameters: `asker` who asked for it, blank where nobody knows; `rules` where its table lies; `asks` whether it has
    or will have a plan that somebody approves; `failed_proof` whether its task prove has failed.
    """
    line = story.line
    rows: list[tuple[Cell, ...]] = [("observe", Time(line.at), said("asked by {}", asker) if asker else "–")]
    if story.plan:
        rows.append(("decide", Time(story.planned_at), rules))
    if asks:
        answer = story.approval.answer if story.approval else None
        rows.append(("approve", Time(answer.at if answer else ""), said("{}", _approved(story, answer))))
        until = said(" to {:time}", story.acted_at) if story.acted_at else ""
        rows.append(("act", said("{:time}{}", story.begun_at, until), _finished(story)))
        rows.append(("prove", Time(line.proved_at), said("{}", _proved(story, failed=failed_proof))))
    return Table("What the lake has of each step", ["*Step", "When", "By|name"], rows)


def _approved(story: RunStory, answer: Answer | None) -> str:
    comment = story.people.get("comment") or (answer.comment if answer else "")
    said_so = f": {comment}" if comment else ""
    if by := story.people.get("approved_by"):
        return f"approved by {by}{said_so}"
    if answer is None:
        return "–"
    if answer.refused:
        return f"approved by {answer.by or 'nobody'}, and refused"
    return f"{'approved' if answer.approved else 'rejected'} by {answer.by or 'the time-out'}{said_so}"


def _finished(story: RunStory) -> Text:
    by = story.people.get("finished_by")
    return said("{}{}", Lines(story.stopped), f"finished by {by}" if by else "" if story.stopped else "–")


def _proved(story: RunStory, *, failed: bool) -> str:
    proof = story.summary
    if proof is None:
        return "–"
    if not proof.balanced:
        return "it does NOT balance"
    if proof.finished or not failed:
        return "it balances"
    stopped = "was stopped and " if story.stops or story.stopped else ""
    return f"it balances. The task prove ended as failed because the run {stopped}is not finished"


def failures(story: RunStory) -> Table:
    """The tries of a run that failed."""
    rows = [(one.reason, str(Destination(one.dest_q, one.dest_q_mgr)), one.messages) for one in story.failures]
    return Table("Failed tries", ["Reason", "To|name", "Messages|number"], rows)


def remarks(story: RunStory) -> Iterator[tuple[str, str | Text]]:
    """Kind of a problem (warn, bad, note) and its text: stops in force, and what the proof found."""
    yield from (("warn", one) for one in story.stops)
    yield from (("bad", one) for one in (story.summary.problems if story.summary else ()))
    yield from (("note", remark(one)) for one in (story.summary.remarks if story.summary else ()))


def remark(text: str) -> Text:
    """A remark of a plan or a proof, with the commands that mend a queue that is misconfigured."""
    what, to_mend, commands = text.partition(TO_MEND) if text.startswith(MISCONFIGURED) else (text, "", "")
    return said("{}{}", what, to_mend) + with_commands(commands)
