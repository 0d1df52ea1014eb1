"""RUN/compared.json: a plan beside the last one of its workflow and queue, as the person sees it who is asked about it.

It is written once, before the question is put. So the question keeps its text whatever becomes of the earlier run.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqops.errors import LakeError
from mqops.lake.run import RunFolder
from mqops.lake.run_file import RunFile
from mqops.look.plan_view import plan_view


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A plan beside the last one.

    Parameters: `plan` its digest; `last` the run of the last plan, "" where there is none, `at` its snapshot, ISO 8601
    UTC, and `messages` that it had; `comparable` whether both list all of their groups; `before` of each group of the
    plan the messages in the last one, None where that had none; `gone` groups that only the last plan has; `error` why
    the two could not be compared.
    """

    plan: str
    last: str = ""
    at: str = ""
    messages: int = 0
    comparable: bool = True
    before: tuple[int | None, ...] = ()
    gone: int = 0
    error: str = ""

    @property
    def new(self) -> int:
        """Groups that the last plan had not."""
        return self.before.count(None)

    @property
    def compares(self) -> bool:
        """Whether there is something to compare with, group by group."""
        return bool(self.last) and self.comparable


COMPARED = RunFile("compared.json", Compared)


def compare(run: RunFolder, digest: str) -> Compared:
    """The plan of a run beside the last one, by the index of runs: no run is read but these two. A file of them that
    cannot be read is no reason to ask nobody: `error` has it.

    Parameters: `digest` of the plan.
    """
    try:
        view = plan_view(run)
    except LakeError as error:
        return Compared(plan=digest, error=str(error))
    if view.last is None:
        return Compared(plan=digest)
    return Compared(
        plan=digest,
        last=view.last.run,
        at=view.last.at,
        messages=view.last.planned,
        comparable=view.comparable,
        before=tuple(one.before for one in view.groups) if view.comparable else (),
        gone=len(view.gone),
    )
