"""Parts of a graph by several threads: in order, nothing lost, and torch has its threads back."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import threadpoolctl
import torch

from gtea.runtime.parallel import one_thread, one_thread_in_every_library, parallel_map

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def parts() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("gtea-part")]


def test_the_results_are_those_of_map() -> None:
    assert list(parallel_map(lambda x: x * x, range(100), CPU)) == [x * x for x in range(100)]


def test_every_library_has_one_thread_and_then_its_own_again() -> None:
    before = [(pool["prefix"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()]
    with one_thread_in_every_library():
        assert torch.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} == {1}
    assert torch.get_num_threads() == 2
    assert [(pool["prefix"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()] == before


def test_two_are_at_work_at_once_each_with_one_thread_of_torch() -> None:
    meet = threading.Barrier(2, timeout=60)

    def work(item: int) -> tuple[str, int]:
        meet.wait()
        return threading.current_thread().name, torch.get_num_threads()

    found = list(parallel_map(work, range(2), CPU))
    assert len({name for name, _ in found}) == 2
    assert [threads for _, threads in found] == [1, 1]
    assert torch.get_num_threads() == 2
    assert parts() == []


def test_an_error_reaches_the_caller_and_leaves_nothing_behind() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    with pytest.raises(ValueError, match="three"):
        list(parallel_map(work, range(50), CPU))
    assert torch.get_num_threads() == 2
    assert parts() == []


def test_who_stops_listening_leaves_nothing_behind() -> None:
    results = parallel_map(lambda x: x, range(1000), CPU)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert torch.get_num_threads() == 2
    assert parts() == []


def test_a_single_part_has_one_thread_too() -> None:
    """How many threads share a product may decide its last bit, and so the number of parts would."""
    assert list(parallel_map(lambda _: torch.get_num_threads(), [0], CPU)) == [1]
    assert torch.get_num_threads() == 2


def test_with_one_thread_the_caller_has_it_back_between_two_parts() -> None:
    torch.set_num_threads(1)
    assert [torch.get_num_threads() for _ in parallel_map(lambda x: x, range(3), CPU)] == [1, 1, 1]


def test_one_thread_gives_the_threads_back_after_an_error() -> None:
    def fail() -> None:
        with one_thread():
            assert torch.get_num_threads() == 1
            raise ValueError("one")

    with pytest.raises(ValueError, match="one"):
        fail()
    assert torch.get_num_threads() == 2
