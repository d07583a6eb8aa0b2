"""The graph of figure 2, from a real model: how near each feature lies to each old class, before and after a phase."""

from __future__ import annotations

import torch

from classgrow.data.catalogue import load
from classgrow.data.labelled import LabelledImages
from classgrow.data.scenario import Scenario
from classgrow.engine.inference import outputs
from classgrow.engine.runtime import decide
from classgrow.learner import Learner
from classgrow.networks.network import Network
from classgrow.parts.distillation import nearness, squared_distances
from classgrow.progress import Progress
from classgrow.records.toys import FeatureGraph

OLD, NEW = 2, 2
SAMPLES = 3
"""Images of each class."""


def feature_graph(
    method: str = "fgp", *, epochs: int | None = None, seed: int = 1, progress: Progress | None = None
) -> FeatureGraph:
    """Learn digits 0 and 1, then 2 and 3. Edges p = exp(-d/2) join test images of all four to the embeddings of the
    old two: in the old model, which has never seen 2 and 3, and in the new one."""
    data = load("digits")
    scenario = Scenario.make(range(OLD + NEW), OLD, NEW)
    learner = Learner(method, memory=50, epochs=epochs, seed=seed, execution=decide("cpu", 1), progress=progress)
    for phase in (1, 2):
        learner.learn_phase(scenario.train(data, phase))
    state = learner.state
    assert state.teacher is not None
    samples = first_of_each(scenario.test(data, 2), SAMPLES)
    old, new = (edges(network, samples, learner) for network in (state.teacher, state.network))
    return {
        "what": "Bipartite graph of features and old-class embeddings before and after an update (digits)",
        "method": method,
        "seed": seed,
        "epochs": learner.recipe.first.epochs,
        "objective": learner.method.formula,
        "old_classes": [label.name for label in samples.classes[:OLD]],
        "new_classes": [label.name for label in samples.classes[OLD : OLD + NEW]],
        "labels": samples.labels.tolist(),
        "images": samples.read(torch.arange(len(samples)))[..., 0].tolist(),
        "before": old.tolist(),
        "after": new.tolist(),
    }


def first_of_each(data: LabelledImages, count: int) -> LabelledImages:
    """The first images of every class, class by class."""
    places = [torch.nonzero(data.labels == label)[:count, 0] for label in range(OLD + NEW)]
    return data.select(torch.cat(places))


def edges(network: Network, samples: LabelledImages, learner: Learner) -> torch.Tensor:
    """p = exp(-d/2) between every sample and every old class, (samples, OLD)."""
    found = [
        nearness(squared_distances(one, OLD)) for one in outputs(network, samples, learner.inputs, learner.runtime)
    ]
    return torch.cat(found).double().cpu()
