"""SIGTERM and SIGINT (Ctrl-C) as a wish to end: behind the unit of work under way, with everything in its place."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from mqops.cli.outcome import show_text
from mqops.cli.passes import this_user
from mqops.clock import utc_now
from mqops.errors import LakeError
from mqops.lake.run import RunFolder
from mqops.lake.stop import Stop, stop

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """While a person is asked: a signal ends the command at once (`KeyboardInterrupt`), also one that `Ending` would
    wait with. Nothing is under way then, and an answer may never come."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Ending:
    """`mqops.deciders.handler.Ending` by signals, while it is entered. A second signal ends the process at once.

    Attributes: `asked` the signal's name, "" while none came.
    """

    def __init__(self) -> None:
        self.asked = ""
        self._event = threading.Event()
        self._run: RunFolder | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Ending:
        self._before = {number: signal.signal(number, self._came) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def sleep(self, seconds: float) -> None:
        """Wait so long, less where a signal comes."""
        self._event.wait(seconds)

    def stops(self, run: RunFolder) -> None:
        """A signal stops this run: its act looks for the stop before each unit of work."""
        self._run = run
        self._stop_run()

    def _came(self, number: int, _frame: FrameType | None) -> None:
        self.asked = signal.Signals(number).name
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_DFL)
        self._event.set()
        self._stop_run()

    def _stop_run(self) -> None:
        if not self.asked or self._run is None:
            return
        try:
            stop(self._run.path, Stop(by=this_user(), at=utc_now(), why=self.asked))
        except LakeError as error:  # it may come in the middle of a call to the queue manager: nothing is raised
            show_text(f"mqops: {error}", err=True)
