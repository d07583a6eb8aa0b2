"""FGP: rectified cosine head, binary cross-entropy, weighted-Euclidean feature-graph preservation."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import BinaryCrossEntropy
from classgrow.parts.distillation import FeatureGraph, nearness
from classgrow.parts.heads import RectifiedCosineHead
from classgrow.parts.rules import NearestClassMean
from classgrow.parts.scales import sqrt_old_share
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember, Train

SOURCE = Source(
    title="Class-incremental Learning with Rectified Feature-Graph Preservation",
    authors="Lei, Chen, Peng, Chiu",
    year=2020,
    departures=(
        "The cross-entropy is averaged over classes, as the authors' code does; the paper's sum would need lr / n.",
        "One student forward per batch; their code runs two, so batch-norm statistics move with 0.19 instead of 0.1.",
    ),
)


def fgp(strength: float = 0.1) -> Method:
    """Lei et al. 2020, Eq. 5 to 8: λ = strength · √(old/seen)."""
    return Method(
        name="fgp",
        head=RectifiedCosineHead(restart_scale=True),
        steps=(
            Grow(),
            Train(BinaryCrossEntropy() + strength * sqrt_old_share * FeatureGraph(weight=nearness)),
            Remember(herding),
        ),
        rule=NearestClassMean(),
        recipe="fgp",
        source=SOURCE,
    )
