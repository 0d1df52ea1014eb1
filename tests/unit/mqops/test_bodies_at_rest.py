"""Bodies of messages encrypted in the lake: what is found there, who reads it, what is refused, new keys."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from ledger_opened import act_undo, finish
from mq_support import DLQ, Manager, dead_letter

from mqops.cli import main
from mqops.doctor import this_machine
from mqops.doctor.check import State
from mqops.errors import BodiesLocked, LakeError, NewerFormat, SettingsError
from mqops.lake import body_keys
from mqops.lake.body_keys import KeyPlace, add_key, ask_for_passwords, keys_in
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.sealing import DATA_KEY, SEALED
from mqops.mq.session import RawMessage
from mqops.observe import snapshot
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed
from mqops.observe.sealed import sealed, sealing_for, write_snapshot
from mqops.undo.in_process import plan_undo
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD

WORDS = ("Geheimnis", "Kontonummer", "Vertraulich", "Unbekannt")
RFH2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><name>Kontonummer</name></usr>").pack()
TABLE = "* MQOPS EXTENSIONS\nBODY('*s 1') ACTION(FWD) FWDQ(A) HEADER(NO)\nACTION(RETRY)\n"
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MESSAGE = RawMessage(MQMD(format="MQSTR", coded_char_set_id=1208).pack(), b"Geheimnis")


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function (queue manager → its `bodies`) that writes the estate of this test."""

    def write(**bodies: Any) -> Path:
        managers = {
            name: {"connection": f"mq_{name.lower()}", "reveal": {"system": ["*"]}, **({"bodies": one} if one else {})}
            for name, one in bodies.items()
        }
        path = tmp_path / "estate.yaml"
        path.write_text(json.dumps({"lake": str(tmp_path / "lake"), "queue_managers": managers}))
        monkeypatch.setenv("MQOPS_ESTATE", str(path))
        return path

    return write


def mqops(*arguments: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], input=text)


def good(*arguments: str | Path, text: str = "") -> Any:
    done = mqops(*arguments, "--json", text=text)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def written(lake: Path, run: str, *bodies: bytes, name: str = "QM1") -> RunFolder:
    """A run whose snapshot has these messages."""
    folder, of = RunFolder.at(lake, name, run), Browsed(queue_manager=name, queue="IN", observed_at=AT)
    snapshot.begin(folder)
    messages = [
        RawMessage(MQMD(format="MQSTR", coded_char_set_id=1208, msg_id=bytes([n]) * 24).pack(), body)
        for n, body in enumerate(bodies)
    ]
    write_snapshot(folder, record_batches(of, messages))
    finish(folder, name, ["IN"], AT.isoformat())
    return folder


def read(run: RunFolder) -> list[bytes]:
    return [body for batch in read_parquet(run.snapshot, ["body"]) for body in batch.column("body").to_pylist()]


def plain_text(lake: Path) -> Iterator[tuple[Path, bytes]]:
    """Everything that files of the lake hold, unpacked."""
    for path in lake.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            for column in table.columns:
                for value in column.to_pylist():
                    yield path, value if isinstance(value, bytes) else str(value).encode()


def found_in(lake: Path, words: tuple[str, ...] = WORDS) -> set[tuple[str, str]]:
    """(file, word) for each word that stands in a file, in whatever form."""
    forms = {
        form: word
        for word in words
        for raw in (word.encode(), word.encode("cp500"), word.encode("utf-16-le"))
        for form in (raw, raw.hex().encode(), base64.b64encode(raw)[:-4])
    }
    return {(path.name, word) for path, content in plain_text(lake) for form, word in forms.items() if form in content}


def goes_on_without_the_key(run: RunFolder, msg_id: str, key: str, why: str) -> None:
    """All but bodies is there, and what needs one says which key it lacks. Parameters: `msg_id` of "Geheimnis 1"."""
    assert good("run", "show", run.run)
    assert good("ledger", "verify", "QM1")
    assert good("runs")["runs"]
    assert len(good("message", "find", "--snapshot", run.path, "--reason", "2053")["messages"]) == 4
    shown = good("message", "show", "--snapshot", run.path, msg_id)
    assert shown["body"]["text"] == "xxxxxxxxx 9"
    assert shown["headers"][0]["fields"]["DestQName"] == "B"
    assert why in shown["body"]["no_text"]
    for command in (
        ("message", "find", "--snapshot", run.path, "--text", "Geheimnis"),
        ("message", "show", "--snapshot", run.path, msg_id, "--reveal", "--why", "a customer asks"),
        ("undo", run.run, "-m", "QM1", "--yes"),
    ):
        told = mqops(*command)
        assert told.exit_code != 0
        assert why in told.output
        assert f"does not have key {key}. " in told.output or command[0] == "undo", told.output


def test_no_body_is_in_the_lake_in_clear_and_every_workflow_goes_on(
    queue_manager: Callable[..., Manager], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, estate: Callable[..., Path]
) -> None:
    manager, lake = queue_manager(mqsc="DEFINE QLOCAL(A)\nDEFINE QLOCAL(B)\n"), tmp_path / "lake"
    monkeypatch.setenv("MQOPS_LAKE", str(lake))
    keys = tmp_path / "keys" / "qm1.json"
    estate(QM1={"keys": str(keys)})
    bodies = [b"Geheimnis 1", "Vertraulich Grüße".encode("cp500"), RFH2 + b"text", b"Geheimnis 2"]
    inner = [("MQSTR", 546, 1208), ("MQSTR", 546, 500), ("MQHRF2", 546, 1208), ("MQSTR", 546, 1208)]
    put = [dead_letter("B", body, inner=one) for body, one in zip(bodies, inner, strict=True)]
    put.append(({"Format": "MQSTR"}, b"Unbekannt, without a header"))
    before = manager.put(DLQ, put)

    # Without a key nothing is copied in clear: the run ends before it.
    refused = mqops("dlq", "run", "--once", DLQ, "QM1", text=TABLE)
    assert refused.exit_code == 1
    assert f"The key file {keys} is not there" in refused.output
    assert len(manager.messages(DLQ)) == len(put)
    made = good("lake", "rekey", "QM1")
    assert made["keys"] == str(keys)
    assert keys.stat().st_mode & 0o777 == 0o600

    done = good("dlq", "run", "--once", DLQ, "QM1", text=TABLE)
    assert (done["moved"], done["balanced"]) == (4, True)
    assert manager.bodies("A") == [bodies[0]]
    assert manager.bodies("B") == bodies[1:]
    run = RunFolder.at(lake, "QM1", done["run"])
    assert DATA_KEY.read(run).key == made["key"]
    found = good("message", "find", "--snapshot", run.path, "--text", "Geheimnis")
    assert [one["msg_id"] for one in found["messages"]] == [before[0].hex(), before[3].hex()]
    found = good("message", "find", "--snapshot", run.path, "--property", "usr.name=Kontonummer")
    assert [one["msg_id"] for one in found["messages"]] == [before[2].hex()]
    shown = good("message", "show", "--snapshot", run.path, before[0].hex(), "--reveal", "--why", "a customer asks")
    assert shown["body"]["text"] == "Geheimnis 1"

    keys.rename(tmp_path / "away.json")
    goes_on_without_the_key(run, before[0].hex(), made["key"], f"The key file {keys} is not there")
    assert len(manager.messages(DLQ)) == 1

    (tmp_path / "away.json").rename(keys)
    undone = good("undo", run.run, "-m", "QM1", "--yes")
    assert undone["balanced"]
    assert sorted(manager.bodies(DLQ)) == sorted(body for _fields, body in put)
    loaded = good("message", "load", run.path, "A", "-m", "QM1", "--run", "--yes")
    assert loaded["balanced"]
    assert sorted(manager.bodies("A")) == sorted(body for _fields, body in put)
    assert found_in(lake) == set()
    assert found_in(lake, ("Unbe",)) == set()  # what stands where an MQDLH should be
    secrets = {one["secret"] for one in json.loads(keys.read_text())["keys"]}
    assert found_in(lake, tuple(secrets)) == set()


def test_a_new_key_encrypts_what_is_new_and_no_snapshot_is_written_anew(
    tmp_path: Path, estate: Callable[..., Path]
) -> None:
    lake, keys = tmp_path / "lake", tmp_path / "qm1.json"
    estate(QM1={"keys": "qm1.json"})
    first = good("lake", "rekey", "QM1", "--lake", lake)["key"]
    old = written(lake, "old", b"Geheimnis")
    files = {path: path.read_bytes() for path in old.snapshot.iterdir()}
    second = good("lake", "rekey", "QM1", "--lake", lake)["key"]
    new = written(lake, "new", b"Vertraulich")
    assert [DATA_KEY.read(run).key for run in (old, new)] == [first, second]
    assert [read(run) for run in (old, new)] == [[b"Geheimnis"], [b"Vertraulich"]]

    done = good("lake", "rekey", "QM1", "--lake", lake, "--snapshots", "--forget")
    assert (done["key"], done["snapshots"], done["forgotten"]) == (second, 1, [first])
    assert [one.id for one in keys_in(KeyPlace(file=str(keys))).keys] == [second]
    assert DATA_KEY.read(old).key == second
    assert read(old) == [b"Geheimnis"]
    assert {path: path.read_bytes() for path in old.snapshot.iterdir()} == files
    assert good("lake", "rekey", "QM1", "--lake", lake, "--snapshots")["snapshots"] == 0
    keys.rename(tmp_path / "moved.json")
    estate(QM1={"keys": "moved.json"})
    assert good("lake", "rekey", "QM1", "--lake", lake, "--snapshots")["keys"] == str(tmp_path / "moved.json")
    assert read(old) == [b"Geheimnis"]
    assert found_in(lake) == set()


def test_a_key_that_is_still_needed_is_not_forgotten(tmp_path: Path, estate: Callable[..., Path]) -> None:
    lake, keys = tmp_path / "lake", tmp_path / "qm1.json"
    estate(QM1={"keys": "qm1.json"})
    first = add_key(keys, "")
    old = written(lake, "old", b"Geheimnis")
    kept = keys.read_bytes()
    add_key(keys, "")
    text = json.loads(DATA_KEY.path(old).read_text())
    DATA_KEY.path(old).write_text(json.dumps({**text, "data_key": text["data_key"][::-1]}))
    told = mqops("lake", "rekey", "QM1", "--lake", lake, "--snapshots", "--forget")
    assert told.exit_code == 1
    assert str(DATA_KEY.path(old)) in told.output
    assert keys_in(KeyPlace(file=str(keys))).find(first)
    DATA_KEY.path(old).write_text(json.dumps(text))
    keys.unlink()
    add_key(keys, "")
    with pytest.raises(BodiesLocked, match=f"does not have key {first}. It is not among the keys that it gets"):
        read(old)
    keys.write_bytes(kept)
    assert read(old) == [b"Geheimnis"]


def test_each_queue_manager_has_its_own_keys_and_one_without_stays_in_clear(
    tmp_path: Path, estate: Callable[..., Path]
) -> None:
    lake = tmp_path / "lake"
    estate(QM1={"keys": "qm1.json"}, QM2={"keys": "qm2.json"}, QM3=None)
    for name in ("qm1.json", "qm2.json"):
        add_key(tmp_path / name, "")
    runs = {name: written(lake, "run", b"Geheimnis", name=name) for name in ("QM1", "QM2", "QM3")}
    (tmp_path / "qm2.json").unlink()
    assert read(runs["QM1"]) == read(runs["QM3"]) == [b"Geheimnis"]
    with pytest.raises(BodiesLocked, match=r"qm2\.json is not there"):
        read(runs["QM2"])
    assert "does not say that bodies of QM3 are encrypted" in mqops("lake", "rekey", "QM3", "--lake", lake).output
    assert {name for name, run in runs.items() if found_in(run.path)} == {"QM3"}


@pytest.mark.parametrize("change", ["byte", "moved", "other run", "cut", "position"])
def test_what_was_changed_is_an_error_that_names_the_file(
    tmp_path: Path, estate: Callable[..., Path], change: str
) -> None:
    lake = tmp_path / "lake"
    estate(QM1={"keys": "qm1.json"})
    add_key(tmp_path / "qm1.json", "")
    run, other = written(lake, "run", b"Geheimnis", b"Vertraulich"), written(lake, "other", b"x", b"y")
    assert read(run) == [b"Geheimnis", b"Vertraulich"]
    (part,) = run.snapshot.iterdir()
    table = pq.read_table(part)
    values, positions = table.column(SEALED).to_pylist(), table.column("position").to_pylist()
    if change == "byte":
        values[1] = values[1][:-1] + bytes([values[1][-1] ^ 1])
    elif change == "moved":
        values.reverse()
    elif change == "cut":
        values[1] = values[1][:8]
    elif change == "position":
        positions[1] = 7
    else:
        DATA_KEY.path(run).write_bytes(DATA_KEY.path(other).read_bytes())
    made = {SEALED: pa.array(values, pa.binary()), "position": pa.array(positions, pa.int64())}
    for name, column in made.items():
        table = table.set_column(table.schema.names.index(name), table.schema.field(name), column)
    pq.write_table(table, part)
    named = DATA_KEY.path(run) if change == "other run" else part
    with pytest.raises(LakeError, match=f"{named} was changed") as caught:
        read(run)
    assert not isinstance(caught.value, BodiesLocked)


def test_nothing_is_put_back_from_a_snapshot_that_was_changed(
    queue_manager: Callable[..., Manager], tmp_path: Path, estate: Callable[..., Path]
) -> None:
    manager, lake = queue_manager(mqsc="DEFINE QLOCAL(B)\n"), tmp_path / "lake"
    estate(QM1={"keys": "qm1.json"})
    add_key(tmp_path / "qm1.json", "")
    manager.put(DLQ, [dead_letter("B", b"Geheimnis")])
    done = good("dlq", "run", "--once", DLQ, "QM1", "--lake", lake, text="ACTION(RETRY)\n")
    run, undo = RunFolder.at(lake, "QM1", done["run"]), RunFolder.at(lake, "QM1", "undo")
    plan = plan_undo(manager.connection, run, undo)
    (part,) = undo.snapshot.iterdir()
    content, value = part.read_bytes(), pq.read_table(part).column(SEALED)[0].as_py()
    assert content.count(value) == 1
    part.write_bytes(content.replace(value, value[:20] + bytes([value[20] ^ 1]) + value[21:]))
    with pytest.raises(LakeError, match=f"{part} was changed: the body of the message at position 0 of {DLQ} is not"):
        act_undo(manager.connection, undo, approved=plan.digest)
    assert manager.bodies("B") == [b"Geheimnis"]
    assert manager.bodies(DLQ) == []


def test_who_does_not_find_the_estate_writes_nothing_in_clear(
    tmp_path: Path, estate: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    path = estate(QM1={"keys": "qm1.json"})
    add_key(tmp_path / "qm1.json", "")
    written(lake, "first", b"Geheimnis")
    other = tmp_path / "elsewhere.yaml"
    other.write_text(json.dumps({"lake": str(lake), "queue_managers": {"QM9": {"connection": "mq_qm9"}}}))
    monkeypatch.setenv("MQOPS_ESTATE", str(other))
    assert DATA_KEY.exists(written(lake, "second", b"Geheimnis"))
    monkeypatch.setenv("MQOPS_ESTATE", str(path))
    estate(QM1=None)
    assert not DATA_KEY.exists(written(lake, "third", b"x"))  # the estate says so
    monkeypatch.setenv("MQOPS_ESTATE", str(other))
    assert not DATA_KEY.exists(written(lake, "fourth", b"x"))
    assert read(RunFolder.at(lake, "QM1", "second")) == [b"Geheimnis"]


def test_keys_in_an_airflow_connection(
    tmp_path: Path, estate: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, keys = tmp_path / "lake", tmp_path / "made.json"
    estate(QM1={"connection": "qm1_bodies"})
    monkeypatch.setattr(body_keys, "_passwords", [])
    told = mqops("lake", "rekey", "QM1", "--lake", lake)
    assert (
        "The keys of QM1 are the password of Airflow connection qm1_bodies, which mqops does not change" in told.output
    )
    good("lake", "rekey", "QM1", "--keys", keys, "--lake", lake)
    with pytest.raises(BodiesLocked, match="this process cannot ask for: give it the environment variable MQOPS_BODY"):
        written(lake, "run", b"Geheimnis")
    ask_for_passwords({"qm1_bodies": keys.read_text()}.__getitem__)
    run = written(lake, "run", b"Geheimnis")
    assert read(run) == [b"Geheimnis"]
    monkeypatch.setattr(body_keys, "_passwords", [])
    monkeypatch.setenv(body_keys.VARIABLE, json.dumps({"QM1": keys.read_text()}))
    assert read(run) == [b"Geheimnis"]
    monkeypatch.setenv(body_keys.VARIABLE, "{")
    with pytest.raises(SettingsError, match="MQOPS_BODY_KEYS is not a JSON object"):
        read(run)
    ask_for_passwords(lambda _conn_id: "x-secret-x")
    monkeypatch.delenv(body_keys.VARIABLE)
    with pytest.raises(SettingsError, match="qm1_bodies is not keys as `mqops lake rekey` makes them") as caught:
        read(run)
    assert "x-secret-x" not in str(caught.value)


def test_keys_are_private_and_not_in_the_lake(tmp_path: Path, estate: Callable[..., Path]) -> None:
    lake, keys = tmp_path / "lake", tmp_path / "qm1.json"
    estate(QM1={"keys": "qm1.json"})
    add_key(keys, "")
    run = written(lake, "run", b"Geheimnis")
    keys.chmod(0o640)
    with pytest.raises(SettingsError, match="Others may read or write the key file"):
        read(run)
    keys.chmod(0o600)
    text = json.loads(keys.read_text())
    keys.write_text(json.dumps({**text, "format": 2}))
    with pytest.raises(NewerFormat, match=r"qm1\.json was written by a newer mqops \(format 2;"):
        read(run)
    text["keys"][0]["secret"] = "0" * 64
    keys.write_text(json.dumps(text))
    with pytest.raises(SettingsError, match=r"qm1\.json was changed: the secret of key"):
        read(run)
    estate(QM1={"keys": "lake/qm1.json"})
    with pytest.raises(SettingsError, match="is in the lake"):
        written(lake, "second", b"Geheimnis")
    path = estate(QM1={"keys": "a", "connection": "b"})
    assert "name one of keys, a file, and connection" in mqops("estate", "check", path).output


def test_the_doctor_looks_for_the_keys(tmp_path: Path, estate: Callable[..., Path]) -> None:
    folder, keys = tmp_path / "lake" / "QM1", tmp_path / "qm1.json"
    estate(QM1=None)
    assert [*this_machine.body_keys(folder)] == []
    estate(QM1={"keys": "qm1.json"})
    (check,) = this_machine.body_keys(folder)
    assert check.state is State.FAILS
    assert f"The key file {keys} is not there" in check.what
    key = add_key(keys, "")
    (check,) = this_machine.body_keys(folder)
    assert (check.state, check.what) == (State.HOLDS, f"{key} of {keys} encrypts")


def test_a_try_that_begins_again_keeps_the_data_key_of_the_first(tmp_path: Path, estate: Callable[..., Path]) -> None:
    estate(QM1={"keys": "qm1.json"})
    add_key(tmp_path / "qm1.json", "")
    run = RunFolder.at(tmp_path / "lake", "QM1", "run").create()
    first = sealing_for(run)
    add_key(tmp_path / "qm1.json", "")
    again = sealing_for(run)
    assert first
    assert again
    batch = next(iter(record_batches(Browsed(queue_manager="QM1", queue="IN", observed_at=AT), [MESSAGE])))
    (sealed_batch,) = sealed(pickle.loads(pickle.dumps(first)), [batch])
    assert again.opened(sealed_batch, ["body"])["body"].to_pylist() == [b"Geheimnis"]
    assert sealed_batch.column("masked").to_pylist() == ["xxxxxxxxx"]
