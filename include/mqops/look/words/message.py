"""What is said of one message: where it was, what runs did to it, what each rule says of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mqops.counted import counted
from mqops.look.words.text import (
    NOTHING,
    Column,
    Label,
    Lines,
    Link,
    Name,
    OfRun,
    Table,
    Text,
    Time,
    joined,
    said,
    sentences,
)
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.core.rule_verdicts import RuleVerdict
    from mqops.look.message import MessageStory


def recorded(story: MessageStory, queue_manager: str, run: str) -> Text:
    """Where a run found the message."""
    query = {"queue_manager": queue_manager, "run": run}
    return sentences(
        said(
            "Position {} of {}, recorded by run {}.",
            *(str(story.found.position), Name(story.found.queue, strong=True), OfRun(queue_manager, run, "{}")),
        ),
        Link("All messages of the run", "messages", query),
    )


def origin(story: MessageStory, words: str, moment: Callable[[str], str]) -> Text:
    """Where the message was before. Parameters: `words` what its header tells; `moment` of date and time of it."""
    found = story.message.origin
    if not found:
        return NOTHING
    fields = (
        said("{} {}", name.replace("_", " "), Name(moment(str(value)) if name == "at" else str(value), strong=True))
        for name, value in found.items()
        if name != "by"
    )
    return said("By its {}, {}: {}.", str(found["by"]), words, joined(", ", fields))


def done(event: Mapping[str, Any] | None, outcome: str) -> Text:
    """What a run did to the message since. Parameters: `event` of the ledger; `outcome` the same in words."""
    if not event:
        return NOTHING
    to = said(" to {}", Name(str(Destination(event["dest_q"], event["dest_q_mgr"])))) if event["dest_q"] else NOTHING
    by = OfRun(event["queue_manager"], event["run"], "{}")
    return said("{} {}{} by run {}.", outcome, Time(event["at"]), to, by)


def data(story: MessageStory, size: str) -> Text:
    """How long the data is, and how it is shown. Parameters: `size` in words."""
    body = story.message.body
    shown = len(body.hex) // 2
    part = f"Text and hexadecimal are of the first {shown:,} of {counted(body.length, 'byte')}."
    return sentences(
        said("{} in CCSID {}, format {}.", size, str(body.ccsid), body.format or "none"),
        said("It is masked: letters are shown as x, digits as 9.") if body.masked else NOTHING,
        said(part) if shown < body.length else NOTHING,
    )


def rules(verdicts: Sequence[RuleVerdict], source: str) -> Table:
    """What each rule says of the message. Parameters: `source` the name of the rules table."""
    columns = [Column("Line", heads=True), Column("Action", "name"), Column("Verdict"), Column("Why")]
    rows = [
        (
            *(str(one.line), f"{one.action} {one.target}"),
            Label(one.verdict, "good" if one.verdict == "chosen" else "quiet"),
            said("{}", Lines(tuple(_why(one)))),
        )
        for one in verdicts
    ]
    return Table(caption=f"What each rule of {source} says of it", columns=columns, rows=rows)


def _why(one: RuleVerdict) -> Iterator[Text]:
    for miss in one.misses:
        has = str(miss["found"]) if miss["found"] not in {None, ""} else "nothing"
        yield said("{}", Name(f"{miss['keyword']} wants {miss['wanted']}, the message has {has}"))
    if one.hidden_by:
        yield said(f"The IGNORE in line {one.hidden_by} comes before it.")
    if one.matches and not one.hidden_by:
        yield said(f"It matches. {one.failed:,} of {counted(one.tries, 'try', 'tries')} failed.")


def seen(story: MessageStory) -> Iterator[Text]:
    """Where the message was seen last, and when it was gone."""
    for one in story.past.seen:
        of = OfRun(one.queue_manager, one.run, "{}")
        gone = NOTHING
        if one.missed_at:
            by = OfRun(one.queue_manager, one.missed_by, "{}")
            gone = said("; gone {}, as run {} found", Time(one.missed_at), by)
        ends = one.ends_at and one.became == "seen"
        yield sentences(
            said("Last seen {} on {} by run {}{}: {}.", Time(one.seen_at), Name(one.queue), of, gone, one.since),
            said("Its lifetime ends {}.", Time(one.ends_at)) if ends else NOTHING,
        )


def events(story: MessageStory, outcome: Callable[[Mapping[str, Any]], str], short: Callable[[str], str]) -> Table:
    """The lines of the ledger about the message. Parameters: `outcome` of a line in words; `short` a key of a run for
    a narrow place."""
    columns = [
        *(Column("At"), Column("Outcome"), Column("Action"), Column("Destination", "name"), Column("Rule")),
        *(Column("Asked by", "name"), Column("Approved by", "name"), Column("Run", "name")),
    ]
    rows = []
    for one in story.past.events:
        query = {"queue_manager": one["queue_manager"], "run": one["run"]}
        rows.append(
            (
                *(Time(one["at"]), f"{outcome(one)} {one['reason']}", str(one["action"])),
                str(Destination(one["dest_q"], one["dest_q_mgr"])),
                f"line {one['rule_line']}" if one["rule_line"] else "",
                *(one["requested_by"], one["approved_by"]),
                Link(short(one["run"]), "run", query, title=one["run"]) if one["run"] else "",
            )
        )
    return Table(caption="Lines of the ledger, oldest first", columns=columns, rows=rows)


def fields(caption: str, values: Mapping[str, Any]) -> Table:
    """The fields of a structure. Those of a structure within it stand below each other."""
    columns = [Column("Field", heads=True), Column("Value", "mono name")]
    return Table(caption=caption, columns=columns, rows=[(name, _value(value)) for name, value in values.items()])


def _value(value: Any) -> Text:
    if isinstance(value, Mapping):
        return said("{}", Lines(tuple(said("{} = {}", inner, str(text)) for inner, text in value.items())))
    return said("{}", str(value))


def broken_folder(folder: Mapping[str, Any]) -> tuple[str, Text]:
    """Why a folder of an MQRFH2 has no properties, and its bytes."""
    where = f"Folder {folder['name'] or 'without a name'} at offset {folder['offset']}"
    masked = " (masked)" if folder["masked"] else ""
    size = counted(folder["length"], "byte")
    why = f"{where} is not valid, so it has no properties: {folder['broken']}"
    return why, said("Its {}{}: {}", size, masked, Name(folder["hex"]))


def folder(found: Mapping[str, Any]) -> Table:
    """The properties of a folder of an MQRFH2."""
    columns = [Column("Element", "name", heads=True), Column("Type"), Column("Value", "mono name")]
    masked = " (masked)" if found["masked"] else ""
    rows = [
        (f"{one.get('name') or '(text)'}{_attributes(one)}", str(one["type"]), str(one["value"]))
        for one in found["elements"]
    ]
    return Table(caption=f"Folder {found['name']}{_attributes(found)}{masked}", columns=columns, rows=rows)


def _attributes(of: Mapping[str, Any]) -> str:
    return "".join(f' {name}="{value}"' for name, value in of.get("attributes", {}).items())
