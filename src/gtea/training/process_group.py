"""How processes that train together find each other: as torchrun says, or by a file on one machine.

Arrays in the memory of GPUs cross by nccl, everything else by gloo. Neither knows passwords or encryption: whoever
reaches their ports can disturb a training. On one machine they listen on loopback only.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore, PrefixStore, Store  # type: ignore[attr-defined]  # public, but not marked so
from torch.distributed.rendezvous import rendezvous

from gtea.errors import UsageError
from gtea.runtime.device import silent_seconds
from gtea.training.workers import Workers, reaching_the_others

_INTERFACE = "GLOO_SOCKET_IFNAME"
_SECONDS_BETWEEN_LOOKS = 0.05


@contextlib.contextmanager
def joined_by_file(meeting: Path, number: int, count: int, device: str) -> Iterator[Workers]:
    """Join the other processes of this machine.

    Args:
        meeting: A file that all of them name, in a folder that others can't read. It doesn't exist before.
        number: The number of this worker.
        count: How many there are.
        device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
    """
    _stay_on_this_machine()
    with _joined(Workers(number, count), device, number, count, store=FileStore(str(meeting), count)) as workers:
        yield workers


@contextlib.contextmanager
def joined_by_torchrun(device: str) -> Iterator[Workers]:
    """Join the processes that torchrun has started, on this machine or on others."""
    number, count, local_number, local_count = (
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    if local_count == count:
        _stay_on_this_machine()
    how: dict[str, Any] = {}
    if count > 1:
        with reaching_the_others():
            patience = timedelta(seconds=silent_seconds())
            store, _, _ = next(rendezvous("env://", number, count, timeout=patience))
            how["store"] = _unused_part(store, number, count)
    with _joined(Workers(number, count), device, local_number, local_count, **how) as workers:
        yield workers


def _unused_part(store: Store, number: int, count: int) -> Store:
    """A part of a store that no workers before these have used.

    torchrun may keep its store when it starts workers again, and the addresses of those that have died are still in it.
    So each worker says a word that nobody has said before, and the leader answers it with the name of a new part.
    """
    own, deadline = uuid.uuid4().hex, time.monotonic() + silent_seconds()
    if number > 0:
        store.set(f"gtea/here/{number}", own)
        name = store.get(f"gtea/join/{own}").decode()
        store.set(f"gtea/{name}/{number}", "joined")
        return PrefixStore(name, store)
    missing = set(range(1, count))
    while missing:
        for each in sorted(missing):
            if store.check([f"gtea/here/{each}"]):  # it may be the word of one that has died: then another follows
                store.set(f"gtea/join/{store.get(f'gtea/here/{each}').decode()}", own)
            if store.check([f"gtea/{own}/{each}"]):
                missing.discard(each)
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(missing)} of {count} workers did not come")
        if missing:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    return PrefixStore(own, store)


@contextlib.contextmanager
def _joined(workers: Workers, device: str, local_number: int, local_count: int, **how: Any) -> Iterator[Workers]:
    backend = "cpu:gloo,cuda:nccl" if _has_own_gpu(device, local_number, local_count) else "gloo"
    if workers.count > 1:
        with reaching_the_others():
            dist.init_process_group(
                backend,
                timeout=timedelta(seconds=silent_seconds()),
                rank=workers.number,
                world_size=workers.count,
                **how,
            )
    yield workers
    if workers.count > 1:  # after an error the process ends, and need not ask the others
        dist.destroy_process_group()


def _has_own_gpu(device: str, local_number: int, local_count: int) -> bool:
    """Whether to compute on a GPU. Each worker of a machine takes its own: ``"cuda"`` then means that one."""
    if device == "cpu" or not torch.cuda.is_available():
        return False
    if local_count > torch.cuda.device_count():
        raise UsageError(
            f"--device {device}: each worker of a machine must have a GPU of its own (got {local_count} workers and "
            f"{torch.cuda.device_count()} GPUs). Start fewer workers, or pass --device cpu."
        )
    torch.cuda.set_device(local_number)
    return True


def _stay_on_this_machine() -> None:
    """Let gloo listen on loopback only, unless the user has named an interface."""
    names = [name for _, name in socket.if_nameindex()]
    loopback = next((name for name in ("lo", "lo0") if name in names), None)
    if loopback is not None:
        os.environ.setdefault(_INTERFACE, loopback)
