"""Whether every message that runs moved or discarded is accounted for, in words: a headline, and what is behind it.
Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mqops.counted import counted
from mqops.look.words.balance import is_are
from mqops.look.words.runs import named
from mqops.look.words.state import RunState
from mqops.look.words.text import NOTHING, OfRun, Text, joined, said

if TYPE_CHECKING:
    from mqops.look.core.run_state import RunLine
    from mqops.look.estate.now import ManagerNow

FEW = 5
"""Queue managers, and runs of each, that are named before they are counted."""


class Accounted(NamedTuple):
    """Parameters: `kind` of the card (bad, warn, note, good), "" for none; `headline` in a sentence without its full
    stop; `details` sentences."""

    kind: str
    headline: str
    details: tuple[Text, ...]


def accounted(
    managers: Sequence[ManagerNow], working: Collection[tuple[str, str]], ended_early: Collection[tuple[str, str]]
) -> Accounted:
    """The words for these queue managers. Parameters: queue manager and key of runs, `working` of those that Airflow
    has at work, `ended_early` of those that are not proved, and that nothing is at work on."""
    total = sum(one.acted.total for one in managers)
    proved = sum(one.acted.proved for one in managers)
    unfinished = sum(not goes_on(run, working) for one in managers for run in one.acted.unfinished)
    under_way = [run for one in managers for run in _under_way(one, working)]
    unknown = any(one.looked and not one.acted.known for one in managers)
    broken = any(one.ledger and one.ledger.found.error for one in managers)
    wrong = bool(broken or unknown or ended_early or any(one.acted.unbalanced for one in managers))
    at_work = len(under_way)
    not_proved = sum(not run.proved_since for run in under_way)
    still_open = proved + not_proved < total or any(one.acted.absent for one in managers)
    verifying = any(one.ledger is None or one.ledger_grew for one in managers)
    kind = "bad" if wrong else "warn" if still_open or unfinished else "" if verifying else "note" if at_work else ""
    every = f"very message that {'finished ' if at_work else ''}runs moved or discarded on {_scope(managers)}"
    every += " is accounted for"
    more = [f"{counted(unfinished, 'run')} {is_are(unfinished)} not finished"] if unfinished else []
    more += [f"{counted(at_work, 'run')} {is_are(at_work)} at work"] if at_work else []
    if wrong:
        headline = f"Not e{every}"
    elif still_open:
        headline = f"Not e{every} yet"
    elif verifying:
        headline = "The ledgers are being verified"
    elif proved:
        kind = kind or "good"
        headline = "; ".join([f"E{every}", *more])
    elif at_work:
        what = "it moves is accounted for when it is" if at_work == 1 else "they move is accounted for when they are"
        headline = f"{more[-1]}: what {what} proved"
    else:
        headline = "No run has acted on a plan yet"
    details = [_proved(proved, total - not_proved, unfinished, whole=not unknown), _scanned(managers)]
    for one in managers:
        details += [*_runs(one, working, ended_early), *_ledger(one)]
    return Accounted(kind=kind, headline=headline, details=tuple(text for text in details if text))


def _scope(managers: Sequence[ManagerNow]) -> str:
    names = sorted(one.name for one in managers)
    return ", ".join(names) if len(names) <= FEW else counted(len(names), "queue manager")


def _proved(proved: int, total: int, unfinished: int, *, whole: bool) -> Text:
    if not total:
        return NOTHING
    found = f"{proved:,} of {counted(total, 'run')} that acted {is_are(total)} proved"
    if unfinished:
        of_them = f"{unfinished:,} of them " if proved > 1 else ""
        found += f", {of_them}up to where {'it' if unfinished == 1 else 'they'} ended"
    if proved == total and whole:
        plans = "its plan" if total == 1 else "their plans"
        found += f": each message of {plans} was moved or discarded, was left, or is gone"
    return said(f"{found}.")


def _scanned(managers: Iterable[ManagerNow]) -> Text:
    managers = list(managers)
    number = sum(one.scanned for one in managers)
    words = (
        " {:name} of {} grew by {} meanwhile: the reports of expiry that could not be put on their reply-to queue go "
        "there; see {}, the newest scan of which this is so."
    )
    grew = [
        said(words, queue.queue, one.name, counted(queue.messages, "message"), OfRun(one.name, queue.run))
        for one in managers
        for queue in one.grew
    ]
    first = f"Not counted here, because the queue manager does it itself: {counted(number, 'expired message')}"
    return joined("", [said(f"{first} that scans made it discard."), *grew]) if number else NOTHING


def goes_on(run: RunLine, working: Collection[tuple[str, str]]) -> bool:
    """Whether nothing is wrong with a run, and a DAG run is at work on it: a stopped one does not go on. Parameters:
    `working` as of `accounted`."""
    return run.state in {RunState.BEGUN, RunState.UNFINISHED} and (run.queue_manager, run.run) in working


def _under_way(one: ManagerNow, working: Collection[tuple[str, str]]) -> list[RunLine]:
    return [run for run in (*one.acted.unproved, *one.acted.unfinished) if goes_on(run, working)]


def _runs(
    one: ManagerNow, working: Collection[tuple[str, str]], ended_early: Collection[tuple[str, str]]
) -> Iterator[Text]:
    acted, under_way = one.acted, _under_way(one, working)
    if one.looked and not acted.known:
        yield said("{}: its runs cannot be read.", one.name)
    for run in under_way[:FEW]:
        yield said("At work: {}; its page says how far it is.", named(run))
    if (more := len(under_way) - FEW) > 0:
        yield said(f"{counted(more, 'more run')} of {{}} {is_are(more)} at work.", one.name)
    unproved = [run for run in acted.unproved if run not in under_way]
    unfinished = [run for run in acted.unfinished if run not in under_way]
    for run in unproved[::-1][:FEW]:
        yield said("Not proved: {}{}.", named(run), _why_unproved(run, early=(one.name, run.run) in ended_early))
    if (more := len(unproved) - FEW) > 0:
        yield said(f"{counted(more, 'more run')} of {{}} {is_are(more)} not proved.", one.name)
    how = "What is not dealt with yet is where it was; the page of the run says how it goes on."
    for run in unfinished[:FEW]:
        yield said(f"Proved up to {{:time}}, and not finished: {{}}. {how}", run.proved_at, named(run))
    if (more := len(unfinished) - FEW) > 0:
        yield said(f"{counted(more, 'more run')} of {{}} {is_are(more)} not finished.", one.name)
    absent = "and the lake does not have this run: they are not proved here."
    for key in acted.absent[:FEW]:
        yield said(f"{{}}: its ledger has movements of run {{:key}}, {absent}", one.name, key)
    if (more := len(acted.absent) - FEW) > 0:
        yield said(f"{{}}: the same holds for {counted(more, 'more run')}.", one.name)


def _why_unproved(run: RunLine, *, early: bool) -> Text:
    if early and run.state is not RunState.UNBALANCED:
        words = " ended too early: it said last at {:time} how far it was, and nothing is at work on it"
        return said(words, run.acted_at or run.at)
    if run.proved_at and not run.proved_since:
        return said(" acted again after its proof of {:time}", run.proved_at)
    return said(": {}", run.meaning)


def _ledger(one: ManagerNow) -> Iterator[Text]:
    ledger, name = one.ledger, one.name
    if ledger is None or (one.ledger_grew and not (ledger.found.error or ledger.found.lines)):
        yield said("{}: its ledger is being verified.", name)
    elif ledger.found.error:
        yield said("{}: its ledger does not verify, at {:time}: {}", name, ledger.at, ledger.found.error)
    elif ledger.found.lines:
        words = "{}: its ledger was not changed since it was written, {} verified at {:time}{}."
        since = "; lines added since are being verified" if one.ledger_grew else ""
        yield said(words, name, counted(ledger.found.lines, "line"), ledger.at, since)
    if ledger is None:
        return
    if ledger.found.unsigned:
        lines = counted(ledger.found.unsigned, "line is", "lines are")
        yield said("{}: {} older than the ledger's key: the hashes are checked, not who wrote them.", name, lines)
    if ledger.found.torn:
        words = "{}: its ledger ends with {} of a half-written line, after a crash: the next proof writes it again."
        yield said(words, name, counted(ledger.found.torn, "byte"))
    if ledger.remark:
        yield said("{}: {}.", name, ledger.remark)
