"""Every ablation of the paper: FGP or iCaRL with one thing changed. `strength`: the weight of what preserves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from classgrow.method import Method
from classgrow.methods.fgp import fgp
from classgrow.methods.icarl import icarl
from classgrow.methods.left_open import LEFT_OPEN
from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy
from classgrow.parts.distillation import (
    EdgeWeight,
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

bce = BinaryCrossEntropy()


def graph(strength: float, weight: EdgeWeight) -> Composable:
    """FGP's graph with these edges."""
    return strength * sqrt_old_share * FeatureGraph(weight)


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


# The paper leaves the weights of other distillations open. A loss of another paper has that paper's weight over the
# classes seen: there it stands beside a loss summed over outputs, here beside a mean. FGP's own have its code's λ.
ABLATIONS: dict[str, Callable[..., Method]] = {
    "fgp-ce": lambda strength=0.1: fgp_with("fgp-ce", CrossEntropy() + graph(strength, nearness)),
    "fgp-cosine": lambda strength=0.1: named("fgp-cosine", replace(fgp(strength), head=CosineHead(restart_scale=True))),
    "fgp-uniform": lambda strength=0.1: fgp_with("fgp-uniform", bce + graph(strength, uniform)),
    "fgp-dist-bce": lambda strength=1.0: fgp_with("fgp-dist-bce", bce + strength * SigmoidDistillation()),
    "fgp-dist-kl": lambda strength=1.0, temperature=2.0: fgp_with(
        "fgp-dist-kl", bce + strength * per_class * SoftmaxDistillation(temperature, relative=True)
    ),
    "fgp-dist-lucir": lambda strength=5.0: fgp_with(
        "fgp-dist-lucir", bce + strength * per_class * sqrt_old_over_new * LessForget()
    ),
    "fgp-dist-bce-weighted": lambda strength=0.1: fgp_with(
        "fgp-dist-bce-weighted", bce + strength * sqrt_old_share * GraphCrossEntropy()
    ),
    "norm-icarl": norm_icarl,
}
