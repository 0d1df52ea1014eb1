"""What a pass need not copy again: the messages at the beginning of a queue that the pass before has copied.

1. A message is the same if its whole MQMD is, but for Expiry, which the queue manager counts down, and if it has the
   same place on the queue. Only descriptors are read for that. A body that somebody replaced behind the same MQMD is
   found by act, which compares the digest, and the handler has the next pass copy everything.
2. The files of the snapshot before are linked, not copied: each run has its own snapshot, whatever becomes of the other
   runs. A row keeps its `observed_at`, which its Expiry counts from.
3. What has stayed since the pass before, and is not linked, is written into a file of its own, apart from what is new:
   most of that is moved soon, and its file is then of no use to the next pass.
4. A file is linked if all of its messages are there, and if it has at least as many as the files behind it together: so
   there are few files however many passes there were, and a message is copied again seldom.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from mqops.errors import LakeError, MqopsError
from mqops.lake.parquet import parts_of, read_part
from mqops.lake.run import RunFolder
from mqops.mq.browse import GET_OPTIONS, OPEN_OPTIONS
from mqops.mq.session import RawMessage, Session
from mqwire import constants as c
from mqwire.structures import MQMD_LAYOUT

_LOOK = GET_OPTIONS | c.MQGMO_ACCEPT_TRUNCATED_MSG | c.MQGMO_BROWSE_NEXT
_EXPIRY = MQMD_LAYOUT.offset("expiry")
_BEHIND_EXPIRY = _EXPIRY + 4


class Changed(MqopsError):
    """The beginning of the queue has changed while it was looked at: everything is copied."""


class Unchanged(NamedTuple):
    """Parameters: `files` of the snapshot before whose messages are at the beginning of the queue; `descriptors` of
    these messages, in the queue's order (`_known_by`); `stayed` those of all messages of the snapshot before."""

    files: tuple[Path, ...] = ()
    descriptors: tuple[bytes, ...] = ()
    stayed: frozenset[bytes] = frozenset()

    def link(self, snapshot: Path) -> None:
        """Link the files into a snapshot, in front of what is written there (`mqops.lake.parquet.write_parquet`).

        Raises:
            Changed: a file is not there any more, or the file system has no links.
        """
        for number, file in enumerate(self.files):
            try:
                os.link(file, _place(snapshot, number), follow_symlinks=False)
            except OSError as error:
                raise Changed from error

    def passed_over(self, session: Session, handle: int, queue: str) -> None:
        """Move the browse cursor of a queue that was just opened behind these messages.

        Raises:
            Changed: they are not the first messages of the queue any more.
            MQError: the queue cannot be browsed.
        """
        for known in self.descriptors:
            if _next(session, handle, queue) != known:
                raise Changed

    def place_of_stayed(self, snapshot: Path) -> Path:
        """The file for what has stayed and is not linked: behind these, and before what is new."""
        return _place(snapshot, len(self.files))

    def split(self, messages: Iterator[RawMessage]) -> Split:
        """Messages behind these: first those that have stayed, then the others."""
        return Split(messages, self.stayed)


class Split:
    """Messages in two parts, of which the first one must be taken first. Parameters: `known` as `Unchanged.stayed`."""

    def __init__(self, messages: Iterator[RawMessage], known: frozenset[bytes]) -> None:
        self._messages, self._known = messages, known
        self._first_new: list[RawMessage] = []

    def stayed(self) -> Iterator[RawMessage]:
        """Those before the first one that is not known."""
        for message in self._messages:
            if _known_by(message.md) not in self._known:
                self._first_new.append(message)
                return
            yield message

    def news(self) -> Iterator[RawMessage]:
        """That one, and all behind it."""
        yield from self._first_new
        yield from self._messages


def _place(snapshot: Path, number: int) -> Path:
    return snapshot / f"kept-{number:05}.parquet"


def unchanged(session: Session, queue: str, before: RunFolder) -> Unchanged:
    """What the snapshot of a run before has of the beginning of a queue; it is browsed, without bodies. Raises
    `MQError`."""
    kept: list[tuple[Path, tuple[bytes, ...]]] = []
    stayed, same = set[bytes](), True
    handle = session.open(queue, OPEN_OPTIONS)
    try:
        with suppress(LakeError):  # it was removed meanwhile
            for file in parts_of(before.snapshot):
                known = _descriptors(file)
                stayed.update(known)
                same = same and all(_next(session, handle, queue) == one for one in known)
                if same and known:
                    kept.append((file, known))
    finally:
        session.close(handle)
    few = _worth_it([len(known) for _file, known in kept])
    descriptors = tuple(one for _file, known in kept[:few] for one in known)
    return Unchanged(tuple(file for file, _known in kept[:few]), descriptors, frozenset(stayed))


def _worth_it(sizes: Sequence[int]) -> int:
    """How many files are linked (rule 4)."""
    for place, size in enumerate(sizes):
        if size < sum(sizes[place + 1 :]):
            return place
    return len(sizes)


def _descriptors(file: Path) -> tuple[bytes, ...]:
    return tuple(_known_by(md) for batch in read_part(file, ["md"]) for md in batch.column("md").to_pylist())


def _next(session: Session, handle: int, queue: str) -> bytes | None:
    got = session.get(handle, _LOOK, room=0, name=queue)
    return _known_by(got.md) if got else None


def _known_by(md: bytes) -> bytes:
    """The digest of a descriptor without Expiry."""
    return blake2b(md[:_EXPIRY] + md[_BEHIND_EXPIRY:], digest_size=16).digest()
