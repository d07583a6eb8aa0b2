"""Every ablation of the paper: FGP or iCaRL with one thing changed, one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from classgrow.method import Method
from classgrow.methods.fgp import fgp
from classgrow.methods.icarl import icarl
from classgrow.methods.left_open import LEFT_OPEN
from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy
from classgrow.parts.distillation import (
    FeatureGraph,
    GraphCrossEntropy,
    LessForget,
    SigmoidDistillation,
    SoftmaxDistillation,
    nearness,
    uniform,
)
from classgrow.parts.heads import CosineHead, RectifiedCosineHead
from classgrow.parts.objective import Composable
from classgrow.parts.scales import per_class, sqrt_old_over_new, sqrt_old_share

bce, graph = BinaryCrossEntropy(), 0.1 * sqrt_old_share * FeatureGraph(nearness)
flat_graph, edges = 0.1 * sqrt_old_share * FeatureGraph(uniform), 0.1 * sqrt_old_share * GraphCrossEntropy()
less_forget = 5.0 * per_class * sqrt_old_over_new * LessForget()  # base 5 belongs to a loss summed over classes


def fgp_with(name: str, objective: Composable) -> Method:
    """FGP trained on another objective."""
    return named(name, fgp().with_objective(objective))


def named(name: str, method: Method) -> Method:
    """An ablation under its name; its card also says what the paper leaves open and how we read it."""
    departures = (*LEFT_OPEN.get(name, ()), *method.source.departures)
    return replace(method, name=name, source=replace(method.source, departures=departures))


def norm_icarl(outputs: float = 1) -> Method:
    """iCaRL with FGP's head."""
    return named("norm-icarl", replace(icarl(outputs), head=RectifiedCosineHead(reserve=True)))


ABLATIONS: dict[str, Callable[..., Method]] = {
    "fgp-ce": lambda: fgp_with("fgp-ce", CrossEntropy() + graph),
    "fgp-cosine": lambda: named("fgp-cosine", replace(fgp(), head=CosineHead(restart_scale=True))),
    "fgp-uniform": lambda: fgp_with("fgp-uniform", bce + flat_graph),
    "fgp-dist-bce": lambda: fgp_with("fgp-dist-bce", bce + SigmoidDistillation()),
    "fgp-dist-kl": lambda: fgp_with("fgp-dist-kl", bce + SoftmaxDistillation(temperature=2.0, relative=True)),
    "fgp-dist-lucir": lambda: fgp_with("fgp-dist-lucir", bce + less_forget),
    "fgp-dist-bce-weighted": lambda: fgp_with("fgp-dist-bce-weighted", bce + edges),
    "norm-icarl": norm_icarl,
}
