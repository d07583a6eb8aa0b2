"""A method run over phases: what a learner settles with its first images, and one phase after another."""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor, nn

from classgrow.checkpoint import CheckpointFile
from classgrow.data.catalogue import DATASETS
from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Execution, Runtime
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, Shape
from classgrow.json_values import JsonDict
from classgrow.learner.answers import Answers
from classgrow.learner.arguments import Arguments, own_backbone, rule_of
from classgrow.learner.fitting import fit_rules
from classgrow.learner.phases import PhaseRun, Saved, begin_phase, save_point, saved_phase
from classgrow.learner.plausible import check_answers
from classgrow.memory import Budget, Memory
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.networks.catalogue import build_backbone
from classgrow.networks.network import Network, channels_last, feature_count
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
    selection: str | None
    total_classes: int | None
    seed: int
    integer_names: bool
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
        self._state: State | None = None
        self._setup: TrainingSetup | None = None
        self._temperatures: dict[str, float] = {}
        self.method = self._method_for(None)
        self.method.check_rules()

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
            "selection": given["selection"],
            "total_classes": self.total_classes,
            "seed": self.seed,
            "integer_names": self.integer_names,
            "recipe": self.recipe,
            "inputs": self.inputs,
        }

    # --- one phase -------------------------------------------------------------------------------------------------

    def learn_phase(self, data: LabelledImages, checkpoint: CheckpointFile | None = None) -> PhaseLog:
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
        self._temperatures = {}
        return log

    def resume_phase(self, data: LabelledImages, checkpoint: CheckpointFile | None, saved: Saved) -> PhaseLog:
        """Go on where a checkpoint of this phase was made."""
        self.restore(data.shape, *saved)
        plain = saved_phase(saved[1])
        with self.runtime.active():
            return self._phase_run(data, PhaseLog(**plain["log"]), checkpoint).go(plain["step"], save_point(saved))

    def restore(self, shape: Shape, tensors: dict[str, Tensor], plain: JsonDict) -> None:
        """Take over the state in a checkpoint."""
        self.prepare(shape).unpack(tensors, saved_phase(plain)["state"])
        self._temperatures = {}

    def refit_rules(self) -> None:
        """Fit the rules to the exemplars again, under the network as it is."""
        with self.runtime.active():
            fit_rules(self.state, self.method.rules, self.inputs, self.runtime)
        self._temperatures = {}

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

    def prepare(self, shape: Shape) -> State:
        """Choose network, recipe and memory for images of this shape, once."""
        if self._state is not None:
            return self._state
        given = self._given
        self._setup = self.setup_for(shape)
        self.method = self._method_for(self._setup)
        with seeded(self.seed, "network"):
            backbone = (
                own_backbone(given["network"], self.inputs)
                if isinstance(given["network"], nn.Module)
                else build_backbone(self.setup.network, shape[2], self.method.last_relu)
            )
            network = Network(backbone, self.method.head.build(feature_count(backbone)))
        network = channels_last(network.to(self.runtime.device))
        self._state = State(network, Memory(self._budget()), frozen_copy(network), self.total_classes)
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

    def _budget(self) -> Budget:
        if self.method.unlimited_memory:
            return Budget(unlimited=True)
        if self._given["memory_per_class"] is not None:
            return Budget(per_class=self._given["memory_per_class"])
        return Budget(total=self._given["memory"] or MEMORY)

    def _reset(self) -> None:
        self._state, self._setup = None, None

    def _phase_run(self, data: LabelledImages, log: PhaseLog, checkpoint: CheckpointFile | None) -> PhaseRun:
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
