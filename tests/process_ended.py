"""Whether a process has ended, asked while it may just be ending: psutil itself raises then."""

from __future__ import annotations

import psutil


def ended(process: psutil.Process) -> bool:
    """Whether it is gone, or its parent has not noted yet that it has ended."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def ended_by_number(number: int) -> bool:
    """The same of a process that nobody has looked at yet."""
    try:
        return ended(psutil.Process(number))
    except psutil.NoSuchProcess:
        return True
