"""What is said of a run: what it is, its state, its undos, how far it is, and where its messages are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mqops.actions import Action
from mqops.command import command
from mqops.counted import counted
from mqops.look.words.balance import OF_THE_PLAN, Sums, is_are
from mqops.look.words.fates import Fate, Fates
from mqops.look.words.state import AT_WORK, RunState
from mqops.look.words.text import NOTHING, AirflowLink, Link, OfRun, Text, Time, joined, said, sentences
from mqops.prove.core.outcome import CONSUMED, EXPIRED, MOVED_AGAIN, RETURNED, SENT_ON, THERE
from mqops.workflow import Workflow

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.run_story import RunStory
    from mqops.look.run_view import RunView

WORKING = ("scheduled", "queued", "running", "restarting", "up_for_retry")
"""States of a task that Airflow is at work on."""
ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
"""States that a task of Airflow does not leave by itself."""
APPROVE, ACT, CHECK = "approve", "act", "quality"
"""The tasks that ask a person, carry out a plan, and check messages."""
EARLY = (RunState.INCOMPLETE, RunState.OBSERVED, RunState.PLANNED)
"""States of a run whose first tasks have not all ended, or that stays as it is."""


class Shown(NamedTuple):
    """A state for people. Parameters: `kind` the colour of its word."""

    word: str
    meaning: str
    kind: str


def state_in_words(line: RunLine, tasks: Mapping[str, str], *, goes_on: bool = False, stopped: bool = False) -> Shown:
    """The state of a run and what it means. By its files a run that has just begun is like one that ended too early:
    Airflow knows better.

    Parameters: `tasks` task of the run in Airflow → its state; `goes_on` whether its DAG run has not ended: between two
    tasks none is at work; `stopped` whether a stop of it was taken back.
    """
    working = [name for name, state in tasks.items() if state in WORKING]
    what = f"the task {working[-1]} is on its way" if working else "the run goes on to its next task" if goes_on else ""
    if line.state in {*EARLY, RunState.APPROVED} and what:
        return Shown(AT_WORK, f"in Airflow {what}: nothing was moved", "note")
    if line.state in {RunState.BEGUN, RunState.UNFINISHED} and what:
        return Shown(AT_WORK, f"in Airflow {what}", "note")
    if (over := _question_ended(line, tasks)) is not None:
        return over
    if line.state is RunState.APPROVED and tasks.get(ACT) == "failed":
        ended = "a stop, which was taken back, ended the task act" if stopped else "the task act failed"
        return Shown(line.word, f"{ended} before it moved anything", "warn")
    if line.state is RunState.OBSERVED and tasks.get(CHECK, "success") != "success":
        why = f"the task {CHECK} has not checked the messages: its log in Airflow says why"
        return Shown("not checked", why, "bad")
    return Shown(line.word, beside(line), line.state.kind)


def _question_ended(line: RunLine, tasks: Mapping[str, str]) -> Shown | None:
    """That Airflow has ended the task that asks, of which the files of the run do not know."""
    if line.state is RunState.WAITING and tasks.get(APPROVE, ENDED[0]) in ENDED:
        meaning = "nothing was moved: nobody can answer the question of its plan any more"
        return Shown(RunState.UNANSWERED.value, meaning, "warn")
    if line.state is RunState.APPROVED and tasks.get(APPROVE) == "failed" and tasks.get(ACT) != "failed":
        return Shown(line.word, "Airflow failed the task approve after that: nothing was moved", "warn")
    return None


def beside(line: RunLine) -> str:
    """What the state of a run means, where its word stands beside it."""
    own = line.unseen or line.state in {RunState.CHECKED, RunState.FAILED}
    return line.meaning if own else line.state.beside


def links(story: RunStory, query: Mapping[str, str], airflow_path: str) -> Text:
    """The links below the title of a run. Parameters: `query` that names the run; `airflow_path` of it, "" for none."""
    found: list[Link | AirflowLink] = [Link("Look at the checks", "quality", query)] if story.line.checks else []
    found += [Link("The plan", "plan", query)] if story.plan else []
    if story.line.workflow == Workflow.SNAPSHOT:
        found.append(Link("What has changed since the snapshot before", "snapshot_diff", query))
    return joined(" · ", [*found, *([AirflowLink("In Airflow", airflow_path)] if airflow_path else [])])


def undos(view: RunView) -> Iterator[Text]:
    """The run that an undo is of, and the undos of a run."""
    manager = view.story.line.queue_manager
    if view.story.undoes:
        yield said("It undoes {}.", OfRun(manager, view.story.undoes))
    for run, so_far in view.undos:
        of = OfRun(manager, run)
        yield said("Its undo is {} ({}).", of, so_far) if so_far else said("It is undone by {}.", of)
    for run, unbegun in view.undos_not_begun:
        yield said("An undo of it that has put nothing back: {} ({}).", OfRun(manager, run), unbegun)


def pruned(story: RunStory) -> Text:
    """Which files of a run a retention has removed, and what cannot be done without them; nothing where it has none."""
    if story.pruned is None:
        return NOTHING
    return said("{}: it cannot be undone, and its messages are not shown.", story.pruned.sentence("this run"))


def not_in_airflow(dag_id: str, cleaned_at: str | None) -> Text:
    """The sentence about a run that a DAG made and Airflow does not have any more. Parameters: `cleaned_at` when
    `airflow db clean` ran last, ISO 8601, "" where Airflow does not know; None, and nothing is said, where it has the
    run."""
    if cleaned_at is None:
        return NOTHING
    cleaned = said(" (`airflow db clean` ran last at {})", Time(cleaned_at)) if cleaned_at else NOTHING
    return said(
        "Airflow has no record of this run of {} any more{}: its tasks, note and logs are gone from there, and nobody "
        "can answer a question of it. What was planned, approved, done and proved is here and in the ledger.",
        dag_id,
        cleaned,
    )


def heading(fates: Fates, *, would: bool) -> str:
    """The heading over the figures of a run."""
    return f"What {fates.plan} would do" if would else "What became of the messages"


def since_then(line: RunLine, later: Sequence[RunLine], what: str) -> Text:
    """That runs have taken messages of a run's queues since. Parameters: `what` follows from it, a sentence."""
    if not later:
        return NOTHING
    queues = "these queues" if "," in line.queue else "this queue"
    runs = joined(", ", [OfRun(line.queue_manager, one.run) for one in later[:MOST_LATER]])
    more = f" and {counted(len(later) - MOST_LATER, 'other run')}" if len(later) > MOST_LATER else ""
    return said("messages of {} were moved or discarded by {}{}. {}", queues, runs, more, what)


MOST_LATER = 3
"""Later runs that are named before they are counted."""


def untouched(view: RunView, fates: Fates, sums: Sums, *, ended: bool) -> str:
    """Where the messages of a plan are that nobody has begun to carry out, in sentences. What the proof found is true
    of its time. Parameters: `ended` whether nothing more is done by the run."""
    from mqops.look.plan_view import acted_on  # noqa: PLC0415

    line = view.story.line
    if view.story.undoes:
        return ". ".join(_undo_untouched(view, sums, ended=ended))
    if not ended and not line.proved_at:
        acts = acted_on(view.story.actions)
        of = f"The plan has {counted(line.planned, 'message')}, and {fates.acts} {acts:,} of them"
        return f"So far nothing was moved or discarded. {of}"
    if not line.proved_at:
        number = counted(line.planned, "message")
        return f"Nothing was moved or discarded: the run leaves the {number} of its plan as they are"
    which = ("chosen message was", "chosen messages were") if sums.others else OF_THE_PLAN
    there = counted(sums.planned - sums.gone, *which)
    found = f"Nothing was moved or discarded. At {line.proved_at}, {there} still on the queue"
    return f"{found}. {_gone(sums.gone)}" if sums.gone else found


def _gone(number: int) -> str:
    return counted(
        number,
        "is gone: another program took it, or it expired",
        "are gone: another program took them, or they expired",
    )


def _undo_untouched(view: RunView, sums: Sums, *, ended: bool) -> Iterator[str]:
    counts = view.story.actions
    ways = [f"{counted(counts[one], 'message')} {where}" for one, where in _BEFORE_UNDO.items() if one in counts]
    refused = sum(number for action, number in counts.items() if not action.acts)
    ways += [f"{counted(refused, 'message')} cannot or need not be put back"] if refused else []
    nothing = "Nothing was" if ended or view.story.line.proved_at else "So far nothing was"
    yield f"{nothing} put back. The undo has planned: {'; '.join(ways) or 'nothing'}"
    if sums.gone_of_plan:
        yield f"At {view.story.line.proved_at}: {_gone(sums.gone_of_plan)}"


_BEFORE_UNDO = {
    Action.RESTORE: "to put back from the lake (RESTORE): the run discarded them",
    Action.RETURN: "to bring back from where the run put them (RETURN)",
    Action.WITHDRAW: "to take away, which the run put as copies (WITHDRAW)",
}
"""Action of an undo → what it has in mind, before it acts."""


def unmoved_heading(number: int, sums: Sums, words: Mapping[Fate, str], undone: str, *, over: bool) -> str:
    """Over the messages that were not moved or discarded. Parameters: `number` of them, without those not
    chosen; `undone` what was not done with them; `over` whether nothing more is done by the run."""
    message, gone = ("chosen message" if sums.others else "message"), sums.gone_of_plan
    if sums.would:
        found = f"{counted(number - gone, message)} {words[Fate.LEFT]}"
        found += f", {gone:,} {is_are(gone)} gone" if gone else ""
    elif not number and over:  # others were not chosen
        found = f"Every {message} was {undone}"
    else:
        was = ("was" if number == 1 else "were") if over else is_are(number)
        found = f"{counted(number, message)} {was} not {undone}"
    return found + (f", {counted(sums.others, 'other was', 'others were')} not chosen" if sums.others else "")


def later_outcomes(view: RunView) -> Text:
    """How old the look is that found what became of moved messages later."""
    line = view.story.line
    first = said("Of the messages that it {}, looked at {:time}", line.moved_word, view.outcomes_at)
    if not view.looked_too_early:
        return first + said(":")
    words = (
        "{}. Its undo was proved after that, at {:time}: what it has put back since is not in these figures. {:code} "
        "looks again. At the first of these times:"
    )
    return said(
        words, first, view.undone_at, command("mqops", "ledger", "outcomes", line.run, "-m", line.queue_manager)
    )


_THEY = {
    THERE: ("is still where the run put it", "are still where the run put them"),
    RETURNED: ("came back to the queue that it was taken from", "came back to the queue that they were taken from"),
    MOVED_AGAIN: ("was dealt with by a later run", "were dealt with by later runs"),
    CONSUMED: (
        "is no longer there, and had lifetime left: it was consumed",
        "are no longer there, and had lifetime left: they were consumed",
    ),
    EXPIRED: (
        "is no longer there, and its lifetime is over: it expired, if it was not consumed or sent on before",
        "are no longer there, and their lifetime is over: they expired, if they were not consumed or sent on before",
    ),
    SENT_ON: ("was sent on to another queue manager", "were sent on to another queue manager"),
}
"""Outcome of moved messages (`mqops.prove.core.outcome`) → what is said of one message, and of several."""


def outcome(what: str, messages: int, meaning: str) -> Text:
    """A later outcome of moved messages. Parameters: `meaning` of an outcome that has no words here."""
    one, several = _THEY.get(what, (f"{what}: {meaning}",) * 2)
    return said("{}", counted(messages, f"message {one}", f"messages {several}"))


def to_make_room(story: RunStory, *, dead_letters: bool, replays: bool, dag_id: str, dag_path: str) -> Text:
    """What to do when a destination that was full has room.

    Parameters: `dead_letters` whether the run handled a dead-letter queue; `replays` whether the page has the form of a
    replay; `dag_id` of the run, "" for none, and its path in Airflow.
    """
    line = story.line
    if story.undoes:
        of = OfRun(line.queue_manager, story.undoes)
        return said("Then undo {} again: what is put back already is not put twice.", of)
    if dead_letters:
        query = {"queue_manager": line.queue_manager, "queue": line.queue}
        words = (
            "Then {}: it shows which of the messages the table tries again. A rule that has no try left (RETRY) leaves "
            "its messages: mq_recover with Action = replay puts them where each MQDLH says{}."
        )
        dry_run = Link("make a dry run", "dead_letters", query, "handle")
        return said(words, dry_run, ", by the form below" if replays else "")
    of_dag = said(" of {}", AirflowLink(dag_id, dag_path)) if dag_id else NOTHING
    return said("Then make a dry run{}: it shows which of the messages are tried again.", of_dag)


def placed(line: RunLine, runs: Mapping[str, int]) -> Iterator[Text]:
    """That later runs have taken messages that a person had to place. Parameters: `runs` run → messages."""
    for run, number in runs.items():
        messages = counted(number, "message that a person had to place was", "messages that a person had to place were")
        yield said("{} taken from the queue since, by {}.", messages, OfRun(line.queue_manager, run))


def more_by_hand(story: RunStory, more: Mapping[str, int], *, none_waits: bool) -> Text:
    """That a page does not name all messages that a person must place. Parameters: `more` action → messages of the
    plan; `none_waits` whether later runs have taken those that it names."""
    if not more:
        return NOTHING
    kept, query = len(story.by_hand), {"queue_manager": story.line.queue_manager, "run": story.line.run}
    links = (Link(f"all that its plan has with {one}", "messages", query | {"action": one}) for one in more)
    words = "This page keeps the first {} that a person must place; its plan has {} more: {}."
    taken = (
        "Later runs have taken all {}, and others may be left: a new dry run finds them, and its page has the form "
        "that moves them."
    )
    return sentences(
        said(words, counted(kept, "message"), sum(more.values()) - kept, joined(", ", links)),
        said(taken, kept) if none_waits else NOTHING,
    )


def question(waits: Text, query: Mapping[str, str], *, may: bool) -> Text:
    """The open question of a run. Parameters: `waits` who may answer it; `may` whether the reader may."""
    return sentences(waits, Link(f"Look at the plan{' and answer' if may else ''}", "plan", query))


class WhoAnswers(NamedTuple):
    """Who may answer an open question.

    Parameters: `dag_id` of the run; `until` when no answer becomes a rejection, ISO 8601 UTC, blank where that is not
    known; `roles` that may answer, empty where Airflow has another auth manager than ours; `may` whether the reader
    may; `asked` who asked for the run, in words, blank where that is not known; `not_by` the person who may not approve
    because of four eyes, blank for nobody; `own` whether that is the reader.
    """

    dag_id: str
    until: str = ""
    roles: tuple[str, ...] = ()
    may: bool = False
    asked: str = ""
    not_by: str = ""
    own: bool = False

    def in_words(self, *, asked: bool = False) -> Text:
        """Sentences. Parameters: `asked` whether they say who asked for the run."""
        right = f"Airflow's right to answer the questions of {self.dag_id}"
        person = f"the role {' or '.join(self.roles)} in Airflow" if self.roles else right
        by_when = said(" until {:time}", self.until) if self.until else NOTHING
        eyes = "The estate asks for four eyes: {:strong_name} started the run and may not approve it."
        you = "That is you: you may reject it, and another person must approve it." if self.own else ""
        return sentences(
            said("Asked by {:name}.", self.asked) if asked and self.asked else NOTHING,
            said("A person with {} can answer{}; no answer is a rejection.", person, by_when),
            said(eyes, self.not_by) if self.not_by else NOTHING,
            you if self.may else "You may not answer.",
        )


def resume_hint(tasks: Iterable[str], *, every_run: bool, at_once: bool) -> str:
    """What follows when a stop is taken back. Parameters: `tasks` that are cleared then; `every_run` whether the stop
    is of all runs; `at_once` whether the form clears them itself."""
    if at_once:
        cleared = " and ".join(tasks)
        return (
            f"This takes the stop back, and then clears the tasks {cleared} of the run in Airflow: act does the rest "
            "of the plan, each message once."
        )
    others = " for all runs, and moves nothing: other runs than this one may wait for that" if every_run else ""
    return f"This takes the stop back{others}. If this run has ended by then, this page says how it goes on."
