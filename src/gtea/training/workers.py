"""The processes that train one model together, and what they say to each other.

Each has a number; number 0 leads. The leader alone writes files, validates, and tells results and errors. All others
compute their share of each batch. Everything that crosses is arrays of numbers or JSON.

What goes wrong in one of them ends all, and is told once: the others learn of it at the next exchange, and exit with
its code. If a process dies, the exchange fails in all that are left.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from gtea import errors
from gtea.cluster.tasks import error_outcome
from gtea.config import RunConfig
from gtea.errors import GteaError, ModelError, UsageError
from gtea.models.registry import entry_of
from gtea.training.run_record import shown_difference


class LostWorkerError(ModelError):
    """Another worker died, can't be reached, or was silent for too long."""


@dataclass(frozen=True)
class Workers:
    """This process among those that train together. By default it is alone."""

    number: int = 0
    count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and tells results."""
        return self.number == 0

    def share_of(self, num_parts: int) -> range:
        """The parts of a batch that this worker computes: neighbours in the order in which they are added up."""
        return _share(num_parts, self.number, self.count)

    def gather(self, rows: Tensor, num_parts: int) -> Tensor:
        """The rows of all parts in order, from the rows of each worker's share.

        Every worker gets every row, and adds them up itself. To add while sending, as all-reduce does, is quicker with
        many workers, but the order of the sum would depend on how many there are.
        """
        if self.count == 1:
            return rows
        longest = -(-num_parts // self.count)
        own = rows.new_zeros((longest, *rows.shape[1:]))
        own[: len(rows)] = rows
        gathered = [torch.empty_like(own) for _ in range(self.count)]
        with reaching_the_others():
            dist.all_gather(gathered, own)
        return torch.cat([each[: len(_share(num_parts, number, self.count))] for number, each in enumerate(gathered)])

    def from_leader(self, work: Callable[[], Any]) -> Any:
        """What the leader alone does, and its result in JSON in every worker. Its error ends all."""
        if self.count == 1:
            return work()
        if not self.leads:
            said = json.loads(self.bytes_from_leader(b""))
            if "error" in said:
                _exit_for(said)
            return said["result"]
        try:
            result = work()
        except GteaError as error:
            self.bytes_from_leader(json.dumps(error_outcome(error)).encode())
            raise
        self.bytes_from_leader(json.dumps({"result": result}).encode())
        return result

    def bytes_from_leader(self, content: bytes) -> bytes:
        """The leader's bytes in every worker."""
        if self.count == 1:
            return content
        size = torch.tensor([len(content)])
        with reaching_the_others():
            dist.broadcast(size, 0)
            received = _numbers(content) if self.leads else torch.empty(int(size), dtype=torch.uint8)
            if len(received):
                dist.broadcast(received, 0)
        return received.numpy().tobytes()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Every worker runs the body. An error in one of them ends all; the leader tells it."""
        if self.count == 1:
            yield
            return
        try:
            yield
        except GteaError as error:
            self._end_with(self.each_says(error_outcome(error)))
        self._end_with(self.each_says({}))

    def each_says(self, content: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What every worker says, in order, in every worker."""
        if self.count == 1:
            return [dict(content)]
        words = json.dumps(content).encode()
        size = torch.tensor([len(words)])
        sizes = [torch.empty_like(size) for _ in range(self.count)]
        with reaching_the_others():
            dist.all_gather(sizes, size)
            own = torch.zeros(max(map(int, sizes)), dtype=torch.uint8)
            own[: len(words)] = _numbers(words)
            gathered = [torch.empty_like(own) for _ in range(self.count)]
            dist.all_gather(gathered, own)
        return [json.loads(each[: int(length)].numpy().tobytes()) for each, length in zip(gathered, sizes, strict=True)]

    def require_alike(self, facts: Mapping[str, Any], host: str) -> None:
        """Raise unless every worker has the facts of the leader: what the bytes of the weights depend on."""
        if self.count == 1:
            return
        said = self.each_says({"host": host, "facts": facts})
        for number, each in enumerate(said):
            found = shown_difference(said[0]["facts"], each["facts"])
            if found is not None:
                name, leaders, own = found
                self.fail(
                    UsageError(
                        f"{name} must be the same in all workers (got {own} in worker {number} on {each['host']}, and "
                        f"{leaders} in worker 0 on {said[0]['host']}). Give them the same store, labels, settings, "
                        "versions and kind of processor."
                    )
                )

    def require_same_weights(self, network: nn.Module) -> None:
        """Raise unless every worker has the same weights: all took the same steps, so that only a fault parts them."""
        if self.count == 1:
            return
        digest = hashlib.sha256()
        for parameter in network.parameters():
            digest.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        said = self.each_says({"weights": digest.hexdigest()})
        others = [number for number, each in enumerate(said) if each != said[0]]
        if others:
            self.fail(
                ModelError(
                    f"training: the weights must be the same in all workers (got others in worker {others[0]} than in "
                    "worker 0). Check the memory and processors of both; resume from the last checkpoint."
                )
            )

    def fail(self, error: GteaError) -> NoReturn:
        """Raise an error that every worker has found. Only the leader tells it."""
        if self.leads:
            raise error
        raise SystemExit(error.exit_code)

    def _end_with(self, said: Sequence[Mapping[str, Any]]) -> None:
        for number, each in enumerate(said):
            if "error" not in each:
                continue
            if not self.leads:
                _exit_for(each)
            first, *more = each["lines"]
            raise getattr(errors, each["error"])(first if number == 0 else f"worker {number}: {first}", *more)


ALONE = Workers()


def require_shareable(config: RunConfig, count: int) -> None:
    """Raise unless that many workers can share the training of a model."""
    if count > 1 and not entry_of(config.model).fitted_in_epochs:
        raise UsageError(
            f"--variant {config.model.family}: is fitted at once and not in steps, so workers can't share it "
            f"(got {count} workers). Train it in one process."
        )
    if count > config.train.micro_batches:
        raise UsageError(
            "train.micro_batches must be at least the number of workers, who share the micro-batches of each batch "
            f"(got {config.train.micro_batches} and {count}). Try --set train.micro_batches={count}; the model "
            "depends on that setting, and not on how many workers there are."
        )


def _share(num_parts: int, number: int, count: int) -> range:
    """Contiguous parts of a worker. No worker has more than one part more than another."""
    longer, least = num_parts % count, num_parts // count
    start = number * least + min(number, longer)
    return range(start, start + least + (number < longer))


def _numbers(content: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(content, dtype=np.uint8).copy())


def _exit_for(told: Mapping[str, Any]) -> NoReturn:
    """End a worker that doesn't lead, with the code of an error that the leader tells."""
    raise SystemExit(getattr(errors, told["error"]).exit_code)


@contextlib.contextmanager
def reaching_the_others() -> Iterator[None]:
    """Say what it means if an exchange fails."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0].split(" This is typically")[0].split("] ", 1)[-1]
        raise LostWorkerError(
            f"training: another worker has died, or was silent for too long ({reason}). If it says why, that is above. "
            "Start the same command again: it goes on from the last checkpoint."
        ) from error
