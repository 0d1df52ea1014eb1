"""A run as its page shows it: the story that `mqops run show` tells, its balance by rule, and what came after it."""

from __future__ import annotations

from dataclasses import dataclass

from mqops.errors import LakeError
from mqops.lake.files import read_json
from mqops.lake.run import RunFolder
from mqops.look.core.run_state import RunState
from mqops.look.run_story import RunStory, run_story
from mqops.look.runs import list_runs
from mqops.model import RuleBalance, RunSummary
from mqops.prove.core.outcome import MEANING
from mqops.prove.undo_record import read_undo_record

UNDO = "undo"
OVER = frozenset({RunState.DONE, RunState.UNBALANCED, RunState.REJECTED, RunState.OBSERVED, RunState.SCANNED})
"""States that a run does not leave by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run.

    Parameters: `rules` the proved balance by queue and rule; `outcomes` (what, messages, meaning) that was seen
    later of the messages that it moved, at `outcomes_at`, ISO 8601 UTC; `untold` messages of which nothing is known;
    `undos` runs that undo it, the newest first.
    """

    story: RunStory
    rules: tuple[RuleBalance, ...] = ()
    outcomes: tuple[tuple[str, int, str], ...] = ()
    outcomes_at: str = ""
    untold: int = 0
    undos: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it by itself."""
        return self.story.line.state in OVER or bool(self.story.line.proved_at and not self.story.begun_at)


def run_view(run: RunFolder, *, limit: int = 0, after: int = -1) -> RunView:
    """A run with what came after it. Parameters and errors: as `mqops.look.run_story.run_story`."""
    story = run_story(run, limit=limit, after=after)
    later = read_json(run.outcomes_json) if run.outcomes_json.exists() else {}
    try:
        rules = RunSummary.from_json(story.summary).rules if story.summary else ()
        found = later.get("outcomes", {})
        outcomes = tuple((what, int(number), MEANING.get(what, "")) for what, number in found.items())
        return RunView(
            story=story,
            rules=rules,
            outcomes=outcomes,
            outcomes_at=str(later.get("looked_at", "")),
            untold=int(later.get("untold", 0)),
            undos=tuple(_undos(run)) if story.begun_at else (),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LakeError(f"A file of run {run.run} is not what mqops wrote: {error!r}") from error


def _undos(run: RunFolder) -> list[str]:
    lake = run.lake_folder.parent
    lines = list_runs(lake, queue_manager=run.queue_manager, workflow=UNDO)
    found = ((line.run, read_undo_record(RunFolder(run.path.parent / line.run))) for line in lines)
    return [key for key, record in found if record is not None and record.plan.run == run.run]
