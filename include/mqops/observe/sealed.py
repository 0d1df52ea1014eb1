"""Writing a snapshot, encrypted where the estate says so: every snapshot of the lake is written by way of this module.

Where the estate has no entry for the queue manager, or there is no estate, the last one that had it counts
(LAKE/<queue manager>/bodies.json): a command line that does not find the estate writes no body in clear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from mqops.command import command
from mqops.errors import BodiesLocked, SettingsError
from mqops.lake.body_keys import BodiesNote, KeyPlace, keys_of, note_of, write_note
from mqops.lake.parquet import write_parquet
from mqops.lake.run import RunFolder
from mqops.lake.sealing import Sealing, new_sealing
from mqops.observe.arrow import SEALED, SNAPSHOT
from mqops.observe.core.mask import SHAPE_OF, TextRow, shape
from mqops.storage import estate_here

_PLACE = re.compile(r"\A[A-Za-z0-9]++(\.[A-Za-z0-9]++)? at offset [0-9]++")
"""The beginning of an error of a structure: which field, and where."""


def key_place(lake_folder: Path, queue_manager: str) -> KeyPlace | None:
    """Where the keys are by which new snapshots of a queue manager are encrypted; None where they are not.

    Raises:
        SettingsError: the estate is not valid, or puts the keys into the lake.
        LakeError: LAKE/<queue manager>/bodies.json cannot be read.
    """
    file = estate_here()
    found = file.queue_manager(queue_manager) if file else None
    if file is None or found is None:
        noted = note_of(lake_folder)
        return noted.place if noted and noted.encrypted else None
    if found.bodies is None:
        return None
    keys, connection = found.bodies.keys, found.bodies.connection
    place = KeyPlace(file=str(file.key_file(keys)) if keys else "", connection=connection or "")
    if place.file and Path(place.file).is_relative_to(lake_folder.parent.resolve()):
        raise SettingsError(
            f"bodies.keys of {queue_manager} in {file.path} is in the lake: a copy of the lake would have the keys "
            "with what they protect. Name a file elsewhere"
        )
    return place


def noted_place(lake_folder: Path, queue_manager: str) -> KeyPlace | None:
    """As `key_place`; what counts by now is noted in the lake, for who reads. The note is read once: each process that
    writes it writes what the estate says. Raises as `key_place`."""
    place, noted = key_place(lake_folder, queue_manager), note_of(lake_folder)
    counts = BodiesNote(place=place, encrypted=True) if place else noted and replace(noted, encrypted=False)
    if counts and counts != noted:
        write_note(lake_folder, counts)
    return place


def sealing_for(run: RunFolder) -> Sealing | None:
    """What encrypts the snapshot of a run that is to be written; None where it is written in clear.

    Raises:
        BodiesLocked: this process does not get the keys.
        SettingsError, LakeError: as `key_place`, or what is in the place of the keys is not keys.
    """
    name = run.queue_manager
    place = noted_place(run.lake_folder, name)
    if place is None:
        return None
    try:
        keys = keys_of(run.lake_folder, place)
        return new_sealing(run, keys)
    except BodiesLocked as error:
        make = command("mqops", "lake", "rekey", name)
        raise BodiesLocked(
            f"The bodies of messages of {name} are encrypted, and this process does not get its keys. {error}. Nothing "
            f"was copied, and nothing is written in clear. `{make}` makes the first key"
        ) from error


def write_snapshot(run: RunFolder, batches: Iterable[pa.RecordBatch]) -> None:
    """Write the one file of a run's snapshot, without Spark. The caller makes it durable.

    Parameters: `batches` of `SNAPSHOT`.

    Raises:
        BodiesLocked, SettingsError, LakeError: as `sealing_for`, or the disk refused.
    """
    write_sealed(run, sealing_for(run), batches)


def write_sealed(run: RunFolder, sealing: Sealing | None, batches: Iterable[pa.RecordBatch]) -> None:
    """As `write_snapshot`, for a step that has asked for it. Parameters: `sealing` what `sealing_for` gave."""
    schema, rows = (SNAPSHOT, batches) if sealing is None else (SEALED, sealed(sealing, batches))
    write_parquet(run.snapshot, schema, rows)


def sealed(sealing: Sealing, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows as an encrypted file has them: `dlh_error` says where the MQDLH is at fault, and not what is there
    instead, which is the beginning of the body."""
    for given in batches:
        number = given.schema.get_field_index("dlh_error")
        batch = given.set_column(number, given.schema.field(number), _without_bytes(given.column(number)))
        columns = [batch.column(name).to_pylist() for name in SHAPE_OF]
        masked = [shape(TextRow(b"", b"", *row)) for row in zip(*columns, strict=True)]
        yield sealing.sealed(batch, pa.array(masked, pa.string()))


def _without_bytes(errors: pa.Array) -> pa.Array:
    coded = errors.dictionary_encode()
    known = [place[0] if (place := _PLACE.match(text)) else "MQDLH" for text in coded.dictionary.to_pylist()]
    return pa.array([f"{place} is not valid" for place in known], pa.string()).take(coded.indices)
