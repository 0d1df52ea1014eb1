"""A message as text: a line in a list, or all of it. Each line goes through `show_line`, which makes it printable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mqops.cli.ledger_show import event_lines, sighting_lines
from mqops.counted import counted
from mqops.look.core.laid_out import BYTES_A_LINE, HEX_WIDTH, dump, indented
from mqops.look.core.taken_apart import ORIGIN
from mqops.look.words import message as words
from mqops.model import Destination

if TYPE_CHECKING:
    from mqops.look.core.rule_verdicts import RuleVerdict
    from mqops.look.core.taken_apart import BodyShown, ElementShown, FieldsShown, FolderShown, HeaderShown
    from mqops.look.find import FoundMessage
    from mqops.look.message import MessageStory

MOST_DUMPED = 64 * BYTES_A_LINE
"""Bytes of the data that are shown as hex."""
MOST_PLACES = 20
"""Places of the data that are no text, of which the offsets are shown."""


def found_line(one: FoundMessage) -> str:
    """A message in a line."""
    dead = f"  {one.reason} {Destination(one.dest_q, one.dest_q_mgr)}" if one.reason else ""
    who = " ".join(filter(None, (one.application, one.user)))
    return (
        f"{one.msg_id}  {one.queue} {one.position}  {one.put_date} {one.put_time}  "
        f"{counted(one.bytes, 'byte')}  {one.format or '-'}{dead}  {who}".rstrip()
    )


def heading_line(story: MessageStory) -> str:
    """Which message it is."""
    one = story.found
    place = f", position {one.position}" if one.position >= 0 else ""
    source = f" in the snapshot of run {story.run}" if story.run else ""
    return f"message {one.msg_id} of {one.queue}{place}, {one.queue_manager}{source}"


def story_lines(story: MessageStory) -> Iterator[str]:
    """What a message holds, and what the rules say of it. Blanks in its text are its own: fold no line."""
    shown = story.message
    yield "MQMD"
    yield from _fields(shown.md)
    for header in shown.headers:
        yield from _header(header)
    if shown.broken:
        yield f"the chain of headers ends here: {shown.broken}"
    yield from _body(shown.body)
    if shown.origin:
        yield f"{ORIGIN[str(shown.origin['by'])]}, by its {shown.origin['by']}"
        yield from _fields({name: value for name, value in shown.origin.items() if name != "by"})
    yield from _rules(story)


def _fields(fields: FieldsShown, indent: str = "    ") -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}"
            yield from _fields(value, indent + "    ")
        elif name != "StrucId":
            yield f"{indent}{name:17} {value}".rstrip()


def _header(header: HeaderShown) -> Iterator[str]:
    yield f"{header.name} at {header.offset}, {counted(header.length, 'byte')}"
    yield from _fields(header.fields)
    for folder in header.folders or ():
        yield from _folder(folder)
    if header.broken:
        what = "folders" if header.name == "MQRFH2" else "names and values"
        yield f"    its {what} cannot be read: {header.broken}"


def _folder(folder: FolderShown) -> Iterator[str]:
    masked = " (masked)" if folder["masked"] and (folder["elements"] or "broken" in folder) else ""
    if "broken" in folder:
        size = counted(folder["length"], "byte")
        yield f"    folder {folder['name'] or 'without a name'}{masked} at {folder['offset']}, {size}: not valid, so it"
        yield f"        has no properties: {folder['broken']}"
        yield f"        bytes {folder['hex']}"
        return
    yield f"    folder {folder['name']}{_attributes(folder)}{masked}"
    for element in folder["elements"]:
        kind = f" ({element['type']})" if element["type"] else ""
        yield f"        {element['name'] or '(text)'}{kind}{_attributes(element)} = {element['value']}".rstrip()


def _attributes(of: FolderShown | ElementShown) -> str:
    return "".join(f" {name}={value!r}" for name, value in of.get("attributes", {}).items())


def _body(body: BodyShown) -> Iterator[str]:
    masked = ", masked: --reveal shows it" if body.masked and body.length else ""
    yield f"data at {body.offset}, {counted(body.length, 'byte')}, CCSID {body.ccsid}, Encoding {body.encoding}{masked}"
    if body.text is None:
        yield f"    no text: {body.no_text}"
    elif body.length:
        form, text = ("", body.text) if body.masked else indented(body.text)
        yield f"    {form or f'text {text}'}"
        yield from (f"        {line}" for line in text.splitlines() if form)
    if body.bad_bytes:
        places = ", ".join(map(str, body.bad_bytes[:MOST_PLACES])) + (
            ", ..." if len(body.bad_bytes) > MOST_PLACES else ""
        )
        number = counted(len(body.bad_bytes), "place")
        yield f"    not text in CCSID {body.ccsid} at {number}, offset in the data {places}: \ufffd stands there"
    if body.masked:
        return
    for row in dump(body, MOST_DUMPED):
        yield f"    {row.offset:08x}  {row.hex:{HEX_WIDTH}}  |{row.text}|"
    if body.length > MOST_DUMPED:
        yield f"    {counted(body.length - MOST_DUMPED, 'more byte')}: --json shows all"


def _rules(story: MessageStory) -> Iterator[str]:
    if not story.rules:
        return
    yield f"rules of {story.rules_source}"
    for rule in story.rules:
        yield f"    line {rule.line}: {rule.action}{f' to {rule.target}' if rule.target else ''}: {_verdict(rule)}"
        for miss in rule.misses:
            found = "nothing" if miss.found in {None, ""} else miss.found
            yield f"        {miss.keyword}({miss.wanted}): the message has {found}"


def _verdict(rule: RuleVerdict) -> str:
    if not rule.matches:
        return "does not match"
    tries = f", {rule.failed:,} of {counted(rule.tries, 'try', 'tries')} failed" if rule.failed else ""
    hidden = f" by the IGNORE at line {rule.hidden_by}" if rule.hidden_by else ""
    return f"matches, {rule.verdict}{hidden}{tries}"


def past_lines(story: MessageStory) -> Iterator[str]:
    """What the ledger, the plans and the snapshots know of a message."""
    yield "what the lake knows of it"
    if story.quarantined:
        yield f"    {words.quarantine(story)}"
    lines = [line for event in story.past.events for line in event_lines(event)]
    lines += [line for one in story.past.seen for line in sighting_lines(one)]
    lines += [f"cannot be read: {error}" for error in story.past.errors]
    for line in lines or ["nothing: no run has seen it"]:
        yield f"    {line}"
