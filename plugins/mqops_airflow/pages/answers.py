"""What queue managers answer, kept for some seconds. A queue manager that does not answer delays nobody.

1. A question is asked in another thread, one at a time for each key and for each lane, which many keys may share: what
   readers can name without end (queues, plans) waits there, in one thread a queue manager. The MQ client gives up a
   connection after minutes, and nothing can end a call before: until then it costs one thread, and no reader waits.
2. A reader waits WAIT seconds at most for all that he asks. What has not come by then is shown as it was.
3. An answer that was kept for too long is shown once more while the next one comes. If it is much older, the reader
   waits for the next one as for the first, unless the last one took longer than he would wait.
4. Asking takes a bounded SHARE of a processor, so that the pages have the rest, however many queue managers there are:
   answers that cost much together are kept for longer. At most AT_ONCE threads ask, the other questions wait for their
   turn. A question that has no answer after SLOW seconds counts as one no more: it delays no other one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from mqops.printable import printable

WAIT = 2.0
"""Seconds that a reader waits at most."""
MUCH_OLDER = 3
"""An answer that is this many times as old as it is kept is waited for."""
AT_ONCE = 4
SLOW = 0.2
"""Seconds."""
SHARE = 0.1
"""Of a processor, for each kind of question: a page may have several."""
WITHOUT_KEEPING = 0.001
"""Seconds to keep an answer for a reader who needs the next one, whatever it costs."""
MOST_KEPT = 1000
MOST_WAITING = 50
"""Questions that wait in a lane; a further one is not asked."""
THREAD = "mqops asks"
T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """The answer to a question. Parameters: `value` None while none has come; `age` of the value; `took` the time that
    the answer took; `waiting` how long the next answer has been waited for, 0 where none is; `asked` how long ago its
    question was asked, 0 where it waits for its turn. Times in seconds."""

    value: T | None = None
    age: float = 0.0
    took: float = 0.0
    waiting: float = 0.0
    asked: float = 0.0

    @property
    def overdue(self) -> bool:
        """Whether the next answer takes longer than a reader waits."""
        return self.waiting >= WAIT


@dataclass(slots=True, eq=False)
class _Entry(Generic[T]):
    """What is known of one key. Parameters: `at` when the value came, `began` when a reader had the open question,
    `asked` when its turn came, all by the monotonic clock; `took` the seconds that the last answer took, and `work`
    those of a processor."""

    value: T | None = None
    at: float = 0.0
    began: float = 0.0
    asked: float = 0.0
    took: float = 0.0
    work: float = 0.0


class Answers(Generic[T]):
    """The answers to one kind of question. Parameters: `kept` seconds for which an answer is good."""

    def __init__(self, kept: float) -> None:
        self.kept = kept
        self._entries: dict[tuple[str, str], _Entry[T]] = {}
        self._lanes: dict[tuple[str, str], deque[tuple[_Entry[T], Callable[[], T]]]] = {}
        self._lanes_to_come: deque[tuple[str, str]] = deque()
        self._asked: dict[tuple[str, str], _Entry[T]] = {}
        self._changed = threading.Condition()

    def of(
        self,
        questions: Mapping[str, Callable[[], T]],
        *,
        scope: str = "",
        lane: str = "",
        kept: float = 0.0,
        wait: float | None = None,
    ) -> dict[str, Answer[T]]:
        """The answer for each key.

        Parameters: `questions` key → function that asks; it runs in another thread, and what it returns tells its
        errors; `scope` in which the keys are unique; `lane` whose questions are asked one after another, "" for a lane
        of its own for each key; `kept` and `wait` replace the usual seconds.
        """
        kept, end = kept or self.kept, time.monotonic() + (WAIT if wait is None else wait)
        with self._changed:
            entries = {key: self._entries.setdefault((scope, key), _Entry()) for key in questions}
            if kept > WITHOUT_KEEPING:
                kept = max(kept, sum(one.work for one in entries.values()) / SHARE)
            for key, question in questions.items():
                self._ask((scope, lane or key), entries[key], question, kept)
            self._next_turns()
            while (left := _longest(entries.values(), kept, end)) > 0:
                self._changed.wait(min(left, SLOW) if self._lanes_to_come else left)
                self._next_turns()
            self._forget(entries.values())
            return {key: _answer(entry) for key, entry in entries.items()}

    def _ask(self, lane: tuple[str, str], entry: _Entry[T], question: Callable[[], T], kept: float) -> None:
        now = time.monotonic()
        if entry.began or (entry.at and now - entry.at < kept):
            return
        waiting = self._lanes.get(lane)
        if waiting is not None and len(waiting) >= MOST_WAITING:
            return
        entry.began = now
        run = copy_context().run
        if waiting is not None:
            waiting.append((entry, partial(run, question)))
            return
        self._lanes[lane] = deque([(entry, partial(run, question))])
        self._lanes_to_come.append(lane)

    def _next_turns(self, *, goes_on: bool = False) -> tuple[str, str] | None:
        """Begin with the lanes whose turn it is, each in a thread. Returns the first of them for the thread that
        `goes_on` with it: to start another one takes long where many run, and nobody gets an answer meanwhile."""
        now, own = time.monotonic(), None
        quick = sum(now - one.asked < SLOW for one in self._asked.values())
        for _ in range(min(AT_ONCE - quick, len(self._lanes_to_come))):
            lane = self._lanes_to_come.popleft()
            self._asked[lane] = self._lanes[lane][0][0]
            self._asked[lane].asked = now
            if goes_on and own is None:
                own = lane
            elif not self._is_begun(lane):
                break
        return own

    def _is_begun(self, lane: tuple[str, str]) -> bool:
        """Whether a thread was started for a lane. Where the operating system gives none, the lane waits on."""
        try:
            threading.Thread(target=self._hear_all, args=(lane,), name=THREAD, daemon=True).start()
        except RuntimeError as error:
            log.warning("A question to a queue manager waits: %s", printable(error))
            self._asked.pop(lane).asked = 0.0
            self._lanes_to_come.appendleft(lane)
            return False
        return True

    def _hear_all(self, lane: tuple[str, str]) -> None:
        """Ask the questions of a lane, one after another, and then those of the lanes whose turn comes next."""
        with self._changed:
            turn = self._turn(lane)
        while turn is not None:
            lane, entry, question = turn
            value, before = None, time.thread_time()
            try:
                value = question()
            except Exception:
                log.exception("A question to a queue manager failed")
            work = time.thread_time() - before
            with self._changed:  # held until the next question has its turn: a reader would begin another thread for it
                now = time.monotonic()
                entry.value = value  # after a failure nothing is known: what was true before may be so no more
                entry.at, entry.took, entry.work = now, now - entry.asked, work
                entry.began = entry.asked = 0.0
                self._changed.notify_all()
                turn = self._turn(lane)

    def _turn(self, lane: tuple[str, str]) -> tuple[tuple[str, str], _Entry[T], Callable[[], T]] | None:
        """What the thread of a lane asks next: a question of this lane, else of the one whose turn comes; or None."""
        if not self._lanes[lane]:
            del self._lanes[lane], self._asked[lane]
            following = self._next_turns(goes_on=True)
            if following is None:
                return None
            lane = following
        entry, question = self._lanes[lane].popleft()
        entry.asked = time.monotonic()
        self._asked[lane] = entry
        return lane, entry, question

    def _forget(self, needed: Collection[_Entry[T]]) -> None:
        """Make room: the oldest entries go, but none that a reader needs or that is being asked."""
        if len(self._entries) > MOST_KEPT:
            idle = [key for key, one in self._entries.items() if not one.began and one not in needed]
            for key in sorted(idle, key=lambda key: self._entries[key].at)[: MOST_KEPT // 2]:
                del self._entries[key]


def _longest(entries: Iterable[_Entry[Any]], kept: float, end: float) -> float:
    """The longest time in seconds that a reader still waits for these entries; 0 or less: the reader does not wait."""
    now = time.monotonic()
    lasting = [
        min(end, entry.began + WAIT) - now
        for entry in entries
        if entry.began and entry.took < WAIT and (not entry.at or now - entry.at > MUCH_OLDER * kept)
    ]
    return max(lasting, default=0.0)


def _answer(entry: _Entry[T]) -> Answer[T]:
    now = time.monotonic()
    age = now - entry.at if entry.at else 0.0
    waiting = now - entry.began if entry.began else 0.0
    asked = now - entry.asked if entry.asked else 0.0
    return Answer(value=entry.value, age=age, took=entry.took, waiting=waiting, asked=asked)
