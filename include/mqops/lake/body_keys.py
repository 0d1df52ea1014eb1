"""The keys of message bodies at rest: where they are, and reading them. They encrypt the data key of each snapshot
(`mqops.lake.sealing`), never a body itself, so a new key leaves what is written as it is.

1. A queue manager has its own keys: a private JSON file, or the same text as the password of an Airflow connection. The
   newest one encrypts, each one decrypts.
2. LAKE/<queue manager>/bodies.json says where they are, and whether new snapshots are encrypted: so who reads a
   snapshot needs no estate file, and who writes one without the estate does not write it in clear by mistake.
3. A process that gets MQOPS_BODY_KEYS looks there first: a JSON object, queue manager → text of its keys. A Spark job
   gets it where the keys are in an Airflow connection. It stands in no argument, no configuration, no log.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mqops import formats
from mqops.errors import BodiesLocked, MqopsError, SettingsError
from mqops.formats import refuse_newer_body
from mqops.lake.files import lake_errors, make_folder, read_private, write_json
from mqops.lake.run import queue_manager_of
from mqops.lake.run_file import Checked
from mqops.type_adapter import refused

VARIABLE = "MQOPS_BODY_KEYS"
NOTE = "bodies.json"
KIND = "body_keys.json"
"""What `mqops.formats` calls a file of keys, whatever its name."""
SECRET_LENGTH = 32  # bytes: AES-256


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyKey:
    """One key. Parameters: `id` made of the secret, so that no other key has it."""

    id: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """Where a queue manager's keys are: one of the two.

    Parameters: `file` its absolute path; `connection` the id of an Airflow connection, whose password they are.
    """

    file: str = ""
    connection: str = ""

    def __str__(self) -> str:
        return self.file or f"the password of Airflow connection {self.connection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodiesNote:
    """LAKE/<queue manager>/bodies.json. Parameters: `encrypted` whether new snapshots are."""

    place: KeyPlace
    encrypted: bool


_NOTE = Checked(BodiesNote)


class _KeyEntry(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}\z")]
    secret: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
    made_at: Annotated[str, Field(max_length=64)] = ""


class _KeyFile(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="forbid", hide_input_in_errors=True)

    format: Annotated[int, Field(ge=1)] = formats.FIRST
    keys: Annotated[list[_KeyEntry], Field(min_length=1, max_length=1000)]


@dataclass(frozen=True, slots=True)
class BodyKeys:
    """The keys of a queue manager, the newest last."""

    keys: tuple[BodyKey, ...]

    @property
    def newest(self) -> BodyKey:
        """The key that encrypts."""
        return self.keys[-1]

    def find(self, key_id: str) -> BodyKey | None:
        """The key of that id; None where there is none."""
        return next((one for one in self.keys if one.id == key_id), None)


def note_of(lake_folder: Path) -> BodiesNote | None:
    """What LAKE/<queue manager>/bodies.json says; None where no body was ever encrypted. Raises `LakeError`."""
    path = lake_folder / NOTE
    return _NOTE.read(path) if path.exists() else None


def write_note(lake_folder: Path, wanted: BodiesNote) -> None:
    """Write LAKE/<queue manager>/bodies.json. Raises `LakeError`."""
    make_folder(lake_folder)
    write_json(lake_folder / NOTE, _NOTE.adapter.dump_python(wanted, mode="json"))


def keys_of(lake_folder: Path, place: KeyPlace | None = None) -> BodyKeys:
    """The keys of a queue manager's bodies.

    Parameters: `lake_folder` LAKE/<queue manager>; `place` where they are, None for where bodies.json says.

    Raises:
        BodiesLocked: this process does not get them; the text says from where.
        SettingsError: what is there is not private, or not keys. The text shows nothing of it.
    """
    name = queue_manager_of(lake_folder)
    if (given := _given(os.environ).get(name)) is not None:
        return parsed(given, f"{VARIABLE} of {name}")
    if place is None:
        found = note_of(lake_folder)
        if found is None:
            where = lake_folder / NOTE
            raise BodiesLocked(f"{where}, which says where it is, is not there: put it back from a copy of the lake")
        place = found.place
    return keys_in(place)


def keys_in(place: KeyPlace) -> BodyKeys:
    """The keys in a place. Raises as `keys_of`."""
    if place.connection:
        return _of_connection(place)
    path = Path(place.file)
    try:
        found = os.stat(path)
        return _of_file(path, (found.st_ino, found.st_mtime_ns, found.st_size, found.st_ctime_ns))  # chmod: the last
    except FileNotFoundError:
        raise BodiesLocked(f"The key file {path} is not there: put it back from a copy") from None
    except OSError as error:
        raise BodiesLocked(f"The key file {path} cannot be read: {error.strerror or error}") from None


@lru_cache(maxsize=8)
def _of_file(path: Path, _state: tuple[int, ...]) -> BodyKeys:
    """Read again when it changes. Raises `OSError`, `SettingsError`."""
    return parsed(read_private(path), f"The key file {path}")


def _of_connection(place: KeyPlace) -> BodyKeys:
    if not _passwords:
        raise BodiesLocked(
            f"The keys are {place}, which this process cannot ask for: give it the environment variable {VARIABLE}, "
            'a JSON object such as {"QM1": "<that password>"}'
        )
    try:
        text = _passwords[-1](place.connection)
    except MqopsError as error:
        raise BodiesLocked(f"The keys are {place}: {error}") from error
    return parsed(text, f"{place}".capitalize())


_passwords: list[Callable[[str], str]] = []


def ask_for_passwords(password: Callable[[str], str] | None) -> None:
    """Let this process read keys from Airflow connections.

    Parameters: `password` gives that of a connection by its id, and raises `MqopsError` where there is none; None to
    read none any more.
    """
    _passwords[:] = [password] if password else []


def parsed(text: str | bytes, what: str) -> BodyKeys:
    """The keys in a text. Parameters: `what` names it in errors.

    Raises:
        SettingsError: it is not keys. The text of the error shows nothing of it.
        NewerFormat: a newer version wrote it.
    """
    try:
        file = _KeyFile.model_validate_json(text)
    except ValidationError as error:
        refuse_newer_body(KIND, what, text.encode() if isinstance(text, str) else text)
        place, kind, _text = refused(error)
        place = place or "the whole"
        raise SettingsError(f"{what} is not keys as `mqops lake rekey` makes them: {place}: {kind}") from None
    formats.refuse_newer_number(KIND, what, file.format)
    keys = [BodyKey(id=one.id, secret=bytes.fromhex(one.secret)) for one in file.keys]
    changed = [one.id for one in keys if one.id != _id_of(one.secret)]
    if changed:
        raise SettingsError(
            f"{what} was changed: the secret of key {changed[0]} is another one. Restore it from a copy"
        )
    return BodyKeys(tuple(keys))


def _id_of(secret: bytes) -> str:
    return hashlib.sha256(b"mqops body key id\0" + secret).hexdigest()[:16]


def add_key(path: Path, now: str) -> str:
    """Add a key to a file, which is made where it is not there; gives the key's id. Parameters: `now` ISO 8601.

    Raises:
        SettingsError, LakeError: what is there is not private or not keys, or the file cannot be written.
    """
    earlier = _entries(path) if path.is_symlink() or path.exists() else []
    secret = secrets.token_bytes(SECRET_LENGTH)
    key_id = _id_of(secret)
    make_folder(path.parent)
    write_json(path, {"keys": [*earlier, {"id": key_id, "secret": secret.hex(), "made_at": now}]})
    return key_id


def drop_keys(path: Path, ids: Collection[str]) -> None:
    """Remove keys from a file. Raises as `add_key`."""
    write_json(path, {"keys": [one for one in _entries(path) if one["id"] not in ids]})


def _entries(path: Path) -> list[dict[str, str]]:
    keys_in(KeyPlace(file=str(path)))  # it is private, and valid
    with lake_errors(path):
        return list(json.loads(path.read_bytes())["keys"])


def _given(environment: Mapping[str, str]) -> Mapping[str, str]:
    text = environment.get(VARIABLE)
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise SettingsError(f"{VARIABLE} is not a JSON object, queue manager → text of its keys") from None
    return found
