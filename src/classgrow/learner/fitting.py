"""What a method's rules know once a phase has ended: measured by the network as it is then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import features
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError, one_line
from classgrow.inputs import Inputs
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.networks.network import Network
from classgrow.parts.rules import Rule, Seen, Tensors
from classgrow.state import State, digest


@dataclass(frozen=True)
class Kept:
    """Exemplars whose features are known and whose pixels are gone."""

    labels: Tensor
    features: Tensor
    mirrored: Tensor | None = None


class Measured:
    """Images as a network sees them; `known` are features of the last of them, where somebody has computed them."""

    def __init__(
        self, network: Network, data: LabelledImages, inputs: Inputs, runtime: Runtime, known: Tensor | None = None
    ) -> None:
        self._network, self._data, self._inputs, self._runtime, self._known = network, data, inputs, runtime, known

    @cached_property
    def labels(self) -> Tensor:
        return self._data.labels.to(self._runtime.device)

    @cached_property
    def features(self) -> Tensor:
        known = [self._known] if self._known is not None else []
        others = self._data.select(torch.arange(len(self._data) - sum(map(len, known))))
        computed = [features(self._network, others, self._inputs, self._runtime)] if len(others) else []
        return torch.cat([*computed, *known])

    @cached_property
    def mirrored(self) -> Tensor | None:
        if not self._inputs.mirror:
            return None
        return features(self._network, self._data, self._inputs, self._runtime, mirrored=True)


def fit_rules(
    state: State,
    rules: Sequence[Rule],
    inputs: Inputs,
    runtime: Runtime,
    data: LabelledImages | None = None,
    fresh: Tensor | None = None,
    measured: Tensor | None = None,
) -> None:
    """Fit every rule that can be fitted to the network as it is now, and keep how it sees the exemplars.

    `data`: the phase's images, `measured`: their features; `fresh`: features of the newest exemplars; both under this
    very network, where known.
    """
    now, network = digest(state.network.backbone), state.network
    moved = now != state.fitted_to
    if moved:
        state.memory.features = None
    kept = exemplars_of(state, inputs, runtime, fresh)
    images = None if data is None else Measured(network, data, inputs, runtime, measured)
    fitted = {}
    for rule in rules:
        before = state.fitted.get(rule.name)
        found = fitted_by(rule, Seen(len(state.classes), kept, images, before, moved=moved))
        if found is not None:
            fitted[rule.name] = {name: value.detach().cpu() for name, value in found.items()}
    state.fitted, state.fitted_to, state.estimated = fitted, now, {}
    if kept is not None and state.memory.features is None:
        state.memory.features = completed(state, kept.features, inputs, runtime)


def exemplars_of(state: State, inputs: Inputs, runtime: Runtime, fresh: Tensor | None = None) -> Measured | Kept | None:
    """The exemplars as rules see them: with the features in memory where it has them."""
    memory = state.memory
    places = memory.of(TRAIN)
    known = None if memory.features is None else memory.features[places].to(runtime.device)
    view = memory.view(state.classes, TRAIN)
    if view is not None:
        return Measured(state.network, view, inputs, runtime, fresh if known is None else known)
    return Kept(memory.labels[places].to(runtime.device), known) if known is not None and len(places) else None


def completed(state: State, trained_on: Tensor, inputs: Inputs, runtime: Runtime) -> Tensor:
    """Features of all exemplars in memory order, given those of the exemplars that are trained on."""
    memory = state.memory
    whole = torch.empty(len(memory), trained_on.shape[1])
    whole[memory.of(TRAIN)] = trained_on.cpu().float()
    held_out = memory.view(state.classes, HELD_OUT)
    if held_out is not None:
        whole[memory.of(HELD_OUT)] = features(state.network, held_out, inputs, runtime).cpu().float()
    return whole


def fitted_by(rule: Rule, seen: Seen) -> Tensors | None:
    """What the rule fits; a user's own rule may fail."""
    try:
        found: object = rule.fit(seen)
    except Exception as error:
        raise ClassgrowError(f"The rule {rule.name!r} cannot be fitted ({one_line(error)}): fix its fit.") from error
    if found is None:
        return None
    if not isinstance(found, dict) or not all(isinstance(value, Tensor) for value in found.values()):
        raise ClassgrowError(f"The rule {rule.name!r} must fit a dict of tensors, or None: fix its fit.")
    return found
