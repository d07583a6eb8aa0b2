"""A method run over phases: what a learner settles with its first images, and one phase after another."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

import torch
from torch import Tensor, nn

from classgrow.checkpoint import Checkpoint
from classgrow.data.catalogue import DATASETS
from classgrow.data.intake import Name
from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Execution, Runtime
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, Shape
from classgrow.json_values import JsonDict
from classgrow.learner.answers import Answers
from classgrow.learner.arguments import Arguments, own_backbone, rule_of
from classgrow.learner.estimates import Estimating
from classgrow.learner.fitting import fit_rules
from classgrow.learner.phases import PhaseRun, Saved, begin_phase, save_point, saved_phase
from classgrow.learner.plausible import check_answers
from classgrow.memory import Budget, Memory
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.networks.catalogue import NETWORKS, build_backbone
from classgrow.networks.network import Network, channels_last, feature_count
from classgrow.networks.pretrained import load_pretrained, load_weights
from classgrow.parts.selection import SELECTIONS
from classgrow.progress import Progress
from classgrow.recipes import Recipe
from classgrow.seeds import seeded
from classgrow.specs.training import Asked, TrainingSetup, resolve_training
from classgrow.state import State, digest, frozen_copy
from classgrow.steps.phase import Phase, PhaseLog

MEMORY = 2000
"""Exemplars kept unless said otherwise: the paper's."""


class Settings(TypedDict):
    """What a learner has settled; a method or network that is not a name is None."""

    method: str | None
    network: str | None
    preset: str
    rule: str
    memory: int | None
    memory_per_class: int | None
    keep_photos: bool
    selection: str | None
    total_classes: int | None
    seed: int
    integer_names: bool
    started_from: str
    recipe: Recipe
    inputs: Inputs


class PhaseLearner:
    """Runs a method over phases of labelled images. `given`: the arguments of `Learner`, checked."""

    def __init__(self, given: Arguments, execution: Execution | None, progress: Progress) -> None:
        self._given = given
        self.seed: int = given["seed"]
        self.total_classes: int | None = given["total_classes"]
        self.runtime = Runtime(execution)
        self.progress = progress
        self.integer_names = False
        self.started_from = ""
        """The published weights or the file that the network started from; empty: from chance."""
        self._state: State | None = None
        self._setup: TrainingSetup | None = None
        self.method = self._method_for(None)
        self.method.check_rules()
        self._check_photos()

    # --- what it has settled ---------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        if self._state is None or not self._state.classes:
            raise ClassgrowError("Nothing has been learned yet: call learn(images, labels) first.")
        return self._state

    @property
    def setup(self) -> TrainingSetup:
        """Preset, network, recipe, inputs and options: chosen with the first images, for good."""
        if self._setup is None:
            raise ClassgrowError("Nothing has been learned yet: recipe and inputs are chosen with the first images.")
        return self._setup

    @property
    def recipe(self) -> Recipe:
        """How it trains."""
        return self.setup.recipe

    @property
    def inputs(self) -> Inputs:
        """How images enter the network."""
        return self.setup.inputs

    def config(self) -> Settings:
        """Its settings once something was learned."""
        given = self._given
        network = given["network"] or self.setup.network
        return {
            "method": _name(given["method"]),
            "network": _name(network),
            "preset": self.setup.preset,
            "rule": self.method.rule.name,
            "memory": self.state.memory.budget.total,
            "memory_per_class": given["memory_per_class"],
            "keep_photos": given["keep_photos"],
            "selection": given["selection"],
            "total_classes": self.total_classes,
            "seed": self.seed,
            "integer_names": self.integer_names,
            "started_from": self.started_from,
            "recipe": self.recipe,
            "inputs": self.inputs,
        }

    # --- one phase -------------------------------------------------------------------------------------------------

    def learn_phase(self, data: LabelledImages, checkpoint: Checkpoint | None = None) -> PhaseLog:
        """Run the method's steps on labelled images (labels: positions in learning order).

        If anything goes wrong, what was known before stays known.
        """
        settled = self._state is not None
        state = self.prepare(data.shape)
        before = state.pack()
        try:
            with self.runtime.active():
                begin_phase(state, self.method, data)
                log = self._phase_run(data, PhaseLog(), checkpoint).go()
        except BaseException:
            state.unpack(*before)
            if not settled:
                self._reset()  # nothing is known: the next images may be of another size
            raise
        return log

    def resume_phase(self, data: LabelledImages, checkpoint: Checkpoint | None, saved: Saved) -> PhaseLog:
        """Go on where a checkpoint of this phase was made."""
        self.restore(data.shape, *saved)
        plain = saved_phase(saved[1])
        with self.runtime.active():
            return self._phase_run(data, PhaseLog(**plain["log"]), checkpoint).go(plain["step"], save_point(saved))

    def restore(self, shape: Shape, tensors: dict[str, Tensor], plain: JsonDict) -> None:
        """Take over the state in a checkpoint."""
        self.prepare(shape, from_weights=False).unpack(tensors, saved_phase(plain)["state"])

    def use_recipe(self, recipe: Recipe) -> None:
        """Train by another recipe from the next phase on."""
        self._setup = replace(self.setup, recipe=recipe)

    def refit_rules(self) -> None:
        """Fit the rules to the exemplars again, under the network as it is."""
        if self.state.memory.images is not None:
            self.state.memory.features = None
        with self.runtime.active():
            fit_rules(self.state, self.method.rules, self.inputs, self.runtime)

    @property
    def class_names(self) -> list[Name]:
        """Names of the classes learned, in the order they were learned."""
        names = [label.name for label in self._state.classes] if self._state else []
        return [int(name) for name in names] if self.integer_names else list(names)

    @property
    def estimating(self) -> Estimating:
        """What the learner can be asked about itself."""
        return Estimating(self.state, self.inputs, self.runtime)

    def predictions(self, data: LabelledImages) -> dict[str, Tensor]:
        """Predicted positions by every rule of the method that could be fitted."""
        found: dict[str, list[Tensor]] = {}
        with self.runtime.active():
            for slice_ in self._answers().scores(data):
                for rule, scores in slice_.items():
                    found.setdefault(rule, []).append(scores.argmax(1))
        return {rule: torch.cat(parts).cpu() for rule, parts in found.items()}

    def check_answers(self) -> None:
        """After a state was taken over from a file: every rule must answer with numbers."""
        with self.runtime.active():
            check_answers(self._answers())

    def prepare(self, shape: Shape, from_weights: bool = True) -> State:
        """Choose network, recipe and memory for images of this shape, once.

        Without `from_weights` the weights to start from are not read: others are about to take their place.
        """
        if self._state is not None:
            return self._state
        given = self._given
        self._setup = self.setup_for(shape)
        self.method = self._method_for(self._setup)
        with seeded(self.seed, "network"):
            backbone = (
                own_backbone(given["network"], self.inputs)
                if isinstance(given["network"], nn.Module)
                else build_backbone(self.setup.network, self.inputs.channels, self.method.last_relu)
            )
            network = Network(backbone, self.method.head.build(feature_count(backbone)))
        if from_weights:
            self._start(backbone)
        network = channels_last(network.to(self.runtime.device))
        self._state = State(
            network, Memory(self._budget(), given["keep_photos"]), frozen_copy(network), self.total_classes
        )
        self._state.fitted_to = digest(network.backbone)
        return self._state

    # --- details ---------------------------------------------------------------------------------------------------

    def setup_for(self, shape: Shape) -> TrainingSetup:
        """How images of this shape are learned: the same resolution as that of `classgrow run`."""
        given = self._given
        asked = Asked(
            preset=given["preset"],
            network=_name(given["network"]),
            profile=given["profile"],
            epochs=given["epochs"],
            recipe=given["recipe"],
            inputs=given["inputs"],
            pretrained=given["pretrained"],
            weights=given["weights"] is not None,
        )
        data = DATASETS[given["dataset"]] if given["dataset"] is not None else None
        return resolve_training(asked, data, shape, _name(given["method"]) or "", self.method.recipe)

    @property
    def method_as_given(self) -> Method:
        """The method without the rule that was asked for besides; to compare it with another one."""
        return self._method_for(self._setup, with_rule=False)

    def _method_for(self, setup: TrainingSetup | None, with_rule: bool = True) -> Method:
        """The method with what was asked of it; a preset may bring options of its own."""
        method, selection = self._given["method"], self._given["selection"]
        rule = rule_of(self._given["rule"]) if with_rule else None
        if not isinstance(method, Method):
            method = build_method(method, **(setup.options if setup else {}))
        method = method if rule is None else method.with_rule(rule)
        return method if selection is None else method.with_selection(SELECTIONS[selection])

    def _start(self, backbone: nn.Module) -> None:
        """Give the backbone the weights it is to start from, if any."""
        if self._given["pretrained"]:
            self.started_from = load_pretrained(backbone, NETWORKS[self.setup.network])
        elif self._given["weights"] is not None:
            self.started_from = load_weights(backbone, self._given["weights"])

    def _budget(self) -> Budget:
        if self.method.unlimited_memory:
            return Budget(unlimited=True)
        if self._given["memory_per_class"] is not None:
            return Budget(per_class=self._given["memory_per_class"])
        return Budget(total=self._given["memory"] or MEMORY)

    def _check_photos(self) -> None:
        """Refuses to train without photos what trains on those it kept."""
        keeps = self.method.keeps_memory or self.method.unlimited_memory
        if not self._given["keep_photos"] and keeps and self.method.objectives:
            raise ClassgrowError(
                f"{self.method.name} trains on kept photos: leave out `keep_photos`, or choose a `method` that trains "
                "nothing (frozen)."
            )

    def _reset(self) -> None:
        self._state, self._setup = None, None

    def _phase_run(self, data: LabelledImages, log: PhaseLog, checkpoint: Checkpoint | None) -> PhaseRun:
        state = self.state
        shared = Phase(data, self.recipe, self.inputs, self.runtime, self.seed, state.phase, self.progress, log)
        return PhaseRun(state, self.method, shared, checkpoint)

    def _answers(self) -> Answers:
        return Answers(self.state, self.method.rules, self.inputs, self.runtime)

    def _scores(self, data: LabelledImages) -> Tensor:
        rule = self.method.rule.name
        with self.runtime.active():
            return torch.cat([slice_[rule] for slice_ in self._answers().scores(data)]).cpu()


def _name(given: object) -> str | None:
    return given if isinstance(given, str) else None
