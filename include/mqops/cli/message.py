"""`mqops message`: one message, or those that fit, on a live queue or in a snapshot. Nothing is moved by looking."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from mqops.cli.columns import show_folded
from mqops.cli.criteria import criteria_options
from mqops.cli.group import Group
from mqops.cli.message_file import export, load
from mqops.cli.message_text import found_line, heading_line, past_lines, story_lines
from mqops.cli.outcome import connection_to, json_option, known_errors, lake_option, show_json, show_line
from mqops.cli.passes import this_user, warn
from mqops.cli.recover import COMMANDS
from mqops.cli.run_argument import completed_runs, queue_manager_option, snapshot_folder
from mqops.cli.tables import GivenFile, text_from
from mqops.cli.user_option import connecting_options
from mqops.counted import counted
from mqops.model import Account

if TYPE_CHECKING:
    from mqops.look.core.criteria import Criteria
    from mqops.look.message import TableFrom

MOST_FOUND = 100
_snapshot_option = click.option(
    "--snapshot",
    metavar="RUN|FOLDER",
    default="",
    shell_complete=completed_runs,
    help="Look into a snapshot instead of a live queue: a run of the lake, or a folder.",
)


@click.group(cls=Group)
def message() -> None:
    """Messages on queues and in snapshots."""


@message.command()
@click.argument("words", metavar="[QUEUE] [MSGID]", nargs=-1)
@queue_manager_option
@connecting_options
@_snapshot_option
@criteria_options
@click.option("--position", type=click.IntRange(0), help="The place on the queue, from 0, where several messages fit.")
@click.option("--rules", type=GivenFile(), help="Judge it by this rules table. Default: that of the run or estate.")
@click.option("--reveal", is_flag=True, help="Show the payload. The estate says who may; the ledger says who did.")
@click.option("--why", default="", metavar="TEXT", help="The reason of --reveal, which the ledger keeps.")
@lake_option
@json_option
@known_errors
def show(
    *,
    words: tuple[str, ...],
    queue_manager: str,
    snapshot: str,
    wanted: Criteria,
    position: int | None,
    rules: IO[bytes] | None,
    reveal: bool,
    why: str,
    lake: Path,
    as_json: bool,
) -> None:
    """Show one message of QUEUE, or with --snapshot of a snapshot, and what is known of it.

    MSGID is the MsgId in hex, or the beginning of it. With --snapshot QUEUE may be left out: one word of nothing but
    hex digits is the MSGID then, unless the snapshot has messages of a queue with this name. The options choose a
    message as those of `mqops message find` do. It shows the MQMD, the chain of headers, and the data behind them;
    where the message came from; what each rule of the table says of it and why; and what the ledger, the plans and the
    snapshots know of it.

    The queue is only browsed. The data and the properties are masked: letters as x, digits as 9. --reveal shows them to
    a user whom the estate names under `reveal` of the queue manager, and writes that to the ledger with the reason
    (--why, at most 500 characters). JSON and XML are laid out in lines then, and hex stands beside.
    """
    from mqops.look.core.criteria import asks_for_payload  # noqa: PLC0415
    from mqops.look.find import refuse_question_about  # noqa: PLC0415
    from mqops.look.message import show_live, show_recorded  # noqa: PLC0415
    from mqops.look.reveal import Reveal, refuse_question, why_of  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.mq.named_queue import alias_of  # noqa: PLC0415
    from mqops.observe import snapshot as store  # noqa: PLC0415

    run, folder = store.find(snapshot_folder(lake, snapshot)) if snapshot else (None, None)
    queue, msg_id = _queue_and_id(words, folder)
    if msg_id:
        wanted = _with_id(wanted, msg_id)
    table = _table(rules)
    if why and not reveal:
        raise click.UsageError("--why is the reason of --reveal: give both")
    to = Reveal(who=this_user(), kind=Account.SYSTEM, why=why_of(why) if why else "") if reveal else None
    if reveal and not why:
        warn("--reveal without a reason is deprecated: give --why TEXT, which the ledger keeps. 0.3.0 will ask for it")
    asks = wanted.asks_for_payload or (table is not None and asks_for_payload(table.table.questions))
    if folder is not None:
        if asks:
            refuse_question_about(folder, this_user())
        found = show_recorded(lake, folder, wanted, run=run, queue=queue, position=position, table=table, reveal=to)
    else:
        with connect(connection_to(queue_manager.strip())) as session:
            if asks:
                refuse_question(queue_manager_name(session), this_user(), Account.SYSTEM)
            found = show_live(session, lake, queue, wanted, position=position, table=table, reveal=to)
            if alias := alias_of(session, queue):
                warn(alias)
    if as_json:
        show_json(found.to_json())
        return
    show_folded(heading_line(found))
    for line in story_lines(found):
        show_line(line)
    for line in past_lines(found):
        show_folded(line, indent=18 if line.startswith(8 * " ") else 8)


def _queue_and_id(words: tuple[str, ...], snapshot: Path | None) -> tuple[str, str]:
    """QUEUE and MSGID. One word is the queue; in a snapshot it is the MsgId, if it is hex and no queue has this name.

    Parameters: `snapshot` the folder of its files, None for a live queue. Raises `click.UsageError`, `LakeError`.
    """
    from mqops.observe.snapshot import has_queue  # noqa: PLC0415 - loads pyarrow

    if len(words) > 2:
        raise click.UsageError("Give QUEUE and MSGID, and nothing behind them")
    if snapshot and len(words) == 1 and re.fullmatch("[0-9a-fA-F]+", words[0]) and not has_queue(snapshot, words[0]):
        return "", words[0]
    queue, msg_id = (*words, "", "")[:2]
    if not queue and snapshot is None:
        raise click.UsageError("Name the queue, or a snapshot with --snapshot")
    return queue.strip(), msg_id


def _with_id(wanted: Criteria, msg_id: str) -> Criteria:
    from dataclasses import replace  # noqa: PLC0415

    from mqops.look.core.criteria import criteria  # noqa: PLC0415

    others = tuple(one for one in wanted.identifiers if one[0] != "msg_id")
    return replace(wanted, identifiers=(*criteria(msg_id=msg_id).identifiers, *others))


def _table(rules: IO[bytes] | None) -> TableFrom | None:
    from mqops.look.message import table_from  # noqa: PLC0415

    return table_from(text_from(rules), str(getattr(rules, "name", "--rules"))) if rules else None


@message.command()
@click.argument("queues", metavar="[QUEUE]...", nargs=-1)
@queue_manager_option
@connecting_options
@_snapshot_option
@criteria_options
@click.option("--limit", type=click.IntRange(0), default=MOST_FOUND, show_default=True, help="Most messages; 0: all.")
@click.option("--after", default="", metavar="NEXT", help="Go on where a page ended: the `next` that it showed.")
@lake_option
@json_option
@known_errors
def find(
    *,
    queues: tuple[str, ...],
    queue_manager: str,
    snapshot: str,
    wanted: Criteria,
    limit: int,
    after: str,
    lake: Path,
    as_json: bool,
) -> None:
    """Find the messages of QUEUEs (none: the dead-letter queue) that fit all options, or those of a snapshot.

    QUEUEs are names, or beginnings of names and *, as for `mqops expiry scan`.

    The queues are only browsed, and no payload is shown. What looks into bodies or properties tells parts of them: if
    the estate names users under `reveal` of the queue manager, only they may ask so. Without options it lists all
    messages. Exit code 1: there is none.

    In a snapshot it looks through a million messages in about a second.
    """
    from mqops.look.core.searched import passed_over_lines  # noqa: PLC0415
    from mqops.look.find import find_live, find_recorded, refuse_question_about  # noqa: PLC0415
    from mqops.look.reveal import refuse_question  # noqa: PLC0415
    from mqops.mq.connection import connect  # noqa: PLC0415
    from mqops.mq.inquire import queue_manager_name  # noqa: PLC0415
    from mqops.mq.named_queue import alias_of, queues_named, usable_dead_letter_queue  # noqa: PLC0415
    from mqops.observe import snapshot as store  # noqa: PLC0415
    from mqops.observe.unseen import unseen  # noqa: PLC0415

    asks = wanted.asks_for_payload
    if snapshot:
        _run, folder = store.find(snapshot_folder(lake, snapshot))
        if asks:
            refuse_question_about(folder, this_user())
        queues = store.queues_recorded(folder, queues)
        page = find_recorded(folder, wanted, queues=queues, limit=limit, after=after)
    else:
        with connect(connection_to(queue_manager.strip())) as session:
            if asks:
                refuse_question(queue_manager_name(session), this_user(), Account.SYSTEM)
            named = queues_named(session, queues) or (usable_dead_letter_queue(session),)
            page = find_live(session, named, wanted, limit=limit, after=after)
            for alias in filter(None, (alias_of(session, queue) for queue in named)):
                warn(alias)
            if not page.looked_at:
                for why in filter(None, (unseen(session, queue) for queue in named)):
                    warn(why)
    if as_json:
        show_json(page.to_json())
    else:
        for one in page.messages:
            show_folded(found_line(one), indent=4)
        for line in passed_over_lines(page.passed_over):
            show_folded(line)
        more = f"; to go on: --after {page.next}" if page.next else ""
        show_folded(f"{counted(len(page.messages), 'message')} of {page.looked_at:,} looked at{more}")
    raise SystemExit(0 if page.messages or after else 1)


message.add_command(export)
message.add_command(load)
for _one in COMMANDS:
    message.add_command(_one)
