"""A grid on a Ray cluster: a run is a task with its demand of cores and GPUs. Needs the extra `ray`.

Every node must see the output folder (and the data) under the same path: runs keep their checkpoints there.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from classgrow.errors import ClassgrowError
from classgrow.experiments.worker import Event, Job, work

CONNECT_SECONDS = 10.0
Remote = Any
"""What Ray makes of a class or a call: it has no types."""


class Mailbox:
    """Where tasks leave their events; an actor of its own, which needs no core."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, line: str) -> None:
        self.lines.append(line)

    def take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def carry_out(line: str, mailbox: Remote) -> str:
    """The task: work off a job. If its process dies, Ray starts it again and it goes on from its checkpoint."""
    job = Job.from_line(line)
    os.environ["OMP_NUM_THREADS"] = str(job.threads or 1)
    return work(job, lambda event: mailbox.put.remote(event.line())).line()


def connect(address: str) -> bool:
    """Join the cluster at `address`; "auto": the one that runs here, else one is started on this machine.

    True if this call connected, so that it is its caller's to disconnect.
    """
    ray = import_ray()
    if ray.is_initialized():
        return False
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address != "auto":
            check_reachable(address)
        ray.init(address=address, **quiet)
    except (ConnectionError, OSError, ValueError) as error:
        if address != "auto":
            raise ClassgrowError(
                f"No Ray cluster answers at {address!r}: check the address (host:port), or give `ray` = auto to use "
                "this machine."
            ) from error
        ray.init(include_dashboard=False, **quiet)
    return True


def check_reachable(address: str) -> None:
    """Raises an error where nothing listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


def import_ray() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's coming default; silences its warning
    try:
        import ray
    except ImportError:
        raise ClassgrowError("Ray is not installed: pip install 'classgrow[ray]', or give `workers` instead.") from None
    return ray


class RayCrew:
    """Keeps as many tasks in flight as the cluster has room for; `threads` cores each, and a GPU where there are any.

    Ray itself starts a task again when its worker dies, `restarts` times at most.
    """

    retries = 0

    def __init__(self, address: str, threads: int = 1, restarts: int = 3) -> None:
        self.address, self.threads, self.restarts = address, threads, restarts
        self.ray = import_ray()
        self.tasks: dict[Remote, str] = {}

    def __enter__(self) -> Self:
        self._ours = connect(self.address)
        self.gpus = 1 if self.ray.cluster_resources().get("GPU") else 0
        if self.room() < 1:
            raise ClassgrowError(f"The Ray cluster has fewer than {self.threads} cores: lower `threads`.")
        self.task = self.ray.remote(num_cpus=self.threads, num_gpus=self.gpus, max_retries=self.restarts)(carry_out)
        self.mailbox = self.ray.remote(num_cpus=0)(Mailbox).remote()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(self.ray.exceptions.RayError):  # a cluster that is lost needs no telling
            for task in self.tasks:
                self.ray.cancel(task, force=True)
        if self._ours:
            self.ray.shutdown()

    def room(self) -> int:
        """Tasks the cluster can run at once, as it is now."""
        with self._answering():
            resources = self.ray.cluster_resources()
        by_cores = int(resources.get("CPU", 0)) // self.threads
        return min(by_cores, int(resources.get("GPU", 0))) if self.gpus else by_cores

    def free(self) -> int:
        return self.room() - len(self.tasks)

    def start(self, job: Job) -> None:
        data_dir = None if job.data_dir is None else job.data_dir.resolve()
        everywhere = replace(job, output=job.output.resolve(), data_dir=data_dir, threads=self.threads)
        self.tasks[self.task.remote(everywhere.line(), self.mailbox)] = job.run

    def events(self, seconds: float) -> list[Event]:
        if not self.tasks:
            time.sleep(seconds)  # others have what is left: nothing of ours can end
        with self._answering():
            ended, _ = self.ray.wait(list(self.tasks), timeout=seconds)
            heard = [Event(**json.loads(line)) for line in self.ray.get(self.mailbox.take.remote())]
        return heard + [self._end(task) for task in ended]

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """A cluster that is lost ends the grid with one sentence."""
        try:
            yield
        except self.ray.exceptions.RayError as error:
            raise ClassgrowError(
                "The Ray cluster stopped answering; what was recorded is not lost: the same command goes on."
            ) from error

    def _end(self, task: Remote) -> Event:
        run = self.tasks.pop(task)
        try:
            return Event(**json.loads(self.ray.get(task)))
        except self.ray.exceptions.RayError as error:
            first = (str(error).strip().splitlines() or [""])[0]
            return Event(run, "died", text=f"Ray gave up after {self.restarts + 1} starts ({first})")
