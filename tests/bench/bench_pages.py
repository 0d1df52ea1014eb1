"""The pages in Airflow's UI: server time and bytes of each, on a lake of 1,000 runs and a snapshot of 1,000,000.

Aims: 95 % of the answers under 300 ms when warm, also with 20 readers at once; a search under 2 s. The pages run under
uvicorn in a process of their own, as in Airflow's API server, with Airflow's login; the clock is the reader's.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from statistics import quantiles

import httpx
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from mq_support import DLQ, create, dead_letter

from mqops.deciders.dead_letters import DEAD_LETTERS, DeadLetterRequest
from mqops.deciders.run import carry_out, plan_run
from mqops.lake.run import RunFolder
from mqops.rules import parse
from mqwire.folder import folder
from mqwire.rfh2 import MQRFH2

ROOT = Path(__file__).resolve().parents[2]
RUNS = int(os.environ.get("MQOPS_BENCH_RUNS", "1000"))
RECORDED = int(os.environ.get("MQOPS_BENCH_RECORDED", "1000000"))
MESSAGES = 10_000
LOGIN = "login: "
READERS, ROUNDS = 20, 20
TEXT = "DESTQ(A) ACTION(RETRY)\nDESTQ(PAY*) ACTION(FWD) FWDQ(A)\nREASON(MQRC_Q_FULL) ACTION(IGNORE)\n"
ESTATE = """\
lake: {lake}
queue_managers:
  QM1: {{connection: mq_qm1, reveal: [admin], dlq_rules: {{rules: t.rules}}}}
"""


def message(number: int) -> tuple[dict[str, object], bytes]:
    """Of 40 destinations; every second one with properties; one in ten is put back by the rules."""
    name = "A" if number % 10 == 0 else f"PAY.{number % 40:02}"
    if number % 2:
        return dead_letter(name, b"%012d" % number + b"x" * 500)
    usr = folder("usr", {"country": "DE" if number % 1000 == 0 else "FR"})
    header = MQRFH2(format="MQSTR", coded_char_set_id=1208).with_folders(usr).pack()
    return dead_letter(name, header + b"%012d" % number + b"x" * 500, inner=("MQHRF2", 546, 1208))


def make_lake(base: Path) -> RunFolder:
    """A genuine run; its snapshot many times over, with other identifiers; the run many times over without messages."""
    home, lake = base / "queue_managers", base / "lake"
    home.mkdir()
    (base / "t.rules").write_text(TEXT)
    (base / "estate.yaml").write_text(ESTATE.format(lake=lake))
    os.environ["MQLITE_HOME"] = str(home)
    manager = create(home, mqsc="DEFINE QLOCAL(A) MAXDEPTH(999999)\nDEFINE QLOCAL(T) TRIGGER INITQ(NONE)\n")
    request = DeadLetterRequest(connection=manager.connection, lake=lake, table=parse(TEXT).table, text=TEXT)
    for messages in (10, MESSAGES):
        manager.put(DLQ, [message(number) for number in range(messages)])
        run, plan = plan_run(DEAD_LETTERS, request)
        if messages == 10:
            carry_out(DEAD_LETTERS, request, run, plan)
            small = run
    (part,) = run.snapshot.glob("*.parquet")
    whole = pq.read_table(part)
    for number in range(1, RECORDED // MESSAGES):
        pq.write_table(others(whole, number), part.with_name(f"part-9{number:05}.parquet"), compression="zstd")
    for number in range(RUNS - 2):
        copy = small.path.with_name(f"copy-{number:06}")
        copy.mkdir(mode=0o700)
        for path in small.path.glob("*.json"):
            shutil.copy(path, copy)
    time.sleep(2.1)  # the index keeps what has not changed for 2 seconds
    return run


def plan_all(run: RunFolder) -> None:
    """A plan for the messages that `make_lake` has added to the snapshot, as for the first of them."""
    (part,) = run.plan.glob("*.parquet")
    whole = pq.read_table(part)
    for number in range(1, RECORDED // MESSAGES):
        pq.write_table(others(whole, number), part.with_name(f"part-9{number:05}.parquet"), compression="zstd")


def others(messages: pa.Table, number: int) -> pa.Table:
    """The same messages under other identifiers, which a queue manager would give to later ones."""
    ids = [one[:16] + struct.pack(">II", number, place) for place, one in enumerate(messages["msg_id"].to_pylist())]
    keys = [f"{number:08x}{key[8:]}" for key in messages["msg_key"].to_pylist()]
    for name, values in (("msg_id", ids), ("msg_key", keys)):
        at, field = messages.schema.get_field_index(name), messages.schema.field(name)
        messages = messages.set_column(at, field, pa.array(values, field.type))
    return messages


def serve(port: int) -> None:
    """The pages on loopback; writes a login to standard output."""
    import uvicorn  # noqa: PLC0415
    from airflow.api_fastapi.app import create_auth_manager, get_auth_manager  # noqa: PLC0415
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser  # noqa: PLC0415

    from mqops_airflow.pages.app import app  # noqa: PLC0415

    create_auth_manager()
    token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="admin", role="admin"))
    print(f"\n{LOGIN}{token}", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def environment(base: Path) -> dict[str, str]:
    """Of the server."""
    return {
        **os.environ,
        "AIRFLOW_HOME": str(base / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__AUTH_MANAGER": "mqops_airflow.roles.RolesAuthManager",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of this benchmark, which is long enough for a signature by HMAC",
        "AIRFLOW_CONN_MQ_QM1": json.dumps({"conn_type": "mq", "extra": {"queue_manager": "QM1"}}),
        "MQLITE_HOME": str(base / "queue_managers"),
        "MQOPS_ESTATE": str(base / "estate.yaml"),
        "MQOPS_LAKE": str(base / "lake"),
    }


def measured(client: httpx.Client, server: psutil.Process, address: str) -> None:
    """Print the figures of one page."""
    for _ in range(2):
        answer = client.get(address)
        if answer.status_code != 200:
            print(f"{address}: {answer.status_code} {answer.text[-300:]}")
            return

    def once(_number: int) -> float:
        began = time.perf_counter()
        client.get(address)
        return 1000 * (time.perf_counter() - began)

    began = processor(server)
    alone = [once(number) for number in range(ROUNDS)]
    work = 1000 * (processor(server) - began) / ROUNDS
    with ThreadPoolExecutor(READERS) as readers:
        together = list(readers.map(once, range(READERS * 5)))
    at_once = f"{READERS} readers at once: {percentile(together):.0f} ms"
    name, size = address.partition("?")[0], len(answer.content)
    print(
        f"{name}: {work:.0f} ms of processor; 95 % under {percentile(alone):.0f} ms; {at_once}; {size} bytes",
        flush=True,
    )


def processor(server: psutil.Process) -> float:
    """Seconds of processor that the server has used."""
    times = server.cpu_times()
    return float(times.user + times.system)


def percentile(times: list[float]) -> float:
    """The time that 95 % do not exceed."""
    return quantiles(times, n=20)[-1]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mqops-bench") as name:
        base = Path(name)
        run = make_lake(base)
        settings = environment(base)
        subprocess.run(
            [sys.executable, "-m", "airflow", "db", "migrate"], env=settings, check=True, capture_output=True
        )
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [sys.executable, __file__, "serve", str(port)]
        server = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            token = next(line for line in server.stdout if line.startswith(LOGIN)).removeprefix(LOGIN).strip()
            limits = httpx.Limits(max_connections=READERS)
            transport = httpx.HTTPTransport(retries=20, limits=limits)
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120, transport=transport
            ) as client:
                pages(client, psutil.Process(server.pid), run)
            memory = psutil.Process(server.pid).memory_info().rss // 2**20
            print(f"memory of the server at the end: {memory} MiB; load {os.getloadavg()[0]:.1f}")
        finally:
            server.terminate()
            server.wait()


def pages(client: httpx.Client, server: psutil.Process, run: RunFolder) -> None:
    here = f"queue_manager=QM1&run={run.run}"
    print(f"{RUNS} runs, a snapshot of {RECORDED} messages")
    for address in ("/estate", "/estate/live", "/dead_letters", "/triggers", "/rules", "/expiry", "/quality"):
        measured(client, server, address)
    for address in ("/run", "/run/live", "/plan", "/plan/answer", "/messages"):
        measured(client, server, f"{address}?{here}")
    text = client.get(f"/messages?{here}").text
    link = next(one for one in text.split('href="') if one.startswith("/messages/one"))
    measured(client, server, unescape(link).split('"')[0])
    plan_all(run)
    searches = ("action=RETRY", "action=RETRY", "action=RETRY&dest_q=A", "action=IGNORE", "action=DISCARD")
    for what in (
        *searches,
        "reason=MQRC_NONE",
        "dest_q=PAY.1*",
        "property=usr.country&value=DE",
        "msg_id=ff",
        "text=nowhere",
    ):
        began, before = time.perf_counter(), processor(server)
        answer = client.get(f"/messages?{here}&{what}")
        clock, work = time.perf_counter() - began, processor(server) - before
        print(f"search by {what}: {clock:.2f} s, {work:.2f} of processor; {answer.status_code}", flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[2])) if sys.argv[1:2] == ["serve"] else main()
