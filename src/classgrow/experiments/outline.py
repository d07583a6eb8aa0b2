"""What is known of a run before its data are read: its identity, its phases, how much training it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from classgrow.data.catalogue import load
from classgrow.experiments.plan import training_images
from classgrow.methods import METHODS, build_method
from classgrow.methods.fingerprint import value_of
from classgrow.methods.options import options_of
from classgrow.recipes import Kind
from classgrow.records.folder import run_dir
from classgrow.records.record import RECORD_FILE, Record, read_record
from classgrow.specs.spec import ResolvedSpec, Spec, identity, phases_to_run, resolve

MEGAFLOPS: dict[Kind, float] = {"digits": 0.6, "cifar": 69.0, "imagenet": 1800.0}
"""Millions of multiplications for one image through each kind's network: how runs of different kinds compare."""


@dataclass(frozen=True)
class DataFacts:
    """A data set from outside: image shape (H, W, C), how many training images each class has, by class id, and the
    fingerprint of a folder."""

    shape: tuple[int, int, int]
    of_class: tuple[int, ...]
    fingerprint: str = ""


KNOWN = {
    "cifar100": DataFacts((32, 32, 3), (500,) * 100),
    # 1,300 for most of the 100 classes, a few hundred fewer for some; 1,286 on the average of all of ImageNet
    "imagenet100": DataFacts((256, 256, 3), (1286,) * 100),
    "digits": DataFacts((8, 8, 1), (134, 137, 133, 138, 136, 137, 136, 135, 131, 135)),
    "mnist": DataFacts((28, 28, 1), (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)),
}


@dataclass(frozen=True)
class Outline:
    """A run as the grid sees it. `images`: how many its training goes over in each phase, repetitions counted."""

    spec: Spec
    identity: str
    kind: Kind
    phases: int
    images: tuple[int, ...]

    @property
    def label(self) -> str:
        """What a person calls it."""
        memory = f", memory {self.spec.memory:,}" if self.spec.memory else ""
        order = f", order {self.spec.order}" if self.spec.order else f", seed {self.spec.seed}"
        first, step = self.spec.first, self.spec.step
        sizes = f", {first} + {step} classes" if first and step else ""
        return f"{self.spec.method} on {self.spec.dataset}{sizes}{memory}{order}"

    def folder(self, output: Path) -> Path:
        return run_dir(output, self.identity)

    def work(self, phases_done: int = 0) -> float:
        """Training that is left after so many phases, in millions of multiplications."""
        return MEGAFLOPS[self.kind] * sum(self.images[phases_done:])


def outline(spec: Spec, data_dir: Path | None = None) -> Outline:
    """The outline of a spec; whatever is wrong with the spec is said here. Data are read only if nobody knows them."""
    facts = KNOWN.get(spec.dataset) or _read_facts(spec.dataset, data_dir)
    resolved = _resolved(spec, facts)
    phases = phases_to_run(spec, resolved)
    images = training_images(resolved, phases, [facts.of_class[number] for number in resolved.order])
    return Outline(spec, identity(resolved), resolved.kind, phases, images)


def _resolved(spec: Spec, facts: DataFacts) -> ResolvedSpec:
    method = build_method(spec.method, **spec.options)
    return resolve(
        spec,
        len(facts.of_class),
        method.recipe,
        facts.shape,
        keeps_memory=method.keeps_memory,
        own_options=options_of(METHODS.get(spec.method)),
        data=facts.fingerprint,
        value=value_of(spec.method, method),
    )


@cache
def _read_facts(dataset: str, data_dir: Path | None) -> DataFacts:
    data = load(dataset, data_dir)
    return DataFacts(data.train.shape, tuple(data.train.counts().tolist()), data.fingerprint)


def record_of(run: Outline, output: Path) -> Record | None:
    """What the run has recorded so far."""
    path = run.folder(output) / RECORD_FILE
    return read_record(path) if path.is_file() else None


def is_finished(run: Outline, output: Path) -> bool:
    """Whether every phase the spec asks for is recorded."""
    record = record_of(run, output)
    return record is not None and len(record.phases) >= run.phases
