"""New keys for the bodies of a queue manager (`mqops lake rekey`). No Parquet file is written anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mqops.clock import utc_now
from mqops.errors import SettingsError
from mqops.lake.body_keys import KeyPlace, add_key, drop_keys, keys_in, keys_of, note_of
from mqops.lake.run import RunFolder, queue_manager_of, run_folders
from mqops.lake.sealing import DATA_KEY, encrypt_anew
from mqops.observe.sealed import noted_place


@dataclass(frozen=True, slots=True, kw_only=True)
class Rekeyed:
    """What was done. Parameters: `key` id of the newest key; `keys` where the keys are; `snapshots` whose data keys it
    encrypts now and did not before; `forgotten` ids of the keys that were removed."""

    queue_manager: str
    key: str
    keys: str
    snapshots: int = 0
    forgotten: tuple[str, ...] = ()


def new_key(lake_folder: Path, file: Path | None = None) -> Rekeyed:
    """Make a new key, which encrypts from now on.

    Parameters: `lake_folder` LAKE/<queue manager>; `file` that it is added to, None for the one that the estate names.

    Raises:
        SettingsError: no file is named, or what it holds is not keys.
        LakeError: it cannot be written.
    """
    name = queue_manager_of(lake_folder)
    place = KeyPlace(file=str(file.resolve())) if file else _place(lake_folder)
    if not place.file:
        raise SettingsError(
            f"The keys of {name} are {place}, which mqops does not change: write that text into a private file, make a "
            "key in it with --keys FILE, and put the file's text into the connection"
        )
    return Rekeyed(queue_manager=name, key=add_key(Path(place.file), utc_now()), keys=place.file)


def rekey_snapshots(lake_folder: Path, *, forget: bool) -> Rekeyed:
    """Encrypt the data keys of all snapshots by the newest key.

    Parameters: `lake_folder` LAKE/<queue manager>; `forget` removes the keys before it from their file.

    Raises:
        BodiesLocked, SettingsError, LakeError: a data key cannot be decrypted. Others were done; no key was removed.
    """
    name, place = queue_manager_of(lake_folder), _place(lake_folder)
    if forget and not place.file:
        raise SettingsError(f"The keys of {name} are {place}: remove the earlier ones there, without --forget here")
    keys = keys_in(place) if forget else keys_of(lake_folder, place)
    runs = [RunFolder(lake_folder / "runs" / run) for run, _changed in run_folders(lake_folder)]
    done = sum(encrypt_anew(run, keys) for run in runs if DATA_KEY.exists(run))
    earlier = tuple(one.id for one in keys.keys[:-1]) if forget else ()
    if earlier:
        drop_keys(Path(place.file), earlier)
    return Rekeyed(queue_manager=name, key=keys.newest.id, keys=str(place), snapshots=done, forgotten=earlier)


def _place(lake_folder: Path) -> KeyPlace:
    name = queue_manager_of(lake_folder)
    place = noted_place(lake_folder, name)
    if place is None and (noted := note_of(lake_folder)):
        place = noted.place
    if place is None:
        raise SettingsError(
            f"The estate does not say that bodies of {name} are encrypted: give it `bodies` with `keys`, a file "
            "outside the lake, or name the file with --keys"
        )
    return place
