"""The toys: gradients against autograd, the assertions of FIGURES.md, MNIST on real data, the computed graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from classgrow.experiments.toys import graph, mnist, simulation
from classgrow.experiments.toys.simulation import ETAS, HEADS, Case, Eta, Points, simulate


def test_gradients_by_hand_are_autograd_s() -> None:
    points = simulation.start(4, ETAS, range(2))
    points.b += points.rectified[:, None] * torch.linspace(-0.3, 0.3, points.b.numel()).reshape(points.b.shape)
    free = [value.clone().requires_grad_() for value in (points.f, points.w, points.b, points.scale)]
    simulation.losses(Points(*free, points.rectified, points.learnable)).sum().backward()
    moves = (1.0, 1.0, points.rectified[:, None], points.learnable)
    simulation.descend(points, step=0.1)
    for before, after, move in zip(free, (points.f, points.w, points.b, points.scale), moves, strict=True):
        assert before.grad is not None
        torch.testing.assert_close(after, before.detach() - 0.1 * move * before.grad)


def test_loss_of_two_points_by_hand() -> None:
    """Two classes at right angles, embeddings on their points, plain cosine, η = 2: every class costs
    -log σ(2) for itself and -log(1 - σ(0)) = log 2 for the other."""
    axes = torch.eye(2).double()[None]
    one, zero = torch.ones(1).double(), torch.zeros(1).double()
    points = Points(axes, axes.clone(), torch.zeros(1, 2).double(), 2 * one, zero, zero)
    expected = 2 * (np.log1p(np.exp(-2.0)) + np.log(2.0))
    assert float(simulation.losses(points)) == pytest.approx(expected)


def test_heads_and_settings_start_from_the_same_points() -> None:
    points = simulation.start(3, ETAS, range(2))
    assert len(points.f) == len(HEADS) * len(ETAS) * 2
    assert torch.equal(points.f[:2], points.f[2:4]) and not torch.equal(points.f[0], points.f[1])
    assert points.eta[::2][:6].tolist() == pytest.approx([eta.start for eta in ETAS])


@pytest.fixture(scope="module")
def simulated() -> dict[tuple[int, str], Case]:
    """5, 6 and 8 classes, η learnable from 10, several seeds."""
    cases = simulate((5, 6, 8), (Eta(10, True),), seeds=5, iterations=3000)
    return {(case.classes, case.head): case for case in cases}


@pytest.mark.parametrize("classes", [5, 6, 8])
def test_assertions_of_figures_md(simulated: dict[tuple[int, str], Case], classes: int) -> None:
    rectified, plain = simulated[classes, "rectified"], simulated[classes, "cosine"]
    assert min(rectified.min_angles) > 0.6 * 360 / classes
    assert max(plain.min_angles) < 5
    assert rectified.negative_bias == 1.0 and plain.negative_bias is None
    assert max(rectified.own_angles) < 60
    assert (rectified.collapsed, plain.collapsed) == (0.0, 1.0)
    assert min(rectified.final_etas + plain.final_etas) > 0


def test_drawn_points_lie_in_the_disc(simulated: dict[tuple[int, str], Case]) -> None:
    for (_, head), case in simulated.items():
        lengths = np.linalg.norm(case.drawn_points, axis=1)
        assert (lengths <= 1 + 1e-9).all()
        assert head == "rectified" or lengths == pytest.approx(1.0)


def test_eta_fixed_stays_and_learnable_stays_positive() -> None:
    cases = simulate((3,), (Eta(5, False), Eta(1, True)), seeds=2, iterations=50)
    fixed, learnable = cases[0], cases[1]
    assert fixed.final_etas == [5.0, 5.0] and fixed.eta == "fixed at 5"
    assert min(learnable.final_etas) > 0 and learnable.final_etas[0] != 1.0


def test_mnist_tiny_on_real_data(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnist, "SHOWN", 120)
    monkeypatch.setattr(mnist, "MEASURED", 500)
    content = mnist.run_mnist(data_dir, epochs=1, images=1000)
    again = mnist.run_mnist(data_dir, epochs=1, images=1000)
    assert content == again  # decided by the seed
    assert len(content["labels"]) == 120 and content["training_images"] == 1000
    for head in ("rectified", "cosine"):
        for kind in ("raw", "unit"):
            assert np.shape(content["embeddings"][kind][head]) == (120, 2)
        assert np.shape(content["features"][head]) == (120, 3)
        scores = content["scores"][head]
        assert 0 <= scores["smallest_angle"] <= scores["mean_angle"] < 180
        assert scores["separation"] == pytest.approx(scores["mean_angle"] / scores["angle_within"])


def test_feature_graph_of_a_real_model() -> None:
    content = graph.feature_graph(epochs=6)
    before, after = np.asarray(content["before"]), np.asarray(content["after"])
    assert before.shape == after.shape == (12, 2)
    for edges in (before, after):
        assert (edges >= np.exp(-2) - 1e-6).all() and (edges <= 1 + 1e-6).all()
        own = [edges[place, label] for place, label in enumerate(content["labels"]) if label < 2]
        other = [edges[place, 1 - label] for place, label in enumerate(content["labels"]) if label < 2]
        assert np.mean(own) > np.mean(other) + 0.2
    assert content["labels"] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert np.shape(content["images"]) == (12, 8, 8)
