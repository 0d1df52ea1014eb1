"""One Spark job as a process of a task: its output goes into the task's log, and it ends when the task ends."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from mqops.printable import printable
from mqops.spark_private import UMASK

KEPT_LINES = 100  # of the job's output; its error is the last of them


class JobProcess:
    """Runs a command as the job's process.

    Parameters: `log` gets its output, line by line.

    Attributes:
        lines: the end of the output.
    """

    def __init__(self, log: Any) -> None:
        self.log = log
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._process: subprocess.Popen[str] | None = None

    def run_command(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        said: str,
        preexec_fn: Callable[[], None] | None = None,
        pass_fds: Collection[int] = (),
    ) -> int:
        """Run it to its end; returns its exit code.

        Parameters: `said` is logged first, so it has no secret. `preexec_fn` is called in the new process, which
        inherits the files `pass_fds`.

        Raises:
            OSError: the program is not there, or cannot be started.
        """
        self._process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            umask=UMASK,
            preexec_fn=preexec_fn,  # noqa: PLW1509 - it only calls prctl
            pass_fds=tuple(pass_fds),
        )
        self.log.info("%s", printable(said))
        with self._process as process:
            for line in process.stdout or ():
                self.lines.append(line.rstrip("\n"))
                self.log.info("%s", printable(self.lines[-1]))
        return process.returncode

    def kill(self) -> None:
        """End the process, where it runs."""
        if self._process is not None:
            self._process.kill()
