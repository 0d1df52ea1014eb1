"""Searches, each in a process of its own that is ended when it takes too long and when the reader goes away.

1. PROCESSES search at once, of a person one: whoever asks for many waits for himself alone.
2. A search has SECONDS from its beginning, and the memory of `mqops.look.search_process`. What needs more is a matter
   of the command line, and the page says so with the command.
3. Who asks for what another one was answered within a second gets the same answer: the caller has checked his rights.
4. A process that has answered in time is kept for the next search: to start one takes half a second. One that has not
   is killed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from mqops.errors import MqopsError, SettingsError
from mqops.look.search_process import Answer, Search
from mqops.type_adapter import adapter_of
from mqops_airflow.connections.body_keys import passwords_for
from mqops_airflow.pages.shared import kept_for_a_moment
from mqops_airflow.pages.turns import Turns

PROCESSES = 3
MOST_OF_PERSON, MOST = 20, 100
SECONDS = 20.0
MOST_KEPT = 20
"""Answers that are kept at the same time."""
SEARCH, ANSWER = adapter_of(Search), adapter_of(Answer)


class TooSlow(MqopsError):
    """The search takes more time or memory than pages may use. Use `mqops message find`."""


class _Searching:
    """One search and the process that makes it."""

    def __init__(self, asked: Search) -> None:
        self.asked = asked
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._over = False

    def begin(self, process: subprocess.Popen[bytes]) -> bool:
        """Give the search its process. Returns whether somebody still waits for the answer."""
        with self._lock:
            self._process = None if self._over else process
            return not self._over

    def end(self) -> None:
        """Nobody waits any longer for the answer: the process, if the search has one, ends."""
        if process := self.answered():
            process.kill()

    def answered(self) -> subprocess.Popen[bytes] | None:
        """Take the process back, which goes on. Returns None where nobody waited for the answer any longer."""
        with self._lock:
            process, self._process, self._over = self._process, None, True
            return process


class Searches:
    """The processes that search."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(PROCESSES, thread_name_prefix="mqops searches")
        self._idle: list[subprocess.Popen[bytes]] = []
        self._turns = Turns(at_once=1, most_of_person=MOST_OF_PERSON, most=MOST)
        self._answered: MutableMapping[bytes, Answer] = kept_for_a_moment(MOST_KEPT)

    async def found(self, person: str, asked: Search) -> Answer:
        """The messages that fit. Parameters: `person` who asks, and may see what is found; `asked` without passwords.

        Raises:
            TooSlow: the search takes too much time or memory.
            HTTPException: 429, the person has too many searches open, or all people have.
            SettingsError: the search is not valid, or the snapshot cannot be read.
        """
        search, key = _Searching(asked), SEARCH.dump_json(asked)
        try:
            async with self._turns.turn(person):
                if (known := self._answered.get(key)) is not None:
                    return known
                answer = await asyncio.wrap_future(self._threads.submit(self._run, search))
        finally:
            search.end()
        if answer.problem:
            raise SettingsError(answer.problem)
        if answer.found is None:
            raise TooSlow
        self._answered[key] = answer
        return answer

    def _run(self, search: _Searching) -> Answer:
        process = self._ready()
        try:
            if not search.begin(process):
                self._idle.append(process)
                return Answer()
            assert process.stdin
            assert process.stdout
            asked = replace(search.asked, passwords=passwords_for(search.asked.run))
            process.stdin.write(SEARCH.dump_json(asked) + b"\n")
            process.stdin.flush()
            over = threading.Timer(SECONDS, search.end)
            over.start()
            try:
                reply = ANSWER.validate_json(process.stdout.readline())
            finally:
                over.cancel()
        except (OSError, ValueError):  # it was killed, or its memory was too small
            process.kill()
            process.wait()
            return Answer()
        if search.answered():
            self._idle.append(process)
        return reply

    def _ready(self) -> subprocess.Popen[bytes]:
        with suppress(IndexError):  # another search may take the last one just now
            while (process := self._idle.pop()).poll() is not None:
                pass
            return process
        return _started()


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "mqops.look.search_process"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert process.stdout
    process.stdout.readline()  # it is there
    return process
