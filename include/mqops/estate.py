"""The estate (`include/estate.yaml`): which queue managers there are, how each is reached, which workflows it has.

Unknown keys are refused, and every error names file, line and field. It knows neither Airflow nor Spark; connections
are names that Airflow resolves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from mqops.errors import SettingsError
from mqops.estate_sections import Estate, RulesWorkflow
from mqops.lake_place import lake_named
from mqops.settings_file import Document, FieldPath, Problem, read


class EstateFile:
    """An estate and the file it stands in: resolves the paths that are relative to that file.

    Attributes:
        path: the estate file.
        estate: its content.
    """

    def __init__(self, path: Path, estate: Estate, document: Document) -> None:
        self.path = path
        self.estate = estate
        self._document = document

    def lake(self, environment: Mapping[str, str]) -> Path:
        """The lake's folder: MQOPS_LAKE where `environment` has it, else the estate's.

        Raises:
            SettingsError: MQOPS_LAKE is a URL.
        """
        return Path(lake_named(environment) or self.path.parent / self.estate.lake).resolve()

    def rules(self, relative: str) -> Path:
        """A rules table's file.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(relative, "rules file")

    def suite(self, relative: str) -> Path:
        """The file of a suite of expectations.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(relative, "suite")

    def _below(self, relative: str, what: str) -> Path:
        folder = self.path.parent.resolve()
        path = (folder / relative).resolve()
        if not path.is_relative_to(folder):
            raise SettingsError(f"{what} {relative} is not below {folder}")
        return path

    def problem_of_suite(self, queue_manager: str, index: int, message: str) -> Problem:
        """A problem of a suite that the quality workflow of a queue manager names, by its place in the list."""
        path: FieldPath = ("queue_managers", queue_manager, "snapshot_quality", "suites", str(index))
        return self._document.problem(path, message)

    def missing_files(self) -> Iterator[Problem]:
        """A problem for each file that the estate names and that is not there."""
        for name, queue_manager in self.estate.queue_managers.items():
            for workflow, settings in queue_manager.workflows(RulesWorkflow):
                if not self.rules(settings.rules).is_file():
                    path: FieldPath = ("queue_managers", name, workflow, "rules")
                    yield self._document.problem(path, f"there is no file {self.rules(settings.rules)}")
            quality = queue_manager.snapshot_quality
            for index, suite in enumerate(quality.suites if quality else ()):
                if not self.suite(suite).is_file():
                    yield self.problem_of_suite(name, index, f"there is no file {self.suite(suite)}")


def parse(text: str, *, source: str = "estate.yaml") -> tuple[Estate | None, Document]:
    """The estate in `text`, or None with every problem in the document.

    Args:
        text: YAML.
        source: the file's name, for error texts.
    """
    document = read(text, source=source)
    estate = document.check(Estate)
    return (estate if isinstance(estate, Estate) else None), document


def load(path: str | Path) -> EstateFile:
    """The estate that stands in `path`.

    Raises:
        SettingsError: the file cannot be read, or it has errors; the text holds one line `file:line: field: what` each.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"estate file {path} cannot be read: {error}") from error
    return _loaded(path, text)


@lru_cache(maxsize=8)
def _loaded(path: Path, text: str) -> EstateFile:
    """The same text is parsed once: each answer of a page asks for the estate, which nothing changes. Raises
    `SettingsError`."""
    estate, document = parse(text, source=str(path))
    if estate is None:
        raise SettingsError(*map(str, document.problems))
    return EstateFile(path, estate, document)


def as_plain(estate: Estate) -> dict[str, Any]:
    """The estate as JSON-like values, defaults filled in (`mqops estate check --json`)."""
    return estate.model_dump(mode="json")
