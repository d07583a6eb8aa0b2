"""The queue at work: one job at a time is learned in a process of its own, then kept or discarded."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from classgrow.checkpoint import write_atomically
from classgrow.errors import ClassgrowError
from classgrow.photos.folder import one_writer, put_in_place
from classgrow.photos.presets import Wish
from classgrow.serve.current import version_digest
from classgrow.serve.jobs import PROGRESS, RESULT, Job, JobBook, Outcome, read_outcome
from classgrow.serve.refusals import RefusedError
from classgrow.serve.worker import BASE, COPY, WISH

LOG = logging.getLogger("classgrow.serve")
MOST_ATTEMPTS = 3
POLL_SECONDS = 0.5
AGAIN = "The model has changed meanwhile: it is learned again."


class Teaching:
    """Runs the jobs of a book. `changed` is called when the model's folder has another version."""

    def __init__(self, book: JobBook, model: Path, proposal: Path, wish: Wish, changed: Callable[[], object]) -> None:
        self.book, self.model, self.proposal, self.wish, self.changed = book, model, proposal, wish, changed
        self.process: asyncio.subprocess.Process | None = None
        self.news = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.deciding = asyncio.Lock()

    # --- the queue -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.recover()
        self.task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """What is being learned is learned on after the next start."""
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
        await self.end_process()

    def recover(self) -> None:
        """After a restart: what was being learned waits again, and a result is looked at."""
        here = version_digest(self.model)
        for job in list(self.book.jobs.values()):
            if job.state == "learning":
                self.book.put(replace(job, state="waiting"))
            if job.state == "ready" and job.result == here:  # ended just after the exchange
                self.book.put(replace(job, state="kept"))
            elif job.state == "ready" and job.result != version_digest(self.proposal / COPY):
                self.book.put(again(job))

    async def _work(self) -> None:
        while True:
            try:
                await self.step()
            except ClassgrowError as error:  # another process is changing the model, or the disk is full
                LOG.error("a job has to wait: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), POLL_SECONDS)
            self.news.clear()

    async def step(self) -> None:
        """Keep what nobody has to decide about, or learn the next job."""
        ready, waiting = self.book.in_state("ready"), self.book.waiting()
        if ready is not None:
            if ready.keep == "now" or ready.base != version_digest(self.model):
                async with self.deciding:
                    await self._keep(ready)
        elif waiting:
            async with self.deciding:  # not while the model is being changed
                job = await self.begin(waiting[0])
            await self.finish(job)

    async def begin(self, job: Job) -> Job:
        """Start the process that learns a job."""
        job = self.book.jobs[job.id]
        if job.state != "waiting":
            return job
        place = self.book.place(job)
        (place / RESULT).unlink(missing_ok=True)
        (place / PROGRESS).unlink(missing_ok=True)
        job = self.book.put(replace(job, state="learning", attempts=job.attempts + 1, error=None))
        wish = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self.wish).items()}
        write_atomically(self.proposal / WISH, json.dumps(wish).encode())
        command = (sys.executable, "-m", "classgrow.serve.worker", str(place), str(self.proposal), str(self.model))
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
        )
        return job

    async def finish(self, job: Job) -> None:
        """Wait for its end, and see what it left."""
        if self.process is None:
            return
        await self.process.wait()
        self.process = None
        job = self.book.jobs[job.id]
        if job.state == "learning":  # nobody has decided otherwise meanwhile
            self.book.put(after(job, read_outcome(self.book.place(job))))
            self.news.set()

    async def end_process(self) -> None:
        process = self.process
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    # --- decisions -------------------------------------------------------------------------------------------------

    async def keep(self, job: Job) -> Job:
        """The proposal becomes the model's present version."""
        if job.state == "kept":
            return job
        if job.state != "ready":
            raise RefusedError(409, f"This job is {job.state}: only one that is ready can be kept.")
        async with self.deciding:
            return await self._keep(self.book.jobs[job.id])

    async def _keep(self, job: Job) -> Job:
        if job.state != "ready":
            return job
        fits = await asyncio.to_thread(self._exchange, job)
        await asyncio.to_thread(self.changed)  # whoever sees "kept" sees the new version too
        done = self.book.put(replace(job, state="kept") if fits else again(job))
        self.news.set()
        return done

    def _exchange(self, job: Job) -> bool:
        """Whether the proposal fits the model as it is, and has taken its place."""
        with one_writer(self.model):
            here = version_digest(self.model)
            if here == job.result:
                return True
            if here != job.base or version_digest(self.proposal / COPY) != job.result:
                return False
            put_in_place(self.proposal / COPY, self.model)
        clear(self.proposal)
        return True

    async def discard(self, job: Job) -> Job:
        """Nothing of it is kept."""
        if job.state == "discarded":
            return job
        if job.is_over:
            raise RefusedError(
                409, f"This job is {job.state}: there is nothing to discard; `undo` takes back what was kept."
            )
        async with self.deciding:
            running = self.book.jobs[job.id].state in ("learning", "ready")
            done = self.book.put(replace(self.book.jobs[job.id], state="discarded"))
            if running:
                await self.end_process()
                await asyncio.to_thread(clear, self.proposal)
        self.news.set()
        return done

    async def start_over(self) -> None:
        """The model was changed: what was learned onto the version before is learned again, and nothing of it stays."""
        for job in [one for one in self.book.jobs.values() if one.state in ("learning", "ready")]:
            self.book.put(again(job))
            await self.end_process()
            await asyncio.to_thread(clear, self.proposal)
        self.news.set()


def again(job: Job) -> Job:
    """To be learned again, onto another version."""
    return replace(job, state="waiting", base="", result="", before={}, after={}, attempts=0, notes=(AGAIN,))


def after(job: Job, outcome: Outcome | None) -> Job:
    """A job whose process has ended."""
    if outcome is None and job.attempts < MOST_ATTEMPTS:
        return replace(job, state="waiting")
    if outcome is None:
        return replace(job, state="failed", error=f"The process that learns was ended {job.attempts} times.")
    if outcome.error is not None:
        return replace(job, state="failed", error=outcome.error)
    return replace(
        job,
        state="ready",
        base=outcome.base,
        result=outcome.result,
        before=outcome.before,
        after=outcome.after,
        notes=outcome.notes,
    )


def clear(proposal: Path) -> None:
    (proposal / BASE).unlink(missing_ok=True)
    shutil.rmtree(proposal / COPY, ignore_errors=True)
