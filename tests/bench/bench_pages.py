"""The pages in Airflow's UI: server time and bytes of each, on a lake of 1,000 runs and a snapshot of 1,000,000.

MQOPS_BENCH_RUNS, MQOPS_BENCH_RECORDED and MQOPS_BENCH_MANAGERS (queue managers of the estate) ask for other numbers.

Aims: 95 % of the answers under 300 ms when warm, also with 20 readers at once; a search under 2 s. A page is warm when
it has everything: how long that takes with many queue managers is told. The pages run under
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
from mq_support import DLQ, create, dead_letter, until
from pages_lake import make_lake, plan_all

from mqops.lake.run import RunFolder
from mqops.look.figures import LATE, NOT_YET
from mqops.look.runs import Runs

ROOT = Path(__file__).resolve().parents[2]
RUNS = int(os.environ.get("MQOPS_BENCH_RUNS", "1000"))
RECORDED = int(os.environ.get("MQOPS_BENCH_RECORDED", "1000000"))
MANAGERS = int(os.environ.get("MQOPS_BENCH_MANAGERS", "1"))
MESSAGES = min(10_000, RECORDED)
LOGIN = "login: "
INCOMPLETE = (NOT_YET, LATE, "have not been looked at yet")
"""Of a page that does not have everything yet."""
PATIENCE, PAUSE = 300, 0.2
"""Seconds: for a page to have everything, and between two looks at it."""
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
        **{f"AIRFLOW_CONN_MQ_{name}": reached(name) for name in managers()},
        "MQLITE_HOME": str(base / "queue_managers"),
        "MQOPS_ESTATE": str(base / "estate.yaml"),
        "MQOPS_LAKE": str(base / "lake"),
    }


def managers() -> list[str]:
    """The queue managers of the estate."""
    return [f"QM{number}" for number in range(1, MANAGERS + 1)]


def reached(name: str) -> str:
    """The Airflow connection of a queue manager."""
    return json.dumps({"conn_type": "mq", "extra": {"queue_manager": name}})


def more_managers(base: Path) -> None:
    """Queue managers beside that of the lake, each with dead letters."""
    for name in managers()[1:]:
        create(base / "queue_managers", name).put(DLQ, [dead_letter("A", b"x")] * 3)
    lines = (f"  {name}: {{connection: mq_{name.lower()}, dlq_rules: {{rules: t.rules}}}}\n" for name in managers()[1:])
    with (base / "estate.yaml").open("a") as estate:
        estate.writelines(lines)


def measured(client: httpx.Client, server: psutil.Process, address: str) -> None:
    """Print the figures of one page."""

    def complete() -> bool:
        return not any(one in client.get(address).text for one in INCOMPLETE)

    began = time.perf_counter()
    until(complete, PATIENCE, pause=PAUSE)
    whole = time.perf_counter() - began
    answer = client.get(address)
    if answer.status_code != 200:
        print(f"{address}: {answer.status_code} {answer.text[-300:]}")
        return
    if whole > 1:
        print(f"{address}: everything was there after {whole:.1f} s")

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
    name, size = address.partition("&run")[0], len(answer.content)
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
        more_managers(base)
        began = time.perf_counter()
        Runs(base / "lake", "QM1").caught_up()
        print(f"the index of {RUNS:,} runs, made anew: {time.perf_counter() - began:.1f} s", flush=True)
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
    print(f"{MANAGERS:,} queue managers, {RUNS:,} runs, a snapshot of {RECORDED:,} messages", flush=True)
    if MANAGERS > 1:
        for page in ("/estate", "/estate/live", "/dead_letters", "/triggers", "/expiry", "/quality"):
            measured(client, server, page)
    for page in ("/estate", "/estate/live", "/runs", "/dead_letters", "/triggers", "/rules", "/expiry", "/quality"):
        measured(client, server, f"{page}?queue_manager=QM1")
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
