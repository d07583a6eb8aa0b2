"""How fast a training step is on this processor, timed in a child process and remembered.

What a processor says it can do proves little: some imitate bfloat16 and are ten times slower in it, and one virtual
Xeon lists AMX and dies of an illegal instruction when it is used. A child process costs nothing when it dies.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from classgrow.data.cache import user_cache
from classgrow.disk import read_regular
from classgrow.engine.runtime import Execution, Precision, Runtime
from classgrow.networks.catalogue import build_backbone
from classgrow.networks.network import channels_last
from classgrow.records.environment import hardware

Question = dict[str, Any]
"""What is asked of a child process, as JSON."""
TIMES_FASTER = 1.2
"""bfloat16 is taken from here on: less may be noise, and float32 is what the paper's authors used."""
EAGER_LIMIT, COMPILED_LIMIT = 120.0, 300.0
"""Seconds after which a child is ended. One needs 5 to 10, one that compiles a minute; a busy machine takes longer."""
TURNS, TURN_SECONDS = 5, 8.0
"""Every way takes its turn so often, or until so much time has passed."""
PIXELS = 1_000_000
"""Of larger batches only a part is timed."""


@dataclass(frozen=True)
class Step:
    """A training step: of which network, on how many images of which size, with how many threads."""

    network: str
    size: int
    channels: int
    images: int
    threads: int

    def part(self) -> Step:
        """The same on as many images as it takes to time it."""
        images = max(1, min(self.images, PIXELS // self.size**2))
        return Step(self.network, self.size, self.channels, images, self.threads)


@dataclass(frozen=True)
class Way:
    """How a step is computed."""

    precision: Precision = "float32"
    compiled: bool = False

    def __str__(self) -> str:
        return f"{self.precision}, compiled" if self.compiled else self.precision


@dataclass(frozen=True)
class Timing:
    """A step. `seconds`: processor time for each thread, which other work hardly lengthens, in the fastest
    of its turns (threads that wait for each other burn some); `first`: what passed in the first one, which also sets
    things up."""

    seconds: float
    first: float


Timings = dict[str, Timing]
"""By the way's words; empty where the step cannot be timed."""
PRECISIONS = (Way("float32"), Way("bfloat16"))


def runs_in_bfloat16(step: Step) -> bool:
    """Whether this processor computes the step in bfloat16 at all, fast or slow."""
    return bool(timings(step, PRECISIONS))


def faster_precision(step: Step) -> Precision:
    """bfloat16 where it is at least `TIMES_FASTER` times as fast here; float32 also where nothing could be timed."""
    found = timings(step, PRECISIONS)
    faster = found and found["float32"].seconds >= TIMES_FASTER * found["bfloat16"].seconds
    return "bfloat16" if faster else "float32"


def compiling_saves(step: Step, precision: Precision, images: int) -> bool:
    """Whether compiled steps over so many images save more than twice the time that compiling takes."""
    plain, compiled = Way(precision), Way(precision, compiled=True)
    found = timings(step, (plain, compiled))
    if not found:
        return False
    saved = (found[str(plain)].seconds - found[str(compiled)].seconds) * images / step.part().images
    return saved > 2 * found[str(compiled)].first


def is_measured(step: Step) -> bool:
    """Whether it is known how fast the step is in each precision here."""
    question = asked(step.part(), PRECISIONS)
    return read(answer_file(question), question) is not None


def timings(step: Step, ways: Sequence[Way]) -> Timings:
    """What is remembered of this processor, or else measured now."""
    question = asked(step.part(), ways)
    path = answer_file(question)
    remembered = read(path, question)
    if remembered is not None:
        return remembered
    limit = COMPILED_LIMIT if any(way.compiled for way in ways) else EAGER_LIMIT
    found = measured(question, limit)
    if found is None:  # it hung, say, on a machine that was busy: another time may tell
        return {}
    keep(path, question, found)
    return found


# --- what is remembered ----------------------------------------------------------------------------------------------


def asked(step: Step, ways: Sequence[Way]) -> Question:
    """The question as plain values: everything that may change its answer."""
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    machine = {"processor": processor(), "torch": torch.__version__, "limit": limit}
    return {**machine, "step": asdict(step), "ways": [asdict(way) for way in ways]}


@cache
def processor() -> str:
    """Its name, and a digest of its abilities: virtual machines share names."""
    abilities = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        abilities = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{hardware().cpu} {hashlib.blake2b(abilities.encode(), digest_size=4).hexdigest()}"


def answer_file(question: Question) -> Path:
    """A file for each question, under the processor's name."""
    name = re.sub(r"[^a-z0-9]+", "-", question["processor"].lower()).strip("-")
    digest = hashlib.blake2b(json.dumps(question).encode(), digest_size=8).hexdigest()
    return user_cache() / "steps" / f"{name}-{digest}.json"


def read(path: Path, question: Question) -> Timings | None:
    """What the file answers to the question; None if there is none, or it is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        content = json.loads(read_regular(path, 2**20))
        if content["question"] == question:
            return {} if content["timings"] == {} else checked(content["timings"], question)
    return None


def keep(path: Path, question: Question, found: Timings) -> None:
    """Remember it; where that cannot be, it is measured again next time."""
    content = {"question": question, "timings": {way: asdict(timing) for way, timing in found.items()}}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        Path(temporary).replace(path)


def checked(content: Question, question: Question) -> Timings:
    """Timings of all ways that were asked for, from JSON values; anything else is a ValueError, or another."""
    found = {str(way): Timing(**content[str(way)]) for way in (Way(**way) for way in question["ways"])}
    numbers = [float(number) for timing in found.values() for number in (timing.seconds, timing.first)]
    if not all(math.isfinite(number) and number > 0 for number in numbers):
        raise ValueError("no times")
    return found


# --- the child -------------------------------------------------------------------------------------------------------


def measured(question: Question, limit: float) -> Timings | None:
    """The answer of a child process; empty if an instruction killed it, None if it failed in any other way."""
    try:
        done = subprocess.run(child(question), capture_output=True, text=True, timeout=limit)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if done.returncode == -signal.SIGILL:
        return {}
    with suppress(ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        if done.returncode == 0:
            return checked(json.loads(done.stdout.strip().splitlines()[-1]), question)
    return None


def child(question: Question) -> list[str]:
    """The command that times the step."""
    return [sys.executable, "-m", "classgrow.engine.probe", json.dumps(question)]


def timed(step: Step, ways: Sequence[Way]) -> Timings:
    """Time the step in this process, every way in turn."""
    backbone = channels_last(build_backbone(step.network, step.channels, False).train())
    draws = torch.Generator().manual_seed(0)
    images = torch.randn(step.images, step.channels, step.size, step.size, generator=draws)
    images = images.contiguous(memory_format=torch.channels_last)
    steps: dict[str, Callable[[], None]] = {}
    for way in ways:
        runtime = Runtime(Execution("cpu", step.threads, compiled=way.compiled, precision=way.precision))
        steps[str(way)] = partial(one_step, backbone, images, runtime)
    first = {name: passed(run, time.perf_counter) for name, run in steps.items()}
    turns: dict[str, list[float]] = {name: [] for name in steps}
    started = time.perf_counter()
    for turn in range(TURNS):
        if turn and time.perf_counter() - started > TURN_SECONDS:
            break
        for name, run in steps.items():
            turns[name].append(passed(run, time.process_time) / step.threads)
    return {name: Timing(min(turns[name]), first[name]) for name in steps}


def one_step(backbone: nn.Module, images: Tensor, runtime: Runtime) -> None:
    """Forward and backward, as the training loop does it."""
    computed = runtime.compiled(backbone) if runtime.execution.compiled else backbone
    with runtime.active():
        with runtime.precision():
            features: Tensor = computed(images)
        features.to(images.dtype).square().mean().backward()
    backbone.zero_grad(set_to_none=True)


def passed(run: Callable[[], None], clock: Callable[[], float]) -> float:
    """Seconds by that clock."""
    started = clock()
    run()
    return clock() - started


def main() -> None:
    """The question comes as JSON; the last line printed is the answer."""
    question = json.loads(sys.argv[1])
    found = timed(Step(**question["step"]), [Way(**way) for way in question["ways"]])
    print("\n" + json.dumps({way: asdict(timing) for way, timing in found.items()}))


if __name__ == "__main__":
    main()
