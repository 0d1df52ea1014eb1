"""The keys of a queue manager's ledger: LAKE/<queue manager>/ledger/keys.json, private, made at first use.

Where the environment variable MQOPS_LEDGER_KEYS names a folder, the file is FOLDER/<queue manager>.json: then the key
need not lie where the ledger lies. Every process that acts reads the file itself, also in a Spark executor, so a key
stands in no argument, no configuration, no pickled task and no log.

LAKE/<queue manager>/ledger/signed_by.json names the newest key and its file, so that a process that looks for the key
in another place, or has an old copy of the file, stops. Otherwise it would sign with a second key, or take what the
first one signed for forged.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mqops.errors import LakeError, SettingsError
from mqops.formats import refuse_newer_body
from mqops.lake.files import (
    FILE_MODE,
    file_state,
    lake_errors,
    make_folder,
    read_private,
    sync,
    write_bytes,
    write_json,
)
from mqops.lake.run_file import Checked
from mqops.ledger.core.seal import Key, Keys
from mqops.type_adapter import refused

VARIABLE = "MQOPS_LEDGER_KEYS"
SECRET_LENGTH = 32  # bytes, as long as the hash
NOTE = "signed_by.json"


class _KeyEntry(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}\z")]
    secret: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
    made_at: Annotated[str, Field(max_length=64)] = ""
    revoked: bool = False


class _KeyFile(BaseModel):
    model_config = ConfigDict(defer_build=True, strict=True, extra="forbid", hide_input_in_errors=True)

    v: Annotated[int, Field(ge=1, le=1)]
    signed_from: Annotated[int, Field(ge=1)]
    keys: Annotated[list[_KeyEntry], Field(min_length=1, max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The newest key, and the file that it is in."""

    key: str
    path: str


_NOTED = Checked(Noted)


class KeyRing:
    """`mqops.ledger.core.seal.Seal` in a file. Read when first needed, and again when an unknown key is asked for.

    Parameters: `lake_folder` LAKE/<queue manager>.
    """

    def __init__(self, lake_folder: Path) -> None:
        folder = os.environ.get(VARIABLE)
        self.lake_folder = lake_folder
        name = f"{lake_folder.name}.json"
        self.path = Path(folder) / name if folder else lake_folder / "ledger" / "keys.json"
        self._note = lake_folder / "ledger" / NOTE
        self._keys: Keys | None = None
        self._version: tuple[int, ...] = ()
        self._last_noted: Noted | None = None
        self._note_state: tuple[int, ...] = ()

    def newest(self) -> Key:
        """The key that signs. Raises `SettingsError` where there is none, or the file is not private or not valid."""
        keys = self._read()
        if keys is None or keys.newest().revoked:
            raise SettingsError(
                f"There is no key to sign with in {self.path}: if it was removed, put it back from a copy; if the lake "
                f"is not on this machine, mount it; `mqops ledger rekey` makes a new key"
            )
        return keys.newest()

    def find(self, key_id: str) -> Key | None:
        """The key of that id, None where the file has none. Raises `SettingsError` as `newest`."""
        found = self._keys.find(key_id) if self._keys else None
        if found is None and (keys := self._read()):
            found = keys.find(key_id)
        return found

    @property
    def signed_from(self) -> int:
        """Number of the first line of the ledger that has to be signed; 0 where there is no key. Raises as `newest`."""
        keys = self._read()
        return keys.signed_from if keys else 0

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def make(self, signed_from: int, now: str) -> None:
        """Make the file with its first key; the ledger's lock is held. A file that is there stays.

        Parameters: `signed_from` number of the first line of the ledger that has to be signed.

        Raises:
            LakeError: it cannot be written.
            SettingsError: the file that is there is not private or not valid.
        """
        make_folder(self.path.parent)
        content = {"v": 1, "signed_from": signed_from, "keys": [_new_key(now)]}
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        with lake_errors(self.path):
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, FILE_MODE)
            try:
                with open(descriptor, "w", encoding="utf-8") as stream:
                    json.dump(content, stream, indent=2)
                    stream.flush()
                    os.fsync(stream.fileno())
                _link(temporary, self.path)
            finally:
                temporary.unlink()
        self.note()

    def note(self) -> None:
        """Note which key is the newest; the ledger's lock is held. Raises `LakeError`, `SettingsError`."""
        make_folder(self._note.parent)
        write_json(self._note, {"key": self._load().keys[-1].id, "path": str(self.path)})

    @property
    def is_noted(self) -> bool:
        """Whether it is noted which key signs."""
        return self._note.exists()

    def check(self, key_id: str = "") -> None:
        """Refuse a key file that is not the one that signed; where nothing is noted there is nothing to check.

        Parameters: `key_id` the key that it must have besides the one that is noted; "" for none.

        Raises:
            SettingsError: it is not there, or lacks the key; the text says what to do.
        """
        found = self._read()
        noted = self._noted()
        for needed in filter(None, (noted.key if noted else "", key_id)):
            if found is None or found.find(needed) is None:
                raise self._wrong(needed, noted)

    def _noted(self) -> Noted | None:
        """What is noted by now; the file is read only when it is another one."""
        if (state := file_state(self._note)) != self._note_state:
            self._last_noted, self._note_state = _NOTED.read(self._note) if state else None, state
        return self._last_noted

    def _wrong(self, key_id: str, noted: Noted | None) -> SettingsError:
        elsewhere = noted is not None and noted.key == key_id and noted.path != str(self.path)
        where = f"; it was in {noted.path}" if noted and elsewhere else ""
        if not self.exists():
            what = f"the key file {self.path} is gone"
        else:
            what = f"the key file {self.path} does not have it"
        return SettingsError(
            f"The ledger in {self._note.parent} is signed with key {key_id}, and {what}{where}: put it back from a "
            f"copy, or give every process the same {VARIABLE}; nothing is signed with a second key, because what the "
            "first one signed would then look forged. `mqops ledger rekey` makes a new one where there is no copy"
        )

    def add(self, now: str, *, revoke: bool = False) -> str:
        """Add a key, which signs from now on; the ledger's lock is held. Gives its id.

        Parameters: `revoke` the keys before it verify no messages any more, only lines of the ledger.

        Raises:
            SettingsError, LakeError: the file is not there, not valid, or cannot be written.
        """
        file = self._load()
        earlier = [entry.model_dump() | ({"revoked": True} if revoke else {}) for entry in file.keys]
        key = _new_key(now)
        content = json.dumps(file.model_dump() | {"keys": [*earlier, key]}, indent=2)
        write_bytes(self.path, content.encode() + b"\n")
        self.note()
        self._keys = None
        return key["id"]

    def _read(self) -> Keys | None:
        """The keys as they are now; the file is read only when it changed."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            self._keys, self._version = None, ()
            return None
        except OSError as error:
            raise LakeError(f"The key file {self.path} cannot be read: {error.strerror or error}") from error
        version = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_ctime_ns)  # chmod changes the last one
        if self._keys is None or version != self._version:
            file = self._load()
            self._keys = Keys(
                [
                    Key(id=key.id, secret=bytes.fromhex(key.secret), made_at=key.made_at, revoked=key.revoked)
                    for key in file.keys
                ],
                signed_from=file.signed_from,
            )
            self._version = version
            noted = self._noted()
            if noted and self._keys.find(noted.key) is None:
                self._keys = None
                raise self._wrong(noted.key, noted)
        return self._keys

    def _load(self) -> _KeyFile:
        """The content of the file. Raises `SettingsError`, whose text shows nothing of it."""
        with lake_errors(self.path):
            content = read_private(self.path)
        try:
            return _KeyFile.model_validate_json(content)
        except ValidationError as error:
            refuse_newer_body("keys.json", f"The key file {self.path}", content)
            place, kind, _text = refused(error)
            raise SettingsError(f"The key file {self.path} is not valid: {place or 'file'}: {kind}") from None


def _new_key(now: str) -> dict[str, str]:
    secret = secrets.token_bytes(SECRET_LENGTH)
    key_id = hashlib.sha256(b"mqops key id\0" + secret).hexdigest()[:16]
    return {"id": key_id, "secret": secret.hex(), "made_at": now}


def _link(temporary: Path, path: Path) -> None:
    """Give the finished file its name, unless another process was first."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    sync(path.parent)
