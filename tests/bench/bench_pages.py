"""The pages in Airflow's UI: server time and bytes of each, on a lake of 1,000 runs and a snapshot of 1,000,000.

Aims: 95 % of the answers under 300 ms when warm, also with 20 readers at once; a search under 2 s. The pages run under
uvicorn in a process of their own, as in Airflow's API server, with Airflow's login; the clock is the reader's.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from statistics import quantiles
from urllib.parse import parse_qsl

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from pages_lake import make_lake, plan_all

from mqops.lake.run import RunFolder

ROOT = Path(__file__).resolve().parents[2]
RUNS = int(os.environ.get("MQOPS_BENCH_RUNS", "1000"))
RECORDED = int(os.environ.get("MQOPS_BENCH_RECORDED", "1000000"))
MESSAGES = 10_000
LOGIN = "login: "
READERS, ROUNDS = 20, 20


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
    """Seconds of processor that the server and the processes of its pages have used."""
    used = [one.cpu_times() for one in (server, *server.children(recursive=True))]
    return float(sum(times.user + times.system for times in used))


def percentile(times: list[float]) -> float:
    """The time that 95 % do not exceed."""
    return quantiles(times, n=20)[-1]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mqops-bench") as name:
        base = Path(name)
        os.environ["MQLITE_HOME"] = str(base / "queue_managers")
        run = make_lake(base, runs=RUNS, recorded=RECORDED, messages=MESSAGES)
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
            whole = psutil.Process(server.pid)
            memory = [one.memory_info().rss // 2**20 for one in (whole, *whole.children(recursive=True))]
            print(f"MiB of the server, the pages and the searches at the end: {memory}; load {os.getloadavg()[0]:.1f}")
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
    plan_all(run, recorded=RECORDED, messages=MESSAGES)
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
        answer = client.post("/messages", data=dict(parse_qsl(f"{here}&{what}")), follow_redirects=True)
        clock, work = time.perf_counter() - began, processor(server) - before
        print(f"search by {what}: {clock:.2f} s, {work:.2f} of processor; {answer.status_code}", flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[2])) if sys.argv[1:2] == ["serve"] else main()
