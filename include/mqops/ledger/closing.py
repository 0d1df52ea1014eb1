"""The open segment of a ledger is closed, and what is closed gets its checkpoint and stands in the index.

All of it under the ledger's lock, in this order:

1. every line of the open segment is verified, and the proofs that name one of them; one that is not what was written
   is not closed, so that nothing is signed again that nobody wrote;
2. the segment gets its name, by one rename, and both folders are brought to disk;
3. its checkpoint is written, in one step;
4. the index is filled, and its note written;
5. the proofs that were checked are left out of the list.

A crash between 1 and 2 leaves all as it was. Between 2 and 3 the segment is closed without a checkpoint: it is read as
the open one is, and the next writer verifies it again and goes on at 3 (`settle`). Between 3 and 5 the index is behind,
or is not the file that its note names, and the next writer fills it; proofs stay in the list that need not be there.
A ledger of an earlier version, one file of any size, is closed by the same rename, and not written again.
"""

from __future__ import annotations

import errno
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mqops.errors import LedgerBroken
from mqops.lake.files import lake_errors, make_folder, sync, write_bytes
from mqops.ledger.core import checkpoint
from mqops.ledger.core.chain import BEGIN, Proof, heads, refuse_other
from mqops.ledger.core.checkpoint import Checkpoint
from mqops.ledger.core.seal import Seal
from mqops.ledger.segments import Segments, complete_lines
from mqops.printable import printable

_log = logging.getLogger(__name__)
_TORN = "it ends with a line that is not complete"


def settle(segments: Segments, seal: Seal, proofs: Callable[[], Sequence[Proof]]) -> Checkpoint | None:
    """Make the checkpoints that closed segments have not yet; the last one. The ledger's lock is held.

    Parameters: `proofs` gives those of the runs since the last checkpoint.

    Raises `LakeError`, `SettingsError`; a segment that is not what was written gets none, which is logged.
    """
    last = segments.last_checkpoint()
    for number in segments.numbers()[0]:
        if last is not None and number <= last.number:
            continue
        try:
            if number != (last.head.seq if last else 0) + 1:
                raise LedgerBroken(f"it does not follow line {last.head.seq if last else 0}")
            made = checked(segments, segments.lines(number), last, seal, proofs())
            if made.size != segments.size(number):
                raise LedgerBroken(_TORN)
        except LedgerBroken as error:
            _log.warning("%s is closed and cannot be verified: %s", printable(segments.path(number)), printable(error))
            break
        write_checkpoint(segments, made, seal)
        last = made
    return last


def close(
    segments: Segments, last: Checkpoint | None, seal: Seal, proofs: Callable[[], Sequence[Proof]]
) -> Checkpoint | None:
    """Close the open segment: its checkpoint, None if it is not what was written, and stays open. The lock is held.

    Parameters: `last` checkpoint; `proofs` gives those of the runs since then.

    Raises `LakeError`, `SettingsError`.
    """
    try:
        made = checked(segments, complete_lines(segments.open_path), last, seal, proofs())
        with lake_errors(segments.open_path):
            if made.size != segments.open_path.stat().st_size:
                raise LedgerBroken(_TORN)
    except LedgerBroken as error:
        _log.warning("%s is not closed: %s", printable(segments.open_path), printable(error))
        return None
    _give_name(segments, made.number)
    write_checkpoint(segments, made, seal)
    return made


def checked(
    segments: Segments, content: Iterable[bytes], last: Checkpoint | None, seal: Seal, proofs: Sequence[Proof]
) -> Checkpoint:
    """The checkpoint of the segment behind the last one, all of which is verified.

    Parameters: `content` its lines.

    Raises:
        LedgerBroken: a line is not what was written, or not the one that a proof names.
    """
    before = last.head if last else BEGIN
    wanted: dict[int, list[Proof]] = {}
    for proof in proofs:
        wanted.setdefault(proof.head.seq, []).append(proof)
    found = hashlib.sha256()
    first, head, size = "", before, 0

    def lines() -> Iterator[bytes]:
        nonlocal size
        for line in content:
            found.update(line)
            size += len(line)
            yield line

    for head in heads(lines(), seal, before):
        first = first or head.hash
        for proof in wanted.get(head.seq, ()):
            refuse_other(head, proof)
    if not first:
        raise LedgerBroken(_TORN)
    return Checkpoint(
        number=before.seq + 1,
        first=first,
        before=before,
        head=head,
        size=size,
        sha256=found.hexdigest(),
        begin=last.end if last else 0,
        segments=last.segments + 1 if last else 1,
        chain=checkpoint.digest(segments.body(last.number)) if last else "",
    )


def _give_name(segments: Segments, number: int) -> None:
    make_folder(segments.folder)
    path = segments.path(number)
    with lake_errors(path):
        if path.exists():  # a rename would replace it
            raise FileExistsError(errno.EEXIST, "a closed segment has this name already", str(path))
        rename(segments.open_path, path)
        sync(segments.folder)
        sync(segments.open_path.parent)


def rename(old: Path, new: Path) -> None:
    """Step 2."""
    old.rename(new)


def write_checkpoint(segments: Segments, made: Checkpoint, seal: Seal) -> None:
    """Step 3. Raises `LakeError`, `SettingsError`."""
    write_bytes(segments.checkpoint_path(made.number), checkpoint.pack(made, seal) + b"\n")
