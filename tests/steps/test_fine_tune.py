"""Frozen layers stay as they are, to the bit, and their batch-norm statistics too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.methods.fgp import fgp
from classgrow.steps import FineTune
from classgrow.steps.fine_tune import layers_of

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


def test_first_layers_stay_and_the_others_learn(patches: Patches) -> None:
    grow, train, remember = fgp().steps
    method = replace(fgp(), name="half", steps=(grow, FineTune(train, 0.5), remember))
    learner = Learner(method, memory=8, epochs=2, execution=Execution(threads=1))
    backbone = learner.prepare((8, 8, 1)).network.backbone
    layers = layers_of(backbone)
    before = [{name: value.clone() for name, value in layer.state_dict().items()} for layer in layers]
    images, labels = patches([0, 4], per_class=6)
    learner.learn(images, [str(label) for label in labels])
    same = [
        all(torch.equal(value, layer.state_dict()[name]) for name, value in was.items())
        for was, layer in zip(before, layers, strict=True)
    ]
    half = len(layers) // 2
    assert same == [True] * half + [False] * (len(layers) - half)
    assert all(parameter.requires_grad for parameter in backbone.parameters())
    assert method.formula == fgp().formula


def test_not_everything_can_be_frozen() -> None:
    with pytest.raises(ClassgrowError, match="cannot be frozen"):
        FineTune(fgp().steps[1], 1.0)
