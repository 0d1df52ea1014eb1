"""Whose turn it is: a person who asks for much waits for himself, and delays nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi import HTTPException


@dataclass(slots=True)
class _Person:
    at_once: asyncio.Semaphore
    waiting: int = 0


@dataclass(slots=True, kw_only=True)
class Turns:
    """The turns of requests, so that no person takes all. Parameters: `at_once` requests of a person are at work at a
    time; a person may have `most_of_person` open, all people together `most`."""

    at_once: int
    most_of_person: int
    most: int
    _people: dict[str, _Person] = field(default_factory=dict)

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Wait for a person's turn. Raises `HTTPException` 429: the person has too many open, or all people have."""
        person = self._people.get(name) or _Person(asyncio.Semaphore(self.at_once))
        if person.waiting >= self.most_of_person:
            raise HTTPException(
                429,
                f"{person.waiting} of your requests have not been answered yet. Close some of their pages, then try "
                "again.",
            )
        if sum(one.waiting for one in self._people.values()) >= self.most:
            raise HTTPException(429, "Too many requests wait for an answer just now. Try again in a minute.")
        self._people[name] = person
        person.waiting += 1
        try:
            async with person.at_once:
                yield
        finally:
            person.waiting -= 1
            if not person.waiting:
                del self._people[name]
