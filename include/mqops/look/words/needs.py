"""What needs a person on queue managers: now, soon, and what is only to know. The page Estate, `mqops estate status`
and the daily notification have the same list. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from mqops.command import command
from mqops.look.estate.problem import AFTER_ALL, Place, Urgency, rank, worst_first
from mqops.look.words.run_name import name_of
from mqops.look.words.text import NOTHING, AirflowLink, Link, Text, said, sentences, with_commands

if TYPE_CHECKING:
    from mqops.look.estate.now import ManagerNow
    from mqops.look.estate.problem import Problem

MOST_SHOWN = 12
"""Lines of what needs a person now that are shown without a click, where several queue managers are shown."""


Does = Text | Link | AirflowLink


class Question(NamedTuple):
    """An open question. Parameters: `what` is asked, and since when; `does` where it is answered; `key` of its run;
    `more` the sentences that unfold."""

    what: Text
    does: Does = NOTHING
    key: str = ""
    more: tuple[Text, ...] = ()


class Need(NamedTuple):
    """A line: what, and where it is seen or mended.

    Parameters: `word` before it, in the colour `kind` (as of a page's style); `does` the link or the command that shows
    or mends it, nothing where there is none; `remedy` what to do, which a click unfolds, "" for nothing; `problem` None
    for a question; `each` the lines that this one is made of, which unfold with it; `key` the name of what unfolds in
    the page, the same whatever stands before it, "" where nothing does.
    """

    queue_manager: str
    word: str
    kind: str
    what: Text
    remedy: str
    problem: Problem | None
    does: Does = NOTHING
    key: str = ""
    each: tuple[Text, ...] = ()

    @property
    def told(self) -> Text:
        """What is shown before what unfolds."""
        return sentences(self.what, self.does)

    @property
    def to_do(self) -> Text:
        """What unfolds first: what to do, with its commands."""
        return with_commands(self.remedy)

    @property
    def line(self) -> str:
        """All of it, with the queue manager, in a line of text."""
        remedy = f"{self.remedy}{'.' if self.does and self.remedy and self.remedy[-1] != '.' else ''}"
        return f"{self.queue_manager}: {sentences(self.what, remedy, self.does)}"


class Needs(NamedTuple):
    """The lines of a heading: those that are shown, and those that a click unfolds."""

    urgency: Urgency
    heading: str
    shown: Sequence[Need]
    folded: Sequence[Need]

    @property
    def lines(self) -> tuple[Need, ...]:
        """All lines."""
        return (*self.shown, *self.folded)

    @property
    def number(self) -> int:
        """How many lines there are."""
        return len(self.lines)


HEADINGS = {
    Urgency.NOW: "What needs a person now",
    Urgency.SOON: "What needs a person soon",
    Urgency.TO_KNOW: "To know",
}


def needs(
    managers: Sequence[ManagerNow],
    *,
    questions_of: Callable[[ManagerNow], Sequence[Question]],
    link_of: Callable[[str, Problem], Does | None],
) -> list[Needs]:
    """The headings that have lines, the most urgent first; open questions are the first lines.

    Parameters: `questions_of` a queue manager its open questions; `link_of` where a problem of a queue manager is seen
    or mended, None where no page helps: what says nothing of what to do has the command `mqops doctor` then.
    """
    found: dict[Urgency, list[Need]] = {one: [] for one in Urgency}
    for manager in managers:
        for what, does, run, more in questions_of(manager):
            key = f"{manager.name}-{run}" if more else ""
            found[Urgency.NOW].append(Need(manager.name, "Question", "note", what, "", None, does, key=key, each=more))
    for manager in managers:
        for problem in worst_first(manager.problems):
            found[problem.urgency].append(_need(manager.name, problem, ("Problem", "bad"), link_of))
        for note in manager.notes:
            found[Urgency.TO_KNOW].append(_need(manager.name, note, ("Note", "note"), link_of))
    keyed = {urgency: list(_keyed(lines)) for urgency, lines in found.items()}
    return list(_headed(keyed.items(), one=len(managers) == 1))


def _keyed(lines: Iterable[Need]) -> Iterator[Need]:
    """The lines with their keys: by what to do, since what is wrong has figures, and by how many say the same."""
    same = Counter[str]()
    for line in lines:
        key = f"{line.queue_manager}-{sha256(line.remedy.encode()).hexdigest()[:12]}"
        same[key] += 1
        yield line._replace(key=f"{key}-{same[key]}") if line.remedy else line


def _headed(found: Iterable[tuple[Urgency, list[Need]]], *, one: bool) -> Iterator[Needs]:
    for urgency, lines in found:
        most = len(lines) if one else MOST_SHOWN if urgency is Urgency.NOW else 0
        if lines:
            yield Needs(urgency, HEADINGS[urgency], lines[:most], lines[most:])


def _need(
    name: str,
    problem: Problem,
    shown: tuple[str, str],
    link_of: Callable[[str, Problem], Does | None],
) -> Need:
    what = f"{problem.what}{'' if problem.what.endswith('.') else '.'}"
    has_form = problem.backout_queue or problem.looping_queue
    does = link_of(name, problem) or (NOTHING if problem.remedy or has_form else _in_code("doctor", name))
    of_each = (_need(name, one, shown, link_of) for one in problem.each)
    each = tuple(sentences(one.told, one.to_do) for one in of_each)
    return Need(name, *shown, sentences(what), problem.remedy, problem, does, each=each)


def by_need(manager: ManagerNow) -> tuple[object, ...]:
    """The order of queue managers: by the worst thing that is wrong, then by how many there are, then by name."""
    worst = min(map(rank, manager.problems), default=AFTER_ALL)
    return worst, -len(manager.problems), not manager.waiting, manager.name


def needs_in_text(managers: Iterable[ManagerNow]) -> list[Needs]:
    """The list where no page is: with commands in place of links, and questions as the lake knows them."""
    return needs(sorted(managers, key=by_need), questions_of=_questions, link_of=_command)


def _questions(manager: ManagerNow) -> list[Question]:
    return [
        Question(
            said("The run {:name} waits for an approval: {:name}.", f'"{name_of(run)}"', run.queue),
            _in_code("run", "show", run.run, "-m", manager.name),
        )
        for run in manager.waiting
    ]


def _command(name: str, problem: Problem) -> Text | None:
    """The command that mends a problem, else the one that shows it; None where none does."""
    words: tuple[str, ...]
    if problem.backout_queue:
        return _in_code("backout", "run", problem.backout_queue, "-m", name, "--dry-run", "--rules", "FILE")
    if problem.looping_queue:
        return _in_code("backout", "guard", problem.looping_queue, "-m", name)
    match problem.place:
        case Place.RUN | Place.MESSAGES | Place.QUALITY:
            words = ("run", "show", problem.about, "-m", name)
        case Place.DEAD_LETTERS:
            words = ("dlq", "anatomy", problem.about, name)
        case Place.TRIGGERS:
            words = ("trigger", "explain", problem.about, name)
        case Place.ACCOUNTED:
            words = ("ledger", "verify", name)
        case Place.CONNECTION:
            words = ("doctor", name)
        case Place.QUEUE | Place.RECORDED:
            words = ("message", "find", problem.about, "-m", name)
        case None:
            return None
    return _in_code(*words)


def _in_code(*words: str) -> Text:
    return said("{:code}", command("mqops", *words))
