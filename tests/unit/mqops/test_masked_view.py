"""`mqops snapshot export --masked`: a snapshot that everybody may have."""

from __future__ import annotations

import hashlib
import stat
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from format_support import says_format

from mqops.cli import main
from mqops.observe.core.column_masks import MASKS, Mask
from mqops.observe.core.columns import SNAPSHOT_COLUMNS

sys.path.insert(0, str(Path(__file__).parent))
from snapshots import dead_letter, recorded

SECRET = b"IBAN DE02120300000000202051"
ASKED = (1).to_bytes(24, "big")


def _export(lake: Path, run: str, file: Path, *more: str, expect: int = 0) -> Result:
    done = CliRunner().invoke(main, ["snapshot", "export", run, str(file), "--masked", "--lake", str(lake), *more])
    assert done.exit_code == expect, done.output
    return done


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    messages = [
        ({"UserIdentifier": "alice"}, SECRET),
        ({"UserIdentifier": "alice", "CorrelId": ASKED}, b"reply"),
        dead_letter("A", SECRET),
    ]
    recorded(tmp_path, messages)
    recorded(tmp_path, messages[:1], run="run2")
    return tmp_path


def test_law9_no_value_of_a_message_is_in_the_file_and_equal_values_join(lake: Path) -> None:
    file, again = lake / "masked.parquet", lake / "again.parquet"
    assert _export(lake, "run1", file).stdout == f"{file}: 3 messages, masked\n"
    _export(lake, "run2", again)
    table, other = pq.read_table(file), pq.read_table(again)
    assert table.column_names == list(MASKS)
    content = repr(table.to_pylist()) + file.read_bytes().decode("latin-1")
    digest = hashlib.sha256(SECRET)
    for value in ("IBAN", "alice", ASKED.hex(), digest.hexdigest(), digest.digest().decode("latin-1")):
        assert value not in content
    first, reply, dead = table.to_pylist()
    assert reply["correl_id"] == first["msg_id"]  # a request and its reply
    assert first["correl_id"] is None  # MQCI_NONE stands for no value
    assert first["user_identifier"] == reply["user_identifier"]
    assert other.to_pylist()[0] == first  # another export, the same key
    assert (dead["dlh_dest_q"], dead["dlh_reason"] is not None) == ("A", True)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (file, lake / "masking.key")}
    assert modes == {0o600}
    assert says_format(lake)[str(lake / "masking.key")]


def test_another_key_gives_other_hashes_and_a_mask_can_be_made_stricter(lake: Path) -> None:
    key = lake / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    _export(lake, "run1", lake / "a.parquet")
    _export(lake, "run1", lake / "b.parquet", "--key", str(key), "--hash", "reply_to_q", "--drop", "put_time")
    a, b = pq.read_table(lake / "a.parquet"), pq.read_table(lake / "b.parquet")
    assert set(a["msg_id"].to_pylist()).isdisjoint(b["msg_id"].to_pylist())
    assert b.column_names == [name for name in MASKS if name != "put_time"]
    assert set(b["reply_to_q"].to_pylist()) == {None}


def test_what_an_export_refuses(lake: Path) -> None:
    file = lake / "masked.parquet"
    told = _export(lake, "run1", file, "--drop", "body", expect=1).stderr
    assert "A masked snapshot has no column body: name one of queue_manager, " in told
    assert not file.exists()
    (lake / "short").write_bytes(b"k")
    (lake / "short").chmod(0o600)
    assert (
        "has 1 byte; a key has 32 or more" in _export(lake, "run1", file, "--key", str(lake / "short"), expect=1).stderr
    )
    for content, reason in (
        ('{"format": 99, "keys": []}', "was written by a newer mqops (format 99; this version reads up to 1)"),
        ('{"format": 1, "key": "k"}', "was changed, and is no key now"),
        ('{"name": "another object, of more than 32 bytes"}', "was changed, and is no key now"),
    ):
        (lake / "short").write_text(content)
        assert reason in _export(lake, "run1", file, "--key", str(lake / "short"), expect=1).stderr
    _export(lake, "run1", file)
    assert f"{file} cannot be made: File exists; name a new file" in _export(lake, "run1", file, expect=1).stderr
    said = CliRunner().invoke(main, ["snapshot", "export", "run1", str(lake / "c"), "--lake", str(lake)])
    assert (said.exit_code, "Say --masked" in said.stderr) == (2, True)


def test_law9_a_new_column_is_left_out_until_somebody_has_decided_about_it() -> None:
    left_out = {one.name for one in SNAPSHOT_COLUMNS} - {*MASKS}
    assert left_out == {
        *("md", "body", "dlh_error", "jms_destination", "text_offset", "text_kind", "text_decoded", "properties"),
    }
    assert set(MASKS.values()) == {Mask.SHOWN, Mask.HASHED}
