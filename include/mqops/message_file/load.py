"""Load the messages of a file (`mqops.message_file` has the rules): the plan, and acting on it. In one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import tee
from pathlib import Path

from mqops.act.approved_plan import read_approved_plan
from mqops.act.core.lanes import DEFAULT_UNIT_SIZE, Row
from mqops.act.core.port import Taken
from mqops.act.destinations import Destinations, browse_all
from mqops.act.in_process import act
from mqops.act.mover_port import key_of
from mqops.actions import Action
from mqops.clock import utc
from mqops.command import command
from mqops.counted import counted
from mqops.decide.core import PlanSummary
from mqops.decide.core.decided import DecidedRow
from mqops.decide.core.gate import gated
from mqops.decide.core.protected import is_protected
from mqops.decide.gate import verdicts_of
from mqops.decide.in_process import COPIED, DecidedBy, row_of, write_plan
from mqops.decide.preflight import preflight
from mqops.errors import InProgress, PermanentMQError, PlanChanged, SettingsError
from mqops.given_file import opener, read_errors
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.sealing import DATA_KEY
from mqops.ledger.core.account import Account
from mqops.ledger.core.identity import PlanIdentity
from mqops.ledger.core.marker import About, Marker
from mqops.ledger.file import LedgerFile
from mqops.message_file.core.choice import load_actions
from mqops.message_file.core.text import LONGEST_LINE, messages_in
from mqops.message_file.export import Fingerprint
from mqops.message_file.parquet_file import messages_of_folder
from mqops.model import ActSummary
from mqops.mq.connection import Reach, connect, one_session
from mqops.mq.inquire import queue_manager_name
from mqops.mq.session import SET_CONTEXT_OPTIONS, Session
from mqops.observe import snapshot
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed
from mqops.observe.originals import BATCH_ROWS, Originals
from mqops.observe.sealed import write_snapshot
from mqops.plan_row import RuleDecision, without_rule
from mqops.prove.begun_plans import begun_plans
from mqops.prove.records import LOAD_RECORD, Loads
from mqops.undo.undo_port import UndoPort
from mqops.workflow import Workflow


def read_messages(file: Path) -> Iterator[tuple[bytes, bytes]]:
    """MQMD and body of each message of a file, in its order: a folder of Parquet files, or dmpmqmsg's text.

    Raises:
        SettingsError: the file is damaged, or cannot be read; the text names the line.
        LakeError: the folder cannot be read, or is damaged.
    """
    if file.is_dir():
        run, folder = snapshot.find(file)
        yield from _decrypted(folder) if run and DATA_KEY.exists(run) else messages_of_folder(folder)
        return
    with read_errors(str(file)), open(file, "rb", opener=opener) as stream:
        for message in messages_in(iter(lambda: stream.readline(LONGEST_LINE), b""), name=str(file)):
            yield message.md, message.body


def _decrypted(folder: Path) -> Iterator[tuple[bytes, bytes]]:
    """Those of a run whose bodies are encrypted: nobody else wrote them. Raises `LakeError`."""
    for batch in read_parquet(folder, ["md", "body"], rows=BATCH_ROWS):
        for md, body in zip(*batch.columns, strict=True):
            yield md.as_py(), body.as_py()


def fingerprint_of(file: Path) -> Fingerprint:
    """The digest of a file's messages, all of which are read. Raises as `read_messages`."""
    found = Fingerprint()
    for _message in found.over(read_messages(file)):
        pass
    if not found.messages:
        raise SettingsError(f"{file} has no message")
    return found


def refuse_target(session: Session, queue: str) -> None:
    """Refuse to load onto the queues of mqops and of the queue manager, and onto transmission queues.

    Raises:
        SettingsError: it is such a queue, whatever name it is given.
        MQError: the queue manager cannot be inquired.
    """
    there = Destinations(session).of(queue, "")
    for name in (queue, there.queue):
        if is_protected(name) and not name.startswith("SYSTEM.DEAD.LETTER.QUEUE"):
            raise SettingsError(f"{name} is a queue of mqops or of the queue manager: nothing is loaded onto it")
    if there.direct:
        raise SettingsError(f"{queue} is a transmission queue: only the queue manager puts there")


def local_queue(session: Session, queue: str) -> str:
    """The queue that a load onto `queue` is known by: of an alias the local queue it leads to. Raises `MQError`."""
    return Destinations(session).of(queue, "").queue or queue


def plan_load(
    connection: Reach,
    folder: RunFolder,
    file: Path,
    queue: str,
    *,
    again: bool,
    ask_gate: Callable[[RunFolder], None],
) -> PlanSummary:
    """Plan a load in `folder`, a new run's: snapshot, load.json, plan, plan.json, preflight.json. Nothing is put.

    Parameters: `again` whether what earlier loads put is put once more; `ask_gate` has the gate of the run, if it has
    one, look at the messages.

    Raises:
        SettingsError: the file is damaged or empty.
        InProgress: an earlier load of these messages on this queue was begun and is not finished.
        MqopsError: the queue manager or the lake failed.
    """
    observed_at = utc()
    ledger = LedgerFile(folder.lake_folder)
    with connect(connection) as session:
        name = queue_manager_name(session)
        found = _copy(file, folder, Browsed(queue_manager=name, queue=queue, observed_at=observed_at))
        snapshot.finish(folder, name, (queue,), observed_at.isoformat(), whole=False, ledger=ledger)
        into = local_queue(session, queue)
        earlier = loads_of(session, ledger, found.hex(), into)
        _refuse_unfinished(earlier)
        digests = frozenset(one.digest for one in earlier)
        record = Loads(messages=found.hex(), queue=into, file=str(file), earlier=digests)
        LOAD_RECORD.write(folder, record)
        on_queue, remarks = _on_queue(session, queue)
    loaded = set() if again else {row for one in earlier.values() for row in one.acted}
    if loaded:
        runs = ", ".join(one.run for one in earlier)
        before = f"{counted(len(loaded), 'message')} of the file: put before by {runs}"
        remarks += (f"{before}. --again puts once more those that are not on {queue}",)
    ask_gate(folder)
    verdicts = verdicts_of(folder)
    rows = _rows(folder, queue, loaded, on_queue)
    plan = write_plan(
        folder,
        (one.changed_to(gated(one.row, verdicts.get((one.row.queue, one.row.msg_key)))) for one in rows),
        workflow=Workflow.MESSAGE_LOAD,
        by=DecidedBy(source=f"load of {file}", digest=found.hex()),
        remarks=remarks,
    )
    preflight(connection, folder, taken_from=(), target_options=SET_CONTEXT_OPTIONS, file=ledger)
    return plan


def _copy(file: Path, folder: RunFolder, browsed: Browsed) -> Fingerprint:
    """Write the run's snapshot; the file is whole where this returns. Raises as `fingerprint_of`."""
    found = Fingerprint()
    snapshot.begin(folder)
    write_snapshot(folder, record_batches(browsed, found.over(read_messages(file))))
    if not found.messages:
        raise SettingsError(f"{file} has no message")
    return found


def _on_queue(session: Session, queue: str) -> tuple[Counter[str], tuple[str, ...]]:
    """How many of which messages are on the queue, and why that is not known."""
    there = Destinations(session).of(queue, "")
    why = there.why
    if there.queue:
        try:
            return Counter(browse_all(session, there.queue, lambda got: key_of(got.md, got.body), whole=False)), ()
        except PermanentMQError as error:
            why = str(error)
    return Counter(), (f"whether messages of the file are on {queue} already is not known: {why}",)


def _rows(folder: RunFolder, queue: str, loaded: set[int], on_queue: Mapping[str, int]) -> Iterator[DecidedRow]:
    first, messages = tee(row for batch in read_parquet(folder.snapshot, COPIED) for row in batch.to_pylist())
    actions = load_actions((row["msg_key"] for row in first), loaded=loaded, on_queue=on_queue)
    for number, (action, message) in enumerate(zip(actions, messages, strict=True)):
        yield DecidedRow(row_of(number, message, _decision(action, queue)))


def _decision(action: Action, queue: str) -> RuleDecision:
    decision = without_rule(action)
    if action is Action.LOAD:
        decision["dest_q"], decision["header"], decision["unit_group"] = queue, True, f"{queue}@"
    return decision


class LoadPort(UndoPort):
    """`UndoPort` that puts every message from its copy, as it is (rule 6 of `mqops.message_file`)."""

    work = "a load"

    def take(self, row: Row, *, careful: bool) -> Taken | None:
        """The message of the file; it is always there. `careful` has no meaning where nothing is got."""
        original = self._whole(row)
        return Taken(md=original.md, body=original.body, key=row.msg_key)


def act_load(
    connection: Reach,
    folder: RunFolder,
    *,
    file: LedgerFile,
    approved: str = "",
    unit_size: int = DEFAULT_UNIT_SIZE,
    about: About | None = None,
) -> ActSummary:
    """Act on the plan of a load, or finish what an earlier execution began.

    Raises:
        PlanChanged: the plan is not the approved one, or another load of these messages was begun since it was made.
        InProgress: somebody loads these messages onto this queue.
        MqopsError: what was committed stays, everything else is as before; call again to go on.
    """
    what = LOAD_RECORD.find(folder)
    if what is None:
        raise SettingsError(f"Run {folder.run} is not a load")
    approved_plan = read_approved_plan(folder, approved)
    does = f"loads the messages of {Path(what.file).name} onto {what.queue}"
    with (
        all_loads_of(folder, what).lock(does=does),
        Originals(folder.snapshot) as originals,
        one_session(connection) as step,
    ):
        with connect(step) as session:
            own = LedgerFile(folder.lake_folder)  # `file` is act's, and unread yet
            others = loads_of(session, own, what.messages, what.queue)
        if approved_plan.identity not in others and {one.digest for one in others} != what.earlier:
            raise PlanChanged("Another load of these messages was begun after this one was planned. Plan it again")
        port = partial(LoadPort, original=originals, now=utc)
        about_load = {**(about or {}), "loads": what.messages, "into": what.queue, "file": Path(what.file).name}
        return act(
            step, folder, file=file, unit_size=unit_size, approved=approved, about=about_load, port=port, needs=()
        )


def all_loads_of(folder: RunFolder, what: Loads) -> RunFolder:
    """A folder whose lock all loads of the same messages share: LAKE/<queue manager>/loads/<digest>."""
    return RunFolder(folder.lake_folder / "loads" / what.messages[:32]).create()


def loads_of(session: Session, ledger: LedgerFile, messages: str, queue: str) -> dict[PlanIdentity, Account]:
    """The loads of these messages onto this queue that were ever begun. Raises `MQError`, `LedgerBroken`."""

    def is_one(marker: Marker) -> bool:
        return (marker.about.get("loads"), marker.about.get("into")) == (messages, queue)

    return begun_plans(session, ledger, "loads", messages, is_one)


def begun_loads(connection: Reach, lake: Path, file: Path, queue: str) -> list[tuple[RunFolder, PlanIdentity, bool]]:
    """The loads of a file onto a queue that were ever begun, and whether some of each is still to be done.

    Raises as `fingerprint_of` and `loads_of`.
    """
    found = fingerprint_of(file)
    with connect(connection) as session:
        folder = RunFolder.at(lake, queue_manager_name(session), "any").lake_folder
        if not (folder / "ledger").exists():
            return []
        earlier = loads_of(session, LedgerFile(folder), found.hex(), local_queue(session, queue))
    return [(RunFolder(folder / "runs" / plan.run), plan, bool(sums.open_lanes)) for plan, sums in earlier.items()]


def _refuse_unfinished(earlier: Mapping[PlanIdentity, Account]) -> None:
    for one, sums in earlier.items():
        if sums.open_lanes:
            finish = command("mqops", "resume", one.run, "--finish")
            raise InProgress(
                f"Load {one.run} of these messages was begun and is not finished. To finish it: load the file with "
                f"--run, or `{finish}`"
            )
