"""A JSON file of a run's folder with the type of what it holds. Each room declares its own beside the type."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import ValidationError

from mqops.errors import LakeError
from mqops.lake.files import json_of, lake_errors, read_json, refuse_newer, sync, write_json
from mqops.lake.run import RunFolder
from mqops.type_adapter import adapter_of, refused

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


class Checked(Generic[T]):
    """A type that JSON values are read into.

    Parameters: `kind` a dataclass, or another type that pydantic knows. Keys that it does not have are passed over, and
    what a file of an earlier version does not have yet gets its default.
    """

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind

    @property
    def adapter(self) -> TypeAdapter[T]:
        """Made at its first use: most commands read few files."""
        return adapter_of(self._kind)

    def of(self, value: object, path: Path) -> T:
        """What a JSON value says. Parameters: `path` of the file that has it.

        Raises:
            LakeError: it does not fit; the text names the file and the field, and says what to do.
        """
        try:
            return self.adapter.validate_python(value)
        except ValidationError as error:
            place, _kind, text = refused(error)
            raise LakeError(
                f"{path} is not what mqops wrote: {place or 'the file'}: {text}. Restore it from a copy of the lake; "
                "no message was lost"
            ) from error

    def of_line(self, line: bytes, path: Path) -> T | None:
        """What a line of a file says; None where it is no JSON, or does not fit."""
        with suppress(LakeError):
            return self.of(json_of(line, path), path)
        return None

    def read(self, path: Path) -> T:
        """What a JSON file says. Raises `LakeError`: as `of`, or it is missing or not JSON, or of a newer version."""
        with lake_errors(path):
            content = path.read_bytes()
        refuse_newer(path, content)
        with suppress(ValidationError):
            return self.adapter.validate_json(content)  # half the time, and what is not asked for is not made
        return self.of(read_json(path), path)  # the words for what is wrong


class RunFile(Generic[T]):
    """A JSON file of every run of a kind.

    Parameters: `name` in the run's folder; `kind` as for `Checked`; `plain` gives the JSON object of a value, by
    default its fields in their order.
    """

    def __init__(self, name: str, kind: type[T], plain: Callable[[T], object] | None = None) -> None:
        self.name = name
        self._checked = Checked(kind)
        self._plain: Callable[[T], Any] = plain or (lambda value: self._checked.adapter.dump_python(value, mode="json"))

    def path(self, run: RunFolder) -> Path:
        """The file in a run's folder."""
        return run.path / self.name

    def exists(self, run: RunFolder) -> bool:
        """Whether the run has it."""
        return self.path(run).exists()

    def read(self, run: RunFolder) -> T:
        """What it says.

        Raises:
            LakeError: it is missing, not JSON, or not what mqops wrote.
        """
        return self._checked.read(self.path(run))

    def find(self, run: RunFolder) -> T | None:
        """What it says; None where the run does not have it. Raises `LakeError` as `read`."""
        return self.read(run) if self.exists(run) else None

    def write(self, run: RunFolder, value: T) -> None:
        """Write it in one step. Raises `LakeError`: it cannot be written; the old one stands."""
        write_json(self.path(run), self._plain(value))

    def remove(self, run: RunFolder) -> None:
        """Remove it, where the run has it. Raises `LakeError`."""
        with lake_errors(self.path(run)):
            self.path(run).unlink(missing_ok=True)
            sync(run.path)
