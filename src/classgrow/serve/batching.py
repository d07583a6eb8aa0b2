"""Photos of different requests go through the network together: what arrives within a few milliseconds is a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from classgrow.photos.results import Prediction
from classgrow.serve.refusals import busy
from classgrow.serve.settings import Batching

Result = TypeVar("Result")
Answer = Callable[[Sequence[Tensor], Sequence[str], int], list[Prediction]]


@dataclass(frozen=True)
class Waiting:
    """A photo that waits for the network, and who is to be told. `answer` is the model that it was decoded for."""

    answer: Answer
    pixels: Tensor
    source: str
    top: int
    told: asyncio.Future[Prediction]


class Batcher:
    """One thread runs the network. Places in the queue are taken before a photo is decoded, and are bounded."""

    def __init__(self, batching: Batching, places: int, observe: Callable[[int], None]) -> None:
        self.batching, self.places, self.observe = batching, places, observe
        self.taken = 0
        self.queue: asyncio.Queue[Waiting] = asyncio.Queue()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="classgrow-network")
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """After the last answer."""
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
        self.thread.shutdown()

    @contextmanager
    def reserve(self, photos: int) -> Iterator[None]:
        """Places for so many photos; RefusedError 429 where there are not as many."""
        if self.taken + photos > self.places:
            raise busy("Too many photos are waiting: try again in a second.")
        self.taken += photos
        try:
            yield
        finally:
            self.taken -= photos

    async def ask(self, answer: Answer, pixels: Sequence[Tensor], sources: Sequence[str], top: int) -> list[Prediction]:
        """The answers for photos whose places are reserved, in their order."""
        loop = asyncio.get_running_loop()
        asked = [
            Waiting(answer, one, source, top, loop.create_future()) for one, source in zip(pixels, sources, strict=True)
        ]
        for one in asked:
            self.queue.put_nowait(one)
        try:
            return list(await asyncio.gather(*(one.told for one in asked)))
        finally:
            for one in asked:
                one.told.cancel()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Something else that needs the network, between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, work)

    async def _work(self) -> None:
        while True:
            batch = await self._gather()
            for answer in dict.fromkeys(one.answer for one in batch):  # two only while a version is exchanged
                await self._answer([one for one in batch if one.answer == answer])

    async def _gather(self) -> list[Waiting]:
        """What waits; where more is on its way, a few milliseconds are given to it."""
        batch = [await self.queue.get()]
        until = asyncio.get_running_loop().time() + self.batching.milliseconds / 1000
        while len(batch) < self.batching.most:
            if not self.queue.empty():
                batch.append(self.queue.get_nowait())
                continue
            left = until - asyncio.get_running_loop().time()
            if left <= 0 or len(batch) >= self.taken:  # all that were announced are here
                break
            try:
                batch.append(await asyncio.wait_for(self.queue.get(), left))
            except TimeoutError:
                break
        return [one for one in batch if not one.told.done()]

    async def _answer(self, batch: Sequence[Waiting]) -> None:
        self.observe(len(batch))
        pixels, sources = [one.pixels for one in batch], [one.source for one in batch]
        top = max(one.top for one in batch)
        try:
            answers = await self.run(lambda: batch[0].answer(pixels, sources, top))
        except Exception as error:
            for one in batch:
                if not one.told.done():
                    one.told.set_exception(error)
            return
        for one, answer in zip(batch, answers, strict=True):
            if not one.told.done():
                one.told.set_result(answer)
