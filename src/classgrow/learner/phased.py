"""A method run over phases: what a learner settles with its first images, and one phase after another."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from classgrow.checkpoint import CheckpointFile
from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Execution, Runtime
from classgrow.errors import ClassgrowError
from classgrow.learner.answers import Asked
from classgrow.learner.arguments import own_backbone, rule_of
from classgrow.learner.fitting import fit_rules
from classgrow.learner.phases import PhaseRun, Saved, begin_phase, save_point
from classgrow.memory import Budget, Memory
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.networks.catalogue import BY_KIND, build_backbone
from classgrow.networks.network import Network
from classgrow.parts.selection import SELECTIONS
from classgrow.progress import Progress
from classgrow.recipes import Inputs, Recipe, inputs_for, kind_for, method_options, recipe_for
from classgrow.seeds import seeded
from classgrow.state import State, digest, frozen_copy
from classgrow.steps.phase import Phase, PhaseLog

MEMORY = 2000
"""Exemplars kept unless said otherwise: the paper's."""

Settled = TypeVar("Settled")


class PhaseLearner:
    """Runs a method over phases of labelled images. `given`: the arguments of `Learner`, checked."""

    def __init__(self, given: dict[str, Any], execution: Execution | None, progress: Progress) -> None:
        self._given = given
        self.seed: int = given["seed"]
        self.total_classes: int | None = given["total_classes"]
        self.runtime = Runtime(execution)
        self.progress = progress
        self.integer_names = False
        self._state: State | None = None
        self._recipe: Recipe | None = given["recipe"]
        self._inputs: Inputs | None = given["inputs"]
        self._temperatures: dict[str, float] = {}
        self.method = self._method_for(None)

    # --- what it has settled ---------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        if self._state is None or not self._state.classes:
            raise ClassgrowError("Nothing has been learned yet: call learn(images, labels) first.")
        return self._state

    @property
    def recipe(self) -> Recipe:
        """How it trains: given, or chosen with the first images."""
        return _settled(self._recipe)

    @property
    def inputs(self) -> Inputs:
        """How images enter the network: given, or chosen with the first of them."""
        return _settled(self._inputs)

    def config(self) -> dict[str, Any]:
        """Its settings once something was learned; a method or network that is not a name is None."""
        given = self._given
        network = given["network"] or BY_KIND[kind_for(self.inputs.size)]
        return {
            "method": _name(given["method"]),
            "network": _name(network),
            "rule": self.method.rule.name,
            "memory": self.state.memory.budget.total,
            "memory_per_class": given["memory_per_class"],
            "selection": given["selection"],
            **{name: getattr(self, name) for name in ("total_classes", "seed", "integer_names", "recipe", "inputs")},
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
                self._unsettle()  # nothing is known: the next images may be of another size
            raise
        self._temperatures = {}
        return log

    def resume_phase(self, data: LabelledImages, checkpoint: CheckpointFile | None, saved: Saved) -> PhaseLog:
        """Go on where a checkpoint of this phase was made."""
        self.restore(data.shape, *saved)
        plain = saved[1]
        with self.runtime.active():
            return self._phase_run(data, PhaseLog(**plain["log"]), checkpoint).go(plain["step"], save_point(saved))

    def restore(self, shape: tuple[int, int, int], tensors: dict[str, Tensor], plain: dict[str, Any]) -> None:
        """Take over the state in a checkpoint."""
        self.prepare(shape).unpack(tensors, plain["state"])
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
            for slice_ in self._asked().scores(data):
                for rule, scores in slice_.items():
                    found.setdefault(rule, []).append(scores.argmax(1))
        return {rule: torch.cat(parts).cpu() for rule, parts in found.items()}

    def prepare(self, shape: tuple[int, int, int]) -> State:
        """Choose network, recipe and memory for images of this shape, once."""
        if self._state is not None:
            return self._state
        kind, given = kind_for(shape[0]), self._given
        self.method = self._method_for(shape)
        self.method.check_rules()
        self._recipe = given["recipe"] or recipe_for(self.method.recipe, kind, given["profile"], given["epochs"])
        self._inputs = given["inputs"] or inputs_for(kind, shape)
        with seeded(self.seed, "network"):
            backbone = (
                own_backbone(given["network"], self._inputs)
                if isinstance(given["network"], nn.Module)
                else build_backbone(given["network"] or BY_KIND[kind], shape[2], self.method.last_relu)
            )
            network = Network(backbone, self.method.head.build(int(backbone.features)))  # type: ignore[arg-type]
        network = network.to(self.runtime.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._state = State(network, Memory(self._budget()), frozen_copy(network), self.total_classes)
        self._state.fitted_to = digest(network.backbone)
        return self._state

    # --- details ---------------------------------------------------------------------------------------------------

    def _method_for(self, shape: tuple[int, int, int] | None) -> Method:
        """The method with what was asked of it; images of a certain shape may bring options of their own."""
        method, rule, selection = self._given["method"], rule_of(self._given["rule"]), self._given["selection"]
        if not isinstance(method, Method):
            method = build_method(method, **(method_options(method, kind_for(shape[0])) if shape else {}))
        method = method if rule is None else method.with_rule(rule)
        return method if selection is None else method.with_selection(SELECTIONS[selection])

    def _budget(self) -> Budget:
        if self.method.unlimited_memory:
            return Budget(unlimited=True)
        if self._given["memory_per_class"] is not None:
            return Budget(per_class=self._given["memory_per_class"])
        return Budget(total=self._given["memory"] or MEMORY)

    def _unsettle(self) -> None:
        self._state, self._recipe, self._inputs = None, self._given["recipe"], self._given["inputs"]

    def _phase_run(self, data: LabelledImages, log: PhaseLog, checkpoint: CheckpointFile | None) -> PhaseRun:
        state = self.state
        shared = Phase(data, self.recipe, self.inputs, self.runtime, self.seed, state.phase, self.progress, log)
        return PhaseRun(state, self.method, shared, checkpoint)

    def _asked(self) -> Asked:
        return Asked(self.state, self.method.rules, self.inputs, self.runtime)

    def _scores(self, data: LabelledImages) -> Tensor:
        rule = self.method.rule.name
        with self.runtime.active():
            return torch.cat([slice_[rule] for slice_ in self._asked().scores(data)]).cpu()


def _settled(value: Settled | None) -> Settled:
    if value is None:
        raise ClassgrowError(
            "Nothing has been learned yet: it is chosen with the first images, by learn(images, labels)."
        )
    return value


def _name(given: Any) -> str | None:
    return given if isinstance(given, str) else None
