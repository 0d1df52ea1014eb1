"""Bodies of messages encrypted in the lake: what is found there, who reads it, what is refused, new keys."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from mq_support import DLQ, Manager, dead_letter

from mqops.cli import main
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.lake.sealing import DATA_KEY
from mqops.mq.session import RawMessage
from mqops.observe import snapshot
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed
from mqops.observe.sealed import write_snapshot
from mqwire.rfh2 import MQRFH2
from mqwire.structures import MQMD

WORDS = ("Geheimnis", "Kontonummer", "Vertraulich", "Unbekannt")
RFH2 = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders("<usr><name>Kontonummer</name></usr>").pack()
TABLE = "* MQOPS EXTENSIONS\nBODY('*s 1') ACTION(FWD) FWDQ(A) HEADER(NO)\nACTION(RETRY)\n"
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


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
    snapshot.finish(folder, name, ["IN"], AT.isoformat())
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
        ("message", "show", "--snapshot", run.path, msg_id, "--reveal"),
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
    shown = good("message", "show", "--snapshot", run.path, before[0].hex(), "--reveal")
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
    secrets = {one["secret"] for one in json.loads(keys.read_text())["keys"]}
    assert found_in(lake, tuple(secrets)) == set()
