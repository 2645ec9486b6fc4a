"""What load does ``gtea serve`` bear, with its clients on the same machine?

    python benchmarks/bench_serve.py [--json out.json] [--events 200000] [--rate 500] [--reads 1000] [--folder DIR]

Generated payments, the default model trained for one epoch, the real server in a process of its own, over loopback.

- paced: so many events a second, each a request of its own (or several, with --per-request) whose answer has the scores
  of its ends, and so many reads a second beside them: of ten, eight are of one account, one of the alerts, one of the
  list. A request is sent when its time has come, whether or not earlier ones were answered, and its latency counts from
  then: a service that stalls is not spared. Latencies are of the clock, so on a busy machine they tell of the machine.
- the memory of the server while that goes on.
- as fast as they can: a few clients that wait for each answer, with one event and with 50 events in a request.
- processor time of server and client for each request, which is steadier on a shared machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gtea.service.path_keys import path_key
from interleave import machine

_GTEA = [sys.executable, "-P", str(Path(sys.executable).with_name("gtea"))]
_SAMPLES = 20
_CONNECTIONS = 200
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Make data and model, start the server, send, print."""
    options = _options()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        make(folder, options.accounts)
        payments = pq.read_table(folder / "payments" / "transactions.parquet").to_pylist()
        results: dict[str, Any] = {"benchmark": "serve", **machine(), "load_before": os.getloadavg()[0]}
        results |= {"accounts": options.accounts, "events_in_the_store": len(payments)}
        with server(folder) as (process, port):
            results["paced"] = asyncio.run(paced(process, port, payments, options))
            for size in (1, 50):
                found = asyncio.run(at_full_speed(process, port, payments, size, options.seconds))
                results[f"full_speed_{size}_per_request"] = found
        results["load_after"] = os.getloadavg()[0]
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def make(folder: Path, accounts: int) -> None:
    """Payments, their store and a model, if they are not there."""
    if (folder / "model").exists():
        return
    table = folder / "payments" / "transactions.parquet"
    words = [
        ["synth", "payments", "--accounts", accounts, "--events", 20 * accounts, "--out", folder / "payments"],
        ["ingest", table, "--src", "payer", "--dst", "payee", "--time", "timestamp", "--features", "amount"],
        ["train", folder / "store", "--labels", folder / "payments" / "labels.csv", "--set", "train.epochs=1"],
    ]
    words[1] += ["--out", folder / "store"]
    words[2] += ["--out", folder / "model"]
    for each in words:
        subprocess.run([*_GTEA, *map(str, each)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def server(folder: Path) -> Any:
    """The process id and the port of a server that is ready."""
    log = Path(tempfile.mkdtemp(dir=folder))
    words = ["serve", folder / "model", folder / "store", "--port", "0", "--log", log, "--checkpoint-events", 10**9]
    with subprocess.Popen([*_GTEA, *map(str, words)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            port = int(line.rsplit(":", 1)[1]) if line.startswith("listening on") else port
            if line.startswith("ready"):
                break
        try:
            yield process.pid, port
        finally:
            process.terminate()
            process.communicate()


class Connections:
    """Connections that are kept. Who has to wait for one waits as for an answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()
        self._room = asyncio.Semaphore(_CONNECTIONS)
        self.bad = 0
        """Answers that were not 200."""

    async def ask(self, request: bytes) -> bytes:
        """The body of the answer to a request, empty if it is not 200."""
        async with self._room:
            while True:
                kept = bool(self._idle)
                streams = self._idle.pop() if kept else await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    return await self._asked(streams, request)
                except (ConnectionError, asyncio.IncompleteReadError):
                    if not kept:  # one that was kept may have been idle for too long
                        self.bad += 1
                        return b""

    async def _asked(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> bytes:
        reader, writer = streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        body = await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        if b" 200 " not in head[:14]:
            self.bad += 1
            body = b""
        self._idle.append(streams)
        return body

    def close(self) -> None:
        """Close those that are idle."""
        for _, writer in self._idle:
            writer.close()


class Load:
    """Requests, one after the other."""

    def __init__(self, payments: Sequence[dict[str, Any]], connections: Connections) -> None:
        self._payments, self._connections = payments, connections
        self._random = random.Random(1)
        self._time = max(row["timestamp"] for row in payments)
        self.latencies: dict[str, list[float]] = {"events": [], "reads": []}
        self.acknowledged = self.scores = 0

    async def send(self, due: float, count: int = 1) -> None:
        """Events between accounts that have paid before."""
        lines = []
        for _ in range(count):
            row = self._random.choice(self._payments)
            self._time += 1
            event = {"payer": row["payer"], "payee": row["payee"], "timestamp": self._time, "amount": row["amount"]}
            lines.append(json.dumps(event))
        body = "\n".join(lines).encode()
        head = (
            f"POST /events HTTP/1.1\r\nhost: localhost\r\nidempotency-key: {uuid.uuid4().hex}\r\n"
            f"content-type: application/x-ndjson\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        receipt = json.loads(await self._connections.ask(head.encode() + body) or "{}")
        self.latencies["events"].append(time.monotonic() - due)
        self.acknowledged += receipt.get("accepted", 0)
        self.scores += len(receipt.get("scores", ()))

    async def read(self, due: float) -> None:
        """An account, the alerts or the list."""
        kind = self._random.randrange(10)
        key = path_key(self._random.choice(self._payments)["payee"])
        path = "/alerts?limit=20" if kind == 0 else "/accounts?limit=20" if kind == 1 else f"/accounts/{key}"
        await self._connections.ask(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        self.latencies["reads"].append(time.monotonic() - due)


async def paced(process: int, port: int, payments: Sequence[dict[str, Any]], options: Any) -> dict[str, Any]:
    """So many events and reads a second, until all events are sent."""
    connections = Connections(port)
    load = Load(payments, connections)
    await at_pace(load.send, 50, 50, [], lambda: None)  # the first requests load and compile what is left
    load.latencies["events"].clear()
    load.acknowledged = load.scores = 0
    memory, used, start = list[int](), times_used(process), time.monotonic()
    stop = asyncio.Event()
    reads = asyncio.create_task(at_pace_until(load.read, options.reads, stop))

    def sample() -> None:
        memory.append(resident_of(process))

    requests = options.events // options.per_request
    every = max(requests // _SAMPLES, 1)

    async def send(due: float) -> None:
        await load.send(due, options.per_request)

    await at_pace(send, requests, options.rate / options.per_request, range(0, requests, every), sample)
    seconds = time.monotonic() - start
    stop.set()
    await reads
    sample()
    after = times_used(process)
    connections.close()
    return {
        "events_per_request": options.per_request,
        "aimed_events_per_s": options.rate,
        "aimed_reads_per_s": options.reads,
        "acknowledged": load.acknowledged,
        "acknowledged_per_s": round(load.acknowledged / seconds, 1),
        "scores_returned": load.scores,
        "reads_per_s": round(len(load.latencies["reads"]) / seconds, 1),
        "not_200": connections.bad,
        "events": quantiles(load.latencies["events"]),
        "reads": quantiles(load.latencies["reads"]),
        "server_processor_s_per_s": round((after[0] - used[0]) / seconds, 2),
        "client_processor_s_per_s": round((after[1] - used[1]) / seconds, 2),
        "resident_mb": [round(each / 2**20, 1) for each in memory],
        "resident_bytes_per_event": round((memory[-1] - memory[len(memory) // 2]) / max(load.acknowledged / 2, 1)),
    }


async def at_pace(
    ask: Callable[[float], Awaitable[None]], count: int, rate: float, marks: Sequence[int], mark: Callable[[], None]
) -> None:
    """So many requests, each begun when it is due, whatever became of earlier ones."""
    start, tasks, marked = time.monotonic(), set[asyncio.Future[None]](), set(marks)
    for number in range(count):
        due = start + number / rate
        wait = due - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.ensure_future(ask(due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if number in marked:
            mark()
        if number % 100 == 0:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)


async def at_pace_until(ask: Callable[[float], Awaitable[None]], rate: float, stop: asyncio.Event) -> None:
    """Requests at a rate until it is over."""
    while not stop.is_set():
        await at_pace(ask, max(int(rate / 4), 1), rate, [], lambda: None)


async def at_full_speed(
    process: int, port: int, payments: Sequence[dict[str, Any]], size: int, seconds: float
) -> dict[str, Any]:
    """Eight clients that wait for each answer."""
    connections = Connections(port)
    load = Load(payments, connections)
    used, start = times_used(process), time.monotonic()

    async def client() -> None:
        while time.monotonic() < start + seconds:
            await load.send(time.monotonic(), size)

    await asyncio.gather(*(client() for _ in range(8)))
    took, after = time.monotonic() - start, times_used(process)
    connections.close()
    return {
        "acknowledged_per_s": round(load.acknowledged / took, 1),
        "not_200": connections.bad,
        "requests": quantiles(load.latencies["events"]),
        "server_processor_ms_per_event": round(1e3 * (after[0] - used[0]) / max(load.acknowledged, 1), 3),
        "client_processor_ms_per_event": round(1e3 * (after[1] - used[1]) / max(load.acknowledged, 1), 3),
    }


def quantiles(latencies: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    found = np.quantile(latencies, [0.5, 0.99, 0.999]) if latencies else [np.nan] * 3
    return {
        f"{name}_ms": round(1e3 * float(value), 2) for name, value in zip(("p50", "p99", "p999"), found, strict=True)
    }


def times_used(process: int) -> tuple[float, float]:
    """Processor seconds of the server and of this process."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    own = resource.getrusage(resource.RUSAGE_SELF)
    return (int(fields[11]) + int(fields[12])) / _TICKS, own.ru_utime + own.ru_stime


def resident_of(process: int) -> int:
    """The memory of the server in use."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--accounts", type=int, default=5_000)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--per-request", type=int, default=1)
    parser.add_argument("--reads", type=float, default=1_000.0)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long clients send at full speed")
    parser.add_argument("--folder", type=Path, help="where data and model are, or are made and kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()
