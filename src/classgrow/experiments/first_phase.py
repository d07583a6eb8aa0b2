"""A trained first phase, kept beside the runs: where several begin alike by construction, only one has to train it.

Kept is the checkpoint right after the last training of phase 1, under a name made of all that decides its bits. What
follows (exemplars, rules, tests) each run does by itself, so that the methods and the memory may differ from there on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import torch

from classgrow import checkpoint
from classgrow.checkpoint import Checkpoint, CheckpointFile
from classgrow.data.catalogue import DATASETS
from classgrow.data.labelled import LabelledImages
from classgrow.engine.group import Group
from classgrow.engine.probe import processor
from classgrow.errors import ClassgrowError
from classgrow.experiments.plan import method_of, network_of
from classgrow.experiments.start import now
from classgrow.file_lock import lock
from classgrow.json_values import Json, JsonDict
from classgrow.learner.phases import Saved, saved_phase
from classgrow.method import Method
from classgrow.methods.fingerprint import value_of
from classgrow.methods.own_code import is_ours
from classgrow.networks.catalogue import NETWORKS
from classgrow.parts.rules import LargestLogit
from classgrow.progress import Progress
from classgrow.records import record as records
from classgrow.records.environment import code
from classgrow.records.record import RECORD_FILE, Record, write_record
from classgrow.specs.spec import ResolvedSpec
from classgrow.specs.typed import as_json
from classgrow.state import Tensors
from classgrow.steps import PhasePlan, declared, in_first_phase

if TYPE_CHECKING:
    from classgrow.experiments.run import Run

FOLDER, STATE_FILE, LOCK_FILE = "first-phases", "state.safetensors", "lock"
MARK = "first_phase"
"""In the checkpoint of a run that trains a first phase: which one, so that it may keep it when it resumes."""
ROOMS = ("data", "engine", "learner", "networks", "parts", "steps")
LEAVES = ("inputs.py", "memory.py", "schedules.py", "seeds.py", "state.py", "views.py")
"""The code that a first phase runs; an edited file makes it another one."""


@dataclass
class FirstPhase:
    """A first phase that several runs may have in common.

    `question` is all that decides its bits; `step` the number of the step that comes after its last training. It is
    taken from a file only where that answers the very same question; whoever holds its lock trains it and keeps it.
    """

    question: JsonDict
    step: int
    folder: Path
    run: str
    progress: Progress
    _held: IO[str] | None = field(default=None, repr=False)

    @property
    def identity(self) -> str:
        return self.folder.name

    def taken_over(self, wait: bool = True) -> Saved | None:
        """The trained state, if there is one. If not, this run is to train and keep it, unless another one does;
        `wait` for that one, as its result comes sooner than one's own."""
        found = self._read()
        if found is None and not self.claim() and wait:
            self.progress.say("Another run is training the same first phase: this one waits for it.")
            self.claim(wait=True)
            found = self._read()
        if found is not None:
            self.let_go()
        return found

    def claim(self, wait: bool = False) -> bool:
        """Whether this run may train and keep it; where nothing can be written, it keeps nothing."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / LOCK_FILE).open("w")
        except OSError:
            return True
        if lock(file, wait=wait):
            self._held = file
            return True
        file.close()
        return False

    def is_begun_in(self, saved: Saved) -> bool:
        """Whether a run's own checkpoint is on the way to this very first phase."""
        return saved[1].get(MARK) == self.identity and saved_phase(saved[1])["step"] < self.step

    def let_go(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def keep(self, tensors: Tensors, plain: Mapping[str, object]) -> None:
        """Keep a checkpoint that was made right after the last training, and let others have it."""
        if self._held is None or (plain["phase"], plain["step"], plain["point"]) != (1, self.step, None):
            return
        origin = records.FirstPhase(identity=self.identity, run=self.run, code=code(), finished=now())
        content = {**plain, "question": self.question, "origin": origin.model_dump(mode="json")}
        try:
            checkpoint.write(self.folder / STATE_FILE, tensors, content)
        except ClassgrowError as error:
            self.progress.say(f"The first phase is not kept for other runs: {error}")
        self.let_go()

    def _read(self) -> Saved | None:
        """What is kept here, if it is whole and of this very first phase."""
        path = self.folder / STATE_FILE
        if not path.exists():
            return None
        with suppress(ClassgrowError, KeyError, ValueError):
            tensors, plain = checkpoint.read(path)
            records.FirstPhase.model_validate(plain["origin"])
            if plain.pop("question") == self.question and (plain["phase"], plain["step"]) == (1, self.step):
                return tensors, plain
        self.progress.say(f"{path} is damaged or of another first phase: this run trains its own and replaces it.")
        return None


@dataclass
class SharingCheckpoint:
    """A run's own checkpoint; what it writes right after the last training of phase 1 is kept for others too."""

    file: CheckpointFile
    first: FirstPhase

    def due(self, epoch: int | None) -> bool:
        return self.file.due(epoch)

    def write(self, tensors: Tensors, plain: Mapping[str, object]) -> None:
        self.first.keep(tensors, plain)
        self.file.write(tensors, {**plain, MARK: self.first.identity} if plain["phase"] == 1 else plain)


@contextmanager
def first_phase_of(run: Run, record: Record, progress: Progress) -> Iterator[FirstPhase | None]:
    """The first phase of a run that has not finished it yet; None where it is done, or trains nothing. At the end it is
    left to others, whatever happened."""
    step = after_training(method_of(run.resolved), run.resolved)
    if record.phases or not step:
        yield None
        return
    question = question_of(run, record.execution, step)
    name = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:12]
    first = FirstPhase(question, step, run.folder.parent / FOLDER / name, run.folder.name, progress)
    try:
        yield first
    finally:
        first.let_go()


def origin_of(saved: Saved | None) -> records.FirstPhase | None:
    """Where a state that was taken over comes from."""
    return None if saved is None else records.FirstPhase.model_validate(saved[1]["origin"])


def checkpoint_for(file: CheckpointFile, first: FirstPhase | None) -> Checkpoint:
    """The run's checkpoint, which keeps a first phase for others where that is wanted."""
    return file if first is None else SharingCheckpoint(file, first)


def begin_first_phase(
    run: Run,
    record: Record,
    saved: Saved | None,
    first: FirstPhase | None,
    group: Group,
    progress: Progress,
    again: bool,
) -> tuple[Saved | None, Record]:
    """Where phase 1 goes on from, its own checkpoint or another run's training, and the record that says which."""
    found, own = None, saved is not None
    if first is not None and again:
        group.decided(first.claim)
    elif first is not None and (saved is None or first.is_begun_in(saved)):
        found = agreed_checkpoint(partial(first.taken_over, wait=not own and group.count == 1), group)
    if own and found is None:
        return saved, record
    origin = origin_of(found)
    if origin is not None:
        progress.say(f"The first phase is taken over from the run {origin.run}, which has the very same.")
    record = record.model_copy(update={"first_phase": origin})
    if group.is_first:
        write_record(record, run.folder / RECORD_FILE)
    return found, record


def agreed_checkpoint(read: Callable[[], Saved | None], group: Group) -> Saved | None:
    """What was saved, if anything: the first process reads it and tells the others, who have no file."""
    found: Saved | None = None

    def is_there() -> bool:
        nonlocal found
        found = read()
        return found is not None

    if not group.decided(is_there):
        return None
    tensors, plain, _ = group.same(*(found or ({}, {})))
    return tensors, plain


def after_training(method: Method, resolved: ResolvedSpec) -> int:
    """The number of the step after the last one that trains in phase 1; 0 if none does."""
    plan = PhasePlan(1, resolved.recipe, 1, 1)
    return max((number + 1 for number, step in enumerate(method.steps) if declared(step).images(plan)), default=0)


def question_of(run: Run, execution: records.Execution, step: int) -> JsonDict:
    """All that decides the bits of a first phase up to that step, as plain values."""
    resolved = run.resolved
    method = method_of(resolved)
    reduced = [in_first_phase(one) for one in method.steps[:step]]
    any_memory = all(known and is_ours(type(one)) for one, known in reduced)
    start = replace(method, steps=tuple(one for one, _ in reduced), rule=LargestLogit(), others=(), recipe="")
    outside = (
        *DATASETS.from_outside(resolved.dataset),
        *(NETWORKS.from_outside(resolved.network) if resolved.network else ()),
    )
    data = run.scenario.train(run.dataset, 1)
    memory: Json = [resolved.memory, resolved.memory_per_class, resolved.selection]
    return {
        "method": value_of("", start, *outside),
        "memory": None if any_memory else memory,
        "recipe": as_json(resolved.recipe),
        "inputs": as_json(resolved.inputs),
        "network": network_of(resolved).name,
        "seed": resolved.seed,
        "numerics": resolved.numerics,
        "total_classes": resolved.total_classes,
        "data": [resolved.dataset, run.dataset.fingerprint or digest_of(data)],
        "classes": [[label.id, label.name] for label in data.classes[: resolved.sizes[0]]],
        "execution": execution.model_dump(mode="json"),
        "machine": machine(execution.device),
        "code": code_digest(),
    }


def digest_of(data: LabelledImages) -> str:
    """Of the images and labels, as they lie in memory."""
    total = hashlib.blake2b(data.labels.numpy().tobytes(), digest_size=8)
    for some in torch.arange(len(data)).split(4096):
        total.update(data.read(some).cpu().numpy().tobytes())
    return total.hexdigest()


def machine(device: str) -> list[Json]:
    """Bits are promised for the same processor and libraries only."""
    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else ""
    limits: list[Json] = [os.environ.get(name, "") for name in ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")]
    return [processor(), gpu, torch.__version__, torch.backends.cpu.get_cpu_capability(), *limits]


@cache
def code_digest() -> str:
    """Of the code that a first phase runs: numbers are the same to the bit only by the same code."""
    top = Path(__file__).parents[1]
    files = [top / name for name in LEAVES]
    for room in ROOMS:
        files += [path for path in sorted((top / room).rglob("*")) if path.suffix in (".py", ".cpp")]
    total = hashlib.blake2b(digest_size=8)
    for path in files:
        total.update(str(path.relative_to(top)).encode() + path.read_bytes())
    return total.hexdigest()
