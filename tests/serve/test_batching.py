"""Photos of many requests in few batches, with bounds that hold."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import pytest
import torch
from torch import Tensor

from classgrow.photos.results import Prediction
from classgrow.serve.batching import Batcher
from classgrow.serve.refusals import RefusedError
from classgrow.serve.settings import Batching


def answered(source: str, value: float) -> Prediction:
    return Prediction(source, None, value, (), 0.0, True, ())


class Network:
    """Answers with the first pixel; the first batch takes until it is let go."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.tops: list[int] = []
        self.go = threading.Event()

    def answer(self, pixels: Sequence[Tensor], sources: Sequence[str], top: int) -> list[Prediction]:
        self.batches.append(len(pixels))
        self.tops.append(top)
        self.go.wait(30)
        if any(source == "broken" for source in sources):
            raise ValueError("this batch fails")
        return [answered(source, float(one[0])) for one, source in zip(pixels, sources, strict=True)]


def photo(value: int) -> Tensor:
    return torch.tensor([value])


def within(test: Callable[[Batcher, Network], Awaitable[None]], most: int = 4, places: int = 100) -> Network:
    network = Network()

    async def run() -> None:
        batcher = Batcher(Batching(most, 5.0), places, lambda size: None)
        batcher.start()
        await test(batcher, network)
        await batcher.stop()

    asyncio.run(run())
    return network


async def one(batcher: Batcher, network: Network, value: int, source: str = "x", top: int = 5) -> Prediction:
    with batcher.reserve(1):
        [found] = await batcher.ask(network.answer, [photo(value)], [source], top)
    return found


def test_what_comes_while_the_network_is_busy_is_one_batch() -> None:
    async def test(batcher: Batcher, network: Network) -> None:
        first = asyncio.create_task(one(batcher, network, 0))
        while not network.batches:
            await asyncio.sleep(0.001)
        rest = [asyncio.create_task(one(batcher, network, value, top=value)) for value in range(1, 8)]
        await asyncio.sleep(0.01)
        network.go.set()
        assert [found.probability for found in await asyncio.gather(first, *rest)] == list(range(8))

    network = within(test)
    assert network.batches == [1, 4, 3] and network.tops == [5, 4, 7]


def test_without_batching_each_goes_alone() -> None:
    async def test(batcher: Batcher, network: Network) -> None:
        network.go.set()
        await asyncio.gather(*(one(batcher, network, value) for value in range(5)))

    assert within(test, most=1).batches == [1] * 5


def test_a_full_queue_is_said_at_once_and_places_are_given_back() -> None:
    async def test(batcher: Batcher, network: Network) -> None:
        waiting = [asyncio.create_task(one(batcher, network, value)) for value in range(3)]
        await asyncio.sleep(0.01)
        with pytest.raises(RefusedError) as refused:
            await one(batcher, network, 9)
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
        network.go.set()
        await asyncio.gather(*waiting)
        assert batcher.taken == 0
        assert (await one(batcher, network, 9)).probability == 9

    within(test, places=3)


def test_who_gives_up_is_left_out_and_others_are_answered() -> None:
    async def test(batcher: Batcher, network: Network) -> None:
        first = asyncio.create_task(one(batcher, network, 0))
        while not network.batches:
            await asyncio.sleep(0.001)
        gone, stays = (asyncio.create_task(one(batcher, network, value)) for value in (1, 2))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.sleep(0.01)
        network.go.set()
        assert [(await task).probability for task in (first, stays)] == [0, 2]

    assert within(test).batches == [1, 1]


def test_a_batch_that_fails_is_told_to_all_of_it_and_the_next_is_answered() -> None:
    async def test(batcher: Batcher, network: Network) -> None:
        network.go.set()
        together = (one(batcher, network, 1, "broken"), one(batcher, network, 2))
        found = await asyncio.gather(*together, return_exceptions=True)
        assert [type(problem) for problem in found] == [ValueError, ValueError]
        assert (await one(batcher, network, 3)).probability == 3

    within(test)


def test_two_versions_are_never_asked_in_one_batch() -> None:
    other = Network()

    async def test(batcher: Batcher, network: Network) -> None:
        network.go.set()
        other.go.set()
        found = await asyncio.gather(*(one(batcher, (network, other)[value % 2], value) for value in range(4)))
        assert [one.probability for one in found] == [0, 1, 2, 3]

    network = within(test)
    assert (network.batches, other.batches) == ([2], [2])
