"""What is said of one message: where it was, what runs did to it, what each rule says of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mqops.counted import counted
from mqops.look.core.rule_verdicts import RuleVerdict, Verdict
from mqops.look.words.fates import check_in_words
from mqops.look.words.text import NOTHING, Label, Lines, OfRun, Table, Text, Time, joined, said, sentences
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.ledger.core.history import Event
    from mqops.look.core.field_values import Shown
    from mqops.look.core.laid_out import LaidOut
    from mqops.look.core.taken_apart import ElementShown, FieldsShown, FolderShown
    from mqops.look.history import EventOfRule
    from mqops.look.message import MessageStory
    from mqops.look.quarantined import PutBack


def origin(story: MessageStory, words: str, moment: Callable[[str], str]) -> Text:
    """Where the message was before. Parameters: `words` what its header tells; `moment` of date and time of it."""
    found = story.message.origin
    if not found:
        return NOTHING
    fields = (
        said("{} {:strong_name}", name.replace("_", " "), moment(str(value)) if name == "at" else str(value))
        for name, value in found.items()
        if name != "by"
    )
    return said("By its {}, {}: {}.", str(found["by"]), words, joined(", ", fields))


def done(event: Event | None, outcome: str) -> Text:
    """The last act of a run on the message. Parameters: `event` of the ledger; `outcome` of it in words."""
    if not event:
        return NOTHING
    to = said(" to {:name}", str(Destination(event.dest_q, event.dest_q_mgr))) if event.dest_q else NOTHING
    return said("{} {:time}{} by run {}.", outcome, event.at, to, OfRun(event.queue_manager, event.run, "{}"))


def data(story: MessageStory, size: str, revealed: LaidOut | None = None) -> Text:
    """How long the data is, and how it is shown. Parameters: `size` in words; `revealed` what a page shows of it, None
    where it is masked."""
    body = story.message.body
    shown = revealed.shown if revealed else len(body.hex) // 2
    part = f"Text and hexadecimal are of the first {shown:,} of {counted(body.length, 'byte')}."
    return sentences(
        said("{} in CCSID {}, format {}.", size, str(body.ccsid), body.format or "none"),
        said("It is masked: letters are shown as x, digits as 9.") if body.masked else NOTHING,
        said(f"The text is {revealed.form}, laid out in lines.") if revealed and revealed.form else NOTHING,
        said(part) if shown < body.length else NOTHING,
    )


def rules(verdicts: Sequence[RuleVerdict], source: str) -> Table:
    """What each rule says of the message. Parameters: `source` the name of the rules table."""
    rows = []
    for one in verdicts:
        verdict = Label(one.verdict, "good" if one.verdict is Verdict.CHOSEN else "quiet")
        rows.append((str(one.line), f"{one.action} {one.target}", verdict, Lines(tuple(_why(one)))))
    return Table(f"What each rule of {source} says of it", ["*Line", "Action|name", "!Verdict", "Why"], rows)


def _why(one: RuleVerdict) -> Iterator[Text]:
    for miss in one.misses:
        has = str(miss.found) if miss.found not in {None, ""} else "nothing"
        yield said("{:name}", f"{miss.keyword} wants {miss.wanted}, the message has {has}")
    if one.hidden_by:
        yield said(f"The IGNORE in line {one.hidden_by} comes before it.")
    if one.matches and not one.hidden_by:
        yield said(f"It matches. {one.failed:,} of {counted(one.tries, 'try', 'tries')} failed.")


def seen(story: MessageStory) -> Iterator[Text]:
    """Where the message was seen last, and when it was gone."""
    for one in story.past.seen:
        of, by = (OfRun(one.queue_manager, run, "{}") for run in (one.run, one.missed_by))
        gone = said(f"; {one.absent} {{:time}}, as run {{}} found", one.missed_at, by) if one.missed_at else NOTHING
        ends = one.ends_at and one.became == "seen"
        yield sentences(
            said("Last seen {:time} on {:name} by run {}{}: {}.", one.seen_at, one.queue, of, gone, one.since),
            said("Its lifetime ends {:time}.", one.ends_at) if ends else NOTHING,
        )


def quarantine(story: MessageStory) -> Text:
    """Why the message is in quarantine: each time that it was put back, and came again."""
    found = story.quarantined
    if found is None:
        return NOTHING
    times = (
        said("{:time} on {:name}{} run {}", one.at, one.queue, _by(one), OfRun(found.queue_manager, one.run, "{}"))
        for one in found.put_back
    )
    of = OfRun(found.queue_manager, found.run, "{}")
    number = counted(len(found.put_back), "time")
    since = said("In quarantine on {:name} since {:time}, by run {}.", found.queue, found.at, of)
    if found.check:
        return sentences(since, said("It fails the check {:name} of the gate.", found.check))
    return sentences(
        since,
        said("It had been put back {} and came again each time: {}.", number, joined("; ", times)),
    )


def _by(one: PutBack) -> str:
    return f" by line {one.rule_line} of the rules of" if one.rule_line else " by"


def events(story: MessageStory, outcome: Callable[[EventOfRule], str]) -> Table:
    """The lines of the ledger about the message. Parameters: `outcome` of a line in words."""
    headings = ["At", "Outcome", "Action", "Destination|name", "Rule", "Asked by|name", "Approved by|name", "Run|name"]
    rows = []
    for one in story.past.events:
        run = OfRun(one.queue_manager, one.run, short=True) if one.run else ""
        target, rule = str(Destination(one.dest_q, one.dest_q_mgr)), one.rule_line
        what = (Time(one.at), f"{outcome(one)} {one.reason}", one.action, target)
        by = f"line {rule}" if rule else check_in_words(one.rule)
        rows.append((*what, by, one.requested_by, one.approved_by, run))
    return Table("Lines of the ledger, oldest first", headings, rows)


def fields(caption: str, values: FieldsShown) -> Table:
    """The fields of a structure. Those of a structure within it stand below each other."""
    return Table(caption, ["*Field", "Value|mono name"], [(name, _value(value)) for name, value in values.items()])


def _value(value: Shown | FieldsShown) -> Text | Lines:
    if isinstance(value, Mapping):
        return Lines([said("{} = {}", inner, str(text)) for inner, text in value.items()])
    return said("{}", str(value))


def broken_folder(folder: FolderShown) -> tuple[str, Text]:
    """Why a folder of an MQRFH2 has no properties, and its bytes."""
    where = f"Folder {folder['name'] or 'without a name'} at offset {folder['offset']}"
    why = f"{where} is not valid, so it has no properties: {folder['broken']}"
    return why, said("Its {}{}: {:name}", counted(folder["length"], "byte"), _masked(folder), folder["hex"])


def folder(found: FolderShown) -> Table:
    """The properties of a folder of an MQRFH2."""
    rows = [(f"{one['name'] or '(text)'}{_attributes(one)}", one["type"], one["value"]) for one in found["elements"]]
    caption = f"Folder {found['name']}{_attributes(found)}{_masked(found)}"
    return Table(caption, ["*Element|name", "Type", "Value|mono name"], rows)


def _masked(folder: FolderShown) -> str:
    return " (masked)" if folder["masked"] else ""


def _attributes(of: FolderShown | ElementShown) -> str:
    return "".join(f' {name}="{value}"' for name, value in of.get("attributes", {}).items())
