"""Scores on a Ray cluster of three nodes on this machine, while a worker and a node are killed; run by a test.

    ray_driver.py MODEL STORE OUT CUT ACCOUNTS SLOTS

ACCOUNTS and SLOTS are the grain. Prints JSON: what was killed, and how long it took.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch

from gtea.cluster.ray_tasks import QUIET, RayTasks
from gtea.cluster.scoring.part_scores import score_accounts_on
from gtea.scoring.options import Grain

model, store, out = (Path(word) for word in sys.argv[1:4])
cut, grain = sys.argv[4], Grain(*map(int, sys.argv[5:]))
folder = Path(tempfile.mkdtemp(prefix="gtea-", dir="/tmp"))
(folder / "ray").mkdir()
(folder / "token").write_text(secrets.token_hex(32))
os.environ.update(QUIET)
os.environ.update({
    "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "token"), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_TMPDIR": str(folder),
    "RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "3",
})  # fmt: skip

from ray.cluster_utils import Cluster  # noqa: E402

cluster = Cluster(
    initialize_head=True,
    head_node_args={"num_cpus": 1, "include_dashboard": False,
                    "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.1"},
)  # fmt: skip
nodes = [cluster.add_node(num_cpus=1, object_store_memory=80 << 20, node_ip_address="127.0.0.1") for _ in range(2)]
killed: list[str] = []


def wait_for(pattern: str) -> None:
    while not list(out.with_name(f"{out.name}.parts").glob(pattern)):
        time.sleep(0.01)


def kill() -> None:
    """A worker at work as soon as something is encoded, and a node as soon as a layer has begun."""
    wait_for("encode.*.part")
    while not any(kill_if_at_work(entry) for entry in Path("/proc").iterdir()):
        time.sleep(0.01)
    killed.append("worker")
    wait_for("renew-0.*.part")
    cluster.remove_node(nodes[1], allow_graceful=False)
    killed.append("node")


def kill_if_at_work(entry: Path) -> bool:
    """Kill a process of /proc if it is a worker of this cluster that runs a task."""
    if not entry.name.isdigit():
        return False
    try:
        is_worker = (entry / "cmdline").read_bytes().startswith(b"ray::_run")
        if not is_worker or str(folder).encode() not in (entry / "environ").read_bytes():
            return False
        os.kill(int(entry.name), signal.SIGKILL)
    except OSError:  # it has just ended
        return False
    return True


threading.Thread(target=kill, daemon=True).start()
started = time.monotonic()
carrier = RayTasks(cluster.address)
score_accounts_on(carrier, model, store, out, as_of=cut, device=torch.device("cpu"), parts=6, grain=grain)
seconds = time.monotonic() - started
cluster.shutdown()  # type: ignore[no-untyped-call]
print(json.dumps({"killed": killed, "seconds": seconds}))
