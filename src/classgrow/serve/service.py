"""The service without the web: a model that answers, a queue that teaches it, and a tray. The routes call this."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

from torch import Tensor

from classgrow.errors import ClassgrowError
from classgrow.file_lock import lock
from classgrow.photos.folder import beside, refuse_other_content
from classgrow.photos.model import PhotoModel
from classgrow.photos.names import UnusableNameError, class_name
from classgrow.photos.results import Prediction
from classgrow.progress import Silent
from classgrow.serve.batching import Batcher
from classgrow.serve.current import Current, Loaded
from classgrow.serve.jobs import Job, JobBook, Keep
from classgrow.serve.metrics import Metrics
from classgrow.serve.refusals import RefusedError, busy
from classgrow.serve.settings import Settings
from classgrow.serve.teaching import Teaching
from classgrow.serve.tray import Tray
from classgrow.serve.uploads import Decoder, Form, Upload

Done = TypeVar("Done")
LOOK_EVERY = 2.0
"""Seconds after which a change of the model's folder by another process is seen."""
TEACHING_AT_ONCE = 2


class Service:
    """One for each process. `start` and `stop` belong to the loop that answers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        refuse_other_content(settings.folder)
        self.folder = beside(settings.folder, "serve")
        self.held = only_one(self.folder)
        self.metrics = Metrics()
        self.current = Current(settings.folder, settings.wish)
        self.book = JobBook(self.folder / "jobs")
        self.tray = Tray(self.folder / "tray", settings.tray)
        self.decoder = Decoder()
        self.batcher = Batcher(settings.batching, settings.limits.queue, self.metrics.batches.add)
        self.teaching = Teaching(
            self.book, settings.folder, self.folder / "proposal", settings.wish, self.current.refresh
        )
        self.changing = asyncio.Lock()
        self.intakes = asyncio.Semaphore(TEACHING_AT_ONCE)
        self.watching: asyncio.Task[None] | None = None
        self.is_ready = False

    async def start(self) -> None:
        await asyncio.to_thread(self.current.refresh)
        self.batcher.start()
        self.teaching.start()
        self.watching = asyncio.create_task(self._watch())
        self.is_ready = True

    async def stop(self) -> None:
        self.is_ready = False
        if self.watching is not None:
            self.watching.cancel()
            with suppress(asyncio.CancelledError):
                await self.watching
        await self.teaching.stop()
        await self.batcher.stop()
        self.decoder.close()
        self.held.close()

    async def _watch(self) -> None:
        """Changes that others make (`classgrow learn` on the same folder) are seen too."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            with suppress(ClassgrowError):
                await asyncio.to_thread(self.current.refresh)

    # --- answering -------------------------------------------------------------------------------------------------

    async def predict(self, uploads: Sequence[Upload], top: int = 5) -> list[Prediction]:
        """The answers for uploaded photos; unknown ones go to the tray, if there is one."""
        loaded = self.current.need()
        self._check_count(len(uploads))
        with self.batcher.reserve(len(uploads)):
            async with self._in_time():
                pixels = await self.decoder.decode(uploads, self.form)
                answers = await self.batcher.ask(loaded.answer, pixels, [one.name for one in uploads], top)
        unknown = [one for one, answer in zip(pixels, answers, strict=True) if answer.unknown]
        if self.tray.most and unknown:
            await asyncio.to_thread(self.tray.add, unknown)
        return answers

    async def predict_pixels(self, loaded: Loaded, pixels: Sequence[Tensor], top: int) -> list[Prediction]:
        """The answers for photos that are decoded already."""
        self._check_count(len(pixels))
        with self.batcher.reserve(len(pixels)):
            async with self._in_time():
                sources = [f"image {place}" for place in range(len(pixels))]
                return await self.batcher.ask(loaded.answer, pixels, sources, top)

    def _in_time(self) -> InTime:
        return InTime(self.settings.limits.seconds)

    @property
    def form(self) -> Form:
        return Form(*self.current.form(), self.settings.limits.pixels)

    def _check_count(self, photos: int) -> None:
        most = self.settings.limits.photos
        if not photos:
            raise RefusedError(400, "There is no photo in the request: send one or more as `photo`.")
        if photos > most:
            raise RefusedError(413, f"{photos} photos are too many for one request: send at most {most}.")

    # --- teaching --------------------------------------------------------------------------------------------------

    async def teach(
        self,
        uploads: Sequence[Upload],
        names: Sequence[str],
        keep: Keep,
        origin: str,
        from_tray: Sequence[str] = (),
    ) -> Job:
        """Photos with the names of their classes (those of the tray have the last ones) join the queue."""
        self._check_count(len(uploads) + len(from_tray))
        classes = [usable_class(name) for name in names]
        if self._joins(keep, origin) is None and len(self.book.waiting()) >= self.settings.limits.jobs:
            raise busy("Too many teachings are waiting: keep or discard what is ready, or try again later.", 30)
        async with self.intakes, self._in_time():
            pixels = [*await self.decoder.decode(uploads, self.form), *map(self._in_tray, from_tray)]
            staged = await asyncio.to_thread(self.book.stage, pixels)
        joined = self._joins(keep, origin)  # from here on nothing comes in between
        if joined is None:
            job = self.book.add(staged, classes, keep, origin)
        else:
            job = self.book.extend(joined, staged, classes)
        self.tray.remove(from_tray)
        self.teaching.news.set()
        return job

    def _joins(self, keep: Keep, origin: str) -> Job | None:
        """The waiting job that more photos of the same kind belong to."""
        return self.book.open_for(origin, self.settings.limits.photos) if keep == "now" else None

    def _in_tray(self, digest: str) -> Tensor:
        pixels = self.tray.pixels(digest)
        if pixels is None:
            raise RefusedError(404, "A photo is not in the tray any more: look again.")
        return pixels

    def job(self, job_id: str) -> Job:
        if job_id not in self.book.jobs:
            raise RefusedError(404, "There is no such job.")
        return self.book.jobs[job_id]

    # --- changing --------------------------------------------------------------------------------------------------

    async def forget(self, name: str) -> dict[str, object]:
        """Take a class out, with everything that is kept of it, here and in the queue."""
        self._check_known(name)
        job = self.book.teaching(name)
        if job is not None:
            raise RefusedError(409, f"Photos of {name!r} are in the queue: discard the job first.")
        done = await self._change(lambda model: model.forget(name))
        return {
            "version": done.version.number,
            "checked": list(done.checked),
            "before": done.before,
            "after": done.after,
        }

    async def rename(self, old: str, new: str) -> int:
        self._check_known(old)
        new = usable_class(new)
        version = await self._change(lambda model: model.rename(old, new))
        self.book.rename(old, new)
        return version.number

    async def undo(self, number: int | None) -> int:
        """Back to an earlier version, by default the one before."""
        return (await self._change(lambda model: model.rollback(number))).number

    async def _change(self, change: Callable[[PhotoModel], Done]) -> Done:
        """A change of the model, one at a time; what is being learned is learned again onto the result."""
        self.current.need()
        async with self.changing, self.teaching.deciding:
            await self.teaching.start_over()
            done = await asyncio.to_thread(change, PhotoModel(self.settings.folder, progress=Silent()))
            await asyncio.to_thread(self.current.refresh)
            return done

    def _check_known(self, name: str) -> None:
        if name not in self.current.need().classes:
            raise RefusedError(404, f"The model knows no class {name!r}.")

    # --- showing ---------------------------------------------------------------------------------------------------

    def photo(self, digest: str) -> Path | None:
        """A kept photo, one of the tray, or one that waits to be learned."""
        loaded = self.current.loaded
        return (loaded.photo(digest) if loaded else None) or self.tray.path(digest)

    async def tray_groups(self) -> list[list[str]]:
        loaded = self.current.loaded
        if loaded is None:
            return []
        return await self.batcher.run(lambda: self.tray.groups(loaded))

    def gauges(self) -> dict[str, tuple[str, float]]:
        loaded = self.current.loaded
        return {
            "model_version": ("The version that answers (0: none).", loaded.version if loaded else 0),
            "classes": ("Classes it knows.", len(loaded.classes) if loaded else 0),
            "queue_photos": ("Photos that are decoded or wait for the network.", self.batcher.taken),
            "tray_photos": ("Unknown photos that wait to be named.", len(self.tray.digests)),
        }

    def job_states(self) -> Counter[str]:
        return Counter(job.state for job in self.book.jobs.values())


class InTime:
    """Inside, no more than so many seconds may pass; then 503."""

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self.timeout.__aenter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            await self.timeout.__aexit__(kind, error, None)
        except TimeoutError:
            raise RefusedError(503, "It took too long: try again, with fewer photos.", {"Retry-After": "5"}) from None


def usable_class(given: str) -> str:
    """The name of a class from a client; a RefusedError where it cannot be one."""
    try:
        return class_name(given)
    except UnusableNameError as problem:
        words = str(problem).replace("rename the folder", "choose another")
        raise RefusedError(400, f"The class {given[:50]!r} cannot be learned: {words}.") from problem


def only_one(folder: Path) -> IO[str]:
    """The lock of the one service of a model; held as long as the file is open."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder / "lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise ClassgrowError(f"{folder} cannot be written ({error.strerror}): choose another place.") from error
    if not lock(file):
        file.close()
        raise ClassgrowError("Another service answers for this model already: stop it first.")
    return file
