"""Whether the suites that an estate names can look at anything: `mqops estate check`.

1. Without a queue manager only patterns are known. A suite whose patterns no queue of its workflow can fit is an error;
   of a pattern that some queue may fit, it is said that the estate does not know one.
2. With a queue manager (`--live`) each pattern is held against the queues that the workflow would look at. A suite that
   fits none of them is an error, as its critical expectations would never be met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from mqops.quality.queues import aliases_in, choose_queues
from mqops.quality.scope import with_bases
from mqops.quality.suite import Suite
from mqops.quality.suite_file import read_suite
from mqops.queue_names import OWN
from mqops.rules.pattern import text_match

if TYPE_CHECKING:
    from mqops.estate import EstateFile
    from mqops.mq.session import Session


def suites_that_fit_nothing(file: EstateFile) -> tuple[list[str], list[str]]:
    """Errors, and warnings, by the patterns alone (rule 1)."""
    errors, warnings = list[str](), list[str]()
    for name in file.estate.queue_managers:
        for index, looked_at, suite in _suites(file, name):
            unfit = [one for one in suite.queues if not any(_may_fit_both(one, other) for other in looked_at)]
            about = str(file.problem_of_suite(name, index, f"suite {suite.name}"))
            if len(unfit) == len(suite.queues):
                errors.append(
                    f"{about} looks at {_named(suite.queues)} only, and its workflow at {_named(looked_at)}: no queue "
                    "fits both, so the suite would look at no message; correct one of them"
                )
            elif unfit:
                warnings.append(f"{about}: its workflow looks at no queue that fits {_named(unfit)}")
            if known := [one for one in suite.queues if one not in unfit]:
                warnings.append(
                    f"{about}: whether the queue manager has a queue that fits {_named(known)} is not known here; "
                    "--live asks it"
                )
    return errors, warnings


def suites_without_a_queue(session: Session, file: EstateFile, name: str) -> tuple[list[str], list[str]]:
    """Errors, and warnings, by the queues that a queue manager has (rule 2). Raises `MQError`."""
    errors, warnings = list[str](), list[str]()
    for _index, looked_at, suite in _suites(file, name):
        choice = choose_queues(session, [one for one in looked_at if "*" in one])
        named = [one for one in looked_at if "*" not in one]  # that they are there is checked by itself
        queues = [*choice.depths, *choice.empty, *choice.inhibited, *named]
        (based,) = with_bases((suite,), aliases_in(session, (suite,)))
        fits = [any(text_match(one, queue) for queue in queues) for one in based.queues]
        unfit = [one for one, fit in zip(suite.queues, fits, strict=True) if not fit]
        if len(unfit) == len(suite.queues):
            errors.append(
                f"suite {suite.name} would look at no message: no queue that its workflow looks at fits "
                f"{_named(suite.queues)}; correct its queues, or define the queue"
            )
        elif unfit:
            warnings.append(f"suite {suite.name}: no queue that its workflow looks at fits {_named(unfit)}")
    return errors, warnings


def _suites(file: EstateFile, name: str) -> Iterator[tuple[int, tuple[str, ...], Suite]]:
    """The valid suites of a queue manager that are about some queues only: place in the list of the estate, the queues
    that their workflow looks at, the suite."""
    section = file.estate.queue_managers[name].snapshot_quality
    for index, relative in enumerate(section.suites if section else ()):
        suite, _problems = read_suite(file.suite(relative))
        if section and suite and suite.queues:
            yield index, section.queues, suite


def _may_fit_both(pattern: str, looked_at: str) -> bool:
    """Whether a name can fit a suite's pattern and one of the workflow, which looks at queues of the queue manager and
    of mqops only where the pattern begins so."""
    own = next((one for one in OWN if pattern.startswith(one)), None)
    return (own is None or looked_at.startswith(own)) and _meet(pattern, looked_at)


@cache
def _meet(one: str, other: str) -> bool:
    """Whether a text can fit two patterns with `*` and `?`."""
    if not one or not other:
        return not (one + other).strip("*")
    if one[0] == "*":
        return _meet(one[1:], other) or _meet(one, other[1:])
    if other[0] == "*":
        return _meet(one, other[1:]) or _meet(one[1:], other)
    return (one[0] == other[0] or "?" in (one[0], other[0])) and _meet(one[1:], other[1:])


def _named(patterns: Sequence[str]) -> str:
    return " or ".join(patterns)
