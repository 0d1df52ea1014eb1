"""What the calls of a unit of work did that the transaction they share does not say yet (`mqlite.store`, rule 5).

1. Messages that were put are inserted together, and available at once where it is MQCMIT that comes next. Nobody may
   see them before, so nobody misses them.
2. Messages that were got by their MsgId are hidden together, or deleted at once by MQCMIT. A call that finds one of
   them again has them hidden first.
3. The figures of a queue change once for all its puts and gets.

Whoever asks for more than the next available message has all this written first.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from mqlite import sql

MOST_BYTES = 4 * 1024 * 1024  # of message data


@dataclass(slots=True)
class Figures:
    """Of one queue: its depth as the store has it, puts and gets since then, and by how many it was deepest.

    Attributes: `taken` how many of the gets are still to be hidden.
    """

    depth: int
    puts: int = 0
    gets: int = 0
    taken: int = 0
    peak: int = 0


class Deferred:
    """Of one store.

    Attributes: `waiting` whether there is anything to write.
    """

    def __init__(self) -> None:
        self.waiting = False
        self._rows: list[tuple[Any, ...]] = []
        self._taken: set[int] = set()
        self._bytes = 0
        self._figures: dict[int, Figures] = {}

    def put(self, database: sqlite3.Connection, row: tuple[Any, ...], most: int) -> bool:
        """A message of a unit of work; False where it has to be put without delay.

        Parameters: `row` the values of `sql.PUT`; `most` messages that the queue takes.
        """
        size = self._bytes + len(row[-1])
        if size > MOST_BYTES:
            return False
        figures = self.figures(database, row[0])
        now = figures.puts - figures.gets + 1
        if figures.depth + now > most:
            return False
        self._bytes = size
        self._rows.append(row)
        figures.puts += 1
        figures.peak = max(figures.peak, now)
        self.waiting = True
        return True

    def got(self, figures: Figures, *, hide: int = 0) -> None:
        """A message of the queue of these figures was got.

        Parameters: `hide` the message's number, where it is still to be hidden.
        """
        figures.gets += 1
        if hide:
            self._taken.add(hide)
            figures.taken += 1
        self.waiting = True

    def has_taken(self, seq: int) -> bool:
        """Whether the message of that number is still to be hidden."""
        return seq in self._taken

    def figures(self, database: sqlite3.Connection, queue: int) -> Figures:
        """Those of the queue of that number."""
        figures = self._figures.get(queue)
        if figures is None:
            row = database.execute(sql.DEPTH, (queue,)).fetchone()
            figures = self._figures[queue] = Figures(row[0] if row else 0)
        return figures

    def write(self, database: sqlite3.Connection, owner: int, *, available: bool) -> None:
        """Write all of it; it is still known here.

        Parameters: `owner` the connection's number; `available` its unit of work ends with this transaction.
        """
        if self._rows:
            database.executemany(sql.PUT_AVAILABLE if available else sql.PUT, self._rows)
        if self._taken and available:
            database.executemany(sql.DELETE, [(seq,) for seq in self._taken])
        elif self._taken:
            database.executemany(sql.TAKE, [(owner, seq) for seq in self._taken])
        for queue, figures in self._figures.items():
            database.execute(sql.ADD_FIGURES, (figures.puts, figures.gets, figures.peak, queue))

    def changes(self) -> dict[int, tuple[int, int]]:
        """Queue number → messages to be inserted, messages to be hidden."""
        return {queue: (figures.puts, figures.taken) for queue, figures in self._figures.items()}

    def clear(self) -> None:
        """It has been written, or has not happened."""
        if self._figures:
            self.waiting = False
            self._rows, self._taken, self._bytes, self._figures = [], set(), 0, {}
