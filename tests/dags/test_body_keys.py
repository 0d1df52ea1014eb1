"""Keys of message bodies that are the password of an Airflow connection: Airflow's own processes, and the search."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ledger_opened import finish

from mqops.errors import BodiesLocked, SettingsError
from mqops.lake.body_keys import add_key
from mqops.lake.parquet import read_parquet
from mqops.lake.run import RunFolder
from mqops.look.search_process import Search
from mqops.mq.session import RawMessage
from mqops.observe import snapshot
from mqops.observe.batches import record_batches
from mqops.observe.core.decode import Browsed
from mqops.observe.sealed import write_snapshot
from mqops_airflow.connections import body_keys
from mqops_airflow.pages.asked import wanted_of
from mqops_airflow.pages.searches import Searches
from mqwire.structures import MQMD

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MD = MQMD(format="MQSTR", coded_char_set_id=1208).pack()


def test_keys_in_a_connection_encrypt_and_the_page_searches_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, airflow_database: object
) -> None:
    keys, estate = tmp_path / "keys.json", tmp_path / "estate.yaml"
    add_key(keys, "")
    manager = {"connection": "mq_qm1", "bodies": {"connection": "qm1_bodies"}}
    estate.write_text(json.dumps({"lake": str(tmp_path / "lake"), "queue_managers": {"QM1": manager}}))
    monkeypatch.setenv("MQOPS_ESTATE", str(estate))
    body_keys.install()
    run, of = RunFolder.at(tmp_path / "lake", "QM1", "r"), Browsed(queue_manager="QM1", queue="IN", observed_at=AT)
    snapshot.begin(run)
    with pytest.raises(BodiesLocked, match="there is no Airflow connection 'qm1_bodies'"):
        write_snapshot(run, record_batches(of, [RawMessage(MD, b"Geheimnis")]))
    monkeypatch.setenv("AIRFLOW_CONN_QM1_BODIES", json.dumps({"conn_type": "generic", "password": keys.read_text()}))
    write_snapshot(run, record_batches(of, [RawMessage(MD, b"Geheimnis")]))
    finish(run, "QM1", ["IN"], AT.isoformat())
    assert [one.column("body")[0].as_py() for one in read_parquet(run.snapshot, ["body"])] == [b"Geheimnis"]

    search = Search(run=run.path, wanted=wanted_of({"text": "*heim*"}), limit=10)

    async def searched() -> None:
        searches = Searches()
        found = (await searches.found("1", search)).found
        assert found
        assert len(found.messages) == 1
        monkeypatch.delenv("AIRFLOW_CONN_QM1_BODIES")
        with pytest.raises(SettingsError, match="does not have key"):  # the same process has forgotten it
            await searches.found("1", replace(search, limit=11))  # the answer itself is kept for a second

    asyncio.run(searched())
