"""The numbers that `classgrow toy` leaves, and that its pictures are drawn from."""

from __future__ import annotations

from typing import TypedDict


class SimulationCase(TypedDict):
    """How one head did with so many classes and one setting of η: the fields of `experiments.toys.simulation.Case`."""

    classes: int
    head: str
    eta: str
    seeds: int
    min_angles: list[float]
    own_angles: list[float]
    final_etas: list[float]
    collapsed: float
    negative_bias: float | None
    drawn_points: list[list[float]]
    drawn_embeddings: list[list[float]]


class Simulation(TypedDict):
    """simulation.json."""

    what: str
    step: float
    iterations: int
    collapsed_below_degrees: float
    cases: list[SimulationCase]


class MnistScores(TypedDict):
    """How far apart one head holds the digits. Angles in degrees, accuracies as fractions."""

    mean_angle: float
    smallest_angle: float
    angle_within: float
    separation: float
    nearest_mean_accuracy: float
    head_accuracy: float


class Mnist(TypedDict):
    """mnist.json. `embeddings`: by kind of feature (raw or unit), then by head."""

    what: str
    epochs: int
    seed: int
    training_images: int
    perplexity: float
    labels: list[int]
    scores: dict[str, MnistScores]
    features: dict[str, list[list[float]]]
    embeddings: dict[str, dict[str, list[list[float]]]]


class FeatureGraph(TypedDict):
    """graph.json. `before` and `after`: the strength of every edge, (samples, old classes)."""

    what: str
    method: str
    seed: int
    epochs: int
    objective: str
    old_classes: list[str]
    new_classes: list[str]
    labels: list[int]
    images: list[list[list[int]]]
    before: list[list[float]]
    after: list[list[float]]
