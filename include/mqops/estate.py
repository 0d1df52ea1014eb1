"""The estate (`include/estate.yaml`): which queue managers there are, how each is reached, which workflows it has.

Unknown keys are refused, and every error names file, line and field. An error of one queue manager or section takes
away no other (`mqops.estate_parts`). It knows neither Airflow nor Spark; connections are names that Airflow resolves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from mqops.errors import NewerFormat, SettingsError
from mqops.estate_parts import MANAGERS, Usable, may_ask_for_four_eyes, part_of, usable
from mqops.estate_sections import Estate, QueueManager, four_eyes
from mqops.estate_values import MQ_NAME
from mqops.estate_workflows import Gate, RulesWorkflow
from mqops.formats import KEY, refuse_newer
from mqops.given_file import text_of, why_unread
from mqops.lake_place import lake_named
from mqops.settings_file import Document, FieldPath, Problem, read


class EstateFile:
    """An estate and the file it stands in: resolves the paths that are relative to that file.

    Attributes:
        path: the estate file.
        estate: its content, as far as it can be used.
        problems: what is wrong with the file, in the words of `mqops estate check`; empty where all of it is valid.
        places: where each of them is, as far as it is known; () is the whole file.
        left_out: place → content of each part that has an error, and so is not in `estate`.
        value: `estate` as the plain values of the file.
        outdated: the file cannot be used, and `estate` is what could be used when it was read last. Then it is for
            pages and the kill switch only, and gives nobody a right.
    """

    def __init__(
        self,
        path: Path,
        estate: Estate,
        document: Document,
        *,
        left_out: Mapping[FieldPath, Any] | None = None,
        value: Mapping[str, Any] | None = None,
        problems: Sequence[str] = (),
        places: Sequence[FieldPath] = (),
        outdated: bool = False,
    ) -> None:
        self.path = path
        self.estate = estate
        self.left_out = left_out or {}
        self.value = value or {}
        self.problems = tuple(problems)
        self.places = tuple(places) if len(places) == len(problems) else ((),) * len(problems)
        self.outdated = outdated
        self._document = document

    @property
    def named(self) -> list[str]:
        """The names of all queue managers of the file, those included that are left out, as far as they are names."""
        left_out = {part[1] for part in self.left_out if len(part) == 2 and MQ_NAME.fullmatch(part[1])}
        return sorted(left_out.union(self.estate.queue_managers))

    def queue_manager(self, name: str) -> QueueManager | None:
        """The settings of a queue manager, None where the file has none of this name.

        Raises:
            SettingsError: the file has it, and it is not valid.
        """
        self.refuse_left_out((MANAGERS, name))
        return self.estate.queue_managers.get(name)

    def whole(self, name: str) -> QueueManager | None:
        """As `queue_manager`; also a section of it that is not valid raises `SettingsError`."""
        if any(part[:2] == (MANAGERS, name) for part in self.left_out):
            raise SettingsError(*self.problems)
        return self.estate.queue_managers.get(name)

    def gate_of(self, queue_manager: str, workflow: str) -> Gate | None:
        """The gate of a workflow, None where it has none.

        Raises:
            SettingsError: a section that can say so is not valid, so that nobody knows whether it has one.
        """
        for section in (workflow, "gate"):
            self.refuse_left_out((MANAGERS, queue_manager, section))
        settings = self.queue_manager(queue_manager)
        return settings.gate_of(workflow) if settings else None

    def refuse_left_out(self, place: FieldPath) -> None:
        """Raises `SettingsError`, with the errors of the file, where what stands at this place is left out."""
        if part_of(place, self.left_out):
            raise SettingsError(*self.problems)

    def four_eyes(self, name: str = "") -> bool:
        """Whether a workflow that moves messages on a queue manager, "" for any of the file, asks for another person's
        approval. A part that is left out asks, too, unless it is clear that it does not."""
        managers = self.estate.queue_managers
        chosen = [managers[name]] if name in managers else [] if name else list(managers.values())
        left_out = [value for part, value in self.left_out.items() if not name or part[:2] == (MANAGERS, name)]
        return four_eyes(chosen) or any(map(may_ask_for_four_eyes, left_out))

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

    def key_file(self, named: str) -> Path:
        """The file of keys that `bodies` of a queue manager names."""
        return (self.path.parent / named).resolve()

    def suite(self, relative: str) -> Path:
        """The file of a suite of expectations.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(relative, "suite")

    @property
    def calendar(self) -> Path | None:
        """The calendar's file, None where the estate names none.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(self.estate.calendar, "calendar") if self.estate.calendar else None

    @property
    def checks(self) -> Path | None:
        """The folder of expectations of one's own, None where the estate names none.

        Raises:
            SettingsError: the path leads out of the estate file's folder.
        """
        return self._below(self.estate.checks, "checks") if self.estate.checks else None

    def _below(self, relative: str, what: str) -> Path:
        """The file by its name, not where a link leads now: a ConfigMap's folders go when its content is replaced."""
        folder = self.path.parent.absolute()
        if not (folder / relative).resolve().is_relative_to(folder.resolve()):
            raise SettingsError(f"{what} {relative} is not below {folder.resolve()}")
        return folder / relative

    def problem_of_gate(self, queue_manager: str, place: Sequence[str], message: str, *field: str) -> Problem:
        """A problem of a gate. Parameters: `place` as `QueueManager.gates` gives it; `field` of the gate."""
        return self._document.problem(("queue_managers", queue_manager, *place, *field), message)

    def problem_of_suite(self, queue_manager: str, index: int, message: str) -> Problem:
        """A problem of a suite that the quality workflow of a queue manager names, by its place in the list."""
        path: FieldPath = ("queue_managers", queue_manager, "snapshot_quality", "suites", str(index))
        return self._document.problem(path, message)

    def missing_files(self) -> Iterator[Problem]:
        """A problem for each file that the estate names and that is not there."""
        if self.calendar and not self.calendar.is_file():
            yield self._document.problem(("calendar",), f"there is no file {self.calendar}")
        for name, queue_manager in self.estate.queue_managers.items():
            for workflow, settings in queue_manager.workflows(RulesWorkflow):
                if not self.rules(settings.rules).is_file():
                    path: FieldPath = ("queue_managers", name, workflow, "rules")
                    yield self._document.problem(path, f"there is no file {self.rules(settings.rules)}")
            yield from self.missing_suites_of_gates(name)
            quality = queue_manager.snapshot_quality
            for index, suite in enumerate(quality.suites if quality else ()):
                if not self.suite(suite).is_file():
                    yield self.problem_of_suite(name, index, f"there is no file {self.suite(suite)}")

    def missing_suites_of_gates(self, queue_manager: str) -> Iterator[Problem]:
        """A problem for each suite that a gate of a queue manager names and that is not there."""
        for place, gate in self.estate.queue_managers[queue_manager].gates():
            for index, suite in enumerate(gate.suites):
                if not self.suite(suite).is_file():
                    wrong = f"there is no file {self.suite(suite)}"
                    yield self.problem_of_gate(queue_manager, place, wrong, "suites", str(index))


def parse(text: str, *, source: str = "estate.yaml") -> tuple[Estate | None, Document]:
    """The estate in `text`, or None with every problem in the document.

    Args:
        text: YAML.
        source: the file's name, for error texts.
    """
    document = read(text, source=source)
    try:
        refuse_newer("estate.yaml", source, document.value)
    except NewerFormat as error:
        return None, Document(source=source, problems=[document.problem((KEY,), str(error))])
    return document.check(Estate), document


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> str:
    """What people are told of an estate file that cannot be read, and what to do where there is none."""
    told = f"estate file {path} cannot be read: {why_unread(error)}"
    if isinstance(error, FileNotFoundError):
        told += ". Name the one that you have (MQOPS_ESTATE is the default), or begin with "
        told += "`mqops estate example FOLDER`"
    return told


def load(path: str | Path) -> EstateFile:
    """The estate that stands in `path`, all of it.

    Raises:
        SettingsError: the file cannot be read, or it has errors; the text holds one line `file:line: field: what` each.
    """
    file = load_usable(path)
    if file.problems:
        raise SettingsError(*file.problems)
    return file


def load_usable(path: str | Path) -> EstateFile:
    """What can be used of the estate that stands in `path`; `problems` tells what is wrong with the rest.

    Raises:
        SettingsError: nothing of it can be used; the text is that of `load`.
    """
    path = Path(path)
    try:
        text = text_of(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(unreadable(path, error)) from error
    return _loaded(path, text)


@lru_cache(maxsize=8)
def _loaded(path: Path, text: str) -> EstateFile:
    """The same text is parsed once: each answer of a page asks for the estate, which nothing changes. Raises
    `SettingsError`."""
    estate, document = parse(text, source=str(path))
    problems, places = list(map(str, document.problems)), [one.path for one in document.problems]
    found = usable(document) if estate is None else Usable(estate=estate, value=document.value, left_out={})
    if found is None:
        raise SettingsError(*problems)
    left_out, value = found.left_out, found.value
    return EstateFile(path, found.estate, document, left_out=left_out, value=value, problems=problems, places=places)


def as_plain(estate: Estate) -> dict[str, object]:
    """The estate as JSON-like values, defaults filled in (`mqops estate check --json`)."""
    return estate.model_dump(mode="json")
