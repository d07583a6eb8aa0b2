"""What is known of a run before its data are read: its identity, its phases, how much training it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from classgrow.data.catalogue import DATASETS, load
from classgrow.experiments.plan import resolved_for, training_images
from classgrow.inputs import Shape
from classgrow.networks.catalogue import NETWORKS
from classgrow.presets import PRESETS, PresetName
from classgrow.records.folder import run_dir
from classgrow.records.record import RECORD_FILE, Record, read_record
from classgrow.specs.spec import Spec, identity, phases_to_run


@dataclass(frozen=True)
class Outside:
    """A data set from outside: image shape, how many training images each class has, by class id, and the
    fingerprint of a folder."""

    shape: Shape
    of_class: tuple[int, ...]
    fingerprint: str = ""


@dataclass(frozen=True)
class Outline:
    """A run as the grid sees it. `images`: how many its training goes over in each phase, repetitions counted;
    `network`: "" for the preset's own."""

    spec: Spec
    identity: str
    preset: PresetName
    phases: int
    images: tuple[int, ...]
    network: str = ""

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
        return megaflops(self.preset) * self.relative_cost * sum(self.images[phases_done:])

    @property
    def relative_cost(self) -> float:
        """What an image costs, as a multiple of the preset's own network; 1 where it is unknown."""
        own = NETWORKS[self.network].megaflops if self.network else None
        return own / megaflops(self.preset) if own else 1.0


def megaflops(preset: PresetName) -> float:
    """Millions of multiplications for one image through the preset's network: how runs of different presets compare."""
    return NETWORKS[PRESETS[preset].network].megaflops or 1.0


def outline(spec: Spec, data_dir: Path | None = None) -> Outline:
    """The outline of a spec; an error in the spec is reported here. Data are read only if the catalogue lacks facts."""
    data = _published(spec.dataset) or _read(spec.dataset, data_dir)
    resolved = resolved_for(spec, len(data.of_class), data.shape, data.fingerprint)
    phases = phases_to_run(spec, resolved)
    images = training_images(resolved, phases, [data.of_class[number] for number in resolved.order])
    return Outline(spec, identity(resolved), resolved.kind, phases, images, resolved.network)


def _published(dataset: str) -> Outside | None:
    facts = DATASETS[dataset]
    if not (facts.published and facts.shape and facts.images_per_class):
        return None
    return Outside(facts.shape, facts.images_per_class)


@cache
def _read(dataset: str, data_dir: Path | None) -> Outside:
    data = load(dataset, data_dir)
    return Outside(data.train.shape, tuple(data.train.counts().tolist()), data.fingerprint)


def record_of(run: Outline, output: Path) -> Record | None:
    """What the run has recorded so far."""
    path = run.folder(output) / RECORD_FILE
    return read_record(path) if path.is_file() else None


def is_finished(run: Outline, output: Path) -> bool:
    """Whether every phase the spec asks for is recorded."""
    record = record_of(run, output)
    return record is not None and len(record.phases) >= run.phases
