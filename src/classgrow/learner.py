"""Runs a Method over phases: learn, predict, evaluate. A user's folder and a benchmark's phase are the same call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from classgrow.checkpoint import CheckpointFile
from classgrow.data.catalogue import DATASETS
from classgrow.data.intake import Name, first_shape, names_for, sized
from classgrow.data.labelled import ArrayStore, ClassLabel, LabelledImages
from classgrow.engine.inference import features, outputs
from classgrow.engine.runtime import Execution, Runtime
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.memory import TRAIN, Budget, Memory
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.networks.catalogue import build_backbone
from classgrow.networks.network import Network
from classgrow.parts.rules import class_means, nearest_mean
from classgrow.parts.selection import SELECTIONS
from classgrow.progress import Progress, Silent
from classgrow.recipes import Profile, Recipe
from classgrow.seeds import seeded
from classgrow.specs.training import Asked, TrainingSetup, resolve_training
from classgrow.state import State, frozen_copy, within
from classgrow.steps.phase import Phase, PhaseLog, SavePoint


@dataclass(frozen=True)
class Evaluation:
    """How well a learner does on labelled images: by its own rule, and by every rule it could use (fractions)."""

    accuracy: float
    per_class: dict[Name, float]
    by_rule: dict[str, float]


class Learner:
    """A classifier that learns new classes as they arrive.

    method         a name from the catalogue or a `Method`
    memory         exemplars kept in total, over all classes (or `memory_per_class`)
    network        None: the preset's; a name; or a module with an attribute `features`
    preset         "digits", "cifar" or "imagenet": network and recipe; None: the data set's, or by image size
    dataset        the name of the data set the images are of, if it is a known one: decides their normalisation
    recipe         None: the method's own for the preset (`profile`, `epochs` adjust it)
    total_classes  how many classes there will ever be, if known (iCaRL averages over them)
    """

    def __init__(
        self,
        method: str | Method = "fgp",
        memory: int = 2000,
        *,
        memory_per_class: int | None = None,
        network: str | nn.Module | None = None,
        preset: str | None = None,
        dataset: str | None = None,
        recipe: Recipe | None = None,
        inputs: Inputs | None = None,
        total_classes: int | None = None,
        seed: int = 1,
        epochs: int | None = None,
        profile: Profile = "official",
        selection: str | None = None,
        execution: Execution | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._method, self._memory, self._memory_per_class = method, memory, memory_per_class
        self._network, self._recipe, self._inputs = network, recipe, inputs
        self._epochs, self._profile, self._selection = epochs, profile, selection
        self._preset, self._data = preset, DATASETS[dataset] if dataset is not None else None
        self.total_classes = total_classes
        self.seed = seed
        self.runtime = Runtime(execution)
        self.progress = progress or Silent()
        self.integer_names = False
        self._state: State | None = None
        self.method = method if isinstance(method, Method) else build_method(method)
        if selection is not None and selection not in SELECTIONS:
            raise ClassgrowError(f"Unknown selection {selection!r}: choose one of {', '.join(SELECTIONS)}.")

    # --- what users call -------------------------------------------------------------------------------------------

    def learn(self, images: Any, labels: Sequence[Name]) -> Learner:
        """Learn the classes named in `labels`; all of them must be new."""
        pixels = sized(images, self.inputs if self._state else self._resolved(first_shape(images)).inputs)
        names = names_for(labels, len(pixels))
        self._check_names(names)
        fresh = list(dict.fromkeys(names))
        start = len(self.classes)
        place = {name: start + number for number, name in enumerate(fresh)}
        known = self._state.classes if self._state else ()
        everyone = known + tuple(ClassLabel(start + n, str(name)) for n, name in enumerate(fresh))
        data = LabelledImages(
            ArrayStore(pixels), torch.arange(len(pixels)), torch.tensor([place[name] for name in names]), everyone
        )
        self.learn_phase(data)
        return self

    def predict(self, images: Any) -> list[Name]:
        """The name of the class of each image."""
        classes = self.classes
        found = self.predictions(self._unlabelled(images))
        return [classes[number] for number in found[self._rule(found)].tolist()]

    def evaluate(self, images: Any, labels: Sequence[Name]) -> Evaluation:
        """Accuracy on labelled images of known classes."""
        data = self._unlabelled(images)
        names = names_for(labels, len(data))
        place = {name: number for number, name in enumerate(self.classes)}
        unknown = [name for name in dict.fromkeys(names) if name not in place]
        if unknown:
            raise ClassgrowError(
                f"The class {unknown[0]!r} has not been learned yet: learn it before evaluating on it."
            )
        truth = torch.tensor([place[name] for name in names])
        found = self.predictions(data)
        right = {rule: (predicted == truth).double() for rule, predicted in found.items()}
        rule = self._rule(found)
        return Evaluation(
            accuracy=float(right[rule].mean()),
            per_class={name: float(right[rule][truth == place[name]].mean()) for name in dict.fromkeys(names)},
            by_rule={name: float(hits.mean()) for name, hits in right.items()},
        )

    @property
    def classes(self) -> list[Name]:
        """Names of the classes learned, in the order they were learned."""
        names = [label.name for label in self._state.classes] if self._state else []
        return [int(name) for name in names] if self.integer_names else list(names)

    @property
    def state(self) -> State:
        if self._state is None or not self._state.classes:
            raise ClassgrowError("Nothing has been learned yet: call learn(images, labels) first.")
        return self._state

    def save(self, folder: Path | str) -> None:
        """Keep everything in a folder: to predict with it, or to go on learning, elsewhere or later."""
        from classgrow import bundle  # it knows us

        bundle.save(self, folder)

    @classmethod
    def load(cls, folder: Path | str, method: Method | None = None, network: nn.Module | None = None) -> Learner:
        """The learner in a saved folder; `method` and `network` only where it was made with your own."""
        from classgrow import bundle

        return bundle.load(folder, method, network)

    def config(self) -> dict[str, Any]:
        """Its settings once something was learned; a method or network that is no name is None."""
        network = self._network or self.setup.network
        return {
            "method": None if isinstance(self._method, Method) else self._method,
            "network": None if isinstance(network, nn.Module) else network,
            "preset": self.setup.preset,
            "memory": self._memory,
            "memory_per_class": self._memory_per_class,
            "selection": self._selection,
            **{name: getattr(self, name) for name in ("total_classes", "seed", "integer_names", "recipe", "inputs")},
        }

    # --- one phase -------------------------------------------------------------------------------------------------

    def learn_phase(self, data: LabelledImages, checkpoint: CheckpointFile | None = None) -> PhaseLog:
        """Run the method's steps on the images of new classes (labels: positions in learning order).

        If anything goes wrong, what was known before stays known.
        """
        state = self.prepare(data.shape)
        before = state.pack()
        try:
            self._begin(data)
            return self._run_steps(data, 0, PhaseLog(), None, checkpoint)
        except BaseException:
            state.unpack(*before)
            if not state.classes:
                self._state = None  # nothing is known: the next images may be of another size
            raise

    def resume_phase(self, data: LabelledImages, checkpoint: CheckpointFile | None, saved: tuple[Any, Any]) -> PhaseLog:
        """Go on where a checkpoint of this phase was made."""
        tensors, plain = saved
        self.restore(data.shape, tensors, plain)
        point = SavePoint(within(tensors, "point."), plain["point"]) if plain["point"] is not None else None
        return self._run_steps(data, plain["step"], PhaseLog(**plain["log"]), point, checkpoint)

    def restore(self, shape: tuple[int, int, int], tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """Take over the state in a checkpoint."""
        self.prepare(shape).unpack(tensors, plain["state"])

    def prepare(self, shape: tuple[int, int, int]) -> State:
        """Choose network, recipe and memory for images of this shape, once."""
        if self._state is not None:
            return self._state
        self.setup = self._resolved(shape)
        self.recipe, self.inputs = self.setup.recipe, self.setup.inputs
        if not isinstance(self._method, Method):
            self.method = build_method(self._method, **self.setup.options)
        if self._selection is not None:
            self.method = self.method.with_selection(SELECTIONS[self._selection])
        backbone = self._network
        with seeded(self.seed, "network"):
            if not isinstance(backbone, nn.Module):
                backbone = build_backbone(self.setup.network, shape[2], self.method.last_relu)
            if not isinstance(getattr(backbone, "features", None), int):
                raise ClassgrowError("A network of your own needs an attribute `features`: how many it returns.")
            network = Network(backbone, self.method.head.build(int(backbone.features)))  # type: ignore[arg-type]
        network = network.to(self.runtime.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._state = State(network, Memory(self._budget()), frozen_copy(network), self.total_classes)
        return self._state

    def _resolved(self, shape: tuple[int, int, int]) -> TrainingSetup:
        """How images of this shape are learned: the same resolution as that of `classgrow run`."""
        asked = Asked(
            preset=self._preset,
            network=None if isinstance(self._network, nn.Module) else self._network,
            profile=self._profile,
            epochs=self._epochs,
            recipe=self._recipe,
            inputs=self._inputs,
        )
        name = "" if isinstance(self._method, Method) else self._method
        return resolve_training(asked, self._data, shape, name, self.method.recipe)

    def _budget(self) -> Budget:
        if self.method.unlimited_memory:
            return Budget(unlimited=True)
        if self._memory_per_class is not None:
            return Budget(per_class=self._memory_per_class)
        return Budget(total=self._memory)

    def _begin(self, data: LabelledImages) -> None:
        state = self._state
        assert state is not None
        old = len(state.classes)
        present = torch.unique(data.labels).tolist()
        if not present or present != list(range(old, old + len(present))):
            raise ClassgrowError(
                f"A phase must bring images of classes numbered from {old} on, without gaps; it brought {present[:5]}."
            )
        seen = old + len(present)
        if self.method.keeps_memory:
            state.memory.budget.quota(seen)
        state.teacher = None
        if old:
            state.snapshot_teacher()
        state.classes, state.sizes = data.classes[:seen], (*state.sizes, len(present))

    def _run_steps(
        self,
        data: LabelledImages,
        start: int,
        log: PhaseLog,
        point: SavePoint | None,
        checkpoint: CheckpointFile | None,
    ) -> PhaseLog:
        state = self.state
        phase = Phase(
            data, self.recipe, self.inputs, self.runtime, self.seed, state.phase, progress=self.progress, log=log
        )

        def save(step: int, point: SavePoint | None, finished: bool) -> None:
            if checkpoint is None or not (finished or (point and checkpoint.due(point.plain["epoch"]))):
                return
            tensors, plain = state.pack()
            if point is not None:
                tensors |= {f"point.{k}": v.detach().cpu().clone().contiguous() for k, v in point.tensors.items()}
            checkpoint.write(
                tensors,
                {
                    "phase": state.phase,
                    "step": step,
                    "point": point.plain if point else None,
                    "log": vars(phase.log),
                    "state": plain,
                },
            )

        for number in range(start, len(self.method.steps)):
            phase.step, phase.resume, phase.fresh = number, point if number == start else None, None
            phase.save = lambda point, number=number: save(number, point, False)  # type: ignore[misc]
            self.method.steps[number].run(state, phase)
            if number + 1 == len(self.method.steps):
                self.refresh_means(phase.fresh)
            self._agree()
            save(number + 1, None, True)
        return phase.log

    def _agree(self) -> None:
        """The first process's state becomes that of all: they cannot drift apart, whatever a step did."""
        state, group = self.state, self.runtime.group
        if group.count > 1:
            tensors, plain, different = group.same(*state.pack())
            if different:
                state.unpack(tensors, plain)

    def refresh_means(self, fresh: Tensor | None = None) -> None:
        """Means of the exemplars under the current network, for the nearest-mean rule.

        `fresh`: features of the newest exemplars under this very network, where they are at hand.
        """
        state = self.state
        exemplars = state.memory.view(state.classes, TRAIN)
        state.means = {}
        if exemplars is None:
            return
        known = [fresh] if fresh is not None else []
        others = exemplars.select(torch.arange(len(exemplars) - sum(map(len, known))))
        plain = torch.cat(
            [*([features(state.network, others, self.inputs, self.runtime)] if len(others) else []), *known]
        )
        mirrored = (
            features(state.network, exemplars, self.inputs, self.runtime, mirrored=True) if self.inputs.mirror else None
        )
        means = class_means(plain, mirrored, exemplars.labels.to(plain.device), len(state.classes))
        state.means = {"unit": means.unit, "raw": means.raw}

    def predictions(self, data: LabelledImages) -> dict[str, Tensor]:
        """Predicted positions by every rule that applies: nearest, raw_nearest (with a memory) and head."""
        state = self.state
        found: dict[str, list[Tensor]] = {}
        for one in outputs(state.network, data, self.inputs, self.runtime):
            if state.means:
                found.setdefault("nearest", []).append(nearest_mean(one.features, state.means["unit"]))
                found.setdefault("raw_nearest", []).append(nearest_mean(one.features, state.means["raw"]))
            found.setdefault("head", []).append(one.logits.argmax(1))
        return {rule: torch.cat(parts).cpu() for rule, parts in found.items()}

    # --- details ---------------------------------------------------------------------------------------------------

    def _rule(self, found: dict[str, Tensor]) -> str:
        return self.method.rule.name if self.method.rule.name in found else "head"

    def _unlabelled(self, images: Any) -> LabelledImages:
        self.state  # noqa: B018 (raises where nothing was learned)
        pixels = sized(images, self.inputs)
        nothing = torch.zeros(len(pixels), dtype=torch.long)
        return LabelledImages(ArrayStore(pixels), torch.arange(len(pixels)), nothing, self.state.classes)

    def _check_names(self, names: list[Name]) -> None:
        integers = {isinstance(name, int) for name in names}
        if len(integers) > 1 or (self._state is not None and integers != {self.integer_names}):
            raise ClassgrowError("Class names must be all text or all whole numbers, the same in every phase.")
        known = [name for name in dict.fromkeys(names) if name in set(self.classes)]
        if known:
            raise ClassgrowError(
                f"The class {known[0]!r} is already known: give only images of new classes, under names not used yet."
            )
        self.integer_names = integers.pop()
