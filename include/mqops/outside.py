"""What other installed distributions bring by entry points: deciders, keywords of rules tables, expectations of suites.

1. An installed distribution is trusted code, as every module that Python imports is. Nothing is found by a name that a
   file, a message or a form has: the entry points of the environment are the whole list.
2. One is imported when it is used. What cannot be loaded is an error that names the distribution, and stops nothing
   else: `mqops stop` works beside a broken one.
3. What mqops has itself stays: a name that is taken, by mqops or by two distributions, is told and not used.

Source: Python Packaging User Guide, "Entry points specification".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from mqops.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Group(StrEnum):
    """The groups of entry points. The name of an entry point is the name of the decider, keyword or expectation."""

    DECIDERS = "mqops.deciders"
    KEYWORDS = "mqops.keywords"
    CHECKS = "mqops.checks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """One entry point, or several of one name.

    Parameters: `points` of the group `group` with the name `name`; `folder` of the estate that has it, "" for an
    installed distribution.
    """

    group: Group
    name: str
    points: tuple[EntryPoint, ...]
    folder: str = ""

    @property
    def distribution(self) -> str:
        """The distributions that bring it, with their versions; or the folder."""
        if self.folder:
            return self.folder
        return ", ".join(sorted({_distribution(point) for point in self.points}))

    def load(self, kind: type[T]) -> T:
        """Import it; a value of this type that has the name of its entry point.

        Raises:
            SettingsError: it cannot be imported, or is something else, or several distributions bring this name.
        """
        if len(self.points) > 1:
            raise self._error(f"is brought by {self.distribution}: uninstall all but one")
        try:
            found = self.points[0].load()
        except Exception as error:  # whatever an import raises
            raise self._error(f"cannot be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(found, kind):
            raise self._error(f"is a {type(found).__name__}, and must be a {kind.__name__}")
        if (name := getattr(found, "name", self.name)) != self.name:
            raise self._error(f"has another name, {name!r}")
        return found

    def refused(self, why: str) -> SettingsError:
        """The error for one that can be loaded and not be used. Parameters: `why`, behind "it"."""
        return self._error(why)

    def _error(self, why: str) -> SettingsError:
        value = self.points[0].value
        return SettingsError(f"{self.name} of {self.distribution} (entry point {self.group}, {value}) {why}")


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "a distribution without a name"


@cache
def brought(group: Group) -> Mapping[str, Outside]:
    """The entry points of a group by name, as they were when the process asked first. Nothing is imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - most processes ask for nothing of others

    found: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, {})[f"{_distribution(point)} {point.value}"] = point
    return {
        name: Outside(group=group, name=name, points=tuple(points.values())) for name, points in sorted(found.items())
    }


def not_taken(group: Group, own: Collection[str]) -> Mapping[str, Outside]:
    """Those of a group whose names mqops does not have itself. Parameters: `own` names of mqops."""
    return {name: one for name, one in brought(group).items() if name not in own}
