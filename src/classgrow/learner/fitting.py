"""What a method's rules know once a phase has ended: measured by the network as it is then."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import features
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError, one_line
from classgrow.inputs import Inputs
from classgrow.memory import TRAIN
from classgrow.networks.network import Network
from classgrow.parts.rules import Rule, Seen, Tensors
from classgrow.state import State, digest


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
) -> None:
    """Fit every rule that can be fitted to the network as it is now.

    `data`: the phase's images; `fresh`: features of the newest exemplars under this very network, where known.
    """
    now, network = digest(state.network.backbone), state.network
    exemplars = state.memory.view(state.classes, TRAIN)
    kept = None if exemplars is None else Measured(network, exemplars, inputs, runtime, fresh)
    images = None if data is None else Measured(network, data, inputs, runtime)
    fitted = {}
    for rule in rules:
        before = state.fitted.get(rule.name)
        found = fitted_by(rule, Seen(len(state.classes), kept, images, before, moved=now != state.fitted_to))
        if found is not None:
            fitted[rule.name] = {name: value.detach().cpu() for name, value in found.items()}
    state.fitted, state.fitted_to = fitted, now


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
