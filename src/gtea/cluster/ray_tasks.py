"""The carrier ``ray``: tasks on a Ray cluster, which is started here on this machine, or found at an address.

This is the only module that knows Ray. Ray sends functions and arguments by cloudpickle, which is the one exception to
"no pickle": whoever can reach the cluster's ports and has its token can run code there (SECURITY.md). What travels is a
reference to ``_run`` and text; what comes back is text. Nothing of a graph or a model goes through Ray's object store.

A cluster that is started here listens on loopback, asks for a token that only this user can read, keeps its files in a
folder that only this user can enter, and sends no usage data.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from gtea.cluster.schedule import Then, run_in_order
from gtea.cluster.tasks import FileTask, from_json, outcome_of, to_json
from gtea.errors import StoreError, UsageError
from gtea.runtime.progress import Progress
from gtea.runtime.worker_process import thread_settings

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_REPORT_URL": "http://127.0.0.1:9/"}
"""Without the second, Ray still reports once that it is not to report. Nothing listens at that port."""
_NO_REPORTER = {"dashboard_host": "192.0.2.1", "dashboard_port": 8265}
"""No machine's address: so Ray's reporter can't start. It asks the cloud where it is, also with telemetry off."""
_OBJECT_STORE = 80 << 20
"""The smallest that Ray takes: results are a few bytes."""
_SECONDS_BETWEEN_LOOKS = 5.0


class RayTasks:
    """Runs tasks on a Ray cluster, each with one processor and one thread."""

    def __init__(self, address: str | None, *, num_cpus: int | None = None) -> None:
        self._address = address
        self._num_cpus = num_cpus or len(os.sched_getaffinity(0))
        self._known: int | None = None

    @property
    def num_workers(self) -> int:
        """How many tasks run at once."""
        if self._known is None:
            if self._address is None:
                self._known = self._num_cpus
            else:
                with self._cluster() as ray:
                    self._known = max(1, int(ray.cluster_resources().get("CPU", 1)))
        return self._known

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        """Run all tasks. Those of workers and nodes that die are run again elsewhere."""
        with self._cluster() as ray:
            run_in_order(tasks, folder, _Submitted(ray, folder), progress, then)
        return True

    def on_each_node(self, task: FileTask, folder: Path) -> list[dict[str, Any]]:
        """The outcome of a task on each node, under a name of its own."""
        with self._cluster() as ray:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            found = []
            for number, node in enumerate(each for each in ray.nodes() if each["Alive"]):
                own = FileTask(f"{task.name}.{number}", task.work, task.arguments)
                here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                remote = ray.remote(num_cpus=0, max_retries=0)(_run).options(scheduling_strategy=here)
                found.append(remote.remote(str(folder), to_json(own)))
            return [json.loads(text) for text in ray.get(found)]

    @contextmanager
    def _cluster(self) -> Iterator[Any]:
        """Ray, connected. What is started here ends here."""
        before = dict(os.environ)
        own = Path(tempfile.mkdtemp(prefix="gtea-", dir="/tmp")) if self._address is None else None
        try:
            os.environ.update(QUIET)
            if own is not None:
                os.environ.update(_alone_in(own))
            ray = _imported()
            try:
                self._connect(ray, own)
            except Exception as error:  # Ray raises it bare when a node takes too long to start
                raise StoreError(_connection_error(error, self._address)) from error
            try:
                yield ray
            finally:
                ray.shutdown()
        finally:
            if own is not None:
                shutil.rmtree(own, ignore_errors=True)
            for name in os.environ.keys() - before.keys():
                del os.environ[name]
            os.environ.update(before)

    def _connect(self, ray: Any, own: Path | None) -> None:
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "critical", "configure_logging": True}
        if own is None:
            ray.init(address=self._address, **settings)
            return
        # Sockets have short names only, and Ray opens its own folder to all: the one around it is ours alone.
        ray.init(
            num_cpus=self._num_cpus,
            num_gpus=0,
            include_dashboard=False,
            **_NO_REPORTER,
            object_store_memory=_OBJECT_STORE,
            _temp_dir=str(own / "ray"),
            _node_ip_address="127.0.0.1",
            **settings,
        )


class _Submitted:
    """The engine: tasks that Ray has been given."""

    def __init__(self, ray: Any, folder: Path) -> None:
        self._ray, self._folder = ray, folder
        # Our own schedule runs lost tasks again, so that damaged files and lost tasks are treated alike.
        self._remote = ray.remote(num_cpus=1, max_retries=0)(_run)
        self._names: dict[Any, str] = {}

    def room(self) -> int:
        """How many more tasks can start now; nodes may come and go."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1))) - len(self._names)

    def start(self, task: FileTask) -> None:
        """Give a task to Ray."""
        self._names[self._remote.remote(str(self._folder), to_json(task))] = task.name

    def next(self) -> tuple[str, dict[str, Any]] | None:
        """Wait for a task that ended, was lost or can't be run."""
        done, _ = self._ray.wait(list(self._names), num_returns=1, timeout=_SECONDS_BETWEEN_LOOKS)
        if not done:
            return None
        name = self._names.pop(done[0])
        try:
            outcome: dict[str, Any] = json.loads(self._ray.get(done[0]))
        except self._ray.exceptions.RayTaskError as error:
            return name, {"error": "UsageError", "lines": [_import_error(error)]}
        except self._ray.exceptions.RayError as error:
            return name, {"lost": type(error).__name__}
        return name, outcome


def _run(folder: str, task: str) -> str:
    """Run a task in a worker of Ray; from text to text."""
    os.environ.update(thread_settings(1))
    import torch

    torch.set_num_threads(1)
    return json.dumps(outcome_of(Path(folder), from_json(task)))


def _alone_in(folder: Path) -> dict[str, str]:
    """The environment of a cluster that listens on loopback, with a token that only this user can read."""
    path = folder / "token"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(_own_token())
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(path),
        # Else Ray takes another address of this machine instead of loopback, and listens on all.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }


@cache
def _own_token() -> str:
    """One token per process: Ray reads it once."""
    return secrets.token_hex(32)


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError("--on ray: needs the package ray. Run \"pip install 'gtea[ray]'\".") from error
    return ray


def _connection_error(error: Exception, address: str | None) -> str:
    """Why Ray could not be started, or not be reached."""
    why = (str(error).splitlines() or [type(error).__name__])[0][:300]
    if address is None:
        return f"--on ray: can't start Ray here ({why}). Try again when this machine has less to do, or --on local:N."
    remedy = "Check the address, the token (RAY_AUTH_TOKEN_PATH) and that all nodes have this version of Ray."
    return f"--on ray: can't connect ({why}). {remedy}"


def _import_error(error: Exception) -> str:
    """What went wrong outside of the task: as a rule a node without this version of gtea."""
    last = [line for line in str(error).splitlines() if line.strip()][-1]
    return f"a node of Ray: can't run tasks ({last[:300]}). Install the same version of gtea on all nodes."
