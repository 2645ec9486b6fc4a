"""What --on may name."""

from __future__ import annotations

import pytest

from gtea.cluster.carriers import carrier_of
from gtea.cluster.job_array import JobArray
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.ray_tasks import RayTasks
from gtea.errors import UsageError


def test_every_carrier_has_a_name() -> None:
    pool, array = carrier_of("local:3"), carrier_of("array:1/4")
    assert isinstance(pool, LocalPool)
    assert pool.num_workers == 3
    assert isinstance(array, JobArray)
    assert (array.number, array.num_workers) == (1, 4)
    assert isinstance(carrier_of("ray"), RayTasks)
    assert isinstance(carrier_of("ray:10.0.0.5:6379"), RayTasks)


@pytest.mark.parametrize("text", ["local", "local:0", "local:-1", "spark", "array:1", "array:a/b", "raymond"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--on: must be local:N, array:K/N, ray or ray:ADDRESS"):
        carrier_of(text)


def test_jobs_are_numbered_from_0() -> None:
    with pytest.raises(UsageError, match=r"jobs are numbered from 0 .got 4 of 4"):
        carrier_of("array:4/4")
